/* exp, log and log1p: near enough to the true values, and the same bits on every
 * machine. */
#include "gate/exact.h"

#include "core/rng.h"

#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define ARGUMENTS 350000 /* of each function */

/* Distance in units of the last place of the true value's double. */
static long double ulps(double got, long double want)
{
    double w = fabs((double)want);
    double unit = w >= DBL_MIN ? nextafter(w, INFINITY) - w : 0x1p-1074;

    return fabsl((long double)got - want) / (long double)unit;
}

static double between(struct wf_rng *r, double low, double high)
{
    return low + (high - low) * ((double)(wf_rng_next(r) >> 11) * 0x1p-53);
}

struct worst {
    long double ulps;
    double at;
};

static void note(struct worst *w, double x, double got, long double want)
{
    long double u = ulps(got, want);

    if (!(u <= w->ulps)) { /* NaN too */
        *w = (struct worst){ u, x };
    }
}

Test(exact, exp_is_within_an_ulp)
{
    static const double range[][2] = {
        { -708, 709.7 }, { -40, 3 }, { -0.7, 0.7 }, { -1e-3, 1e-3 }
    };
    struct wf_rng r = { 1, 1, 0 };
    struct worst w = { 0, 0 };

    for (int i = 0; i < ARGUMENTS; i++) {
        double x = between(&r, range[i % 4][0], range[i % 4][1]);
        note(&w, x, wf_exact_exp(x), expl(x));
    }
    cr_log_info("exp: %.3Lf ulp at %a", w.ulps, w.at);
    cr_assert(w.ulps < 1, "%.3Lf ulp at %a", w.ulps, w.at);
}

Test(exact, log_is_within_an_ulp)
{
    struct wf_rng r = { 2, 1, 0 };
    struct worst w = { 0, 0 };

    for (int i = 0; i < ARGUMENTS; i++) {
        double x = i % 3 == 0 ? between(&r, 0.9, 1.1)
                   : i % 3 == 1
                       ? between(&r, 0, 6)
                       : ldexp(between(&r, 1, 2), (int)between(&r, -1070, 1023));
        note(&w, x, wf_exact_log(x), logl(x));
    }
    cr_assert(w.ulps < 1, "%.3Lf ulp at %a", w.ulps, w.at);
}

Test(exact, log1p_is_within_an_ulp)
{
    struct wf_rng r = { 3, 1, 0 };
    struct worst w = { 0, 0 };

    for (int i = 0; i < ARGUMENTS; i++) {
        double x = i % 3 == 0   ? between(&r, -1, 1)
                   : i % 3 == 1 ? between(&r, -0.07, 0.07)
                                : ldexp(between(&r, 1, 2), (int)between(&r, -300, 300));
        note(&w, x, wf_exact_log1p(x), log1pl(x));
    }
    cr_assert(w.ulps < 1, "%.3Lf ulp at %a", w.ulps, w.at);
}

Test(exact, ends_of_the_range)
{
    cr_assert_eq(wf_exact_exp(0), 1);
    cr_assert_eq(wf_exact_exp(710), INFINITY);
    cr_assert_eq(wf_exact_exp(INFINITY), INFINITY);
    cr_assert_eq(wf_exact_exp(-INFINITY), 0);
    cr_assert_eq(wf_exact_exp(-746), 0);
    cr_assert(isnan(wf_exact_exp(NAN)));
    cr_assert_lt(ulps(wf_exact_exp(-744), expl(-744)), 1); /* subnormal */
    cr_assert_lt(ulps(wf_exact_exp(-720), expl(-720)), 1);
    cr_assert_lt(ulps(wf_exact_exp(709.78), expl(709.78)), 1);
    cr_assert_eq(wf_exact_log(1), 0);
    cr_assert_eq(wf_exact_log(0), -INFINITY);
    cr_assert(isnan(wf_exact_log(-1)));
    cr_assert(isnan(wf_exact_log(NAN)));
    cr_assert_eq(wf_exact_log(INFINITY), INFINITY);
    cr_assert_lt(ulps(wf_exact_log(0x1p-1074), logl(0x1p-1074L)), 1);
    cr_assert_eq(wf_exact_log1p(0), 0);
    cr_assert_eq(wf_exact_log1p(-1), -INFINITY);
    cr_assert(isnan(wf_exact_log1p(-1.5)));
    cr_assert_eq(wf_exact_log1p(INFINITY), INFINITY);
}

/* FNV-1a over the bits of many results: any other compiler, flag or library that
 * changes one bit of one of them is noticed here. */
static uint64_t digest_of(double (*f)(double), uint64_t stream, double low, double high)
{
    struct wf_rng r = { 4, stream, 0 };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < 20000; i++) {
        double y = f(between(&r, low, high));
        uint64_t bits = 0;
        memcpy(&bits, &y, sizeof bits);
        for (int k = 0; k < 8; k++) {
            hash = (hash ^ (bits >> 8 * k & 0xff)) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

Test(exact, bits_are_the_same_everywhere)
{
    cr_expect_eq(digest_of(wf_exact_exp, 1, -60, 20), UINT64_C(0x41ff9ba131ca3ca8),
                 "exp %" PRIx64, digest_of(wf_exact_exp, 1, -60, 20));
    cr_expect_eq(digest_of(wf_exact_log, 2, 0, 8), UINT64_C(0xaff3c739847e7d69),
                 "log %" PRIx64, digest_of(wf_exact_log, 2, 0, 8));
    cr_expect_eq(digest_of(wf_exact_log1p, 3, -1, 1), UINT64_C(0x68c2389ffd68ee6c),
                 "log1p %" PRIx64, digest_of(wf_exact_log1p, 3, -1, 1));
    cr_expect_eq(digest_of(wf_exact_sqrt, 4, 0, 1e-3), UINT64_C(0x96aaa367c12fa38d),
                 "sqrt %" PRIx64, digest_of(wf_exact_sqrt, 4, 0, 1e-3));
}
