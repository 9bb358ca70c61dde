/* How many launches make a sample, when there are enough samples, and whether a time
 * can be believed. Pure rules over numbers. */
#ifndef WF_RUNNER_STOPPING_H
#define WF_RUNNER_STOPPING_H

#include "core/error.h"
#include "core/verdict.h"

#include <stddef.h>
#include <stdint.h>

#define STOPPING_MAX_LAUNCHES 10000u

enum stop_reason {
    STOP_NOT_YET,
    STOP_NARROW,  /* the interval of the median is narrow enough */
    STOP_BUDGET,  /* time is spent, the interval still wide */
    STOP_SAMPLES, /* the limit on samples is reached, the interval still wide */
    STOP_INVALID  /* the clock does not resolve it: no valid sample among many */
};

struct stop_rule {
    double ci_target; /* half-width of the median's interval, relative */
    int64_t budget_ns;
    size_t min_samples;
    size_t max_samples;
};

/* Launches in a batch so that it lasts at least batch_min_ns: 1 to 10000; 10000 when
 * the estimate is zero, negative or not a number. */
uint32_t stopping_launches(double estimate_ns, int64_t batch_min_ns);

/* `sample`: the valid ones. At least 3 are taken even when the budget is spent, unless
 * it is spent three times over. *ret_width gets the relative half-width (NaN: unknown).
 */
enum wf_status stopping_decide(const struct stop_rule *rule,
                               const double *sample,
                               size_t valid,
                               size_t invalid,
                               int64_t spent_ns,
                               enum stop_reason *ret,
                               double *ret_width,
                               struct wf_error *err);

/* Time that no kernel can beat, from peaks (0: unknown) in ns; 0 when nothing is known.
 */
double plausible_floor_ns(double flops,
                          double peak_flops,
                          double bytes,
                          double peak_bytes);

/* The device's events against the host's clock over one stretch of launches: 0 when
 * they agree, else IMPLAUSIBLE's reason in `why`. */
int plausible_clocks(double event_ns, double host_ns, char *why, size_t n);

/* The stretch in which the two clocks are compared. */
#define PLAUSIBLE_STRETCH_NS   30e6
#define PLAUSIBLE_WALL_NS      300e6 /* nor longer than that by the host's clock */
#define PLAUSIBLE_LAUNCHES_MAX 100000.0

/* Launches of the next try, when the clocks did not agree over a stretch of so many:
 * more where the events saw less than the stretch that was planned. */
uint32_t plausible_longer(uint32_t launches, double event_ns, double wall_ns);

#endif
