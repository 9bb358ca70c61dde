/* Figures of selftest timing. */
#include "selftest/timing_rules.h"

#include <criterion/criterion.h>
#include <math.h>

/* Values of the beta distribution's quantile: Beta(k, n - k + 1) at 0.05. */
Test(timing_rules, the_lower_limit_is_clopper_and_pearsons)
{
    cr_expect_float_eq(timing_lower_limit(300, 300, 0.95), pow(0.05, 1.0 / 300), 1e-9);
    cr_expect_float_eq(timing_lower_limit(10, 10, 0.95), 0.7411344491, 1e-8);
    cr_expect_float_eq(timing_lower_limit(9, 10, 0.95), 0.6058367, 1e-6);
    cr_expect_eq(timing_lower_limit(0, 10, 0.95), 0);
    cr_expect_eq(timing_lower_limit(0, 0, 0.95), 0);
    cr_expect_lt(timing_lower_limit(283, 300, 0.95), 0.92);
    cr_expect_gt(timing_lower_limit(285, 300, 0.95), 0.92);
}

Test(timing_rules, spread_is_that_of_a_normal_one)
{
    const double x[] = { 99, 100, 101, 102, 98 };
    double spread = 0;
    struct wf_error err = { 0 };
    cr_assert_eq(timing_spread(x, 5, &spread, &err), WF_OK);
    cr_expect_float_eq(spread, 0.014826, 1e-9);
    cr_assert_eq(timing_spread(x, 1, &spread, &err), WF_OK);
    cr_expect(isnan(spread));
}

static void fill(double *x, size_t n, double later)
{
    unsigned state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = 100 + (double)(state >> 8) / (1 << 24) + (i < n / 2 ? 0 : later);
    }
}

Test(timing_rules, windows_hold_a_steady_median_and_not_one_far_off)
{
    enum {
        N = 8000
    };
    static double x[N];
    struct timing_windows w;
    struct wf_error err = { 0 };
    const struct timing_window_rule rule = { 32, 1000, 30, 0.01 };
    fill(x, N, 0);
    cr_assert_eq(timing_cut(x, N, 100.5, &rule, &w, &err), WF_OK);
    cr_expect_eq(w.count, 30u);
    cr_expect_eq(w.known, 30u);
    cr_expect_eq(w.covered, 30u);
    cr_assert_eq(timing_cut(x, N, 102, &rule, &w, &err), WF_OK);
    cr_expect_eq(w.covered, 0u);
}

/* A change from window to window is what the coverage is there to find. */
Test(timing_rules, windows_before_and_after_a_change_do_not_hold_what_lies_between)
{
    enum {
        N = 8000
    };
    static double x[N];
    struct timing_windows w;
    struct wf_error err = { 0 };
    const struct timing_window_rule rule = { 32, 1000, 100, 0.01 };
    fill(x, N, 10);
    cr_assert_eq(timing_cut(x, N, 105.5, &rule, &w, &err), WF_OK);
    cr_expect_gt(w.known, 20u);
    cr_expect_leq(w.covered, 1u);
}
