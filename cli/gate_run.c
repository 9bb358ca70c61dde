#include "cli/gate_run.h"

#include "cli/gate_live.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/printable.h"
#include "gate/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP         0 /* a local gate has one device */
#define MOST_FAILURES 3 /* of the runner, one after another */
#define INPUTS_LIMIT  (UINT64_C(1) << 53)

struct run {
    struct gate_plan *plan;
    struct wf_gate_record *record;
    struct gate_writer *writer;
    const struct wf_json *header;
    char **case_text; /* of pair i */
    struct wf_gate_todo *todo;
    struct wf_pair *pair; /* of the round */
    size_t count, taken;
    int32_t round;
    int failures;
    struct gate_live *live;
};

enum wf_status gate_run_line(struct wf_gate_record *record,
                             struct gate_writer *writer,
                             struct wf_json *line,
                             struct wf_error *err)
{
    enum wf_status status = wf_gate_record_add(record, line, err);
    if (status != WF_OK) {
        return status;
    }
    const size_t last = wf_gate_record_line_count(record) - 1;
    return gate_writer_line(writer, wf_gate_record_line(record, last), err);
}

static const char *gate_id(const struct wf_gate_record *record)
{
    const struct wf_json *v = wf_json_find(wf_gate_record_header(record), "gate");
    return v != NULL ? wf_json_string(v) : "";
}

static enum wf_status begin_line(struct wf_json *line,
                                 const char *kind,
                                 const struct wf_gate_record *record,
                                 struct wf_error *err)
{
    enum wf_status status = wf_json_set_string(line, "kind", kind, err);
    return status == WF_OK ? wf_json_set_string(line, "gate", gate_id(record), err)
                           : status;
}

/* --- lines --- */

static enum wf_status set_words(struct wf_json *line,
                                const char *key,
                                const char *words,
                                struct wf_error *err)
{
    char text[200];
    (void)snprintf(text, sizeof text, "%.190s", words);
    wf_make_printable(text);
    return wf_json_set_string(line, key, text, err);
}

/* How a round ended. Empty texts: it did not end so. */
struct ending {
    int32_t round;
    const char *void_why; /* nothing of it counts */
    const char *cut;      /* somebody ended it early: what came of it counts */
    int64_t took_ns;
};

/* Takes `line`, the runner's facts of the round or an empty object. */
static enum wf_status end_round(struct wf_gate_record *record,
                                struct gate_writer *writer,
                                const struct ending *e,
                                struct wf_json *line,
                                struct wf_error *err)
{
    enum wf_status status = begin_line(line, "round", record, err);
    status = status == WF_OK ? wf_json_set_i64(line, "round", e->round, err) : status;
    status = status == WF_OK ? wf_json_set_i64(line, "group", GROUP, err) : status;
    status = status == WF_OK ? set_words(line, "void", e->void_why, err) : status;
    if (status == WF_OK && e->cut[0] != '\0') {
        status = set_words(line, "cut", e->cut, err);
    }
    status =
        status == WF_OK ? wf_json_set_i64(line, "took_ns", e->took_ns, err) : status;
    if (status != WF_OK) {
        wf_json_free(line);
        return status;
    }
    return gate_run_line(record, writer, line, err);
}

/* What had come counts: whoever ended the round may have seen it, and to leave out
 * what somebody has seen is to choose (docs/gate.md). */
enum wf_status gate_run_cut(struct wf_gate_record *record,
                            struct gate_writer *writer,
                            int32_t round,
                            const char *why,
                            struct wf_error *err)
{
    char off[200] = "";
    (void)wf_gate_record_level_is_off(record, GROUP, off, sizeof off);
    const struct ending e = { .round = round, .void_why = off, .cut = why };
    return end_round(record, writer, &e, wf_json_object(), err);
}

static enum wf_status close_gate(struct run *r,
                                 enum wf_gate_reason reason,
                                 const char *why,
                                 struct wf_error *err)
{
    char text[400];
    struct wf_json *line = NULL;
    (void)snprintf(text, sizeof text, "%.390s", why);
    wf_make_printable(text);
    enum wf_status status =
        wf_gate_record_close(r->record, GROUP, reason, text, &line, err);
    return status == WF_OK ? gate_run_line(r->record, r->writer, line, err) : status;
}

