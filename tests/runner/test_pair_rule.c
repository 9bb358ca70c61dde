/* A slot's value, when a block does not count, how many launches, what is drawn. */
#include "runner/pair_rule.h"
#include "runner/throttle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Test(pair_rule, a_slot_is_the_mean_of_the_logs_of_the_middle_three)
{
    const double t[] = { 9000, 120, 100, 110, 1 };
    cr_expect_float_eq(pair_slot_value(t), (log(100) + log(110) + log(120)) / 3, 1e-12);
    const double equal[] = { 7, 7, 7, 7, 7 };
    cr_expect_float_eq(pair_slot_value(equal), log(7), 1e-15);
    const double bad[][5] = { { 1, 2, 3, 4, 0 },
                              { 1, 2, -3, 4, 5 },
                              { (double)NAN, 2, 3, 4, 5 },
                              { 1, 2, 3, (double)INFINITY, 5 } };
    for (size_t i = 0; i < 4; i++) {
        cr_expect(isnan(pair_slot_value(bad[i])), "%zu", i);
    }
}

static struct pair_block good_block(void)
{
    struct pair_block b = { .mask = 5 };
    for (int i = 0; i < PAIR_SLOTS; i++) {
        b.slot[i].y = 1;
        b.slot[i].clock_mhz = 1900;
    }
    return b;
}

static const char *judged(struct pair_block *b)
{
    pair_block_judge(b);
    return b->rejected;
}

Test(pair_rule, one_slot_that_is_no_measurement_rejects_the_whole_block)
{
    struct pair_block b = good_block();
    cr_expect_str_eq(judged(&b), "");
    b.slot[2].clock_mhz = 1711;
    cr_expect_str_eq(judged(&b), "", "within ten percent");
    b.slot[2].clock_mhz = 1709;
    cr_expect(strstr(judged(&b), "1709"), "%s", b.rejected);
    b.slot[2].clock_mhz = (double)NAN;
    cr_expect_str_eq(judged(&b), "", "a clock that is not known");
    b.slot[3].y = (double)NAN;
    cr_expect(strstr(judged(&b), "slot 3"), "%s", b.rejected);
    for (size_t r = 0; r < THROTTLE_COUNT; r++) {
        b = good_block();
        b.slot[0].reasons = 1u << r;
        cr_expect_eq(judged(&b)[0] != '\0', throttle_counts(1u << r), "%s",
                     throttle_name(r));
    }
}

/* The rule knows no labels: every mask gets the same answer. */
Test(pair_rule, a_block_is_rejected_whatever_its_mask)
{
    for (unsigned slot = 0; slot < PAIR_SLOTS; slot++) {
        for (unsigned mask = 0; mask < 16; mask++) {
            struct pair_block b = good_block();
            b.mask = (uint8_t)mask;
            b.slot[slot].y = (double)NAN;
            cr_expect_neq(judged(&b)[0], '\0');
        }
    }
}

Test(pair_rule, a_batch_of_the_slower_arm_lasts_long_enough)
{
    const double quick[] = { 1000, 2000 };
    cr_expect_eq(pair_launches(quick, 0, 0), 100u, "200 us");
    const double turned[] = { 2000, 1000 };
    cr_expect_eq(pair_launches(turned, 0, 0), 100u);
    cr_expect_eq(pair_launches(quick, 1000000, 0), 500u, "what is asked for");
    cr_expect_eq(pair_launches(quick, 0, 1000), 500u, "a thousand ticks");
    const double slow[] = { 1e9, 1e3 };
    cr_expect_eq(pair_launches(slow, 0, 0), 1u);
}

Test(pair_rule, an_arm_is_accused_beside_one_that_is_not_slowed_as_well)
{
    cr_expect(pair_stands_out(25, 1.2));
    cr_expect(pair_stands_out(2.6, (double)NAN));
    cr_expect(pair_stands_out(2.6, 0.3));
    cr_expect_not(pair_stands_out(4, 3));
    cr_expect_not(pair_stands_out((double)NAN, 1));
}

Test(pair_rule, seats_and_pads_are_drawn_by_round_and_pair)
{
    unsigned swapped = 0;
    uint64_t most = 0;
    struct pair_draw one;
    struct pair_draw again;
    for (int32_t round = 0; round < 2000; round++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "case %d/k", round % 40);
        pair_draw(99, round / 40, key, &one);
        pair_draw(99, round / 40, key, &again);
        cr_expect_eq(one.swapped, again.swapped);
        cr_expect_arr_eq(one.pad, again.pad, sizeof(one.pad));
        swapped += one.swapped;
        for (int i = 0; i < PAIR_PADS; i++) {
            cr_expect_eq(one.pad[i] % PAIR_PAD_BYTES, 0u);
        }
        most = one.pad[0] > most ? one.pad[0] : most;
    }
    cr_expect_gt(swapped, 900u); /* 1000 +- 4.5 standard deviations */
    cr_expect_lt(swapped, 1100u);
    cr_expect_gt(most, 8000000u);
    cr_expect_leq(most, (uint64_t)8 << 20);
}
