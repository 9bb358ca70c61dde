/* Records: rounds, answers, void and lost, what comes next, verdicts. */
#include "record_play.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wf_gate_verdict verdict_of(struct wf_gate_record *r, size_t i)
{
    return wf_gate_verdict_of(wf_gate_record_gate(r), i, NULL);
}

static enum wf_gate_reason reason_of(struct wf_gate_record *r, size_t i)
{
    enum wf_gate_reason why;

    (void)wf_gate_verdict_of(wf_gate_record_gate(r), i, &why);
    return why;
}

static struct wf_gate_figures figures_of(struct wf_gate_record *r, size_t i)
{
    struct wf_gate_figures f;

    wf_gate_figures(wf_gate_record_gate(r), i, &f);
    return f;
}

Test(record, a_gate_from_header_to_verdict)
{
    struct play p = { .effect = { [3] = 0.03, [4] = -0.04 } };
    struct wf_gate_record *r = play_record(8, 1, true);
    const struct wf_json *last;
    bool red = false;
    int64_t fails = 0;

    play_to_the_end(r, &p);
    last = wf_gate_record_line(r, wf_gate_record_line_count(r) - 1);
    for (size_t i = 0; i < 8; i++) {
        cr_assert_eq(verdict_of(r, i), i == 3   ? WF_GATE_VERDICT_FAIL
                                       : i == 4 ? WF_GATE_VERDICT_IMPROVED
                                                : WF_GATE_VERDICT_PASS);
    }
    cr_assert(wf_json_as_bool(wf_json_find(last, "red"), &red) && red);
    cr_assert(
        wf_json_as_i64(wf_json_find(wf_json_find(last, "counts"), "FAIL"), &fails));
    cr_assert_eq(fails, 1); /* the sentinel that was found is nobody's regression */
    wf_gate_record_free(r);
}

/* --- answers --- */

struct answers {
    const char *base, *candidate;
    enum wf_gate_verdict verdict;
    enum wf_gate_reason reason;
};

#define ROW(b, c, v, r)                               \
    {                                                 \
        b, c, WF_GATE_VERDICT_##v, WF_GATE_REASON_##r \
    }

Test(record, answers_settle_pairs)
{
    static const struct answers rows[] = {
        ROW("PASS", "MISMATCH", FAIL, WRONG),
        ROW("PASS", "CRASH", FAIL, WRONG),
        ROW("PASS", "TIMEOUT", FAIL, WRONG),
        ROW("PASS", "NOT_SUPPORTED", FAIL, WRONG),
        ROW("PASS", "BUILD_FAILED", FAIL, WRONG),
        ROW("PASS", "OUT_OF_MEMORY", FAIL, WRONG),
        ROW("MISMATCH", "MISMATCH", FAIL, WRONG),
        ROW("LOST", "MISMATCH", FAIL, WRONG),
        ROW("MISMATCH", "PASS", INCONCLUSIVE, BASE_WRONG),
        ROW("BUILD_FAILED", "PASS", INCONCLUSIVE, BASE_WRONG),
        ROW("NOT_SUPPORTED", "PASS", PASS, ANSWER_ONLY),
        ROW("NOT_SUPPORTED", "NOT_SUPPORTED", INCONCLUSIVE, NOT_SUPPORTED),
        ROW("MISMATCH", "NOT_SUPPORTED", INCONCLUSIVE, NOT_SUPPORTED),
        ROW("INVALID_CASE", "INVALID_CASE", INCONCLUSIVE, NOT_SUPPORTED),
        ROW("OUT_OF_MEMORY", "OUT_OF_MEMORY", INCONCLUSIVE, NOT_SUPPORTED),
        ROW("LOST", "PASS", INCONCLUSIVE, NOT_RUN),
        ROW("LOST", "NOT_SUPPORTED", INCONCLUSIVE, NOT_RUN),
        ROW("PASS", "LOST", INCONCLUSIVE, NOT_RUN),
        ROW("CANCELLED", "CANCELLED", INCONCLUSIVE, NOT_RUN),
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct play p = { .base = { rows[i].base },
                          .candidate = { rows[i].candidate } };
        struct wf_gate_record *r = play_record(2, 1, false);
        cr_assert(play_round(r, &p, 0, ""));
        cr_assert_eq(verdict_of(r, 0), rows[i].verdict, "%s %s: %s", rows[i].base,
                     rows[i].candidate, wf_gate_verdict_name(verdict_of(r, 0)));
        cr_assert_eq(reason_of(r, 0), rows[i].reason);
        cr_assert_eq(verdict_of(r, 1), WF_GATE_VERDICT_OPEN);
        wf_gate_record_free(r);
    }
}