static bool is_cancelled(const struct run *r)
{
    const volatile int *cancel = r->plan->options->cancel;
    return cancel != NULL && *cancel != 0;
}

static enum wf_status add_static(struct run *r, struct wf_error *err)
{
    struct wf_json *line = NULL;
    enum wf_status status = gate_run_static(r->plan, r->record, &line, err);
    return status == WF_OK && line != NULL
               ? gate_run_line(r->record, r->writer, line, err)
               : status;
}

static enum wf_status add_verdict(struct run *r, struct wf_error *err)
{
    struct wf_json *line = NULL;
    enum wf_status status = is_cancelled(r) ? WF_OK : add_static(r, err);
    if (status == WF_OK) {
        status = wf_gate_record_verdict(r->record, &line, err);
    }
    return status == WF_OK ? gate_run_line(r->record, r->writer, line, err) : status;
}

/* --- a round --- */

static enum wf_status take_pair(void *ctx,
                                const struct wf_json *record,
                                struct wf_error *err)
{
    struct run *r = ctx;
    struct wf_json *copy = NULL;
    enum wf_status status = wf_json_copy(record, &copy, err);
    if (status == WF_OK) {
        status = gate_run_line(r->record, r->writer, copy, err);
    }
    if (status == WF_OK) {
        const char *key = "";
        (void)wf_json_opt_string(record, "pair", &key, NULL);
        r->taken++;
        gate_live_pair(r->live, r->round, r->taken, r->count, key);
    }
    return status;
}

static struct wf_pair_arm arm_of(const struct run *r,
                                 const struct wf_gate_pair *p,
                                 int arm)
{
    struct wf_pair_arm ret = { 0 };
    const struct gate_pack *from =
        &r->plan->pack[p->role == WF_GATE_CASE ? arm : WF_GATE_PACK_SENTINEL];
    if (p->kernel[arm] != NULL) {
        ret.pack_folder = wf_pack_folder(from->pack);
        ret.pack_id = wf_pack_id(from->pack);
        ret.provenance_file = from->provenance_file;
        ret.kernel = p->kernel[arm];
    }
    return ret;
}

static void fill_pair(const struct run *r,
                      const struct wf_gate_todo *todo,
                      struct wf_pair *ret)
{
    const struct wf_gate_pair *p = wf_gate_record_pair(r->record, todo->pair);
    memset(ret, 0, sizeof(*ret));
    ret->key = p->key;
    ret->case_json = r->case_text[todo->pair];
    ret->case_name = p->case_name;
    ret->case_id = p->case_id;
    ret->arm[WF_PAIR_BASE] = arm_of(r, p, 0);
    ret->arm[WF_PAIR_CAND] = arm_of(r, p, 1);
    ret->block_count = todo->block_count;
    memcpy(ret->mask, todo->mask, sizeof(ret->mask));
}

static uint64_t inputs_of(const struct run *r)
{
    uint64_t offset = 0;
    const struct wf_json *v = wf_json_find(r->header, "seed_offset");
    if (v != NULL) {
        (void)wf_json_as_u64(v, &offset);
    }
    return (offset +
            wf_gate_draw_inputs(wf_gate_record_seed(r->record), GROUP, r->round)) %
           INPUTS_LIMIT;
}

static void fill_request(struct run *r, struct wf_pair_round *q)
{
    const struct wf_gate_options *o = r->plan->options;
    for (size_t i = 0; i < r->count; i++) {
        fill_pair(r, &r->todo[i], &r->pair[i]);
    }
    *q = (struct wf_pair_round){
        .gate = gate_id(r->record),
        .round = r->round,
        .group = GROUP,
        .pair = r->pair,
        .pair_count = r->count,
        .device = &r->plan->device,
        .dataset_folder = r->plan->datasets,
        .seed_offset = inputs_of(r),
        .deadline_ns = o->deadline_ns,
        .lock_timeout_ns = o->lock_timeout_ns,
        .threads = o->threads,
        .measure = r->plan->measure,
        .cancel = o->cancel,
    };
}

/* What was told of a round that failed; no more rounds when it fails again and again,
 * or when nothing at all came of it. */
static enum wf_status after_failure(struct run *r,
                                    const struct wf_error *why,
                                    bool *ret_go_on,
                                    struct wf_error *err)
{
    const bool hopeless = r->taken == 0 || ++r->failures >= MOST_FAILURES;
    fprintf(stderr, "wavefarm: round %d of the gate failed: %s\n", (int)r->round,
            why->text);
    *ret_go_on = !hopeless;
    return hopeless ? close_gate(r, WF_GATE_REASON_NOT_RUN, why->text, err) : WF_OK;
}

