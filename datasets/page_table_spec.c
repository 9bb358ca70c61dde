/* Recipes of page tables: defaults, strict reading, and the record that goes into the
 * metadata. One table lists the numeric members, so that reading, checking and writing
 * cannot disagree. */
#include "datasets/page_table.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* X(member, default, min, max) */
#define INT_LIST(X)                               \
    X(requests, 0, 0, 100000000)                  \
    X(prefix_tokens, 512, 1, WF_TRACE_MAX_TOKENS) \
    X(prefix_groups, 1, 1, 1000000)               \
    X(batch, 256, 1, WF_PAGE_TABLE_MAX_BATCH)     \
    X(page_size, 16, 1, 65536)                    \
    X(num_pages, 0, 0, INT32_MAX)                 \
    X(seed, 0, 0, INT64_MAX)                      \
    X(step, WF_PAGE_TABLE_LARGEST, WF_PAGE_TABLE_LARGEST, INT32_MAX)

#define REAL_LIST(X)                       \
    X(mean_prompt, 1024.0, 1.0, 1048576.0) \
    X(mean_output, 256.0, 1.0, 1048576.0)  \
    X(spread, 0.8, 0.0, 3.0)               \
    X(rate_per_s, 8.0, 1e-6, 1e9)          \
    X(prefix_share, 0.0, 0.0, 1.0)         \
    X(step_ms, 25.0, 1e-3, 1e6)            \
    X(time_scale, 0.0, 0.0, 1e9)

struct int_member {
    const char *name;
    size_t offset;
    int64_t value, min, max;
};

struct real_member {
    const char *name;
    size_t offset;
    double value, min, max;
};

static const struct int_member ints[] = {
#define X(member, value, min, max) \
    { #member, offsetof(struct wf_page_table_spec, member), value, min, max },
    INT_LIST(X)
#undef X
};

static const struct real_member reals[] = {
#define X(member, value, min, max) \
    { #member, offsetof(struct wf_page_table_spec, member), value, min, max },
    REAL_LIST(X)
#undef X
};

#define INT_COUNT  (sizeof ints / sizeof ints[0])
#define REAL_COUNT (sizeof reals / sizeof reals[0])

static const char *const keys[] = { "kind",
                                    "trace",
                                    "trace_sha256",
                                    "synthetic",
                                    "mode",
                                    "free_order",
#define X(member, value, min, max) #member,
                                    INT_LIST(X) REAL_LIST(X)
#undef X
                                        NULL };

static const char *const mode_names[] = { "decode", "extend", "prefill", NULL };
static const char *const order_names[] = { "lifo", "random", NULL };
/* Members that only synthetic requests have. */
static const char *const synthetic_keys[] = { "mean_prompt", "mean_output", "spread",
                                              "rate_per_s", NULL };

static int64_t *int_at(struct wf_page_table_spec *spec, size_t i)
{
    return (int64_t *)(void *)((char *)spec + ints[i].offset);
}

static double *real_at(struct wf_page_table_spec *spec, size_t i)
{
    return (double *)(void *)((char *)spec + reals[i].offset);
}

void wf_page_table_spec_default(struct wf_page_table_spec *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < INT_COUNT; i++) {
        *int_at(ret, i) = ints[i].value;
    }
    for (size_t i = 0; i < REAL_COUNT; i++) {
        *real_at(ret, i) = reals[i].value;
    }
}

static enum wf_status check_real(const struct real_member *m,
                                 double v,
                                 struct wf_error *err)
{
    if (!isfinite(v) || v < m->min || v > m->max) {
        return wf_errorf(err, WF_EINVAL, "\"%s\" is %g, allowed is %g to %g", m->name,
                         v, m->min, m->max);
    }
    return WF_OK;
}

enum wf_status wf_page_table_spec_check(const struct wf_page_table_spec *spec,
                                        struct wf_error *err)
{
    struct wf_page_table_spec s = *spec;
    for (size_t i = 0; i < INT_COUNT; i++) {
        const int64_t v = *int_at(&s, i);
        if (v < ints[i].min || v > ints[i].max) {
            return wf_errorf(err, WF_EINVAL,
                             "\"%s\" is %" PRId64 ", allowed is %" PRId64
                             " to %" PRId64,
                             ints[i].name, v, ints[i].min, ints[i].max);
        }
    }
    for (size_t i = 0; i < REAL_COUNT; i++) {
        enum wf_status st = check_real(&reals[i], *real_at(&s, i), err);
        if (st != WF_OK) {
            return st;
        }
    }
    if (s.num_pages == 1) {
        return wf_errorf(
            err, WF_EINVAL,
            "\"num_pages\" is 1, but page 0 is never used: 2 or more (or 0 "
            "for a fitting pool)");
    }
    if (s.trace_sha256 && !wf_sha256_is_hex(s.trace_sha256)) {
        return wf_errorf(err, WF_EINVAL,
                         "\"trace_sha256\" must be 64 lower-case hex digits");
    }
    return WF_OK;
}

static enum wf_status read_numbers(const struct wf_json *json,
                                   struct wf_page_table_spec *spec,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < INT_COUNT && st == WF_OK; i++) {
        st = wf_json_opt_i64(json, ints[i].name, ints[i].min, ints[i].max,
                             int_at(spec, i), err);
    }
    for (size_t i = 0; i < REAL_COUNT && st == WF_OK; i++) {
        st = wf_json_opt_f64(json, reals[i].name, real_at(spec, i), err);
    }
    return st;
}