/* A kernel that is wrong in the third round alone is wrong. */
Test(record, wrong_in_a_later_round)
{
    struct play good = { .effect = { 0.02 } };
    struct play bad = { .candidate = { "RACE" } };
    struct wf_gate_record *r = play_record(1, 1, false);
    const char *answer;

    cr_assert(play_round(r, &good, 0, "") && play_round(r, &good, 0, ""));
    cr_assert_eq(verdict_of(r, 0), WF_GATE_VERDICT_OPEN);
    cr_assert(play_round(r, &bad, 0, ""));
    cr_assert_eq(reason_of(r, 0), WF_GATE_REASON_WRONG);
    answer = wf_json_string(wf_json_find(
        wf_json_find(wf_gate_record_telling(r, 0), "candidate"), "answer"));
    cr_assert_str_eq(answer, "RACE");
    wf_gate_record_free(r);
}

static void change(struct wf_json *o, const char *key, bool v)
{
    cr_assert_eq(wf_json_set_bool(o, key, v, NULL), WF_OK);
}

Test(record, answers_only)
{
    struct wf_json *header = play_header(2, 1, false);
    struct play p = { .candidate = { [1] = "NONFINITE" } };
    struct wf_gate_record *r = NULL;
    struct wf_gate_todo todo[2];
    size_t n = 0;
    int32_t round = 0;

    change(header, "measured", false);
    cr_assert_eq(wf_gate_record_create(header, &r, NULL), WF_OK);
    cr_assert_eq(wf_gate_record_next(r, 0, &round, todo, &n, NULL), WF_OK);
    cr_assert(n == 2 && round == 1 && todo[0].block_count == 0);
    cr_assert(play_round(r, &p, 0, ""));
    cr_assert_eq(reason_of(r, 0), WF_GATE_REASON_ANSWER_ONLY);
    cr_assert_eq(verdict_of(r, 0), WF_GATE_VERDICT_PASS);
    cr_assert_eq(verdict_of(r, 1), WF_GATE_VERDICT_FAIL);
    cr_assert(!play_round(r, &p, 0, ""));
    wf_gate_record_free(r);
}

/* Also without times a gate whose rounds are all void ends. */
Test(record, answers_that_never_come)
{
    struct wf_json *header = play_header(1, 1, false);
    struct play p = { .stream = 1 };
    struct wf_gate_record *r = NULL;
    int rounds = 0;

    change(header, "measured", false);
    cr_assert_eq(wf_gate_record_create(header, &r, NULL), WF_OK);
    while (rounds < 100 && play_round(r, &p, 0, "no device")) {
        rounds++;
    }
    cr_assert_eq(rounds, 24);
    cr_assert_eq(reason_of(r, 0), WF_GATE_REASON_BLOCKS_LOST);
    wf_gate_record_free(r);
}

/* --- rounds --- */

Test(record, a_void_round_counts_nothing)
{
    struct play p = { .candidate = { "MISMATCH" }, .effect = { [1] = 0.5 } };
    struct play good = { .stream = 1 };
    struct wf_gate_record *r = play_record(2, 1, false);
    struct wf_gate_figures f;

    cr_assert(play_round(r, &p, 0, "the clock fell"));
    cr_assert_eq(verdict_of(r, 0), WF_GATE_VERDICT_OPEN);
    f = figures_of(r, 1);
    cr_assert(f.blocks == 0 && f.lost == 1 && f.log_w_slower == 0);
    cr_assert(wf_gate_record_telling(r, 0) == wf_gate_record_newest(r, 0));
    cr_assert(play_round(r, &good, 0, ""));
    cr_assert_eq(figures_of(r, 0).blocks, 1);
    for (int i = 0; i < 30 && play_round(r, &p, 0, "again"); i++) {
    }
    cr_assert_eq(reason_of(r, 0), WF_GATE_REASON_BLOCKS_LOST);
    cr_assert_eq(figures_of(r, 0).lost, 24);
    wf_gate_record_free(r);
}

