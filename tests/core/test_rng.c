/* Philox against the Random123 vectors, draws against their contracts. */
#include "core/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(rng, philox_gives_the_known_answers)
{
    static const uint32_t rows[3][10] = {
        { 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
        { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
          0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
        { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
          0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        wf_philox4x32_10(rows[i], rows[i] + 4, out);
        cr_assert_arr_eq(out, rows[i] + 6, sizeof out, "row %d: %08x", i, out[0]);
    }
}

Test(rng, bulk_words_equal_single_ones_at_any_start)
{
    const uint64_t firsts[] = { 0, 1, 127, UINT64_C(0x1fffffff1), UINT64_MAX / 2 };
    uint64_t words[300];
    double uniforms[300];
    for (size_t k = 0; k < 5; k++) {
        const uint64_t seed = UINT64_C(0xdeadbeef12345678) + k, stream = UINT64_C(7)
                                                                         << 33;
        wf_rng_fill_u64(seed, stream, firsts[k], words, 300);
        wf_rng_fill_uniform(seed, stream, firsts[k], uniforms, 300);
        for (uint64_t i = 0; i < 300; i++) {
            cr_assert_eq(words[i], wf_rng_u64(seed, stream, firsts[k] + i));
            cr_assert_eq(uniforms[i], wf_rng_uniform(seed, stream, firsts[k] + i));
        }
    }
}

Test(rng, words_are_those_of_the_philox_block)
{
    const uint32_t counter[4] = { 5, 0, 9, 3 }, key[2] = { 1, 2 };
    uint32_t w[4];
    wf_philox4x32_10(counter, key, w);
    const uint64_t seed = UINT64_C(2) << 32 | 1, stream = UINT64_C(3) << 32 | 9;
    cr_assert_eq(wf_rng_u64(seed, stream, 10), (uint64_t)w[1] << 32 | w[0]);
    cr_assert_eq(wf_rng_u64(seed, stream, 11), (uint64_t)w[3] << 32 | w[2]);
}

Test(rng, any_split_of_a_normal_fill_gives_the_same_bits)
{
    enum {
        N = 1000
    };
    double whole[N], parts[N];
    wf_rng_fill_normal(42, 3, 17, whole, N);
    for (size_t at = 0, step = 1; at < N; at += step, step = step * 2 + 1) {
        const size_t n = N - at < step ? N - at : step;
        wf_rng_fill_normal(42, 3, 17 + at, parts + at, n);
    }
    cr_assert_arr_eq(whole, parts, sizeof whole);
    cr_assert_eq(whole[99], wf_rng_normal(42, 3, 116));
}

/* Box-Muller written with libm, to a few units in the last place. */
Test(rng, normals_are_box_muller_of_the_words)
{
    for (uint64_t i = 0; i < 20000; i += 2) {
        const uint64_t a = wf_rng_u64(5, 6, i), b = wf_rng_u64(5, 6, i + 1);
        const double u = 1.0 - ldexp((double)(a >> 12), -52);
        const double t = ldexp((double)(b << 2 >> 12), -52);
        const double quarter = acos(-1.0) / 2;
        const double angle = quarter * (t - 0.5 + (double)(b >> 62));
        const double r = sqrt(-2 * log(u));
        cr_assert_float_eq(wf_rng_normal(5, 6, i), r * cos(angle), 1e-14);
        cr_assert_float_eq(wf_rng_normal(5, 6, i + 1), r * sin(angle), 1e-14);
    }
}

/* Recorded bits: a change of compiler, flags or machine must not move them. */
Test(rng, normals_have_recorded_bits)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < 4096; i++) {
        const double v = wf_rng_normal(1, 2, i);
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    }
    cr_assert_eq(hash, UINT64_C(0x201289329457e773), "%#llx", (unsigned long long)hash);
}

/* Bounds are six standard errors wide at a fixed seed. */
Test(rng, normals_have_the_moments_of_a_normal)
{
    const size_t count = 1 << 20;
    const double n = (double)count;
    double *x = malloc(count * sizeof *x);
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag = 0, max = 0;
    wf_rng_fill_normal(2024, 1, 0, x, count);
    for (size_t i = 0; i < count; i++) {
        m1 += x[i];
        m2 += x[i] * x[i];
        m3 += x[i] * x[i] * x[i];
        m4 += x[i] * x[i] * x[i] * x[i];
        lag += i > 0 ? x[i] * x[i - 1] : 0;
        max = fabs(x[i]) > max ? fabs(x[i]) : max;
    }
    const double e = 6.0 / sqrt(n);
    free(x);
    cr_assert_lt(fabs(m1 / n), e);
    cr_assert_lt(fabs(m2 / n - 1), e * sqrt(2));
    cr_assert_lt(fabs(m3 / n), e * sqrt(15));
    cr_assert_lt(fabs(m4 / n - 3), e * sqrt(96));
    cr_assert_lt(fabs(lag / n), e);
    cr_assert(max > 4 && max < 6.5);
}

Test(rng, below_is_in_range_and_flat)
{
    int counts[7] = { 0 };
    for (uint64_t i = 0; i < 70000; i++) {
        const uint64_t v = wf_rng_below(3, 4, i, 7);
        cr_assert_lt(v, 7);
        counts[v]++;
    }
    for (int k = 0; k < 7; k++) {
        cr_assert(abs(counts[k] - 10000) < 600, "%d: %d", k, counts[k]);
    }
    cr_assert_eq(wf_rng_below(3, 4, 0, 1), 0);
    cr_assert_eq(wf_rng_below(3, 4, 0, 0), 0);
}

/* With n just above 2^63 almost half of the words are rejected. */
Test(rng, below_rejects_without_bias_for_a_large_range)
{
    const uint64_t n = (UINT64_C(1) << 63) + 1;
    double sum = 0;
    struct wf_rng r = { 1, 2, 0 };
    for (uint64_t i = 0; i < 4000; i++) {
        const uint64_t v = wf_rng_below(9, 9, i, n);
        cr_assert_lt(v, n);
        cr_assert_eq(v, wf_rng_below(9, 9, i, n));
        cr_assert_lt(wf_rng_next_below(&r, n), n);
        sum += ldexp((double)(v >> 10), -53);
    }
    cr_assert_gt(r.next, 6000);
    cr_assert_float_eq(sum / 4000, 0.5, 0.03);
}

Test(rng, sequential_draws_walk_the_stream)
{
    struct wf_rng r = { 11, 12, 5 };
    cr_assert_eq(wf_rng_next(&r), wf_rng_u64(11, 12, 5));
    cr_assert_eq(wf_rng_next(&r), wf_rng_u64(11, 12, 6));
    cr_assert_eq(r.next, 7);
}

Test(rng, uniforms_lie_in_the_half_open_interval)
{
    double sum = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        const double u = wf_rng_uniform(8, 8, i);
        cr_assert(u >= 0 && u < 1);
        sum += u;
    }
    cr_assert_float_eq(sum / 100000, 0.5, 0.006);
}
