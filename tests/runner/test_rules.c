/* Pure rules of measuring: batches, warm-up, stopping, plausibility, cold copies. */
#include "runner/cold.h"
#include "runner/digest.h"
#include "runner/judge_audit.h"
#include "runner/stopping.h"
#include "runner/warmup.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* A51: an estimate of 0 is no reason to divide by it. */
Test(stopping, a51_a_clock_that_says_nothing_gives_bounded_batches)
{
    cr_expect_eq(stopping_launches(0.0, 50000), 10000u);
    cr_expect_eq(stopping_launches(1e-9, 50000), 10000u);
    cr_expect_eq(stopping_launches(NAN, 50000), 10000u);
    cr_expect_eq(stopping_launches(-5.0, 50000), 10000u);
    cr_expect_eq(stopping_launches(INFINITY, 50000), 1u);
}

Test(stopping, batches_last_at_least_as_long_as_asked)
{
    cr_expect_eq(stopping_launches(10000, 50000), 5u);
    cr_expect_eq(stopping_launches(10001, 50000), 5u);
    cr_expect_eq(stopping_launches(9999, 50000), 6u);
    cr_expect_eq(stopping_launches(60000, 50000), 1u);
    cr_expect_eq(stopping_launches(60000, 0), 1u);
}

static enum stop_reason decide(const double *x,
                               size_t n,
                               size_t invalid,
                               int64_t spent_ns,
                               double *width)
{
    const struct stop_rule rule = { 0.01, 1000000, 300, 1000 };
    enum stop_reason reason = STOP_NOT_YET;
    struct wf_error err;
    cr_assert_eq(stopping_decide(&rule, x, n, invalid, spent_ns, &reason, width, &err),
                 WF_OK);
    return reason;
}

Test(stopping, stops_when_the_interval_is_narrow)
{
    double x[400];
    double width = 0;
    for (size_t i = 0; i < 400; i++) {
        x[i] = 100 + 0.1 * (double)(i % 5);
    }
    cr_expect_eq(decide(x, 299, 0, 0, &width), STOP_NOT_YET, "fewer than asked");
    cr_expect_leq(width, 0.01);
    cr_expect_eq(decide(x, 300, 0, 0, &width), STOP_NARROW);
    cr_expect_leq(width, 0.01);
}

Test(stopping, few_equal_samples_are_no_proof)
{
    double x[100];
    double width = 0;
    for (size_t i = 0; i < 100; i++) {
        x[i] = 100;
    }
    cr_expect_eq(decide(x, 100, 0, 0, &width), STOP_NOT_YET);
    cr_expect(isnan(width));
    cr_expect_eq(decide(x, 100, 0, 1000000, &width), STOP_BUDGET);
}

Test(stopping, a_wide_interval_ends_by_budget_or_by_count)
{
    double x[1000];
    double width = 0;
    for (size_t i = 0; i < 1000; i++) {
        x[i] = i % 2 ? 100 : 200;
    }
    cr_expect_eq(decide(x, 400, 0, 0, &width), STOP_NOT_YET);
    cr_expect_eq(decide(x, 400, 0, 1000000, &width), STOP_BUDGET);
    cr_expect_gt(width, 0.3);
    cr_expect_eq(decide(x, 1000, 0, 0, &width), STOP_SAMPLES);
    cr_expect_eq(decide(x, 600, 400, 0, &width), STOP_SAMPLES, "invalid ones count");
}

Test(stopping, a_slow_kernel_gets_three_samples_beyond_its_budget)
{
    const double x[3] = { 1e6, 1e6, 1e6 };
    double width = 0;
    cr_expect_eq(decide(x, 1, 0, 1000000, &width), STOP_NOT_YET);
    cr_expect_eq(decide(x, 2, 0, 2000000, &width), STOP_NOT_YET);
    cr_expect_eq(decide(x, 3, 0, 3000000, &width), STOP_BUDGET);
    cr_expect_eq(decide(x, 1, 0, 3000000, &width), STOP_BUDGET, "three times over");
}

Test(stopping, no_valid_sample_among_many_is_below_the_clock)
{
    double width = 0;
    cr_expect_eq(decide(NULL, 0, 5, 0, &width), STOP_NOT_YET);
    cr_expect_eq(decide(NULL, 0, 20, 0, &width), STOP_INVALID);
}

