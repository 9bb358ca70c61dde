/* Written so that a NaN never proves anything: !(a < b). Pure. */
#include "runner/cold_proof.h"

#include <math.h>
#include <stdio.h>

#define MIB           ((uint64_t)1 << 20)
#define LEAST         MIB
#define MOST          (32 * MIB)
#define NONE_REPORTED (8 * MIB)
#define DIFFERENCE    0.05

const char *cold_verdict_name(enum cold_verdict v)
{
    static const char *const names[] = {
#define X(name, text) text,
        COLD_VERDICT_LIST(X)
#undef X
    };
    return v < COLD_VERDICT_COUNT ? names[v] : "unknown";
}

uint64_t cold_probe_set_bytes(const struct wf_device *device)
{
    uint64_t cache =
        device->llc_bytes > device->l2_bytes ? device->llc_bytes : device->l2_bytes;
    uint64_t bytes = cache ? cache / 4 / 4096 * 4096 : NONE_REPORTED;
    return bytes < LEAST ? LEAST : bytes > MOST ? MOST : bytes;
}

size_t cold_probe_sizes(uint64_t set_bytes,
                        uint64_t target_bytes,
                        uint64_t sets[COLD_MAX_POINTS])
{
    uint64_t target = (target_bytes + set_bytes - 1) / set_bytes;
    size_t n = 0;
    target = target < 2 ? 2 : target;
    /* 1, 2, 3, 4, 6, 8, 12, ...; the largest of them below target last. */
    for (uint64_t s = 1, half = 0; s < target && n < COLD_MAX_POINTS - 2;) {
        sets[n++] = s;
        uint64_t next = s < 2 ? s + 1 : half ? s / 3 * 4 : s / 2 * 3;
        half = s < 2 ? 0 : !half;
        s = next;
    }
    sets[n++] = target;
    sets[n++] = 2 * target;
    return n;
}

/* A point without an interval is good for no verdict. */
static double noise(const struct cold_point *a, const struct cold_point *b)
{
    double both = a->width + b->width;
    return !(both <= DIFFERENCE) ? both : DIFFERENCE;
}

void cold_judge(struct cold_proof *p)
{
    p->hot_gb_per_s = p->cold_gb_per_s = p->doubled_gb_per_s = p->ratio = (double)NAN;
    p->verdict = COLD_UNKNOWN;
    if (p->count < 3) {
        (void)snprintf(p->text, sizeof(p->text),
                       "%zu sizes measured, at least 3 needed", p->count);
        return;
    }
    const struct cold_point *hot = &p->point[0];
    const struct cold_point *cold = &p->point[p->count - 2];
    const struct cold_point *doubled = &p->point[p->count - 1];
    p->hot_gb_per_s = hot->gb_per_s;
    p->cold_gb_per_s = cold->gb_per_s;
    p->doubled_gb_per_s = doubled->gb_per_s;
    p->ratio = cold->ns / hot->ns;
    if (!(hot->ns > 0) || !(cold->ns > 0) || !(doubled->ns > 0)) {
        (void)snprintf(p->text, sizeof(p->text), "a size has no time");
        return;
    }
    if (!isfinite(hot->width + cold->width + doubled->width)) {
        (void)snprintf(p->text, sizeof(p->text),
                       "a size was measured too shortly for an interval");
        return;
    }
    double on = doubled->ns / cold->ns - 1;
    if (!(on <= noise(cold, doubled))) {
        p->verdict = COLD_NOT_PROVEN;
        (void)snprintf(
            p->text, sizeof(p->text),
            "bandwidth falls from %.4g to %.4g GB/s when the %.0f MiB that cold "
            "mode rotates through are doubled: some of them are still cached",
            cold->gb_per_s, doubled->gb_per_s, (double)cold->bytes / (double)MIB);
        return;
    }
    if (!(p->ratio - 1 > noise(hot, cold))) {
        p->verdict = COLD_NO_DIFFERENCE;
        (void)snprintf(
            p->text, sizeof(p->text),
            "%.4g GB/s hot and %.4g GB/s through %.0f MiB: this reader gains "
            "nothing from the cache that could be measured",
            hot->gb_per_s, cold->gb_per_s, (double)cold->bytes / (double)MIB);
        return;
    }
    p->verdict = COLD_PROVEN;
    (void)snprintf(p->text, sizeof(p->text),
                   "%.4g GB/s hot, %.4g GB/s through the %.0f MiB that cold mode uses, "
                   "%.4g GB/s through twice that",
                   hot->gb_per_s, cold->gb_per_s, (double)cold->bytes / (double)MIB,
                   doubled->gb_per_s);
}
