/* Sentinels: what they end, what they leave alone, what they wait for. */
#include "gate/level.h"
#include "gate_feed.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum {
    CLEAN,
    SLOW,
    OPEN,
    BAD_ANSWER,
    EQUAL,
    ELSEWHERE,
    SAME,
    SLOWER
};

/* Six cases and the two sentinels of device 0; ELSEWHERE is on device 1. */
static struct wf_gate *cast(void)
{
    struct wf_gate *g = feed_gate(NULL);

    for (int i = 0; i < 6; i++) {
        (void)feed_pair(g, WF_GATE_CASE, i == ELSEWHERE);
    }
    (void)feed_pair(g, WF_GATE_SENTINEL_SAME, 0);
    (void)feed_pair(g, WF_GATE_SENTINEL_SLOWER, 0);
    wf_gate_settle(g, BAD_ANSWER, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_WRONG);
    wf_gate_settle(g, EQUAL, WF_GATE_VERDICT_UNCHANGED, WF_GATE_REASON_IDENTICAL);
    return g;
}

struct plan {
    int rounds;
    double same, slower; /* effects that the sentinels show; NAN: not fed */
    double noise;        /* of the sentinels */
};

static size_t play(struct wf_gate *g, const struct plan *plan)
{
    struct wf_rng r = { 41, 1, 0 };
    size_t open = feed_decide(g);

    for (int round = 0; round < plan->rounds && open > 0; round++) {
        for (size_t i = 0; i < 8; i++) {
            double effect = i == SLOW     ? 0.04
                            : i == OPEN   ? 0.0125
                            : i == SAME   ? plan->same
                            : i == SLOWER ? plan->slower
                                          : 0;
            bool sentinel = i == SAME || i == SLOWER;
            for (int k = 0; k < (sentinel ? 2 : 1) && !isnan(effect); k++) {
                struct wf_gate_block b =
                    feed_block(&r, round, sentinel ? plan->noise : 0.004, effect);
                feed_add(g, i, &b);
            }
        }
        open = feed_decide(g);
    }
    return open;
}

static void expect_struck(struct wf_gate *g)
{
    char why[200];

    for (size_t i = CLEAN; i <= OPEN; i++) {
        cr_assert_eq(feed_verdict(g, i), WF_GATE_VERDICT_INCONCLUSIVE, "pair %zu", i);
        cr_assert_eq(feed_reason(g, i), WF_GATE_REASON_SENTINEL);
    }
    cr_assert_eq(feed_reason(g, BAD_ANSWER), WF_GATE_REASON_WRONG);
    cr_assert_eq(feed_verdict(g, EQUAL), WF_GATE_VERDICT_UNCHANGED);
    cr_assert_neq(feed_reason(g, ELSEWHERE), WF_GATE_REASON_SENTINEL);
    cr_assert(!wf_gate_device_is_good(g, 0, why, sizeof why) && strlen(why) > 20);
    cr_assert(wf_gate_device_is_good(g, 1, why, sizeof why) && why[0] == '\0');
}

Test(sentinel, equal_code_that_differs_ends_the_device)
{
    static const double effect[] = { 0.03, -0.03 };

    for (int k = 0; k < 2; k++) {
        struct wf_gate *g = cast();
        char why[200];
        (void)play(g, &(struct plan){ 24, effect[k], 0.03, 0.004 });
        expect_struck(g);
        cr_assert_eq(feed_reason(g, SAME), WF_GATE_REASON_SENTINEL);
        (void)wf_gate_device_is_good(g, 0, why, sizeof why);
        cr_assert(strstr(why, "pair 6 (sentinel-same): equal code") != NULL, "%s", why);
        wf_gate_free(g);
    }
}

/* Also when the cases have their verdicts already. */
Test(sentinel, verdicts_by_time_are_taken_back)
{
    struct wf_gate *g = cast();
    struct wf_rng r = { 42, 1, 0 };

    (void)play(g, &(struct plan){ 12, 0, NAN, 0.004 });
    cr_assert_eq(feed_verdict(g, CLEAN), WF_GATE_VERDICT_PASS);
    cr_assert_eq(feed_verdict(g, SLOW), WF_GATE_VERDICT_FAIL);
    for (int i = 0; i < 30; i++) {
        struct wf_gate_block b = feed_block(&r, 12 + i / 2, 0.004, 0.03);
        feed_add(g, SAME, &b);
        (void)feed_decide(g);
    }
    expect_struck(g);
    cr_assert_eq(feed_verdict(g, SLOWER), WF_GATE_VERDICT_INCONCLUSIVE);
    wf_gate_free(g);
}

Test(sentinel, added_work_must_be_found)
{
    struct wf_gate *g = cast();
    char why[200];

    (void)play(g, &(struct plan){ 5, 0, 0, 0.004 });
    cr_assert_eq(feed_verdict(g, SLOWER), WF_GATE_VERDICT_OPEN);
    (void)play(g, &(struct plan){ 0, 0, 0, 0.004 });
    wf_gate_free(g);
    g = cast();
    (void)play(g, &(struct plan){ 6, 0, 0, 0.004 });
    expect_struck(g);
    (void)wf_gate_device_is_good(g, 0, why, sizeof why);
    cr_assert(strstr(why, "pair 7 (sentinel-slower)") != NULL &&
                  strstr(why, "12 blocks") != NULL,
              "%s", why);
    wf_gate_free(g);
}

