#include "tests/campaign/gemm_want.h"

#include "core/json.h"
#include "tests/campaign/gemm_reduce.h"

#include <stddef.h>

static const char *const scale_names[] = {
#define X(name, text) text,
    GEMM_SCALE_LIST(X)
#undef X
};

static const char *const activation_names[] = {
#define X(name, text) text,
    GEMM_ACTIVATION_LIST(X)
#undef X
};

const char *gemm_scale_name(enum gemm_scale s)
{
    return scale_names[s];
}

const char *gemm_activation_name(enum gemm_activation a)
{
    return activation_names[a];
}

struct gemm_want gemm_want_plain(struct gemm_shape size)
{
    struct gemm_want w = { .size = size,
                           .batch = 1,
                           .a = WF_F16,
                           .b = WF_F16,
                           .c = WF_F16,
                           .d = WF_F16,
                           .bias_type = WF_F16,
                           .alpha = 1.0,
                           .seed = 1 };
    for (int o = 0; o < GEMM_OPERANDS; o++) {
        w.ld[o] = w.stride[o] = w.offset[o] = -1;
    }
    return w;
}

int64_t gemm_want_b_cols(const struct gemm_want *w)
{
    return w->activation == GEMM_ACT_GATE ? 2 * w->size.n : w->size.n;
}

int64_t gemm_want_rows(const struct gemm_want *w, enum gemm_operand o)
{
    return o == GEMM_OF_A && w->trans_a   ? w->size.k
           : o == GEMM_OF_B && w->trans_b ? gemm_want_b_cols(w)
           : o == GEMM_OF_B               ? w->size.k
                                          : w->size.m;
}

int64_t gemm_want_cols(const struct gemm_want *w, enum gemm_operand o)
{
    return o == GEMM_OF_A && w->trans_a   ? w->size.m
           : o == GEMM_OF_A               ? w->size.k
           : o == GEMM_OF_B && w->trans_b ? w->size.k
           : o == GEMM_OF_B               ? gemm_want_b_cols(w)
                                          : w->size.n;
}

double gemm_want_flops(const struct gemm_want *w)
{
    const struct gemm_shape s = { w->size.m, gemm_want_b_cols(w), w->size.k };
    return gemm_shape_flops(s) * (double)w->batch;
}

static enum wf_status set_layout(const struct gemm_want *w,
                                 struct wf_json *json,
                                 struct wf_error *err)
{
    static const char *const ld[] = { "lda", "ldb", "ldc", "ldd" };
    static const char *const stride[] = { "stride_a", "stride_b", "stride_c",
                                          "stride_d" };
    static const char *const offset[] = { "offset_a", "offset_b", "offset_c",
                                          "offset_d" };
    const struct {
        const char *const *name;
        const int64_t *value;
    } all[] = { { ld, w->ld }, { stride, w->stride }, { offset, w->offset } };
    enum wf_status status = WF_OK;
    for (int i = 0; i < 3; i++) {
        for (int o = 0; status == WF_OK && o < GEMM_OPERANDS; o++) {
            if (all[i].value[o] >= 0 && (o != GEMM_OF_C || w->beta != 0.0) &&
                (w->groups == 0 || i != 1 || o == GEMM_OF_B)) {
                status = wf_json_set_i64(json, all[i].name[o], all[i].value[o], err);
            }
        }
    }
    return status;
}

static enum wf_status set_groups(const struct gemm_want *w,
                                 struct wf_json *json,
                                 struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status status = list != NULL ? WF_OK : WF_ENOMEM;
    for (size_t i = 0; status == WF_OK && i < w->groups; i++) {
        status = wf_json_push_i64(list, w->group[i], err);
    }
    if (status != WF_OK) {
        wf_json_free(list);
        return status;
    }
    return wf_json_set_take(json, "groups", list, err);
}

/* What a grouped_gemm has instead of the other op's members. */
static enum wf_status set_product(const struct gemm_want *w,
                                  struct wf_json *json,
                                  struct wf_error *err)
{
    const bool grouped = w->groups > 0;
    bool good =
        wf_json_set_string(json, "op", grouped ? "grouped_gemm" : "gemm", err) == WF_OK;
    if (grouped) {
        return good ? set_groups(w, json, err) : WF_ENOMEM;
    }
    good &= wf_json_set_i64(json, "M", w->size.m, err) == WF_OK;
    good &= wf_json_set_i64(json, "batch", w->batch, err) == WF_OK;
    good &= wf_json_set_string(json, "trans_a", w->trans_a ? "T" : "N", err) == WF_OK;
    good &= wf_json_set_f64(json, "beta", w->beta, err) == WF_OK;
    return good ? WF_OK : WF_ENOMEM;
}

/* What only some cases say. */
static enum wf_status set_epilogue(const struct gemm_want *w,
                                   struct wf_json *json,
                                   struct wf_error *err)
{
    bool good = true;
    if (w->beta != 0.0) {
        good &= wf_json_set_string(json, "c_type", wf_dtype_name(w->c), err) == WF_OK;
    }
    if (w->bias) {
        good &= wf_json_set_string(json, "bias", "n", err) == WF_OK;
        good &= wf_json_set_string(json, "bias_type", wf_dtype_name(w->bias_type),
                                   err) == WF_OK;
    }
    if (w->scale != GEMM_SCALED_NONE) {
        good &=
            wf_json_set_string(json, "scale", gemm_scale_name(w->scale), err) == WF_OK;
    }
    if (w->activation != GEMM_ACT_NONE) {
        good &= wf_json_set_string(json, "activation",
                                   gemm_activation_name(w->activation), err) == WF_OK;
    }
    return good ? set_layout(w, json, err) : WF_ENOMEM;
}

static enum wf_status set_members(const struct gemm_want *w,
                                  struct wf_json *json,
                                  struct wf_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } number[] = { { "N", w->size.n },
                   { "K", w->size.k },
                   { "seed", (int64_t)w->seed } };
    const struct {
        const char *name, *value;
    } text[] = { { "trans_b", w->trans_b ? "T" : "N" },
                 { "a_type", wf_dtype_name(w->a) },
                 { "b_type", wf_dtype_name(w->b) },
                 { "d_type", wf_dtype_name(w->d) } };
    bool good = set_product(w, json, err) == WF_OK &&
                wf_json_set_f64(json, "alpha", w->alpha, err) == WF_OK;
    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
        good &= wf_json_set_i64(json, number[i].name, number[i].value, err) == WF_OK;
    }
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        good &= wf_json_set_string(json, text[i].name, text[i].value, err) == WF_OK;
    }
    return good ? set_epilogue(w, json, err) : WF_ENOMEM;
}

enum wf_status gemm_want_case(const struct gemm_want *w,
                              struct wf_case **ret,
                              struct wf_error *err)
{
    struct wf_json *json = wf_json_object();
    enum wf_status status = set_members(w, json, err);
    if (status == WF_OK) {
        status = wf_case_parse(json, "generated case", NULL, ret, err);
    }
    wf_json_free(json);
    return status;
}
