/* The round: one subject for all its pairs, a new one where a kernel has spoilt it. */
#include "runner/judge_pair.h"

#include "core/clock.h"

#include <stdlib.h>
#include <string.h>

#define CLEAR_NS (60 * SECOND_NS)

/* --- the subject --- */

static void stop_subject(struct pair_round *r)
{
    subject_client_stop(r->root.subject);
    r->root.subject = NULL;
    r->root.device_open = false;
    r->placed = false;
    r->unusable = false;
    r->used = false;
}

static enum wf_status start_subject(struct pair_round *r, struct wf_error *err)
{
    r->root.deadline_ns = wf_monotonic_ns() + r->asked->common.deadline_ns;
    enum wf_status st = judge_open_device(&r->root, err);
    r->subjects += st == WF_OK;
    return st;
}

/* CLEAR ends what libraries prepared, which is their code; when it fails, the next case
 * has a new subject. */
enum wf_status pair_fresh_subject(struct pair_round *r, struct wf_error *err)
{
    const int64_t kernel_ns = r->asked->common.kernel_deadline_ns;
    const int64_t limit_ns = kernel_ns < CLEAR_NS ? kernel_ns : CLEAR_NS;
    r->root.deadline_ns = wf_monotonic_ns() + r->asked->common.deadline_ns;
    if (r->root.subject && r->used && !r->unusable) {
        r->unusable =
            judge_call(&r->root, WF_SP_CLEAR, NULL, 0, limit_ns, NULL, NULL) != WF_OK;
        r->used = false;
    }
    if (r->root.subject && r->unusable) {
        stop_subject(r);
    }
    return r->root.subject ? WF_OK : start_subject(r, err);
}

void pair_lend_subject(struct pair_round *r, struct judge *j)
{
    j->subject = r->root.subject;
    j->device_open = r->root.device_open;
    j->emulates = r->root.emulates;
    j->guard_bytes = r->root.guard_bytes;
    j->telemetry = r->root.telemetry;
    j->subject_program = r->subject_program;
    j->say = r->say;
}

/* --- the round --- */

static enum wf_status run_pair(struct pair_round *r,
                               const struct wf_pair *asked,
                               struct wf_error *err)
{
    struct pair *p = wf_calloc(1, sizeof(*p));
    struct wf_json *record = NULL;
    if (!p) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a pair");
    }
    p->round = r;
    p->asked = asked;
    p->start_ns = wf_monotonic_ns();
    enum wf_status st = pair_begin(p, err);
    if (st == WF_OK) {
        st = pair_has_process(p) ? pair_run_process(p, err) : pair_judge(p, err);
    }
    if (st == WF_OK) {
        st = pair_record(p, &record, err);
    }
    if (st == WF_OK) {
        st = r->send("pair", record, err);
    }
    r->judged += st == WF_OK;
    wf_json_free(record);
    pair_finish(p);
    free(p);
    return st == WF_OK ? st : wf_error_prefix(err, "pair %.200s", asked->key);
}

static enum wf_status begin(struct pair_round *r, struct wf_error *err)
{
    struct judge *root = &r->root;
    r->start_ns = wf_monotonic_ns();
    enum wf_status st = result_init(&r->facts, &r->asked->common, err);
    wf_json_free(r->facts.details); /* what a task's samples were to reach */
    r->facts.details = wf_json_object();
    root->request = &r->asked->common;
    root->result = &r->facts;
    root->subject_program = r->subject_program;
    root->say = r->say;
    r->meter.j = root;
    return st;
}

static void end(struct pair_round *r)
{
    if (r->conditions) {
        meter_end(&r->meter);
    }
    subject_client_stop(r->root.subject);
    r->root.subject = NULL;
    wf_json_free(r->warmup);
    result_fini(&r->facts);
}

enum wf_status judge_pair_round(struct pair_round *r,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    enum wf_status st = begin(r, err);
    for (size_t i = 0; st == WF_OK && i < r->asked->round.pair_count; i++) {
        st = run_pair(r, &r->asked->round.pair[i], err);
    }
    if (st == WF_OK && r->conditions) {
        st = meter_note_conditions(&r->meter, err);
    }
    if (st == WF_OK) {
        st = pair_round_facts(r, ret, err);
    }
    end(r);
    return st;
}
