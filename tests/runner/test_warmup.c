/* The rule of warm-up on sequences shaped like what devices do. */
#include "runner/warmup.h"

#include <criterion/criterion.h>
#include <math.h>

#define MS 1000000LL

struct run {
    enum warmup_state state;
    int64_t at_ms;
    enum warmup_clock clock;
};

typedef double (*shape_fn)(double ms);

/* A sample each millisecond, a reading of the clock each ten. A kernel bound by its
 * clock: the sample is 1e6 / MHz. */
static struct run play(shape_fn mhz, shape_fn clock, int64_t least_ms, int64_t max_ms)
{
    struct warmup w;
    struct run r = { WARMUP_MORE, 0, WARMUP_CLOCK_UNKNOWN };
    warmup_start(&w, 200, max_ms * MS);
    w.least_ns = least_ms * MS;
    while (r.state == WARMUP_MORE) {
        if (r.at_ms % 10 == 0) {
            warmup_add_clock(&w, r.at_ms * MS, clock((double)r.at_ms));
        }
        r.state = warmup_add(&w, 1e6 / mhz((double)r.at_ms), MS);
        r.at_ms++;
    }
    r.clock = warmup_clock_state(&w);
    return r;
}

static double flat(double ms)
{
    (void)ms;
    return 2100;
}

static double unknown(double ms)
{
    (void)ms;
    return (double)NAN;
}

/* From 130 MHz to 2100 MHz over 450 ms, as a controller does that was idle: each block
 * of five samples is within 5 % of the one before long before the end. */
static double ramp(double ms)
{
    return ms < 450 ? 1500 + 600 * ms / 450 : 2100;
}

/* Boost at first, then the power limit pulls it down until 600 ms. */
static double overshoot(double ms)
{
    return 1700 + 400 * exp(-ms / 200);
}

/* Swings by 2 % around its mean, every 20 ms: what a power limit looks like. */
static double swing(double ms)
{
    return 1800 + 36 * sin(2 * 3.14159265358979 * ms / 20);
}

/* So slow a swing that a window sees one side of it. */
static double slow_swing(double ms)
{
    return 1800 + 180 * sin(2 * 3.14159265358979 * ms / 300);
}

Test(warmup, flat_from_the_start_ends_at_the_least_time)
{
    struct run r = play(flat, flat, 400, 2000);
    cr_expect_eq(r.state, WARMUP_STEADY);
    cr_expect(r.at_ms >= 400 && r.at_ms <= 405, "%lld ms", (long long)r.at_ms);
    r = play(flat, flat, 0, 2000);
    cr_expect_eq(r.state, WARMUP_STEADY);
    cr_expect_leq(r.at_ms, 60, "six readings of the clock and two blocks");
}

Test(warmup, a_ramp_is_waited_for_though_samples_look_steady)
{
    struct run r = play(ramp, ramp, 0, 2000);
    cr_expect_eq(r.state, WARMUP_STEADY);
    cr_expect(r.at_ms > 400 && r.at_ms < 600, "%lld ms", (long long)r.at_ms);
    cr_expect_eq(r.clock, WARMUP_CLOCK_STEADY);
    /* Without the clock only the least time keeps it. */
    r = play(ramp, unknown, 0, 2000);
    cr_expect_lt(r.at_ms, 20);
    cr_expect_eq(r.clock, WARMUP_CLOCK_UNKNOWN);
    r = play(ramp, unknown, 400, 2000);
    cr_expect_geq(r.at_ms, 400);
}

Test(warmup, an_overshoot_is_waited_for)
{
    struct run r = play(overshoot, overshoot, 0, 2000);
    cr_expect_eq(r.state, WARMUP_STEADY);
    /* The halves of 100 ms differ by 1 % until about 245 ms. */
    cr_expect(r.at_ms > 200 && r.at_ms < 500, "%lld ms", (long long)r.at_ms);
    cr_expect_lt(overshoot((double)r.at_ms), 1.08 * 1700);
}

Test(warmup, a_fast_swing_is_steady_and_a_slow_one_is_not)
{
    struct run r = play(swing, swing, 200, 2000);
    cr_expect_eq(r.state, WARMUP_STEADY);
    cr_expect_lt(r.at_ms, 300);
    r = play(slow_swing, slow_swing, 200, 260);
    cr_expect_eq(r.state, WARMUP_CAPPED);
    cr_expect_eq(r.clock, WARMUP_CLOCK_UNSTEADY);
    cr_expect_eq(r.at_ms, 260);
}

Test(warmup, the_cap_on_samples_waits_for_the_least_time)
{
    struct warmup w;
    enum warmup_state state = WARMUP_MORE;
    size_t n = 0;
    warmup_start(&w, 200, 10000 * MS);
    w.least_ns = 400 * MS;
    while (state == WARMUP_MORE) {
        state = warmup_add(&w, n / 5 % 2 ? 100 : 200, MS); /* never steady */
        n++;
    }
    cr_expect_eq(state, WARMUP_CAPPED);
    cr_expect_eq(n, 400u);
}

Test(warmup, devices_have_their_times)
{
    struct wf_device d = { .arch = "gfx942:sramecc+:xnack-" };
    cr_expect_eq(warmup_least_ns(&d), 400 * MS);
    cr_expect_eq(warmup_max_ns(&d), 2000 * MS);
    d = (struct wf_device){ .arch = "sm_90" };
    cr_expect_eq(warmup_least_ns(&d), 200 * MS);
    cr_expect_eq(warmup_max_ns(&d), 1800 * MS);
    d = (struct wf_device){ .arch = "x86-64", .library_kernels = true };
    cr_expect_eq(warmup_least_ns(&d), 0);
    cr_expect_eq(warmup_max_ns(&d), 1000 * MS);
}

Test(warmup, slow_kernels_need_six_readings_however_far_apart)
{
    struct warmup w;
    warmup_start(&w, 200, INT64_MAX);
    for (int64_t i = 0; i < 6; i++) {
        cr_expect_eq(warmup_clock_state(&w),
                     i ? WARMUP_CLOCK_UNSTEADY : WARMUP_CLOCK_UNKNOWN);
        warmup_add_clock(&w, i * 1000 * MS, 2100);
    }
    cr_expect_eq(warmup_clock_state(&w), WARMUP_CLOCK_STEADY);
    warmup_add_clock(&w, 6000 * MS, -1);
    cr_expect_eq(w.clocks, 6u);
}
