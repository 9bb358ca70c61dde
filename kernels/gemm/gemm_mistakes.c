/* Diagnosis by value: what each of a table of simple mistakes would have made of an
 * element, compared with what was found there. */
#include "kernels/gemm/gemm_mistakes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIN_HITS   4
#define SPLIT_MOST 32

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

double gemm_rounded(enum wf_dtype t, double v)
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

static double term(const struct gemm_evidence *e, const struct gemm_view *v, int64_t k)
{
    const struct gemm *g = &e->ref->g;
    const struct gemm_matrix *a = &g->matrix[GEMM_A];
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    const int64_t pa = position(a, g->trans_a, v->flip_a, (int64_t[]){ v->row, k });
    const int64_t pb = position(b, g->trans_b, v->flip_b, (int64_t[]){ k, v->col });
    const double x = gemm_element(e->ref, GEMM_A, v->batch_a * a->stride + pa);
    const double y = gemm_element(e->ref, GEMM_B, v->batch_b * b->stride + pb);
    const double scale = v->scale != NULL
                             ? v->scale(e, v->scale_p, k)
                             : gemm_scale_at(e->ref, GEMM_A, v->batch_a, v->row, k) *
                                   gemm_scale_at(e->ref, GEMM_B, v->batch_b, v->col, k);
    return gemm_rounded(v->rounded, x) * gemm_rounded(v->rounded, y) * scale;
}

double gemm_dot(const struct gemm_evidence *e, const struct gemm_view *v)
{
    double sum = 0.0;
    for (int64_t k = v->k_begin; k < v->k_end; k++) {
        sum += term(e, v, k);
    }
    return sum;
}

