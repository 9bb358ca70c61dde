#include "cli/compare_view.h"

#include "cli/output.h"
#include "cli/result_view.h"
#include "cli/table.h"
#include "core/printable.h"
#include "gate/unpaired.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What nobody may read out of these figures. */
static const char *const limits[] = {
    "A and B were not measured in turns: other time, other process, other clock state.",
    ("A drift between the two runs looks like a change of the code, and the other way "
     "round; no error rate belongs to these ratios."),
    "'wavefarm gate --base PACK --cand PACK' measures both in turns, with one.",
};
#define LIMIT_COUNT (sizeof(limits) / sizeof(limits[0]))

bool wf_compare_is_beyond(const struct wf_compare *c, const struct wf_unpaired_row *r)
{
    return r->status == WF_UNPAIRED_SLOWER && r->low > 1 + c->threshold / 100;
}

/* Rows that are listed only with --all. */
static bool is_quiet(enum wf_unpaired_status s)
{
    return s == WF_UNPAIRED_ANSWER_ONLY || s == WF_UNPAIRED_NEITHER;
}

struct cells {
    char a[32], b[32], ratio[32], range[48];
};

static void fill_cells(const struct wf_unpaired_row *r, struct cells *c)
{
    *c = (struct cells){ "-", "-", "-", "-" };
    wf_format_time_ns(r->a.count > 0 ? r->a.median : NAN, c->a, sizeof(c->a));
    wf_format_time_ns(r->b.count > 0 ? r->b.median : NAN, c->b, sizeof(c->b));
    if (isfinite(r->ratio)) {
        snprintf(c->ratio, sizeof(c->ratio), "%+.2f %%", 100 * (r->ratio - 1));
    }
    if (isfinite(r->low) && isfinite(r->high)) {
        snprintf(c->range, sizeof(c->range), "%+.2f .. %+.2f %%", 100 * (r->low - 1),
                 100 * (r->high - 1));
    }
}

/* "PASS", or "PASS -> MISMATCH". */
static void fill_answer(const struct wf_unpaired_row *r, char *ret, size_t n)
{
    const char *a = r->a.count > 0 ? wf_answer_name(r->a.answer) : "-";
    const char *b = r->b.count > 0 ? wf_answer_name(r->b.answer) : "-";
    if (strcmp(a, b) == 0) {
        snprintf(ret, n, "%s", a);
    } else {
        snprintf(ret, n, "%s -> %s", a, b);
    }
}

static size_t listed(const struct wf_compare *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->result->count; i++) {
        n += c->all || !is_quiet(c->result->row[i].status);
    }
    return n;
}

static void print_table(const struct wf_compare *c)
{
    static const char *const header[] = { "verdict",   "case",   "kernel",
                                          "device",    "answer", ">median A",
                                          ">median B", ">B / A", ">between" };
    struct wf_table *t = wf_table_create(header, sizeof(header) / sizeof(header[0]));
    if (t == NULL) {
        fprintf(stderr, "wavefarm: no memory for the table\n");
        return;
    }
    for (size_t i = 0; i < c->result->count; i++) {
        const struct wf_unpaired_row *r = &c->result->row[i];
        struct cells cells;
        char answer[64];
        if (!c->all && is_quiet(r->status)) {
            continue;
        }
        fill_cells(r, &cells);
        fill_answer(r, answer, sizeof(answer));
        const char *cell[] = { wf_unpaired_status_name(r->status),
                               wf_unpaired_case(r),
                               wf_unpaired_kernel(r),
                               wf_unpaired_model(r),
                               answer,
                               cells.a,
                               cells.b,
                               cells.ratio,
                               cells.range };
        wf_table_row(t, cell);
    }
    if (!wf_table_print(t)) {
        fprintf(stderr, "wavefarm: no memory for the whole table\n");
    }
    wf_table_free(t);
}

static void print_notes(const struct wf_compare *c)
{
    for (size_t i = 0; i < c->result->count; i++) {
        const struct wf_unpaired_row *r = &c->result->row[i];
        const struct wf_json *n = wf_json_first(r->note);
        if (n == NULL || (!c->all && is_quiet(r->status))) {
            continue;
        }
        wf_say("%s / %s (%s):", wf_unpaired_case(r), wf_unpaired_kernel(r),
               wf_unpaired_status_name(r->status));
        for (; n != NULL; n = wf_json_next(n)) {
            wf_say("    %s", wf_json_string(n));
        }
    }
}

