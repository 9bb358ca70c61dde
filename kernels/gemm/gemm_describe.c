/* What a gemm says about itself: canonical members, label, parameters, counts. */
#include "kernels/gemm/gemm.h"

#include "core/buf.h"
#include "kernels/strided.h"

#include <stddef.h>
#include <string.h>

/* Integer parameters: X(name, member of struct gemm). */
#define INT_PARAM_LIST(X)                \
    X("M", m)                            \
    X("N", n)                            \
    X("K", k)                            \
    X("batch", batch)                    \
    X("lda", matrix[GEMM_A].ld)          \
    X("ldb", matrix[GEMM_B].ld)          \
    X("ldc", matrix[GEMM_C].ld)          \
    X("ldd", matrix[GEMM_D].ld)          \
    X("stride_a", matrix[GEMM_A].stride) \
    X("stride_b", matrix[GEMM_B].stride) \
    X("stride_c", matrix[GEMM_C].stride) \
    X("stride_d", matrix[GEMM_D].stride) \
    X("offset_a", matrix[GEMM_A].offset) \
    X("offset_b", matrix[GEMM_B].offset) \
    X("offset_c", matrix[GEMM_C].offset) \
    X("offset_d", matrix[GEMM_D].offset)

static const struct {
    const char *name;
    size_t offset;
} INT_PARAMS[] = {
#define X(name, member) { name, offsetof(struct gemm, member) },
    INT_PARAM_LIST(X)
#undef X
};

static const char *const TYPE_KEYS[GEMM_MATRIX_COUNT] = { "a_type", "b_type", "c_type",
                                                          "d_type" };

static const char *const ALIGN_NAMES[GEMM_MATRIX_COUNT] = { "align_a", "align_b",
                                                            "align_c", "align_d" };

static const char *string_param(const struct gemm *g, const char *name)
{
    for (int i = 0; i < GEMM_MATRIX_COUNT; i++) {
        if (strcmp(name, TYPE_KEYS[i]) == 0) {
            return wf_dtype_name(g->matrix[i].dtype);
        }
    }
    if (strcmp(name, "acc_type") == 0) {
        return wf_dtype_name(g->acc_type);
    }
    if (strcmp(name, "trans_a") == 0) {
        return g->trans_a ? "T" : "N";
    }
    if (strcmp(name, "trans_b") == 0) {
        return g->trans_b ? "T" : "N";
    }
    return gemm_epilogue_param(g, name);
}

enum wf_status gemm_param(const void *state,
                          const char *name,
                          struct wf_value *ret,
                          struct wf_error *err)
{
    const struct gemm *g = state;
    for (size_t i = 0; i < sizeof INT_PARAMS / sizeof *INT_PARAMS; i++) {
        if (strcmp(name, INT_PARAMS[i].name) == 0) {
            int64_t v;
            memcpy(&v, (const char *)g + INT_PARAMS[i].offset, sizeof v);
            *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = v };
            return WF_OK;
        }
    }
    for (int i = 0; i < GEMM_MATRIX_COUNT; i++) {
        if (strcmp(name, ALIGN_NAMES[i]) == 0) {
            *ret = (struct wf_value){ .kind = WF_VALUE_INT,
                                      .i = wf_strided_align(&g->tensor[i]) };
            return WF_OK;
        }
    }
    if (strcmp(name, "b_cols") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = gemm_b_cols(g) };
        return WF_OK;
    }
    const char *text = string_param(g, name);
    if (text != NULL) {
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = text };
        return WF_OK;
    }
    const bool alpha = strcmp(name, "alpha") == 0;
    if (alpha || strcmp(name, "beta") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_DOUBLE,
                                  .d = alpha ? g->alpha : g->beta };
        return WF_OK;
    }
    return wf_errorf(err, WF_ENOTFOUND, "gemm has no parameter \"%.64s\"", name);
}

