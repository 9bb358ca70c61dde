/* Products of panels in double. Operands are kept as stored (the case's own bytes) and
 * converted panel by panel: conversion costs a thousandth of the product. */
#include "kernels/gemm/gemm_check.h"

#include "kernels/gemm/openblas.h"

static const char *element_address(const struct wf_reference *ref,
                                   enum gemm_tensor which,
                                   int64_t at)
{
    return (const char *)ref->input[which] +
           (size_t)at * wf_dtype_bytes(ref->g.matrix[which].dtype);
}

double gemm_element(const struct wf_reference *ref, enum gemm_tensor which, int64_t at)
{
    double v;
    wf_to_f64(ref->g.matrix[which].dtype, element_address(ref, which, at), &v, 1);
    return v;
}

/* rows x cols from storage position `at`, row stride ld, tightly into dst. */
static void load_block(const struct wf_reference *ref,
                       enum gemm_tensor which,
                       int64_t at,
                       const int64_t size[2],
                       double *dst)
{
    const struct gemm_matrix *x = &ref->g.matrix[which];
    for (int64_t r = 0; r < size[0]; r++) {
        wf_to_f64(x->dtype, element_address(ref, which, at + r * x->ld),
                  dst + r * size[1], (size_t)size[1]);
    }
}

static void load_listed_a(struct gemm_work *w,
                          const struct wf_reference *ref,
                          const struct gemm_rows *rows,
                          int64_t k,
                          int64_t depth)
{
    const struct gemm_matrix *x = &ref->g.matrix[GEMM_A];
    const int64_t base = rows->batch * x->stride;
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = gemm_row_at(rows, i);
        double *line = w->a + i * depth;
        if (!ref->g.trans_a) {
            load_block(ref, GEMM_A, base + row * x->ld + k, (int64_t[]){ 1, depth },
                       line);
        }
        for (int64_t j = 0; j < depth && ref->g.trans_a; j++) {
            line[j] = gemm_element(ref, GEMM_A, base + (k + j) * x->ld + row);
        }
        gemm_scale_line(ref, GEMM_A, &(struct gemm_place){ rows->batch, row, k }, line,
                        depth);
    }
}

bool gemm_load_a(struct gemm_work *w,
                 const struct wf_reference *ref,
                 const struct gemm_rows *rows,
                 int64_t k,
                 int64_t depth)
{
    const struct gemm_matrix *x = &ref->g.matrix[GEMM_A];
    if (rows->index != NULL || !ref->g.trans_a) {
        load_listed_a(w, ref, rows, k, depth);
        return false;
    }
    load_block(ref, GEMM_A, rows->batch * x->stride + k * x->ld + rows->first,
               (int64_t[]){ depth, rows->count }, w->a);
    for (int64_t j = 0; j < depth; j++) {
        gemm_scale_across(ref, GEMM_A,
                          &(struct gemm_place){ rows->batch, rows->first, k + j },
                          w->a + j * rows->count, rows->count);
    }
    return true;
}

static void load_b(struct gemm_work *w,
                   const struct wf_reference *ref,
                   int64_t batch,
                   const int64_t corner[2],
                   const int64_t size[2])
{
    const struct gemm_matrix *x = &ref->g.matrix[GEMM_B];
    const int64_t base = batch * x->stride;
    const int64_t k = corner[0], col = corner[1];
    if (ref->g.trans_b) {
        load_block(ref, GEMM_B, base + col * x->ld + k, (int64_t[]){ size[1], size[0] },
                   w->b);
        for (int64_t j = 0; j < size[1]; j++) {
            gemm_scale_line(ref, GEMM_B, &(struct gemm_place){ batch, col + j, k },
                            w->b + j * size[0], size[0]);
        }
        return;
    }
    load_block(ref, GEMM_B, base + k * x->ld + col, size, w->b);
    for (int64_t i = 0; i < size[0]; i++) {
        gemm_scale_across(ref, GEMM_B, &(struct gemm_place){ batch, col, k + i },
                          w->b + i * size[1], size[1]);
    }
}

void gemm_multiply(const struct gemm_product *p)
{
    const struct openblas_gemm g = { .m = (int)p->m,
                                     .n = (int)p->n,
                                     .k = (int)p->k,
                                     .trans_a = p->trans_a,
                                     .trans_b = p->trans_b,
                                     .alpha = 1.0,
                                     .beta = p->accumulate ? 1.0 : 0.0,
                                     .lda = (int)(p->trans_a ? p->m : p->k),
                                     .ldb = (int)p->ldb,
                                     .ldd = (int)p->n };
    openblas_dgemm(&g, p->a, p->b, p->c);
}

void gemm_panel_product(struct gemm_work *w,
                        const struct wf_reference *ref,
                        const struct gemm_rows *rows,
                        int64_t col,
                        int64_t cols,
                        double *dst)
{
    const struct gemm *g = &ref->g;
    for (int64_t k = 0; k < g->k; k += GEMM_PANEL_K) {
        const int64_t depth = g->k - k < GEMM_PANEL_K ? g->k - k : GEMM_PANEL_K;
        const bool turned = gemm_load_a(w, ref, rows, k, depth);
        load_b(w, ref, rows->batch, (int64_t[]){ k, col }, (int64_t[]){ depth, cols });
        const struct gemm_product p = { .m = rows->count,
                                        .n = cols,
                                        .k = depth,
                                        .trans_a = turned,
                                        .trans_b = g->trans_b,
                                        .a = w->a,
                                        .b = w->b,
                                        .ldb = g->trans_b ? depth : cols,
                                        .c = dst,
                                        .accumulate = k > 0 };
        gemm_multiply(&p);
    }
}