struct gemm_view gemm_plain_view(const struct gemm_evidence *e)
{
    return (struct gemm_view){ .row = e->s.row,
                               .col = e->col,
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

double gemm_combine(const struct gemm_evidence *e, double acc)
{
    return e->ref->g.alpha * acc + e->ref->g.beta * e->c + e->bias;
}

double gemm_activated(const struct gemm_evidence *e, double gate, double up)
{
    switch (e->ref->g.activation) {
    case GEMM_ACTIVATION_SILU:
        return gemm_silu(gate);
    case GEMM_ACTIVATION_SILU_GATE:
        return gemm_silu(gate) * up;
    case GEMM_ACTIVATION_NONE:
    default:
        return gate;
    }
}

static double with_c(const struct gemm_evidence *e, double c)
{
    return e->ref->g.alpha * e->acc + e->ref->g.beta * c + e->bias;
}

/* Whether D is more than a multiple of the product. */
static bool has_more(const struct gemm *g)
{
    return gemm_reads_c(g) || g->has_bias || g->activation != GEMM_ACTIVATION_NONE;
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
    return has_more(&e->ref->g) ? gemm_combine(e, ldexp(e->acc, (int)p)) : (double)NAN;
}

static double all_times(const struct gemm_evidence *e, int64_t p)
{
    return ldexp(e->s.want, (int)p);
}

static double without_c(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * e->acc + e->bias : (double)NAN;
}

static double with_beta_one(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * e->acc + e->c + e->bias
                                    : (double)NAN;
}

static double with_alpha_one(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->acc + e->ref->g.beta * e->c + e->bias;
}

static double with_alpha_twice(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return gemm_combine(e, e->ref->g.alpha * e->acc);
}

static double with_alpha_over_all(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return gemm_reads_c(&e->ref->g)
               ? e->ref->g.alpha * (e->acc + e->ref->g.beta * e->c) + e->bias
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
    struct gemm_view v = gemm_plain_view(e);
    (void)p;
    v.flip_a = true;
    return gemm_combine(e, gemm_dot(e, &v));
}

static double b_flipped(const struct gemm_evidence *e, int64_t p)
{
    struct gemm_view v = gemm_plain_view(e);
    (void)p;
    v.flip_b = true;
    return gemm_combine(e, gemm_dot(e, &v));
}

/* The answer of another place; NaN outside the output. A row of another group has that
 * group's B. */
static double answer_at(const struct gemm_evidence *e,
                        int64_t batch,
                        int64_t row,
                        int64_t col)
{
    const struct gemm *g = &e->ref->g;
    struct gemm_view v = gemm_plain_view(e);
    if (batch < 0 || batch >= g->batch || row < 0 || row >= g->m || col < 0 ||
        col >= g->n) {
        return (double)NAN;
    }
    v.row = row;
    v.col = col + e->col - e->s.col; /* in the same half */
    v.batch_a = v.batch_b = g->begin != NULL ? gemm_group_of_row(g, row) : batch;
    return g->alpha * gemm_dot(e, &v) +
           (gemm_reads_c(g) ? g->beta * c_at(e, batch, row, col) : 0.0) +
           (e->ref->bias != NULL ? e->ref->bias[v.col] : 0.0);
}

/* Groups have mistakes of their own. */
static bool has_batches(const struct gemm_evidence *e)
{
    return e->ref->g.begin == NULL && e->s.batch > 0;
}

static double d_transposed(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->ref->g.m == e->ref->g.n && e->ref->g.begin == NULL
               ? answer_at(e, e->s.batch, e->s.col, e->s.row)
               : (double)NAN;
}

static double batch_0_of_a(const struct gemm_evidence *e, int64_t p)
{
    struct gemm_view v = gemm_plain_view(e);
    (void)p;
    v.batch_a = 0;
    return has_batches(e) && e->ref->g.matrix[GEMM_A].stride != 0
               ? gemm_combine(e, gemm_dot(e, &v))
               : (double)NAN;
}

static double batch_0_of_b(const struct gemm_evidence *e, int64_t p)
{
    struct gemm_view v = gemm_plain_view(e);
    (void)p;
    v.batch_b = 0;
    return has_batches(e) && e->ref->g.matrix[GEMM_B].stride != 0
               ? gemm_combine(e, gemm_dot(e, &v))
               : (double)NAN;
}

static double batch_0_of_both(const struct gemm_evidence *e, int64_t p)
{
    struct gemm_view v = gemm_plain_view(e);
    (void)p;
    v.batch_a = v.batch_b = 0;
    return has_batches(e) ? gemm_combine(e, gemm_dot(e, &v)) : (double)NAN;
}

static double batch_0_of_all(const struct gemm_evidence *e, int64_t p)
{
    struct gemm_view v = gemm_plain_view(e);
    (void)p;
    v.batch_a = v.batch_b = 0;
    return has_batches(e) && gemm_reads_c(&e->ref->g)
               ? e->ref->g.alpha * gemm_dot(e, &v) + e->bias +
                     e->ref->g.beta * c_at(e, 0, e->s.row, e->s.col)
               : (double)NAN;
}

static double batch_0_of_c(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return has_batches(e) ? with_c(e, c_at(e, 0, e->s.row, e->s.col)) : (double)NAN;
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
    return e->ref->g.begin == NULL ? answer_at(e, e->s.batch + p, e->s.row, e->s.col)
                                   : (double)NAN;
}

static double without_tail(const struct gemm_evidence *e, int64_t tile)
{
    struct gemm_view v = gemm_plain_view(e);
    v.k_end -= v.k_end % tile;
    return v.k_end < e->ref->g.k ? gemm_combine(e, gemm_dot(e, &v)) : (double)NAN;
}

static double without_last(const struct gemm_evidence *e, int64_t n)
{
    struct gemm_view v = gemm_plain_view(e);
    v.k_end -= n;
    return v.k_end > 0 ? gemm_combine(e, gemm_dot(e, &v)) : (double)NAN;
}

static double first_tile_only(const struct gemm_evidence *e, int64_t tile)
{
    struct gemm_view v = gemm_plain_view(e);
    v.k_end = tile;
    return tile < e->ref->g.k ? gemm_combine(e, gemm_dot(e, &v)) : (double)NAN;
}

static double without_first(const struct gemm_evidence *e, int64_t tile)
{
    struct gemm_view v = gemm_plain_view(e);
    v.k_begin = tile;
    return tile < e->ref->g.k ? gemm_combine(e, gemm_dot(e, &v)) : (double)NAN;
}

static double operands_rounded(const struct gemm_evidence *e, int64_t type)
{
    const struct gemm_matrix *x = e->ref->g.matrix;
    struct gemm_view v = gemm_plain_view(e);
    v.rounded = (enum wf_dtype)type;
    return x[GEMM_A].dtype != v.rounded || x[GEMM_B].dtype != v.rounded
               ? gemm_combine(e, gemm_dot(e, &v))
               : (double)NAN;
}

static double result_rounded(const struct gemm_evidence *e, int64_t type)
{
    return e->ref->g.matrix[GEMM_D].dtype != (enum wf_dtype)type
               ? gemm_rounded((enum wf_dtype)type, e->s.want)
               : (double)NAN;
}

/* X(function, parameter, kind, stage, text). The order is the order in which they are
 * tried: cheap ones and those that are a special case of others first. */
/* clang-format off */
#define FACTOR_ROWS(X, p, words) \
    X(all_times, p, FACTOR, RESULT, "D is " words " the right one") \
    X(product_times, p, FACTOR, SUM, "the product is " words " the right one")
#define SHIFT_ROWS(X, n, words) \
    X(row_shifted, n, OTHER, SUM, "row i of D holds the answer of row i + " words) \
    X(row_shifted, -(n), OTHER, SUM, "row i of D holds the answer of row i - " words) \
    X(col_shifted, n, OTHER, SUM, "column j of D holds the answer of column j + " words) \
    X(col_shifted, -(n), OTHER, SUM, "column j of D holds the answer of column j - " words)
#define TILE_ROWS(X, n, words) \
    X(without_tail, n, OTHER, SUM, "the tail of K beyond a multiple of " words " is missing") \
    X(without_last, n, OTHER, SUM, "the last " words " of K are missing") \
    X(first_tile_only, n, OTHER, SUM, "only the first " words " of K are in the sum") \
    X(without_first, n, OTHER, SUM, "the first " words " of K are missing")
#define ROUNDED_ROWS(X, type, words) \
    X(result_rounded, WF_##type, OTHER, RESULT, "the result was rounded to " words " on its way to D") \
    X(operands_rounded, WF_##type, OTHER, SUM, "A and B were rounded to " words " first")
#define MISTAKE_LIST(X) \
    X(nothing, 0, OTHER, RESULT, "the wrong elements are 0: a tile was not computed") \
    X(without_c, 0, SCALAR, SUM, "beta * C is missing") \
    X(with_beta_one, 0, SCALAR, SUM, "C was added without beta") \
    X(with_alpha_one, 0, SCALAR, SUM, "alpha was not applied") \
    X(with_alpha_over_all, 0, SCALAR, SUM, "alpha was applied to C as well") \
    X(with_alpha_twice, 0, SCALAR, SUM, "alpha was applied twice") \
    FACTOR_ROWS(X, 1, "2 times") \
    FACTOR_ROWS(X, -1, "1/2 of") \
    FACTOR_ROWS(X, 2, "4 times") \
    FACTOR_ROWS(X, -2, "1/4 of") \
    X(c_turned, 0, OTHER, SUM, "C was read transposed: its rows and columns are mixed up") \
    X(c_first_row, 0, OTHER, SUM, "the first row of C was added to every row, as a bias") \
    X(c_first_col, 0, OTHER, SUM, "the first column of C was added to every column, as a bias") \
    X(batch_0_of_a, 0, OTHER, SUM, "A of batch 0 was used for every batch: its stride is ignored") \
    X(batch_0_of_b, 0, OTHER, SUM, "B of batch 0 was used for every batch: its stride is ignored") \
    X(batch_0_of_both, 0, OTHER, SUM, "A and B of batch 0 were used for every batch: strides are ignored") \
    X(batch_0_of_all, 0, OTHER, SUM, "A, B and C of batch 0 were used for every batch: strides are ignored") \
    X(batch_0_of_c, 0, OTHER, SUM, "C of batch 0 was used for every batch: its stride is ignored") \
    X(a_flipped, 0, OTHER, SUM, "A was read as if it were stored the other way (trans_a)") \
    X(b_flipped, 0, OTHER, SUM, "B was read as if it were stored the other way (trans_b)") \
    X(d_transposed, 0, OTHER, SUM, "D was written transposed") \
    X(batch_shifted, 1, OTHER, SUM, "a batch of D holds the answer of the next batch") \
    X(batch_shifted, -1, OTHER, SUM, "a batch of D holds the answer of the batch before") \
    X(without_last, 1, OTHER, SUM, "the last term of K is missing") \
    TILE_ROWS(X, 16, "16") TILE_ROWS(X, 32, "32") TILE_ROWS(X, 64, "64") \
    TILE_ROWS(X, 128, "128") TILE_ROWS(X, 256, "256") \
    SHIFT_ROWS(X, 1, "1") SHIFT_ROWS(X, 16, "16") SHIFT_ROWS(X, 32, "32") \
    SHIFT_ROWS(X, 64, "64") SHIFT_ROWS(X, 128, "128") \
    ROUNDED_ROWS(X, F16, "f16") ROUNDED_ROWS(X, BF16, "bf16") \
    ROUNDED_ROWS(X, E4M3FNUZ, "e4m3fnuz") ROUNDED_ROWS(X, E4M3FN, "e4m3fn") \
    ROUNDED_ROWS(X, E5M2, "e5m2 or e5m2fnuz")
/* clang-format on */

static const struct gemm_mistake MISTAKES[] = {
#define X(function, p, kind, stage, text) \
    { function, p, GEMM_MISTAKE_##kind, GEMM_STAGE_##stage, text },
    MISTAKE_LIST(X)
#undef X
};
#define MISTAKE_COUNT (sizeof MISTAKES / sizeof *MISTAKES)

/* What an honest kernel's error may be where `predicted` is right. A mistaken kernel's
 * sums and slopes are not those of the right answer: with an activation the steepest
 * slope is taken, with scales room for larger ones. */
static double budget_at(const struct gemm_evidence *e, double predicted)
{
    const struct gemm_tolerance *t = &e->ref->tolerance;
    double error = 0.0;
    double size = 0.0;
    for (const struct gemm_evidence *h = e; h != NULL; h = h->up) {
        const double v = gemm_combine(h, h->acc);
        const double s = gemm_a_norms(e->ref, e->s.batch)[e->s.row] *
                         gemm_b_norms(e->ref, e->s.batch)[h->col];
        const double own = gemm_budget(t, 0.0, s, fabs(h->c), fabs(h->bias)) - t->floor;
        const double room = e->ref->g.scale != GEMM_SCALE_NONE ? 4.0 : 1.0;
        const double moved = room * own + t->split * fabs(v);
        error = h == e ? moved : error * fabs(v) + size * moved + error * moved;
        size = h == e ? fabs(v) : size * fabs(v);
    }
    if (e->ref->g.activation != GEMM_ACTIVATION_NONE) {
        error = 1.1 * error + 16.0 * t->silu * size + t->silu_floor;
    }
    return error + t->out * fabs(predicted) + t->floor;
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

/* A mistake in the sums is made in both halves. */
static double predict(const struct gemm_mistake *m, const struct gemm_evidence *e)
{
    const double v = m->predict(e, m->p);
    if (m->stage == GEMM_STAGE_RESULT) {
        return v;
    }
    return gemm_activated(e, v, e->up != NULL ? m->predict(e->up, m->p) : 0.0);
}

static bool explains_all(const struct gemm_mistake *m,
                         const struct gemm_evidence *e,
                         int n)
{
    int hits = 0;
    for (int i = 0; i < n && (i - hits) * 10 <= n; i++) {
        hits += explains(&e[i], predict(m, &e[i]));
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
        struct gemm_view v = gemm_plain_view(e);
        v.k_begin = i * size < k ? i * size : k;
        v.k_end = v.k_begin + size < k ? v.k_begin + size : k;
        sums[i] = gemm_dot(e, &v);
    }
}

/* The answer made of one part of each half's sum, or of all but it. */
static double of_sums(const struct gemm_evidence *e, bool rest, double gate, double up)
{
    const struct gemm_evidence *u = e->up;
    const double v = gemm_combine(e, rest ? e->acc - gate : gate);
    return gemm_activated(e, v,
                          u != NULL ? gemm_combine(u, rest ? u->acc - up : up) : 0.0);
}

/* Any part will do: which one a race leaves differs from element to element. More parts
 * make a chance hit likelier, hence they are tried last and from few to many. */
static struct split_hits count_split(const struct gemm_evidence *e,
                                     int n,
                                     int64_t parts)
{
    struct split_hits h = { 0, 0 };
    for (int i = 0; i < n; i++) {
        double sums[2][SPLIT_MOST] = { { 0.0 } };
        bool only = false;
        bool missing = false;
        part_sums(&e[i], parts, sums[0]);
        if (e[i].up != NULL) {
            part_sums(e[i].up, parts, sums[1]);
        }
        for (int64_t p = 0; p < parts; p++) {
            only =
                only || explains(&e[i], of_sums(&e[i], false, sums[0][p], sums[1][p]));
            missing = missing ||
                      explains(&e[i], of_sums(&e[i], true, sums[0][p], sums[1][p]));
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
    if (n == 0 || !gemm_reads_product(&e->ref->g)) {
        return GEMM_MISTAKE_NONE;
    }
    const struct {
        const struct gemm_mistake *row;
        size_t count;
    } tables[] = {
        { gemm_grouped_mistakes,
          e->ref->g.begin != NULL ? gemm_grouped_mistake_count : 0 },
        { MISTAKES, MISTAKE_COUNT },
        { gemm_epilogue_mistakes, gemm_epilogue_mistake_count },
    };
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const struct gemm_mistake *x = tables[t].row;
        for (size_t m = 0; m < tables[t].count; m++) {
            if (explains_all(&x[m], e, n)) {
                (void)snprintf(text, text_bytes, "%s", x[m].text);
                return x[m].kind;
            }
        }
    }
    if (find_split(e, n, text, text_bytes)) {
        return GEMM_MISTAKE_OTHER;
    }
    return GEMM_MISTAKE_NONE;
}
