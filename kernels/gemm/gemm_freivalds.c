/* Product check for problems beyond the budget (Freivalds 1977, in blocks of columns).
 *
 * For a block of W columns and a vector x of random signs, each row i gives
 *
 *   r_i = D_i x - alpha A_i (B x) - beta C_i x - bias x = sum_j x_j (D_ij - ref_ij)
 *
 * which costs 1/W of a full product and covers every element. With tol_j the budget of
 * element (i, j), a right row has |D_ij - ref_ij| <= tol_j, so that r_i is a sum of W
 * terms of random sign. By Hoeffding's inequality |r_i| exceeds
 *
 *   limit_i = 4 sqrt(sum_j tol_j^2) + rounding of r_i itself
 *
 * with probability below 2 exp(-8) = 7e-4 even when every error is as large as it may
 * be; rounding errors are a few times smaller, and then it practically never does. A
 * row beyond the limit is not yet wrong: it is flagged and checked element by element.
 *
 * Detection. If one element of a block is off by e and the others are within their
 * budgets, |r_i| >= e - sum_j tol_j whatever the signs; the row is flagged for certain
 * when e > limit_i + sum_j tol_j. As limit_i is computed with |D_ij| in place of
 * |ref_ij|, the element's own error may raise it by 4 u_out e, hence the divisor in
 * `caught`. Several wrong elements in one block and row cancel with probability at most
 * 1/2; a wrong tile spans many rows and blocks.
 *
 * Scales are part of A and B here (gemm_scales.c), so the residual stays linear in
 * them. An activation is not linear: D x says nothing about A (B x) then, and D cannot
 * be turned back (silu is not one to one, and of a gate and an up half only the product
 * is known). Such problems go without it: every element is looked at for poison, NaN
 * and infinity, and more rows are compared in full, one drawn from each stretch of
 * rows, so that nothing wrong in all rows of a stretch gets by.
 *
 * Integer problems are exact: r_i must be 0 modulo 2^32. */
#include "kernels/gemm/gemm_freivalds.h"

#include "core/buf.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>

#define LIMIT_FACTOR 4.0
#define PANEL_BYTES  (64 * 1024 * 1024)
/* Streams of the checker's own draws, apart from those of the tensors. */
#define SIGN_STREAM  UINT64_C(0x7369676e73)

static double sign_of(uint64_t word)
{
    return (word & 1) != 0 ? -1.0 : 1.0;
}

/* Blocks in a full panel of columns. */
static int64_t panel_blocks(const struct gemm *g)
{
    const int64_t all = (g->n + GEMM_SIGN_COLS - 1) / GEMM_SIGN_COLS;
    const int64_t fit = PANEL_BYTES / (int64_t)sizeof(double) / (g->k > 0 ? g->k : 1);
    const int64_t most = GEMM_PANEL_COLS / GEMM_SIGN_COLS;
    const int64_t blocks = fit < 1 ? 1 : fit < most ? fit : most;
    return blocks < all ? blocks : all;
}

uint64_t gemm_sampled_bytes(const struct gemm *g)
{
    const uint64_t blocks = (uint64_t)panel_blocks(g);
    return ((uint64_t)g->n + blocks * ((uint64_t)g->k + GEMM_PANEL_ROWS)) *
               sizeof(double) +
           (uint64_t)gemm_all_rows(g);
}

enum wf_status gemm_product_init(struct gemm_product_check *p, struct wf_error *err)
{
    const struct gemm *g = &p->ref->g;
    p->blocks = panel_blocks(g);
    p->x = wf_calloc((size_t)g->n, sizeof *p->x);
    p->bx = wf_calloc((size_t)p->blocks, (size_t)g->k * sizeof *p->bx);
    p->abx = wf_calloc((size_t)p->blocks * GEMM_PANEL_ROWS, sizeof *p->abx);
    p->flag = wf_calloc((size_t)gemm_all_rows(g), 1);
    if (p->x == NULL || p->bx == NULL || p->abx == NULL || p->flag == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the product check of a gemm");
    }
    for (int64_t j = 0; j < g->n; j++) {
        p->x[j] = sign_of(wf_rng_u64(p->ref->seed, SIGN_STREAM, (uint64_t)j));
    }
    return gemm_work_init(&p->w, g, err);
}

void gemm_product_fini(struct gemm_product_check *p)
{
    free(p->x);
    free(p->bx);
    free(p->abx);
    free(p->flag);
    gemm_work_fini(&p->w);
}

