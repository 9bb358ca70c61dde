/* What the two halves of the change points share: cleaning and noise, partition. */
#ifndef WF_GATE_CHANGE_POINTS_INTERNAL_H
#define WF_GATE_CHANGE_POINTS_INTERNAL_H

#include <stddef.h>

/* All take room that the caller gives; none of the values is NAN. */

/* Median; `work` (n values) is overwritten. NAN with n = 0. */
double wf_change_median(const double *x, size_t n, double *work);
/* Long-run noise of the series; `work` has 2 n values. NAN below two values. */
double wf_change_noise(const double *x, size_t n, double *work);
/* Noise of neighbours alone: MAD(diff) / sqrt 2. `work`: 2 n values. */
double wf_change_short_noise(const double *x, size_t n, double *work);
/* ret[i]: x[i] moved to at most `clip` s from the median around it. */
void wf_change_clip(const double *x,
                    size_t n,
                    size_t half_window,
                    double clip,
                    double *ret,
                    double *work);

#endif
