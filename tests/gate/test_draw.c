/* What is drawn from the seed: pinned, uniform, and not guessable from one another. */
#include "gate/draw.h"

#include "core/sha256.h"
#include "gate/gate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const uint8_t seed[WF_GATE_SEED_BYTES] = { 1, 2, 3, 250, 251 };

/* docs/gate.md's recipe, by hand: anybody can draw the labels again. */
static void hash_by_hand(char what,
                         uint64_t a,
                         uint64_t b,
                         uint64_t counter,
                         const char *key,
                         uint8_t ret[WF_SHA256_BYTES])
{
    uint8_t x[16 + 1 + 32 + 24 + 32] = "wavefarm gate 1";
    uint64_t words[3] = { a, b, counter };

    x[16] = (uint8_t)what;
    memcpy(x + 17, seed, 32);
    for (int w = 0; w < 3; w++) {
        for (int i = 0; i < 8; i++) {
            x[49 + 8 * w + i] = (uint8_t)(words[w] >> 8 * i);
        }
    }
    wf_sha256(key, strlen(key), x + 73);
    wf_sha256(x, sizeof x, ret);
}

Test(draw, masks_follow_the_recipe)
{
    static const unsigned masks[] = { 3, 5, 6, 9, 10, 12 };

    for (int i = 0; i < 500; i++) {
        char key[32];
        uint8_t h[WF_SHA256_BYTES];
        size_t at = 0;
        (void)snprintf(key, sizeof key, "case-%d/k", i);
        hash_by_hand('m', 7, (uint64_t)i % 3, 0, key, h);
        while (h[at] >= 252) {
            at++;
        }
        cr_assert_eq(wf_gate_draw_mask(seed, key, 7, i % 3), masks[h[at] % 6]);
    }
}

Test(draw, inputs_follow_the_recipe)
{
    uint8_t h[WF_SHA256_BYTES];
    uint64_t want = 0;

    hash_by_hand('i', 3, 12, 0, "", h);
    for (int i = 0; i < 8; i++) {
        want |= (uint64_t)h[i] << 8 * i;
    }
    cr_assert_eq(wf_gate_draw_inputs(seed, 3, 12), want >> 11);
    cr_assert_neq(wf_gate_draw_inputs(seed, 3, 12), wf_gate_draw_inputs(seed, 3, 13));
    cr_assert_neq(wf_gate_draw_inputs(seed, 3, 12), wf_gate_draw_inputs(seed, 4, 12));
}

/* 24,000 draws: each mask 4,000 +- 5 standard deviations (58), chi-squared of 5 degrees
 * below 30 (1e-5); and what a neighbour in key, round or block draws says nothing. */
Test(draw, masks_are_uniform_and_unrelated)
{
    enum {
        N = 24000
    };
    int count[16] = { 0 };
    int same[3] = { 0 };
    double chi = 0;

    for (int i = 0; i < N; i++) {
        char key[32];
        char next[32];
        unsigned m;
        (void)snprintf(key, sizeof key, "k%d", i);
        (void)snprintf(next, sizeof next, "k%d", i + 1);
        m = wf_gate_draw_mask(seed, key, 1, 0);
        count[m]++;
        if (i % 4 == 0) {
            same[0] += m == wf_gate_draw_mask(seed, next, 1, 0);
            same[1] += m == wf_gate_draw_mask(seed, key, 2, 0);
            same[2] += m == wf_gate_draw_mask(seed, key, 1, 1);
        }
    }
    for (unsigned k = 0; k < WF_GATE_MASK_COUNT; k++) {
        double d = count[wf_gate_mask(k)] - N / 6.0;
        chi += d * d / (N / 6.0);
    }
    cr_assert_lt(chi, 30);
    for (int i = 0; i < 3; i++) { /* of 6,000: 1,000 +- 29 */
        cr_assert(same[i] > 850 && same[i] < 1150, "%d: %d", i, same[i]);
    }
}

Test(draw, orders_are_permutations_of_equal_chance)
{
    enum {
        ROUNDS = 6000
    };
    int at[4][4] = { { 0 } };
    int count[24] = { 0 };
    double chi = 0;

    for (int round = 0; round < ROUNDS; round++) {
        size_t order[4];
        unsigned seen = 0;
        size_t code = 0;
        wf_gate_draw_order(seed, 0, round, order, 4);
        for (size_t i = 0; i < 4; i++) {
            size_t smaller = 0;
            at[i][order[i]]++;
            seen |= 1U << order[i];
            for (size_t k = i + 1; k < 4; k++) {
                smaller += order[k] < order[i];
            }
            code = code * (4 - i) + smaller;
        }
        cr_assert_eq(seen, 15);
        count[code]++;
    }
    for (int i = 0; i < 24; i++) {
        chi +=
            (count[i] - ROUNDS / 24.0) * (count[i] - ROUNDS / 24.0) / (ROUNDS / 24.0);
    }
    cr_assert_lt(chi, 60); /* 23 degrees: 4e-5 */
}

Test(draw, order_of_nothing_and_of_many)
{
    static size_t order[20000];
    static bool seen[20000];

    wf_gate_draw_order(seed, 1, 1, order, 0);
    wf_gate_draw_order(seed, 1, 1, order, 1);
    cr_assert_eq(order[0], 0);
    wf_gate_draw_order(seed, 1, 1, order, 20000);
    for (size_t i = 0; i < 20000; i++) {
        cr_assert(order[i] < 20000 && !seen[order[i]]);
        seen[order[i]] = true;
    }
}
