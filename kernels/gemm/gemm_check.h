/* The parts of the gemm reference. Private to kernels/gemm/.
 *
 * One element's error budget, all with the operands as they are after rounding to their
 * types:
 *
 *   tol = u_out |ref| + e + floor                      rounding of D
 *   e   = u_split |v|                                   rounding of split sums
 *       + |alpha| S (walk u_acc                         accumulation (statistical
 * bound)
 *                    + n u_acc                          epilogue: n roundings
 *                    + u_split min(1, 4 / sqrt(K))      running sums of a split product
 *                    + 4 sqrt(K) 2^-53)                 the reference's own rounding
 *       + (|beta C| + |bias|) (n u_acc + u_split)
 *
 *   S       = ||row i of op(A)|| * ||column j of op(B)|| >= sum_k |a_ik b_kj|
 *             (Cauchy-Schwarz: rigorous, and O(MK + KN) instead of a second product),
 *             each operand times its scales
 *   walk    = 4 sqrt(K / split): four standard deviations of K / split roundings.
 *             With block128 a kernel may round the sum of each 128 terms, multiply it
 *             by its scales and add it to a running sum:
 *             4 (sqrt(128) + sqrt(K / 128 / split)), or it may scale each term first.
 *             The contract leaves that open; the larger of the two is allowed
 *   n       = 3 (times alpha, plus beta C, one to spare), 2 more with scales (SA times
 *             SB, times the sum), 1 more with a bias
 *   u_out   unit roundoff of d_type, u_acc of the accumulator (f32: 2^-24)
 *   u_split = split * u(accumulate_type) when split > 1, else 0. A running sum of
 *             partial products is taken to stay below |ref| + 4 |alpha| S / sqrt(K):
 *             its end point plus four standard deviations of a walk that gets there.
 *   floor   = half the smallest subnormal of D
 *
 * Activation. y = silu(v) = v s, s = 1 / (1 + exp(-v)). An error e of v becomes at most
 * |silu'(v)| e + e^2 / 4, as |silu''| <= 1/2, and never more than 1.1 e. The kernel's
 * own arithmetic, with a = v log2(e) off by 2 u |a| (a constant and a product), exp2 of
 * the hardware off by 4 u (2 units in the last place), 1 + exp by u, the reciprocal by
 * 2 u (1 unit) and the last product by u, makes it off by
 *
 *   u_acc |y| (4 + (1 - s) (2 |v| + 4)) + 2^-118
 *
 * where 1 - s is what of an error of exp reaches the quotient, and 2^-118 covers
 * v < -87, where exp overflows or the quotient is a denormal that devices flush. Then
 * silu_gate has y times the up half's v_u, each with its error, and one rounding:
 * e_y |v_u| + |y| e_u + e_y e_u + u_acc |y v_u|.
 *
 * The walk needs roundings of random sign: truncation of terms of one sign would
 * outgrow it. No distribution of kernels/inputs.h has such terms with inexact sums;
 * tests/kernels/test_error_models.c measures honest kernels against the limit.
 *
 * D overflows as its type says: from max + half a last place on, f32 f16 bf16 hold
 * infinity and fp8 the largest finite value. Where the budget straddles that point both
 * answers are right. */
#ifndef WF_KERNELS_GEMM_GEMM_CHECK_H
#define WF_KERNELS_GEMM_GEMM_CHECK_H

#include "kernels/gemm/gemm.h"
#include "kernels/report.h"

#define GEMM_SAMPLE_MAX 96

struct gemm_tolerance {
    double out;        /* factor of |ref|: the last rounding */
    double split;      /* factor of |v|: sums before it */
    double accumulate; /* factor of S */
    double c, bias;    /* factors of |C|, |bias| */
    double silu;       /* unit roundoff of an activation's arithmetic */
    double silu_floor; /* what it may flush */
    double floor;
    double max;      /* largest finite value of D */
    double overflow; /* where rounding leaves the finite values */
    bool saturates;
    bool exact; /* integers: equality modulo 2^32 */
};

struct gemm_sample {
    int64_t batch, row, col;
    double got, want;
};

