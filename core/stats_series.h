/* Figures over samples in the order in which they were taken. Pure; inputs are not
 * changed, and must be finite and positive (see stats.h). A figure for which there are
 * too few samples is NaN, which becomes null in a result. */
#ifndef WF_CORE_STATS_SERIES_H
#define WF_CORE_STATS_SERIES_H

#include "core/error.h"

#include <stddef.h>

/* Fewest samples for a figure: below, a quantile would be the extreme value itself, and
 * drift and autocorrelation would be noise. */
#define WF_SERIES_MIN_P05   20
#define WF_SERIES_MIN_P01   100
#define WF_SERIES_MIN_ORDER 12

struct wf_series {
    size_t n;
    /* Type-7 quantiles at 0.01, 0.05, 0.95 and 0.99 (0.25, 0.5 and 0.75 are q1, median
     * and q3 of wf_summarise): h = (n - 1) q, linear between the neighbours. */
    double p01, p05, p95, p99;
    /* median(last third) / median(first third) - 1, thirds of floor(n / 3) samples:
     * 0.02 says that the run's end was 2 % slower than its beginning. */
    double drift;
    /* Of the mid-ranks r_i, so that outliers do not rule it:
     * sum (r_i - m)(r_i+1 - m) / sum (r_i - m)^2 with m = (n + 1) / 2. NaN when all
     * samples are equal. */
    double autocorrelation;
    /* n (1 - a) / (1 + a) for a = max(autocorrelation, 0), at least 1: as many
     * independent samples would say as much about the middle. n when all are equal. */
    double effective_n;
};

/* ENOMEM only. */
enum wf_status wf_series_figures(const double *x,
                                 size_t n,
                                 struct wf_series *ret,
                                 struct wf_error *err);

#endif
