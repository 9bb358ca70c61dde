/* Verdicts: e-BH, what FAIL, PASS and IMPROVED ask for, and that they stay. */
#include "gate_feed.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* --- e-BH --- */

/* The definition: the greatest k such that k values are at least m / (alpha k). */
static void ebh_by_definition(const double *log_e, size_t m, double alpha, bool *ret)
{
    double least = INFINITY;

    for (size_t k = 1; k <= m; k++) {
        double need = log((double)m / (alpha * (double)k));
        size_t n = 0;
        for (size_t i = 0; i < m; i++) {
            n += log_e[i] >= need;
        }
        least = n >= k ? need : least;
    }
    for (size_t i = 0; i < m; i++) {
        ret[i] = log_e[i] >= least;
    }
}

Test(decide, ebh_is_its_definition)
{
    struct wf_rng r = { 31, 1, 0 };
    int rejections = 0;

    for (int run = 0; run < 3000; run++) {
        double log_e[12];
        bool got[12];
        bool want[12];
        size_t m = 1 + (size_t)wf_rng_next_below(&r, 12);
        double alpha = run % 2 == 0 ? 0.05 : 0.3;
        for (size_t i = 0; i < m; i++) {
            log_e[i] = run % 5 == 0 && i % 3 == 0
                           ? -INFINITY
                           : (double)wf_rng_next_below(&r, 1000) / 130;
        }
        cr_assert_eq(wf_gate_ebh(log_e, m, alpha, got, NULL), WF_OK);
        ebh_by_definition(log_e, m, alpha, want);
        for (size_t i = 0; i < m; i++) {
            cr_assert_eq(got[i], want[i], "run %d, value %zu", run, i);
            rejections += got[i];
        }
    }
    cr_assert(rejections > 500 && rejections < 19000);
}

Test(decide, ebh_of_nothing_and_of_nan)
{
    double log_e[2] = { NAN, INFINITY };
    bool got[2];

    cr_assert_eq(wf_gate_ebh(log_e, 0, 0.05, got, NULL), WF_OK);
    cr_assert_eq(wf_gate_ebh(log_e, 2, 0.05, got, NULL), WF_OK);
    cr_assert(!got[0] && got[1]);
    cr_assert_eq(wf_gate_ebh(log_e, 2, 1, got, NULL), WF_EINVAL);
}

/* --- a gate from the outside --- */

/* Feeds one block a round to a pair and decides, until its verdict; rounds used. */
static int run_pair(struct wf_gate *g, size_t pair, uint64_t stream, double effect)
{
    struct wf_rng r = { 32, stream, 0 };
    int round = 0;

    while (feed_verdict(g, pair) == WF_GATE_VERDICT_OPEN && round < 100) {
        struct wf_gate_block b = feed_block(&r, round++, 0.003, effect);
        feed_add(g, pair, &b);
        (void)feed_decide(g);
    }
    return round;
}

Test(decide, a_clean_gate_passes_and_a_slow_kernel_fails)
{
    struct wf_gate *g = feed_gate(NULL);
    struct wf_rng r = { 33, 1, 0 };
    size_t open = 1;

    for (int i = 0; i < 100; i++) {
        (void)feed_pair(g, WF_GATE_CASE, 0);
    }
    for (int round = 0; open > 0 && round < 24; round++) {
        for (size_t i = 0; i < 100; i++) {
            double effect = i == 7 ? 0.03 : i == 8 ? -0.04 : 0;
            struct wf_gate_block b = feed_block(&r, round, 0.004, effect);
            feed_add(g, i, &b);
        }
        open = feed_decide(g);
    }
    for (size_t i = 0; i < 100; i++) {
        enum wf_gate_verdict want = i == 7   ? WF_GATE_VERDICT_FAIL
                                    : i == 8 ? WF_GATE_VERDICT_IMPROVED
                                             : WF_GATE_VERDICT_PASS;
        cr_assert_eq(feed_verdict(g, i), want, "pair %zu: %s", i,
                     wf_gate_verdict_name(feed_verdict(g, i)));
    }
    cr_assert_eq(feed_reason(g, 7), WF_GATE_REASON_SLOWER);
    cr_assert_eq(open, 0);
    wf_gate_free(g);
}

