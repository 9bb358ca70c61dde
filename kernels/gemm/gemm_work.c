/* Buffers of a check, and reading the output under test. */
#include "kernels/gemm/gemm_check.h"

#include "core/buf.h"

#include <stdlib.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Elements of each buffer, one more than are used so that none is empty. */
struct sizes {
    size_t a, b, product, row, d;
};

static struct sizes sizes_of(const struct gemm *g)
{
    const size_t rows = (size_t)least(g->m, GEMM_PANEL_ROWS) + 1;
    const size_t cols = (size_t)least(g->n, GEMM_PANEL_COLS) + 1;
    const size_t product_cols = (size_t)least(g->n, GEMM_PRODUCT_COLS) + 1;
    const size_t depth = (size_t)least(g->k, GEMM_PANEL_K) + 1;
    const size_t b = product_cols * depth;
    return (struct sizes){ .a = rows * depth,
                           .b = b > cols ? b : cols, /* the product check: a row */
                           .product = rows * product_cols,
                           .row = cols,
                           .d = rows * cols };
}

uint64_t gemm_work_bytes(const struct gemm *g)
{
    const struct sizes n = sizes_of(g);
    const size_t products = n.product * (gemm_is_gated(g) ? 2 : 1);
    return (uint64_t)(n.a + n.b + products + 4 * n.row) * sizeof(double) +
           (uint64_t)n.d * wf_dtype_bytes(g->matrix[GEMM_D].dtype);
}

enum wf_status gemm_work_init(struct gemm_work *w,
                              const struct gemm *g,
                              struct wf_error *err)
{
    const struct sizes n = sizes_of(g);
    *w = (struct gemm_work){ 0 };
    w->a = wf_calloc(n.a, sizeof *w->a);
    w->b = wf_calloc(n.b, sizeof *w->b);
    w->product = wf_calloc(n.product, sizeof *w->product);
    w->got = wf_calloc(n.row, sizeof *w->got);
    w->c = wf_calloc(n.row, sizeof *w->c);
    w->ref = wf_calloc(n.row, sizeof *w->ref);
    w->limit = wf_calloc(n.row, sizeof *w->limit);
    w->up = gemm_is_gated(g) ? wf_calloc(n.product, sizeof *w->up) : NULL;
    w->d = wf_calloc(n.d, wf_dtype_bytes(g->matrix[GEMM_D].dtype));
    if (w->a == NULL || w->b == NULL || w->product == NULL || w->got == NULL ||
        w->c == NULL || w->ref == NULL || w->d == NULL || w->limit == NULL ||
        (gemm_is_gated(g) && w->up == NULL)) {
        gemm_work_fini(w);
        return wf_errorf(err, WF_ENOMEM,
                         "no memory for the panels of a gemm reference");
    }
    return WF_OK;
}

void gemm_work_fini(struct gemm_work *w)
{
    free(w->a);
    free(w->b);
    free(w->product);
    free(w->got);
    free(w->c);
    free(w->ref);
    free(w->limit);
    free(w->up);
    free(w->d);
    *w = (struct gemm_work){ 0 };
}

enum wf_status gemm_read_d(struct gemm_work *w,
                           const struct wf_reference *ref,
                           const struct wf_output_source *outputs,
                           const struct gemm_rows *rows,
                           int64_t col,
                           int64_t cols,
                           struct wf_error *err)
{
    const struct gemm_matrix *x = &ref->g.matrix[GEMM_D];
    const uint64_t bytes = wf_dtype_bytes(x->dtype);
    const bool whole = rows->index == NULL && cols == x->ld;
    const int64_t reads = whole ? 1 : rows->count;
    const uint64_t piece = (uint64_t)cols * bytes * (whole ? (uint64_t)rows->count : 1);
    w->d_col = col;
    w->d_cols = cols;
    for (int64_t i = 0; i < reads; i++) {
        const int64_t at = rows->batch * x->stride + gemm_row_at(rows, i) * x->ld + col;
        const enum wf_status st =
            outputs->read(outputs->ctx, GEMM_D, (uint64_t)at * bytes, piece,
                          w->d + (uint64_t)i * piece, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

const void *gemm_c_row(const struct wf_reference *ref, int64_t batch, int64_t row)
{
    const struct gemm_matrix *x = &ref->g.matrix[GEMM_C];
    const int64_t at = batch * x->stride + row * x->ld;
    return (const char *)ref->input[GEMM_C] + (size_t)at * wf_dtype_bytes(x->dtype);
}

int64_t gemm_norm_batches(const struct gemm *g, enum gemm_tensor which)
{
    const bool shared = g->matrix[which].stride == 0 && g->scale == GEMM_SCALE_NONE;
    return shared || (g->begin != NULL && which == GEMM_A) ? 1 : g->batch;
}

const double *gemm_a_norms(const struct wf_reference *ref, int64_t batch)
{
    return ref->a_norm +
           (gemm_norm_batches(&ref->g, GEMM_A) == 1 ? 0 : batch * ref->g.m);
}

const double *gemm_b_norms(const struct wf_reference *ref, int64_t batch)
{
    return ref->b_norm +
           (gemm_norm_batches(&ref->g, GEMM_B) == 1 ? 0 : batch * gemm_b_cols(&ref->g));
}