/* bx[block][k] = sum of x_j op(B)[k][j] over the block's columns. */
static void make_bx(struct gemm_product_check *p,
                    int64_t batch,
                    int64_t col,
                    int64_t cols)
{
    const struct gemm *g = &p->ref->g;
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    const size_t bytes = wf_dtype_bytes(b->dtype);
    const char *data =
        (const char *)p->ref->input[GEMM_B] + (size_t)(batch * b->stride) * bytes;
    double *row = p->w.b; /* holds at least a piece of either kind */
    const int64_t blocks = (cols + GEMM_SIGN_COLS - 1) / GEMM_SIGN_COLS;
    for (int64_t i = 0; i < blocks * g->k; i++) {
        p->bx[i] = 0.0;
    }
    for (int64_t k = 0; k < g->k && !g->trans_b; k++) {
        wf_to_f64(b->dtype, data + (size_t)(k * b->ld + col) * bytes, row,
                  (size_t)cols);
        gemm_scale_across(p->ref, GEMM_B, &(struct gemm_place){ batch, col, k }, row,
                          cols);
        for (int64_t j = 0; j < cols; j++) {
            p->bx[j / GEMM_SIGN_COLS * g->k + k] += p->x[col + j] * row[j];
        }
    }
    for (int64_t j = 0; j < cols && g->trans_b; j++) {
        double *sum = p->bx + j / GEMM_SIGN_COLS * g->k;
        for (int64_t k = 0; k < g->k; k += GEMM_PANEL_K) {
            const int64_t n = g->k - k < GEMM_PANEL_K ? g->k - k : GEMM_PANEL_K;
            wf_to_f64(b->dtype, data + (size_t)((col + j) * b->ld + k) * bytes, row,
                      (size_t)n);
            gemm_scale_line(p->ref, GEMM_B, &(struct gemm_place){ batch, col + j, k },
                            row, n);
            for (int64_t i = 0; i < n; i++) {
                sum[k + i] += p->x[col + j] * row[i];
            }
        }
    }
}

/* abx = op(A)[rows] bx^T. */
static void make_abx(struct gemm_product_check *p,
                     const struct gemm_rows *rows,
                     int64_t blocks)
{
    const struct gemm *g = &p->ref->g;
    for (int64_t k = 0; k < g->k; k += GEMM_PANEL_K) {
        const int64_t depth = g->k - k < GEMM_PANEL_K ? g->k - k : GEMM_PANEL_K;
        const bool turned = gemm_load_a(&p->w, p->ref, rows, k, depth);
        const struct gemm_product product = { .m = rows->count,
                                              .n = blocks,
                                              .k = depth,
                                              .trans_a = turned,
                                              .trans_b = true,
                                              .a = p->w.a,
                                              .b = p->bx + k,
                                              .ldb = g->k,
                                              .c = p->abx,
                                              .accumulate = k > 0 };
        gemm_multiply(&product);
    }
}

/* A part of a row of a linear problem. */
struct checked_row {
    int64_t batch, row, col;
    const double *got;
    const unsigned char *raw;
    struct gemm_line line;
};

struct block_sums {
    double r;         /* D x - beta C x */
    double tol, tol2; /* sums of the budgets and of their squares */
    double size;      /* of what r was added up from, for its own rounding */
};

static void add_block(const struct gemm_product_check *p,
                      const struct checked_row *row,
                      int64_t first,
                      int64_t n,
                      struct block_sums *s)
{
    const struct gemm *g = &p->ref->g;
    const struct gemm_tolerance *t = &p->ref->tolerance;
    *s = (struct block_sums){ 0 };
    for (int64_t j = first; j < first + n; j++) {
        const double x = p->x[row->col + j];
        const struct gemm_line *l = &row->line;
        const double c = l->c != NULL ? l->c[j] : 0.0;
        const double bias = l->bias[0] != NULL ? l->bias[0][j] : 0.0;
        const double d = row->got[j];
        const double norms = l->a_norm * l->b_norm[0][j];
        const double tol = gemm_budget(t, fabs(d), norms, fabs(c), fabs(bias));
        s->r += x * (d - g->beta * c - bias);
        s->tol += tol;
        s->tol2 += tol * tol;
        s->size += fabs(d) + fabs(g->beta * c) + fabs(bias) + fabs(g->alpha) * norms;
    }
}

/* The same residual for integers, modulo 2^64. Products of A and B are exact in double
 * (|r| < 2^14 K W), what alpha and beta make of them is not. */
static bool integer_block_is_right(const struct gemm_product_check *p,
                                   const struct checked_row *row,
                                   int64_t first,
                                   int64_t n,
                                   double product)
{
    const uint64_t alpha = (uint64_t)(int64_t)p->ref->g.alpha;
    const uint64_t beta = (uint64_t)(int64_t)p->ref->g.beta;
    uint64_t r = 0 - alpha * (uint64_t)(int64_t)product;
    for (int64_t j = first; j < first + n; j++) {
        const uint64_t c = row->line.c != NULL ? (uint64_t)(int64_t)row->line.c[j] : 0;
        const uint64_t term = (uint64_t)(int64_t)row->got[j] - beta * c;
        r += p->x[row->col + j] < 0.0 ? 0 - term : term;
    }
    return (uint32_t)r == 0;
}

