/* An interval for the median of measured times that may be looked at after every
 * sample.
 *
 * Samples of one process are not independent: clocks drift, modes last for many
 * launches. The textbook interval (order statistics n/2 +- 0.98 sqrt(n)) then covers
 * the median in 27 to 61 % of the cases instead of 95 %, and a rule that stops when it
 * is narrow makes that worse. This one is made for both:
 *
 *   lo, hi = order statistics of ranks n/2 -+ h,    h = 4.1 (1 + 400 / n) sqrt(n V)
 *   V      = max(1/4, max over B of L * variance of the means of B blocks of L = n / B
 *            neighbouring indicators [x <= median]),    B = 4, 8, 16, 32
 *
 * V estimates the long-run variance of the indicator (1/4 when samples are independent)
 * at four scales and takes the largest. The factor is what makes the interval cover at
 * *every* number of samples in at least 95 % of the runs, under the noise kinds of
 * tests/bench/sim_median.c (docs/measuring.md has the table); 400 / n answers for what
 * so few samples cannot have shown: a mode that has lasted since before the first of
 * them. Below about 180 samples the ranks fall outside and there is no interval: then
 * nobody knows.
 *
 * What it is for: the median of what this process would measure, if it went on. What a
 * new process would add (another layout of code and memory) is not in it. */
#ifndef WF_CORE_MEDIAN_INTERVAL_H
#define WF_CORE_MEDIAN_INTERVAL_H

#include "core/error.h"

#include <stddef.h>

struct wf_median_interval {
    double median; /* NaN with n = 0 */
    double lo, hi; /* NaN: too few samples for their correlation */
    double spread; /* V / (1/4): 1 when they look independent; how many of them are
                      worth one independent sample */
};

/* `x`: finite, in the order of measurement. ENOMEM only. */
enum wf_status wf_median_interval(const double *x,
                                  size_t n,
                                  struct wf_median_interval *ret,
                                  struct wf_error *err);

#endif