/* Pairs slower by 10 % in some of the first rounds and equal after them; one always. */
Test(decide, a65_rounds_that_are_slow_in_turn_are_no_regression)
{
    enum {
        REBTREE,
        NQUEENS,
        SLOW,
        COUNT
    };
    static const bool slow[3][COUNT] = { { true, false, true },
                                         { false, true, true },
                                         { false, true, true } };
    struct wf_gate *g = feed_gate(NULL);
    struct wf_rng r = { 35, 1, 0 };

    for (size_t i = 0; i < COUNT; i++) {
        (void)feed_pair(g, WF_GATE_CASE, 0);
    }
    for (int round = 0; round < 24; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            bool now = round < 3 ? slow[round][i] : i == SLOW;
            struct wf_gate_block b = feed_block(&r, round, 0.003, now ? 0.1 : 0);
            if (feed_verdict(g, i) == WF_GATE_VERDICT_OPEN) {
                feed_add(g, i, &b);
            }
        }
        (void)feed_decide(g);
        cr_assert_neq(feed_verdict(g, REBTREE), WF_GATE_VERDICT_FAIL);
        cr_assert_neq(feed_verdict(g, NQUEENS), WF_GATE_VERDICT_FAIL);
    }
    cr_assert_eq(feed_verdict(g, SLOW), WF_GATE_VERDICT_FAIL);
    wf_gate_free(g);
}

static struct wf_gate *gate_of(size_t others,
                               enum wf_gate_verdict v,
                               enum wf_gate_reason why)
{
    struct wf_gate *g = feed_gate(NULL);

    (void)feed_pair(g, WF_GATE_CASE, 0);
    for (size_t i = 0; i < others; i++) {
        wf_gate_settle(g, feed_pair(g, WF_GATE_CASE, 0), v, why);
    }
    return g;
}

/* Evidence that FAIL asks for: m / alpha, with m all pairs but those that were
 * UNCHANGED, or done by neither pack, before. */
Test(decide, settled_pairs_stay_among_the_m_and_unchanged_ones_do_not)
{
    struct wf_gate *alone = gate_of(0, 0, 0);
    struct wf_gate *wrong = gate_of(299, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_WRONG);
    struct wf_gate *same =
        gate_of(299, WF_GATE_VERDICT_UNCHANGED, WF_GATE_REASON_IDENTICAL);
    struct wf_gate *neither =
        gate_of(299, WF_GATE_VERDICT_INCONCLUSIVE, WF_GATE_REASON_NOT_SUPPORTED);
    struct wf_gate_figures f;
    int rounds = run_pair(alone, 0, 5, 0.02);

    cr_assert_eq(feed_verdict(alone, 0), WF_GATE_VERDICT_FAIL);
    cr_assert_eq(run_pair(same, 0, 5, 0.02), rounds);
    cr_assert_eq(run_pair(neither, 0, 5, 0.02), rounds);
    cr_assert_gt(run_pair(wrong, 0, 5, 0.02), rounds);
    cr_assert_eq(feed_verdict(wrong, 0), WF_GATE_VERDICT_FAIL);
    wf_gate_figures(alone, 0, &f);
    cr_assert(f.log_w_slower >= log(100) && f.log_w_slower < log(30000));
    wf_gate_figures(wrong, 0, &f);
    cr_assert_geq(f.log_w_slower, log(30000));
    wf_gate_free(alone);
    wf_gate_free(wrong);
    wf_gate_free(same);
    wf_gate_free(neither);
}

Test(decide, unchanged_after_a_block_stays_among_the_m)
{
    struct wf_gate *g = gate_of(0, 0, 0);
    struct wf_rng r = { 34, 1, 0 };
    struct wf_gate_figures f;

    for (int i = 0; i < 299; i++) {
        size_t pair = feed_pair(g, WF_GATE_CASE, 0);
        struct wf_gate_block b = feed_block(&r, 0, 0.004, 0);
        feed_add(g, pair, &b);
        wf_gate_settle(g, pair, WF_GATE_VERDICT_UNCHANGED, WF_GATE_REASON_IDENTICAL);
    }
    (void)run_pair(g, 0, 5, 0.02);
    wf_gate_figures(g, 0, &f);
    cr_assert_geq(f.log_w_slower, log(30000));
    wf_gate_free(g);
}

/* Many blocks in few processes: the layout of two processes may explain it all, so the
 * sign process has only two bets. */
