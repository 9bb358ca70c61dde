/* Every element of D against the naive kernel's values v, which are doubles of all
 * columns of op(B), before any activation and rounding: the host does the rest.
 *
 * The naive kernel sums in double in the order of k, so its error is that of an honest
 * f64 GEMM: the model of gemm_check.h with u_out = u_acc = 2^-53 and no split. That is
 * its own limit where a sample of its rows is compared with the double reference (which
 * rounds as often: its part is in the model), and it is added to the tolerance of the
 * kernel under test, whose model then holds against the naive values as it does against
 * exact ones. The sum is at most 1 + 2^-27 times the tolerance of a kernel that adds in
 * f32, and twice that of one in f64.
 *
 * A device or a naive kernel that is wrong in a few rows passes the sample. So rows
 * that differ from it are computed in double before they count as wrong. */
#include "kernels/gemm/gemm_naive_check.h"

#include "core/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_ROWS   64
#define CONFIRM_ROWS  16
#define SAMPLE_STREAM UINT64_C(0x6e616976) /* apart from inputs and other samples */

bool gemm_complete(const struct wf_reference *ref)
{
    return !ref->sampled;
}

double gemm_naive_work(const struct wf_reference *ref)
{
    return gemm_reads_product(&ref->g) ? gemm_flops(&ref->g) : 0.0;
}

/* --- the naive kernel's values as an output of type f64 --- */

struct wide {
    struct wf_reference ref; /* borrows everything from the real one */
    const struct wf_output_source *naive;
    struct wf_output_source source;
};

static enum wf_status read_wide(void *ctx,
                                size_t tensor,
                                uint64_t offset_bytes,
                                uint64_t n_bytes,
                                void *dst,
                                struct wf_error *err)
{
    const struct wide *w = ctx;
    (void)tensor; /* the only buffer */
    return w->naive->read(w->naive->ctx, 0, offset_bytes, n_bytes, dst, err);
}

static void wide_init(struct wide *w,
                      const struct wf_reference *ref,
                      const struct wf_output_source *naive)
{
    const struct wf_reference_options exact = { .split = 1, .accumulate_type = WF_F64 };
    struct gemm *g = &w->ref.g;
    const bool integer = gemm_is_integer(&ref->g);
    w->ref = *ref;
    g->n = gemm_b_cols(&ref->g);
    g->activation = GEMM_ACTIVATION_NONE;
    g->matrix[GEMM_D].dtype = WF_F64;
    g->matrix[GEMM_D].ld = g->n;
    g->matrix[GEMM_D].stride = g->m * g->n;
    g->acc_type = integer ? g->acc_type : WF_F64;
    gemm_set_tolerance(&w->ref.tolerance, g, &exact);
    w->naive = naive;
    w->source = (struct wf_output_source){ read_wide, w };
}

uint64_t gemm_naive_bytes(const struct wf_reference *ref)
{
    struct wide w;
    wide_init(&w, ref, NULL);
    return gemm_work_bytes(&ref->g) +
           (gemm_is_gated(&ref->g) ? 2 : 1) * gemm_work_bytes(&w.ref.g);
}

/* --- some rows in double --- */