/* Found after its twelve blocks is not found. */
Test(sentinel, found_too_late)
{
    struct wf_gate *g = feed_gate(NULL);
    struct wf_rng r = { 45, 1, 0 };
    char why[200];

    (void)feed_pair(g, WF_GATE_CASE, 0);
    (void)feed_pair(g, WF_GATE_SENTINEL_SLOWER, 0);
    for (int i = 0; i < 40; i++) {
        struct wf_gate_block b = feed_block(&r, i, 0.004, i < 12 ? 0 : 0.04);
        feed_add(g, 1, &b);
    }
    (void)feed_decide(g);
    cr_assert(!wf_gate_device_is_good(g, 0, why, sizeof why));
    wf_gate_free(g);
}

/* A pair that holds its certificate and is waited for: PASS where the device was shown
 * to see differences, else not. */
Test(sentinel, closed_while_holding_the_certificate)
{
    for (int with_slower = 0; with_slower < 2; with_slower++) {
        struct wf_gate *g = feed_gate(NULL);
        struct wf_rng r = { 46, 1, 0 };
        (void)feed_pair(g, WF_GATE_CASE, 0);
        if (with_slower == 1) {
            (void)feed_pair(g, WF_GATE_SENTINEL_SLOWER, 0);
        }
        for (int i = 0; i < 4; i++) {
            struct wf_gate_block b = feed_block(&r, i, 0.001, -0.04);
            feed_add(g, 0, &b);
        }
        (void)feed_decide(g);
        cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_OPEN);
        wf_gate_close(g, WF_GATE_REASON_CANCELLED);
        cr_assert_eq(feed_verdict(g, 0), with_slower == 1 ? WF_GATE_VERDICT_INCONCLUSIVE
                                                          : WF_GATE_VERDICT_PASS);
        wf_gate_free(g);
    }
}

Test(sentinel, found_and_quiet_all_is_well)
{
    struct wf_gate *g = cast();
    char why[200];

    (void)play(g, &(struct plan){ 24, 0, 0.03, 0.004 });
    cr_assert(wf_gate_device_is_good(g, 0, why, sizeof why), "%s", why);
    cr_assert_eq(feed_verdict(g, CLEAN), WF_GATE_VERDICT_PASS);
    cr_assert_eq(feed_verdict(g, SLOW), WF_GATE_VERDICT_FAIL);
    cr_assert_eq(feed_verdict(g, SAME), WF_GATE_VERDICT_PASS);
    cr_assert_eq(feed_verdict(g, SLOWER), WF_GATE_VERDICT_PASS);
    wf_gate_free(g);
}

/* The cases are through after few rounds; the gate waits for the slower sentinel. */
Test(sentinel, a_gate_waits_for_the_proof)
{
    struct wf_gate *g = feed_gate(NULL);
    struct wf_rng r = { 43, 1, 0 };
    size_t open = 3;

    (void)feed_pair(g, WF_GATE_CASE, 0);
    (void)feed_pair(g, WF_GATE_SENTINEL_SAME, 0);
    (void)feed_pair(g, WF_GATE_SENTINEL_SLOWER, 0);
    for (int round = 0; feed_verdict(g, 0) == WF_GATE_VERDICT_OPEN; round++) {
        struct wf_gate_block b = feed_block(&r, round, 0.002, 0);
        feed_add(g, 0, &b);
        feed_add(g, 1, &b);
        open = feed_decide(g);
    }
    cr_assert_eq(feed_verdict(g, 0), WF_GATE_VERDICT_PASS);
    cr_assert_eq(open, 2);
    for (int round = 10; feed_verdict(g, 2) == WF_GATE_VERDICT_OPEN; round++) {
        struct wf_gate_block b = feed_block(&r, round, 0.002, 0.03);
        feed_add(g, 2, &b);
        open = feed_decide(g);
    }
    cr_assert_eq(open, 0);
    cr_assert_eq(feed_verdict(g, 1), WF_GATE_VERDICT_PASS);
    cr_assert_eq(feed_verdict(g, 2), WF_GATE_VERDICT_PASS);
    wf_gate_free(g);
}

/* Closed before the proof: a PASS is not believed, a FAIL has shown by itself that the
 * device sees differences. */
Test(sentinel, closed_before_the_proof)
{
    struct wf_gate *g = cast();
    char why[200];

    (void)play(g, &(struct plan){ 12, 0, NAN, 0.004 });
    cr_assert_eq(feed_verdict(g, CLEAN), WF_GATE_VERDICT_PASS);
    cr_assert_eq(feed_verdict(g, ELSEWHERE), WF_GATE_VERDICT_PASS);
    wf_gate_close(g, WF_GATE_REASON_CANCELLED);
    cr_assert_eq(feed_verdict(g, CLEAN), WF_GATE_VERDICT_INCONCLUSIVE);
    cr_assert_eq(feed_reason(g, CLEAN), WF_GATE_REASON_CANCELLED);
    cr_assert_eq(feed_verdict(g, SLOW), WF_GATE_VERDICT_FAIL);
    cr_assert_eq(feed_verdict(g, ELSEWHERE), WF_GATE_VERDICT_PASS);
    cr_assert(wf_gate_device_is_good(g, 0, why, sizeof why));
    wf_gate_free(g);
}

