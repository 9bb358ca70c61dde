/* The records that leave the judge (docs/schemas/block.schema.json). */
#include "runner/judge_pair.h"

#include "core/clock.h"

#include <math.h>
#include <string.h>

/* Runs `call` unless something failed before. */
#define STEP(call)         \
    do {                   \
        if (st == WF_OK) { \
            st = (call);   \
        }                  \
    } while (0)

static enum wf_status push_null(struct wf_json *list, struct wf_error *err)
{
    struct wf_json *null = NULL;
    enum wf_status st = wf_json_parse("null", 4, "null", &null, err);
    return st == WF_OK ? wf_json_push_take(list, null, err) : st;
}

/* null: not known, or no number. */
static enum wf_status push_number(struct wf_json *list, double v, struct wf_error *err)
{
    return isfinite(v) ? wf_json_push_f64(list, v, err) : push_null(list, err);
}

/* --- answers --- */

static bool has_full_result(const struct pair_arm *arm)
{
    return arm->result.answer != WF_ANSWER_PASS || arm->request.device->times_modelled;
}

static enum wf_status set_arm(const struct pair_arm *arm,
                              struct wf_json *record,
                              const char *name,
                              struct wf_error *err)
{
    struct wf_json *result = NULL;
    if (!arm->exists) {
        return wf_json_set_null(record, name, err);
    }
    struct wf_json *obj = wf_json_object();
    enum wf_status st =
        wf_json_set_string(obj, "answer", wf_answer_name(arm->result.answer), err);
    STEP(wf_json_set_string(obj, "answer_text", arm->result.answer_text, err));
    if (has_full_result(arm)) {
        STEP(result_to_json(&arm->result, &result, err));
        STEP(wf_json_set_take(obj, "result", result, err));
    }
    enum wf_status took = wf_json_set_take(record, name, obj, err);
    STEP(took);
    return st;
}

/* --- blocks --- */

static enum wf_status set_figures(const struct pair_block *b,
                                  struct wf_json *obj,
                                  const char *key,
                                  size_t offset,
                                  struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (int i = 0; i < PAIR_SLOTS; i++) {
        double v = 0;
        memcpy(&v, (const char *)&b->slot[i] + offset, sizeof(v));
        STEP(push_number(list, v, err));
    }
    enum wf_status took = wf_json_set_take(obj, key, list, err);
    STEP(took);
    return st;
}

static enum wf_status set_times(const struct pair_block *b,
                                struct wf_json *obj,
                                struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (int i = 0; i < PAIR_SLOTS; i++) {
        struct wf_json *slot = wf_json_array();
        for (int k = 0; k < WF_PAIR_TIMED; k++) {
            STEP(push_number(slot, b->slot[i].t_ns[k], err));
        }
        enum wf_status took = wf_json_push_take(list, slot, err);
        STEP(took);
    }
    enum wf_status took = wf_json_set_take(obj, "t_ns", list, err);
    STEP(took);
    return st;
}

static enum wf_status push_block(const struct pair_block *b,
                                 struct wf_json *list,
                                 struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_i64(obj, "mask", b->mask, err);
    STEP(set_figures(b, obj, "y", offsetof(struct pair_slot, y), err));
    STEP(set_times(b, obj, err));
    STEP(set_figures(b, obj, "clock_mhz", offsetof(struct pair_slot, clock_mhz), err));
    STEP(set_figures(b, obj, "power_w", offsetof(struct pair_slot, power_w), err));
    STEP(set_figures(b, obj, "temperature_c", offsetof(struct pair_slot, temperature_c),
                     err));
    STEP(wf_json_set_string(obj, "rejected", b->rejected, err));
    enum wf_status took = wf_json_push_take(list, obj, err);
    STEP(took);
    return st;
}

/* Blocks of a pair one of whose answers is not right say nothing. */
static enum wf_status set_blocks(const struct pair *p,
                                 struct wf_json *record,
                                 struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (int i = 0; pair_both_pass(p) && i < p->block_count; i++) {
        STEP(push_block(&p->block[i], list, err));
    }
    enum wf_status took = wf_json_set_take(record, "blocks", list, err);
    STEP(took);
    return st;
}

