/* Outliers and the noise scale of a series. */
#include "core/stats.h"
#include "gate/change_points_internal.h"

#include <math.h>
#include <string.h>

/* The MAD of a normal law with standard deviation 1 is 1 / CONSISTENT; its mean
 * absolute value sqrt(2 / pi). */
#define CONSISTENT 1.4826
#define MEAN_ABS   0.7978845608028654
/* A figure from few values is often too small, which makes points of noise: taken as
 * larger by FEW / n. Chosen by tests/bench/sim_history.c (docs/history.md). */
#define FEW        18.0

double wf_change_median(const double *x, size_t n, double *work)
{
    memcpy(work, x, n * sizeof *x);
    wf_sort_doubles(work, n);
    return wf_quantile_sorted(work, n, 0.5);
}

/* CONSISTENT * median |d|: distances from 0, not from their median, so that a steady
 * drift counts as noise and is not cut into steps. `d` is overwritten. */
static double deviation(double *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        d[i] = fabs(d[i]);
    }
    wf_sort_doubles(d, n);
    return n == 0 ? 0 : CONSISTENT * wf_quantile_sorted(d, n, 0.5);
}

/* sqrt(b / 2) MAD(diff of means of adjacent blocks of b), over all n - 2 b + 1 places
 * (blocks side by side alone give so few differences that the figure is often far too
 * small); 0 where there is no place. */
static double block_noise(const double *x, size_t n, size_t b, double *work)
{
    if (n < 2 * b) {
        return 0;
    }
    const size_t places = n - 2 * b + 1;
    for (size_t i = 0; i < places; i++) {
        double sum = 0;
        for (size_t k = 0; k < b; k++) {
            sum += x[i + b + k] - x[i + k];
        }
        work[i] = sum / (double)b;
    }
    return sqrt((double)b / 2) * deviation(work, places);
}

double wf_change_short_noise(const double *x, size_t n, double *work)
{
    double sum = 0;
    if (n < 2) {
        return NAN;
    }
    const double s = block_noise(x, n, 1, work);
    if (s > 0) {
        return s;
    }
    for (size_t i = 1; i < n; i++) {
        sum += fabs(x[i] - x[i - 1]);
    }
    return sum / (double)(n - 1) / MEAN_ABS / sqrt(2);
}

double wf_change_noise(const double *x, size_t n, double *work)
{
    double s = wf_change_short_noise(x, n, work);
    const double wanted[] = { cbrt((double)n), sqrt((double)n) / 1.5 };
    for (size_t i = 0; i < 2; i++) {
        const size_t b = (size_t)lround(wanted[i]);
        s = b >= 2 ? fmax(s, block_noise(x, n, b, work)) : s;
    }
    return s * (1 + FEW / (double)n);
}

void wf_change_clip(const double *x,
                    size_t n,
                    size_t half_window,
                    double clip,
                    double *ret,
                    double *work)
{
    const double least = wf_change_short_noise(x, n, work);
    for (size_t i = 0; i < n; i++) {
        const size_t from = i > half_window ? i - half_window : 0;
        const size_t to = i + half_window < n ? i + half_window + 1 : n;
        const double centre = wf_change_median(x + from, to - from, work);
        for (size_t k = from; k < to; k++) {
            work[n + k - from] = fabs(x[k] - centre);
        }
        wf_sort_doubles(work + n, to - from);
        const double local = CONSISTENT * wf_quantile_sorted(work + n, to - from, 0.5);
        const double most = clip * fmax(local, least);
        ret[i] = fmin(fmax(x[i], centre - most), centre + most);
    }
}
