/* Why the output may be wrong: simple mistakes are computed for a few of the wrong
 * elements, and the first one that explains nearly all of them is named. Where nothing
 * fits, the place of the wrong elements is described. */
#include "kernels/gemm/gemm_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRIED_SAMPLES 16
#define MIN_SAMPLES   4
#define MAX_DEPTH     (1 << 17) /* longest K that is summed again */

/* One wrong element with its parts, computed once. */
struct evidence {
    const struct wf_reference *ref;
    struct gemm_sample s;
    double acc; /* op(A) op(B) */
    double c;   /* C, 0 without */
};

/* How a mistaken kernel sees the operands. */
struct view {
    bool flip_a, flip_b;
    int64_t row, col, k_end;
};

/* Position of op(X)[i][j] when stored rows are the first index unless `turned`; ld as
 * the reader of that layout would take it: the problem's own, or tight when flipped. */
static int64_t position(const struct gemm_matrix *x,
                        bool turned,
                        bool flipped,
                        int64_t at[2])
{
    const bool swap = turned != flipped;
    const int64_t ld = flipped ? x->rows : x->ld;
    return swap ? at[1] * ld + at[0] : at[0] * ld + at[1];
}

static double dot(const struct evidence *e, const struct view *v)
{
    const struct gemm *g = &e->ref->g;
    const struct gemm_matrix *a = &g->matrix[GEMM_A];
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    const int64_t base_a = e->s.batch * a->stride;
    const int64_t base_b = e->s.batch * b->stride;
    double sum = 0.0;
    for (int64_t k = 0; k < v->k_end; k++) {
        const int64_t pa = position(a, g->trans_a, v->flip_a, (int64_t[]){ v->row, k });
        const int64_t pb = position(b, g->trans_b, v->flip_b, (int64_t[]){ k, v->col });
        sum += gemm_element(e->ref, GEMM_A, base_a + pa) *
               gemm_element(e->ref, GEMM_B, base_b + pb);
    }
    return sum;
}

static struct view plain_view(const struct evidence *e)
{
    return (struct view){ false, false, e->s.row, e->s.col, e->ref->g.k };
}

static double c_element(const struct wf_reference *ref, const struct gemm_sample *s)
{
    const struct gemm_matrix *x = &ref->g.matrix[GEMM_C];
    if (!gemm_reads_c(&ref->g)) {
        return 0.0;
    }
    return gemm_element(ref, GEMM_C, s->batch * x->stride + s->row * x->ld + s->col);
}

static double combine(const struct evidence *e, double acc)
{
    return e->ref->g.alpha * acc + e->ref->g.beta * e->c;
}

/* --- the mistakes; NaN where one does not apply --- */

static double product_times_2(const struct evidence *e)
{
    return combine(e, 2.0 * e->acc);
}

static double product_halved(const struct evidence *e)
{
    return combine(e, 0.5 * e->acc);
}

static double product_times_4(const struct evidence *e)
{
    return combine(e, 4.0 * e->acc);
}

static double product_quartered(const struct evidence *e)
{
    return combine(e, 0.25 * e->acc);
}

static double all_times_2(const struct evidence *e)
{
    return 2.0 * e->s.want;
}

static double all_halved(const struct evidence *e)
{
    return 0.5 * e->s.want;
}

static double without_c(const struct evidence *e)
{
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * e->acc : NAN;
}

static double with_beta_one(const struct evidence *e)
{
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * e->acc + e->c : NAN;
}

static double with_alpha_one(const struct evidence *e)
{
    return e->acc + e->ref->g.beta * e->c;
}

static double with_alpha_over_all(const struct evidence *e)
{
    return gemm_reads_c(&e->ref->g) ? e->ref->g.alpha * (e->acc + e->ref->g.beta * e->c)
                                    : NAN;
}

static double a_flipped(const struct evidence *e)
{
    struct view v = plain_view(e);
    v.flip_a = true;
    return combine(e, dot(e, &v));
}

static double b_flipped(const struct evidence *e)
{
    struct view v = plain_view(e);
    v.flip_b = true;
    return combine(e, dot(e, &v));
}

static double d_transposed(const struct evidence *e)
{
    struct view v = plain_view(e);
    v.row = e->s.col;
    v.col = e->s.row;
    return e->ref->g.m == e->ref->g.n && !gemm_reads_c(&e->ref->g)
               ? combine(e, dot(e, &v))
               : NAN;
}

static double without_tail(const struct evidence *e, int64_t tile)
{
    struct view v = plain_view(e);
    v.k_end -= v.k_end % tile;
    return v.k_end < e->ref->g.k ? combine(e, dot(e, &v)) : NAN;
}

static double without_tail_16(const struct evidence *e)
{
    return without_tail(e, 16);
}

static double without_tail_32(const struct evidence *e)
{
    return without_tail(e, 32);
}

static double without_tail_64(const struct evidence *e)
{
    return without_tail(e, 64);
}

static double without_tail_128(const struct evidence *e)
{
    return without_tail(e, 128);
}

static double nothing(const struct evidence *e)
{
    (void)e;
    return 0.0;
}

