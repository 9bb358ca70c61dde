#include "core/median_interval.h"

#include "core/buf.h"
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR      4.1
#define UNSEEN      400.0
#define INDEPENDENT 0.25 /* variance of an indicator with mean 1/2 */

/* 1 below the median, 0 above, 1/2 on it: ties of a coarse clock stay balanced. */
static double indicator(double x, double median)
{
    return x < median ? 1.0 : x > median ? 0.0 : 0.5;
}

/* L times the variance of the means of `blocks` blocks; the samples that do not fill
 * them are the first ones. */
static double block_variance(const double *x, size_t n, double median, size_t blocks)
{
    const size_t length = n / blocks;
    const double *at = x + (n - length * blocks);
    double sum = 0.0;
    double squares = 0.0;
    if (length == 0) {
        return 0.0;
    }
    for (size_t b = 0; b < blocks; b++) {
        double mean = 0.0;
        for (size_t i = 0; i < length; i++) {
            mean += indicator(*at++, median) - 0.5;
        }
        mean /= (double)length;
        sum += mean;
        squares += mean * mean;
    }
    const double count = (double)blocks;
    return (double)length * (squares - sum * sum / count) / (count - 1.0);
}

static double long_run_variance(const double *x, size_t n, double median)
{
    static const size_t BLOCKS[] = { 4, 8, 16, 32 };
    double v = INDEPENDENT;
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        v = fmax(v, block_variance(x, n, median, BLOCKS[i]));
    }
    return v;
}

enum wf_status wf_median_interval(const double *x,
                                  size_t n,
                                  struct wf_median_interval *ret,
                                  struct wf_error *err)
{
    *ret = (struct wf_median_interval){ NAN, NAN, NAN, NAN };
    if (n == 0) {
        return WF_OK;
    }
    double *sorted = wf_calloc(n, sizeof *sorted);
    if (sorted == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory to sort %zu samples", n);
    }
    memcpy(sorted, x, n * sizeof *sorted);
    wf_sort_doubles(sorted, n);
    const double count = (double)n;
    ret->median = wf_quantile_sorted(sorted, n, 0.5);
    const double v = long_run_variance(x, n, ret->median);
    const double h = FACTOR * (1.0 + UNSEEN / count) * sqrt(count * v);
    const double lo = floor(count / 2.0 - h);
    const double hi = ceil(count / 2.0 + h);
    ret->spread = v / INDEPENDENT;
    if (lo >= 0.0 && hi < count) {
        ret->lo = sorted[(size_t)lo];
        ret->hi = sorted[(size_t)hi];
    }
    free(sorted);
    return WF_OK;
}