Test(plausible, the_floor_is_the_larger_of_compute_and_memory)
{
    cr_expect_eq(plausible_floor_ns(1e9, 1e12, 1e6, 0), 1e6);
    cr_expect_eq(plausible_floor_ns(1e9, 1e12, 1e9, 1e11), 1e7);
    cr_expect_eq(plausible_floor_ns(1e9, 0, 1e9, 0), 0);
}

Test(plausible, clocks_agree_within_what_scheduling_costs)
{
    char why[200];
    cr_expect_eq(plausible_clocks(20e6, 21e6, why, sizeof(why)), 0);
    cr_expect_eq(plausible_clocks(20e6, 34e6, why, sizeof(why)), 0);
    cr_expect_neq(plausible_clocks(20e6, 200e6, why, sizeof(why)), 0);
    cr_expect(strstr(why, "whole device was idle"));
    cr_expect_neq(plausible_clocks(40e6, 20e6, why, sizeof(why)), 0);
    cr_expect(strstr(why, "passed on the host"));
    cr_expect_neq(plausible_clocks(0, 20e6, why, sizeof(why)), 0);
    cr_expect_neq(plausible_clocks(NAN, 20e6, why, sizeof(why)), 0);
    cr_expect_neq(plausible_clocks(-1, 20e6, why, sizeof(why)), 0);
}

/* A58: three fixed warm-up runs would end here while samples still fall. */
Test(warmup, a58_samples_that_still_fall_are_not_warm)
{
    static const double x[] = { 12.88, 12.13, 11.62, 12.50, 11.95,
                                12.19, 11.16, 11.04, 11.01, 8.90 };
    struct warmup w;
    warmup_start(&w, 100, INT64_MAX);
    for (size_t i = 0; i < 10; i++) {
        cr_expect_eq(warmup_add(&w, x[i], 1), WARMUP_MORE, "sample %zu", i);
    }
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(warmup_add(&w, 11.0, 1), WARMUP_MORE);
    }
    cr_expect_eq(warmup_add(&w, 11.0, 1), WARMUP_STEADY);
}

Test(warmup, the_cap_on_samples_and_on_time_end_it)
{
    struct warmup w;
    warmup_start(&w, 3, INT64_MAX);
    cr_expect_eq(warmup_add(&w, 1, 1), WARMUP_MORE);
    cr_expect_eq(warmup_add(&w, NAN, 1), WARMUP_MORE);
    cr_expect_eq(warmup_add(&w, 0.0, 1), WARMUP_CAPPED);

    warmup_start(&w, 100, 1000);
    cr_expect_eq(warmup_add(&w, 1, 999), WARMUP_MORE);
    cr_expect_eq(warmup_add(&w, 1, 1), WARMUP_CAPPED);
}

Test(warmup, invalid_samples_never_make_a_block)
{
    struct warmup w;
    warmup_start(&w, 1000, INT64_MAX);
    for (size_t i = 0; i < 19; i++) {
        cr_expect_eq(warmup_add(&w, i % 2 ? NAN : -1.0, 1), WARMUP_MORE);
    }
    cr_expect_eq(warmup_add(&w, 0, 1), WARMUP_CAPPED, "there is nothing to see");
    warmup_start(&w, 1000, INT64_MAX);
    cr_expect_eq(warmup_add(&w, 5, 1), WARMUP_MORE);
    for (size_t i = 0; i < 50; i++) {
        cr_expect_eq(warmup_add(&w, i % 2 ? NAN : -1.0, 1), WARMUP_MORE);
    }
}

Test(cold, copies_exceed_the_last_level_cache)
{
    struct wf_error err = { 0 };
    size_t sets = 0;
    struct wf_device mi300 = { .arch = "gfx942:sramecc+:xnack-",
                               .llc_bytes = (uint64_t)256 << 20,
                               .memory_bytes = (uint64_t)192 << 30 };
    /* fp16 1024 cubed: 6 MiB a set, 512 MiB in all. */
    cr_assert_eq(cold_set_count(&mi300, (uint64_t)6 << 20, 1024, &sets, &err), WF_OK);
    cr_expect_eq(sets, 86u);
    cr_assert_eq(cold_set_count(&mi300, (uint64_t)4 << 30, 1024, &sets, &err), WF_OK);
    cr_expect_eq(sets, 2u, "a case larger than the budget still rotates");

    struct wf_device h200 = { .arch = "sm_90", .l2_bytes = (uint64_t)50 << 20 };
    cr_expect_eq(cold_target_bytes(&h200), (uint64_t)200 << 20);
    struct wf_device unknown = { .arch = "sm_90" };
    cr_expect_eq(cold_target_bytes(&unknown), (uint64_t)512 << 20);
}

