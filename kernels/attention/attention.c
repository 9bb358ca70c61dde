/* Reads an attention problem and validates it: types, heads, masks, scales. Lengths and
 * page tables are read by attention_table.c. A parsed problem is complete: no member is
 * left to a default that a kernel could see differently. */
#include "kernels/attention/attention.h"

#include "core/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADS    65536
#define MAX_HEAD_DIM 65536
#define MAX_WINDOW   (INT64_C(1) << 40)

static bool is_wide(enum wf_dtype t)
{
    return t == WF_F32 || t == WF_F16 || t == WF_BF16;
}

static enum wf_status read_type(const struct wf_json *json,
                                const char *key,
                                enum wf_dtype *ret,
                                struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status st = wf_json_opt_string(json, key, &text, err);

    if (st != WF_OK || !text) {
        return st;
    }
    if (!wf_dtype_parse(text, ret) || !(wf_dtype_is_fp8(*ret) || is_wide(*ret))) {
        return wf_errorf(err, WF_EINVAL,
                         "%s is \"%s\"; attention takes f32, f16, bf16, e4m3fnuz, "
                         "e5m2fnuz, e4m3fn or e5m2",
                         key, text);
    }
    return WF_OK;
}

static enum wf_status read_types(struct attention *a,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    enum wf_status st;

    a->q_type = WF_F16;
    st = read_type(json, "q_type", &a->q_type, err);
    if (st != WF_OK) {
        return st;
    }
    a->kv_type = a->q_type;
    st = read_type(json, "kv_type", &a->kv_type, err);
    if (st != WF_OK) {
        return st;
    }
    a->o_type = wf_dtype_is_fp8(a->q_type) ? WF_F16 : a->q_type;
    st = read_type(json, "o_type", &a->o_type, err);
    if (st != WF_OK) {
        return st;
    }
    if (a->kv_type != a->q_type && !wf_dtype_is_fp8(a->kv_type)) {
        return wf_errorf(
            err, WF_EINVAL,
            "kv_type is %s with q_type %s; it must be q_type or an fp8 type",
            wf_dtype_name(a->kv_type), wf_dtype_name(a->q_type));
    }
    if (!is_wide(a->o_type)) {
        return wf_errorf(err, WF_EINVAL, "o_type is %s; it must be f32, f16 or bf16",
                         wf_dtype_name(a->o_type));
    }
    return WF_OK;
}

static enum wf_status read_heads(struct attention *a,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    enum wf_status st;

    st = wf_json_get_i64(json, "q_heads", 1, MAX_HEADS, &a->q_heads, err);
    if (st != WF_OK) {
        return st;
    }
    a->kv_heads = a->q_heads;
    st = wf_json_opt_i64(json, "kv_heads", 1, MAX_HEADS, &a->kv_heads, err);
    if (st != WF_OK) {
        return st;
    }
    if (a->q_heads % a->kv_heads != 0) {
        return wf_errorf(err, WF_EINVAL,
                         "kv_heads is %lld, which does not divide q_heads %lld",
                         (long long)a->kv_heads, (long long)a->q_heads);
    }
    a->group = a->q_heads / a->kv_heads;
    st = wf_json_get_i64(json, "head_dim", 1, MAX_HEAD_DIM, &a->head_dim, err);
    if (st != WF_OK) {
        return st;
    }
    a->head_dim_v = a->head_dim;
    return wf_json_opt_i64(json, "head_dim_v", 1, MAX_HEAD_DIM, &a->head_dim_v, err);
}

/* A factor that a kernel holds in f32: it must be finite there as well. */
static enum wf_status read_factor(const struct wf_json *json,
                                  const char *key,
                                  bool positive,
                                  double *ret,
                                  struct wf_error *err)
{
    enum wf_status st = wf_json_opt_f64(json, key, ret, err);