/* A runner that dies: the pairs without a record are lost for this round, the others
 * count; the next round draws anew. */
Test(record, a_round_cut_short)
{
    struct play p = { .noise = 0.003 };
    struct wf_gate_record *r = play_record(3, 1, false);
    struct wf_gate_todo todo[3];
    struct wf_gate_todo again[3];
    size_t n = 0;
    int32_t round = 0;

    cr_assert_eq(wf_gate_record_next(r, 0, &round, todo, &n, NULL), WF_OK);
    cr_assert(n == 3 && round == 1);
    play_add(r, play_pair_line(r, &p, &todo[0], 1));
    cr_assert(wf_gate_record_open_round(r, 0, &round) && round == 1);
    cr_assert_eq(wf_gate_record_next(r, 0, &round, again, &n, NULL), WF_EINVAL);
    play_add(r, play_round_line(r, 0, 1, ""));
    cr_assert(!wf_gate_record_open_round(r, 0, &round));
    cr_assert_eq(figures_of(r, todo[0].pair).blocks, 1);
    cr_assert(figures_of(r, todo[1].pair).blocks == 0 &&
              figures_of(r, todo[1].pair).lost == 1);
    cr_assert_eq(wf_gate_record_next(r, 0, &round, again, &n, NULL), WF_OK);
    cr_assert(n == 3 && round == 2);
    wf_gate_record_free(r);
}

/* Fewer blocks than asked for, or rejected ones: lost, and the rest counts. */
Test(record, blocks_that_are_missing_or_rejected_are_lost)
{
    struct play p = { .noise = 0.003 };
    struct wf_gate_record *r = play_record(1, 1, true);
    struct wf_gate_todo todo[3];
    size_t n = 0;
    int32_t round = 0;

    cr_assert_eq(wf_gate_record_next(r, 0, &round, todo, &n, NULL), WF_OK);
    for (size_t i = 0; i < n; i++) {
        struct wf_gate_todo t = todo[i];
        struct wf_json *line;
        t.block_count = t.block_count == 2 && t.pair == 1 ? 1 : t.block_count;
        line = play_pair_line(r, &p, &t, round);
        if (t.pair == 2) {
            struct wf_json *b = wf_json_object();
            struct wf_json *y = wf_json_array();
            struct wf_json *list = wf_json_array();
            for (int k = 0; k < 4; k++) {
                cr_assert_eq(wf_json_push_f64(y, NAN, NULL), WF_OK);
            }
            cr_assert_eq(wf_json_set_i64(b, "mask", t.mask[0], NULL), WF_OK);
            cr_assert_eq(wf_json_set_take(b, "y", y, NULL), WF_OK);
            cr_assert_eq(wf_json_set_string(b, "rejected", "throttled", NULL), WF_OK);
            cr_assert_eq(wf_json_push_take(list, b, NULL), WF_OK);
            cr_assert_eq(wf_json_set_take(line, "blocks", list, NULL), WF_OK);
        }
        play_add(r, line);
    }
    play_add(r, play_round_line(r, 0, round, ""));
    cr_assert(figures_of(r, 1).blocks == 1 && figures_of(r, 1).lost == 1);
    cr_assert(figures_of(r, 2).blocks == 0 && figures_of(r, 2).lost == 2);
    wf_gate_record_free(r);
}

/* Groups run at their own pace; each draws its own order, and nothing that one does
 * changes the labels of another. */
