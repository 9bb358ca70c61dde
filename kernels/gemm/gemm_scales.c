/* Scales of fp8 operands, multiplied into them: a stored element times its scale has at
 * most 4 + 24 bits and is exact in double, so that the rest of the reference has a
 * plain product to look at, whatever the scales' layout. */
#include "kernels/gemm/gemm_check.h"

static double factor(const struct wf_reference *ref,
                     enum gemm_tensor which,
                     int64_t batch,
                     int64_t line,
                     int64_t k)
{
    const struct gemm *g = ref->problem; /* whose columns scales are laid out by */
    const float *scale = ref->input[which == GEMM_A ? GEMM_SA : GEMM_SB];
    return (double)scale[which == GEMM_A ? gemm_sa_at(g, batch, line, k)
                                         : gemm_sb_at(g, batch, line, k)];
}

double gemm_scale_at(const struct wf_reference *ref,
                     enum gemm_tensor which,
                     int64_t batch,
                     int64_t line,
                     int64_t k)
{
    return ref->problem->scale == GEMM_SCALE_NONE ? 1.0
                                                  : factor(ref, which, batch, line, k);
}

/* From k on: elements that share a factor, at most `most`. */
static int64_t run_of(const struct gemm *g, int64_t k, int64_t most)
{
    const int64_t left = GEMM_SCALE_BLOCK - k % GEMM_SCALE_BLOCK;
    return g->scale == GEMM_SCALE_ROW || left > most ? most : left;
}

void gemm_scale_line(const struct wf_reference *ref,
                     enum gemm_tensor which,
                     const struct gemm_place *p,
                     double *x,
                     int64_t n)
{
    if (ref->problem->scale == GEMM_SCALE_NONE) {
        return;
    }
    for (int64_t at = 0; at < n;) {
        const int64_t run = run_of(ref->problem, p->k + at, n - at);
        const double f = factor(ref, which, p->batch, p->line, p->k + at);
        for (int64_t i = at; i < at + run; i++) {
            x[i] *= f;
        }
        at += run;
    }
}

void gemm_scale_across(const struct wf_reference *ref,
                       enum gemm_tensor which,
                       const struct gemm_place *p,
                       double *x,
                       int64_t n)
{
    if (ref->problem->scale == GEMM_SCALE_NONE) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] *= factor(ref, which, p->batch, p->line + i, p->k);
    }
}
