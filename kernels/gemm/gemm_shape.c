/* Leading dimensions, batch strides and tensors of a gemm. Every product is checked: a
 * problem that parses has element and byte counts below 2^63. */
#include "kernels/gemm/gemm.h"

#include "core/parse.h"

#include <string.h>

static const struct {
    const char *name, *ld, *stride, *offset;
} NAMES[GEMM_MATRIX_COUNT] = {
    { "A", "lda", "stride_a", "offset_a" },
    { "B", "ldb", "stride_b", "offset_b" },
    { "C", "ldc", "stride_c", "offset_c" },
    { "D", "ldd", "stride_d", "offset_d" },
};

static void set_sizes(struct gemm *g)
{
    struct gemm_matrix *x = g->matrix;
    x[GEMM_A].rows = g->trans_a ? g->k : g->m;
    x[GEMM_A].cols = g->trans_a ? g->m : g->k;
    x[GEMM_B].rows = g->trans_b ? gemm_b_cols(g) : g->k;
    x[GEMM_B].cols = g->trans_b ? g->k : gemm_b_cols(g);
    x[GEMM_C].rows = x[GEMM_D].rows = g->m;
    x[GEMM_C].cols = x[GEMM_D].cols = g->n;
}

int64_t gemm_tight_stride(const struct gemm_matrix *x)
{
    int64_t stride;
    return wf_mul_i64(x->rows, x->ld, &stride) ? stride : INT64_MAX;
}

/* The member's text, for a value that no range check of the reader sees. */
static enum wf_status read_ld(struct gemm_matrix *x,
                              const char *key,
                              const struct wf_json *json,
                              struct wf_error *err)
{
    x->ld = x->cols;
    enum wf_status st = wf_json_opt_i64(json, key, INT64_MIN, INT64_MAX, &x->ld, err);
    if (st == WF_OK && x->ld < x->cols) {
        st = wf_errorf(
            err, WF_EINVAL,
            "%s is %lld; it must be at least %lld, the length of a stored row", key,
            (long long)x->ld, (long long)x->cols);
    }
    return st;
}

/* Elements from the first of a matrix to its last, both included. */
static bool matrix_span(const struct gemm_matrix *x, int64_t *ret)
{
    if (x->rows == 0 || x->cols == 0) {
        *ret = 0;
        return true;
    }
    int64_t skipped;
    return wf_mul_i64(x->rows - 1, x->ld, &skipped) &&
           wf_add_i64(skipped, x->cols, ret);
}

static bool interleaves(const struct gemm_matrix *x, int64_t batch)
{
    int64_t last;
    return x->stride >= x->cols && wf_mul_i64(batch - 1, x->stride, &last) &&
           wf_add_i64(last, x->cols, &last) && last <= x->ld;
}

/* Of grouped_gemm: all groups lie in the one matrix. */
static bool is_shared(const struct gemm *g, enum gemm_tensor which)
{
    return g->begin != NULL && which != GEMM_B;
}

static enum wf_status check_stride(const struct gemm *g,
                                   enum gemm_tensor which,
                                   int64_t span,
                                   struct wf_error *err)
{
    const struct gemm_matrix *x = &g->matrix[which];
    const bool output = which == GEMM_D;
    if (g->batch == 1 || span == 0 || is_shared(g, which) || x->stride >= span ||
        interleaves(x, g->batch) || (x->stride == 0 && !output)) {
        return x->stride >= 0 ? WF_OK
                              : wf_errorf(err, WF_EINVAL,
                                          "%s is %lld; it must not be "
                                          "negative",
                                          NAMES[which].stride, (long long)x->stride);
    }
    return wf_errorf(err, WF_EINVAL,
                     "%s is %lld; %s batches must not overlap: at least %lld (a whole "
                     "matrix)%s, or interleaved inside a row of %lld",
                     NAMES[which].stride, (long long)x->stride, NAMES[which].name,
                     (long long)span, output ? "" : ", or 0 (one matrix for all)",
                     (long long)x->ld);
}

static enum wf_status too_large(enum gemm_tensor which, struct wf_error *err)
{
    return wf_errorf(err, WF_ERANGE,
                     "tensor %s has 2^63 bytes or more; check its sizes, "
                     "%s and %s",
                     NAMES[which].name, NAMES[which].ld, NAMES[which].stride);
}

static enum wf_status set_tensor(struct gemm *g,
                                 enum gemm_tensor which,
                                 int64_t span,
                                 struct wf_error *err)
{
    const struct gemm_matrix *x = &g->matrix[which];
    struct wf_tensor *t = &g->tensor[which];
    int64_t elements = 0;
    int64_t bytes;
    if (span > 0 && !(wf_mul_i64(g->batch - 1, x->stride, &elements) &&
                      wf_add_i64(elements, span, &elements))) {
        return too_large(which, err);
    }
    if (!wf_mul_i64(elements, (int64_t)wf_dtype_bytes(x->dtype), &bytes)) {
        return too_large(which, err);
    }
    const bool absent = which == GEMM_C && !gemm_reads_c(g);
    *t = (struct wf_tensor){
        .name = NAMES[which].name,
        .dtype = x->dtype,
        .role = which == GEMM_D ? WF_ROLE_OUTPUT : WF_ROLE_INPUT,
        .ndim = 3,
        .dim = { is_shared(g, which) ? 1 : g->batch, x->rows, x->cols },
        .stride = { is_shared(g, which) ? gemm_tight_stride(x) : x->stride, x->ld, 1 },
        .elements = absent ? 0 : (uint64_t)elements,
        .bytes = absent ? 0 : (uint64_t)bytes,
        .base_bytes = (uint64_t)x->offset * wf_dtype_bytes(x->dtype),
        .optional = absent,
    };
    return WF_OK;
}

static enum wf_status read_matrix(struct gemm *g,
                                  enum gemm_tensor which,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    struct gemm_matrix *x = &g->matrix[which];
    const int64_t width = (int64_t)wf_dtype_bytes(x->dtype);
    int64_t span;
    enum wf_status st = read_ld(x, NAMES[which].ld, json, err);
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, NAMES[which].offset, 0,
                             WF_MAX_BASE_BYTES / width - 1, &x->offset, err);
    }
    if (st != WF_OK) {
        return st;
    }
    if (!matrix_span(x, &span)) {
        return too_large(which, err);
    }
    const int64_t tight = gemm_tight_stride(x);
    x->stride = tight;
    st = wf_json_opt_i64(json, NAMES[which].stride, INT64_MIN, INT64_MAX, &x->stride,
                         err);
    if (st == WF_OK) {
        st = check_stride(g, which, span, err);
    }
    if (is_shared(g, which)) {
        x->stride = 0;
    } else if (g->batch == 1) {
        x->stride = tight; /* nothing steps by it: one problem, one id */
    }
    return st == WF_OK ? set_tensor(g, which, span, err) : st;
}

enum wf_status gemm_read_shape(struct gemm *g,
                               const struct wf_json *json,
                               struct wf_error *err)
{
    /* C last: a problem without it complains about D, which has the same sizes. */
    static const enum gemm_tensor ORDER[] = { GEMM_A, GEMM_B, GEMM_D, GEMM_C };
    set_sizes(g);
    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++) {
        const enum wf_status st = read_matrix(g, ORDER[i], json, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return gemm_set_epilogue_tensors(g, err);
}
