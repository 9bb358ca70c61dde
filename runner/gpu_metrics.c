/* gpu_metrics by a table of layouts: where each member lies in each content. */
#include "runner/gpu_metrics.h"

#include "runner/throttle.h"

#include <math.h>
#include <string.h>

#define NONE 0

/* Offsets in bytes; NONE: the content has no such member. `residency` is the first of
 * six 32-bit numbers, accumulation counter first. Content 6 has two sizes: a first form
 * with the activity of the media engines, and the one that stayed. */
struct layout {
    size_t content, bytes, hotspot, memory_temp, power, gfx_clocks;
    size_t gfx_count, memory_clock, status, common_status, residency;
};

static const struct layout layouts[] = {
    /* clang-format off */
    /*   bytes hot mem  W  gfx  n  uclk  status common residency */
    { 3,  120,  6,  8, 22,  54, 1,  58, NONE,  112, NONE },
    { 4,  288,  4,  6, 10, 240, 8, 280,   40, NONE, NONE },
    { 5,  360,  4,  6, 10, 312, 8, 352,  104, NONE, NONE },
    { 6,  384,  4,  6, 10, 336, 8, 376,  128, NONE,  104 },
    { 6, 1664,  4,  6, 10, 264, 8, 304, NONE, NONE,   32 },
    { 7, 2208,  4,  6, 10, 296, 8, 336, NONE, NONE,   40 },
    { 8, 3872,  4,  6, 10, 296, 8, 336, NONE, NONE,   40 },
    /* clang-format on */
};

static uint64_t number(const unsigned char *bytes, size_t at, size_t width)
{
    uint64_t v = 0;
    for (size_t i = width; i > 0; i--) {
        v = v << 8 | bytes[at + i - 1];
    }
    return v;
}

static double figure(const unsigned char *bytes, size_t at)
{
    const uint64_t v = number(bytes, at, 2);
    return v == UINT16_MAX ? (double)NAN : (double)v;
}

/* XCCs that are not there are told as all bits set, sleeping ones as 0: the middle of
 * what runs. */
static double middle_clock(const double *clock, size_t n)
{
    double known[GPU_METRICS_XCC];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (clock[i] > 0) {
            size_t k = count++;
            for (; k > 0 && known[k - 1] > clock[i]; k--) {
                known[k] = known[k - 1];
            }
            known[k] = clock[i];
        }
    }
    if (count == 0) {
        return (double)NAN;
    }
    return (known[(count - 1) / 2] + known[count / 2]) / 2;
}

static void take_clocks(const struct layout *l,
                        const unsigned char *bytes,
                        struct gpu_metrics *ret)
{
    for (size_t i = 0; i < GPU_METRICS_XCC; i++) {
        ret->xcc_clock_mhz[i] =
            i < l->gfx_count ? figure(bytes, l->gfx_clocks + 2 * i) : (double)NAN;
    }
    ret->gfx_clock_mhz = middle_clock(ret->xcc_clock_mhz, GPU_METRICS_XCC);
    ret->memory_clock_mhz = figure(bytes, l->memory_clock);
}

static void take_reasons(const struct layout *l,
                         const unsigned char *bytes,
                         struct gpu_metrics *ret)
{
    if (l->common_status != NONE) {
        const uint64_t bits = number(bytes, l->common_status, 8);
        ret->has_reasons = bits != UINT64_MAX;
        ret->reasons = ret->has_reasons ? throttle_from_amd_common(bits) : 0;
    } else if (l->status != NONE) {
        const uint32_t bits = (uint32_t)number(bytes, l->status, 4);
        ret->has_reasons = bits != UINT32_MAX;
        ret->reasons = ret->has_reasons ? throttle_from_mi300(bits) : 0;
    }
}

static void take_residency(const struct layout *l,
                           const unsigned char *bytes,
                           struct gpu_metrics *ret)
{
    uint32_t v[6];
    if (l->residency == NONE) {
        return;
    }
    for (size_t i = 0; i < 6; i++) {
        v[i] = (uint32_t)number(bytes, l->residency + 4 * i, 4);
    }
    ret->has_residency = true;
    ret->residency =
        (struct gpu_metrics_residency){ v[0], v[1], v[2], v[3], v[4], v[5] };
}

static const struct layout *find_layout(unsigned content, size_t bytes, bool *ret_known)
{
    *ret_known = false;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        *ret_known = *ret_known || layouts[i].content == content;
        if (layouts[i].content == content && layouts[i].bytes == bytes) {
            return &layouts[i];
        }
    }
    return NULL;
}

enum wf_status gpu_metrics_parse(const void *bytes,
                                 size_t n,
                                 struct gpu_metrics *ret,
                                 struct wf_error *err)
{
    const unsigned char *b = bytes;
    bool known = false;
    if (n < 4) {
        return wf_errorf(err, WF_EPARSE, "gpu_metrics: %zu bytes hold no header", n);
    }
    const size_t size = (size_t)number(b, 0, 2);
    const struct layout *l = find_layout(b[3], size, &known);
    if (b[2] != 1 || !known) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "gpu_metrics: version %u.%u is not read (1.3 to 1.8 are)",
                         b[2], b[3]);
    }
    if (l == NULL || n != size) {
        return wf_errorf(err, WF_EPARSE,
                         "gpu_metrics: version 1.%u of %zu bytes, and %zu bytes came",
                         b[3], size, n);
    }
    struct gpu_metrics m = { .content = b[3],
                             .power_w = figure(b, l->power),
                             .hotspot_c = figure(b, l->hotspot),
                             .memory_c = figure(b, l->memory_temp) };
    take_clocks(l, b, &m);
    take_reasons(l, b, &m);
    take_residency(l, b, &m);
    *ret = m;
    return WF_OK;
}

uint32_t gpu_metrics_throttled(const struct gpu_metrics_residency *before,
                               const struct gpu_metrics_residency *after)
{
    const struct {
        uint32_t before, after, reason;
    } row[] = {
        { before->prochot, after->prochot, THROTTLE_PROCHOT },
        { before->power, after->power, THROTTLE_POWER_CAP },
        { before->thermal, after->thermal, THROTTLE_THERMAL },
        { before->vr_thermal, after->vr_thermal, THROTTLE_VR_THERMAL },
        { before->hbm_thermal, after->hbm_thermal, THROTTLE_HBM_THERMAL },
    };
    uint32_t reasons = 0;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        bool known = row[i].before != UINT32_MAX && row[i].after != UINT32_MAX;
        reasons |= known && row[i].before != row[i].after ? row[i].reason : 0;
    }
    return reasons;
}
