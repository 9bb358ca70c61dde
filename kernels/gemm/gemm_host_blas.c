/* GEMM through OpenBLAS: f64 by dgemm, everything else by sgemm on f32 panels. Operands
 * that are not f32 are converted panel by panel; sums are f32, and D is rounded once.
 */
#include "kernels/gemm/gemm_host.h"

#include "core/buf.h"
#include "kernels/gemm/openblas.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PANEL_ROWS  2048
#define PANEL_BYTES (INT64_C(64) << 20) /* of one converted operand panel */

struct host_blas {
    int64_t rows, cols; /* of a panel */
    float *a, *b, *d;   /* NULL where the operand is used in place */
};

static bool is_double(const struct host_gemm *g)
{
    return g->matrix[HOST_A].dtype == WF_F64;
}

static bool has_product(const struct host_gemm *g)
{
    return g->alpha != 0.0 && g->k > 0;
}

bool host_blas_fits(const struct host_gemm *g)
{
    bool fits = g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX;
    for (int i = 0; i < HOST_TENSOR_COUNT; i++) {
        fits = fits && g->matrix[i].ld <= INT_MAX;
    }
    return fits;
}

static int64_t panel_lines(int64_t lines, int64_t most, int64_t depth)
{
    const int64_t fit = PANEL_BYTES / (int64_t)sizeof(float) / (depth > 0 ? depth : 1);
    most = most < fit ? most : fit;
    most = most > 1 ? most : 1;
    return lines < most ? lines : most;
}

static bool make_panel(float **ret, bool needed, int64_t lines, int64_t depth)
{
    if (!needed || lines == 0 || depth == 0) {
        return true;
    }
    *ret = wf_calloc((size_t)lines, (size_t)depth * sizeof **ret);
    return *ret != NULL;
}

struct host_blas *host_blas_create(const struct host_gemm *g)
{
    struct host_blas *b = wf_calloc(1, sizeof *b);
    if (b == NULL || is_double(g)) {
        return b;
    }
    b->rows = panel_lines(g->m, PANEL_ROWS, g->k);
    b->cols = panel_lines(g->n, INT_MAX, g->k > b->rows ? g->k : b->rows);
    const bool product = has_product(g);
    if (!make_panel(&b->a, product && g->matrix[HOST_A].dtype != WF_F32, b->rows,
                    g->k) ||
        !make_panel(&b->b, product && g->matrix[HOST_B].dtype != WF_F32, b->cols,
                    g->k) ||
        !make_panel(&b->d, g->matrix[HOST_D].dtype != WF_F32, b->rows, b->cols)) {
        host_blas_destroy(b);
        return NULL;
    }
    return b;
}

void host_blas_destroy(struct host_blas *b)
{
    if (b == NULL) {
        return;
    }
    free(b->a);
    free(b->b);
    free(b->d);
    free(b);
}

/* A leading dimension that BLAS accepts for a matrix without columns. */
static int leading(int64_t ld)
{
    return ld > 0 ? (int)ld : 1;
}

static void run_double(const struct host_gemm *g, int64_t batch)
{
    double *d = (double *)(void *)host_element(g, HOST_D, batch, 0, 0);
    for (int64_t i = 0; i < g->m && g->beta != 0.0; i++) {
        memcpy(host_element(g, HOST_D, batch, i, 0),
               host_element(g, HOST_C, batch, i, 0), (size_t)g->n * sizeof(double));
    }
    const struct openblas_gemm p = { .m = (int)g->m,
                                     .n = (int)g->n,
                                     .k = has_product(g) ? (int)g->k : 0,
                                     .trans_a = g->trans_a,
                                     .trans_b = g->trans_b,
                                     .alpha = g->alpha,
                                     .beta = g->beta,
                                     .lda = leading(g->matrix[HOST_A].ld),
                                     .ldb = leading(g->matrix[HOST_B].ld),
                                     .ldd = leading(g->matrix[HOST_D].ld) };
    openblas_dgemm(
        &p, (double *)(void *)g->matrix[HOST_A].data + batch * g->matrix[HOST_A].stride,
        (double *)(void *)g->matrix[HOST_B].data + batch * g->matrix[HOST_B].stride, d);
}

struct panel {
    float *data;
    int64_t ld;
};