static int compare_rows(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Rows by number batch * m + row, sorted here; equal ones once. */
static enum wf_status check_listed(const struct wf_reference *ref,
                                   const struct wf_output_source *outputs,
                                   int64_t *row,
                                   int64_t count,
                                   struct gemm_tally *tally,
                                   struct wf_error *err)
{
    const int64_t m = ref->g.m;
    struct gemm_work w;
    enum wf_status st = gemm_work_init(&w, &ref->g, err);
    qsort(row, (size_t)count, sizeof *row, compare_rows);
    for (int64_t first = 0; st == WF_OK && first < count;) {
        const int64_t batch = row[first] / m;
        struct gemm_rows rows = { batch, 0, 0, row + first };
        int64_t kept = 0;
        int64_t i = first;
        for (; i < count && row[i] / m == batch; i++) {
            const int64_t at = row[i] % m;
            if (kept == 0 || row[first + kept - 1] != at) {
                row[first + kept++] = at;
            }
        }
        rows.count = kept;
        first = i;
        st = gemm_check_rows(&w, ref, outputs, &rows, tally, err);
    }
    gemm_work_fini(&w);
    return st;
}

static uint64_t wrong_count(const struct gemm_tally *t)
{
    return t->mismatches + t->nonfinite + t->unwritten;
}

/* --- is the naive kernel right --- */

static enum wf_status verify(const struct wide *wide,
                             struct wf_naive_report *ret,
                             struct wf_error *err)
{
    const struct gemm *g = &wide->ref.g;
    const uint64_t all = (uint64_t)g->batch * (uint64_t)g->m;
    int64_t row[SAMPLE_ROWS];
    struct gemm_tally tally;
    gemm_tally_init(&tally, g);
    row[0] = (int64_t)all - 1;
    for (uint64_t i = 1; i < SAMPLE_ROWS; i++) {
        row[i] = (int64_t)wf_rng_below(wide->ref.seed, SAMPLE_STREAM, i, all);
    }
    enum wf_status st =
        check_listed(&wide->ref, &wide->source, row, SAMPLE_ROWS, &tally, err);
    ret->checked = tally.elements;
    ret->own_ratio = tally.worst_ratio;
    ret->trusted = st == WF_OK && wrong_count(&tally) == 0;
    if (st == WF_OK && !ret->trusted) {
        (void)snprintf(ret->doubt, sizeof ret->doubt,
                       "its value of D[%lld, %lld, %lld] is %.9g, the double reference "
                       "has %.9g",
                       (long long)tally.worst[0], (long long)tally.worst[1],
                       (long long)tally.worst[2], tally.worst_got, tally.worst_want);
    }
    return st;
}

/* --- the kernel under test --- */

struct comparison {
    const struct wf_reference *ref; /* with the naive kernel's own limit added */
    const struct wide *wide;
    struct gemm_work under_test, naive;
    struct gemm_work naive_up; /* of the up half; empty unless gated */
};

static void compare_rows_of(struct comparison *c,
                            const struct gemm_rows *rows,
                            int64_t col,
                            int64_t cols,
                            struct gemm_tally *tally)
{
    struct gemm_work *w = &c->under_test;
    const enum wf_dtype d_type = c->ref->g.matrix[GEMM_D].dtype;
    const double *gate = (const double *)(const void *)c->naive.d;
    const double *up = (const double *)(const void *)c->naive_up.d;
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = gemm_row_at(rows, i);
        const unsigned char *raw = w->d + (size_t)(i * cols) * wf_dtype_bytes(d_type);
        struct gemm_line line;
        gemm_start_line(c->ref, w, rows->batch, row, col, cols, &line);
        line.v[0] = gate + i * cols;
        line.v[1] = up != NULL ? up + i * cols : NULL;
        gemm_finish_line(c->ref, &line, w->ref, w->limit);
        wf_to_f64(d_type, raw, w->got, (size_t)cols);
        const struct gemm_row r = { .batch = rows->batch,
                                    .row = row,
                                    .col = col,
                                    .cols = cols,
                                    .ref = c->ref->tolerance.exact ? line.v[0] : w->ref,
                                    .limit = w->limit,
                                    .got = w->got,
                                    .raw = raw };
        gemm_compare_row(tally, c->ref, &r);
    }
}

static enum wf_status compare_panel(struct comparison *c,
                                    const struct wf_output_source *outputs,
                                    const struct gemm_rows *rows,
                                    struct gemm_tally *tally,
                                    struct wf_error *err)
{
    const int64_t n = c->ref->g.n;
    enum wf_status st = WF_OK;
    for (int64_t col = 0; st == WF_OK && col < n; col += GEMM_PANEL_COLS) {
        const int64_t cols = n - col < GEMM_PANEL_COLS ? n - col : GEMM_PANEL_COLS;
        st = gemm_read_d(&c->under_test, c->ref, outputs, rows, col, cols, err);
        if (st == WF_OK) {
            st = gemm_read_d(&c->naive, &c->wide->ref, &c->wide->source, rows, col,
                             cols, err);
        }
        if (st == WF_OK && gemm_is_gated(&c->ref->g)) {
            st = gemm_read_d(&c->naive_up, &c->wide->ref, &c->wide->source, rows,
                             n + col, cols, err);
        }
        if (st == WF_OK) {
            compare_rows_of(c, rows, col, cols, tally);
        }
    }
    return st;
}