static enum wf_status read_choice(const struct wf_json *json,
                                  const char *key,
                                  const char *const *names,
                                  int *ret,
                                  struct wf_error *err)
{
    const char *text = names[0];
    enum wf_status st = wf_json_opt_string(json, key, &text, err);
    if (st != WF_OK) {
        return st;
    }
    struct wf_buf list = WF_BUF_INIT;
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret = i;
            wf_buf_free(&list);
            return WF_OK;
        }
        (void)wf_buf_printf(&list, NULL, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    st = wf_errorf(err, WF_EINVAL, "\"%s\" is \"%.40s\", known are: %s", key, text,
                   wf_buf_cstr(&list));
    wf_buf_free(&list);
    return st;
}

/* Exactly one source, and no member that the source would ignore. */
static enum wf_status read_source(const struct wf_json *json,
                                  struct wf_page_table_spec *spec,
                                  struct wf_error *err)
{
    bool synthetic = false;
    enum wf_status st = wf_json_opt_string(json, "trace", &spec->trace, err);
    if (st == WF_OK) {
        st = wf_json_opt_string(json, "trace_sha256", &spec->trace_sha256, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_bool(json, "synthetic", &synthetic, err);
    }
    if (st != WF_OK) {
        return st;
    }
    if (synthetic == (spec->trace != NULL)) {
        return wf_errorf(err, WF_EINVAL,
                         "give either \"trace\" (a file) or \"synthetic\": true");
    }
    for (size_t i = 0; spec->trace && synthetic_keys[i]; i++) {
        if (wf_json_find(json, synthetic_keys[i])) {
            return wf_errorf(err, WF_EINVAL,
                             "\"%s\" is for synthetic requests, a trace has its own",
                             synthetic_keys[i]);
        }
    }
    if (!spec->trace && spec->trace_sha256) {
        return wf_errorf(err, WF_EINVAL, "\"trace_sha256\" needs a \"trace\"");
    }
    return WF_OK;
}

enum wf_status wf_page_table_spec_parse(const struct wf_json *json,
                                        const char *base_dir,
                                        struct wf_page_table_spec *ret,
                                        struct wf_error *err)
{
    struct wf_page_table_spec spec;
    const char *kind = NULL;
    int mode = 0, order = 0;
    wf_page_table_spec_default(&spec);
    spec.base_dir = base_dir;
    enum wf_status st = wf_json_get_string(json, "kind", &kind, err);
    if (st == WF_OK && strcmp(kind, "page-table") != 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "\"kind\" is \"%.40s\", known are: page-table, "
                       "page-list (in a suite)",
                       kind);
    }
    if (st == WF_OK) {
        st = wf_json_only_keys(json, keys, err);
    }
    if (st == WF_OK) {
        st = read_source(json, &spec, err);
    }
    if (st == WF_OK) {
        st = read_numbers(json, &spec, err);
    }
    if (st == WF_OK) {
        st = read_choice(json, "mode", mode_names, &mode, err);
    }
    if (st == WF_OK) {
        st = read_choice(json, "free_order", order_names, &order, err);
    }
    spec.mode = (enum wf_page_table_mode)mode;
    spec.free_order = (enum wf_free_order)order;
    if (st == WF_OK) {
        st = wf_page_table_spec_check(&spec, err);
    }
    if (st == WF_OK) {
        *ret = spec;
    }
    return st;
}

static bool is_synthetic_key(const char *name)
{
    for (size_t i = 0; synthetic_keys[i]; i++) {
        if (strcmp(synthetic_keys[i], name) == 0) {
            return true;
        }
    }
    return false;
}

enum wf_status wf_page_table_spec_json(const struct wf_page_table_spec *spec,
                                       struct wf_json **ret,
                                       struct wf_error *err)
{
    struct wf_page_table_spec s = *spec;
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_string(obj, "kind", "page-table", err);
    if (st == WF_OK && !s.trace) {
        st = wf_json_set_bool(obj, "synthetic", true, err);
    }
    for (size_t i = 0; i < INT_COUNT && st == WF_OK; i++) {
        st = wf_json_set_i64(obj, ints[i].name, *int_at(&s, i), err);
    }
    for (size_t i = 0; i < REAL_COUNT && st == WF_OK; i++) {
        if (!s.trace || !is_synthetic_key(reals[i].name)) {
            st = wf_json_set_f64(obj, reals[i].name, *real_at(&s, i), err);
        }
    }
    if (st == WF_OK) {
        st = wf_json_set_string(obj, "mode", mode_names[s.mode], err);
    }
    if (st == WF_OK) {
        st = wf_json_set_string(obj, "free_order", order_names[s.free_order], err);
    }
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}
