/* Compares the output of a run with the reference. Two checks, always both: every
 * element of O and lse is looked at for poison, NaN and infinity (and rows that see no
 * key for O = 0, lse = -inf), and every element of the computed rows is compared with
 * its own tolerance. Outputs are read in panels of about a MiB, in order. */
#include "kernels/attention/attention_ref.h"
#include "kernels/report.h"

#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PANEL_BYTES (1u << 20)

struct totals {
    uint64_t elements;
    double worst_ratio, smallest_caught;
    bool failed;
};

struct checker {
    struct attention_reference *ref;
    const struct attention *a;
    const struct wf_output_source *outputs;
    struct wf_check_report *report;
    int64_t panel_rows;
    unsigned char *raw_o, *raw_lse;
    double *o, *lse; /* the panel as doubles */
    struct totals o_totals, lse_totals, finite;
    bool has_suspect;
    uint64_t first_key; /* of report->first_... */
    struct attention_suspect suspect;
    double *suspect_o;
    struct attention_seen seen;
};

/* One row of the output with all its heads. */
struct row {
    int64_t row; /* of O */
    int64_t at;  /* in the panel */
    bool empty;  /* sees no key */
};

/* Where an element lies, for the report. */
struct place {
    size_t tensor;
    int64_t row, head, d;
};

static void note_worst(struct checker *c, const struct place *p, double ratio)
{
    struct wf_check_report *r = c->report;
    const char *name = c->a->tensor[p->tensor].name;

    if (r->has_worst && !(ratio > r->check[0].worst_ratio)) {
        return;
    }
    r->check[0].worst_ratio = ratio; /* the check's own entry is written at the end */
    r->has_worst = true;
    (void)snprintf(r->worst_tensor, sizeof(r->worst_tensor), "%s", name);
    r->worst_ndim = p->tensor == ATTENTION_LSE ? 2 : 3;
    r->worst_index[0] = p->row;
    r->worst_index[1] = p->head;
    r->worst_index[2] = p->d;
}

static void set_suspect(struct checker *c,
                        const struct place *p,
                        const struct row *at,
                        bool bad)
{
    const struct attention *a = c->a;

    if (c->has_suspect) {
        return;
    }
    c->has_suspect = true;
    c->suspect.row = p->row;
    c->suspect.head = p->head;
    c->suspect.lse_only = p->tensor == ATTENTION_LSE;
    c->suspect.nonfinite = bad;
    c->suspect.got_lse = a->lse ? c->lse[at->at * a->q_heads + p->head] : 0;
    memcpy(c->suspect_o, c->o + (at->at * a->q_heads + p->head) * a->head_dim_v,
           (size_t)a->head_dim_v * sizeof(double));
    c->suspect.got = c->suspect_o;
}

static int64_t slot_of(const struct checker *c, int64_t row, int64_t head)
{
    const struct attention *a = c->a;
    int64_t slot = c->ref->plan.slot_of[row * a->kv_heads + head / a->group];

    return slot < 0 ? -1 : slot * a->group + head % a->group;
}

static void note_seen(struct checker *c, const struct place *p)
{
    struct attention_seen *s = &c->seen;
    const int64_t at[3] = { p->row, p->head, p->d };

    s->row[p->row] |= ATTENTION_ROW_SEEN | ATTENTION_ROW_WRONG;
    for (int i = 0; i < 3 && p->tensor == ATTENTION_O; i++) {
        s->low[i] = !s->any || at[i] < s->low[i] ? at[i] : s->low[i];
        s->high[i] = !s->any || at[i] > s->high[i] ? at[i] : s->high[i];
    }
    s->any = s->any || p->tensor == ATTENTION_O;
}

