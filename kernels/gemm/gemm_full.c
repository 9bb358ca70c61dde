/* Element-by-element comparison of whole rows, in panels of bounded size. */
#include "kernels/gemm/gemm_check.h"

#include <stdio.h>
#include <string.h>

static void compare_panel(struct gemm_work *w,
                          const struct wf_reference *ref,
                          const struct gemm_rows *rows,
                          int64_t col,
                          int64_t cols,
                          struct gemm_tally *tally)
{
    const struct gemm *g = &ref->g;
    const enum wf_dtype d_type = g->matrix[GEMM_D].dtype;
    const size_t d_bytes = wf_dtype_bytes(d_type);
    const bool gated = gemm_is_gated(g);
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = gemm_row_at(rows, i);
        const unsigned char *raw =
            w->d + (size_t)(i * w->d_cols + col - w->d_col) * d_bytes;
        double *v[2] = { w->product + i * cols, gated ? w->up + i * cols : NULL };
        struct gemm_line line;
        gemm_start_line(ref, w, rows->batch, row, col, cols, &line);
        for (int half = 0; half < (gated ? 2 : 1); half++) {
            gemm_add_up(ref, line.c, line.bias[half], v[half], cols);
            line.v[half] = v[half];
        }
        if (!ref->tolerance.exact) {
            gemm_finish_line(ref, &line, w->ref, w->limit);
        }
        wf_to_f64(d_type, raw, w->got, (size_t)cols);
        const struct gemm_row r = { .batch = rows->batch,
                                    .row = row,
                                    .col = col,
                                    .cols = cols,
                                    .ref = ref->tolerance.exact ? v[0] : w->ref,
                                    .limit = w->limit,
                                    .got = w->got,
                                    .raw = raw };
        gemm_compare_row(tally, ref, &r);
    }
}

static void make_product(struct gemm_work *w,
                         const struct wf_reference *ref,
                         const struct gemm_rows *rows,
                         int64_t col,
                         int64_t cols,
                         double *dst)
{
    if (gemm_reads_product(&ref->g)) {
        gemm_panel_product(w, ref, rows, col, cols, dst);
    } else {
        memset(dst, 0, (size_t)(rows->count * cols) * sizeof *dst);
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
            make_product(w, ref, rows, col + at, n, w->product);
            if (gemm_is_gated(g)) {
                make_product(w, ref, rows, g->n + col + at, n, w->up);
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
        const int64_t end = gemm_end_row(g, b);
        for (int64_t row = gemm_first_row(g, b); row < end && st == WF_OK;
             row += GEMM_PANEL_ROWS) {
            const int64_t left = end - row;
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