/* What has been seen of the output so far. */
struct gemm_tally {
    uint64_t elements, mismatches, nonfinite, unwritten;
    double worst_ratio, max_abs, max_rel, max_tolerance;
    bool has_worst;
    int64_t worst[3];
    double worst_got, worst_want, worst_tolerance;
    int64_t low[3], high[3]; /* box round the wrong elements */
    bool has_first;          /* lowest place in D's storage */
    int64_t first_position, first[3];
    double first_got, first_want;
    int64_t first_unwritten[3], unwritten_position; /* when unwritten > 0 */
    int64_t first_tile; /* least max(row, column) of a wrong element */
    struct wf_error_map map;
    bool peers; /* count for struct wf_peer_tally too */
    struct wf_peer_tally peer;
    uint64_t sample_count;
    struct gemm_sample sample[GEMM_SAMPLE_MAX];
};

struct wf_reference {
    const struct gemm *problem; /* as the kernel sees it; the case's */
    struct gemm g;              /* with the strides of what is held here */
    struct wf_reference_options options;
    uint64_t seed;
    double macs, budget; /* multiply-adds of a full reference, and how many may be */
    bool sampled;        /* more than that: product check instead */
    void *input[GEMM_TENSOR_COUNT]; /* as stored; NULL when not read, and D */
    double *a_norm;                 /* [batch or 1][M], scales included */
    double *b_norm;                 /* [batch or 1][b_cols] */
    double *bias;                   /* [b_cols]; NULL without */
    struct gemm_tolerance tolerance;
};

/* Rows of one batch: first .. first + count, or the listed ones (ascending). */
struct gemm_rows {
    int64_t batch, first, count;
    const int64_t *index; /* NULL: contiguous */
};

static inline int64_t gemm_row_at(const struct gemm_rows *r, int64_t i)
{
    return r->index != NULL ? r->index[i] : r->first + i;
}

/* Buffers of one check. */
struct gemm_work {
    double *a, *b;    /* panels of the operands */
    double *product;  /* [rows][cols] of op(A) op(B) */
    double *up;       /* the same of the up half; NULL unless gated */
    double *got, *c;  /* one row */
    double *ref;      /* one row */
    double *limit;    /* one row: tolerances */
    unsigned char *d; /* [rows][d_cols] as stored, from column d_col on */
    int64_t d_col, d_cols;
};

/* Largest panels; memory is bounded whatever the problem. The output is read in whole
 * rows where that is possible (a read is a round trip to the subject), products in
 * double are made of fewer columns. */
#define GEMM_PANEL_ROWS   512
#define GEMM_PANEL_COLS   8192
#define GEMM_PRODUCT_COLS 2048
#define GEMM_PANEL_K      512

/* gemm_work.c */
enum wf_status gemm_work_init(struct gemm_work *w,
                              const struct gemm *g,
                              struct wf_error *err);
void gemm_work_fini(struct gemm_work *w);
/* What gemm_work_init takes, for any problem of this shape. */
uint64_t gemm_work_bytes(const struct gemm *g);
/* Columns [col, col + cols) of the rows of D, as stored, into w->d. */
enum wf_status gemm_read_d(struct gemm_work *w,
                           const struct wf_reference *ref,
                           const struct wf_output_source *outputs,
                           const struct gemm_rows *rows,
                           int64_t col,
                           int64_t cols,
                           struct wf_error *err);
const void *gemm_c_row(const struct wf_reference *ref, int64_t batch, int64_t row);
const double *gemm_a_norms(const struct wf_reference *ref, int64_t batch); /* [M] */
const double *gemm_b_norms(const struct wf_reference *ref,
                           int64_t batch); /* [b_cols] */
/* Matrices whose norms differ: 1 where all batches share one. */
int64_t gemm_norm_batches(const struct gemm *g, enum gemm_tensor which);

/* gemm_panel.c: dst = op(A)[rows] op(B)[:, col .. col + cols) in double, scales
 * included. */
void gemm_panel_product(struct gemm_work *w,
                        const struct wf_reference *ref,
                        const struct gemm_rows *rows,
                        int64_t col,
                        int64_t cols,
                        double *dst);
/* op(A)[rows][k .. k + depth) into w->a; returns whether it is stored transposed, with
 * `depth` rows of rows->count instead of rows->count rows of `depth`. */
bool gemm_load_a(struct gemm_work *w,
                 const struct wf_reference *ref,
                 const struct gemm_rows *rows,
                 int64_t k,
                 int64_t depth);

/* c[m][n] = a b + accumulate * c; a is [m][k] or, transposed, [k][m]; b is [k][n] with
 * row stride ldb or, transposed, [n][k]. All within panel sizes, so that int holds
 * them. */
struct gemm_product {
    int64_t m, n, k;
    bool trans_a, trans_b;
    const double *a;
    const double *b;
    int64_t ldb;
    double *c;
    bool accumulate;
};
void gemm_multiply(const struct gemm_product *p);

