/* The samples that count: taking them, what was known of the device meanwhile, when it
 * is enough (stopping.c has the rule), the verdict. */
#include "runner/judge_meter.h"

#include "core/stats.h"
#include "runner/stopping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_DROP       0.9
#define POWER_TIMEOUT_MS 200

/* ROCm's runtime has no call for clocks and power: amdgpu's sysfs has. */
void meter_start_power(struct meter *m)
{
    const struct wf_device *d = m->j->request->device;
    const char *root = getenv("WAVEFARM_SYSFS");
    if (strcmp(d->runtime, "amd") == 0 && d->pci_bus_id[0] && !d->times_modelled) {
        /* Without it the figures are unknown, which the result shows. */
        (void)amd_power_start(root && root[0] ? root : "/sys", d->pci_bus_id,
                              POWER_TIMEOUT_MS, &m->amd, NULL);
    }
}

static enum wf_status read_power(struct meter *m,
                                 struct wf_sp_power *ret,
                                 struct wf_error *err)
{
    *ret =
        (struct wf_sp_power){ (double)NAN, (double)NAN, (double)NAN, (double)NAN, 0 };
    if (m->j->request->device->library_kernels) {
        return WF_OK;
    }
    if (m->amd) {
        amd_power_read(m->amd, ret);
        return WF_OK;
    }
    return judge_get(m->j, WF_SP_POWER, NULL, 0, 10 * SECOND_NS, ret, sizeof(*ret),
                     err);
}

/* Reasons that make a sample not count. NVIDIA's software power cap (bit 2) is left
 * out: it is how such a card runs under full load, and its clock stands beside the
 * sample. */
static bool is_throttled(const struct wf_device *device,
                         const struct wf_sp_power *power)
{
    uint64_t normal = strcmp(device->runtime, "cuda") == 0 ? 4 : 0;
    return (power->throttle_reasons & ~normal) != 0;
}

static enum wf_status add_samples(struct meter *m,
                                  const struct wf_sp_measure *want,
                                  const struct group *g,
                                  const struct wf_sp_power power[2],
                                  struct wf_error *err)
{
    struct result_timing *t = &m->j->result->timing;
    const struct wf_device *device = m->j->request->device;
    struct result_sample *grown =
        wf_realloc_array(t->sample, t->count + want->batches, sizeof(*grown));
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for samples");
    }
    t->sample = grown;
    for (uint32_t i = 0; i < want->batches; i++) {
        double event_ns = g->sample[i].event_ms * 1e6;
        t->sample[t->count++] = (struct result_sample){
            .ns = meter_per_launch_ns(&g->sample[i], want->launches),
            .clock_mhz = (power[0].clock_mhz + power[1].clock_mhz) / 2,
            .power_w = (power[0].power_w + power[1].power_w) / 2,
            .flagged =
                is_throttled(device, &power[0]) || is_throttled(device, &power[1])
        };
        bool valid = isfinite(event_ns) && event_ns > 0;
        m->spent_ns +=
            valid && event_ns < 3600e9 ? (int64_t)event_ns : g->wall_ns / want->batches;
        m->event_ns += valid ? event_ns : 0;
        m->enqueue_ns += (double)g->sample[i].enqueue_ns;
        t->has_power =
            t->has_power || isfinite(power[1].clock_mhz) || isfinite(power[1].power_w);
    }
    return WF_OK;
}

