/* Product check for problems beyond the budget (Freivalds 1977, in blocks of columns).
 *
 * For a block of W columns and a vector x of random signs, each row i gives
 *
 *   r_i = D_i x - alpha A_i (B x) - beta C_i x = sum_j x_j (D_ij - ref_ij)
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
 * Integer problems are exact: r_i must be 0 modulo 2^32. */
#include "kernels/gemm/gemm_check.h"

#include "core/buf.h"
#include "core/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_COLS   32
#define SAMPLE_ROWS  64
#define LIMIT_FACTOR 4.0
#define PANEL_BYTES  (64 * 1024 * 1024)
/* Streams of the checker's own draws, apart from those of the tensors. */
#define SIGN_STREAM  UINT64_C(0x7369676e73)
#define ROW_STREAM   UINT64_C(0x726f7773)

/* What is known of a row; a byte each. */
enum row_mark {
    ROW_RIGHT, /* every block within its limit */
    ROW_FLAGGED,
    ROW_FLAGGED_DONE, /* compared element by element */
    ROW_SAMPLED,
    ROW_SAMPLED_DONE
};

struct product_check {
    const struct wf_reference *ref;
    const struct wf_output_source *outputs;
    struct gemm_work w;
    double *x;           /* [N] signs */
    double *bx;          /* [blocks of the panel][K] */
    double *abx;         /* [rows][blocks of the panel] */
    int64_t blocks;      /* in a full panel */
    unsigned char *flag; /* [batch * M] enum row_mark */
    uint64_t flagged;
    uint64_t unwritten, nonfinite; /* seen in all elements */
    double worst_ratio, caught;
    uint64_t elements;
};

static double sign_of(uint64_t word)
{
    return (word & 1) != 0 ? -1.0 : 1.0;
}

/* Blocks in a full panel of columns. */
static int64_t panel_blocks(const struct gemm *g)
{
    const int64_t all = (g->n + BLOCK_COLS - 1) / BLOCK_COLS;
    const int64_t fit = PANEL_BYTES / (int64_t)sizeof(double) / (g->k > 0 ? g->k : 1);
    const int64_t most = GEMM_PANEL_COLS / BLOCK_COLS;
    const int64_t blocks = fit < 1 ? 1 : fit < most ? fit : most;
    return blocks < all ? blocks : all;
}

uint64_t gemm_sampled_bytes(const struct gemm *g)
{
    const uint64_t blocks = (uint64_t)panel_blocks(g);
    return ((uint64_t)g->n + blocks * ((uint64_t)g->k + GEMM_PANEL_ROWS)) *
               sizeof(double) +
           (uint64_t)g->batch * (uint64_t)g->m;
}

static enum wf_status allocate(struct product_check *p, struct wf_error *err)
{
    const struct gemm *g = &p->ref->g;
    p->blocks = panel_blocks(g);
    p->x = wf_calloc((size_t)g->n, sizeof *p->x);
    p->bx = wf_calloc((size_t)p->blocks, (size_t)g->k * sizeof *p->bx);
    p->abx = wf_calloc((size_t)p->blocks * GEMM_PANEL_ROWS, sizeof *p->abx);
    p->flag = wf_calloc((size_t)(g->batch * g->m), 1);
    if (p->x == NULL || p->bx == NULL || p->abx == NULL || p->flag == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the product check of a gemm");
    }
    for (int64_t j = 0; j < g->n; j++) {
        p->x[j] = sign_of(wf_rng_u64(p->ref->seed, SIGN_STREAM, (uint64_t)j));
    }
    return gemm_work_init(&p->w, g, err);
}

static void release(struct product_check *p)
{
    free(p->x);
    free(p->bx);
    free(p->abx);
    free(p->flag);
    gemm_work_fini(&p->w);
}

