/* Diagnosis by value: what each of a table of simple mistakes would have made of an
 * element, compared with what was found there. */
#include "kernels/gemm/gemm_diagnose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIN_HITS   4
#define SPLIT_MOST 32

/* How a mistaken kernel sees the operands. */
struct view {
    bool flip_a, flip_b;
    int64_t row, col, k_begin, k_end;
    int64_t batch_a, batch_b;
    enum wf_dtype rounded; /* operands rounded to it first; WF_F64: not */
};

/* Position of op(X)[i][j] when stored rows are the first index unless `turned`; ld as
 * the reader of that layout would take it: the problem's own, or tight when flipped. */
static int64_t position(const struct gemm_matrix *x,
                        bool turned,
                        bool flipped,
                        const int64_t at[2])
{
    const bool swap = turned != flipped;
    const int64_t ld = flipped ? x->rows : x->ld;
    return swap ? at[1] * ld + at[0] : at[0] * ld + at[1];
}

static double rounded(enum wf_dtype t, double v)
{
    unsigned char raw[8];
    double r;
    if (t == WF_F64) {
        return v;
    }
    wf_from_f64(t, &v, raw, 1);
    wf_to_f64(t, raw, &r, 1);
    return r;
}

static double term(const struct gemm_evidence *e, const struct view *v, int64_t k)
{
    const struct gemm *g = &e->ref->g;
    const struct gemm_matrix *a = &g->matrix[GEMM_A];
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    const int64_t pa = position(a, g->trans_a, v->flip_a, (int64_t[]){ v->row, k });
    const int64_t pb = position(b, g->trans_b, v->flip_b, (int64_t[]){ k, v->col });
    return rounded(v->rounded,
                   gemm_element(e->ref, GEMM_A, v->batch_a * a->stride + pa)) *
           rounded(v->rounded,
                   gemm_element(e->ref, GEMM_B, v->batch_b * b->stride + pb));
}

static double dot(const struct gemm_evidence *e, const struct view *v)
{
    double sum = 0.0;
    for (int64_t k = v->k_begin; k < v->k_end; k++) {
        sum += term(e, v, k);
    }
    return sum;
}

static struct view plain_view(const struct gemm_evidence *e)
{
    return (struct view){ .row = e->s.row,
                          .col = e->s.col,
                          .k_end = e->ref->g.k,
                          .batch_a = e->s.batch,
                          .batch_b = e->s.batch,
                          .rounded = WF_F64 };
}

/* C at a storage position of the element's batch; NaN outside the matrix. */
static double c_at(const struct gemm_evidence *e,
                   int64_t batch,
                   int64_t row,
                   int64_t col)
{
    const struct gemm_matrix *x = &e->ref->g.matrix[GEMM_C];
    if (!gemm_reads_c(&e->ref->g) || row >= x->rows || col >= x->cols) {
        return (double)NAN;
    }
    return gemm_element(e->ref, GEMM_C, batch * x->stride + row * x->ld + col);
}

static double combine(const struct gemm_evidence *e, double acc)
{
    return e->ref->g.alpha * acc + e->ref->g.beta * e->c;
}

static double with_c(const struct gemm_evidence *e, double c)
{
    return e->ref->g.alpha * e->acc + e->ref->g.beta * c;
}

/* --- the mistakes: what the element would hold; NaN where one does not apply --- */

static double nothing(const struct gemm_evidence *e, int64_t p)
{
    (void)e;
    (void)p;
    return 0.0;
}

/* Factors are given as powers of two. */
static double product_times(const struct gemm_evidence *e, int64_t p)
{
    return gemm_reads_c(&e->ref->g) ? combine(e, ldexp(e->acc, (int)p)) : (double)NAN;
}

static double all_times(const struct gemm_evidence *e, int64_t p)
{
    return ldexp(e->s.want, (int)p);
}

static double without_c(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * e->acc : (double)NAN;
}

static double with_beta_one(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * e->acc + e->c : (double)NAN;
}

static double with_alpha_one(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->acc + e->ref->g.beta * e->c;
}

static double with_alpha_twice(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return combine(e, e->ref->g.alpha * e->acc);
}

static double with_alpha_over_all(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * (e->acc + e->ref->g.beta * e->c)
                                    : (double)NAN;
}

static double c_turned(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return with_c(e, c_at(e, e->s.batch, e->s.col, e->s.row));
}

static double c_first_row(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return with_c(e, c_at(e, e->s.batch, 0, e->s.col));
}

static double c_first_col(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return with_c(e, c_at(e, e->s.batch, e->s.row, 0));
}

