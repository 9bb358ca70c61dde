/* The parts of the diagnosis of a wrong gemm. Private to kernels/gemm/. */
#ifndef WF_KERNELS_GEMM_GEMM_DIAGNOSE_H
#define WF_KERNELS_GEMM_GEMM_DIAGNOSE_H

#include "kernels/gemm/gemm_check.h"

#define GEMM_EVIDENCE 32

/* One wrong element with its parts, computed once. */
struct gemm_evidence {
    const struct wf_reference *ref;
    struct gemm_sample s;
    int64_t col; /* of op(B) */
    double acc;  /* op(A) op(B), scales included */
    double c;    /* C, 0 without */
    double bias; /* 0 without */
    const struct gemm_evidence
        *up; /* the up half; NULL: this is it, or there is none */
};

/* What a value mistake is about, for what is said behind it. */
enum gemm_mistake_kind {
    GEMM_MISTAKE_NONE,
    GEMM_MISTAKE_OTHER,
    GEMM_MISTAKE_FACTOR, /* a power of two */
    GEMM_MISTAKE_SCALAR  /* alpha or beta */
};

/* gemm_mistakes.c: the first of a table of mistakes that explains nearly all of the
 * elements, in words; GEMM_MISTAKE_NONE when none does. */
enum gemm_mistake_kind gemm_find_mistake(const struct gemm_evidence *e,
                                         int n,
                                         char *text,
                                         size_t text_bytes);

/* gemm_noise.c: whether the errors are the noise of a sum that was accumulated in a
 * narrower type; says so. `share` is the part of the elements that is wrong. */
bool gemm_explain_noise(const struct gemm_evidence *e,
                        int n,
                        double share,
                        char *text,
                        size_t text_bytes);

/* gemm_places.c: what the places of the wrong elements say, from the problem as the
 * kernel sees it (strides included). Each writes text and returns true, or false. */
bool gemm_explain_wrap(const struct gemm *g,
                       const struct gemm_tally *t,
                       char *text,
                       size_t text_bytes);
/* "right in the first 64 x 64 tile", for a scalar that got lost. */
bool gemm_explain_first_tile(const struct gemm *g,
                             const struct gemm_tally *t,
                             char *text,
                             size_t text_bytes);
/* The box round the wrong elements, "" when it is the whole output. */
void gemm_describe_place(const struct gemm *g,
                         const struct gemm_tally *t,
                         char *text,
                         size_t text_bytes);

#endif
