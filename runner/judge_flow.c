/* The order of a task: setup, checked launches, timed launches on other inputs, judge
 * again.
 *
 * Later checked launches (judge_repeat.c) find other poison; equal outputs show that
 * nothing depends on what memory held, and that the kernel is deterministic. The timed
 * launches get inputs of their own, so that a replayed answer is a wrong one. */
#include "runner/judge.h"

#include "core/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define TIMED_SEED_STEP 0x7f4a7c159e3779b9u

uint64_t judge_timed_offset(const struct judge *j)
{
    return j->spliced ? j->splice_offset : j->request->seed_offset + TIMED_SEED_STEP;
}

enum wf_status judge_launch(struct judge *j,
                            struct wf_sp_ran *ret,
                            struct wf_error *err)
{
    struct wf_sp_run run = { j->base.program, 1 };
    return judge_get(j, WF_SP_RUN, &run, sizeof(run), j->request->kernel_deadline_ns,
                     ret, sizeof(*ret), err);
}

enum wf_status judge_place(struct judge *j, struct wf_error *err)
{
    judge_set_finds(j, 0);
    enum wf_status st = judge_load_code(j, err);
    if (st == WF_OK && j->kernel->kind == WF_KERNEL_LIBRARY) {
        st = judge_library_query(j, err);
    }
    return st == WF_OK ? judge_allocate(j, 1, err) : st;
}

enum wf_status judge_set_launches(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (j->kernel->kind == WF_KERNEL_CODE_OBJECT) {
        st = judge_set_programs(j, err);
    }
    return st == WF_OK ? judge_set_reset(j, err) : st;
}

static enum wf_status prepare(struct judge *j, struct wf_error *err)
{
    int64_t start_ns = wf_monotonic_ns();
    j->say("stage prepare");
    enum wf_status st = judge_place(j, err);
    if (st == WF_OK) {
        st = judge_write_inputs(j, j->request->seed_offset, err);
    }
    if (st == WF_OK) {
        st = judge_set_launches(j, err);
    }
    j->result->phases.prepare += wf_monotonic_ns() - start_ns;
    return st;
}

enum wf_status judge_check_launches(struct judge *j,
                                    struct wf_sp_ran *ret_ran,
                                    struct wf_error *err)
{
    char digest[32];
    j->say("stage launch");
    enum wf_status st = judge_emulate(j, true, err);
    if (st == WF_OK) {
        st = judge_launch(j, ret_ran, err);
    }
    if (st == WF_OK) {
        st = judge_take_launches(j, err);
    }
    if (st == WF_OK) {
        st = judge_make_reference(j, j->request->seed_offset, err);
    }
    if (st == WF_OK) {
        st = judge_verify(j, 0, "checked launch", err);
    }
    if (st != WF_OK || j->done) {
        return st;
    }
    st = judge_output_digest(j, 0, &j->output_digest, err);
    (void)snprintf(digest, sizeof(digest), "%016" PRIx64, j->output_digest);
    st = st == WF_OK
             ? wf_json_set_string(j->result->details, "output_digest", digest, err)
             : st;
    return st == WF_OK ? judge_repeat(j, err) : st;
}

/* Wrong outputs of other bits than before, that are right for the inputs of the checked
 * launch: the kernel computes, from inputs that it kept. */
static enum wf_status check_stale_values(struct judge *j,
                                         size_t set,
                                         struct wf_error *err)
{
    bool right = false;
    if (j->result->answer != WF_ANSWER_MISMATCH) {
        return WF_OK;
    }
    enum wf_status st = judge_make_reference(j, j->request->seed_offset, err);
    st = st == WF_OK ? judge_outputs_fit(j, set, &right, err) : st;
    if (st == WF_OK && right) {
        result_answer(
            j->result, WF_ANSWER_CHEAT_SUSPECTED,
            "stale output: the timed launches gave the right answer to the inputs "
            "of the checked launch, not to theirs");
    }
    return st;
}

/* A failure after the timed launches whose outputs are those of the earlier inputs. */
static enum wf_status check_replay(struct judge *j, size_t set, struct wf_error *err)
{
    uint64_t digest = 0;
    enum wf_status st = judge_output_digest(j, set, &digest, err);
    if (st == WF_OK &&
        (digest == j->output_digest || (j->has_stale && digest == j->stale_digest))) {
        result_answer(j->result, WF_ANSWER_CHEAT_SUSPECTED,
                      "the timed launches returned the outputs of earlier inputs");
        return st;
    }
    return st == WF_OK ? check_stale_values(j, set, err) : st;
}

