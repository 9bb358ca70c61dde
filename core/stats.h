/* Robust statistics over samples. Pure; inputs are not changed. Non-finite and
 * non-positive samples must be filtered by the caller (they are kept as invalid, never
 * clamped). With n = 0 every figure is NaN; with n = 1 spreads are NaN. */
#ifndef WF_CORE_STATS_H
#define WF_CORE_STATS_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct wf_summary {
    size_t n;
    double min, max, mean, stddev; /* stddev: n - 1 */
    double median, mad;            /* mad: median absolute deviation, unscaled */
    double q1, q3;                 /* type-7 quantiles */
    double ci_lo, ci_hi; /* interval of the median at 95 %, whenever looked at:
                            median_interval.h; the samples are in the order of
                            measurement; NaN: too few */
};

/* ENOMEM only. */
enum wf_status wf_summarise(const double *x,
                            size_t n,
                            struct wf_summary *ret,
                            struct wf_error *err);
/* Ascending; no NaN among them. */
void wf_sort_doubles(double *x, size_t n);
/* Type-7 quantile of sorted data, 0 <= q <= 1. */
double wf_quantile_sorted(const double *sorted, size_t n, double q);
/* Ranks (1-based, lo <= hi) of the order statistics that bracket the median with at
 * least `level` confidence when the samples are independent and n was fixed before (of
 * times, neither is so: median_interval.h); lo = 0 when n is too small. */
void wf_median_ci_ranks(size_t n, double level, size_t *ret_lo, size_t *ret_hi);

#endif
