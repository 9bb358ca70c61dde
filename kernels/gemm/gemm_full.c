/* Element-by-element comparison of whole rows, in panels of bounded size. */
#include "kernels/gemm/gemm_check.h"

#include <stdio.h>

/* alpha * product + beta * C of one panel row into w->ref. Integer problems stay exact:
 * reduced modulo 2^32 by integer arithmetic, as a double would round. */
static void finish_row(struct gemm_work *w,
                       const struct gemm *g,
                       const double *product,
                       int64_t cols)
{
    const bool c = gemm_reads_c(g);
    if (gemm_is_integer(g)) {
        const uint64_t alpha = (uint64_t)(int64_t)g->alpha;
        const uint64_t beta = (uint64_t)(int64_t)g->beta;
        for (int64_t j = 0; j < cols; j++) {
            const uint64_t sum = alpha * (uint64_t)(int64_t)product[j] +
                                 (c ? beta * (uint64_t)(int64_t)w->c[j] : 0);
            w->ref[j] = (double)(uint32_t)sum;
        }
        return;
    }
    for (int64_t j = 0; j < cols; j++) {
        w->ref[j] = g->alpha * product[j] + (c ? g->beta * w->c[j] : 0.0);
    }
}

static void compare_panel(struct gemm_work *w,
                          const struct wf_reference *ref,
                          const struct gemm_rows *rows,
                          int64_t col,
                          int64_t cols,
                          struct gemm_tally *tally)
{
    const struct gemm *g = &ref->g;
    const enum wf_dtype d_type = g->matrix[GEMM_D].dtype;
    const enum wf_dtype c_type = g->matrix[GEMM_C].dtype;
    const size_t d_bytes = wf_dtype_bytes(d_type);
    const double *a_norm = gemm_a_norms(ref, rows->batch);
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = gemm_row_at(rows, i);
        const unsigned char *raw =
            w->d + (size_t)(i * w->d_cols + col - w->d_col) * d_bytes;
        if (gemm_reads_c(g)) {
            const char *c = gemm_c_row(ref, rows->batch, row);
            wf_to_f64(c_type, c + (size_t)col * wf_dtype_bytes(c_type), w->c,
                      (size_t)cols);
        }
        finish_row(w, g, w->product + i * cols, cols);
        wf_to_f64(d_type, raw, w->got, (size_t)cols);
        const struct gemm_row r = { .batch = rows->batch,
                                    .row = row,
                                    .col = col,
                                    .cols = cols,
                                    .ref = w->ref,
                                    .got = w->got,
                                    .raw = raw,
                                    .a_norm = a_norm[row],
                                    .b_norm = gemm_b_norms(ref, rows->batch) + col,
                                    .c = gemm_reads_c(g) ? w->c : NULL };
        gemm_compare_row(tally, ref, &r);
    }
}

enum wf_status gemm_check_rows(struct gemm_work *w,
                               const struct wf_reference *ref,
                               const struct wf_output_source *outputs,
                               const struct gemm_rows *rows,
                               struct gemm_tally *tally,
                               struct wf_error *err)
{
    const struct gemm *g = &ref->g;
    for (int64_t col = 0; col < g->n; col += GEMM_PANEL_COLS) {
        const int64_t cols =
            g->n - col < GEMM_PANEL_COLS ? g->n - col : GEMM_PANEL_COLS;
        const enum wf_status st = gemm_read_d(w, ref, outputs, rows, col, cols, err);
        if (st != WF_OK) {
            return st;
        }
        for (int64_t at = 0; at < cols; at += GEMM_PRODUCT_COLS) {
            const int64_t n =
                cols - at < GEMM_PRODUCT_COLS ? cols - at : GEMM_PRODUCT_COLS;
            if (gemm_reads_product(g)) {
                gemm_panel_product(w, ref, rows, col + at, n);
            }
            compare_panel(w, ref, rows, col + at, n, tally);
        }
    }
    return WF_OK;
}

enum wf_status gemm_check_full(const struct wf_reference *ref,
                               const struct wf_output_source *outputs,
                               struct wf_check_report *ret,
                               struct wf_error *err)
{
    const struct gemm *g = &ref->g;
    struct gemm_tally tally;
    struct gemm_work w;
    enum wf_status st = gemm_work_init(&w, g, err);
    gemm_tally_init(&tally, g);
    tally.peers = true;
    for (int64_t b = 0; b < g->batch && st == WF_OK; b++) {
        for (int64_t row = 0; row < g->m && st == WF_OK; row += GEMM_PANEL_ROWS) {
            const int64_t left = g->m - row;
            const struct gemm_rows rows = {
                b, row, left < GEMM_PANEL_ROWS ? left : GEMM_PANEL_ROWS, NULL
            };
            st = gemm_check_rows(&w, ref, outputs, &rows, &tally, err);
        }
    }
    gemm_work_fini(&w);
    if (st != WF_OK) {
        return st;
    }
    gemm_tally_report(&tally, ret);
    struct wf_check *c = &ret->check[ret->check_count++];
    (void)snprintf(c->name, sizeof c->name, "full-double");
    c->passed = ret->answer == WF_ANSWER_PASS;
    c->elements = tally.elements;
    c->worst_ratio = tally.worst_ratio;
    c->smallest_caught = ref->tolerance.exact ? 1.0 : tally.max_tolerance;
    (void)snprintf(
        c->note, sizeof c->note,
        "every element against a double product (%.3g multiply-adds, at most "
        "%.3g); misses errors below its tolerance only",
        ref->macs, ref->budget);
    gemm_diagnose(ref, &tally, ret);
    return WF_OK;
}