/* Order of the outputs' bytes, O before lse. */
static void note_first(struct checker *c,
                       const struct place *p,
                       const struct row *in,
                       double got,
                       double want)
{
    const struct attention *a = c->a;
    uint64_t line = (uint64_t)(p->row * a->q_heads + p->head);
    bool lse = p->tensor == ATTENTION_LSE;
    uint64_t o_elements = (uint64_t)(a->total_q * a->q_heads * a->head_dim_v);
    uint64_t at =
        lse ? o_elements + line : line * (uint64_t)a->head_dim_v + (uint64_t)p->d;
    struct wf_element e = { .tensor = a->tensor[p->tensor].name,
                            .ndim = lse ? 2 : 3,
                            .index = { p->row, p->head, p->d },
                            .got = got,
                            .want = want };

    wf_report_first(c->report, &c->first_key, at, &e);
    note_seen(c, p);
    if (!lse && !in->empty && slot_of(c, p->row, p->head) < 0) {
        /* Not compared, but seen to be no number. */
        wf_error_map_checked(&c->report->map, p->row, p->head * a->head_dim_v + p->d,
                             1);
    }
    if (!lse) {
        wf_error_map_wrong(&c->report->map, p->row, p->head * a->head_dim_v + p->d);
    }
}

static void blame(struct checker *c,
                  const struct place *p,
                  const struct row *at,
                  enum wf_answer answer,
                  const double value[2])
{
    struct wf_check_report *r = c->report;

    note_first(c, p, at, value[0], value[1]);

    r->answer = wf_answer_worse(r->answer, answer);
    r->unwritten += answer == WF_ANSWER_UNWRITTEN;
    r->nonfinite += answer == WF_ANSWER_NONFINITE;
    r->mismatches += answer == WF_ANSWER_MISMATCH;
    set_suspect(c, p, at, answer != WF_ANSWER_MISMATCH);
}

/* What the element should hold: NaN where its row was not computed. */
static double expected_value(const struct checker *c,
                             const struct place *p,
                             const struct row *at)
{
    bool lse = p->tensor == ATTENTION_LSE;
    int64_t line = slot_of(c, p->row, p->head);

    if (at->empty) {
        return lse ? -INFINITY : 0;
    }
    if (line < 0) {
        return (double)NAN;
    }
    return lse ? c->ref->lse[line] : c->ref->o[line * c->a->head_dim_v + p->d];
}

/* NaN and infinity by class: a good lse is -inf in an empty row and finite elsewhere.
 */
static bool is_good_class(const struct place *p, const struct row *at, double got)
{
    if (p->tensor == ATTENTION_LSE && at->empty) {
        return isinf(got) && got < 0;
    }
    return isfinite(got);
}

/* Poison, class, and zero in rows without keys. Returns false when the element is bad.
 */
static bool check_class(struct checker *c,
                        const struct place *p,
                        const struct row *at,
                        double got,
                        const void *raw)
{
    enum wf_answer answer = WF_ANSWER_PASS;
    double want;

    c->finite.elements++;
    if (!is_good_class(p, at, got)) {
        bool finite = isfinite(got);

        answer = finite ? WF_ANSWER_MISMATCH : WF_ANSWER_NONFINITE;
        if (wf_is_poison(c->a->tensor[p->tensor].dtype, raw)) {
            answer = WF_ANSWER_UNWRITTEN;
        }
    } else if (at->empty && p->tensor == ATTENTION_O && (got < 0 || got > 0)) {
        answer = WF_ANSWER_MISMATCH;
    }
    if (answer == WF_ANSWER_PASS) {
        return true;
    }
    want = expected_value(c, p, at);
    c->finite.failed = true;
    c->finite.worst_ratio = INFINITY;
    if (!c->report->has_worst || isfinite(c->report->check[0].worst_ratio)) {
        note_worst(c, p, INFINITY);
        c->report->worst_got = got;
        c->report->worst_want = want;
        c->report->worst_tolerance = 0;
    }
    blame(c, p, at, answer, (double[2]){ got, want });
    return false;
}

struct expected {
    double want, tolerance;
};