static enum wf_status canonical_types(const struct gemm *g,
                                      struct wf_json *obj,
                                      struct wf_error *err)
{
    const enum wf_dtype a = g->matrix[GEMM_A].dtype;
    const enum wf_dtype d = g->matrix[GEMM_D].dtype;
    const enum wf_dtype defaults[GEMM_MATRIX_COUNT] = { WF_F16, a, d,
                                                        gemm_default_result(a) };
    for (int i = 0; i < GEMM_MATRIX_COUNT; i++) {
        const enum wf_dtype t = g->matrix[i].dtype;
        /* Without C its type means nothing: one problem, one id. */
        if (t == defaults[i] || (i == GEMM_C && !gemm_reads_c(g))) {
            continue;
        }
        const enum wf_status st =
            wf_json_set_string(obj, TYPE_KEYS[i], wf_dtype_name(t), err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

static enum wf_status canonical_strides(const struct gemm *g,
                                        struct wf_json *obj,
                                        struct wf_error *err)
{
    static const char *const OFFSET[] = { "offset_a", "offset_b", "offset_c",
                                          "offset_d" };
    static const char *const LD[] = { "lda", "ldb", "ldc", "ldd" };
    static const char *const STRIDE[] = { "stride_a", "stride_b", "stride_c",
                                          "stride_d" };
    enum wf_status st = WF_OK;
    for (int i = 0; i < GEMM_MATRIX_COUNT && st == WF_OK; i++) {
        const struct gemm_matrix *x = &g->matrix[i];
        if (i == GEMM_C && !gemm_reads_c(g)) {
            continue;
        }
        if (x->ld != x->cols) {
            st = wf_json_set_i64(obj, LD[i], x->ld, err);
        }
        if (st == WF_OK && g->batch > 1 && x->stride != gemm_tight_stride(x) &&
            (g->begin == NULL || i == GEMM_B)) {
            st = wf_json_set_i64(obj, STRIDE[i], x->stride, err);
        }
        if (st == WF_OK && x->offset != 0) {
            st = wf_json_set_i64(obj, OFFSET[i], x->offset, err);
        }
    }
    return st;
}

static enum wf_status canonical_scalars(const struct gemm *g,
                                        struct wf_json *obj,
                                        struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (g->trans_a) {
        st = wf_json_set_string(obj, "trans_a", "T", err);
    }
    if (st == WF_OK && g->trans_b) {
        st = wf_json_set_string(obj, "trans_b", "T", err);
    }
    if (st == WF_OK && g->batch != 1) {
        st = wf_json_set_i64(obj, "batch", g->batch, err);
    }
    if (st == WF_OK && g->alpha != 1.0) {
        st = wf_json_set_f64(obj, "alpha", g->alpha, err);
    }
    if (st == WF_OK && g->beta != 0.0) {
        st = wf_json_set_f64(obj, "beta", g->beta, err);
    }
    return st;
}

enum wf_status gemm_canonical(const void *state,
                              struct wf_json *obj,
                              struct wf_error *err)
{
    const struct gemm *g = state;
    enum wf_status st = wf_json_set_i64(obj, "M", g->m, err);
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "N", g->n, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "K", g->k, err);
    }
    if (st == WF_OK) {
        st = canonical_scalars(g, obj, err);
    }
    if (st == WF_OK) {
        st = canonical_types(g, obj, err);
    }
    if (st == WF_OK) {
        st = canonical_strides(g, obj, err);
    }
    return st == WF_OK ? gemm_canonical_epilogue(g, obj, err) : st;
}

static enum wf_status label_types(const struct gemm *g,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    const enum wf_dtype a = g->matrix[GEMM_A].dtype;
    const enum wf_dtype b = g->matrix[GEMM_B].dtype;
    const enum wf_dtype d = g->matrix[GEMM_D].dtype;
    enum wf_status st = wf_buf_printf(out, err, " %s", wf_dtype_name(a));
    if (st == WF_OK && b != a) {
        st = wf_buf_printf(out, err, "*%s", wf_dtype_name(b));
    }
    if (st == WF_OK && d != a) {
        st = wf_buf_printf(out, err, "->%s", wf_dtype_name(d));
    }
    return st;
}

enum wf_status gemm_label(const void *state, struct wf_buf *out, struct wf_error *err)
{
    const struct gemm *g = state;
    enum wf_status st = wf_buf_printf(out, err, "gemm %lldx%lldx%lld %c%c",
                                      (long long)g->m, (long long)g->n, (long long)g->k,
                                      g->trans_a ? 'T' : 'N', g->trans_b ? 'T' : 'N');
    if (st == WF_OK) {
        st = label_types(g, out, err);
    }
    if (st == WF_OK && g->batch != 1) {
        st = wf_buf_printf(out, err, " batch %lld", (long long)g->batch);
    }
    if (st == WF_OK && g->alpha != 1.0) {
        st = wf_buf_printf(out, err, " alpha %g", g->alpha);
    }
    if (st == WF_OK && g->beta != 0.0) {
        st = wf_buf_printf(out, err, " beta %g", g->beta);
    }
    return st == WF_OK ? gemm_label_epilogue(g, out, err) : st;
}

double gemm_flops(const void *state)
{
    const struct gemm *g = state;
    return 2.0 * (double)gemm_all_rows(g) * (double)gemm_b_cols(g) * (double)g->k;
}

/* A broadcast operand counts once, and so do A and D of groups; of B the groups that
 * have rows. */
static double batches_read(const struct gemm *g, int which)
{
    if (g->begin == NULL || which != GEMM_B) {
        return g->matrix[which].stride == 0 ? 1.0 : (double)g->batch;
    }
    double sum = 0.0;
    for (int64_t b = 0; b < g->batch; b++) {
        sum += g->group[b] > 0 ? 1.0 : 0.0;
    }
    return sum;
}

double gemm_bytes(const void *state)
{
    const struct gemm *g = state;
    double sum = 0.0;
    for (int i = 0; i < GEMM_MATRIX_COUNT; i++) {
        const struct gemm_matrix *x = &g->matrix[i];
        const bool read =
            i == GEMM_D || (i == GEMM_C ? gemm_reads_c(g) : gemm_reads_product(g));
        if (read) {
            sum += (double)x->rows * (double)x->cols *
                   (double)wf_dtype_bytes(x->dtype) * batches_read(g, i);
        }
    }
    for (int i = GEMM_BIAS; i < GEMM_TENSOR_COUNT; i++) {
        sum += (double)g->tensor[i].bytes;
    }
    return sum;
}