Test(decide, fail_needs_several_processes)
{
    struct wf_gate *g = gate_of(0, 0, 0);
    struct wf_rng r = { 35, 1, 0 };
    struct wf_gate_figures f;

    for (int i = 0; i < 20; i++) {
        struct wf_gate_block b = feed_block(&r, i / 10, 0.003, 0.03);
        feed_add(g, 0, &b);
        (void)feed_decide(g);
    }
    wf_gate_figures(g, 0, &f);
    cr_assert_gt(f.log_w_slower, log(1e6));
    cr_assert_lt(f.log_sign_slower, log(20));
    cr_assert_eq(f.verdict, WF_GATE_VERDICT_OPEN);
    for (int round = 2; round < 6; round++) {
        struct wf_gate_block b = feed_block(&r, round, 0.003, 0.03);
        cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_OPEN);
        feed_add(g, 0, &b);
        (void)feed_decide(g);
    }
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_FAIL);
    wf_gate_free(g);
}

Test(decide, the_certificate_needs_rounds)
{
    struct wf_gate *g = gate_of(0, 0, 0);
    struct wf_gate_margins spread = {
        .d0 = 0.006, .d1 = 0.02, .s0 = 0.002, .tau = 0.0021
    };
    struct wf_rng r = { 36, 1, 0 };
    struct wf_error err;
    struct wf_gate_figures f;

    cr_assert_eq(wf_gate_add_pair(g, WF_GATE_CASE, &spread, 0, &err), WF_OK);
    for (int i = 0; i < 10; i++) {
        struct wf_gate_block b = feed_block(&r, i / 8, 0.001, 0);
        cr_assert_eq(feed_verdict(g, 0) == WF_GATE_VERDICT_PASS, i > 8);
        feed_add(g, 0, &b);
        feed_add(g, 1, &b);
        (void)feed_decide(g);
    }
    wf_gate_figures(g, 0, &f);
    cr_assert(f.verdict == WF_GATE_VERDICT_PASS && f.rounds == 2 && f.blocks == 9,
              "blocks that come after a verdict change nothing");
    wf_gate_figures(g, 1, &f);
    cr_assert(f.verdict == WF_GATE_VERDICT_OPEN && f.log_w_pass > log(50) &&
                  f.rounds == 2,
              "with tau above 0.2 %% it takes three");
    wf_gate_free(g);
}

/* --- improvement --- */

Test(decide, an_improved_pair_is_not_passed_over)
{
    struct wf_gate *g = gate_of(99, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_WRONG);
    struct wf_gate_figures f;
    int rounds = run_pair(g, 0, 9, -0.03);

    wf_gate_figures(g, 0, &f);
    cr_assert_eq(f.verdict, WF_GATE_VERDICT_IMPROVED);
    cr_assert(f.log_w_faster >= log(100 / 0.01) && f.log_sign_faster >= log(20));
    cr_assert(rounds >= 6 && rounds <= 12, "%d", rounds);
    wf_gate_free(g);
}

/* 0.6 % faster: hardly more than d0, so evidence comes and goes; the certificate is
 * there all the time, and at the latest the cap makes it PASS. */
Test(decide, a_certificate_is_not_lost_by_waiting)
{
    int waited = 0;

    for (uint64_t run = 0; run < 40; run++) {
        struct wf_gate *g = gate_of(99, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_WRONG);
        int rounds = run_pair(g, 0, 100 + run, -0.012);
        enum wf_gate_verdict v = feed_verdict(g, 0);
        cr_assert(v == WF_GATE_VERDICT_PASS || v == WF_GATE_VERDICT_IMPROVED);
        cr_assert_leq(rounds, 24);
        waited += rounds > 4;
        wf_gate_free(g);
    }
    cr_assert_gt(waited, 10);
}

/* Three blocks far faster bring the certificate, two far slower take the evidence of an
 * improvement away, and that of the certificate too: it was reached, so it holds. */
Test(decide, a_certificate_holds_once_reached)
{
    struct wf_gate *g = gate_of(0, 0, 0);
    struct wf_rng r = { 39, 1, 0 };
    struct wf_gate_figures f;

    for (int i = 0; i < 5; i++) {
        struct wf_gate_block b = feed_block(&r, i, 0.0005, i < 3 ? -0.04 : 0.04);
        cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_OPEN);
        feed_add(g, 0, &b);
        (void)feed_decide(g);
    }
    wf_gate_figures(g, 0, &f);
    cr_assert_lt(f.log_w_pass, log(20));
    cr_assert_eq(f.verdict, WF_GATE_VERDICT_PASS);
    wf_gate_free(g);
}

