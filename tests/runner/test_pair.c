/* Rounds of pairs on the host: answers of both arms, blocks, and what becomes of a
 * round one of whose kernels misbehaves. */
#include "pair_task.h"

#include "core/clock.h"
#include "core/file.h"
#include "runner/calibration.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANY 30

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const struct wf_json *at(const struct wf_json *list, size_t i)
{
    const struct wf_json *v = wf_json_at(list, i);
    cr_assert_not_null(v, "no item %zu", i);
    return v;
}

static double number(const struct wf_json *v)
{
    double d = 0;
    cr_assert(wf_json_as_f64(v, &d));
    return d;
}

static void expect_answers(const struct wf_json *record,
                           const char *base,
                           const char *candidate)
{
    cr_expect_str_eq(task_text(record, "base.answer"), base, "%s: %s",
                     task_text(record, "pair"), task_text(record, "base.answer_text"));
    cr_expect_str_eq(task_text(record, "candidate.answer"), candidate, "%s: %s",
                     task_text(record, "pair"),
                     task_text(record, "candidate.answer_text"));
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void expect_block(const struct wf_json *block)
{
    for (size_t s = 0; s < 4; s++) {
        double t[5];
        for (size_t i = 0; i < 5; i++) {
            t[i] = number(at(at(task_member(block, "t_ns"), s), i));
            cr_expect_gt(t[i], 100.0, "a launch of %g ns", t[i]);
            cr_expect_lt(t[i], 1e9);
        }
        qsort(t, 5, sizeof(t[0]), by_value);
        const double y = (log(t[1]) + log(t[2]) + log(t[3])) / 3;
        cr_expect_float_eq(number(at(task_member(block, "y"), s)), y, 1e-9);
    }
}

Test(pair, an_arm_against_itself_gives_blocks_of_four_slots)
{
    const struct wf_pair pair = pair_measured("a/a", "right", "right", 2);
    const struct wf_pair_round round = pair_round_of(&pair, 1);
    struct pair_records r = pair_run_blocks(&round, 2);
    const struct wf_json *record = r.record[0];
    expect_answers(record, "PASS", "PASS");
    cr_expect_str_eq(task_text(record, "pair"), "a/a");
    cr_expect_str_eq(task_text(record, "gate"), "0123456789abcdef");
    cr_expect_eq(task_number(record, "round"), 3);
    const struct wf_json *blocks = task_member(record, "blocks");
    cr_assert_eq(wf_json_count(blocks), 2u, "%s", task_text(record, "note"));
    cr_expect_eq(task_number(at(blocks, 0), "mask"), 5);
    cr_expect_eq(task_number(at(blocks, 1), "mask"), 10);
    expect_block(at(blocks, 0));
    expect_block(at(blocks, 1));
    const double t = number(at(at(task_member(at(blocks, 0), "t_ns"), 0), 4));
    const double launches = task_number(record, "launches");
    cr_expect_geq(launches * t, 20e3, "%g launches of %g ns", launches, t);
    cr_expect_eq(task_number(r.facts, "details.subjects"), 1);
    cr_expect_eq(task_number(r.facts, "details.measured"), 1);
    cr_expect_str_eq(task_text(r.facts, "void"), "");
    cr_expect_null(wf_json_find(task_member(r.facts, "details"), "asked"));
    pair_records_free(&r);
}

Test(pair, a_wrong_candidate_has_its_diagnosis_and_the_base_passes)
{
    const struct wf_pair pairs[] = {
        pair_measured("wrong", "right", "off_by_one", 1),
        pair_measured("wrong base", "leaves_tail", "right", 1),
        pair_measured("bounds", "right", "writes_behind", 1),
        pair_measured("changed input", "modifies_input", "right", 1),
        pair_measured("after", "right", "right", 1),
    };
    const struct wf_pair_round round = pair_round_of(pairs, 5);
    struct pair_records r = pair_run_blocks(&round, 1);
    expect_answers(r.record[0], "PASS", "MISMATCH");
    expect_answers(r.record[1], "UNWRITTEN", "PASS");
    expect_answers(r.record[2], "PASS", "OUT_OF_BOUNDS");
    expect_answers(r.record[3], "INPUT_MODIFIED", "PASS");
    expect_answers(r.record[4], "PASS", "PASS");
    cr_expect(strstr(task_text(r.record[0], "candidate.answer_text"), "1 wrong"));
    cr_expect_str_eq(task_text(r.record[0], "candidate.result.task.kernel"),
                     "off_by_one");
    cr_expect_null(wf_json_find(task_member(r.record[0], "base"), "result"));
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(wf_json_count(task_member(r.record[i], "blocks")), 0u);
        cr_expect_str_eq(task_text(r.record[i], "note"),
                         "no blocks: an answer is not PASS");
    }
    cr_expect_eq(wf_json_count(task_member(r.record[4], "blocks")), 1u);
    cr_expect_eq(task_number(r.facts, "details.subjects"), 3,
                 "who writes elsewhere gets no other case");
    pair_records_free(&r);
}