static double a_flipped(const struct gemm_evidence *e, int64_t p)
{
    struct view v = plain_view(e);
    (void)p;
    v.flip_a = true;
    return combine(e, dot(e, &v));
}

static double b_flipped(const struct gemm_evidence *e, int64_t p)
{
    struct view v = plain_view(e);
    (void)p;
    v.flip_b = true;
    return combine(e, dot(e, &v));
}

static double d_transposed(const struct gemm_evidence *e, int64_t p)
{
    struct view v = plain_view(e);
    (void)p;
    v.row = e->s.col;
    v.col = e->s.row;
    return e->ref->g.m == e->ref->g.n && !gemm_reads_c(&e->ref->g)
               ? combine(e, dot(e, &v))
               : (double)NAN;
}

static double batch_0_of_a(const struct gemm_evidence *e, int64_t p)
{
    struct view v = plain_view(e);
    (void)p;
    v.batch_a = 0;
    return e->s.batch > 0 && e->ref->g.matrix[GEMM_A].stride != 0
               ? combine(e, dot(e, &v))
               : (double)NAN;
}

static double batch_0_of_b(const struct gemm_evidence *e, int64_t p)
{
    struct view v = plain_view(e);
    (void)p;
    v.batch_b = 0;
    return e->s.batch > 0 && e->ref->g.matrix[GEMM_B].stride != 0
               ? combine(e, dot(e, &v))
               : (double)NAN;
}

static double batch_0_of_both(const struct gemm_evidence *e, int64_t p)
{
    struct view v = plain_view(e);
    (void)p;
    v.batch_a = v.batch_b = 0;
    return e->s.batch > 0 ? combine(e, dot(e, &v)) : (double)NAN;
}

static double batch_0_of_all(const struct gemm_evidence *e, int64_t p)
{
    struct view v = plain_view(e);
    (void)p;
    v.batch_a = v.batch_b = 0;
    return e->s.batch > 0 && gemm_reads_c(&e->ref->g)
               ? e->ref->g.alpha * dot(e, &v) +
                     e->ref->g.beta * c_at(e, 0, e->s.row, e->s.col)
               : (double)NAN;
}

static double batch_0_of_c(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->s.batch > 0 ? with_c(e, c_at(e, 0, e->s.row, e->s.col)) : (double)NAN;
}

/* The answer of another place; NaN outside the output. */
static double answer_at(const struct gemm_evidence *e,
                        int64_t batch,
                        int64_t row,
                        int64_t col)
{
    const struct gemm *g = &e->ref->g;
    struct view v = plain_view(e);
    if (batch < 0 || batch >= g->batch || row < 0 || row >= g->m || col < 0 ||
        col >= g->n) {
        return (double)NAN;
    }
    v.row = row;
    v.col = col;
    v.batch_a = v.batch_b = batch;
    return g->alpha * dot(e, &v) +
           (gemm_reads_c(g) ? g->beta * c_at(e, batch, row, col) : 0.0);
}

static double row_shifted(const struct gemm_evidence *e, int64_t p)
{
    return answer_at(e, e->s.batch, e->s.row + p, e->s.col);
}

static double col_shifted(const struct gemm_evidence *e, int64_t p)
{
    return answer_at(e, e->s.batch, e->s.row, e->s.col + p);
}

static double batch_shifted(const struct gemm_evidence *e, int64_t p)
{
    return answer_at(e, e->s.batch + p, e->s.row, e->s.col);
}

static double without_tail(const struct gemm_evidence *e, int64_t tile)
{
    struct view v = plain_view(e);
    v.k_end -= v.k_end % tile;
    return v.k_end < e->ref->g.k ? combine(e, dot(e, &v)) : (double)NAN;
}

static double without_last(const struct gemm_evidence *e, int64_t n)
{
    struct view v = plain_view(e);
    v.k_end -= n;
    return v.k_end > 0 ? combine(e, dot(e, &v)) : (double)NAN;
}

static double first_tile_only(const struct gemm_evidence *e, int64_t tile)
{
    struct view v = plain_view(e);
    v.k_end = tile;
    return tile < e->ref->g.k ? combine(e, dot(e, &v)) : (double)NAN;
}

static double without_first(const struct gemm_evidence *e, int64_t tile)
{
    struct view v = plain_view(e);
    v.k_begin = tile;
    return tile < e->ref->g.k ? combine(e, dot(e, &v)) : (double)NAN;
}

static double operands_rounded(const struct gemm_evidence *e, int64_t type)
{
    const struct gemm_matrix *x = e->ref->g.matrix;
    struct view v = plain_view(e);
    v.rounded = (enum wf_dtype)type;
    return x[GEMM_A].dtype != v.rounded || x[GEMM_B].dtype != v.rounded
               ? combine(e, dot(e, &v))
               : (double)NAN;
}

