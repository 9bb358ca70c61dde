/* A report as JSON: docs/schemas/gate-report.schema.json. */
#include "gate/report_internal.h"

#include <math.h>

/* Building stops at the first error; every step may be called after one. */
struct builder {
    enum wf_status status;
    struct wf_error *err;
};

static void put_text(struct builder *b,
                     struct wf_json *o,
                     const char *key,
                     const char *v)
{
    if (b->status == WF_OK) {
        b->status = wf_json_set_string(o, key, v, b->err);
    }
}

static void put_count(struct builder *b, struct wf_json *o, const char *key, uint64_t v)
{
    if (b->status == WF_OK) {
        b->status = wf_json_set_u64(o, key, v, b->err);
    }
}

/* What is not finite is null: the schema says what that means. */
static void put_number(struct builder *b, struct wf_json *o, const char *key, double v)
{
    if (b->status == WF_OK) {
        b->status = isfinite(v) ? wf_json_set_f64(o, key, v, b->err)
                                : wf_json_set_null(o, key, b->err);
    }
}

static void put_flag(struct builder *b, struct wf_json *o, const char *key, bool v)
{
    if (b->status == WF_OK) {
        b->status = wf_json_set_bool(o, key, v, b->err);
    }
}

static void put_take(struct builder *b,
                     struct wf_json *o,
                     const char *key,
                     struct wf_json *v)
{
    if (b->status == WF_OK) {
        b->status = wf_json_set_take(o, key, v, b->err);
    } else {
        wf_json_free(v);
    }
}

static void put_copy(struct builder *b,
                     struct wf_json *o,
                     const char *key,
                     const struct wf_json *v)
{
    if (b->status == WF_OK) {
        b->status = v != NULL ? wf_json_set_copy(o, key, v, b->err)
                              : wf_json_set_null(o, key, b->err);
    }
}

static struct wf_json *margins_json(struct builder *b,
                                    const struct wf_gate_report *r,
                                    const struct wf_gate_row *row)
{
    const struct wf_gate_margins *m = &row->figures.margins;
    struct wf_json *v = wf_json_object();
    put_number(b, v, "d0", m->d0);
    put_number(b, v, "d1", m->d1);
    put_number(b, v, "s0", m->s0);
    put_number(b, v, "tau", m->tau);
    put_text(b, v, "source", wf_gate_margin_source(r, row->pair));
    return v;
}

static void put_figures(struct builder *b,
                        struct wf_json *v,
                        const struct wf_gate_row *row)
{
    const struct wf_gate_figures *f = &row->figures;
    put_count(b, v, "blocks", (uint64_t)f->blocks);
    put_count(b, v, "lost", (uint64_t)f->lost);
    put_count(b, v, "rounds", (uint64_t)f->rounds);
    put_number(b, v, "effect", f->effect);
    put_number(b, v, "low", f->low);
    put_number(b, v, "high", f->high);
    put_number(b, v, "slot_noise", f->slot_noise);
    put_number(b, v, "spread", f->spread);
    put_number(b, v, "log_w_slower", f->log_w_slower);
    put_number(b, v, "log_w_faster", f->log_w_faster);
    put_number(b, v, "log_w_pass", f->log_w_pass);
}

static const char *answer_or_null(const struct wf_json *record, const char *arm)
{
    const char *s = wf_gate_answer(record, arm);
    return s[0] != '\0' ? s : NULL;
}

static struct wf_json *row_json(struct builder *b,
                                const struct wf_gate_report *r,
                                const struct wf_gate_row *row)
{
    const struct wf_gate_pair *p = row->about;
    struct wf_json *v = wf_json_object();
    put_text(b, v, "pair", p->key);
    put_text(b, v, "case", p->case_name);
    put_text(b, v, "case_id", p->case_id);
    put_text(b, v, "op", p->op);
    put_text(b, v, "base_kernel", p->kernel[0]);
    put_text(b, v, "candidate_kernel", p->kernel[1]);
    put_text(b, v, "finding", wf_gate_finding_name(row->finding));
    put_flag(b, v, "red", row->red);
    put_text(b, v, "verdict", wf_gate_verdict_name(row->figures.verdict));
    put_text(b, v, "reason", wf_gate_reason_name(row->figures.reason));
    put_text(b, v, "why", row->words);
    put_text(b, v, "base_answer", answer_or_null(row->telling, "base"));
    put_text(b, v, "candidate_answer", answer_or_null(row->telling, "candidate"));
    put_figures(b, v, row);
    put_take(b, v, "margins", margins_json(b, r, row));
    put_flag(b, v, "waived", row->waived == WF_GATE_WAIVED);
    put_count(b, v, "launches", row->launches);
    put_number(b, v, "took_s", (double)row->took_ns / 1e9);
    return v;
}

