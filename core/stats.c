/* Robust statistics. Sorting works on a copy. The binomial probabilities behind the
 * interval of the median are walked from the centre out, scaled to the central term, so
 * no n makes them underflow and no gamma function is needed. */
#include "core/stats.h"

#include "core/buf.h"
#include "core/median_interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

void wf_sort_doubles(double *x, size_t n)
{
    if (n > 0) {
        qsort(x, n, sizeof *x, compare_doubles);
    }
}

double wf_quantile_sorted(const double *sorted, size_t n, double q)
{
    if (n == 0 || !(q >= 0.0 && q <= 1.0)) {
        return NAN;
    }
    const double h = (double)(n - 1) * q;
    const size_t lo = (size_t)h;
    if (lo + 1 >= n) {
        return sorted[n - 1];
    }
    const double part = h - (double)lo;
    return sorted[lo] + part * (sorted[lo + 1] - sorted[lo]);
}

/* Largest r with P(Binomial(n, 1/2) <= r - 1) <= alpha; 0 when even r = 1 fails. */
static size_t lower_rank(size_t n, double alpha)
{
    const size_t centre = n / 2;
    const double floor_term = 1e-25;
    size_t k = centre;
    double term = 1.0;
    double sum = term; /* of terms k .. centre */
    while (k > 0 && term > floor_term) {
        term *= (double)k / (double)(n - k + 1);
        k--;
        sum += term;
    }
    /* An even n has one central term, an odd n two equal ones. */
    const double total = n % 2 == 0 ? 2.0 * sum - 1.0 : 2.0 * sum;
    double tail = term;
    while (k < centre && tail <= alpha * total) {
        term *= (double)(n - k) / (double)(k + 1);
        k++;
        tail += term;
    }
    return k; /* the term that went over is the k-th: ranks 1 .. k are within */
}

void wf_median_ci_ranks(size_t n, double level, size_t *ret_lo, size_t *ret_hi)
{
    *ret_lo = 0;
    *ret_hi = 0;
    if (n == 0 || !(level >= 0.0 && level < 1.0)) {
        return;
    }
    const size_t lo = lower_rank(n, (1.0 - level) / 2.0);
    if (lo > 0) {
        *ret_lo = lo;
        *ret_hi = n - lo + 1;
    }
}

static void set_moments(const double *x, size_t n, struct wf_summary *s)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    s->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (x[i] - s->mean) * (x[i] - s->mean);
    }
    if (n > 1) {
        s->stddev = sqrt(squares / (double)(n - 1));
    }
}

/* `work` holds the sorted values and is overwritten by their deviations. */
static void set_mad(double *work, size_t n, struct wf_summary *s)
{
    for (size_t i = 0; i < n; i++) {
        work[i] = fabs(work[i] - s->median);
    }
    wf_sort_doubles(work, n);
    s->mad = wf_quantile_sorted(work, n, 0.5);
}

enum wf_status wf_summarise(const double *x,
                            size_t n,
                            struct wf_summary *ret,
                            struct wf_error *err)
{
    struct wf_summary s = { n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    if (n == 0) {
        *ret = s;
        return WF_OK;
    }
    double *work = wf_calloc(n, sizeof *work);
    if (work == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory to sort %zu samples", n);
    }
    memcpy(work, x, n * sizeof *work);
    wf_sort_doubles(work, n);
    s.min = work[0];
    s.max = work[n - 1];
    s.median = wf_quantile_sorted(work, n, 0.5);
    s.q1 = wf_quantile_sorted(work, n, 0.25);
    s.q3 = wf_quantile_sorted(work, n, 0.75);
    set_moments(x, n, &s);
    if (n > 1) {
        set_mad(work, n, &s);
    }
    free(work);
    struct wf_median_interval interval;
    const enum wf_status st = wf_median_interval(x, n, &interval, err);
    s.ci_lo = interval.lo;
    s.ci_hi = interval.hi;
    *ret = s;
    return st;
}
