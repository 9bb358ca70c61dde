/* Rules of sampling. Pure.
 *
 * Comparisons are written so that a NaN never passes as good: !(width <= target). */
#include "runner/stopping.h"

#include "core/median_interval.h"

#include <math.h>
#include <stdio.h>

#define MIN_EVER       3u
#define INVALID_LIMIT  20u
#define BUDGET_STRETCH 3
#define EVENT_AHEAD    1.05 /* events may claim this much more than the host saw */
#define HOST_AHEAD     1.5  /* the host may see this much more than the events */
#define HOST_AHEAD_NS  5e6  /* and this much: scheduling, enqueueing */
#define EVENT_AHEAD_NS 1e5

uint32_t stopping_launches(double estimate_ns, int64_t batch_min_ns)
{
    if (!(estimate_ns > 0)) {
        return STOPPING_MAX_LAUNCHES;
    }
    double launches = ceil((double)batch_min_ns / estimate_ns);
    if (!(launches < (double)STOPPING_MAX_LAUNCHES)) {
        return STOPPING_MAX_LAUNCHES;
    }
    return launches < 1 ? 1 : (uint32_t)launches;
}

static double relative_width(const struct wf_median_interval *i)
{
    return (i->hi - i->lo) / (2 * i->median);
}

enum wf_status stopping_decide(const struct stop_rule *rule,
                               const double *sample,
                               size_t valid,
                               size_t invalid,
                               int64_t spent_ns,
                               enum stop_reason *ret,
                               double *ret_width,
                               struct wf_error *err)
{
    struct wf_median_interval interval;
    enum wf_status st = wf_median_interval(sample, valid, &interval, err);
    if (st != WF_OK) {
        return st;
    }
    double width = relative_width(&interval);
    *ret = STOP_NOT_YET;
    *ret_width = width;
    if (valid == 0 && invalid >= INVALID_LIMIT) {
        *ret = STOP_INVALID;
    } else if (valid >= rule->min_samples && width <= rule->ci_target) {
        *ret = STOP_NARROW;
    } else if (valid + invalid >= rule->max_samples) {
        *ret = STOP_SAMPLES;
    } else if (spent_ns >= rule->budget_ns &&
               (valid >= MIN_EVER || spent_ns / BUDGET_STRETCH >= rule->budget_ns)) {
        *ret = STOP_BUDGET;
    }
    return WF_OK;
}

double plausible_floor_ns(double flops,
                          double peak_flops,
                          double bytes,
                          double peak_bytes)
{
    double compute = peak_flops > 0 ? flops / peak_flops * 1e9 : 0;
    double memory = peak_bytes > 0 ? bytes / peak_bytes * 1e9 : 0;
    return compute > memory ? compute : memory;
}

int plausible_clocks(double event_ns, double host_ns, char *why, size_t n)
{
    why[0] = '\0';
    if (!(event_ns > 0)) {
        (void)snprintf(why, n, "the device's events say %g ns for work that took %g ns",
                       event_ns, host_ns);
    } else if (!(event_ns <= host_ns * EVENT_AHEAD + EVENT_AHEAD_NS)) {
        (void)snprintf(why, n,
                       "the device's events say %.0f ns, more than the %.0f ns that "
                       "passed on the host",
                       event_ns, host_ns);
    } else if (!(host_ns <= event_ns * HOST_AHEAD + HOST_AHEAD_NS)) {
        (void)snprintf(why, n,
                       "the device's events say %.0f ns, but %.0f ns passed until the "
                       "whole device was idle",
                       event_ns, host_ns);
    }
    return why[0] != '\0';
}

uint32_t plausible_longer(uint32_t launches, double event_ns, double wall_ns)
{
    const double wanted = PLAUSIBLE_STRETCH_NS / event_ns;
    const double most = PLAUSIBLE_WALL_NS / wall_ns;
    const double factor = wanted < most ? wanted : most;
    const double next = factor > 1 ? launches * factor : launches;
    return next < PLAUSIBLE_LAUNCHES_MAX ? (uint32_t)next
                                         : (uint32_t)PLAUSIBLE_LAUNCHES_MAX;
}