/* bx[block][k] = sum of x_j op(B)[k][j] over the block's columns. */
static void make_bx(struct product_check *p, int64_t batch, int64_t col, int64_t cols)
{
    const struct gemm *g = &p->ref->g;
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    const size_t bytes = wf_dtype_bytes(b->dtype);
    const char *data =
        (const char *)p->ref->input[GEMM_B] + (size_t)(batch * b->stride) * bytes;
    double *row = p->w.b; /* holds at least a piece of either kind */
    const int64_t blocks = (cols + BLOCK_COLS - 1) / BLOCK_COLS;
    for (int64_t i = 0; i < blocks * g->k; i++) {
        p->bx[i] = 0.0;
    }
    for (int64_t k = 0; k < g->k && !g->trans_b; k++) {
        wf_to_f64(b->dtype, data + (size_t)(k * b->ld + col) * bytes, row,
                  (size_t)cols);
        for (int64_t j = 0; j < cols; j++) {
            p->bx[j / BLOCK_COLS * g->k + k] += p->x[col + j] * row[j];
        }
    }
    for (int64_t j = 0; j < cols && g->trans_b; j++) {
        double *sum = p->bx + j / BLOCK_COLS * g->k;
        for (int64_t k = 0; k < g->k; k += GEMM_PANEL_K) {
            const int64_t n = g->k - k < GEMM_PANEL_K ? g->k - k : GEMM_PANEL_K;
            wf_to_f64(b->dtype, data + (size_t)((col + j) * b->ld + k) * bytes, row,
                      (size_t)n);
            for (int64_t i = 0; i < n; i++) {
                sum[k + i] += p->x[col + j] * row[i];
            }
        }
    }
}