static enum wf_status compare_all(struct comparison *c,
                                  const struct wf_output_source *outputs,
                                  struct gemm_tally *tally,
                                  struct wf_error *err)
{
    const struct gemm *g = &c->ref->g;
    enum wf_status st = gemm_work_init(&c->under_test, g, err);
    if (st == WF_OK) {
        st = gemm_work_init(&c->naive, &c->wide->ref.g, err);
    }
    if (st == WF_OK && gemm_is_gated(g)) {
        st = gemm_work_init(&c->naive_up, &c->wide->ref.g, err);
    }
    for (int64_t b = 0; b < g->batch && st == WF_OK; b++) {
        for (int64_t row = 0; row < g->m && st == WF_OK; row += GEMM_PANEL_ROWS) {
            const int64_t left = g->m - row;
            const struct gemm_rows rows = {
                b, row, left < GEMM_PANEL_ROWS ? left : GEMM_PANEL_ROWS, NULL
            };
            st = compare_panel(c, outputs, &rows, tally, err);
        }
    }
    gemm_work_fini(&c->under_test);
    gemm_work_fini(&c->naive);
    gemm_work_fini(&c->naive_up);
    return st;
}

/* Rows that differ from the naive values, in double. */
static enum wf_status confirm(const struct wf_reference *ref,
                              const struct wf_output_source *outputs,
                              const struct gemm_tally *tally,
                              bool *ret,
                              struct wf_error *err)
{
    int64_t row[CONFIRM_ROWS];
    int64_t count = 0;
    struct gemm_tally exact;
    row[count++] = tally->worst[0] * ref->g.m + tally->worst[1];
    for (uint64_t i = 0; i < tally->sample_count && count < CONFIRM_ROWS; i++) {
        const int64_t at = tally->sample[i].batch * ref->g.m + tally->sample[i].row;
        if (row[count - 1] != at) {
            row[count++] = at;
        }
    }
    gemm_tally_init(&exact, &ref->g);
    const enum wf_status st = check_listed(ref, outputs, row, count, &exact, err);
    *ret = wrong_count(&exact) > 0;
    return st;
}

static void add_check(const struct wf_reference *ref,
                      const struct gemm_tally *tally,
                      struct wf_check_report *report)
{
    struct wf_check *c = &report->check[report->check_count++];
    (void)snprintf(c->name, sizeof c->name, "naive-device");
    c->passed = report->answer == WF_ANSWER_PASS;
    c->elements = tally->elements;
    c->worst_ratio = tally->worst_ratio;
    c->smallest_caught = ref->tolerance.exact ? 1.0 : tally->max_tolerance;
    c->seed = ref->seed;
    (void)snprintf(c->note, sizeof c->note,
                   "every element against a naive kernel in double on the device; "
                   "misses what both got wrong, outside the rows computed on the host");
}

enum wf_status gemm_check_naive(struct wf_reference *ref,
                                const struct wf_output_source *outputs,
                                const struct wf_output_source *naive,
                                struct wf_naive_report *ret,
                                struct wf_error *err)
{
    struct wide wide;
    struct wf_reference looser = *ref;
    struct comparison c = { .ref = &looser, .wide = &wide };
    struct gemm_tally tally;
    memset(ret, 0, sizeof *ret);
    ret->report.answer = WF_ANSWER_PASS;
    ret->trusted = true;
    if (ref->g.tensor[GEMM_D].elements == 0) {
        return WF_OK;
    }
    wide_init(&wide, ref, naive);
    enum wf_status st = verify(&wide, ret, err);
    if (st != WF_OK || !ret->trusted) {
        return st;
    }
    looser.tolerance.split += wide.ref.tolerance.out;
    looser.tolerance.bias += wide.ref.tolerance.bias;
    looser.tolerance.accumulate += wide.ref.tolerance.accumulate;
    looser.tolerance.c += wide.ref.tolerance.c;
    gemm_tally_init(&tally, &ref->g);
    st = compare_all(&c, outputs, &tally, err);
    if (st == WF_OK && wrong_count(&tally) > 0) {
        st = confirm(ref, outputs, &tally, &ret->trusted, err);
    }
    if (st == WF_OK && !ret->trusted) {
        (void)snprintf(ret->doubt, sizeof ret->doubt,
                       "it differs from the outputs in %llu elements, whose rows the "
                       "double reference finds right",
                       (unsigned long long)wrong_count(&tally));
        return WF_OK;
    }
    if (st == WF_OK) {
        gemm_tolerance_text(ref, &ret->report);
        gemm_tally_report(&tally, &ret->report);
        add_check(ref, &tally, &ret->report);
        if (ret->report.answer != WF_ANSWER_PASS) {
            gemm_diagnose(ref, &tally, &ret->report);
        }
    }
    return st;
}