static struct wf_json *rows_json(struct builder *b, const struct wf_gate_report *r)
{
    struct wf_json *list = wf_json_array();
    for (size_t i = 0; i < r->row_count && b->status == WF_OK; i++) {
        struct wf_json *row = row_json(b, r, &r->row[i]);
        if (b->status == WF_OK) {
            b->status = wf_json_push_take(list, row, b->err);
        } else {
            wf_json_free(row);
        }
    }
    return list;
}

static struct wf_json *counts_json(struct builder *b, const struct wf_gate_report *r)
{
    struct wf_json *v = wf_json_object();
    for (int i = 0; i < WF_GATE_FINDING_COUNT; i++) {
        put_count(b, v, wf_gate_finding_name((enum wf_gate_finding)i), r->count[i]);
    }
    put_count(b, v, "red", r->red);
    put_count(b, v, "static_red", r->static_red);
    put_count(b, v, "waived", r->waived);
    put_count(b, v, "compared", r->compared);
    return v;
}

static struct wf_json *devices_json(struct builder *b, const struct wf_gate_report *r)
{
    struct wf_json *list = wf_json_array();
    for (size_t i = 0; i < r->device_count && b->status == WF_OK; i++) {
        const struct wf_gate_device_view *d = &r->device[i];
        struct wf_json *v = wf_json_object();
        put_count(b, v, "group", (uint64_t)d->group);
        put_flag(b, v, "sentinels", d->has_sentinels);
        put_flag(b, v, "good", d->good);
        put_text(b, v, "why", d->why);
        put_copy(b, v, "device", d->facts);
        if (b->status == WF_OK) {
            b->status = wf_json_push_take(list, v, b->err);
        } else {
            wf_json_free(v);
        }
    }
    return list;
}

static struct wf_json *notes_json(struct builder *b, const struct wf_gate_report *r)
{
    struct wf_json *list = wf_json_array();
    for (size_t i = 0; i < r->note_count && b->status == WF_OK; i++) {
        b->status = wf_json_push_string(list, r->note[i], b->err);
    }
    return list;
}

static void put_head(struct builder *b,
                     struct wf_json *v,
                     const struct wf_gate_report *r)
{
    put_text(b, v, "schema", "wavefarm.gate-report/1");
    put_text(b, v, "gate", report_text(r->header, "gate"));
    put_text(b, v, "created", report_text(r->header, "created"));
    put_text(b, v, "name", report_text(r->header, "name"));
    put_text(b, v, "suite", report_text(r->header, "suite"));
    put_text(b, v, "runtime", report_text(r->header, "runtime"));
    put_flag(b, v, "measured", r->measured);
    put_flag(b, v, "modelled", r->modelled);
    put_text(b, v, "outcome", wf_gate_outcome_name(r->outcome));
    put_text(b, v, "headline", r->headline);
    put_flag(b, v, "strict", r->strict);
    put_text(b, v, "baseline", r->baseline);
    put_text(b, v, "guarantee", r->guarantee);
}

enum wf_status wf_gate_report_json(const struct wf_gate_report *r,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct builder b = { WF_OK, err };
    struct wf_json *v = wf_json_object();
    put_head(&b, v, r);
    put_take(&b, v, "counts", counts_json(&b, r));
    put_take(&b, v, "pairs", rows_json(&b, r));
    put_take(&b, v, "devices", devices_json(&b, r));
    put_copy(&b, v, "packs", wf_json_find(r->header, "packs"));
    put_copy(&b, v, "rule", wf_json_find(r->header, "rule"));
    put_copy(&b, v, "static", r->statics);
    put_count(&b, v, "static_compared", r->static_compared);
    put_take(&b, v, "notes", notes_json(&b, r));
    put_count(&b, v, "rounds", r->rounds);
    put_count(&b, v, "void_rounds", r->void_rounds);
    put_count(&b, v, "cut_rounds", r->cut_rounds);
    put_count(&b, v, "bursts", r->bursts);
    put_count(&b, v, "launches", r->launches);
    put_number(&b, v, "took_s", (double)r->took_ns / 1e9);
    if (b.status != WF_OK) {
        wf_json_free(v);
        return b.status;
    }
    *ret = v;
    return WF_OK;
}