static enum wf_status run_round(struct run *r, bool *ret_go_on, struct wf_error *err)
{
    struct wf_pair_round q;
    struct wf_json *facts = NULL;
    char off[200] = "";
    struct wf_error why = { 0 };
    const int64_t began_ns = wf_monotonic_ns();
    r->taken = 0;
    fill_request(r, &q);
    gate_live_round(r->live, r->round, r->count);
    enum wf_status outcome = wf_pair_round(&q, take_pair, r, &facts, &why);
    if (outcome == WF_OK && r->taken == 0) {
        outcome = wf_errorf(&why, WF_EINTERNAL, "no pair came of the round");
    }
    if (facts == NULL) {
        facts = wf_json_object();
    }
    const bool cut = outcome == WF_ECANCELLED;
    if (outcome != WF_OK && !cut) {
        (void)snprintf(off, sizeof off, "%.190s", why.text);
    } else {
        (void)wf_gate_record_level_is_off(r->record, GROUP, off, sizeof off);
    }
    const struct ending e = { .round = r->round,
                              .void_why = off,
                              .cut = cut ? why.text : "",
                              .took_ns = wf_monotonic_ns() - began_ns };
    enum wf_status status = end_round(r->record, r->writer, &e, facts, err);
    if (status != WF_OK) {
        return status;
    }
    gate_live_decided(r->live, r->record);
    *ret_go_on = true;
    if (outcome == WF_OK || cut) {
        r->failures = 0;
        return WF_OK;
    }
    return after_failure(r, &why, ret_go_on, err);
}

static enum wf_status run_rounds(struct run *r, struct wf_error *err)
{
    bool go_on = true;
    enum wf_status status = WF_OK;
    while (status == WF_OK && go_on && !is_cancelled(r)) {
        status =
            wf_gate_record_next(r->record, GROUP, &r->round, r->todo, &r->count, err);
        if (status != WF_OK || r->count == 0) {
            return status;
        }
        status = run_round(r, &go_on, err);
    }
    return status == WF_OK && go_on
               ? close_gate(r, WF_GATE_REASON_CANCELLED, "interrupted", err)
               : status;
}

/* --- the whole --- */

static enum wf_status prepare(struct run *r, struct wf_error *err)
{
    const size_t n = wf_gate_record_count(r->record);
    const struct wf_json *pairs = wf_json_find(r->header, "pairs");
    size_t i = 0;
    enum wf_status status = WF_OK;
    r->case_text = wf_calloc(n + 1, sizeof(*r->case_text));
    r->todo = wf_calloc(n + 1, sizeof(*r->todo));
    r->pair = wf_calloc(n + 1, sizeof(*r->pair));
    if (r->case_text == NULL || r->todo == NULL || r->pair == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", n);
    }
    for (const struct wf_json *p = wf_json_first(pairs); p != NULL && status == WF_OK;
         p = wf_json_next(p)) {
        status = wf_json_text(wf_json_find(p, "case"), &r->case_text[i++], err);
    }
    return status == WF_OK ? gate_live_create(r->plan->options->live, &r->live, err)
                           : status;
}

static void clean_up(struct run *r)
{
    for (size_t i = 0; r->case_text != NULL && i < wf_gate_record_count(r->record);
         i++) {
        free(r->case_text[i]);
    }
    free(r->case_text);
    free(r->todo);
    free(r->pair);
    gate_live_free(r->live);
}

enum wf_status gate_run(struct gate_plan *plan,
                        struct wf_gate_record *record,
                        struct gate_writer *writer,
                        struct wf_error *err)
{
    struct run r = { .plan = plan,
                     .record = record,
                     .writer = writer,
                     .header = wf_gate_record_header(record) };
    enum wf_status status = prepare(&r, err);
    if (status == WF_OK) {
        status = run_rounds(&r, err);
    }
    if (status == WF_OK) {
        status = add_verdict(&r, err);
    }
    if (status == WF_OK && is_cancelled(&r)) {
        status = wf_errorf(err, WF_ECANCELLED, "interrupted");
    }
    clean_up(&r);
    return status;
}