    if (st != WF_OK) {
        return st;
    }
    if (!(fabs(*ret) <= wf_dtype_max(WF_F32)) || (positive && !(*ret > 0))) {
        return wf_errorf(err, WF_EINVAL, "%s is %g; it must be %sfinite in f32", key,
                         *ret, positive ? "above 0 and " : "");
    }
    return WF_OK;
}

static enum wf_status read_factors(struct attention *a,
                                   const struct wf_json *json,
                                   struct wf_error *err)
{
    enum wf_status st;

    a->scale = 1.0 / sqrt((double)a->head_dim);
    a->q_scale = a->k_scale = a->v_scale = 1.0;
    st = read_factor(json, "scale", false, &a->scale, err);
    if (st == WF_OK) {
        st = read_factor(json, "q_scale", true, &a->q_scale, err);
    }
    if (st == WF_OK) {
        st = read_factor(json, "k_scale", true, &a->k_scale, err);
    }
    if (st == WF_OK) {
        st = read_factor(json, "v_scale", true, &a->v_scale, err);
    }
    if (st == WF_OK) {
        st = read_factor(json, "soft_cap", false, &a->soft_cap, err);
    }
    if (st == WF_OK && a->soft_cap < 0) {
        st = wf_errorf(err, WF_EINVAL, "soft_cap is %g; it must be 0 (off) or above",
                       a->soft_cap);
    }
    return st;
}

static enum wf_status read_masks(struct attention *a,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    enum wf_status st;

    a->window_left = a->window_right = -1;
    st = wf_json_opt_bool(json, "causal", &a->causal, err);
    if (st == WF_OK) {
        st = wf_json_opt_bool(json, "lse", &a->lse, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "window_left", -1, MAX_WINDOW, &a->window_left, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "window_right", -1, MAX_WINDOW, &a->window_right,
                             err);
    }
    if (st == WF_OK && a->causal && a->window_right >= 0) {
        st = wf_errorf(
            err, WF_EINVAL,
            "window_right is %lld together with causal, which already ends the "
            "window at the query; leave one of them out",
            (long long)a->window_right);
    }
    return st;
}

static enum wf_status read_layout(struct attention *a,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    const char *layout = "dense", *kv_layout = "NHD";
    enum wf_status st = wf_json_opt_string(json, "layout", &layout, err);

    if (st == WF_OK) {
        st = wf_json_opt_string(json, "kv_layout", &kv_layout, err);
    }
    if (st != WF_OK) {
        return st;
    }
    for (a->layout = ATTENTION_DENSE; a->layout <= ATTENTION_PAGED; a->layout++) {
        if (strcmp(layout, attention_layout_name(a->layout)) == 0) {
            break;
        }
    }
    if (a->layout > ATTENTION_PAGED) {
        return wf_errorf(err, WF_EINVAL,
                         "layout is \"%s\"; it must be dense, ragged or paged", layout);
    }
    a->head_major = strcmp(kv_layout, "HND") == 0;
    if (!a->head_major && strcmp(kv_layout, "NHD") != 0) {
        return wf_errorf(err, WF_EINVAL, "kv_layout is \"%s\"; it must be NHD or HND",
                         kv_layout);
    }
    if (a->head_major && a->layout != ATTENTION_PAGED) {
        return wf_errorf(err, WF_EINVAL, "kv_layout HND is for layout paged, not %s",
                         layout);
    }
    return WF_OK;
}

enum wf_status attention_parse(const struct wf_json *json,
                               const struct wf_dataset_resolver *datasets,
                               void **ret_state,
                               struct wf_error *err)
{
    struct attention *a = wf_calloc(1, sizeof(*a));
    enum wf_status st;

