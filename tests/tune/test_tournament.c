/* The tournament's rule with the gate's rule under simulated noise: with candidates
 * that are all equal the incumbent stays, with a better one it is found. */
#include "gate/gate.h"
#include "tests/support/noise.h"
#include "tune/tournament.h"

#include <criterion/criterion.h>
#include <math.h>

enum {
    CANDIDATES = 5
};

/* One gate of two kernels whose true times are given (log), as `wavefarm gate` runs it:
 * a round is one process with one block in a drawn order. */
static enum wf_tune_outcome gate_of(double base,
                                    double cand,
                                    double alpha,
                                    uint64_t run)
{
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    const struct wf_gate_margins margins = WF_GATE_MARGINS_DEFAULT;
    struct wf_gate *g = NULL;
    enum wf_gate_reason why;
    size_t open = 1;
    rule.alpha = alpha;
    cr_assert_eq(wf_gate_create(&rule, &g, NULL), WF_OK);
    cr_assert_eq(wf_gate_add_pair(g, WF_GATE_CASE, &margins, 0, NULL), WF_OK);
    for (int32_t round = 1; open > 0 && round <= rule.max_blocks + 1; round++) {
        double t[4 * NOISE_SLOT];
        unsigned char arm[4];
        const uint64_t seed = run * 1000 + (uint64_t)round;
        const unsigned mask = wf_gate_mask((unsigned)(seed * 2654435761u >> 7) % 6);
        struct wf_gate_block b = { .round = round, .mask = (uint8_t)mask };
        for (unsigned i = 0; i < 4; i++) {
            arm[i] = mask >> i & 1u;
        }
        const struct noise_session s = { .kind = NOISE_typical,
                                         .slots = 4,
                                         .effect = cand - base,
                                         .seed = 77,
                                         .run = seed };
        noise_session(&s, arm, t);
        for (unsigned i = 0; i < 4; i++) {
            b.y[i] = 12 + noise_slot_value(t + (size_t)i * NOISE_SLOT);
        }
        cr_assert_eq(wf_gate_add_block(g, 0, &b, NULL), WF_OK);
        cr_assert_eq(wf_gate_decide(g, &open, NULL), WF_OK);
    }
    const enum wf_gate_verdict v = wf_gate_verdict_of(g, 0, &why);
    wf_gate_free(g);
    return v == WF_GATE_VERDICT_IMPROVED ? WF_TUNE_FASTER : WF_TUNE_NOT_FASTER;
}

static size_t play(const double *log_time, double alpha, uint64_t run)
{
    struct wf_tournament t;
    size_t champion = 0, challenger = 0, gates = 0;
    double share = 0;
    cr_assert_eq(wf_tournament_init(&t, CANDIDATES, alpha, NULL), WF_OK);
    while (wf_tournament_next(&t, &champion, &challenger, &share)) {
        cr_assert_float_eq(share, alpha / (CANDIDATES - 1), 1e-15);
        wf_tournament_take(&t, gate_of(log_time[champion], log_time[challenger], share,
                                       run * 16 + gates++));
    }
    cr_assert_eq(gates, CANDIDATES - 1);
    return t.champion;
}

/* 300 tournaments at 20 %: with an error rate of 20 % more than 83 replacements would
 * come about once in 1,000; the rule is far below its bound. A rule that crowned the
 * faster median of two would replace the incumbent in 4 of 5. */
Test(tournament, equal_candidates_leave_the_incumbent)
{
    const double equal[CANDIDATES] = { 0 };
    int replaced = 0;
    for (uint64_t run = 0; run < 300; run++) {
        replaced += play(equal, 0.2, run) != 0;
    }
    cr_expect_leq(replaced, 83, "%d of 300 incumbents were replaced", replaced);
}

/* 4 % faster than all others, wherever it stands; the others differ by what does not
 * matter. */
Test(tournament, the_best_is_found)
{
    int found = 0;
    for (uint64_t run = 0; run < 40; run++) {
        double times[CANDIDATES] = { 0, 0.002, 0.01, -0.002, 0.001 };
        const size_t best = 1 + run % (CANDIDATES - 1);
        times[best] = -0.04;
        found += play(times, 0.01, 5000 + run) == best;
    }
    cr_expect_geq(found, 38, "found in %d of 40", found);
}

/* Gains below the margin of 0.5 % are ties: the incumbent stays. */
Test(tournament, ties_go_to_the_incumbent)
{
    const double close[CANDIDATES] = { 0, -0.003, -0.004, -0.002, -0.004 };
    int kept = 0;
    for (uint64_t run = 0; run < 40; run++) {
        kept += play(close, 0.01, 9000 + run) == 0;
    }
    cr_expect_geq(kept, 39, "kept in %d of 40", kept);
}

Test(tournament, a_wrong_champion_is_out_a_wrong_challenger_too)
{
    struct wf_tournament t;
    cr_assert_eq(wf_tournament_init(&t, 4, 0.01, NULL), WF_OK);
    wf_tournament_take(&t, WF_TUNE_WRONG);
    cr_expect_eq(t.champion, 0);
    wf_tournament_take(&t, WF_TUNE_BASE_WRONG);
    cr_expect_eq(t.champion, 2);
    wf_tournament_take(&t, WF_TUNE_LOST);
    cr_expect_eq(t.champion, 2);
    wf_tournament_take(&t, WF_TUNE_FASTER); /* nobody is left: nothing changes */
    cr_expect_eq(t.champion, 2);
}

Test(tournament, bad_sizes_and_rates_are_refused)
{
    struct wf_tournament t;
    cr_expect_eq(wf_tournament_init(&t, 0, 0.01, NULL), WF_EINVAL);
    cr_expect_eq(wf_tournament_init(&t, WF_TUNE_MAX_CANDIDATES + 1, 0.01, NULL),
                 WF_EINVAL);
    cr_expect_eq(wf_tournament_init(&t, 3, 0, NULL), WF_EINVAL);
    cr_expect_eq(wf_tournament_init(&t, 3, (double)NAN, NULL), WF_EINVAL);
}

Test(least, ties_go_to_the_incumbent_then_to_the_simplest)
{
    const double cycles[] = { 1004, 1000, 1001, (double)NAN, 2000 };
    const unsigned rank[] = { 3, 2, 1, 0, 0 };
    cr_expect_eq(wf_tune_least(cycles, rank, 5, 0, 0.005), 0);
    cr_expect_eq(wf_tune_least(cycles, rank, 5, 4, 0.005), 2);
    cr_expect_eq(wf_tune_least(cycles, rank, 5, 5, 0), 1);
    cr_expect_eq(wf_tune_least(cycles + 3, rank + 3, 1, 0, 0.1), 1); /* nothing known */
}