/* A finite element against its reference. */
static void compare(struct checker *c,
                    struct totals *t,
                    const struct place *p,
                    const struct row *at,
                    double got,
                    struct expected e)
{
    double error = fabs(got - e.want);
    double ratio = error > 0 ? error / e.tolerance : 0;
    struct wf_check_report *r = c->report;

    t->smallest_caught = fmax(t->smallest_caught, e.tolerance);
    r->max_abs_error = fmax(r->max_abs_error, error);
    if (fabs(e.want) > 0) {
        r->max_rel_error = fmax(r->max_rel_error, error / fabs(e.want));
    }
    t->worst_ratio = fmax(t->worst_ratio, ratio);
    if (!r->has_worst || ratio > r->check[0].worst_ratio) {
        note_worst(c, p, ratio);
        r->worst_got = got;
        r->worst_want = e.want;
        r->worst_tolerance = e.tolerance;
    }
    if (!(error <= e.tolerance)) {
        t->failed = true;
        blame(c, p, at, WF_ANSWER_MISMATCH, (double[2]){ got, e.want });
    }
}

/* Other suites' rules, over every element of a case that is computed in full. */
static void count_peers(struct checker *c,
                        const struct place *p,
                        const struct row *at,
                        double got)
{
    struct wf_peer_tally *peers = &c->report->peers;
    double want;

    if (!peers->known) {
        return;
    }
    want = expected_value(c, p, at);
    peers->elements++;
    if (!isfinite(got) || !isfinite(want) ||
        wf_peer_may_object(fabs(got - want), fabs(want))) {
        wf_peer_count(peers, got, want);
    }
}

static void check_o(struct checker *c, const struct row *at, int64_t head)
{
    const struct attention *a = c->a;
    int64_t dv = a->head_dim_v, line = slot_of(c, at->row, head);
    int64_t first = (at->at * a->q_heads + head) * dv;
    size_t width = wf_dtype_bytes(a->o_type);

    if (line >= 0 || at->empty) {
        wf_error_map_checked(&c->report->map, at->row, head * dv, dv);
        c->seen.row[at->row] |= ATTENTION_ROW_SEEN;
    }
    for (int64_t d = 0; d < dv; d++) {
        struct place p = { ATTENTION_O, at->row, head, d };
        double got = c->o[first + d];
        bool good = check_class(c, &p, at, got, c->raw_o + (size_t)(first + d) * width);

        if (line >= 0) {
            c->o_totals.elements++;
        }
        count_peers(c, &p, at, got);
        if (good && line >= 0) {
            struct expected e = { c->ref->o[line * dv + d],
                                  (double)c->ref->o_tolerance[line * dv + d] };

            compare(c, &c->o_totals, &p, at, got, e);
        } else if (line >= 0) {
            c->o_totals.failed = true;
            c->o_totals.worst_ratio = INFINITY;
        }
    }
}

static void check_lse(struct checker *c, const struct row *at, int64_t head)
{
    const struct attention *a = c->a;
    int64_t line = slot_of(c, at->row, head), i = at->at * a->q_heads + head;
    struct place p = { ATTENTION_LSE, at->row, head, 0 };
    bool good =
        check_class(c, &p, at, c->lse[i], c->raw_lse + (size_t)i * sizeof(float));

    count_peers(c, &p, at, c->lse[i]);
    if (line < 0) {
        return;
    }
    c->lse_totals.elements++;
    if (good && !at->empty) {
        struct expected e = { c->ref->lse[line], (double)c->ref->lse_tolerance[line] };

        compare(c, &c->lse_totals, &p, at, c->lse[i], e);
    } else if (!good) {
        c->lse_totals.failed = true;
        c->lse_totals.worst_ratio = INFINITY;
    }
}