/* Two launches on the timed inputs in a cold run go through different sets. */
static enum wf_status check_other_set(struct judge *j, size_t set, struct wf_error *err)
{
    uint64_t one = 0;
    uint64_t other = 0;
    size_t before = (set + j->sets - 1) % j->sets;
    if (j->sets < 2 || !j->kernel->deterministic ||
        j->result->timing.launches_per_sample < 2) {
        return WF_OK;
    }
    enum wf_status st = judge_output_digest(j, set, &one, err);
    st = st == WF_OK ? judge_output_digest(j, before, &other, err) : st;
    if (st == WF_OK && one != other) {
        result_answer(
            j->result, WF_ANSWER_MISMATCH,
            "timed launches: two copies of equal inputs gave different outputs");
        j->done = true;
    }
    return st;
}

enum wf_status judge_verify_timed(struct judge *j, size_t set, struct wf_error *err)
{
    enum wf_status st = judge_make_reference(j, judge_timed_offset(j), err);
    if (st == WF_OK) {
        st = judge_verify(j, set, "timed launches", err);
    }
    if (st == WF_OK && j->done) {
        st = check_replay(j, set, err);
    }
    if (st == WF_OK && !j->done) {
        st = check_other_set(j, set, err);
    }
    return st == WF_OK && !j->done ? judge_repeat_timed(j, set, err) : st;
}

static enum wf_status timed_launches(struct judge *j,
                                     const struct wf_sp_ran *ran,
                                     struct wf_error *err)
{
    size_t last_set = 0;
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = judge_measure(j, ran, &last_set, err);
    j->result->phases.measure += wf_monotonic_ns() - start_ns;
    return st == WF_OK && !j->done ? judge_verify_timed(j, last_set, err) : st;
}

void judge_note_memory(struct judge *j)
{
    j->result->judge_peak_bytes = process_peak_bytes(getpid());
    if (j->subject) {
        uint64_t peak = subject_client_peak_bytes(j->subject);
        j->result->subject_peak_bytes = peak;
    }
}

static enum wf_status run_on_device(struct judge *j, struct wf_error *err)
{
    struct wf_sp_ran ran = { 0, 0 };
    uint64_t offset = j->request->seed_offset; /* of the inputs of the last launch */
    enum wf_status st = prepare(j, err);
    if (st == WF_OK) {
        st = judge_check_launches(j, &ran, err);
    }
    if (st == WF_OK && !j->done) {
        if (j->request->device->times_modelled) {
            result_time(j->result, WF_TIME_MODELLED,
                        "times of this runtime are a model's");
            st = wf_json_set_f64(j->result->details, "modelled_ns", ran.event_ms * 1e6,
                                 err);
        } else if (j->request->measure.measure) {
            st = timed_launches(j, &ran, err);
            offset = judge_timed_offset(j);
        }
    }
    if (st == WF_OK && !j->done) {
        st = judge_naive(j, 0, offset, err);
    }
    judge_note_memory(j);
    return st;
}

/* A time stands only beside a right answer. */
static void drop_time(struct result *r)
{
    r->timing.source = NULL;
    if (r->time != WF_TIME_NOT_MEASURED) {
        result_time(r, WF_TIME_NOT_MEASURED, "the answer is not PASS");
    }
}

enum wf_status judge_end(struct judge *j, enum wf_status st, struct wf_error *err)
{
    if (st != WF_OK && judge_conclude(j, err)) {
        st = WF_OK;
        judge_note_memory(j);
    }
    if (st == WF_OK) {
        st = judge_note_emulation(j, err);
    }
    if (st == WF_OK) {
        st = judge_note_layout(j, err);
    }
    if (j->result->answer != WF_ANSWER_PASS) {
        drop_time(j->result);
    }
    return st;
}

enum wf_status judge_run(struct judge *j, struct wf_error *err)
{
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = judge_setup(j, err);
    if (st == WF_OK && !j->done) {
        st = j->kernel->kind == WF_KERNEL_PROCESS ? judge_run_process(j, err)
                                                  : run_on_device(j, err);
    }
    st = judge_end(j, st, err);
    j->result->phases.total = wf_monotonic_ns() - start_ns;
    return st;
}