static enum wf_status one_group(struct meter *m, struct wf_error *err)
{
    struct group g;
    struct wf_sp_power power[2];
    struct wf_sp_measure want = meter_group_request(m);
    size_t left =
        (size_t)m->j->request->measure.max_samples - m->j->result->timing.count;
    want.batches = left < want.batches ? (uint32_t)left : want.batches;
    enum wf_status st = read_power(m, &power[0], err);
    if (st == WF_OK) {
        st = meter_run_group(m, &want, &g, err);
    }
    if (st == WF_OK) {
        st = read_power(m, &power[1], err);
    }
    return st == WF_OK ? add_samples(m, &want, &g, power, err) : st;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Flags samples whose clock fell well below the run's median clock. */
static enum wf_status flag_clock_drops(struct result_timing *t, struct wf_error *err)
{
    size_t n = 0;
    double *clock = wf_calloc(t->count + 1, sizeof(*clock));
    if (!clock) {
        return wf_errorf(err, WF_ENOMEM, "no memory for clocks");
    }
    for (size_t i = 0; i < t->count; i++) {
        if (isfinite(t->sample[i].clock_mhz) && t->sample[i].clock_mhz > 0) {
            clock[n++] = t->sample[i].clock_mhz;
        }
    }
    if (n > 0) {
        qsort(clock, n, sizeof(*clock), compare_doubles);
        for (size_t i = 0; i < t->count; i++) {
            t->sample[i].flagged = t->sample[i].flagged ||
                                   t->sample[i].clock_mhz < CLOCK_DROP * clock[n / 2];
        }
    }
    free(clock);
    return WF_OK;
}

static enum wf_status decide(struct meter *m,
                             enum stop_reason *ret,
                             double *ret_width,
                             struct wf_error *err)
{
    const struct wf_measure_options *o = &m->j->request->measure;
    const struct stop_rule rule = { o->ci_target, o->budget_ns, (size_t)o->min_samples,
                                    (size_t)o->max_samples };
    struct result_timing *t = &m->j->result->timing;
    double *valid = NULL;
    size_t n = 0;
    enum wf_status st = result_valid_samples(t, &valid, &n, err);
    if (st == WF_OK) {
        st = stopping_decide(&rule, valid, n, t->count - n, m->spent_ns, ret, ret_width,
                             err);
    }
    free(valid);
    return st;
}

static size_t count_flagged(const struct result_timing *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++) {
        n += t->sample[i].flagged;
    }
    return n;
}

static void noisy(struct result *r, enum stop_reason reason, double width)
{
    const char *why = reason == STOP_BUDGET ? "the budget ended" : "as many as allowed";
    if (isfinite(width)) {
        result_time(r, WF_TIME_NOISY,
                    "the median's interval is +-%.2f %% after %zu samples (%s)",
                    100 * width, r->timing.count, why);
    } else {
        result_time(r, WF_TIME_NOISY,
                    "%zu samples are too few for an interval of the median (%s)",
                    r->timing.count, why);
    }
}

/* The verdict, unless a worse one stands already. */
static void conclude(struct result *r, enum stop_reason reason, double width)
{
    size_t flagged = count_flagged(&r->timing);
    if (r->time == WF_TIME_IMPLAUSIBLE) {
        return;
    }
    if (flagged * 2 > r->timing.count) {
        result_time(r, WF_TIME_THROTTLED,
                    "%zu of %zu samples were taken while throttled", flagged,
                    r->timing.count);
        return;
    }
    switch (reason) {
    case STOP_NARROW:
        result_time(r, WF_TIME_OK, "%s", "");
        break;
    case STOP_INVALID:
        result_time(r, WF_TIME_NOT_MEASURED,
                    "below timer resolution: no valid sample "
                    "among %zu",
                    r->timing.count);
        break;
    case STOP_BUDGET:
    case STOP_SAMPLES:
    case STOP_NOT_YET:
        noisy(r, reason, width);
        break;
    }
}

enum wf_status meter_sample(struct meter *m, struct wf_error *err)
{
    enum stop_reason reason = STOP_NOT_YET;
    double width = (double)NAN;
    struct result *r = m->j->result;
    enum wf_status st = WF_OK;
    r->timing.source = "device-events";
    r->timing.launches_per_sample = m->launches;
    while (st == WF_OK && reason == STOP_NOT_YET) {
        st = one_group(m, err);
        if (st == WF_OK) {
            st = decide(m, &reason, &width, err);
        }
    }
    if (st == WF_OK) {
        st = flag_clock_drops(&r->timing, err);
    }
    if (st == WF_OK) {
        conclude(r, reason, width);
    }
    return st;
}