/* Sentinels are nobody's regression: they do not raise what FAIL asks for. */
Test(decide, sentinels_are_not_among_the_m)
{
    struct wf_gate *g = gate_of(0, 0, 0);
    struct wf_gate_figures f;

    for (int i = 0; i < 299; i++) {
        (void)feed_pair(g, WF_GATE_SENTINEL_SLOWER, 1);
    }
    (void)run_pair(g, 0, 5, 0.02);
    wf_gate_figures(g, 0, &f);
    cr_assert(f.verdict == WF_GATE_VERDICT_FAIL && f.log_w_slower < log(30000));
    wf_gate_free(g);
}

/* --- running out --- */

Test(decide, the_cap_ends_without_a_verdict)
{
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_gate *g;
    struct wf_rng r = { 37, 1, 0 };

    rule.max_blocks = 3;
    g = feed_gate(&rule);
    (void)feed_pair(g, WF_GATE_CASE, 0);
    for (int i = 0; i < 3; i++) {
        struct wf_gate_block b = feed_block(&r, i, 0.05, 0);
        cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_OPEN);
        feed_add(g, 0, &b);
        (void)feed_decide(g);
    }
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_INCONCLUSIVE);
    cr_assert_eq(feed_reason(g, 0), WF_GATE_REASON_UNDECIDED);
    wf_gate_free(g);
}

Test(decide, lost_blocks_end_it_too)
{
    struct wf_gate *g = gate_of(0, 0, 0);
    struct wf_gate_figures f;

    for (int i = 0; i < 24; i++) {
        cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_OPEN);
        feed_lose(g, 0, i);
        (void)feed_decide(g);
    }
    wf_gate_figures(g, 0, &f);
    cr_assert(f.verdict == WF_GATE_VERDICT_INCONCLUSIVE &&
              f.reason == WF_GATE_REASON_BLOCKS_LOST && f.lost == 24 && f.blocks == 0 &&
              f.rounds == 0);
    cr_assert(wf_gate_reason_is_infrastructure(f.reason));
    wf_gate_free(g);
}

/* A block of a candidate that takes the clock down with it: the device rejects it. */
static void feed_slow_clock(struct wf_gate *g, struct wf_rng *r, int32_t round)
{
    struct wf_gate_block b = feed_block(r, round, 0.004, 0.15);

    b.rejected = true;
    feed_add(g, 0, &b);
}

/* Were only the others looked at, the candidate that burns too much power would end
 * without a verdict, by the fault of the device. */
Test(decide, a_candidate_whose_blocks_are_all_rejected_is_slower_all_the_same)
{
    struct wf_rng r = { 45, 1, 0 };
    struct wf_gate *g = gate_of(0, 0, 0);

    for (int i = 0; i < 12; i++) {
        feed_slow_clock(g, &r, i);
        (void)feed_decide(g);
    }
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_FAIL);
    cr_assert_eq(feed_reason(g, 0), WF_GATE_REASON_SLOWER);
    wf_gate_free(g);
}

/* ... and one that does so every second time would be certified by the other half. */
Test(decide, no_certificate_while_rejected_blocks_speak_against_it)
{
    struct wf_rng r = { 46, 1, 0 };
    struct wf_gate *g = gate_of(0, 0, 0);
    struct wf_gate_figures f;

    for (int i = 0; i < 48; i++) {
        struct wf_gate_block b = feed_block(&r, i, 0.002, 0);
        if (i % 2 == 0) {
            feed_slow_clock(g, &r, i);
        } else {
            feed_add(g, 0, &b);
        }
        (void)feed_decide(g);
        cr_assert_neq(feed_verdict(g, 0), WF_GATE_VERDICT_PASS, "round %d", i);
    }
    wf_gate_evidence(g, 0, &f);
    cr_assert(f.verdict == WF_GATE_VERDICT_INCONCLUSIVE && f.log_w_pass < log(20));
    wf_gate_free(g);
}

/* Rejected blocks without a value in every slot are no evidence: the same bits. */
Test(decide, rejected_blocks_without_values_change_nothing)
{
    struct wf_gate_figures f[3];

    for (int kind = 0; kind < 3; kind++) {
        struct wf_rng r = { 47, 1, 0 };
        struct wf_gate *g = gate_of(0, 0, 0);
        for (int i = 0; i < 4; i++) {
            struct wf_gate_block b = feed_block(&r, i, 0.004, 0.01);
            feed_add(g, 0, &b);
            b.rejected = true;
            b.y[2] = kind == 1 ? NAN : 0;
            if (kind > 0) {
                feed_add(g, 0, &b);
            }
        }
        wf_gate_evidence(g, 0, &f[kind]);
        wf_gate_free(g);
    }
    for (int kind = 1; kind < 3; kind++) {
        cr_assert(f[kind].log_w_slower == f[0].log_w_slower &&
                  f[kind].log_w_pass == f[0].log_w_pass &&
                  f[kind].log_sign_slower == f[0].log_sign_slower &&
                  f[kind].blocks == 4 && f[kind].lost == 4);
    }
}

