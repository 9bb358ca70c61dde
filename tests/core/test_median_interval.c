/* The interval of the median: what it is made of, and what widens it. How often it
 * covers is tests/bench/sim_median.c's business. */
#include "core/median_interval.h"
#include "core/rng.h"
#include "core/stats.h"

#include <criterion/criterion.h>
#include <math.h>

#define N 1000

static struct wf_median_interval interval(const double *x, size_t n)
{
    struct wf_median_interval ret;
    cr_assert_eq(wf_median_interval(x, n, &ret, NULL), WF_OK);
    return ret;
}

static double width(const struct wf_median_interval *i)
{
    return i->hi - i->lo;
}

Test(median_interval, nothing_and_little_have_no_interval)
{
    double x[170];
    struct wf_median_interval i = interval(NULL, 0);
    cr_expect(isnan(i.median) && isnan(i.lo) && isnan(i.hi));
    for (size_t k = 0; k < 170; k++) {
        x[k] = 7;
    }
    i = interval(x, 1);
    cr_expect(i.median == 7 && isnan(i.lo) && isnan(i.hi));
    i = interval(x, 170); /* all equal, and still nobody knows */
    cr_expect(i.median == 7 && isnan(i.lo) && isnan(i.hi));
}

Test(median_interval, equal_samples_give_a_point)
{
    double x[N];
    for (size_t k = 0; k < N; k++) {
        x[k] = 3;
    }
    const struct wf_median_interval i = interval(x, N);
    cr_expect(i.lo == 3 && i.hi == 3 && i.median == 3);
    cr_expect_float_eq(i.spread, 1, 1e-12);
}

Test(median_interval, independent_samples_have_the_ranks_of_the_formula)
{
    double x[N];
    wf_rng_fill_uniform(4, 1, 0, x, N);
    const struct wf_median_interval i = interval(x, N);
    const double h = 4.1 * (1 + 400.0 / N) * sqrt(N * i.spread / 4);
    size_t below = 0;
    size_t upto = 0;
    for (size_t k = 0; k < N; k++) {
        below += x[k] < i.lo;
        upto += x[k] <= i.hi;
    }
    cr_expect_eq(below, (size_t)floor(N / 2.0 - h));
    cr_expect_eq(upto, (size_t)ceil(N / 2.0 + h) + 1);
    cr_expect(i.spread >= 1 && i.spread < 4, "spread %g", i.spread);
}

Test(median_interval, a_mode_that_lasts_widens_it_and_order_is_what_tells)
{
    double x[N];
    double shuffled[N];
    struct wf_rng rng = { 9, 9, 0 };
    for (size_t k = 0; k < N; k++) {
        /* 125 samples slow, 125 fast, ... */
        x[k] = (k / 125 % 2 ? 110 : 100) + wf_rng_uniform(3, 2, k);
        shuffled[k] = x[k];
    }
    for (size_t k = N - 1; k > 0; k--) {
        const size_t other = (size_t)wf_rng_next_below(&rng, k + 1);
        const double swap = shuffled[k];
        shuffled[k] = shuffled[other];
        shuffled[other] = swap;
    }
    const struct wf_median_interval in_order = interval(x, N);
    const struct wf_median_interval mixed = interval(shuffled, N);
    cr_expect_gt(in_order.spread, 20);
    cr_expect_lt(mixed.spread, 5);
    cr_expect(isnan(in_order.lo) || width(&in_order) > width(&mixed));
    cr_expect_gt(width(&mixed), 9,
                 "half the samples are slow: the median may be either");
}

Test(median_interval, narrows_with_samples_and_follows_the_scale)
{
    static double x[16 * N];
    wf_rng_fill_normal(1, 1, 0, x, 16 * N);
    for (size_t k = 0; k < 16 * N; k++) {
        x[k] = 1000 + x[k];
    }
    const struct wf_median_interval few = interval(x, N);
    const struct wf_median_interval many = interval(x, 16 * N);
    cr_expect_lt(width(&many), width(&few) / 3);
    for (size_t k = 0; k < N; k++) {
        x[k] *= 2;
    }
    const struct wf_median_interval twice = interval(x, N);
    cr_expect(twice.lo == 2 * few.lo && twice.hi == 2 * few.hi);
}

Test(median_interval, is_wider_than_the_textbook_one)
{
    double x[N];
    size_t lo, hi;
    for (size_t k = 0; k < N; k++) {
        x[k] = (double)(k * 619 % N); /* every rank once */
    }
    const struct wf_median_interval i = interval(x, N);
    wf_median_ci_ranks(N, 0.95, &lo, &hi);
    cr_expect_gt(width(&i), 2 * (double)(hi - lo));
}
