/* The gemm op: reads a problem in the order types, sizes, scalars, shape, so that the
 * first thing wrong is reported, and ties the op's files into its table. */
#include "kernels/gemm/gemm.h"

#include "core/buf.h"

#include <math.h>
#include <stdlib.h>

enum wf_status gemm_read_transpose(const struct wf_json *json,
                                   const char *key,
                                   bool *ret,
                                   struct wf_error *err)
{
    const char *text = "N";
    const enum wf_status st = wf_json_opt_string(json, key, &text, err);
    if (st != WF_OK) {
        return st;
    }
    if ((text[0] != 'N' && text[0] != 'T') || text[1] != '\0') {
        return wf_errorf(err, WF_EINVAL, "%s is \"%.16s\"; it must be \"N\" or \"T\"",
                         key, text);
    }
    *ret = text[0] == 'T';
    return WF_OK;
}

static enum wf_status read_sizes(struct gemm *g,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    g->batch = 1;
    enum wf_status st = wf_json_get_i64(json, "M", 0, INT64_MAX, &g->m, err);
    if (st == WF_OK) {
        st = wf_json_get_i64(json, "N", 0, INT64_MAX, &g->n, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_i64(json, "K", 0, INT64_MAX, &g->k, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "batch", 1, INT64_MAX, &g->batch, err);
    }
    if (st == WF_OK) {
        st = gemm_read_transpose(json, "trans_a", &g->trans_a, err);
    }
    return st == WF_OK ? gemm_read_transpose(json, "trans_b", &g->trans_b, err) : st;
}

static enum wf_status check_scalar(const struct gemm *g,
                                   const char *key,
                                   double v,
                                   struct wf_error *err)
{
    if (!isfinite(v)) {
        return wf_errorf(err, WF_EINVAL, "%s is %g; it must be finite", key, v);
    }
    if (gemm_is_integer(g) && (v != nearbyint(v) || fabs(v) > (double)INT32_MAX)) {
        return wf_errorf(err, WF_EINVAL,
                         "%s is %g; with i8 operands it must be an integer of at most "
                         "2147483647",
                         key, v);
    }
    const double size = fabs(v);
    if (g->acc_type == WF_F32 && size > 0.0 &&
        !(size >= 0x1p-126 && size <= wf_dtype_max(WF_F32))) {
        return wf_errorf(
            err, WF_EINVAL,
            "%s is %g; kernels whose sums are f32 hold it in f32 too, where "
            "its size must be 0 or between 2^-126 and %g",
            key, v, wf_dtype_max(WF_F32));
    }
    return WF_OK;
}

enum wf_status gemm_read_scalars(struct gemm *g,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    g->alpha = 1.0;
    g->beta = 0.0;
    enum wf_status st = wf_json_opt_f64(json, "alpha", &g->alpha, err);
    if (st == WF_OK) {
        st = wf_json_opt_f64(json, "beta", &g->beta, err);
    }
    if (st == WF_OK) {
        st = check_scalar(g, "alpha", g->alpha, err);
    }
    if (st == WF_OK) {
        st = check_scalar(g, "beta", g->beta, err);
    }
    g->alpha += 0.0; /* -0 becomes 0: one problem, one id */
    g->beta += 0.0;
    return st;
}

static enum wf_status parse(const struct wf_json *json,
                            const struct wf_dataset_resolver *datasets,
                            void **ret_state,
                            struct wf_error *err)
{
    (void)datasets;
    struct gemm *g = wf_calloc(1, sizeof *g);
    if (g == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a gemm");
    }
    enum wf_status st = gemm_read_types(g, json, err);
    if (st == WF_OK) {
        st = read_sizes(g, json, err);
    }
    if (st == WF_OK) {
        st = gemm_read_scalars(g, json, err);
    }
    if (st == WF_OK) {
        st = gemm_read_epilogue(g, json, err);
    }
    if (st == WF_OK) {
        st = gemm_read_shape(g, json, err);
    }
    if (st != WF_OK) {
        free(g);
        return st;
    }
    *ret_state = g;
    return WF_OK;
}

size_t gemm_tensor_count(const void *state)
{
    (void)state;
    return GEMM_TENSOR_COUNT;
}

const struct wf_tensor *gemm_tensor_at(const void *state, size_t i)
{
    const struct gemm *g = state;
    return &g->tensor[i];
}

static const char *dataset(const void *state)
{
    (void)state;
    return NULL;
}

enum wf_dtype gemm_math_type(const void *state)
{
    const struct gemm *g = state;
    return g->matrix[GEMM_A].dtype;
}

static const char *const KEYS[] = {
    "M",        "N",         "K",        "batch",      "trans_a",  "trans_b",
    "a_type",   "b_type",    "c_type",   "d_type",     "alpha",    "beta",
    "lda",      "ldb",       "ldc",      "ldd",        "stride_a", "stride_b",
    "stride_c", "stride_d",  "offset_a", "offset_b",   "offset_c", "offset_d",
    "bias",     "bias_type", "scale",    "activation", NULL
};

static const char *const PARAMS[] = {
    "M",         "N",        "K",          "batch",    "trans_a",  "trans_b",
    "a_type",    "b_type",   "c_type",     "d_type",   "alpha",    "beta",
    "lda",       "ldb",      "ldc",        "ldd",      "stride_a", "stride_b",
    "stride_c",  "stride_d", "acc_type",   "offset_a", "offset_b", "offset_c",
    "offset_d",  "align_a",  "align_b",    "align_c",  "align_d",  "bias",
    "bias_type", "scale",    "activation", "b_cols",   NULL
};

const struct wf_op wf_op_gemm = {
    .name = "gemm",
    .summary = "D = act(alpha * op(A) op(B) + beta * C + bias), batched, row-major",
    .keys = KEYS,
    .params = PARAMS,
    .parse = parse,
    .free_state = free,
    .canonical = gemm_canonical,
    .dataset = dataset,
    .label = gemm_label,
    .tensor_count = gemm_tensor_count,
    .tensor = gemm_tensor_at,
    .param = gemm_param,
    .flops = gemm_flops,
    .bytes = gemm_bytes,
    .math_type = gemm_math_type,
    .fill = gemm_fill,
    .reference = &gemm_reference_ops,
};