/* gemm_tolerance.c */
void gemm_set_tolerance(struct gemm_tolerance *t,
                        const struct gemm *g,
                        const struct wf_reference_options *o);
void gemm_tolerance_text(const struct wf_reference *ref, struct wf_check_report *ret);

/* Of an element of a linear problem, where D, S, C and bias are known in size. */
static inline double gemm_budget(const struct gemm_tolerance *t,
                                 double d,
                                 double s,
                                 double c,
                                 double bias)
{
    return (t->out + t->split) * d + t->accumulate * s + t->c * c + t->bias * bias +
           t->floor;
}

/* gemm_finish.c */
/* What an element, or one half of it, is made of. */
struct gemm_parts {
    double v;    /* alpha * sum + beta * C + bias */
    double size; /* S */
    double c, bias;
};
/* A part of a row, half by half (the second: the up columns, only where gated). */
struct gemm_line {
    int64_t cols;
    const double *v[2];
    double a_norm;
    const double *b_norm[2];
    const double *c;       /* NULL without */
    const double *bias[2]; /* NULL without */
};
double gemm_silu(double v);
/* The value before the last rounding, and how far an honest one may be from it. `up` is
 * not looked at unless the problem is gated. */
void gemm_finish_element(const struct wf_reference *ref,
                         const struct gemm_parts *gate,
                         const struct gemm_parts *up,
                         double *ret_value,
                         double *ret_error);
void gemm_finish_line(const struct wf_reference *ref,
                      const struct gemm_line *l,
                      double *ret_ref,
                      double *ret_tolerance);
/* product = alpha * product + beta * c + bias. */
void gemm_add_up(const struct wf_reference *ref,
                 const double *c,
                 const double *bias,
                 double *product,
                 int64_t cols);
/* All of a line but v; C goes through w->c. */
void gemm_start_line(const struct wf_reference *ref,
                     struct gemm_work *w,
                     int64_t batch,
                     int64_t row,
                     int64_t col,
                     int64_t cols,
                     struct gemm_line *ret);

/* gemm_scales.c. `line`: a row of op(A) or a column of op(B). */
struct gemm_place {
    int64_t batch, line, k;
};
double gemm_scale_at(const struct wf_reference *ref,
                     enum gemm_tensor which,
                     int64_t batch,
                     int64_t line,
                     int64_t k); /* 1 without scales */
/* x[i] times the scale of k + i of one line; of one k of line + i. */
void gemm_scale_line(const struct wf_reference *ref,
                     enum gemm_tensor which,
                     const struct gemm_place *p,
                     double *x,
                     int64_t n);
void gemm_scale_across(const struct wf_reference *ref,
                       enum gemm_tensor which,
                       const struct gemm_place *p,
                       double *x,
                       int64_t n);

/* gemm_compare.c */
struct gemm_row {
    int64_t batch, row, col, cols;
    const double *ref, *limit; /* limit: NULL for integers */
    const double *got;
    const unsigned char *raw; /* got as stored */
};
void gemm_tally_init(struct gemm_tally *tally, const struct gemm *g);
void gemm_compare_row(struct gemm_tally *tally,
                      const struct wf_reference *ref,
                      const struct gemm_row *row);
void gemm_tally_report(const struct gemm_tally *tally, struct wf_check_report *ret);

/* gemm_full.c: compares whole rows one element at a time. */
enum wf_status gemm_check_rows(struct gemm_work *w,
                               const struct wf_reference *ref,
                               const struct wf_output_source *outputs,
                               const struct gemm_rows *rows,
                               struct gemm_tally *tally,
                               struct wf_error *err);
enum wf_status gemm_check_full(const struct wf_reference *ref,
                               const struct wf_output_source *outputs,
                               struct wf_check_report *ret,
                               struct wf_error *err);

/* gemm_freivalds.c */
uint64_t gemm_sampled_bytes(const struct gemm *g); /* of the product check alone */
enum wf_status gemm_check_sampled(const struct wf_reference *ref,
                                  const struct wf_output_source *outputs,
                                  struct wf_check_report *ret,
                                  struct wf_error *err);

/* gemm_diagnose.c: the likely cause, "" when nothing fits. */
void gemm_diagnose(const struct wf_reference *ref,
                   const struct gemm_tally *tally,
                   struct wf_check_report *ret);

/* An element of an operand as stored, without its scale, in double. */
double gemm_element(const struct wf_reference *ref, enum gemm_tensor which, int64_t at);

#endif