/* abx = op(A)[rows] bx^T. */
static void make_abx(struct product_check *p,
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

struct block_sums {
    double r;         /* D x - beta C x */
    double tol, tol2; /* sums of the budgets and of their squares */
    double size;      /* of what r was added up from, for its own rounding */
};

static void add_block(const struct product_check *p,
                      const struct gemm_row *row,
                      int64_t first,
                      int64_t n,
                      struct block_sums *s)
{
    const struct gemm *g = &p->ref->g;
    const struct gemm_tolerance *t = &p->ref->tolerance;
    *s = (struct block_sums){ 0 };
    for (int64_t j = first; j < first + n; j++) {
        const double x = p->x[row->col + j];
        const double c = row->c != NULL ? row->c[j] : 0.0;
        const double d = row->got[j];
        const double norms = row->a_norm * row->b_norm[j];
        const double tol = gemm_budget(t, fabs(d), norms, fabs(c));
        s->r += x * (d - g->beta * c);
        s->tol += tol;
        s->tol2 += tol * tol;
        s->size += fabs(d) + fabs(g->beta * c) + fabs(g->alpha) * norms;
    }
}

/* The same residual for integers, modulo 2^64. Products of A and B are exact in double
 * (|r| < 2^14 K W), what alpha and beta make of them is not. */
static bool integer_block_is_right(const struct product_check *p,
                                   const struct gemm_row *row,
                                   int64_t first,
                                   int64_t n,
                                   double product)
{
    const uint64_t alpha = (uint64_t)(int64_t)p->ref->g.alpha;
    const uint64_t beta = (uint64_t)(int64_t)p->ref->g.beta;
    uint64_t r = 0 - alpha * (uint64_t)(int64_t)product;
    for (int64_t j = first; j < first + n; j++) {
        const uint64_t c = row->c != NULL ? (uint64_t)(int64_t)row->c[j] : 0;
        const uint64_t term = (uint64_t)(int64_t)row->got[j] - beta * c;
        r += p->x[row->col + j] < 0.0 ? 0 - term : term;
    }
    return (uint32_t)r == 0;
}

/* False: the row must be looked at. */
static bool block_is_right(struct product_check *p,
                           const struct gemm_row *row,
                           int64_t first,
                           int64_t n,
                           double product)
{
    const struct gemm *g = &p->ref->g;
    const double out = p->ref->tolerance.out;
    struct block_sums s;
    if (p->ref->tolerance.exact) {
        return integer_block_is_right(p, row, first, n, product);
    }
    add_block(p, row, first, n, &s);
    const double r = fabs(s.r - g->alpha * product);
    const double own = 0x1p-52 * s.size * (double)(g->k + 2 * BLOCK_COLS);
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
static bool scan_special(struct product_check *p, const struct gemm_row *row)
{
    const enum wf_dtype type = p->ref->g.matrix[GEMM_D].dtype;
    const size_t bytes = wf_dtype_bytes(type);
    bool finite = true;
    for (int64_t j = 0; j < row->cols; j++) {
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

static void check_row(struct product_check *p,
                      const struct gemm_row *row,
                      const double *abx)
{
    const struct gemm *g = &p->ref->g;
    bool right = scan_special(p, row);
    p->elements += (uint64_t)row->cols;
    for (int64_t j = 0; j < row->cols && right; j += BLOCK_COLS) {
        const int64_t n = row->cols - j < BLOCK_COLS ? row->cols - j : BLOCK_COLS;
        right = block_is_right(p, row, j, n, abx[j / BLOCK_COLS]);
    }
    unsigned char *flag = &p->flag[row->batch * g->m + row->row];
    if (!right && *flag == ROW_RIGHT) {
        *flag = ROW_FLAGGED;
        p->flagged++;
    }
}

static enum wf_status check_panel(struct product_check *p,
                                  const struct gemm_rows *rows,
                                  int64_t col,
                                  int64_t cols,
                                  struct wf_error *err)
{
    const struct gemm *g = &p->ref->g;
    const int64_t blocks = (cols + BLOCK_COLS - 1) / BLOCK_COLS;
    const enum wf_dtype d_type = g->matrix[GEMM_D].dtype;
    const enum wf_dtype c_type = g->matrix[GEMM_C].dtype;
    const enum wf_status st =
        gemm_read_d(&p->w, p->ref, p->outputs, rows, col, cols, err);
    if (st != WF_OK) {
        return st;
    }
    make_abx(p, rows, blocks);
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = rows->first + i;
        const unsigned char *raw = p->w.d + (size_t)(i * cols) * wf_dtype_bytes(d_type);
        if (gemm_reads_c(g)) {
            const char *c = gemm_c_row(p->ref, rows->batch, row);
            wf_to_f64(c_type, c + (size_t)col * wf_dtype_bytes(c_type), p->w.c,
                      (size_t)cols);
        }
        wf_to_f64(d_type, raw, p->w.got, (size_t)cols);
        const struct gemm_row r = { .batch = rows->batch,
                                    .row = row,
                                    .col = col,
                                    .cols = cols,
                                    .got = p->w.got,
                                    .raw = raw,
                                    .a_norm = gemm_a_norms(p->ref, rows->batch)[row],
                                    .b_norm = gemm_b_norms(p->ref, rows->batch) + col,
                                    .c = gemm_reads_c(g) ? p->w.c : NULL };
        check_row(p, &r, p->abx + i * blocks);
    }
    return WF_OK;
}

static enum wf_status check_products(struct product_check *p, struct wf_error *err)
{
    const struct gemm *g = &p->ref->g;
    const int64_t width = p->blocks * BLOCK_COLS;
    for (int64_t b = 0; b < g->batch; b++) {
        for (int64_t col = 0; col < g->n; col += width) {
            const int64_t cols = g->n - col < width ? g->n - col : width;
            make_bx(p, b, col, cols);
            for (int64_t row = 0; row < g->m; row += GEMM_PANEL_ROWS) {
                const int64_t left = g->m - row;
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

/* Rows of one batch with `mark`, at most a panel: all, or the first ones and some
 * spread over the rest, so that the error map has something to show of the whole
 * output. Those taken are marked DONE. */
static int64_t take_marked(struct product_check *p,
                           int64_t batch,
                           enum row_mark mark,
                           int64_t *index)
{
    unsigned char *flag = p->flag + batch * p->ref->g.m;
    const int64_t m = p->ref->g.m;
    int64_t left = 0;
    int64_t n = 0;
    int64_t seen = 0;
    for (int64_t row = 0; row < m; row++) {
        left += flag[row] == mark;
    }
    const int64_t head = left <= GEMM_PANEL_ROWS ? left : GEMM_PANEL_ROWS / 2;
    const int64_t rest = left - head;
    const int64_t step =
        rest > 0 ? (rest + GEMM_PANEL_ROWS / 2 - 1) / (GEMM_PANEL_ROWS / 2) : 1;
    for (int64_t row = 0; row < m; row++) {
        if (flag[row] != mark) {
            continue;
        }
        if (seen < head || (seen - head) % step == step - 1) {
            index[n++] = row;
            flag[row] = mark == ROW_FLAGGED ? ROW_FLAGGED_DONE : ROW_SAMPLED_DONE;
        }
        seen++;
    }
    return n;
}

/* Full comparison of the rows with `mark` until a panel of them is done and holds a
 * wrong element: the answer is known then, and a thoroughly wrong output would cost the
 * full product. Returns the rows looked at in *ret_rows. */
static enum wf_status check_marked(struct product_check *p,
                                   enum row_mark mark,
                                   struct gemm_tally *tally,
                                   uint64_t *ret_rows,
                                   struct wf_error *err)
{
    const struct gemm *g = &p->ref->g;
    int64_t index[GEMM_PANEL_ROWS];
    *ret_rows = 0;
    for (int64_t b = 0; b < g->batch; b++) {
        struct gemm_rows rows = { b, 0, take_marked(p, b, mark, index), index };
        while (rows.count > 0) {
            const enum wf_status st =
                gemm_check_rows(&p->w, p->ref, p->outputs, &rows, tally, err);
            if (st != WF_OK) {
                return st;
            }
            *ret_rows += (uint64_t)rows.count;
            if (*ret_rows >= GEMM_PANEL_ROWS &&
                tally->mismatches + tally->nonfinite + tally->unwritten > 0) {
                return WF_OK;
            }
            rows.count = take_marked(p, b, mark, index);
        }
    }
    return WF_OK;
}

static void report_products(const struct product_check *p,
                            const struct gemm_tally *flagged,
                            uint64_t looked_at,
                            struct wf_check_report *ret)
{
    struct wf_check *c = &ret->check[ret->check_count++];
    (void)snprintf(c->name, sizeof c->name, "freivalds-blocked");
    c->passed = flagged->mismatches + flagged->nonfinite + flagged->unwritten == 0;
    c->elements = p->elements;
    c->worst_ratio =
        c->passed ? p->worst_ratio : fmax(p->worst_ratio, flagged->worst_ratio);
    c->smallest_caught = p->ref->tolerance.exact ? 1.0 : p->caught;
    c->seed = p->ref->seed;
    (void)snprintf(
        c->note, sizeof c->note,
        "random signs over %d columns; several small errors in one block of a "
        "row may cancel; %llu rows flagged, %llu of them compared in full",
        BLOCK_COLS, (unsigned long long)p->flagged, (unsigned long long)looked_at);
}

static void report_samples(const struct product_check *p,
                           const struct gemm_tally *tally,
                           uint64_t rows,
                           struct wf_check_report *ret)
{
    struct wf_check *c = &ret->check[ret->check_count++];
    const uint64_t all = (uint64_t)p->ref->g.batch * (uint64_t)p->ref->g.m;
    (void)snprintf(c->name, sizeof c->name, "sampled-rows");
    c->passed = tally->mismatches + tally->nonfinite + tally->unwritten == 0;
    c->elements = tally->elements;
    c->worst_ratio = tally->worst_ratio;
    c->smallest_caught = p->ref->tolerance.exact ? 1.0 : tally->max_tolerance;
    c->seed = p->ref->seed;
    (void)snprintf(
        c->note, sizeof c->note,
        "full double on %llu of %llu rows, drawn anew each time; says nothing of "
        "the others (all: %.3g multiply-adds, at most %.3g)",
        (unsigned long long)rows, (unsigned long long)all, p->ref->macs,
        p->ref->budget);
}

/* Marks the sample, leaving flagged rows alone. */
static void choose_rows(struct product_check *p)
{
    const uint64_t all = (uint64_t)p->ref->g.batch * (uint64_t)p->ref->g.m;
    for (uint64_t i = 0; i < SAMPLE_ROWS; i++) {
        const uint64_t row = wf_rng_below(p->ref->seed, ROW_STREAM, i, all);
        if (p->flag[row] == ROW_RIGHT) {
            p->flag[row] = ROW_SAMPLED;
        }
    }
}

/* Rows that no block flagged were looked at by the product check; flagged ones only
 * where they were compared, which `flagged` has counted. */
static void finish_map(const struct product_check *p,
                       struct wf_error_map *map,
                       const struct wf_error_map *sample)
{
    const struct gemm *g = &p->ref->g;
    for (int64_t row = 0; row < g->batch * g->m && map->known; row++) {
        if (p->flag[row] != ROW_FLAGGED && p->flag[row] != ROW_FLAGGED_DONE) {
            wf_error_map_checked(map, row, 0, g->n);
        }
    }
    for (int i = 0; i < map->map_rows; i++) {
        for (int j = 0; j < map->map_cols; j++) {
            map->wrong[i][j] += sample->wrong[i][j];
        }
    }
}

static void merge(const struct product_check *p,
                  struct gemm_tally *into,
                  const struct gemm_tally *from)
{
    const struct wf_error_map map = into->map;
    const uint64_t mismatches = into->mismatches + from->mismatches;
    const uint64_t nonfinite = into->nonfinite + from->nonfinite;
    const uint64_t unwritten = into->unwritten + from->unwritten;
    const double max_abs = fmax(into->max_abs, from->max_abs);
    const double max_rel = fmax(into->max_rel, from->max_rel);
    /* What only a sample saw: practically never, as every row goes through the product
     * check first. */
    if (from->has_first &&
        (!into->has_first || from->first_position < into->first_position)) {
        *into = *from;
    }
    into->map = map;
    into->mismatches = mismatches;
    into->nonfinite = nonfinite;
    into->unwritten = unwritten;
    into->max_abs = max_abs;
    into->max_rel = max_rel;
    finish_map(p, &into->map, &from->map);
}

/* Poison and non-finite elements were counted over all rows; the rows compared in full
 * say whether a non-finite element is wrong. Unwritten ones are wrong wherever they
 * are. */
static void report_answer(const struct product_check *p,
                          struct gemm_tally *flagged,
                          const struct gemm_tally *sample,
                          struct wf_check_report *ret)
{
    merge(p, flagged, sample);
    if (flagged->unwritten > 0 && p->unwritten > flagged->unwritten) {
        flagged->unwritten = p->unwritten;
    }
    if (flagged->nonfinite > 0 && p->nonfinite > flagged->nonfinite) {
        flagged->nonfinite = p->nonfinite;
    }
    gemm_tally_report(flagged, ret);
}

enum wf_status gemm_check_sampled(const struct wf_reference *ref,
                                  const struct wf_output_source *outputs,
                                  struct wf_check_report *ret,
                                  struct wf_error *err)
{
    struct product_check p = { .ref = ref, .outputs = outputs };
    struct gemm_tally flagged, sample;
    uint64_t flagged_rows = 0, sample_rows = 0;
    gemm_tally_init(&flagged, &ref->g);
    gemm_tally_init(&sample, &ref->g);
    enum wf_status st = allocate(&p, err);
    if (st == WF_OK) {
        st = check_products(&p, err);
    }
    if (st == WF_OK) {
        st = check_marked(&p, ROW_FLAGGED, &flagged, &flagged_rows, err);
    }
    if (st == WF_OK) {
        choose_rows(&p);
        st = check_marked(&p, ROW_SAMPLED, &sample, &sample_rows, err);
    }
    if (st == WF_OK) {
        report_products(&p, &flagged, flagged_rows, ret);
        report_samples(&p, &sample, sample_rows, ret);
        report_answer(&p, &flagged, &sample, ret);
        gemm_diagnose(ref, &flagged, ret);
    }
    release(&p);
    return st;
}