/* Rows of O, dense in the panel however they lie in storage. */
static enum wf_status read_o(struct checker *c,
                             int64_t row,
                             int64_t rows,
                             struct wf_error *err)
{
    const struct attention *a = c->a;
    const struct attention_place *p = &a->place[ATTENTION_PLACE_O];
    size_t width = wf_dtype_bytes(a->o_type);
    bool heads_dense = p->head == a->head_dim_v || a->q_heads == 1;
    bool all_dense = heads_dense && p->token == a->q_heads * a->head_dim_v;
    int64_t per_read = !heads_dense ? 1 : all_dense ? a->q_heads * rows : a->q_heads;
    enum wf_status st = WF_OK;

    for (int64_t i = 0; st == WF_OK && i < rows * a->q_heads; i += per_read) {
        int64_t at = attention_row_at(a, ATTENTION_PLACE_O, row + i / a->q_heads,
                                      i % a->q_heads);

        st = c->outputs->read(c->outputs->ctx, ATTENTION_O, (uint64_t)at * width,
                              (uint64_t)(per_read * a->head_dim_v) * width,
                              c->raw_o + (size_t)(i * a->head_dim_v) * width, err);
    }
    return st;
}

static enum wf_status read_panel(struct checker *c,
                                 int64_t row,
                                 int64_t rows,
                                 struct wf_error *err)
{
    const struct attention *a = c->a;
    uint64_t heads = (uint64_t)(rows * a->q_heads),
             before = (uint64_t)(row * a->q_heads);
    uint64_t dv = (uint64_t)a->head_dim_v;
    enum wf_status st;

    st = read_o(c, row, rows, err);
    if (st == WF_OK && a->lse) {
        st = c->outputs->read(c->outputs->ctx, ATTENTION_LSE, before * sizeof(float),
                              heads * sizeof(float), c->raw_lse, err);
    }
    if (st != WF_OK) {
        return st;
    }
    wf_to_f64(a->o_type, c->raw_o, c->o, (size_t)(heads * dv));
    if (a->lse) {
        wf_to_f64(WF_F32, c->raw_lse, c->lse, (size_t)heads);
    }
    return WF_OK;
}

static enum wf_status check_all(struct checker *c, struct wf_error *err)
{
    const struct attention *a = c->a;
    int64_t b = 0, loaded = 0;

    for (int64_t row = 0; row < a->total_q; row++) {
        struct row at = { row, row % c->panel_rows, false };
        struct attention_span span;

        if (row == loaded) {
            int64_t left = a->total_q - row;
            int64_t n = left < c->panel_rows ? left : c->panel_rows;
            enum wf_status st = read_panel(c, row, n, err);

            if (st != WF_OK) {
                return st;
            }
            loaded += n;
        }
        while (row >= a->q_start[b + 1]) {
            b++;
        }
        span = attention_visible(a, a->q_len[b], a->kv_len[b], row - a->q_start[b]);
        at.empty = span.lo >= span.hi;
        for (int64_t head = 0; head < a->q_heads; head++) {
            check_o(c, &at, head);
            if (a->lse) {
                check_lse(c, &at, head);
            }
        }
    }
    return WF_OK;
}

/* --- the report --- */

static void describe_sample(const struct checker *c, char *text, size_t n)
{
    const struct attention_plan *plan = &c->ref->plan;
    double rows = (double)c->a->total_q * (double)c->a->kv_heads;

    if (!plan->sampled) {
        (void)snprintf(
            text, n,
            "every element compared (%.3g multiply-adds, at most %.3g); misses "
            "only errors below tolerance",
            plan->all_macs, plan->budget);
        return;
    }
    (void)snprintf(
        text, n,
        "%lld of %.0f (row, kv head) pairs: an error in one row escapes with "
        "probability %.3f, in a share f with (1-f)^%zu; all: %.2g MACs of %.2g",
        (long long)plan->slot_count, rows, 1 - (double)plan->slot_count / rows,
        plan->unit_count, plan->all_macs, plan->budget);
}

