/* Both arms of a pair get their answers: together in one subject, and one by itself
 * where the other has spoilt that.
 *
 * Together: the tensors are allocated once and the inputs written once; each arm has
 * its own code, workspaces, derived buffers and programs. The checks are those of a
 * task (judge_flow.c), one arm after the other in the order of their seats. */
#include "runner/judge_audit.h"
#include "runner/judge_pair.h"

#include "core/clock.h"
#include "runner/hip_abi.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOC_NS      (60 * SECOND_NS)
#define AUDIT_OBJECTS 4 /* of both arms, behind the tensors' first contents */

static const char *const arm_names[WF_PAIR_ARMS] = { "base", "candidate" };

void pair_note(struct pair *p, const char *fmt, ...)
{
    va_list args;
    if (p->note[0]) {
        return; /* the first reason is the one that counts */
    }
    va_start(args, fmt);
    (void)vsnprintf(p->note, sizeof(p->note), fmt, args);
    va_end(args);
}

static size_t label_of(const struct pair *p, const struct pair_arm *arm)
{
    return arm == &p->arm[WF_PAIR_BASE] ? WF_PAIR_BASE : WF_PAIR_CAND;
}

static bool is_open(const struct pair_arm *arm)
{
    return arm->exists && !arm->judged;
}

bool pair_both_pass(const struct pair *p)
{
    for (size_t a = 0; a < WF_PAIR_ARMS; a++) {
        if (!p->arm[a].exists || p->arm[a].result.answer != WF_ANSWER_PASS) {
            return false;
        }
    }
    return true;
}

/* --- how an arm ends --- */

/* A call of one arm may do a part of the other's work (inputs are written for both). */
static void find_acting(struct pair *p)
{
    const size_t other = 1 - p->acting;
    if (!p->seat[p->acting]->j.subject_failed && p->seat[other]->exists &&
        p->seat[other]->j.subject_failed) {
        p->acting = other;
    }
}

/* Code that was refused before it ran has changed nothing. */
static bool is_harmless(const struct pair_arm *arm)
{
    return arm->j.subject && subject_client_state(arm->j.subject) == SUBJECT_ALIVE &&
           (arm->result.answer == WF_ANSWER_NOT_SUPPORTED ||
            arm->result.answer == WF_ANSWER_BUILD_FAILED);
}

/* What writes where it must not, or does other things than it says, may have changed
 * more than is seen. */
static bool has_meddled(enum wf_answer answer)
{
    return answer == WF_ANSWER_OUT_OF_BOUNDS || answer == WF_ANSWER_INPUT_MODIFIED ||
           answer == WF_ANSWER_CHEAT_SUSPECTED;
}

bool pair_lacks_memory(const struct pair *p,
                       enum wf_status st,
                       const struct wf_error *why)
{
    const struct judge *j = &p->seat[p->acting]->j;
    const bool hip = strcmp(why->domain, "hip") == 0;
    return st != WF_OK && j->subject_failed &&
           subject_client_state(j->subject) == SUBJECT_ALIVE &&
           (hip ? why->native == hipErrorOutOfMemory : st == WF_ENOMEM);
}

enum wf_status pair_end_arm(struct pair *p, enum wf_status st, struct wf_error *err)
{
    if (st != WF_OK) {
        find_acting(p);
    }
    struct pair_arm *arm = p->seat[p->acting];
    judge_note_memory(&arm->j);
    enum wf_status end = judge_end(&arm->j, st, err);
    arm->judged = true;
    arm->j.done = true;
    p->round->unusable = p->round->unusable || (st != WF_OK && !is_harmless(arm)) ||
                         has_meddled(arm->result.answer);
    return end == WF_OK ? end : wf_error_prefix(err, "%s", arm_names[label_of(p, arm)]);
}

/* --- beginning --- */

static void make_request(const struct pair *p, size_t a, struct wf_execute_request *ret)
{
    const struct wf_pair_arm *asked = &p->asked->arm[a];
    *ret = p->round->asked->common;
    ret->case_json = p->asked->case_json;
    ret->case_name = p->asked->case_name;
    ret->case_id = p->asked->case_id;
    ret->pack_folder = asked->pack_folder;
    ret->pack_id = asked->pack_id;
    ret->provenance_file = asked->provenance_file;
    ret->kernel = asked->kernel;
}

static void set_deadline(struct pair_arm *arm)
{
    arm->j.deadline_ns = wf_monotonic_ns() + arm->request.deadline_ns;
}

