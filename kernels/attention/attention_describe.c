/* How an attention problem is named: canonical members, the label for people, and the
 * names that pack expressions and library kernels may ask for. */
#include "kernels/attention/attention.h"

#include "core/buf.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *attention_layout_name(enum attention_layout layout)
{
    static const char *const NAMES[] = { "dense", "ragged", "paged" };

    return (size_t)layout < 3 ? NAMES[layout] : "?";
}

static enum wf_status put_i64(struct wf_json *obj,
                              const char *key,
                              int64_t v,
                              int64_t dflt,
                              struct wf_error *err)
{
    return v == dflt ? WF_OK : wf_json_set_i64(obj, key, v, err);
}

/* Exact comparison on purpose: only the very default is left out. */
static enum wf_status put_f64(struct wf_json *obj,
                              const char *key,
                              double v,
                              double dflt,
                              struct wf_error *err)
{
    bool same = !(v < dflt) && !(v > dflt);

    return same ? WF_OK : wf_json_set_f64(obj, key, v, err);
}

static enum wf_status put_type(struct wf_json *obj,
                               const char *key,
                               enum wf_dtype v,
                               enum wf_dtype dflt,
                               struct wf_error *err)
{
    return v == dflt ? WF_OK : wf_json_set_string(obj, key, wf_dtype_name(v), err);
}

static enum wf_status put_lengths(const struct attention *a,
                                  struct wf_json *obj,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;

    if (a->layout != ATTENTION_DENSE) {
        st = wf_json_set_string(obj, "layout", attention_layout_name(a->layout), err);
        if (st == WF_OK) {
            st = wf_json_set_string(obj, "page_table", a->page_table, err);
        }
    } else {
        st = put_i64(obj, "batch", a->batch, 1, err);
        if (st == WF_OK) {
            st = wf_json_set_i64(obj, "kv_len", a->uniform_kv_len, err);
        }
    }
    if (st == WF_OK && !a->has_qo_indptr) {
        st = put_i64(obj, "q_len", a->uniform_q_len, 1, err);
    }
    if (st == WF_OK && a->layout == ATTENTION_PAGED && !a->page_size_from_set) {
        st = wf_json_set_i64(obj, "page_size", a->page_size, err);
    }
    if (st == WF_OK && a->head_major) {
        st = wf_json_set_string(obj, "kv_layout", "HND", err);
    }
    return st;
}

static enum wf_status put_shape(const struct attention *a,
                                struct wf_json *obj,
                                struct wf_error *err)
{
    bool wide = a->q_type == WF_F32 || a->q_type == WF_F16 || a->q_type == WF_BF16;
    enum wf_status st = wf_json_set_i64(obj, "q_heads", a->q_heads, err);

    if (st == WF_OK) {
        st = put_i64(obj, "kv_heads", a->kv_heads, a->q_heads, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "head_dim", a->head_dim, err);
    }
    if (st == WF_OK) {
        st = put_i64(obj, "head_dim_v", a->head_dim_v, a->head_dim, err);
    }
    if (st == WF_OK) {
        st = put_type(obj, "q_type", a->q_type, WF_F16, err);
    }
    if (st == WF_OK) {
        st = put_type(obj, "kv_type", a->kv_type, a->q_type, err);
    }
    if (st == WF_OK) {
        st = put_type(obj, "o_type", a->o_type, wide ? a->q_type : WF_F16, err);
    }
    return st;
}

static enum wf_status put_options(const struct attention *a,
                                  struct wf_json *obj,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;

    if (a->causal) {
        st = wf_json_set_bool(obj, "causal", true, err);
    }
    if (st == WF_OK && a->lse) {
        st = wf_json_set_bool(obj, "lse", true, err);
    }
    if (st == WF_OK) {
        st = put_i64(obj, "window_left", a->window_left, -1, err);
    }
    if (st == WF_OK) {
        st = put_i64(obj, "window_right", a->window_right, -1, err);
    }
    if (st == WF_OK) {
        st = put_f64(obj, "scale", a->scale, 1.0 / sqrt((double)a->head_dim), err);
    }
    if (st == WF_OK) {
        st = put_f64(obj, "soft_cap", a->soft_cap, 0, err);
    }
    if (st == WF_OK) {
        st = put_f64(obj, "q_scale", a->q_scale, 1, err);
    }
    if (st == WF_OK) {
        st = put_f64(obj, "k_scale", a->k_scale, 1, err);
    }
    if (st == WF_OK) {
        st = put_f64(obj, "v_scale", a->v_scale, 1, err);
    }
    return st;
}

enum wf_status attention_canonical(const void *state,
                                   struct wf_json *obj,
                                   struct wf_error *err)
{
    enum wf_status st = put_lengths(state, obj, err);

    if (st == WF_OK) {
        st = put_shape(state, obj, err);
    }
    if (st == WF_OK) {
        st = put_options(state, obj, err);
    }
    if (st == WF_OK) {
        st = attention_put_places(state, obj, err);
    }
    return st;
}

static const char *stage(const struct attention *a)
{
    if (a->max_q_len == 1) {
        return "decode";
    }
    for (int64_t b = 0; b < a->batch; b++) {
        if (a->q_len[b] != a->kv_len[b]) {
            return "extend";
        }
    }
    return "prefill";
}

