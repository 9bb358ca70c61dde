/* GEMM through OpenBLAS: f64 by dgemm, everything else by sgemm on f32 panels. Operands
 * that are not f32 are converted panel by panel, times their scales, 22 MiB of panels
 * at most whatever the problem; a tile of D stays in f32 until all of K is in it, gets
 * bias and activation there, and is rounded once. */
#include "kernels/gemm/gemm_host.h"

#include "core/buf.h"
#include "kernels/gemm/openblas.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each element of A is converted once a tile column and each of B once a tile row: the
 * tile is large so that this stays small beside the product. */
#define TILE_ROWS  1024
#define TILE_COLS  2048
#define TILE_DEPTH 512

struct host_blas {
    int64_t rows, cols, depth; /* of a tile */
    float *a, *b, *d;          /* NULL where the operand is used in place */
    float *up;                 /* of the up half; NULL without */
    float *bias;               /* [b_cols]; NULL without */
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
    bool fits = g->m <= INT_MAX && g->b_cols <= INT_MAX && g->k <= INT_MAX;
    for (int i = 0; i < HOST_TENSOR_COUNT; i++) {
        fits = fits && g->matrix[i].ld <= INT_MAX;
    }
    return fits;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
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
    const bool product = has_product(g);
    const bool turn_a = product && g->matrix[HOST_A].dtype != WF_F32;
    const bool turn_b = product && g->matrix[HOST_B].dtype != WF_F32;
    const bool turn_d = g->matrix[HOST_D].dtype != WF_F32 || g->has_bias ||
                        g->activation != HOST_LINEAR;
    const bool gated = g->activation == HOST_SILU_GATE;
    const bool whole = !turn_a && !turn_b && !turn_d; /* nothing to convert */
    b->rows = whole ? g->m : least(g->m, TILE_ROWS);
    b->cols = whole ? g->n : least(g->n, TILE_COLS);
    b->depth = whole ? g->k : least(g->k, TILE_DEPTH);
    if (!make_panel(&b->a, turn_a, b->rows, b->depth) ||
        !make_panel(&b->b, turn_b, b->cols, b->depth) ||
        !make_panel(&b->d, turn_d, b->rows, b->cols) ||
        !make_panel(&b->up, gated, b->rows, b->cols) ||
        !make_panel(&b->bias, g->has_bias, 1, g->b_cols)) {
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
    free(b->up);
    free(b->bias);
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

struct tile {
    int64_t batch, row, col, rows, cols;
};

/* Part of op(A) or op(B): of its rows or columns, and of K. */
struct part {
    int64_t batch, line, k, lines, depth;
};

/* One stored row of a panel times its scales. */
static void scale_row(const struct host_gemm *g,
                      int tensor,
                      const struct part *p,
                      int64_t i,
                      bool lines_are_rows,
                      float *row)
{
    const int64_t n = lines_are_rows ? p->depth : p->lines;
    for (int64_t j = 0; j < n && g->scale != HOST_UNSCALED; j++) {
        const int64_t line = p->line + (lines_are_rows ? i : j);
        const int64_t k = p->k + (lines_are_rows ? j : i);
        row[j] *= host_scale(g, tensor, p->batch, line, k);
    }
}

/* A part of an operand as f32, in the stored orientation: in place, or converted into
 * `space`. */
static struct panel load(const struct host_gemm *g,
                         int tensor,
                         const struct part *p,
                         float *space)
{
    const bool lines_are_rows = tensor == HOST_A ? !g->trans_a : g->trans_b;
    const int64_t row = lines_are_rows ? p->line : p->k;
    const int64_t col = lines_are_rows ? p->k : p->line;
    const int64_t rows = lines_are_rows ? p->lines : p->depth;
    const int64_t cols = lines_are_rows ? p->depth : p->lines;
    const struct host_matrix *x = &g->matrix[tensor];
    if (x->dtype == WF_F32) {
        return (struct panel){
            (float *)(void *)host_element(g, tensor, p->batch, row, col), x->ld
        };
    }
    for (int64_t i = 0; i < rows; i++) {
        wf_to_f32(x->dtype, host_element(g, tensor, p->batch, row + i, col),
                  space + i * cols, (size_t)cols);
        scale_row(g, tensor, p, i, lines_are_rows, space + i * cols);
    }
    return (struct panel){ space, cols };
}

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

/* d = alpha op(A)[rows][k ..] op(B)[k ..][cols] + beta d over one piece of K. */
static void add_piece(struct host_blas *b,
                      const struct host_gemm *g,
                      const struct tile *t,
                      int64_t k,
                      const struct panel *d)
{
    const int64_t depth = has_product(g) ? least(g->k - k, b->depth) : 0;
    struct panel x = { NULL, 0 };
    struct panel y = { NULL, 0 };
    if (depth > 0) {
        x = load(g, HOST_A, &(struct part){ t->batch, t->row, k, t->rows, depth },
                 b->a);
        y = load(g, HOST_B, &(struct part){ t->batch, t->col, k, t->cols, depth },
                 b->b);
    }
    const struct openblas_gemm p = {
        .m = (int)t->rows,
        .n = (int)t->cols,
        .k = (int)depth,
        .trans_a = g->trans_a,
        .trans_b = g->trans_b,
        .alpha = g->alpha,
        .beta = k == 0 ? g->beta : 1.0,
        .lda = leading(x.ld > 0 ? x.ld : t->rows),
        .ldb = leading(y.ld > 0 ? y.ld : t->cols),
        .ldd = leading(d->ld),
    };
    openblas_sgemm(&p, x.data, y.data, d->data);
}

static float silu(float v)
{
    return v / (1.0f + expf(-v));
}

/* Bias and activation of a tile whose sums are whole. */
static void finish_tile(const struct host_blas *b,
                        const struct host_gemm *g,
                        const struct tile *t,
                        const struct panel *d)
{
    for (int64_t i = 0; i < t->rows; i++) {
        float *gate = d->data + i * d->ld;
        float *up = b->up != NULL ? b->up + i * d->ld : NULL;
        for (int64_t j = 0; j < t->cols; j++) {
            float v = gate[j];
            v += b->bias != NULL ? b->bias[t->col + j] : 0.0f;
            v = g->activation != HOST_LINEAR ? silu(v) : v;
            if (up != NULL) {
                v *= up[j] + (b->bias != NULL ? b->bias[g->n + t->col + j] : 0.0f);
            }
            gate[j] = v;
        }
    }
}

static void sum_tile(struct host_blas *b,
                     const struct host_gemm *g,
                     const struct tile *t,
                     const struct panel *d)
{
    int64_t k = 0;
    do { /* once without a product: D = beta C */
        add_piece(b, g, t, k, d);
        k += b->depth;
    } while (has_product(g) && k < g->k);
}

static void run_tile(struct host_blas *b,
                     const struct host_gemm *g,
                     const struct tile *t)
{
    struct panel d = { b->d, t->cols };
    if (b->d == NULL) {
        d.data = (float *)(void *)host_element(g, HOST_D, t->batch, t->row, t->col);
        d.ld = g->matrix[HOST_D].ld;
    }
    load_c(g, t, &d);
    sum_tile(b, g, t, &d);
    if (b->up != NULL) {
        const struct panel up = { b->up, t->cols };
        struct tile second = *t;
        second.col += g->n;
        sum_tile(b, g, &second, &up);
    }
    if (g->has_bias || g->activation != HOST_LINEAR) {
        finish_tile(b, g, t, &d);
    }
    if (b->d != NULL) {
        store_d(g, t, &d);
    }
}

static void run_float(struct host_blas *b, const struct host_gemm *g, int64_t batch)
{
    for (int64_t col = 0; col < g->n; col += b->cols) {
        for (int64_t row = 0; row < g->m; row += b->rows) {
            const struct tile t = { batch, row, col, least(g->m - row, b->rows),
                                    least(g->n - col, b->cols) };
            run_tile(b, g, &t);
        }
    }
}

void host_blas_run(struct host_blas *b, const struct host_gemm *g)
{
    if (g->m == 0 || g->n == 0) {
        return;
    }
    openblas_threads(g->threads);
    if (b->bias != NULL) {
        wf_to_f32(g->bias_type, g->bias, b->bias, (size_t)g->b_cols);
    }
    for (int64_t batch = 0; batch < g->batch; batch++) {
        if (is_double(g)) {
            run_double(g, batch);
        } else {
            run_float(b, g, batch);
        }
    }
}