static enum wf_status set_phases(const struct pair *p,
                                 struct wf_json *record,
                                 struct wf_error *err)
{
    struct result_phases sum = { 0 };
    for (size_t a = 0; a < WF_PAIR_ARMS; a++) {
        const struct result_phases *one = &p->arm[a].result.phases;
        sum.prepare += one->prepare;
        sum.reference += one->reference;
        sum.judge += one->judge;
    }
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_i64(obj, "prepare", sum.prepare, err);
    STEP(wf_json_set_i64(obj, "reference", sum.reference, err));
    STEP(wf_json_set_i64(obj, "judge", sum.judge, err));
    STEP(wf_json_set_i64(obj, "measure", p->measure_ns, err));
    STEP(wf_json_set_i64(obj, "total", wf_monotonic_ns() - p->start_ns, err));
    enum wf_status took = wf_json_set_take(record, "phases", obj, err);
    STEP(took);
    return st;
}

static const char *note_of(const struct pair *p)
{
    const bool missing = p->asked->block_count > 0 && !p->note[0];
    if (missing && (!p->arm[0].exists || !p->arm[1].exists)) {
        return "no blocks: there is one arm only";
    }
    return missing && !pair_both_pass(p) ? "no blocks: an answer is not PASS" : p->note;
}

static enum wf_status set_names(const struct wf_pair_round *round,
                                const char *kind,
                                struct wf_json *obj,
                                struct wf_error *err)
{
    enum wf_status st = wf_json_set_string(obj, "kind", kind, err);
    STEP(wf_json_set_string(obj, "gate", round->gate, err));
    STEP(wf_json_set_i64(obj, "round", round->round, err));
    STEP(wf_json_set_i64(obj, "group", round->group, err));
    return st;
}

enum wf_status pair_record(const struct pair *p,
                           struct wf_json **ret,
                           struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = set_names(&p->round->asked->round, "pair", obj, err);
    STEP(wf_json_set_string(obj, "pair", p->asked->key, err));
    STEP(wf_json_set_u64(obj, "launches",
                         p->block_count && pair_both_pass(p) ? p->launches : 0, err));
    STEP(set_arm(&p->arm[WF_PAIR_BASE], obj, "base", err));
    STEP(set_arm(&p->arm[WF_PAIR_CAND], obj, "candidate", err));
    STEP(set_blocks(p, obj, err));
    STEP(wf_json_set_string(obj, "note", note_of(p), err));
    STEP(set_phases(p, obj, err));
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

/* --- the round --- */

static enum wf_status set_environment(struct pair_round *r,
                                      struct wf_json *obj,
                                      struct wf_error *err)
{
    struct wf_json *child = NULL;
    enum wf_status st = wf_device_to_json(r->root.request->device, &child, err);
    STEP(wf_json_set_take(obj, "device", child, err));
    child = NULL;
    STEP(result_environment_to_json(r->root.request->device, r->facts.placement, &child,
                                    err));
    STEP(wf_json_set_take(obj, "environment", child, err));
    return st;
}

static enum wf_status set_details(struct pair_round *r,
                                  struct wf_json *obj,
                                  struct wf_error *err)
{
    struct wf_json *details = r->facts.details;
    struct wf_json *warmup = r->warmup;
    struct wf_json *proof = NULL;
    const char *probe = r->root.request->cold_probe;
    enum wf_status st = WF_OK;
    r->warmup = NULL;
    if (warmup) {
        st = wf_json_set_take(details, "warmup", warmup, err);
    }
    if (r->root.request->measure.cold && probe && probe[0]) {
        STEP(wf_json_parse(probe, strlen(probe), "cold probe", &proof, err));
        STEP(wf_json_set_take(details, "cold_probe", proof, err));
    }
    STEP(wf_json_set_u64(details, "subjects", r->subjects, err));
    STEP(wf_json_set_u64(details, "judged", r->judged, err));
    STEP(wf_json_set_u64(details, "measured", r->measured, err));
    STEP(wf_json_set_string(details, "temperature",
                            r->root.request->measure.cold ? "cold" : "hot", err));
    STEP(wf_json_set_u64(details, "seed_offset", r->root.request->seed_offset, err));
    STEP(wf_json_set_copy(obj, "details", details, err));
    return st;
}

/* Memory errors while the blocks were taken make all of them worthless. */
static const char *void_text(const struct pair_round *r)
{
    return r->facts.time == WF_TIME_IMPLAUSIBLE ? r->facts.time_text : "";
}

enum wf_status pair_round_facts(struct pair_round *r,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = set_names(&r->asked->round, "round", obj, err);
    STEP(set_environment(r, obj, err));
    STEP(wf_json_set_string(obj, "void", void_text(r), err));
    STEP(wf_json_set_i64(obj, "took_ns", wf_monotonic_ns() - r->start_ns, err));
    STEP(set_details(r, obj, err));
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}