static enum wf_status begin_arm(struct pair *p, size_t seat, struct wf_error *err)
{
    struct pair_arm *arm = p->seat[seat];
    struct judge *j = &arm->j;
    make_request(p, label_of(p, arm), &arm->request);
    enum wf_status st = result_init(&arm->result, &arm->request, err);
    arm->exists = st == WF_OK;
    j->request = &arm->request;
    j->result = &arm->result;
    j->base = (struct judge_base){ .spare = (uint32_t)(2 * seat),
                                   .program = (uint32_t)(seat * JUDGE_PAIR_NUMBERS),
                                   .code = (uint32_t)(seat * JUDGE_PAIR_NUMBERS),
                                   .library = (uint32_t)seat };
    set_deadline(arm);
    arm->m.j = j;
    return st;
}

/* Case, pack and plan. The second arm takes over the case of the first. */
static enum wf_status set_up_arm(struct pair *p, size_t seat, struct wf_error *err)
{
    struct judge *j = &p->seat[seat]->j;
    const struct judge *first = &p->seat[0]->j;
    enum wf_status st = p->round->unusable ? pair_fresh_subject(p->round, err) : WF_OK;
    if (st != WF_OK) {
        return st;
    }
    p->round->used = true;
    p->acting = seat;
    pair_lend_subject(p->round, j);
    if (seat == 1 && p->seat[0]->exists && first->c) {
        j->c = first->c;
        j->datasets = first->datasets;
        j->has_twins_case = true;
    }
    st = judge_setup(j, err);
    if (seat == 1) {
        j->guard_key = p->seat[0]->exists ? first->guard_key : j->guard_key;
    }
    return st != WF_OK || j->done ? pair_end_arm(p, st, err) : WF_OK;
}

/* Objects: tensors, buffers of seat 0, buffers of seat 1. */
static void number_objects(struct pair *p)
{
    struct judge *first = &p->seat[0]->j;
    struct judge *second = &p->seat[1]->j;
    if (!is_open(p->seat[0]) || !is_open(p->seat[1])) {
        return;
    }
    const size_t own = first->plan->buffer_count + 1;
    const size_t stride = first->tensor_count + own + second->plan->buffer_count + 1;
    first->base.stride = second->base.stride = (uint32_t)stride;
    second->base.buffer = (uint32_t)own;
}

enum wf_status pair_begin(struct pair *p, struct wf_error *err)
{
    const struct wf_pair_round *round = &p->round->asked->round;
    enum wf_status st = pair_fresh_subject(p->round, err);
    pair_draw(round->seed_offset, round->round, p->asked->key, &p->draw);
    for (size_t a = 0; a < WF_PAIR_ARMS; a++) {
        p->seat[p->draw.swapped ? 1 - a : a] = &p->arm[a];
    }
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        if (p->asked->arm[label_of(p, p->seat[s])].pack_folder) {
            st = begin_arm(p, s, err);
            st = st == WF_OK ? set_up_arm(p, s, err) : st;
        }
    }
    if (st == WF_OK) {
        number_objects(p);
    }
    return st;
}

void pair_finish(struct pair *p)
{
    for (size_t s = WF_PAIR_ARMS; s-- > 0;) {
        struct pair_arm *arm = p->seat[s];
        if (!arm->j.request) {
            continue;
        }
        arm->j.subject = NULL; /* the round's */
        judge_drop_reference(&arm->j);
        arm->j.twin = NULL;
        p->seat[1 - s]->j.twin = NULL;
        judge_teardown(&arm->j);
        result_fini(&arm->result);
        free(arm->sample);
    }
}

/* --- the checked launches --- */

/* The checked launches of the acting arm; its inputs are there. */
static enum wf_status check_arm(struct pair *p, struct wf_error *err)
{
    struct pair_arm *arm = p->seat[p->acting];
    struct judge *j = &arm->j;
    judge_set_finds(j, 0);
    enum wf_status st = judge_set_reset(j, err);
    if (st == WF_OK) {
        st = judge_check_launches(j, &arm->ran, err);
    }
    if (st == WF_OK && !j->done) {
        st = judge_naive(j, 0, arm->request.seed_offset, err);
    }
    if (st == WF_OK && !j->done && j->request->device->times_modelled) {
        result_time(j->result, WF_TIME_MODELLED, "times of this runtime are a model's");
        st = wf_json_set_f64(j->result->details, "modelled_ns", arm->ran.event_ms * 1e6,
                             err);
    }
    arm->checked = st == WF_OK && !j->done;
    return st;
}

/* --- one by itself --- */