/* `lines` rows (or columns, when they are the stored rows' elements) of an operand, all
 * of K, as f32: in place, or converted into `space` in the stored orientation. */
static struct panel load(const struct host_gemm *g,
                         int tensor,
                         const int64_t at[2], /* batch, first line */
                         int64_t lines,
                         float *space)
{
    const bool lines_are_rows = tensor == HOST_A ? !g->trans_a : g->trans_b;
    const int64_t row = lines_are_rows ? at[1] : 0;
    const int64_t col = lines_are_rows ? 0 : at[1];
    const int64_t rows = lines_are_rows ? lines : g->k;
    const int64_t cols = lines_are_rows ? g->k : lines;
    const struct host_matrix *x = &g->matrix[tensor];
    if (x->dtype == WF_F32) {
        return (struct panel){
            (float *)(void *)host_element(g, tensor, at[0], row, col), x->ld
        };
    }
    for (int64_t i = 0; i < rows; i++) {
        wf_to_f32(x->dtype, host_element(g, tensor, at[0], row + i, col),
                  space + i * cols, (size_t)cols);
    }
    return (struct panel){ space, cols };
}

struct tile {
    int64_t batch, row, col, rows, cols;
};

/* C into the result's panel, where beta wants it. */
static void load_c(const struct host_gemm *g,
                   const struct tile *t,
                   const struct panel *d)
{
    for (int64_t i = 0; i < t->rows && g->beta != 0.0; i++) {
        wf_to_f32(g->matrix[HOST_C].dtype,
                  host_element(g, HOST_C, t->batch, t->row + i, t->col),
                  d->data + i * d->ld, (size_t)t->cols);
    }
}

static void store_d(const struct host_gemm *g,
                    const struct tile *t,
                    const struct panel *d)
{
    for (int64_t i = 0; i < t->rows; i++) {
        wf_from_f32(g->matrix[HOST_D].dtype, d->data + i * d->ld,
                    host_element(g, HOST_D, t->batch, t->row + i, t->col),
                    (size_t)t->cols);
    }
}

static void run_tile(struct host_blas *b,
                     const struct host_gemm *g,
                     const struct tile *t,
                     const struct panel *b_panel)
{
    struct panel d = { b->d, t->cols };
    struct panel a = { NULL, 0 };
    if (b->d == NULL) {
        d.data = (float *)(void *)host_element(g, HOST_D, t->batch, t->row, t->col);
        d.ld = g->matrix[HOST_D].ld;
    }
    if (has_product(g)) {
        a = load(g, HOST_A, (int64_t[]){ t->batch, t->row }, t->rows, b->a);
    }
    load_c(g, t, &d);
    const struct openblas_gemm p = {
        .m = (int)t->rows,
        .n = (int)t->cols,
        .k = has_product(g) ? (int)g->k : 0,
        .trans_a = g->trans_a,
        .trans_b = g->trans_b,
        .alpha = g->alpha,
        .beta = g->beta,
        .lda = leading(a.ld > 0 ? a.ld : t->rows),
        .ldb = leading(b_panel->ld > 0 ? b_panel->ld : t->cols),
        .ldd = leading(d.ld),
    };
    openblas_sgemm(&p, a.data, b_panel->data, d.data);
    if (b->d != NULL) {
        store_d(g, t, &d);
    }
}

static void run_float(struct host_blas *b, const struct host_gemm *g, int64_t batch)
{
    for (int64_t col = 0; col < g->n; col += b->cols) {
        const int64_t cols = g->n - col < b->cols ? g->n - col : b->cols;
        struct panel b_panel = { NULL, 0 };
        if (has_product(g)) {
            b_panel = load(g, HOST_B, (int64_t[]){ batch, col }, cols, b->b);
        }
        for (int64_t row = 0; row < g->m; row += b->rows) {
            const int64_t rows = g->m - row < b->rows ? g->m - row : b->rows;
            const struct tile t = { batch, row, col, rows, cols };
            run_tile(b, g, &t, &b_panel);
        }
    }
}

void host_blas_run(struct host_blas *b, const struct host_gemm *g)
{
    if (g->m == 0 || g->n == 0) {
        return;
    }
    openblas_threads(g->threads);
    for (int64_t batch = 0; batch < g->batch; batch++) {
        if (is_double(g)) {
            run_double(g, batch);
        } else {
            run_float(b, g, batch);
        }
    }
}
