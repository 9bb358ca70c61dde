/* The e-value of one block: against its definition, and its validity by enumeration. */
#include "gate/gate_internal.h"

#include "core/rng.h"

#include <criterion/criterion.h>
#include <math.h>

static const unsigned masks[6] = { 3, 5, 6, 9, 10, 12 };

static double between(struct wf_rng *r, double low, double high)
{
    return low + (high - low) * ((double)(wf_rng_next(r) >> 11) * 0x1p-53);
}

/* The definition, in long double and in the plainest way. */
static long double log_e_by_definition(const double y[4],
                                       unsigned mask,
                                       double d,
                                       double eta,
                                       int sign)
{
    long double sum = 0;
    long double own = 0;

    for (int k = 0; k < 6; k++) {
        long double t = 0;
        for (int i = 0; i < 4; i++) {
            long double r =
                sign * ((long double)y[i] - (long double)d * (mask >> i & 1));
            t += (masks[k] >> i & 1) != 0 ? r : 0;
        }
        sum += expl(eta * t);
        own = masks[k] == mask ? eta * t : own;
    }
    return own - logl(sum / 6);
}

static void draw_block(struct wf_rng *r, double noise, double y[4])
{
    for (int i = 0; i < 4; i++) {
        y[i] = 10 + between(r, -noise, noise);
    }
}

Test(block, six_masks)
{
    int count = 0;

    for (unsigned m = 0; m < 256; m++) {
        unsigned bits = 0;
        for (unsigned i = 0; i < 8; i++) {
            bits += m >> i & 1U;
        }
        cr_assert_eq(wf_gate_is_mask(m), m < 16 && bits == 2);
        count += wf_gate_is_mask(m);
    }
    cr_assert_eq(count, 6);
    for (unsigned i = 0; i < 6; i++) {
        cr_assert_eq(wf_gate_mask(i), masks[i]);
    }
}

Test(block, e_value_is_what_its_definition_says)
{
    struct wf_rng r = { 1, 2, 0 };

    for (int i = 0; i < 20000; i++) {
        double y[4];
        unsigned mask = masks[i % 6];
        double d = between(&r, -0.05, 0.05);
        double eta = between(&r, 1, 400);
        int sign = i % 2 == 0 ? 1 : -1;
        long double want;
        draw_block(&r, 0.05, y);
        want = log_e_by_definition(y, mask, d, eta, sign);
        cr_assert_float_eq(wf_gate_block_log_e(y, mask, d, eta, sign), (double)want,
                           1e-9);
        cr_assert_float_eq(gate_block_log_blend(y, mask, d, eta, sign),
                           (double)logl(0.1L + 0.9L * expl(want)), 1e-9);
    }
}

/* The fast way for all three directions, also where it has to fall back. */
Test(block, directions_together_are_the_directions_alone)
{
    struct wf_rng r = { 2, 2, 0 };

    for (int i = 0; i < 20000; i++) {
        struct wf_gate_margins m = { .d0 = between(&r, 0, 0.05), .s0 = 1 };
        double eta = i % 5 == 0 ? between(&r, 1e3, 6e5) : between(&r, 1, 400);
        double w[W_COUNT];
        double y[4];
        unsigned mask = masks[i % 6];
        m.d1 = m.d0 + between(&r, 1e-5, 0.1);
        draw_block(&r, i % 3 == 0 ? 5 : 0.03, y);
        gate_block_evidence(y, mask, &m, eta, w);
        cr_assert_float_eq(w[W_SLOWER], gate_block_log_blend(y, mask, m.d0, eta, +1),
                           1e-7);
        cr_assert_float_eq(w[W_FASTER], gate_block_log_blend(y, mask, -m.d0, eta, -1),
                           1e-7);
        cr_assert_float_eq(w[W_PASS], gate_block_log_blend(y, mask, m.d1, eta, -1),
                           1e-7);
    }
}

/* "Faster" is "slower" with the arms exchanged. */
Test(block, faster_is_the_mirror_of_slower)
{
    struct wf_rng r = { 3, 2, 0 };

    for (int i = 0; i < 1000; i++) {
        double y[4];
        unsigned mask = masks[i % 6];
        draw_block(&r, 0.03, y);
        cr_assert_float_eq(wf_gate_block_log_e(y, mask, -0.005, 300, -1),
                           wf_gate_block_log_e(y, ~mask & 15U, 0.005, 300, +1), 1e-10);
    }
}

/* Mean over the six labelings, all equally likely, of the e-value that the block would
 * have had: the noise z is what it is, the arm with the label takes `effect` longer. */
static double mean_e(const double z[4], double effect, double d, double eta, int sign)
{
    double sum = 0;

    for (int k = 0; k < 6; k++) {
        double y[4];
        for (int i = 0; i < 4; i++) {
            y[i] = z[i] + ((masks[k] >> i & 1) != 0 ? effect : 0);
        }
        sum += exp(wf_gate_block_log_e(y, masks[k], d, eta, sign));
    }
    return sum / 6;
}

/* The proof's two statements, for any noise whatever: exactly 1 on the boundary, at
 * most 1 inside the null, for each labeling's value too. */
Test(block, is_an_e_value_for_any_noise)
{
    struct wf_rng r = { 4, 2, 0 };

    for (int i = 0; i < 5000; i++) {
        double z[4];
        double d = between(&r, -0.02, 0.03);
        double eta = between(&r, 1, 1000);
        double c = between(&r, 0, 0.05);
        draw_block(&r, i % 7 == 0 ? 0.5 : 0.02, z);
        if (i % 3 == 0) { /* drift, an outlier */
            z[1] += 0.01;
            z[2] += 0.02;
            z[3] += 2;
        }
        cr_assert_float_eq(mean_e(z, d, d, eta, +1), 1, 1e-6);
        cr_assert_float_eq(mean_e(z, d, d, eta, -1), 1, 1e-6);
        cr_assert_leq(mean_e(z, d - c, d, eta, +1), 1 + 1e-6);
        cr_assert_leq(mean_e(z, d + c, d, eta, -1), 1 + 1e-6);
    }
}

/* The sign process bets on which arm is slower: exchanging the labels turns the sign.
 */
Test(block, a_difference_changes_sign_with_the_labels)
{
    struct wf_rng r = { 5, 2, 0 };

    for (int i = 0; i < 100; i++) {
        double y[4];
        draw_block(&r, 0.02, y);
        for (int k = 0; k < 6; k++) {
            cr_assert_float_eq(gate_block_difference(y, masks[k]),
                               -gate_block_difference(y, ~masks[k] & 15U), 1e-14);
        }
        cr_assert_float_eq(gate_block_difference(y, 5), (y[0] + y[2] - y[1] - y[3]) / 2,
                           1e-14);
    }
}

/* Nothing is NaN where the values are equal, huge or far apart. */
Test(block, extremes_stay_finite)
{
    static const double rows[][4] = { { 0, 0, 0, 0 },
                                      { 7.5, 7.5, 7.5, 7.5 },
                                      { 1000, -1000, 1000, -1000 },
                                      { -1000, -1000, 1000, 1000 } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < 6; k++) {
            struct wf_gate_margins m = { .d0 = 0.5, .d1 = 0.50001, .s0 = 1 };
            double w[W_COUNT];
            gate_block_evidence(rows[i], masks[k], &m, 6 / 1e-5, w);
            for (int j = 0; j < W_COUNT; j++) {
                cr_assert(w[j] >= log(0.1) - 1e-12 && w[j] <= log(5.5) + 1e-12, "%g",
                          w[j]);
            }
        }
    }
}