/* "1 wrong-now, 3 slower, 2 missing". */
static void print_counts(const struct wf_compare *c, const char *end)
{
    const char *separator = "";
    printf("%zu tasks%s", c->result->count, c->result->count > 0 ? ": " : "");
    for (int s = 0; s < WF_UNPAIRED_STATUS_COUNT; s++) {
        if (c->result->of_status[s] > 0) {
            printf("%s%zu %s", separator, c->result->of_status[s],
                   wf_unpaired_status_name((enum wf_unpaired_status)s));
            separator = ", ";
        }
    }
    printf("%s\n", end);
}

static void print_incomplete(const struct wf_compare *c)
{
    for (int side = 0; side < 2; side++) {
        if (c->count[side] < c->expected[side]) {
            wf_say("%s (%.300s) is incomplete: %zu of %zu results",
                   side == 0 ? "A" : "B", side == 0 ? c->a : c->b, c->count[side],
                   c->expected[side]);
        }
    }
}

void wf_print_compare_text(const struct wf_compare *c)
{
    wf_say("A: %.300s (%zu results)", c->a, c->count[0]);
    wf_say("B: %.300s (%zu results)", c->b, c->count[1]);
    if (listed(c) > 0) {
        print_table(c);
    }
    print_notes(c);
    print_counts(c, "");
    print_incomplete(c);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        printf("%s\n", limits[i]);
    }
}

/* A cell of a Markdown table. */
static void print_cell(const char *text)
{
    char plain[256];
    snprintf(plain, sizeof(plain), "%s", text);
    wf_make_printable(plain);
    printf(" ");
    for (const char *p = plain; *p != '\0'; p++) {
        printf("%s%c", strchr("|\\`*_<>[]", *p) != NULL ? "\\" : "", *p);
    }
    printf(" |");
}

void wf_print_compare_markdown(const struct wf_compare *c)
{
    printf("### Comparison of two runs\n\n");
    print_counts(c, ".");
    printf(
        "\n| verdict | case | kernel | answer | median A | median B | B / A | between "
        "| notes |\n|---|---|---|---|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < c->result->count; i++) {
        const struct wf_unpaired_row *r = &c->result->row[i];
        struct cells cells;
        char answer[64];
        if (!c->all && is_quiet(r->status)) {
            continue;
        }
        fill_cells(r, &cells);
        fill_answer(r, answer, sizeof(answer));
        const char *cell[] = { wf_unpaired_status_name(r->status),
                               wf_unpaired_case(r),
                               wf_unpaired_kernel(r),
                               answer,
                               cells.a,
                               cells.b,
                               cells.ratio,
                               cells.range };
        printf("|");
        for (size_t k = 0; k < sizeof(cell) / sizeof(cell[0]); k++) {
            print_cell(cell[k]);
        }
        for (const struct wf_json *n = wf_json_first(r->note); n != NULL;
             n = wf_json_next(n)) {
            char text[256];
            snprintf(text, sizeof(text), "%s;", wf_json_string(n));
            text[strlen(text) - 1] = wf_json_next(n) != NULL ? ';' : '\0';
            for (char *p = text; *p != '\0'; p++) {
                *p = *p == '|' ? '/' : *p;
            }
            wf_make_printable(text);
            printf(" %s", text);
        }
        printf(" |\n");
    }
    printf("\n");
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        printf("%s%s", limits[i], i + 1 < LIMIT_COUNT ? " " : "\n");
    }
}

/* --- JSON --- */

/* NAN is null: not known. */
static enum wf_status set_number(struct wf_json *o,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(o, key, v, err)
                       : wf_json_set_null(o, key, err);
}

static enum wf_status set_side(struct wf_json *o,
                               const char *key,
                               const struct wf_unpaired_side *s,
                               struct wf_error *err)
{
    static const char *const texts[] = { "case_name", "kernel", "pack_name", "pack" };
    if (s->count == 0) {
        return wf_json_set_null(o, key, err);
    }
    struct wf_json *v = wf_json_object();
    const struct wf_json *task = wf_json_find(s->result[0], "task");
    enum wf_status status =
        wf_json_set_string(v, "answer", wf_answer_name(s->answer), err);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && status == WF_OK; i++) {
        const char *text = wf_json_string(wf_json_find(task, texts[i]));
        status = wf_json_set_string(v, texts[i], text, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_u64(v, "repetitions", s->count, err);
    }
    status = status == WF_OK ? set_number(v, "median_ns", s->median, err) : status;
    status = status == WF_OK ? set_number(v, "low_ns", s->lo, err) : status;
    status = status == WF_OK ? set_number(v, "high_ns", s->hi, err) : status;
    if (status != WF_OK) {
        wf_json_free(v);
        return status;
    }
    return wf_json_set_take(o, key, v, err);
}