/* With honest noise and a device that throttles at random, a clean pair still gets its
 * certificate, and is not red. */
Test(decide, rejections_at_random_cost_blocks_not_the_verdict)
{
    struct wf_rng r = { 48, 1, 0 };
    int passed = 0;

    for (int run = 0; run < 200; run++) {
        struct wf_gate *g = gate_of(0, 0, 0);
        for (int i = 0; i < 48; i++) {
            struct wf_gate_block b = feed_block(&r, i, 0.004, 0);
            b.rejected = i % 4 == 1;
            b.y[wf_rng_next_below(&r, 4)] += b.rejected ? 0.12 : 0;
            feed_add(g, 0, &b);
            (void)feed_decide(g);
        }
        cr_assert_neq(feed_verdict(g, 0), WF_GATE_VERDICT_FAIL);
        passed += feed_verdict(g, 0) == WF_GATE_VERDICT_PASS;
        wf_gate_free(g);
    }
    cr_assert_geq(passed, 190);
}

/* --- settled --- */

Test(decide, wrong_stays_whatever_follows)
{
    struct wf_gate *g = gate_of(0, 0, 0);

    wf_gate_settle(g, 0, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_WRONG);
    wf_gate_settle(g, 0, WF_GATE_VERDICT_PASS, WF_GATE_REASON_ANSWER_ONLY);
    wf_gate_close(g, WF_GATE_REASON_CANCELLED);
    (void)feed_decide(g);
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_FAIL);
    cr_assert_eq(feed_reason(g, 0), WF_GATE_REASON_WRONG);
    wf_gate_free(g);
}

Test(decide, wrong_goes_over_a_verdict_by_time)
{
    struct wf_gate *g = gate_of(0, 0, 0);

    (void)run_pair(g, 0, 1, 0);
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_PASS);
    wf_gate_settle(g, 0, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_WRONG);
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_FAIL);
    wf_gate_free(g);
}

Test(decide, closing_ends_what_is_open_alone)
{
    struct wf_gate *g = feed_gate(NULL);

    for (int i = 0; i < 4; i++) {
        (void)feed_pair(g, WF_GATE_CASE, i / 2);
    }
    (void)run_pair(g, 0, 1, 0);
    (void)run_pair(g, 1, 2, 0.04);
    wf_gate_close_device(g, 0, WF_GATE_REASON_NOT_RUN);
    cr_assert_eq(feed_verdict(g, 2), WF_GATE_VERDICT_OPEN);
    wf_gate_close(g, WF_GATE_REASON_CANCELLED);
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_PASS);
    cr_assert_eq(feed_verdict(g, 1), WF_GATE_VERDICT_FAIL);
    cr_assert_eq(feed_verdict(g, 2), WF_GATE_VERDICT_INCONCLUSIVE);
    cr_assert_eq(feed_reason(g, 3), WF_GATE_REASON_CANCELLED);
    cr_assert_eq(feed_decide(g), 0);
    wf_gate_free(g);
}

/* The same blocks give the same bits, decided after every round or once at the end. */
Test(decide, is_a_function_of_the_blocks)
{
    struct wf_gate *g[2] = { feed_gate(NULL), feed_gate(NULL) };
    struct wf_gate_figures f[2];

    for (int k = 0; k < 2; k++) {
        struct wf_rng r = { 38, 1, 0 };
        (void)feed_pair(g[k], WF_GATE_CASE, 0);
        for (int i = 0; i < 9; i++) {
            struct wf_gate_block b = feed_block(&r, i, 0.006, 0.013);
            feed_add(g[k], 0, &b);
        }
        (void)feed_decide(g[k]);
        wf_gate_figures(g[k], 0, &f[k]);
    }
    cr_assert_eq(memcmp(&f[0].log_w_slower, &f[1].log_w_slower, sizeof(double)), 0);
    cr_assert_eq(memcmp(&f[0].low, &f[1].low, sizeof(double)), 0);
    wf_gate_free(g[0]);
    wf_gate_free(g[1]);
}
