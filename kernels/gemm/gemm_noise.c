/* Errors that are noise: a sum kept in f16 or bf16 is rounded after each term. With
 * partial sums s_1 .. s_K and u the type's unit roundoff, rounding s_k adds an error
 * that is uniform within half a unit in the last place, on average 0.41 u |s_k| (root
 * mean square, over all mantissas); they are independent, so that the whole has
 *
 *   sigma = 0.41 u sqrt(sum s_k^2)
 *
 * which grows with K (as K for terms of one sign, as sqrt(K) of the result's size for
 * random ones). Adding several terms before each rounding, as matrix units do, makes it
 * up to 4 times smaller.
 *
 * Such an error does not depend on where the sum ends: relative to the result it is
 * large wherever the result is small. An error that is a share of the result (a
 * rounding, a scale) has no such tail, and is not called noise of accumulation. */
#include "kernels/gemm/gemm_diagnose.h"

#include "core/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_EVIDENCE 8
#define LEAST_SHARE    0.1
/* Root mean square of error / (u sqrt(sum s_k^2)): 0.41 and its neighbourhood. */
#define RMS_LOW        0.08
#define RMS_HIGH       0.8
#define MOST_SIGMA     3.0 /* of one element, in the same unit: more than 7 sigma */

/* sqrt of the sum of squared partial sums, times |alpha|. */
static double walk(const struct gemm_evidence *e)
{
    const struct gemm *g = &e->ref->g;
    const struct gemm_matrix *a = &g->matrix[GEMM_A];
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    double partial = 0.0;
    double squares = 0.0;
    for (int64_t k = 0; k < g->k; k++) {
        const int64_t pa = g->trans_a ? k * a->ld + e->s.row : e->s.row * a->ld + k;
        const int64_t pb = g->trans_b ? e->s.col * b->ld + k : k * b->ld + e->s.col;
        partial += gemm_element(e->ref, GEMM_A, e->s.batch * a->stride + pa) *
                   gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k) *
                   gemm_element(e->ref, GEMM_B, e->s.batch * b->stride + pb) *
                   gemm_scale_at(e->ref, GEMM_B, e->s.batch, e->s.col, k);
        squares += partial * partial;
    }
    return fabs(g->alpha) * sqrt(squares);
}

/* The largest relative error is this many times the median one: of 32 honest sums,
 * whose ratios are Cauchy-like, all but 1 in 200 do that. */
#define LEAST_TAIL 4.0

struct noise {
    double rms, most; /* of error / walk */
    double relative[GEMM_EVIDENCE];
    int positive, n;
};

static bool has_tail(struct noise *r)
{
    wf_sort_doubles(r->relative, (size_t)r->n);
    return r->relative[r->n - 1] >= LEAST_TAIL * r->relative[r->n / 2];
}

static struct noise measure(const struct gemm_evidence *e, int n)
{
    struct noise r = { 0.0, 0.0, { 0.0 }, 0, 0 };
    for (int i = 0; i < n; i++) {
        const double size = walk(&e[i]);
        const double z = size > 0.0 ? (e[i].s.got - e[i].s.want) / size : 0.0;
        r.rms += z * z;
        r.most = fmax(r.most, fabs(z));
        r.positive += z > 0.0;
        if (size > 0.0 && fabs(e[i].s.want) > 0.0) {
            r.relative[r.n++] = fabs(e[i].s.got / e[i].s.want - 1.0);
        }
    }
    r.rms = r.n > 0 ? sqrt(r.rms / (double)r.n) : 0.0;
    return r;
}

bool gemm_explain_noise(const struct gemm_evidence *e,
                        int n,
                        double share,
                        char *text,
                        size_t text_bytes)
{
    static const enum wf_dtype TYPES[] = { WF_F16, WF_BF16 };
    if (n < LEAST_EVIDENCE || share < LEAST_SHARE || e->ref->g.k < 16 ||
        gemm_is_integer(&e->ref->g) ||
        e->ref->g.activation != GEMM_ACTIVATION_NONE) { /* it bends the noise */
        return false;
    }
    struct noise r = measure(e, n);
    if (r.n < n || r.positive < 2 || n - r.positive < 2 || !has_tail(&r)) {
        return false;
    }
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        const double u = wf_dtype_unit_roundoff(TYPES[i]);
        if (u > wf_dtype_unit_roundoff(e->ref->g.acc_type) && r.rms >= RMS_LOW * u &&
            r.rms <= RMS_HIGH * u && r.most <= MOST_SIGMA * u) {
            (void)snprintf(
                text, text_bytes,
                "the errors are noise of both signs, as large as accumulating "
                "K = %lld terms in %s makes it (it grows with K); the model "
                "allows %s",
                (long long)e->ref->g.k, wf_dtype_name(TYPES[i]),
                wf_dtype_name(e->ref->g.acc_type));
            return true;
        }
    }
    return false;
}
