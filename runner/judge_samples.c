/* The samples that count: taking them, what was known of the device meanwhile, when it
 * is enough (stopping.c has the rule), the verdict. */
#include "runner/judge_meter.h"

#include "core/stats.h"
#include "runner/stopping.h"
#include "runner/throttle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_DROP 0.9

/* One more sample; its batch is taken to have had its share of the group's time, in
 * order, and gets the readings that lie in there. */
static struct result_sample make_sample(const struct meter *m,
                                        const struct wf_sp_measure *want,
                                        const struct group *g,
                                        uint32_t i)
{
    struct telemetry_figures f;
    int64_t share_ns = g->wall_ns / want->batches;
    int64_t from_ns = g->start_ns + share_ns * i;
    telemetry_between(m->j->telemetry, from_ns, from_ns + share_ns, &f);
    return (
        struct result_sample){ .ns = meter_per_launch_ns(&g->sample[i], want->launches),
                               .clock_mhz = f.clock_mhz,
                               .power_w = f.power_w,
                               .temperature_c = f.temperature_c,
                               .reasons = f.reasons,
                               .flagged = throttle_counts(f.reasons) };
}

static enum wf_status add_samples(struct meter *m,
                                  const struct wf_sp_measure *want,
                                  const struct group *g,
                                  struct wf_error *err)
{
    struct result_timing *t = &m->j->result->timing;
    struct result_sample *grown =
        wf_realloc_array(t->sample, t->count + want->batches, sizeof(*grown));
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for samples");
    }
    t->sample = grown;
    for (uint32_t i = 0; i < want->batches; i++) {
        double event_ns = g->sample[i].event_ms * 1e6;
        const struct result_sample s = make_sample(m, want, g, i);
        bool valid = isfinite(event_ns) && event_ns > 0;
        t->sample[t->count++] = s;
        m->spent_ns +=
            valid && event_ns < 3600e9 ? (int64_t)event_ns : g->wall_ns / want->batches;
        m->event_ns += valid ? event_ns : 0;
        m->enqueue_ns += (double)g->sample[i].enqueue_ns;
        t->has_power = t->has_power || isfinite(s.clock_mhz) || isfinite(s.power_w) ||
                       isfinite(s.temperature_c);
    }
    return WF_OK;
}

static enum wf_status one_group(struct meter *m, struct wf_error *err)
{
    struct group g;
    struct wf_sp_measure want = meter_group_request(m);
    size_t left =
        (size_t)m->j->request->measure.max_samples - m->j->result->timing.count;
    want.batches = left < want.batches ? (uint32_t)left : want.batches;
    enum wf_status st = meter_run_group(m, &want, &g, err);
    return st == WF_OK ? add_samples(m, &want, &g, err) : st;
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
        wf_sort_doubles(clock, n);
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
