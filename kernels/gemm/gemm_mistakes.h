/* What a mistaken kernel would have made of an element. Private to kernels/gemm/. */
#ifndef WF_KERNELS_GEMM_GEMM_MISTAKES_H
#define WF_KERNELS_GEMM_GEMM_MISTAKES_H

#include "kernels/gemm/gemm_diagnose.h"

/* How a mistaken kernel sees the operands. */
struct gemm_view {
    bool flip_a, flip_b;
    int64_t row, col, k_begin, k_end;
    int64_t batch_a, batch_b;
    enum wf_dtype rounded; /* operands rounded to it first; WF_F64: not */
    /* What it multiplies the term of k by; NULL: the right scales. */
    double (*scale)(const struct gemm_evidence *e, int64_t p, int64_t k);
    int64_t scale_p;
};

/* A mistake in the sums shows in each half before the activation; one in the result
 * says what D holds. */
enum gemm_stage {
    GEMM_STAGE_SUM,
    GEMM_STAGE_RESULT
};

struct gemm_mistake {
    /* NaN where it does not apply. */
    double (*predict)(const struct gemm_evidence *e, int64_t p);
    int64_t p;
    enum gemm_mistake_kind kind;
    enum gemm_stage stage;
    const char *text;
};

/* gemm_mistakes_epilogue.c: bias, scales, activation. */
extern const struct gemm_mistake gemm_epilogue_mistakes[];
extern const size_t gemm_epilogue_mistake_count;

/* gemm_mistakes_grouped.c: which rows go with which B. */
extern const struct gemm_mistake gemm_grouped_mistakes[];
extern const size_t gemm_grouped_mistake_count;

/* gemm_mistakes.c */
struct gemm_view gemm_plain_view(const struct gemm_evidence *e);
double gemm_dot(const struct gemm_evidence *e, const struct gemm_view *v);
double gemm_combine(const struct gemm_evidence *e, double acc); /* + beta C + bias */
double gemm_activated(const struct gemm_evidence *e, double gate, double up);
double gemm_rounded(enum wf_dtype t, double v);

#endif