Test(pair, a_round_goes_on_behind_a_kernel_that_crashes_or_hangs)
{
    const struct wf_pair pairs[] = {
        pair_of("first", "right", "right"),
        pair_of("crash", "right", "crashes"),
        pair_of("crash of the base", "exits", "right"),
        pair_of("hang", "right", "hangs"),
        pair_of("both", "crashes", "crashes"),
        pair_of("refused", "refuses", "missing_in_library"),
        pair_of("last", "right", "right"),
    };
    struct wf_pair_round round = pair_round_of(pairs, 7);
    round.kernel_deadline_ns = 300000000;
    struct pair_records r = pair_run_all(&round);
    expect_answers(r.record[0], "PASS", "PASS");
    expect_answers(r.record[1], "PASS", "CRASH");
    expect_answers(r.record[2], "CRASH", "PASS");
    expect_answers(r.record[3], "PASS", "TIMEOUT");
    expect_answers(r.record[4], "CRASH", "CRASH");
    expect_answers(r.record[5], "NOT_SUPPORTED", "BUILD_FAILED");
    expect_answers(r.record[6], "PASS", "PASS");
    cr_expect(strstr(task_text(r.record[1], "candidate.answer_text"), "SIGSEGV"), "%s",
              task_text(r.record[1], "candidate.answer_text"));
    pair_records_free(&r);
}

/* Faults that show in the timed launches only: the other arm's answer stands, and the
 * next pair is measured in a new subject. */
Test(pair, a_kernel_that_fails_while_it_is_timed_has_its_answer)
{
    const struct wf_pair pairs[] = {
        pair_measured("swings", "swings_when_warm", "right", 1),
        pair_measured("crashes", "right", "crashes_when_warm", 1),
        pair_measured("after", "right", "right", 1),
    };
    const struct wf_pair_round round = pair_round_of(pairs, 3);
    struct pair_records r = pair_run_blocks(&round, 1);
    expect_answers(r.record[0], "NONDETERMINISTIC", "PASS");
    expect_answers(r.record[1], "PASS", "CRASH");
    cr_expect_eq(wf_json_count(task_member(r.record[1], "blocks")), 0u);
    expect_answers(r.record[2], "PASS", "PASS");
    cr_expect_eq(wf_json_count(task_member(r.record[2], "blocks")), 1u, "%s",
                 task_text(r.record[2], "note"));
    cr_expect_eq(task_number(r.facts, "details.subjects"), 2);
    pair_records_free(&r);
}

Test(pair, one_arm_alone_is_judged_and_not_measured)
{
    const struct wf_pair pairs[] = { pair_measured("new", NULL, "right", 1),
                                     pair_measured("gone", "right", NULL, 1) };
    const struct wf_pair_round round = pair_round_of(pairs, 2);
    struct pair_records r = pair_run_all(&round);
    cr_expect_eq(wf_json_type(task_member(r.record[0], "base")), WF_JSON_NULL);
    cr_expect_str_eq(task_text(r.record[0], "candidate.answer"), "PASS");
    cr_expect_str_eq(task_text(r.record[0], "note"),
                     "no blocks: there is one arm only");
    cr_expect_str_eq(task_text(r.record[1], "base.answer"), "PASS");
    pair_records_free(&r);
}

Test(pair, a_clock_that_is_marked_gives_answers_and_no_blocks)
{
    struct wf_error err = { 0 };
    const struct wf_pair pair = pair_measured("marked", "right", "right", 1);
    const struct wf_pair_round round = pair_round_of(&pair, 1);
    cr_assert_eq(wf_calibration_store(round.device, false, "5 ms read 3 ms", &err),
                 WF_OK, "%s", err.text);
    struct pair_records r = pair_run_all(&round);
    expect_answers(r.record[0], "PASS", "PASS");
    cr_expect_eq(wf_json_count(task_member(r.record[0], "blocks")), 0u);
    cr_expect(strstr(task_text(r.record[0], "note"), "5 ms read 3 ms"), "%s",
              task_text(r.record[0], "note"));
    pair_records_free(&r);
}