static void forget_device(struct pair *p, struct judge *j)
{
    pair_lend_subject(p->round, j);
    judge_drop_reference(j);
    j->twin = NULL;
    j->has_twins_tensors = false;
    j->code_loaded = false;
    j->kernel_in = false;
    j->inputs_written = false;
    j->subject_failed = false;
    j->sets = 0;
    judge_audit_destroy(j);
}

enum wf_status pair_judge_alone(struct pair *p, size_t seat, struct wf_error *err)
{
    struct pair_arm *arm = p->seat[seat];
    struct judge *j = &arm->j;
    const int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = pair_fresh_subject(p->round, err);
    if (st != WF_OK) {
        return st;
    }
    p->acting = seat;
    p->round->used = true;
    forget_device(p, j);
    set_deadline(arm);
    j->say("stage prepare");
    st = judge_place(j, err);
    if (st == WF_OK) {
        st = judge_write_inputs(j, arm->request.seed_offset, err);
    }
    if (st == WF_OK) {
        st = judge_set_launches(j, err);
    }
    arm->result.phases.prepare += wf_monotonic_ns() - start_ns;
    if (st == WF_OK) {
        st = check_arm(p, err);
    }
    return pair_end_arm(p, st, err);
}

/* --- both together --- */

/* Shifts what is allocated next; where there is no room for it there is none to shift.
 */
static void allocate_pad(struct pair *p, size_t pad)
{
    struct judge *j = &p->seat[p->acting]->j;
    const size_t last = WF_SP_MAX_OBJECTS - 1 - j->tensor_count;
    const struct wf_sp_alloc want = { .object = (uint32_t)(last - AUDIT_OBJECTS - pad),
                                      .bytes = p->draw.pad[pad] };
    if (!j->emulates && want.bytes > 0) {
        (void)judge_call(j, WF_SP_ALLOC, &want, sizeof(want), ALLOC_NS, NULL, NULL);
    }
}

static enum wf_status place_both(struct pair *p, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        struct judge *j = &p->seat[s]->j;
        p->acting = s;
        j->has_twins_tensors = s == 1;
        if (s == 0) {
            allocate_pad(p, 0);
        }
        allocate_pad(p, 1 + s);
        st = judge_place(j, err);
    }
    return st;
}

static enum wf_status prepare_both(struct pair *p, struct wf_error *err)
{
    struct judge *first = &p->seat[0]->j;
    struct judge *second = &p->seat[1]->j;
    const int64_t start_ns = wf_monotonic_ns();
    p->round->say("stage prepare");
    enum wf_status st = place_both(p, err);
    if (st == WF_OK) {
        p->acting = 0;
        first->twin = second;
        second->twin = first;
        st = judge_write_inputs(first, first->request->seed_offset, err);
    }
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        p->acting = s;
        st = judge_set_launches(&p->seat[s]->j, err);
    }
    p->seat[0]->result.phases.prepare += wf_monotonic_ns() - start_ns;
    return st;
}

static void unlink_twins(struct pair *p)
{
    for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
        judge_drop_reference(&p->seat[s]->j);
    }
    p->seat[0]->j.twin = NULL;
    p->seat[1]->j.twin = NULL;
}

/* An arm that is not right may have changed what the other one needs: that one is left
 * open, to be judged by itself. So are both when they do not fit the device together.
 */
static enum wf_status judge_together(struct pair *p, struct wf_error *err)
{
    struct wf_error why = { 0 };
    enum wf_status st = prepare_both(p, &why);
    if (pair_lacks_memory(p, st, &why)) {
        pair_note(p, "no blocks: both arms do not fit the device together: %.200s",
                  why.text);
        unlink_twins(p);
        return WF_OK;
    }
    if (st != WF_OK && err) {
        *err = why;
    }
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        p->acting = s;
        st = check_arm(p, err);
        if (p->seat[s]->j.done) {
            break;
        }
    }
    if (st == WF_OK && p->seat[0]->checked && p->seat[1]->checked) {
        st = pair_measure(p, err);
    }
    if (st != WF_OK || p->seat[p->acting]->j.done) {
        st = pair_end_arm(p, st, err);
    }
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        if (is_open(p->seat[s]) && p->seat[s]->checked) {
            p->acting = s;
            st = pair_end_arm(p, WF_OK, err);
        }
    }
    unlink_twins(p);
    return st;
}

enum wf_status pair_judge(struct pair *p, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (is_open(p->seat[0]) && is_open(p->seat[1])) {
        st = judge_together(p, err);
    }
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        if (is_open(p->seat[s])) {
            st = pair_judge_alone(p, s, err);
        }
    }
    return st;
}