/* "attention paged decode b256 h32/8 d128 kv<=1012 f16 causal" */
enum wf_status attention_label(const void *state,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    const struct attention *a = state;
    enum wf_status st;

    st = wf_buf_printf(out, err, "attention %s %s b%lld h%lld/%lld d%lld",
                       attention_layout_name(a->layout), stage(a), (long long)a->batch,
                       (long long)a->q_heads, (long long)a->kv_heads,
                       (long long)a->head_dim);
    if (st == WF_OK && a->head_dim_v != a->head_dim) {
        st = wf_buf_printf(out, err, "/%lld", (long long)a->head_dim_v);
    }
    if (st == WF_OK && a->max_q_len > 1) {
        st = wf_buf_printf(out, err, " q%s%lld", a->has_qo_indptr ? "<=" : "",
                           (long long)a->max_q_len);
    }
    if (st == WF_OK) {
        st = wf_buf_printf(out, err, " kv%s%lld %s",
                           a->layout == ATTENTION_DENSE ? "" : "<=",
                           (long long)a->max_kv_len, wf_dtype_name(a->q_type));
    }
    if (st == WF_OK && a->kv_type != a->q_type) {
        st = wf_buf_printf(out, err, "/%s", wf_dtype_name(a->kv_type));
    }
    if (st == WF_OK && a->causal) {
        st = wf_buf_puts(out, " causal", err);
    }
    if (st == WF_OK && a->window_left >= 0) {
        st = wf_buf_printf(out, err, " window%lld", (long long)a->window_left);
    }
    if (st == WF_OK && a->soft_cap > 0) {
        st = wf_buf_printf(out, err, " cap%g", a->soft_cap);
    }
    return st;
}

/* --- parameters --- */

#define INT_PARAMS(X) \
    X(batch)          \
    X(q_heads)        \
    X(kv_heads)       \
    X(group)          \
    X(head_dim)       \
    X(head_dim_v)     \
    X(window_left)    \
    X(window_right)   \
    X(page_size)      \
    X(num_pages)      \
    X(total_q)        \
    X(total_kv)       \
    X(max_q_len)      \
    X(max_kv_len)

#define DOUBLE_PARAMS(X) \
    X(scale)             \
    X(soft_cap)          \
    X(q_scale)           \
    X(k_scale)           \
    X(v_scale)

static const struct {
    const char *name;
    size_t offset;
} INTS[] = {
#define X(member) { #member, offsetof(struct attention, member) },
    INT_PARAMS(X)
#undef X
}, DOUBLES[] = {
#define X(member) { #member, offsetof(struct attention, member) },
    DOUBLE_PARAMS(X)
#undef X
};

static bool find_number(const struct attention *a,
                        const char *name,
                        struct wf_value *ret)
{
    const char *base = (const char *)a;

    for (size_t i = 0; i < sizeof(INTS) / sizeof(INTS[0]); i++) {
        if (strcmp(name, INTS[i].name) == 0) {
            ret->kind = WF_VALUE_INT;
            memcpy(&ret->i, base + INTS[i].offset, sizeof(ret->i));
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(DOUBLES) / sizeof(DOUBLES[0]); i++) {
        if (strcmp(name, DOUBLES[i].name) == 0) {
            ret->kind = WF_VALUE_DOUBLE;
            memcpy(&ret->d, base + DOUBLES[i].offset, sizeof(ret->d));
            return true;
        }
    }
    if (strcmp(name, "causal") == 0 || strcmp(name, "lse") == 0) {
        ret->kind = WF_VALUE_INT;
        ret->i = name[0] == 'c' ? a->causal : a->lse;
        return true;
    }
    return false;
}

static bool find_text(const struct attention *a, const char *name, struct wf_value *ret)
{
    const char *text = NULL;

    if (strcmp(name, "layout") == 0) {
        text = attention_layout_name(a->layout);
    } else if (strcmp(name, "kv_layout") == 0) {
        text = a->head_major ? "HND" : "NHD";
    } else if (strcmp(name, "q_type") == 0) {
        text = wf_dtype_name(a->q_type);
    } else if (strcmp(name, "kv_type") == 0) {
        text = wf_dtype_name(a->kv_type);
    } else if (strcmp(name, "o_type") == 0) {
        text = wf_dtype_name(a->o_type);
    } else if (strcmp(name, "page_table") == 0) {
        text = a->page_table;
    }
    ret->kind = WF_VALUE_STRING;
    ret->s = text;
    return text != NULL;
}

enum wf_status attention_param(const void *state,
                               const char *name,
                               struct wf_value *ret,
                               struct wf_error *err)
{
    const struct attention *a = state;

    *ret = (struct wf_value){ 0 };
    if (find_number(a, name, ret) || find_text(a, name, ret)) {
        return WF_OK;
    }
    if (attention_place_param(a, name, &ret->i)) {
        ret->kind = WF_VALUE_INT;
        ret->s = NULL;
        return WF_OK;
    }
    if (strcmp(name, "q_len") == 0 || strcmp(name, "kv_len") == 0) {
        ret->kind = WF_VALUE_INTS;
        ret->ints = name[0] == 'q' ? a->q_len : a->kv_len;
        ret->n = (size_t)a->batch;
        return WF_OK;
    }
    return wf_errorf(err, WF_ENOTFOUND, "attention has no parameter \"%s\"", name);
}
