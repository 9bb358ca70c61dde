/* Figures over ordered samples: known answers and properties. */
#include "core/stats_series.h"

#include "core/rng.h"
#include "core/stats.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

static struct wf_series figures(const double *x, size_t n)
{
    struct wf_series s;
    cr_assert_eq(wf_series_figures(x, n, &s, NULL), WF_OK);
    cr_assert_eq(s.n, n);
    return s;
}

/* A78: nothing is said about no samples or too few. */
Test(stats_series, a78_too_few_samples_give_nan)
{
    double x[120];
    for (size_t i = 0; i < 120; i++) {
        x[i] = 100 + (double)i;
    }
    struct wf_series s = figures(NULL, 0);
    cr_expect(isnan(s.p01) && isnan(s.p05) && isnan(s.p95) && isnan(s.p99));
    cr_expect(isnan(s.drift) && isnan(s.autocorrelation) && isnan(s.effective_n));
    s = figures(x, 1);
    cr_expect(isnan(s.p05) && isnan(s.drift) && isnan(s.effective_n));
    s = figures(x, 11);
    cr_expect(isnan(s.drift) && isnan(s.autocorrelation));
    s = figures(x, 12);
    cr_expect(isfinite(s.drift) && isfinite(s.autocorrelation) && isnan(s.p05));
    s = figures(x, 20);
    cr_expect(isfinite(s.p05) && isfinite(s.p95) && isnan(s.p01));
    s = figures(x, 99);
    cr_expect(isnan(s.p01) && isnan(s.p99));
    s = figures(x, 100);
    cr_expect(isfinite(s.p01) && isfinite(s.p99));
}

Test(stats_series, known_answers_of_a_ramp)
{
    double x[101];
    for (size_t i = 0; i < 101; i++) {
        x[i] = 100 + (double)i;
    }
    struct wf_series s = figures(x, 101);
    cr_expect_float_eq(s.p01, 101, 1e-9);
    cr_expect_float_eq(s.p05, 105, 1e-9);
    cr_expect_float_eq(s.p95, 195, 1e-9);
    cr_expect_float_eq(s.p99, 199, 1e-9);
    /* Thirds of 33: medians 116 and 184. */
    cr_expect_float_eq(s.drift, 184.0 / 116.0 - 1, 1e-12);
    cr_expect_gt(s.autocorrelation, 0.95);
    cr_expect_lt(s.effective_n, 3);
    cr_expect_geq(s.effective_n, 1);
    cr_expect_eq(x[0], 100);
}

Test(stats_series, autocorrelation_by_hand)
{
    /* Ranks 1 .. 12 in this order: m = 6.5; sum of squares 143. */
    const double x[] = { 1, 12, 2, 11, 3, 10, 4, 9, 5, 8, 6, 7 };
    double with_next = 0;
    for (size_t i = 0; i + 1 < 12; i++) {
        with_next += (x[i] - 6.5) * (x[i + 1] - 6.5);
    }
    struct wf_series s = figures(x, 12);
    cr_expect_float_eq(s.autocorrelation, with_next / 143, 1e-12);
    cr_expect_lt(s.autocorrelation, -0.7);
    cr_expect_eq(s.effective_n, 12, "alternation does not make more samples");
}

Test(stats_series, equal_samples_have_no_order)
{
    double x[30];
    for (size_t i = 0; i < 30; i++) {
        x[i] = 7;
    }
    struct wf_series s = figures(x, 30);
    cr_expect_eq(s.drift, 0);
    cr_expect(isnan(s.autocorrelation));
    cr_expect_eq(s.effective_n, 30);
}

Test(stats_series, one_outlier_moves_little)
{
    double x[300];
    for (size_t i = 0; i < 300; i++) {
        x[i] = 1000 + (double)wf_rng_below(7, 0, i, 100);
    }
    struct wf_series before = figures(x, 300);
    x[299] = 1e9;
    struct wf_series after = figures(x, 300);
    cr_expect_float_eq(before.drift, after.drift, 1e-2);
    cr_expect_float_eq(before.autocorrelation, after.autocorrelation, 3e-2);
}

/* What neither scale nor shift of the time changes. */
Test(stats_series, scale_changes_quantiles_alone)
{
    double x[200];
    double y[200];
    for (size_t i = 0; i < 200; i++) {
        x[i] = 1000 + (double)wf_rng_below(9, 0, i, 1000);
        y[i] = 3 * x[i];
    }
    struct wf_series a = figures(x, 200);
    struct wf_series b = figures(y, 200);
    cr_expect_float_eq(b.p01, 3 * a.p01, 1e-6);
    cr_expect_float_eq(b.p95, 3 * a.p95, 1e-6);
    cr_expect_float_eq(b.drift, a.drift, 1e-12);
    cr_expect_eq(b.autocorrelation, a.autocorrelation);
    cr_expect_lt(fabs(a.autocorrelation), 0.25, "independent draws");
    cr_expect(a.p01 <= a.p05 && a.p05 <= a.p95 && a.p95 <= a.p99);
}