Test(sentinel, nothing_to_vouch_for_nothing_to_run)
{
    struct wf_gate *g = feed_gate(NULL);

    (void)feed_pair(g, WF_GATE_CASE, 0);
    (void)feed_pair(g, WF_GATE_SENTINEL_SAME, 0);
    (void)feed_pair(g, WF_GATE_SENTINEL_SLOWER, 0);
    wf_gate_settle(g, 0, WF_GATE_VERDICT_UNCHANGED, WF_GATE_REASON_IDENTICAL);
    cr_assert_eq(feed_decide(g), 0);
    cr_assert_eq(feed_verdict(g, 1), WF_GATE_VERDICT_UNCHANGED);
    cr_assert_eq(feed_verdict(g, 2), WF_GATE_VERDICT_UNCHANGED);
    wf_gate_free(g);
}

/* A sentinel that cannot run here says nothing; one whose answer is wrong says that the
 * device computes wrongly. */
Test(sentinel, answers_of_sentinels)
{
    struct wf_gate *g = cast();
    char why[200];

    wf_gate_settle(g, SLOWER, WF_GATE_VERDICT_INCONCLUSIVE,
                   WF_GATE_REASON_NOT_SUPPORTED);
    cr_assert_eq(play(g, &(struct plan){ 24, 0, NAN, 0.004 }), 0);
    cr_assert(wf_gate_device_is_good(g, 0, why, sizeof why));
    cr_assert_eq(feed_verdict(g, CLEAN), WF_GATE_VERDICT_PASS);
    wf_gate_free(g);

    g = cast();
    wf_gate_settle(g, SAME, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_WRONG);
    (void)feed_decide(g);
    expect_struck(g);
    wf_gate_free(g);
}

Test(sentinel, one_that_loses_its_blocks_cannot_vouch)
{
    struct wf_gate *g = cast();
    char why[200];

    for (int i = 0; i < 24; i++) {
        feed_lose(g, SLOWER, i);
    }
    (void)feed_decide(g);
    expect_struck(g);
    cr_assert_eq(feed_reason(g, SLOWER), WF_GATE_REASON_BLOCKS_LOST);
    (void)wf_gate_device_is_good(g, 0, why, sizeof why);
    cr_assert(strstr(why, "24 blocks were rejected") != NULL, "%s", why);
    wf_gate_free(g);
}

/* Equal code is accused at most once in a hundred gates, however long they run: of 400
 * at most 4 + 3 x 2. */
Test(sentinel, equal_code_is_seldom_accused)
{
    int accused = 0;

    for (uint64_t run = 0; run < 400; run++) {
        struct wf_rng r = { 44, run, 0 };
        struct wf_gate *g = feed_gate(NULL);
        char why[200];
        (void)feed_pair(g, WF_GATE_SENTINEL_SAME, 0);
        (void)feed_pair(g, WF_GATE_CASE, 0); /* open, so that it is waited for */
        for (int i = 0; i < 48; i++) {
            struct wf_gate_block b =
                feed_block(&r, i / 2, run % 2 == 0 ? 0.02 : 0.004, 0);
            feed_add(g, 0, &b);
        }
        (void)feed_decide(g);
        accused += !wf_gate_device_is_good(g, 0, why, sizeof why);
        wf_gate_free(g);
    }
    cr_assert_leq(accused, 10);
}

/* --- level --- */

Test(sentinel, level_rule)
{
    double x[20];
    double limit;

    for (int i = 0; i < 20; i++) {
        x[i] = 9 + (i % 2 == 0 ? 0.001 : -0.001);
    }
    cr_assert(!wf_gate_level_is_off(x, 2, 12, &limit) && limit == INFINITY);
    cr_assert(!wf_gate_level_is_off(x, 8, 9.019, &limit));
    cr_assert_eq(limit, 0.02);
    cr_assert(wf_gate_level_is_off(x, 8, 9.0201, NULL));
    cr_assert(wf_gate_level_is_off(x, 8, 8.9799, NULL));
    for (int i = 0; i < 20; i++) { /* sd of 8: 0.0107 */
        x[i] = 9 + (i % 2 == 0 ? 0.01 : -0.01);
    }
    cr_assert(!wf_gate_level_is_off(x, 8, 9.05, &limit));
    cr_assert_float_eq(limit, 5 * sqrt(8 * 1e-4 / 7), 1e-12);
    cr_assert(wf_gate_level_is_off(x, 8, 9.06, NULL));
    for (int i = 15; i < 20; i++) { /* five of the last nine: the new state counts */
        x[i] = 9.5;
    }
    cr_assert(!wf_gate_level_is_off(x, 20, 9.5, NULL));
}
