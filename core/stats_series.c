/* Drift, autocorrelation and outer quantiles of a series. */
#include "core/stats_series.h"

#include "core/buf.h"
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
    double value;
    size_t at;
};

static int compare_values(const void *a, const void *b)
{
    const double x = ((const struct ranked *)a)->value;
    const double y = ((const struct ranked *)b)->value;
    return (x > y) - (x < y);
}

static double median_of(const double *x, size_t n, double *work)
{
    memcpy(work, x, n * sizeof *work);
    wf_sort_doubles(work, n);
    return wf_quantile_sorted(work, n, 0.5);
}

static void set_quantiles(const double *x, size_t n, double *work, struct wf_series *s)
{
    memcpy(work, x, n * sizeof *work);
    wf_sort_doubles(work, n);
    if (n >= WF_SERIES_MIN_P05) {
        s->p05 = wf_quantile_sorted(work, n, 0.05);
        s->p95 = wf_quantile_sorted(work, n, 0.95);
    }
    if (n >= WF_SERIES_MIN_P01) {
        s->p01 = wf_quantile_sorted(work, n, 0.01);
        s->p99 = wf_quantile_sorted(work, n, 0.99);
    }
}

/* Mid-ranks, 1-based: equal values share the middle of their ranks. */
static void set_ranks(struct ranked *order, size_t n, double *rank)
{
    qsort(order, n, sizeof *order, compare_values);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && order[end].value == order[i].value) {
            end++;
        }
        for (size_t k = i; k < end; k++) {
            rank[order[k].at] = ((double)i + 1 + (double)end) / 2;
        }
        i = end;
    }
}

static double lag_one(const double *rank, size_t n)
{
    const double middle = ((double)n + 1) / 2;
    double with_next = 0;
    double with_itself = 0;
    for (size_t i = 0; i < n; i++) {
        with_itself += (rank[i] - middle) * (rank[i] - middle);
        with_next += i + 1 < n ? (rank[i] - middle) * (rank[i + 1] - middle) : 0;
    }
    return with_itself > 0 ? with_next / with_itself : NAN;
}

static void set_order_figures(const double *x,
                              size_t n,
                              double *work,
                              struct ranked *order,
                              struct wf_series *s)
{
    const size_t third = n / 3;
    const double first = median_of(x, third, work);
    const double last = median_of(x + n - third, third, work);
    s->drift = last / first - 1;
    for (size_t i = 0; i < n; i++) {
        order[i] = (struct ranked){ x[i], i };
    }
    set_ranks(order, n, work);
    s->autocorrelation = lag_one(work, n);
    const double a = s->autocorrelation > 0 ? s->autocorrelation : 0;
    const double effective = (double)n * (1 - a) / (1 + a);
    s->effective_n = effective > 1 ? effective : 1;
}

enum wf_status wf_series_figures(const double *x,
                                 size_t n,
                                 struct wf_series *ret,
                                 struct wf_error *err)
{
    struct wf_series s = { n, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    double *work = wf_calloc(n + 1, sizeof *work);
    struct ranked *order = wf_calloc(n + 1, sizeof *order);
    enum wf_status st = WF_OK;
    if (work == NULL || order == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "no memory to sort %zu samples", n);
    } else if (n > 0) {
        set_quantiles(x, n, work, &s);
        if (n >= WF_SERIES_MIN_ORDER) {
            set_order_figures(x, n, work, order, &s);
        }
    }
    free(work);
    free(order);
    if (st == WF_OK) {
        *ret = s;
    }
    return st;
}
