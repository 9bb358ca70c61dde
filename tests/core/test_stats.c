/* Robust statistics against values worked out by hand or by exact sums. */
#include "core/stats.h"

#include <criterion/criterion.h>
#include <math.h>

Test(stats, no_samples_give_nan_everywhere)
{
    struct wf_summary s;
    cr_assert_eq(wf_summarise(NULL, 0, &s, NULL), WF_OK);
    cr_assert_eq(s.n, 0);
    cr_assert(isnan(s.min) && isnan(s.max) && isnan(s.mean) && isnan(s.median));
    cr_assert(isnan(s.stddev) && isnan(s.mad) && isnan(s.ci_lo) && isnan(s.q3));
}

Test(stats, one_sample_has_no_spread)
{
    const double x = 12.5;
    struct wf_summary s;
    cr_assert_eq(wf_summarise(&x, 1, &s, NULL), WF_OK);
    cr_assert(s.min == 12.5 && s.max == 12.5 && s.median == 12.5 && s.mean == 12.5);
    cr_assert(isnan(s.stddev) && isnan(s.mad) && isnan(s.ci_lo) && isnan(s.ci_hi));
}

Test(stats, summary_of_a_small_set)
{
    const double x[] = { 4, 1, 3, 2, 100, 5, 7, 6 };
    struct wf_summary s;
    cr_assert_eq(wf_summarise(x, 8, &s, NULL), WF_OK);
    cr_assert(s.min == 1 && s.max == 100 && s.mean == 16);
    cr_assert_eq(s.median, 4.5);
    cr_assert_eq(s.q1, 2.75); /* position 1.75 of 1 2 3 4 */
    cr_assert_eq(s.q3, 6.25);
    cr_assert_eq(s.mad, 2); /* deviations .5 .5 1.5 1.5 2.5 2.5 3.5 95.5 */
    cr_assert_float_eq(s.stddev, 34, 1e-12);     /* squares sum to 8092 = 7 * 1156 */
    cr_assert(isnan(s.ci_lo) && isnan(s.ci_hi)); /* 8 samples tell too little */
    cr_assert_eq(x[0], 4);                       /* input unchanged */
}

/* P(Binomial(n, 1/2) <= k) with exact powers of two, n <= 50. */
static double binomial_cdf(int n, int k)
{
    double sum = 0;
    for (int i = 0; i <= k; i++) {
        double c = 1;
        for (int j = 0; j < i; j++) {
            c = c * (n - j) / (j + 1);
        }
        sum += c;
    }
    return ldexp(sum, -n);
}

Test(stats, median_ranks_are_the_tightest_that_keep_the_level)
{
    const double levels[] = { 0.5, 0.9, 0.95, 0.99 };
    for (int n = 1; n <= 50; n++) {
        for (size_t k = 0; k < 4; k++) {
            size_t lo, hi;
            const double alpha = (1 - levels[k]) / 2;
            wf_median_ci_ranks((size_t)n, levels[k], &lo, &hi);
            if (lo == 0) {
                cr_assert_eq(hi, 0);
                cr_assert_gt(binomial_cdf(n, 0), alpha);
                continue;
            }
            cr_assert_eq(hi, (size_t)n - lo + 1);
            cr_assert_leq(lo, hi);
            cr_assert_leq(binomial_cdf(n, (int)lo - 1), alpha * (1 + 1e-12));
            cr_assert(lo == hi || lo + 1 > hi - 1 ||
                          binomial_cdf(n, (int)lo) > alpha * (1 - 1e-12),
                      "n %d level %g: rank %zu is not the tightest", n, levels[k], lo);
        }
    }
}

Test(stats, interval_starts_at_six_samples)
{
    size_t lo, hi;
    wf_median_ci_ranks(5, 0.95, &lo, &hi);
    cr_assert(lo == 0 && hi == 0);
    wf_median_ci_ranks(6, 0.95, &lo, &hi);
    cr_assert(lo == 1 && hi == 6);
    wf_median_ci_ranks(9, 0.95, &lo, &hi);
    cr_assert(lo == 2 && hi == 8);
}

Test(stats, ranks_of_a_million_samples_follow_the_normal_limit)
{
    size_t lo, hi;
    wf_median_ci_ranks(1000000, 0.95, &lo, &hi);
    cr_assert_float_eq((double)lo, 500000 - 980, 2.0);
    cr_assert_eq(hi, 1000000 - lo + 1);
}

Test(stats, quantile_ends_and_bad_arguments)
{
    const double x[] = { 1, 2, 4 };
    cr_assert_eq(wf_quantile_sorted(x, 3, 0), 1);
    cr_assert_eq(wf_quantile_sorted(x, 3, 1), 4);
    cr_assert_eq(wf_quantile_sorted(x, 3, 0.75), 3);
    cr_assert(isnan(wf_quantile_sorted(x, 3, 1.5)));
    cr_assert(isnan(wf_quantile_sorted(x, 3, NAN)));
    cr_assert(isnan(wf_quantile_sorted(x, 0, 0.5)));
}