static void add_check(struct checker *c,
                      const char *name,
                      const struct totals *t,
                      const char *note)
{
    struct wf_check *k = &c->report->check[c->report->check_count++];

    *k = (struct wf_check){ .passed = !t->failed,
                            .elements = t->elements,
                            .worst_ratio = t->worst_ratio,
                            .smallest_caught = t->smallest_caught,
                            .seed = c->ref->plan.sampled ? c->ref->plan.seed : 0 };
    (void)snprintf(k->name, sizeof(k->name), "%s", name);
    (void)snprintf(k->note, sizeof(k->note), "%s", note);
}

static void write_checks(struct checker *c)
{
    bool sampled = c->ref->plan.sampled;
    char note[160];

    describe_sample(c, note, sizeof(note));
    add_check(c, sampled ? "sampled-rows" : "full-double", &c->o_totals, note);
    if (c->a->lse) {
        add_check(c, sampled ? "sampled-rows-lse" : "full-double-lse", &c->lse_totals,
                  note);
    }
    c->finite.smallest_caught = INFINITY;
    add_check(c, "finite-all", &c->finite,
              "every element: written, right class, rows without keys 0 and -inf; says "
              "nothing about finite values");
    c->report->check[c->report->check_count - 1].seed = 0;
}

static enum wf_status checker_init(struct checker *c, struct wf_error *err)
{
    const struct attention *a = c->a;
    int64_t row_bytes = a->q_heads * a->head_dim_v * (int64_t)wf_dtype_bytes(a->o_type);
    size_t heads;

    c->panel_rows =
        row_bytes < (int64_t)PANEL_BYTES ? (int64_t)PANEL_BYTES / row_bytes : 1;
    c->panel_rows = c->panel_rows < a->total_q ? c->panel_rows : a->total_q;
    heads = (size_t)(c->panel_rows * a->q_heads);
    c->raw_o = wf_calloc(heads, (size_t)a->head_dim_v * wf_dtype_bytes(a->o_type));
    c->o = wf_calloc(heads, (size_t)a->head_dim_v * sizeof(double));
    c->raw_lse = wf_calloc(heads, sizeof(float));
    c->lse = wf_calloc(heads, sizeof(double));
    c->suspect_o = wf_calloc((size_t)a->head_dim_v, sizeof(double));
    c->seen.row = wf_calloc((size_t)a->total_q + 1, 1);
    if (!c->raw_o || !c->o || !c->raw_lse || !c->lse || !c->suspect_o || !c->seen.row) {
        return wf_errorf(err, WF_ENOMEM,
                         "out of memory for the check of an attention output");
    }
    return WF_OK;
}

enum wf_status attention_reference_check(struct attention_reference *ref,
                                         const struct wf_output_source *outputs,
                                         struct wf_check_report *ret,
                                         struct wf_error *err)
{
    struct wf_check_report report = { .answer = WF_ANSWER_PASS };
    struct checker c = {
        .ref = ref, .a = ref->a, .outputs = outputs, .report = &report
    };
    enum wf_status st = checker_init(&c, err);

    if (st != WF_OK) {
        goto out;
    }
    wf_error_map_init(&report.map, ref->a->tensor[ATTENTION_O].name, ref->a->total_q,
                      ref->a->q_heads * ref->a->head_dim_v);
    report.peers.known = !ref->plan.sampled;
    attention_tolerance_text(&ref->tolerance, ref->a, &report);
    st = check_all(&c, err);
    if (st != WF_OK) {
        goto out;
    }
    write_checks(&c);
    if (c.has_suspect) {
        c.suspect.seen = c.seen;
        st = attention_diagnose(ref, &c.suspect, report.diagnosis,
                                sizeof(report.diagnosis), err);
    }
    if (report.answer == WF_ANSWER_PASS) {
        memset(&report.map, 0, sizeof(report.map)); /* only of something wrong */
    }
    if (st == WF_OK) {
        *ret = report;
    }
out:
    free(c.raw_o);
    free(c.raw_lse);
    free(c.o);
    free(c.lse);
    free(c.suspect_o);
    free(c.seen.row);
    return st;
}