static enum wf_status make_row(const struct wf_compare *c,
                               const struct wf_unpaired_row *r,
                               struct wf_json *o,
                               struct wf_error *err)
{
    const struct wf_json *of = (r->b.count > 0 ? r->b : r->a).result[0];
    const struct wf_json *id = wf_json_find(wf_json_find(of, "task"), "case_id");
    enum wf_status status =
        wf_json_set_string(o, "verdict", wf_unpaired_status_name(r->status), err);
    if (status == WF_OK) {
        status = wf_json_set_string(o, "case_id", wf_json_string(id), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "case", wf_unpaired_case(r), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "kernel", wf_unpaired_kernel(r), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "model", wf_unpaired_model(r), err);
    }
    status = status == WF_OK ? set_number(o, "ratio", r->ratio, err) : status;
    status = status == WF_OK ? set_number(o, "low", r->low, err) : status;
    status = status == WF_OK ? set_number(o, "high", r->high, err) : status;
    if (status == WF_OK) {
        status =
            wf_json_set_bool(o, "beyond_threshold", wf_compare_is_beyond(c, r), err);
    }
    status = status == WF_OK ? set_side(o, "a", &r->a, err) : status;
    status = status == WF_OK ? set_side(o, "b", &r->b, err) : status;
    return status == WF_OK ? wf_json_set_copy(o, "notes", r->note, err) : status;
}

static enum wf_status make_rows(const struct wf_compare *c,
                                struct wf_json *list,
                                struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < c->result->count && status == WF_OK; i++) {
        struct wf_json *o = wf_json_object();
        status = make_row(c, &c->result->row[i], o, err);
        if (status != WF_OK) {
            wf_json_free(o);
            return status;
        }
        status = wf_json_push_take(list, o, err);
    }
    return status;
}

static enum wf_status make_counts(const struct wf_compare *c,
                                  struct wf_json *o,
                                  struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (int s = 0; s < WF_UNPAIRED_STATUS_COUNT && status == WF_OK; s++) {
        status = wf_json_set_u64(o, wf_unpaired_status_name((enum wf_unpaired_status)s),
                                 c->result->of_status[s], err);
    }
    return status;
}

static enum wf_status make_head(const struct wf_compare *c,
                                struct wf_json *o,
                                struct wf_error *err)
{
    enum wf_status status =
        wf_json_set_string(o, "schema", "wavefarm.comparison/1", err);
    status = status == WF_OK ? wf_json_set_string(o, "a", c->a, err) : status;
    status = status == WF_OK ? wf_json_set_string(o, "b", c->b, err) : status;
    if (status == WF_OK) {
        status = wf_json_set_bool(o, "paired", false, err);
    }
    for (int side = 0; side < 2 && status == WF_OK; side++) {
        status = wf_json_set_u64(o, side == 0 ? "a_results" : "b_results",
                                 c->count[side], err);
        if (status == WF_OK) {
            status = wf_json_set_u64(o, side == 0 ? "a_expected" : "b_expected",
                                     c->expected[side], err);
        }
    }
    return status == WF_OK ? set_number(o, "threshold_percent", c->threshold, err)
                           : status;
}

enum wf_status wf_print_compare_json(const struct wf_compare *c, struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    struct wf_json *list = wf_json_array();
    struct wf_json *counts = wf_json_object();
    enum wf_status status = make_head(c, o, err);
    status = status == WF_OK ? make_counts(c, counts, err) : status;
    status = status == WF_OK ? make_rows(c, list, err) : status;
    if (status == WF_OK) {
        status = wf_json_set_take(o, "counts", counts, err);
        counts = NULL;
    }
    if (status == WF_OK) {
        status = wf_json_set_take(o, "tasks", list, err);
        list = NULL;
    }
    if (status == WF_OK) {
        status = wf_print_json(o, err);
    }
    wf_json_free(list);
    wf_json_free(counts);
    wf_json_free(o);
    return status;
}
