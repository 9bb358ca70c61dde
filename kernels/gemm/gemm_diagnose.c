/* Why the output may be wrong. First what the places of the wrong elements say (an
 * offset that wrapped), then simple mistakes, computed for a few of the wrong elements:
 * the first one that explains nearly all of them is named. Then noise. Where nothing
 * fits, the place of the wrong elements is described. A fault in here could change a
 * text, never an answer. */
#include "kernels/gemm/gemm_diagnose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIN_SAMPLES 4
#define MAX_DEPTH   (1 << 17) /* longest K that is summed again */

static double c_element(const struct wf_reference *ref, const struct gemm_sample *s)
{
    const struct gemm_matrix *x = &ref->g.matrix[GEMM_C];
    if (!gemm_reads_c(&ref->g)) {
        return 0.0;
    }
    return gemm_element(ref, GEMM_C, s->batch * x->stride + s->row * x->ld + s->col);
}

static double product_at(const struct gemm_evidence *e)
{
    const struct wf_reference *ref = e->ref;
    const struct gemm *g = &ref->g;
    const struct gemm_matrix *a = &g->matrix[GEMM_A];
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    double sum = 0.0;
    for (int64_t k = 0; k < g->k; k++) {
        const int64_t pa = g->trans_a ? k * a->ld + e->s.row : e->s.row * a->ld + k;
        const int64_t pb = g->trans_b ? e->col * b->ld + k : k * b->ld + e->col;
        sum += gemm_element(ref, GEMM_A, e->s.batch * a->stride + pa) *
               gemm_scale_at(ref, GEMM_A, e->s.batch, e->s.row, k) *
               gemm_element(ref, GEMM_B, e->s.batch * b->stride + pb) *
               gemm_scale_at(ref, GEMM_B, e->s.batch, e->col, k);
    }
    return sum;
}

static struct gemm_evidence evidence_of(const struct wf_reference *ref,
                                        const struct gemm_sample *s,
                                        int half)
{
    struct gemm_evidence e = { .ref = ref, .s = *s, .col = s->col + half * ref->g.n };
    e.c = c_element(ref, s);
    e.bias = ref->bias != NULL ? ref->bias[e.col] : 0.0;
    e.acc = gemm_reads_product(&ref->g) ? product_at(&e) : 0.0;
    return e;
}

/* A few of the samples, spread evenly over all that were kept. */
static int gather(const struct wf_reference *ref,
                  const struct gemm_tally *tally,
                  struct gemm_evidence *ret,
                  struct gemm_evidence *up)
{
    int n = 0;
    const uint64_t step = (tally->sample_count + GEMM_EVIDENCE - 1) / GEMM_EVIDENCE;
    for (uint64_t i = 0; i < tally->sample_count && n < GEMM_EVIDENCE; i += step) {
        const struct gemm_sample *s = &tally->sample[i];
        if (!isfinite(s->got) || !isfinite(s->want)) {
            continue;
        }
        ret[n] = evidence_of(ref, s, 0);
        if (gemm_is_gated(&ref->g)) {
            up[n] = evidence_of(ref, s, 1);
            ret[n].up = &up[n];
        }
        n++;
    }
    return n;
}

static const char *fp8_hint(const struct gemm *g)
{
    const struct gemm_matrix *x = g->matrix;
    const bool fp8 = wf_dtype_is_fp8(x[GEMM_A].dtype) ||
                     wf_dtype_is_fp8(x[GEMM_B].dtype) ||
                     wf_dtype_is_fp8(x[GEMM_D].dtype);
    return fp8 ? ": fp8 codes of fnuz and OCP formats mixed up (equal bits differ by a "
                 "factor of 2, of two operands by 4)"
               : "";
}

struct story {
    char cause[180], more[140], place[180];
};

static double wrong_share(const struct gemm_tally *t)
{
    const uint64_t wrong = t->mismatches + t->nonfinite + t->unwritten;
    return t->elements > 0 ? (double)wrong / (double)t->elements : 0.0;
}

static void explain_values(const struct wf_reference *ref,
                           const struct gemm_tally *tally,
                           struct story *s)
{
    struct gemm_evidence e[GEMM_EVIDENCE];
    struct gemm_evidence up[GEMM_EVIDENCE];
    enum gemm_mistake_kind kind = GEMM_MISTAKE_NONE;
    const int n = ref->g.k <= MAX_DEPTH ? gather(ref, tally, e, up) : 0;
    if (n >= MIN_SAMPLES) {
        kind = gemm_find_mistake(e, n, s->cause, sizeof s->cause);
    }
    if (kind == GEMM_MISTAKE_FACTOR) {
        (void)snprintf(s->more, sizeof s->more, "%s", fp8_hint(&ref->g));
    }
    if (kind == GEMM_MISTAKE_SCALAR) {
        char tile[120];
        if (gemm_explain_first_tile(&ref->g, tally, tile, sizeof tile)) {
            (void)snprintf(s->more, sizeof s->more, ": %s", tile);
        }
    }
    if (kind == GEMM_MISTAKE_NONE && n >= MIN_SAMPLES && gemm_reads_product(&ref->g)) {
        (void)gemm_explain_noise(e, n, wrong_share(tally), s->cause, sizeof s->cause);
    }
}

void gemm_diagnose(const struct wf_reference *ref,
                   const struct gemm_tally *tally,
                   struct wf_check_report *ret)
{
    struct story s = { "", "", "" };
    ret->diagnosis[0] = '\0';
    if (!tally->has_worst) {
        return;
    }
    gemm_describe_place(&ref->g, tally, s.place, sizeof s.place);
    if (!gemm_explain_wrap(ref->problem, tally, s.cause, sizeof s.cause)) {
        explain_values(ref, tally, &s);
    }
    (void)snprintf(ret->diagnosis, sizeof ret->diagnosis, "%s%s%s%s", s.cause, s.more,
                   s.cause[0] != '\0' && s.place[0] != '\0' ? "; " : "", s.place);
}