/* X(function, text). The order is the order in which they are tried. */
#define MISTAKE_LIST(X)                                                     \
    X(nothing, "the wrong elements are 0: a tile was not computed")         \
    X(without_c, "beta * C is missing")                                     \
    X(with_beta_one, "C was added without beta")                            \
    X(with_alpha_one, "alpha was not applied")                              \
    X(with_alpha_over_all, "alpha was applied to C as well")                \
    X(product_times_2, "the product is 2 times the right one")              \
    X(product_halved, "the product is 1/2 of the right one")                \
    X(product_times_4, "the product is 4 times the right one")              \
    X(product_quartered, "the product is 1/4 of the right one")             \
    X(all_times_2, "D is 2 times the right one")                            \
    X(all_halved, "D is 1/2 of the right one")                              \
    X(a_flipped, "A was read as if it were stored the other way (trans_a)") \
    X(b_flipped, "B was read as if it were stored the other way (trans_b)") \
    X(d_transposed, "D was written transposed")                             \
    X(without_tail_16, "the tail of K beyond a multiple of 16 is missing")  \
    X(without_tail_32, "the tail of K beyond a multiple of 32 is missing")  \
    X(without_tail_64, "the tail of K beyond a multiple of 64 is missing")  \
    X(without_tail_128, "the tail of K beyond a multiple of 128 is missing")

static const struct {
    double (*predict)(const struct evidence *e);
    const char *text;
} MISTAKES[] = {
#define X(function, text) { function, text },
    MISTAKE_LIST(X)
#undef X
};

static double budget_at(const struct evidence *e, double value)
{
    const struct wf_reference *ref = e->ref;
    const double s = gemm_a_norms(ref, e->s.batch)[e->s.row] *
                     gemm_b_norms(ref, e->s.batch)[e->s.col];
    return 2.0 * gemm_budget(&ref->tolerance, fabs(value), s, fabs(e->c));
}

static bool explains(const struct evidence *e, double predicted)
{
    const bool differs = !(fabs(predicted - e->s.want) <= budget_at(e, predicted));
    return differs && fabs(predicted - e->s.got) <= budget_at(e, predicted);
}

/* A few of the samples, spread evenly over all that were kept. */
static int gather(const struct wf_reference *ref,
                  const struct gemm_tally *tally,
                  struct evidence *ret)
{
    int n = 0;
    const uint64_t step = tally->sample_count / TRIED_SAMPLES + 1;
    for (uint64_t i = 0; i < tally->sample_count && n < TRIED_SAMPLES; i += step) {
        const struct gemm_sample *s = &tally->sample[i];
        if (!isfinite(s->got) || !isfinite(s->want)) {
            continue;
        }
        struct evidence *e = &ret[n++];
        *e = (struct evidence){ .ref = ref, .s = *s, .c = c_element(ref, s) };
        if (gemm_reads_product(&ref->g)) {
            const struct view v = plain_view(e);
            e->acc = dot(e, &v);
        }
    }
    return n;
}

static const char *find_mistake(const struct evidence *e, int n)
{
    for (size_t m = 0; m < sizeof MISTAKES / sizeof *MISTAKES; m++) {
        int hits = 0;
        for (int i = 0; i < n; i++) {
            hits += explains(&e[i], MISTAKES[m].predict(&e[i]));
        }
        if (hits >= MIN_SAMPLES && hits * 10 >= n * 9) {
            return MISTAKES[m].text;
        }
    }
    return NULL;
}

static bool is_fp8(enum wf_dtype t)
{
    return wf_dtype_is_float(t) && wf_dtype_bytes(t) == 1;
}

static const char *fp8_hint(const struct wf_reference *ref, const char *mistake)
{
    const struct gemm_matrix *x = ref->g.matrix;
    const bool factor = strstr(mistake, " of the right one") != NULL ||
                        strstr(mistake, "times the right one") != NULL;
    const bool fp8 =
        is_fp8(x[GEMM_A].dtype) || is_fp8(x[GEMM_B].dtype) || is_fp8(x[GEMM_D].dtype);
    return factor && fp8
               ? ": fp8 codes of fnuz and OCP formats mixed up (equal bits differ "
                 "by a factor of 2)"
               : "";
}

/* The box round the wrong elements, when it is a part of the output only. */
static void describe_place(const struct wf_reference *ref,
                           const struct gemm_tally *t,
                           char *text,
                           size_t n)
{
    const struct gemm *g = &ref->g;
    const int64_t rows = t->high[1] - t->low[1] + 1;
    const int64_t cols = t->high[2] - t->low[2] + 1;
    const bool tail_rows = t->low[1] > 0 && t->high[1] == g->m - 1;
    const bool tail_cols = t->low[2] > 0 && t->high[2] == g->n - 1;
    if (rows == g->m && cols == g->n) {
        text[0] = '\0';
        return;
    }
    (void)snprintf(text, n,
                   "wrong elements lie in rows %lld..%lld, columns %lld..%lld%s",
                   (long long)t->low[1], (long long)t->high[1], (long long)t->low[2],
                   (long long)t->high[2],
                   tail_rows || tail_cols ? ": a tail tile is missing or wrong" : "");
}

void gemm_diagnose(const struct wf_reference *ref,
                   const struct gemm_tally *tally,
                   struct wf_check_report *ret)
{
    struct evidence e[TRIED_SAMPLES];
    char place[160];
    const char *mistake = NULL;
    ret->diagnosis[0] = '\0';
    if (!tally->has_worst) {
        return;
    }
    describe_place(ref, tally, place, sizeof place);
    if (ref->g.k <= MAX_DEPTH) {
        const int n = gather(ref, tally, e);
        mistake = n >= MIN_SAMPLES ? find_mistake(e, n) : NULL;
    }
    if (mistake == NULL) {
        (void)snprintf(ret->diagnosis, sizeof ret->diagnosis, "%s", place);
        return;
    }
    (void)snprintf(ret->diagnosis, sizeof ret->diagnosis, "%s%s%s%s", mistake,
                   fp8_hint(ref, mistake), place[0] != '\0' ? "; " : "", place);
}
