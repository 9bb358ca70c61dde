/* Bias, scales and activation of a gemm: their members, tensors and words. */
#include "kernels/gemm/gemm.h"

#include "core/buf.h"
#include "core/parse.h"

#include <string.h>

static const char *const SCALE[] = { "none", "row", "block128" };
static const char *const ACTIVATION[] = { "none", "silu", "silu_gate" };
static const char *const BIAS[] = { "none", "n" };

struct words {
    const char *key;
    const char *const *word;
    int count;
    const char *list; /* of the words, for errors */
};

static enum wf_status read_word(const struct wf_json *json,
                                const struct words *w,
                                int *ret,
                                struct wf_error *err)
{
    const char *text = w->word[0];
    const enum wf_status st = wf_json_opt_string(json, w->key, &text, err);
    if (st != WF_OK) {
        return st;
    }
    for (int i = 0; i < w->count; i++) {
        if (strcmp(text, w->word[i]) == 0) {
            *ret = i;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_EINVAL, "%s is \"%.32s\"; it must be %s", w->key, text,
                     w->list);
}

/* A bias is added in f32: as D, or f32 where D is too coarse for it. */
static enum wf_dtype default_bias_type(const struct gemm *g)
{
    const enum wf_dtype d = g->matrix[GEMM_D].dtype;
    return g->acc_type != WF_F32 || wf_dtype_is_fp8(d) ? WF_F32 : d;
}

static enum wf_status read_bias_type(struct gemm *g,
                                     const struct wf_json *json,
                                     struct wf_error *err)
{
    const char *text = NULL;
    const enum wf_status st = wf_json_opt_string(json, "bias_type", &text, err);
    g->bias_type = default_bias_type(g);
    if (st != WF_OK || text == NULL) {
        return st;
    }
    if (!wf_dtype_parse(text, &g->bias_type) ||
        !(g->bias_type == WF_F32 || g->bias_type == WF_F16 ||
          g->bias_type == WF_BF16)) {
        return wf_errorf(err, WF_EINVAL,
                         "bias_type is \"%.32s\"; it must be f32, f16 or bf16", text);
    }
    return WF_OK;
}

static enum wf_status check_with_types(const struct gemm *g, struct wf_error *err)
{
    const enum wf_dtype a = g->matrix[GEMM_A].dtype;
    const enum wf_dtype b = g->matrix[GEMM_B].dtype;
    const char *key = g->has_bias                             ? "bias"
                      : g->scale != GEMM_SCALE_NONE           ? "scale"
                      : g->activation != GEMM_ACTIVATION_NONE ? "activation"
                                                              : NULL;
    if (key != NULL && g->acc_type != WF_F32) {
        return wf_errorf(err, WF_EINVAL,
                         "%s is not \"none\" with a_type %s; it goes with f32 sums "
                         "only: a_type f32, f16, bf16 or an fp8 type",
                         key, wf_dtype_name(a));
    }
    if (g->scale != GEMM_SCALE_NONE && !(wf_dtype_is_fp8(a) && wf_dtype_is_fp8(b))) {
        return wf_errorf(err, WF_EINVAL,
                         "scale is \"%s\" with a_type %s and b_type %s; scales need "
                         "both operands in an fp8 type",
                         SCALE[g->scale], wf_dtype_name(a), wf_dtype_name(b));
    }
    return WF_OK;
}

static enum wf_status check_gate(const struct gemm *g, struct wf_error *err)
{
    if (!gemm_is_gated(g)) {
        return WF_OK;
    }
    if (gemm_reads_c(g)) {
        return wf_errorf(
            err, WF_EINVAL,
            "beta is %g with activation \"silu_gate\"; it must be 0: C has "
            "no place there",
            g->beta);
    }
    if (g->n > INT64_MAX / 2) {
        return wf_errorf(err, WF_ERANGE,
                         "N is %lld with activation \"silu_gate\"; op(B) would have "
                         "2^63 columns or more",
                         (long long)g->n);
    }
    return WF_OK;
}

enum wf_status gemm_read_epilogue(struct gemm *g,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    static const struct words WORDS[] = {
        { "bias", BIAS, 2, "\"none\" or \"n\" (one value a column)" },
        { "scale", SCALE, 3, "\"none\", \"row\" or \"block128\"" },
        { "activation", ACTIVATION, 3, "\"none\", \"silu\" or \"silu_gate\"" },
    };
    int word[3] = { 0, 0, 0 };
    enum wf_status st = WF_OK;
    for (int i = 0; i < 3 && st == WF_OK; i++) {
        st = read_word(json, &WORDS[i], &word[i], err);
    }
    g->has_bias = word[0] == 1;
    g->scale = (enum gemm_scale)word[1];
    g->activation = (enum gemm_activation)word[2];
    if (st == WF_OK) {
        st = read_bias_type(g, json, err);
    }
    if (st == WF_OK) {
        st = check_with_types(g, err);
    }
    return st == WF_OK ? check_gate(g, err) : st;
}

/* --- tensors --- */

/* A dense tensor of up to three dimensions; all of them 0 where it is absent. */
static enum wf_status set_dense(struct gemm *g,
                                enum gemm_tensor which,
                                const int64_t *dim,
                                int ndim,
                                struct wf_error *err)
{
    static const char *const NAMES[] = { "bias", "SA", "SB" };
    const enum wf_dtype type = which == GEMM_BIAS ? g->bias_type : WF_F32;
    struct wf_tensor t = { .name = NAMES[which - GEMM_BIAS],
                           .dtype = type,
                           .role = WF_ROLE_INPUT,
                           .ndim = ndim };
    int64_t elements = 1;
    int64_t bytes = 0;
    bool fits = true;
    for (int i = ndim - 1; i >= 0; i--) {
        t.dim[i] = dim[i];
        t.stride[i] = elements;
        fits = fits && wf_mul_i64(elements, dim[i], &elements);
    }
    if (!fits || !wf_mul_i64(elements, (int64_t)wf_dtype_bytes(type), &bytes)) {
        return wf_errorf(err, WF_ERANGE,
                         "tensor %s has 2^63 bytes or more; check the sizes", t.name);
    }
    t.elements = (uint64_t)elements;
    t.bytes = (uint64_t)bytes;
    t.optional = elements == 0;
    g->tensor[which] = t;
    return WF_OK;
}

static enum wf_status set_scales(struct gemm *g, struct wf_error *err)
{
    const bool blocks = g->scale == GEMM_SCALE_BLOCK128;
    const int64_t batch = g->scale != GEMM_SCALE_NONE ? g->batch : 0;
    const int64_t of_a = g->begin != NULL && batch > 0 ? 1 : batch;
    const int64_t lines =
        blocks ? gemm_col_blocks(g) * (gemm_is_gated(g) ? 2 : 1) : gemm_b_cols(g);
    const int ndim = blocks ? 3 : 2;
    const enum wf_status st =
        set_dense(g, GEMM_SA, (int64_t[]){ of_a, g->m, gemm_k_blocks(g) }, ndim, err);
    return st == WF_OK
               ? set_dense(g, GEMM_SB, (int64_t[]){ batch, lines, gemm_k_blocks(g) },
                           ndim, err)
               : st;
}

enum wf_status gemm_set_epilogue_tensors(struct gemm *g, struct wf_error *err)
{
    const int64_t bias = g->has_bias ? gemm_b_cols(g) : 0;
    const enum wf_status st = set_dense(g, GEMM_BIAS, &bias, 1, err);
    return st == WF_OK ? set_scales(g, err) : st;
}

/* --- what they are called --- */

enum wf_status gemm_canonical_epilogue(const struct gemm *g,
                                       struct wf_json *obj,
                                       struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (g->has_bias) {
        st = wf_json_set_string(obj, "bias", BIAS[1], err);
    }
    /* Without a bias its type means nothing: one problem, one id. */
    if (st == WF_OK && g->has_bias && g->bias_type != default_bias_type(g)) {
        st = wf_json_set_string(obj, "bias_type", wf_dtype_name(g->bias_type), err);
    }
    if (st == WF_OK && g->scale != GEMM_SCALE_NONE) {
        st = wf_json_set_string(obj, "scale", SCALE[g->scale], err);
    }
    if (st == WF_OK && g->activation != GEMM_ACTIVATION_NONE) {
        st = wf_json_set_string(obj, "activation", ACTIVATION[g->activation], err);
    }
    return st;
}

enum wf_status gemm_label_epilogue(const struct gemm *g,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (g->scale != GEMM_SCALE_NONE) {
        st = wf_buf_printf(out, err, " scale %s", SCALE[g->scale]);
    }
    if (st == WF_OK && g->has_bias) {
        st = wf_buf_printf(out, err, " bias");
    }
    if (st == WF_OK && g->has_bias && g->bias_type != default_bias_type(g)) {
        st = wf_buf_printf(out, err, " %s", wf_dtype_name(g->bias_type));
    }
    if (st == WF_OK && g->activation != GEMM_ACTIVATION_NONE) {
        st = wf_buf_printf(out, err, " %s", ACTIVATION[g->activation]);
    }
    return st;
}

const char *gemm_epilogue_param(const struct gemm *g, const char *name)
{
    if (strcmp(name, "bias") == 0) {
        return BIAS[g->has_bias];
    }
    if (strcmp(name, "bias_type") == 0) {
        return wf_dtype_name(g->bias_type);
    }
    if (strcmp(name, "scale") == 0) {
        return SCALE[g->scale];
    }
    return strcmp(name, "activation") == 0 ? ACTIVATION[g->activation] : NULL;
}