Test(cold, what_cannot_be_had_is_an_error)
{
    struct wf_error err = { 0 };
    size_t sets = 0;
    struct wf_device small = { .arch = "gfx942", .memory_bytes = (uint64_t)600 << 20 };
    cr_expect_eq(cold_set_count(&small, 4096, 1024, &sets, &err), WF_EUNSUPPORTED);
    cr_expect(strstr(err.text, "131072 copies"), "%s", err.text);
    cr_expect_eq(cold_set_count(&small, (uint64_t)300 << 20, 1024, &sets, &err),
                 WF_EUNSUPPORTED);
    cr_expect(strstr(err.text, "do not fit"), "%s", err.text);
    cr_expect_eq(cold_set_count(&small, 0, 1024, &sets, &err), WF_EUNSUPPORTED);
}

static uint64_t digest_in_pieces(const unsigned char *bytes, size_t n, size_t piece)
{
    struct digest d;
    digest_start(&d);
    for (size_t at = 0; at < n; at += piece) {
        digest_add(&d, bytes + at, n - at < piece ? n - at : piece);
    }
    return digest_value(&d);
}

Test(digest, does_not_depend_on_how_the_bytes_are_cut)
{
    unsigned char bytes[1000];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    }
    uint64_t whole = digest_in_pieces(bytes, sizeof(bytes), sizeof(bytes));
    for (size_t piece = 1; piece < 100; piece++) {
        cr_expect_eq(digest_in_pieces(bytes, sizeof(bytes), piece), whole, "%zu",
                     piece);
    }
}

Test(digest, sees_every_single_bit_and_the_length)
{
    unsigned char bytes[100] = { 0 };
    uint64_t zero = digest_in_pieces(bytes, sizeof(bytes), sizeof(bytes));
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_expect_neq(digest_in_pieces(bytes, sizeof(bytes), sizeof(bytes)), zero);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    cr_expect_neq(digest_in_pieces(bytes, 99, 99), zero);
    cr_expect_neq(digest_in_pieces(bytes, 0, 1), zero);
}

Test(audit, a_launch_on_new_inputs_may_not_take_much_longer_than_the_samples_say)
{
    cr_expect(!audit_contradicts(1e6, 1e6, 1, true));
    cr_expect(!audit_contradicts(2.5e6, 1e6, 1, true));
    cr_expect(audit_contradicts(2.7e6, 1e6, 1, true));
    cr_expect(!audit_contradicts(1e5, 1e3, 1, true), "one round loses 100 us");
    cr_expect(audit_contradicts(1e5, 1e3, 16, true), "sixteen launches share it");
    cr_expect(!audit_contradicts(3e4, 1e3, 16, false), "a gap behind a copy on a GPU");
    cr_expect(audit_contradicts(5e4, 1e3, 16, false));
    cr_expect(!audit_contradicts((double)NAN, 1e3, 16, true));
    cr_expect(!audit_contradicts(-5.0, 1e3, 16, true));
}

Test(plausible, short_stretch_grows_in_the_next_try)
{
    /* 400 launches that were thought to take 75 us each took 9 us; somebody else took
     * 50 ms meanwhile. */
    cr_assert_eq(plausible_longer(400, 3.46e6, 59e6), 2033); /* 300 ms by the host */
    cr_assert_eq(plausible_longer(400, 3e6, 3.1e6), 4000);
    cr_assert_eq(plausible_longer(400, 31e6, 90e6), 400); /* long enough */
    cr_assert_eq(plausible_longer(400, 1e6, 400e6), 400); /* the host cannot wait */
    cr_assert_eq(plausible_longer(90000, 1e3, 1e3), 100000);
    cr_assert_eq(plausible_longer(5, NAN, 1e6), 1500);
    cr_assert_eq(plausible_longer(5, -1, 1e6), 5);
    cr_assert_eq(plausible_longer(5, 0, 1e6), 1500);
}