    if (!a) {
        return wf_errorf(err, WF_ENOMEM, "out of memory for an attention problem");
    }
    st = read_layout(a, json, err);
    if (st == WF_OK) {
        st = read_heads(a, json, err);
    }
    if (st == WF_OK) {
        st = read_types(a, json, err);
    }
    if (st == WF_OK) {
        st = read_factors(a, json, err);
    }
    if (st == WF_OK) {
        st = read_masks(a, json, err);
    }
    if (st == WF_OK) {
        st = attention_load_lengths(a, json, datasets, err);
    }
    if (st == WF_OK) {
        st = attention_read_places(a, json, err);
    }
    if (st == WF_OK) {
        st = attention_make_shapes(a, err);
    }
    if (st != WF_OK) {
        attention_free(a);
        return st;
    }
    *ret_state = a;
    return WF_OK;
}

void attention_free(void *state)
{
    struct attention *a = state;

    if (!a) {
        return;
    }
    free(a->q_len);
    free(a->kv_len);
    free(a->q_start);
    free(a->kv_start);
    free(a->qo_indptr);
    free(a->kv_indptr);
    free(a->kv_indices);
    free(a->kv_last_page_len);
    free(a->used_slots);
    free(a);
}

/* --- the op's table --- */

static const char *dataset(const void *state)
{
    const struct attention *a = state;

    return a->page_table[0] ? a->page_table + strlen("sha256:") : NULL;
}

static size_t tensor_count(const void *state)
{
    (void)state;
    return ATTENTION_TENSOR_COUNT;
}

static const struct wf_tensor *tensor(const void *state, size_t i)
{
    const struct attention *a = state;

    return i < ATTENTION_TENSOR_COUNT ? &a->tensor[i] : NULL;
}

static enum wf_dtype math_type(const void *state)
{
    const struct attention *a = state;

    return a->q_type;
}

static const char *const KEYS[] = { "layout",
                                    "batch",
                                    "q_len",
                                    "kv_len",
                                    "q_heads",
                                    "kv_heads",
                                    "head_dim",
                                    "head_dim_v",
                                    "q_type",
                                    "kv_type",
                                    "o_type",
                                    "scale",
                                    "causal",
                                    "window_left",
                                    "window_right",
                                    "soft_cap",
                                    "lse",
                                    "q_scale",
                                    "k_scale",
                                    "v_scale",
                                    "page_table",
                                    "page_size",
                                    "kv_layout",
#define X(key, place, member) key,
                                    ATTENTION_PLACE_MEMBERS(X)
#undef X
                                        NULL };

static const char *const PARAMS[] = { "layout",
                                      "batch",
                                      "q_len",
                                      "kv_len",
                                      "q_heads",
                                      "kv_heads",
                                      "group",
                                      "head_dim",
                                      "head_dim_v",
                                      "q_type",
                                      "kv_type",
                                      "o_type",
                                      "scale",
                                      "causal",
                                      "window_left",
                                      "window_right",
                                      "soft_cap",
                                      "lse",
                                      "q_scale",
                                      "k_scale",
                                      "v_scale",
                                      "page_table",
                                      "page_size",
                                      "kv_layout",
                                      "num_pages",
                                      "total_q",
                                      "total_kv",
                                      "max_q_len",
                                      "max_kv_len",
#define X(key, place, member) key,
                                      ATTENTION_PLACE_MEMBERS(X)
#undef X
#define X(name, text, dense, paged) "align_" text,
                                          ATTENTION_PLACE_LIST(X)
#undef X
                                              NULL };

const struct wf_op wf_op_attention = {
    .name = "attention",
    .summary = "softmax attention: dense, ragged or paged; prefill, extend and decode",
    .keys = KEYS,
    .params = PARAMS,
    .parse = attention_parse,
    .free_state = attention_free,
    .canonical = attention_canonical,
    .dataset = dataset,
    .label = attention_label,
    .tensor_count = tensor_count,
    .tensor = tensor,
    .param = attention_param,
    .flops = attention_flops,
    .bytes = attention_bytes,
    .math_type = math_type,
    .fill = attention_fill,
    .run = attention_run,
    .reference = &attention_reference_ops,
};