static double result_rounded(const struct gemm_evidence *e, int64_t type)
{
    return e->ref->g.matrix[GEMM_D].dtype != (enum wf_dtype)type
               ? rounded((enum wf_dtype)type, e->s.want)
               : (double)NAN;
}

/* X(function, parameter, kind, text). The order is the order in which they are tried:
 * cheap ones and those that are a special case of others first. */
/* clang-format off */
#define FACTOR_ROWS(X, p, words) \
    X(all_times, p, FACTOR, "D is " words " the right one") \
    X(product_times, p, FACTOR, "the product is " words " the right one")
#define SHIFT_ROWS(X, n, words) \
    X(row_shifted, n, OTHER, "row i of D holds the answer of row i + " words) \
    X(row_shifted, -(n), OTHER, "row i of D holds the answer of row i - " words) \
    X(col_shifted, n, OTHER, "column j of D holds the answer of column j + " words) \
    X(col_shifted, -(n), OTHER, "column j of D holds the answer of column j - " words)
#define TILE_ROWS(X, n, words) \
    X(without_tail, n, OTHER, "the tail of K beyond a multiple of " words " is missing") \
    X(without_last, n, OTHER, "the last " words " of K are missing") \
    X(first_tile_only, n, OTHER, "only the first " words " of K are in the sum") \
    X(without_first, n, OTHER, "the first " words " of K are missing")