/* False: the row must be looked at. */
static bool block_is_right(struct gemm_product_check *p,
                           const struct checked_row *row,
                           int64_t first,
                           int64_t n,
                           double product)
{
    const struct gemm *g = &p->ref->g;
    const double out = p->ref->tolerance.out + p->ref->tolerance.split;
    struct block_sums s;
    if (p->ref->tolerance.exact) {
        return integer_block_is_right(p, row, first, n, product);
    }
    add_block(p, row, first, n, &s);
    const double r = fabs(s.r - g->alpha * product);
    const double own = 0x1p-52 * s.size * (double)(g->k + 2 * GEMM_SIGN_COLS);
    const double limit = LIMIT_FACTOR * sqrt(s.tol2) + own;
    const double caught =
        (limit + s.tol) / (1.0 - fmin(0.9, (LIMIT_FACTOR + 1.0) * out));
    p->caught = caught > p->caught ? caught : p->caught;
    if (!(r <= limit)) {
        return false;
    }
    p->worst_ratio = fmax(p->worst_ratio, r / limit);
    return true;
}

/* Poison and non-finite elements are counted here, over all elements. */
static bool scan_special(struct gemm_product_check *p, const struct checked_row *row)
{
    const enum wf_dtype type = p->ref->g.matrix[GEMM_D].dtype;
    const size_t bytes = wf_dtype_bytes(type);
    bool finite = true;
    for (int64_t j = 0; j < row->line.cols; j++) {
        if (isfinite(row->got[j])) {
            continue;
        }
        finite = false;
        if (wf_is_poison(type, row->raw + (size_t)j * bytes)) {
            p->unwritten++;
        } else {
            p->nonfinite++;
        }
    }
    return finite;
}

static void check_row(struct gemm_product_check *p,
                      const struct checked_row *row,
                      const double *abx)
{
    const struct gemm *g = &p->ref->g;
    bool right = scan_special(p, row);
    p->elements += (uint64_t)row->line.cols;
    for (int64_t j = 0; j < row->line.cols && right && p->linear; j += GEMM_SIGN_COLS) {
        const int64_t n =
            row->line.cols - j < GEMM_SIGN_COLS ? row->line.cols - j : GEMM_SIGN_COLS;
        right = block_is_right(p, row, j, n, abx[j / GEMM_SIGN_COLS]);
    }
    unsigned char *flag = &p->flag[gemm_line_number(g, row->batch, row->row)];
    if (!right && *flag == ROW_RIGHT) {
        *flag = ROW_FLAGGED;
        p->flagged++;
    }
}

static enum wf_status check_panel(struct gemm_product_check *p,
                                  const struct gemm_rows *rows,
                                  int64_t col,
                                  int64_t cols,
                                  struct wf_error *err)
{
    const int64_t blocks = (cols + GEMM_SIGN_COLS - 1) / GEMM_SIGN_COLS;
    const enum wf_dtype d_type = p->ref->g.matrix[GEMM_D].dtype;
    const enum wf_status st =
        gemm_read_d(&p->w, p->ref, p->outputs, rows, col, cols, err);
    if (st != WF_OK) {
        return st;
    }
    if (p->linear) {
        make_abx(p, rows, blocks);
    }
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = rows->first + i;
        struct checked_row r = { .batch = rows->batch,
                                 .row = row,
                                 .col = col,
                                 .got = p->w.got,
                                 .raw = p->w.d +
                                        (size_t)(i * cols) * wf_dtype_bytes(d_type) };
        gemm_start_line(p->ref, &p->w, rows->batch, row, col, cols, &r.line);
        wf_to_f64(d_type, r.raw, p->w.got, (size_t)cols);
        check_row(p, &r, p->abx + i * blocks);
    }
    return WF_OK;
}

enum wf_status gemm_check_products(struct gemm_product_check *p, struct wf_error *err)
{
    const struct gemm *g = &p->ref->g;
    const int64_t width = p->blocks * GEMM_SIGN_COLS;
    for (int64_t b = 0; b < g->batch; b++) {
        const int64_t end = gemm_end_row(g, b);
        for (int64_t col = 0; col < g->n; col += width) {
            const int64_t cols = g->n - col < width ? g->n - col : width;
            if (p->linear && end > gemm_first_row(g, b)) {
                make_bx(p, b, col, cols);
            }
            for (int64_t row = gemm_first_row(g, b); row < end;
                 row += GEMM_PANEL_ROWS) {
                const int64_t left = end - row;
                const struct gemm_rows rows = {
                    b, row, left < GEMM_PANEL_ROWS ? left : GEMM_PANEL_ROWS, NULL
                };
                const enum wf_status st = check_panel(p, &rows, col, cols, err);
                if (st != WF_OK) {
                    return st;
                }
            }
        }
    }
    return WF_OK;
}
