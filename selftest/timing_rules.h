/* Figures of the timing selftest. Pure. */
#ifndef WF_SELFTEST_TIMING_RULES_H
#define WF_SELFTEST_TIMING_RULES_H

#include "core/error.h"

#include <stddef.h>

/* Lower limit, one-sided at `level` (0.95), of a share of which k of n were seen:
 * Clopper and Pearson, Biometrika 26 (1934). 0 for k = 0 or n = 0. */
double timing_lower_limit(size_t k, size_t n, double level);
/* 1.4826 times the median absolute deviation, over the median; NaN below n = 2. Sorts
 * nothing of the caller's. ENOMEM only. */
enum wf_status timing_spread(const double *x,
                             size_t n,
                             double *ret,
                             struct wf_error *err);

/* The sampling done again and again in one process: `x` cut into windows, each as long
 * as the stopping rule lets it be, which looks after every `group` samples: until the
 * interval of the median is no wider than +-`target`, at most `most` samples. Counts
 * the windows that got an interval and those whose interval holds `pooled`; at most
 * `windows` of them. */
struct timing_windows {
    size_t count, known, covered;
    double widths; /* sum of the relative half-widths */
};
struct timing_window_rule {
    size_t group, most, windows;
    double target;
};
enum wf_status timing_cut(const double *x,
                          size_t n,
                          double pooled,
                          const struct timing_window_rule *rule,
                          struct timing_windows *ret,
                          struct wf_error *err);

#endif