#define ROUNDED_ROWS(X, type, words) \
    X(result_rounded, WF_##type, OTHER, "the result was rounded to " words " on its way to D") \
    X(operands_rounded, WF_##type, OTHER, "A and B were rounded to " words " first")
#define MISTAKE_LIST(X) \
    X(nothing, 0, OTHER, "the wrong elements are 0: a tile was not computed") \
    X(without_c, 0, SCALAR, "beta * C is missing") \
    X(with_beta_one, 0, SCALAR, "C was added without beta") \
    X(with_alpha_one, 0, SCALAR, "alpha was not applied") \
    X(with_alpha_over_all, 0, SCALAR, "alpha was applied to C as well") \
    X(with_alpha_twice, 0, SCALAR, "alpha was applied twice") \
    FACTOR_ROWS(X, 1, "2 times") \
    FACTOR_ROWS(X, -1, "1/2 of") \
    FACTOR_ROWS(X, 2, "4 times") \
    FACTOR_ROWS(X, -2, "1/4 of") \
    X(c_turned, 0, OTHER, "C was read transposed: its rows and columns are mixed up") \
    X(c_first_row, 0, OTHER, "the first row of C was added to every row, as a bias") \
    X(c_first_col, 0, OTHER, "the first column of C was added to every column, as a bias") \
    X(batch_0_of_a, 0, OTHER, "A of batch 0 was used for every batch: its stride is ignored") \
    X(batch_0_of_b, 0, OTHER, "B of batch 0 was used for every batch: its stride is ignored") \
    X(batch_0_of_both, 0, OTHER, "A and B of batch 0 were used for every batch: strides are ignored") \
    X(batch_0_of_all, 0, OTHER, "A, B and C of batch 0 were used for every batch: strides are ignored") \
    X(batch_0_of_c, 0, OTHER, "C of batch 0 was used for every batch: its stride is ignored") \
    X(a_flipped, 0, OTHER, "A was read as if it were stored the other way (trans_a)") \
    X(b_flipped, 0, OTHER, "B was read as if it were stored the other way (trans_b)") \
    X(d_transposed, 0, OTHER, "D was written transposed") \
    X(batch_shifted, 1, OTHER, "a batch of D holds the answer of the next batch") \
    X(batch_shifted, -1, OTHER, "a batch of D holds the answer of the batch before") \
    X(without_last, 1, OTHER, "the last term of K is missing") \
    TILE_ROWS(X, 16, "16") TILE_ROWS(X, 32, "32") TILE_ROWS(X, 64, "64") \
    TILE_ROWS(X, 128, "128") TILE_ROWS(X, 256, "256") \
    SHIFT_ROWS(X, 1, "1") SHIFT_ROWS(X, 16, "16") SHIFT_ROWS(X, 32, "32") \
    SHIFT_ROWS(X, 64, "64") SHIFT_ROWS(X, 128, "128") \
    ROUNDED_ROWS(X, F16, "f16") ROUNDED_ROWS(X, BF16, "bf16") \
    ROUNDED_ROWS(X, E4M3FNUZ, "e4m3fnuz") ROUNDED_ROWS(X, E4M3FN, "e4m3fn") \
    ROUNDED_ROWS(X, E5M2, "e5m2 or e5m2fnuz")
/* clang-format on */

static const struct mistake {
    double (*predict)(const struct gemm_evidence *e, int64_t p);
    int64_t p;
    enum gemm_mistake_kind kind;
    const char *text;
} MISTAKES[] = {
#define X(function, p, kind, text) { function, p, GEMM_MISTAKE_##kind, text },
    MISTAKE_LIST(X)
#undef X
};
#define MISTAKE_COUNT (sizeof MISTAKES / sizeof *MISTAKES)

static double budget_at(const struct gemm_evidence *e, double value)
{
    const struct wf_reference *ref = e->ref;
    const double s = gemm_a_norms(ref, e->s.batch)[e->s.row] *
                     gemm_b_norms(ref, e->s.batch)[e->s.col];
    return gemm_budget(&ref->tolerance, fabs(value), s, fabs(e->c));
}

/* As D holds it: fp8 saturates. */
static double as_stored(const struct gemm_evidence *e, double v)
{
    const struct gemm_tolerance *t = &e->ref->tolerance;
    return t->saturates && fabs(v) > t->max ? copysign(t->max, v) : v;
}

/* What was found is as near to the prediction as an honest kernel's answer would be,
 * and clearly nearer to it than to the right value. */
static bool explains(const struct gemm_evidence *e, double predicted)
{
    const double v = as_stored(e, predicted);
    const double rest = fabs(v - e->s.got);
    return rest <= 1.25 * budget_at(e, v) && rest <= 0.5 * fabs(e->s.want - e->s.got);
}

static bool enough(int hits, int n)
{
    return hits >= MIN_HITS && hits * 10 >= n * 9;
}

static bool explains_all(const struct mistake *m, const struct gemm_evidence *e, int n)
{
    int hits = 0;
    for (int i = 0; i < n && (i - hits) * 10 <= n; i++) {
        hits += explains(&e[i], m->predict(&e[i], m->p));
    }
    return enough(hits, n);
}

/* --- parts of a split sum --- */

struct split_hits {
    int only, missing;
};

/* Sums of the parts of K when it is cut into `parts`. */
static void part_sums(const struct gemm_evidence *e, int64_t parts, double *sums)
{
    const int64_t k = e->ref->g.k;
    const int64_t size = (k + parts - 1) / parts;
    for (int64_t i = 0; i < parts; i++) {
        struct view v = plain_view(e);
        v.k_begin = i * size < k ? i * size : k;
        v.k_end = v.k_begin + size < k ? v.k_begin + size : k;
        sums[i] = dot(e, &v);
    }
}

/* Any part will do: which one a race leaves differs from element to element. More parts
 * make a chance hit likelier, hence they are tried last and from few to many. */
static struct split_hits count_split(const struct gemm_evidence *e,
                                     int n,
                                     int64_t parts)
{
    struct split_hits h = { 0, 0 };
    for (int i = 0; i < n; i++) {
        double sums[SPLIT_MOST];
        bool only = false;
        bool missing = false;
        part_sums(&e[i], parts, sums);
        for (int64_t p = 0; p < parts; p++) {
            only = only || explains(&e[i], combine(&e[i], sums[p]));
            missing = missing || explains(&e[i], combine(&e[i], e[i].acc - sums[p]));
        }
        h.only += only;
        h.missing += missing;
    }
    return h;
}

static bool find_split(const struct gemm_evidence *e, int n, char *text, size_t bytes)
{
    for (int64_t parts = 2; parts <= SPLIT_MOST && parts * 4 <= e->ref->g.k;
         parts += parts < 8 ? 1 : parts) {
        const struct split_hits h = count_split(e, n, parts);
        if (enough(h.only, n) || enough(h.missing, n)) {
            (void)snprintf(text, bytes,
                           "the sum of split parts is not whole: %s of %lld parts of K",
                           enough(h.only, n) ? "it has only one" : "it lacks one",
                           (long long)parts);
            return true;
        }
    }
    return false;
}

enum gemm_mistake_kind gemm_find_mistake(const struct gemm_evidence *e,
                                         int n,
                                         char *text,
                                         size_t text_bytes)
{
    const bool product = n > 0 && gemm_reads_product(&e->ref->g);
    for (size_t m = 0; m < MISTAKE_COUNT && product; m++) {
        if (explains_all(&MISTAKES[m], e, n)) {
            (void)snprintf(text, text_bytes, "%s", MISTAKES[m].text);
            return MISTAKES[m].kind;
        }
    }
    if (product && find_split(e, n, text, text_bytes)) {
        return GEMM_MISTAKE_OTHER;
    }
    return GEMM_MISTAKE_NONE;
}