Test(record, groups_are_independent)
{
    struct play p = { .noise = 0.003 };
    struct wf_gate_record *r = play_record(6, 2, true);
    struct wf_gate_todo todo[16];
    struct wf_gate_todo later[16];
    size_t n[2] = { 0, 0 };
    int32_t round = 0;

    cr_assert_eq(wf_gate_record_next(r, 1, &round, todo, &n[0], NULL), WF_OK);
    cr_assert(play_round(r, &p, 0, ""));
    cr_assert_eq(wf_gate_record_next(r, 1, &round, later, &n[1], NULL), WF_OK);
    cr_assert(n[0] == 5 && n[1] == 5 && round == 1);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(wf_gate_record_pair(r, todo[i].pair)->device, 1);
        cr_assert_eq(todo[i].pair, later[i].pair);
        cr_assert_eq(todo[i].mask[0], later[i].mask[0]);
        cr_assert_eq(todo[i].mask[0],
                     wf_gate_draw_mask(
                         play_seed, wf_gate_record_pair(r, todo[i].pair)->key, 1, 0));
    }
    wf_gate_record_free(r);
}

Test(record, the_order_changes_from_round_to_round)
{
    struct play p = { .effect = { 0 }, .noise = 0.2 };
    struct wf_gate_record *r = play_record(16, 1, false);
    struct wf_gate_todo todo[16];
    size_t first[16];
    size_t n = 0;
    int32_t round = 0;
    int moved = 0;

    cr_assert_eq(wf_gate_record_next(r, 0, &round, todo, &n, NULL), WF_OK);
    for (size_t i = 0; i < 16; i++) {
        first[i] = todo[i].pair;
    }
    cr_assert(play_round(r, &p, 0, ""));
    cr_assert_eq(wf_gate_record_next(r, 0, &round, todo, &n, NULL), WF_OK);
    cr_assert_eq(n, 16);
    for (size_t i = 0; i < 16; i++) {
        moved += todo[i].pair != first[i];
    }
    cr_assert_gt(moved, 8);
    wf_gate_record_free(r);
}

Test(record, level_of_a_sentinel)
{
    struct play p = { .noise = 0.05, .level_round = 6, .level_step = 0.5 };
    struct wf_gate_record *r = play_record(1, 1, true);
    struct wf_gate_todo todo[3];
    char why[200];
    size_t n = 0;
    int32_t round = 0;

    for (int i = 1; i <= 5; i++) {
        cr_assert(play_round(r, &p, 0, ""));
    }
    cr_assert_eq(wf_gate_record_next(r, 0, &round, todo, &n, NULL), WF_OK);
    cr_assert(round == 6 && n > 0);
    cr_assert(!wf_gate_record_level_is_off(r, 0, why, sizeof why));
    for (size_t i = 0; i < n; i++) {
        play_add(r, play_pair_line(r, &p, &todo[i], round));
    }
    cr_assert(wf_gate_record_level_is_off(r, 0, why, sizeof why));
    cr_assert(strstr(why, "same/alu@0") != NULL, "%s", why);
    wf_gate_record_free(r);
}

/* --- closing --- */

Test(record, closing_a_group)
{
    struct play p = { .effect = { 0.0125, 0.0125, 0.0125, 0.0125 } };
    struct wf_gate_record *r = play_record(4, 2, false);
    struct wf_json *line = NULL;
    struct wf_gate_todo todo[4];
    struct wf_error err;
    size_t n = 1;
    int32_t round = 0;

    cr_assert(play_round(r, &p, 0, "") && play_round(r, &p, 1, ""));
    cr_assert_eq(wf_gate_record_close(r, 0, WF_GATE_REASON_NOT_RUN,
                                      "the device went away", &line, NULL),
                 WF_OK);
    play_add(r, line);
    for (size_t i = 0; i < 4; i++) {
        bool gone = wf_gate_record_pair(r, i)->device == 0;
        cr_assert_eq(verdict_of(r, i),
                     gone ? WF_GATE_VERDICT_INCONCLUSIVE : WF_GATE_VERDICT_OPEN);
    }
    cr_assert_eq(wf_gate_record_next(r, 0, &round, todo, &n, NULL), WF_OK);
    cr_assert_eq(n, 0);
    cr_assert_eq(wf_gate_record_add(r, play_round_line(r, 0, 2, ""), &err), WF_EINVAL);
    cr_assert(strstr(err.text, "closed") != NULL, "%s", err.text);
    play_to_the_end(r, &p);
    wf_gate_record_free(r);
}
