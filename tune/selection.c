/* Reading a selection table, strictly. */
#include "tune/selection_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

static const char *const keys[] = { "schema",  "op",          "arch",
                                    "basis",   "description", "made_from",
                                    "kernels", "rows",        NULL };
static const char *const kernel_keys[] = { "name", "models", NULL };
static const char *const row_keys[] = { "name",   "case", "kernel", "basis",
                                        "cycles", "note", NULL };

void wf_selection_free(struct wf_selection *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->kernel_count; i++) {
        free(s->kernel[i].model);
    }
    free(s->kernel);
    free(s->row);
    wf_json_free(s->json);
    free(s);
}

const char *wf_selection_op(const struct wf_selection *s)
{
    return s->op;
}

const char *wf_selection_arch(const struct wf_selection *s)
{
    return s->arch;
}

const char *wf_selection_basis(const struct wf_selection *s)
{
    return s->basis;
}

size_t wf_selection_kernel_count(const struct wf_selection *s)
{
    return s->kernel_count;
}

const char *wf_selection_kernel(const struct wf_selection *s, size_t i)
{
    return s->kernel[i].name;
}

size_t wf_selection_row_count(const struct wf_selection *s)
{
    return s->row_count;
}

/* --- cases --- */

static bool among(const char *key, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        if (strcmp(key, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool selection_is_apart(const char *key)
{
    static const char *const list[] = { "seed", "inputs", NULL };
    return among(key, list);
}

bool selection_is_size(const char *key)
{
    static const char *const list[] = { "M",        "N",        "K",        "batch",
                                        "lda",      "ldb",      "ldc",      "ldd",
                                        "stride_a", "stride_b", "stride_c", "stride_d",
                                        "offset_a", "offset_b", "offset_c", "offset_d",
                                        NULL };
    return among(key, list);
}

static bool same_value(const struct wf_json *a, const struct wf_json *b)
{
    struct wf_buf x = WF_BUF_INIT, y = WF_BUF_INIT;
    const bool same = wf_json_write_canonical(a, &x, NULL) == WF_OK &&
                      wf_json_write_canonical(b, &y, NULL) == WF_OK &&
                      strcmp(wf_buf_cstr(&x), wf_buf_cstr(&y)) == 0;
    wf_buf_free(&x);
    wf_buf_free(&y);
    return same;
}

static bool covers(const struct wf_json *a, const struct wf_json *b, bool sizes)
{
    for (const struct wf_json *v = wf_json_first(a); v != NULL; v = wf_json_next(v)) {
        const char *key = wf_json_key(v);
        const struct wf_json *other = wf_json_find(b, key);
        if (selection_is_apart(key) || (!sizes && selection_is_size(key))) {
            continue;
        }
        if (other == NULL || !same_value(v, other)) {
            return false;
        }
    }
    return true;
}

bool selection_same_case(const struct wf_json *a, const struct wf_json *b)
{
    return covers(a, b, true) && covers(b, a, true);
}

bool selection_same_class(const struct wf_json *a, const struct wf_json *b)
{
    return covers(a, b, false) && covers(b, a, false);
}

/* --- reading --- */

static enum wf_status object(const struct wf_json *v, struct wf_error *err)
{
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT
               ? WF_OK
               : wf_errorf(err, WF_EINVAL, "an object is expected");
}

static enum wf_status read_models(struct selection_kernel *k,
                                  const struct wf_json *list,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    k->model = wf_calloc(wf_json_count(list) + 1, sizeof(*k->model));
    if (k->model == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for models");
    }
    const struct wf_json *v = wf_json_first(list);
    for (; v != NULL && st == WF_OK; v = wf_json_next(v), k->model_count++) {
        if (wf_tune_model_parse(v, &k->model[k->model_count], err) != WF_OK) {
            st = wf_error_prefix(err, "models[%zu]", k->model_count);
        }
    }
    return st;
}

static enum wf_status read_kernel(struct wf_selection *s,
                                  const struct wf_json *v,
                                  struct wf_error *err)
{
    struct selection_kernel *k = &s->kernel[s->kernel_count];
    const struct wf_json *models = NULL;
    enum wf_status st = object(v, err);
    st = st == WF_OK ? wf_json_only_keys(v, kernel_keys, err) : st;
    st = st == WF_OK ? wf_json_get_string(v, "name", &k->name, err) : st;
    if (st != WF_OK) {
        return st;
    }
    s->kernel_count++;
    for (size_t i = 0; i + 1 < s->kernel_count; i++) {
        if (strcmp(s->kernel[i].name, k->name) == 0) {
            return wf_errorf(err, WF_EINVAL, "%s is there twice", k->name);
        }
    }
    if (wf_json_find(v, "models") == NULL) {
        return WF_OK;
    }
    st = wf_json_get_array(v, "models", &models, err);
    return st == WF_OK ? read_models(k, models, err) : st;
}

static enum wf_status read_row(struct wf_selection *s,
                               const struct wf_json *v,
                               struct wf_error *err)
{
    struct selection_row *r = &s->row[s->row_count];
    bool known = false;
    enum wf_status st = object(v, err);
    st = st == WF_OK ? wf_json_only_keys(v, row_keys, err) : st;
    st = st == WF_OK ? wf_json_get_string(v, "name", &r->name, err) : st;
    st = st == WF_OK ? wf_json_get_string(v, "kernel", &r->kernel, err) : st;
    st = st == WF_OK ? wf_json_get_object(v, "case", &r->problem, err) : st;
    for (size_t i = 0; st == WF_OK && i < s->kernel_count; i++) {
        known = known || strcmp(s->kernel[i].name, r->kernel) == 0;
    }
    if (st == WF_OK && !known) {
        st = wf_errorf(err, WF_EINVAL, "kernel: %.100s is not among the kernels",
                       r->kernel);
    }
    s->row_count += st == WF_OK;
    return st;
}

typedef enum wf_status (*read_item_fn)(struct wf_selection *s,
                                       const struct wf_json *v,
                                       struct wf_error *err);

static enum wf_status read_list(struct wf_selection *s,
                                const char *key,
                                read_item_fn read,
                                struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status st = wf_json_get_array(s->json, key, &list, err);
    const size_t n = st == WF_OK ? wf_json_count(list) : 0;
    if (st == WF_OK && read == read_kernel) {
        s->kernel = wf_calloc(n + 1, sizeof(*s->kernel));
    } else if (st == WF_OK) {
        s->row = wf_calloc(n + 1, sizeof(*s->row));
    }
    if (st == WF_OK &&
        (read == read_kernel ? (void *)s->kernel : (void *)s->row) == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a selection");
    }
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (size_t i = 0; v != NULL && st == WF_OK; v = wf_json_next(v), i++) {
        if (read(s, v, err) != WF_OK) {
            st = wf_error_prefix(err, "%s[%zu]", key, i);
        }
    }
    return st;
}

static enum wf_status read_head(struct wf_selection *s, struct wf_error *err)
{
    const char *schema = NULL;
    const struct wf_json *made = NULL;
    enum wf_status st = object(s->json, err);
    st = st == WF_OK ? wf_json_get_string(s->json, "schema", &schema, err) : st;
    if (st == WF_OK && strcmp(schema, WF_SELECTION_SCHEMA) != 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "schema '%.60s' is not \"" WF_SELECTION_SCHEMA "\"", schema);
    }
    st = st == WF_OK ? wf_json_only_keys(s->json, keys, err) : st;
    st = st == WF_OK ? wf_json_get_string(s->json, "op", &s->op, err) : st;
    st = st == WF_OK ? wf_json_get_string(s->json, "arch", &s->arch, err) : st;
    st = st == WF_OK ? wf_json_get_string(s->json, "basis", &s->basis, err) : st;
    return st == WF_OK ? wf_json_get_array(s->json, "made_from", &made, err) : st;
}

enum wf_status wf_selection_parse(const struct wf_json *json,
                                  struct wf_selection **ret,
                                  struct wf_error *err)
{
    struct wf_selection *s = wf_calloc(1, sizeof(*s));
    if (s == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a selection");
    }
    enum wf_status st = wf_json_copy(json, &s->json, err);
    st = st == WF_OK ? read_head(s, err) : st;
    st = st == WF_OK ? read_list(s, "kernels", read_kernel, err) : st;
    st = st == WF_OK ? read_list(s, "rows", read_row, err) : st;
    if (st != WF_OK) {
        wf_selection_free(s);
        return st;
    }
    *ret = s;
    return WF_OK;
}

enum wf_status wf_selection_read(const char *path,
                                 struct wf_selection **ret,
                                 struct wf_error *err)
{
    struct wf_json *json = NULL;
    enum wf_status st = wf_json_parse_file(path, &json, err);
    if (st == WF_OK && wf_selection_parse(json, ret, err) != WF_OK) {
        st = wf_error_prefix(err, "%s", path);
    }
    wf_json_free(json);
    return st;
}