/* Neither the first answer for ever, nor that of the inputs before. */
Test(pair, a_kernel_that_replays_is_caught)
{
    const struct wf_pair pairs[] = {
        pair_measured("bits", "right", "replays_first", 1),
        pair_measured("values", "right", "replays_rounded", 1),
        pair_measured("base", "replays_first", "right", 1),
    };
    const struct wf_pair_round round = pair_round_of(pairs, 3);
    struct pair_records r = pair_run_all(&round);
    expect_answers(r.record[0], "PASS", "CHEAT_SUSPECTED");
    cr_expect_str_neq(task_text(r.record[1], "candidate.answer"), "PASS");
    expect_answers(r.record[2], "CHEAT_SUSPECTED", "PASS");
    pair_records_free(&r);
}

/* From the folder of mutants: seen by the audit alone, and by the judge's clock. What
 * was done to a clock does not reach the next pair. */
Test(pair, cheats_are_caught_beside_an_honest_kernel)
{
    static const char *const names[] = { "replays_by_whole_hash",
                                         "shrinks_elapsed_time" };
    struct wf_pair pairs[3];
    if (SANITIZED) {
        cr_skip_test("a sanitizer ends kernels that search and patch their process");
    }
    for (size_t i = 0; i < 2; i++) {
        pairs[i] = pair_measured(names[i], "right", names[i], 1);
        pairs[i].arm[WF_PAIR_CAND].pack_folder = MUTANTS_FOLDER "/cheats-host";
    }
    pairs[2] = pair_measured("honest", "right", "right", 1);
    const struct wf_pair_round round = pair_round_of(pairs, 3);
    struct pair_records r = pair_run_blocks(&round, 1);
    for (int i = 1;
         i < 4 && strcmp(task_text(r.record[0], "candidate.answer"), "PASS") == 0;
         i++) { /* too busy to tell */
        pair_records_free(&r);
        r = pair_run_blocks(&round, 1);
    }
    expect_answers(r.record[0], "PASS", "CHEAT_SUSPECTED");
    cr_expect(
        strstr(task_text(r.record[0], "candidate.answer_text"), "had just changed"),
        "%s", task_text(r.record[0], "candidate.answer_text"));
    cr_expect_eq(wf_json_count(task_member(r.record[1], "blocks")), 0u);
    cr_expect(strstr(task_text(r.record[1], "note"), "cannot be believed"), "%s",
              task_text(r.record[1], "note"));
    expect_answers(r.record[2], "PASS", "PASS");
    cr_expect_eq(wf_json_count(task_member(r.record[2], "blocks")), 1u, "%s",
                 task_text(r.record[2], "note"));
    cr_expect_eq(task_number(r.facts, "details.subjects"), 3);
    pair_records_free(&r);
}

static struct pair_records collected;
static volatile int cancel;

static enum wf_status collect(void *ctx,
                              const struct wf_json *record,
                              struct wf_error *err)
{
    (void)ctx;
    return wf_json_copy(record, &collected.record[collected.count++], err);
}

static enum wf_status cancel_at_first(void *ctx,
                                      const struct wf_json *record,
                                      struct wf_error *err)
{
    cancel = 1;
    return collect(ctx, record, err);
}

Test(pair, cancelling_ends_at_once_and_keeps_the_records)
{
    const struct wf_pair pairs[] = { pair_of("first", "right", "right"),
                                     pair_of("hang", "right", "hangs") };
    struct wf_pair_round round = pair_round_of(pairs, 2);
    struct wf_json *facts = NULL;
    struct wf_error err = { 0 };
    round.cancel = &cancel;
    const int64_t start_ns = wf_monotonic_ns();
    cr_expect_eq(wf_pair_round(&round, cancel_at_first, NULL, &facts, &err),
                 WF_ECANCELLED);
    cr_expect_lt(wf_monotonic_ns() - start_ns, 5000000000);
    cr_assert_eq(collected.count, 1u);
    cr_expect_str_eq(task_text(collected.record[0], "pair"), "first");
    pair_records_free(&collected);
}

static enum wf_status refuse(void *ctx,
                             const struct wf_json *record,
                             struct wf_error *err)
{
    (void)ctx;
    (void)record;
    return wf_errorf(err, WF_ENOSPC, "the disk is full");
}

Test(pair, a_record_that_cannot_be_kept_ends_the_round)
{
    const struct wf_pair pairs[] = { pair_of("first", "right", "right"),
                                     pair_of("second", "right", "right") };
    const struct wf_pair_round round = pair_round_of(pairs, 2);
    struct wf_json *facts = NULL;
    struct wf_error err = { 0 };
    cr_expect_eq(wf_pair_round(&round, refuse, NULL, &facts, &err), WF_ENOSPC);
    cr_expect_str_eq(err.text, "the disk is full");
    cr_expect_null(facts);
}

