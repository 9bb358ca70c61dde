/* A gemm case as the generator thinks of it, and as the text that a suite holds. */
#ifndef WF_TESTS_GEMM_WANT_H
#define WF_TESTS_GEMM_WANT_H

#include "core/dtype.h"
#include "kernels/case.h"
#include "tests/campaign/gemm_shapes.h"

#include <stdbool.h>
#include <stddef.h>

#define GEMM_SCALE_LIST(X) \
    X(NONE, "none")        \
    X(ROW, "row")          \
    X(BLOCK128, "block128")

#define GEMM_ACTIVATION_LIST(X) \
    X(NONE, "none")             \
    X(SILU, "silu")             \
    X(GATE, "silu_gate")

enum gemm_scale {
#define X(name, text) GEMM_SCALED_##name,
    GEMM_SCALE_LIST(X)
#undef X
    GEMM_SCALE_COUNT
};

enum gemm_activation {
#define X(name, text) GEMM_ACT_##name,
    GEMM_ACTIVATION_LIST(X)
#undef X
    GEMM_ACT_COUNT
};

enum gemm_operand {
    GEMM_OF_A,
    GEMM_OF_B,
    GEMM_OF_C,
    GEMM_OF_D,
    GEMM_OPERANDS
};

#define GEMM_GROUPS_MAX 8

struct gemm_want {
    struct gemm_shape size;
    /* groups > 0: a grouped_gemm, whose rows, size.m in all, are these groups; no
     * batch, beta, bias, trans_a then, and of the distances between batches only B's.
     */
    size_t groups;
    int64_t group[GEMM_GROUPS_MAX];
    int64_t batch; /* >= 1 */
    bool trans_a, trans_b;
    enum wf_dtype a, b, c, d, bias_type;
    double alpha, beta;
    bool bias;
    enum gemm_scale scale;
    enum gemm_activation activation;
    /* Elements; -1: the case does not say it. */
    int64_t ld[GEMM_OPERANDS], stride[GEMM_OPERANDS], offset[GEMM_OPERANDS];
    uint64_t seed;
};

/* Tight, alpha 1, nothing else. */
struct gemm_want gemm_want_plain(struct gemm_shape size);
/* Columns of op(B) and of C and D. */
int64_t gemm_want_b_cols(const struct gemm_want *w);
/* Stored rows and columns of one operand. */
int64_t gemm_want_rows(const struct gemm_want *w, enum gemm_operand o);
int64_t gemm_want_cols(const struct gemm_want *w, enum gemm_operand o);
double gemm_want_flops(const struct gemm_want *w);

const char *gemm_scale_name(enum gemm_scale s);
const char *gemm_activation_name(enum gemm_activation a);

/* EINVAL where the op refuses it: a mistake of the generator. */
enum wf_status gemm_want_case(const struct gemm_want *w,
                              struct wf_case **ret,
                              struct wf_error *err);

#endif