/* Instead of the judge: a script in a folder of its own. */
static enum wf_status run_with_judge(const char *script,
                                     size_t *ret_records,
                                     char *ret_text,
                                     size_t bytes)
{
    char folder[] = "/tmp/wavefarm-judge-XXXXXX";
    char path[64];
    const struct wf_pair pair = pair_of("first", "right", "right");
    const struct wf_pair_round round = pair_round_of(&pair, 1);
    struct pair_records r = { .count = 0 };
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/wavefarm-judge", folder);
    cr_assert_eq(wf_file_write_atomic(path, script, strlen(script), NULL), WF_OK);
    cr_assert_eq(chmod(path, 0700), 0);
    cr_assert_eq(setenv("WAVEFARM_LIBEXEC", folder, 1), 0);
    r.status = wf_pair_round(&round, collect, NULL, &r.facts, &r.err);
    cr_assert_eq(unsetenv("WAVEFARM_LIBEXEC"), 0);
    (void)wf_remove_tree(folder, NULL);
    (void)snprintf(ret_text, bytes, "%.200s", r.err.text);
    *ret_records = collected.count;
    pair_records_free(&collected);
    collected.count = 0;
    pair_records_free(&r);
    return r.status;
}

Test(pair, a_judge_that_dies_costs_only_what_it_had_not_told)
{
    char text[300];
    size_t records = 0;
    cr_expect_eq(
        run_with_judge("#!/bin/sh\n"
                       "printf 'stage blocks\\npair {\"pair\":1}\\npair {\"pa' >&4\n"
                       "kill -9 $$\n",
                       &records, text, sizeof(text)),
        WF_EINTERNAL, "%s", text);
    cr_expect_eq(records, 1u);
    cr_expect(strstr(text, "signal 9 in stage blocks"), "%s", text);
    cr_expect_eq(run_with_judge("#!/bin/sh\nprintf 'pair nonsense\\n' >&4\n", &records,
                                text, sizeof(text)),
                 WF_EPARSE, "%s", text);
    cr_expect_eq(records, 0u);
    cr_expect_eq(
        run_with_judge("#!/bin/sh\nprintf 'pair {}\\npair {}\\nresult {\"a\":1}\\n'"
                       " >&4\n",
                       &records, text, sizeof(text)),
        WF_OK, "%s", text);
    cr_expect_eq(records, 2u);
}

/* Every pair asks for the same numbers of objects, programs and libraries, which the
 * subject refuses unless those of the pair before are gone. */
Test(pair, many_pairs_need_one_subject_and_no_more_memory)
{
    struct wf_pair pairs[MANY];
    static char keys[MANY][16];
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "pair %zu", i);
        pairs[i] = pair_of(keys[i], "right", "right");
        pairs[i].case_json = i % 2 ? TASK_CASE_PADDED : TASK_CASE;
    }
    const struct wf_pair_round round = pair_round_of(pairs, MANY);
    struct pair_records r = pair_run_all(&round);
    for (size_t i = 0; i < MANY; i++) {
        cr_expect_str_eq(task_text(r.record[i], "pair"), keys[i]);
        expect_answers(r.record[i], "PASS", "PASS");
    }
    cr_expect_eq(task_number(r.facts, "details.subjects"), 1);
    pair_records_free(&r);
}

Test(pair, what_cannot_be_compared_is_refused_with_a_reason)
{
    struct wf_pair pair = pair_measured("x", "right", "right", 1);
    struct wf_pair_round round = pair_round_of(&pair, 1);
    pair.mask[0] = 7;
    struct pair_records r = pair_run(&round);
    cr_expect_eq(r.status, WF_EINVAL);
    cr_expect(strstr(r.err.text, "mask 7"), "%s", r.err.text);
    pair.mask[0] = 5;
    round.measure.icache_cold = true;
    r = pair_run(&round);
    cr_expect_eq(r.status, WF_EUNSUPPORTED);
    cr_expect(strstr(r.err.text, "instruction caches"), "%s", r.err.text);
    round = pair_round_of(&pair, 0);
    r = pair_run(&round);
    cr_expect_eq(r.status, WF_EINVAL);
    round = pair_round_of(&pair, 1);
    pair.case_json = "{\"op\":\"gemm\",\"M\":-1}";
    r = pair_run(&round);
    cr_assert_eq(r.status, WF_OK, "%s", r.err.text);
    expect_answers(r.record[0], "INVALID_CASE", "INVALID_CASE");
    pair_records_free(&r);
    pair = pair_measured("x", "right", "no_such_kernel", 1);
    r = pair_run(&round);
    cr_expect_eq(r.status, WF_ENOTFOUND);
    cr_expect(strstr(r.err.text, "candidate"), "%s", r.err.text);
    cr_expect(strstr(r.err.text, "no_such_kernel"), "%s", r.err.text);
}
