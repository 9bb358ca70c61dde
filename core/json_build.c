/* Building JSON: members and items, copies.
 *
 * Invariant: a child that is passed in is taken, also on failure, so that a caller
 * never frees one. A NULL parent or child is an earlier "no memory" that the caller has
 * not looked at yet. Setting a key that is there replaces its value in its place: no
 * tree of ours can hold a key twice. */
#include "core/json_node.h"

#include <string.h>

static enum wf_status no_memory(const char *key, struct wf_error *err)
{
    if (key == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a JSON value");
    }
    return wf_errorf(err, WF_ENOMEM, "no memory for JSON member \"%s\"", key);
}

enum wf_status wf_json_set_take(struct wf_json *obj,
                                const char *key,
                                struct wf_json *child,
                                struct wf_error *err)
{
    if (wf_json_node_set(obj, key, child)) {
        return WF_OK;
    }
    wf_json_free(child);
    return no_memory(key, err);
}

enum wf_status wf_json_push_take(struct wf_json *arr,
                                 struct wf_json *child,
                                 struct wf_error *err)
{
    if (wf_json_node_append(arr, NULL, child)) {
        return WF_OK;
    }
    wf_json_free(child);
    return no_memory(NULL, err);
}

enum wf_status wf_json_set_string(struct wf_json *obj,
                                  const char *key,
                                  const char *v,
                                  struct wf_error *err)
{
    return wf_json_set_take(
        obj, key, v == NULL ? wf_json_node_null() : wf_json_node_string(v), err);
}

/* Magnitude without overflow at INT64_MIN. */
static struct wf_json *from_i64(int64_t v)
{
    return wf_json_node_int(v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

enum wf_status wf_json_set_i64(struct wf_json *obj,
                               const char *key,
                               int64_t v,
                               struct wf_error *err)
{
    return wf_json_set_take(obj, key, from_i64(v), err);
}

enum wf_status wf_json_set_u64(struct wf_json *obj,
                               const char *key,
                               uint64_t v,
                               struct wf_error *err)
{
    return wf_json_set_take(obj, key, wf_json_node_int(false, v), err);
}

enum wf_status wf_json_set_f64(struct wf_json *obj,
                               const char *key,
                               double v,
                               struct wf_error *err)
{
    return wf_json_set_take(obj, key, wf_json_node_f64(v), err);
}

enum wf_status wf_json_set_bool(struct wf_json *obj,
                                const char *key,
                                bool v,
                                struct wf_error *err)
{
    return wf_json_set_take(obj, key, wf_json_node_bool(v), err);
}

enum wf_status wf_json_set_null(struct wf_json *obj,
                                const char *key,
                                struct wf_error *err)
{
    return wf_json_set_take(obj, key, wf_json_node_null(), err);
}

enum wf_status wf_json_push_string(struct wf_json *arr,
                                   const char *v,
                                   struct wf_error *err)
{
    return wf_json_push_take(
        arr, v == NULL ? wf_json_node_null() : wf_json_node_string(v), err);
}

enum wf_status wf_json_push_i64(struct wf_json *arr, int64_t v, struct wf_error *err)
{
    return wf_json_push_take(arr, from_i64(v), err);
}

enum wf_status wf_json_push_f64(struct wf_json *arr, double v, struct wf_error *err)
{
    return wf_json_push_take(arr, wf_json_node_f64(v), err);
}

/* --- copying --- */

static struct wf_json *copy_leaf(const struct wf_json *v)
{
    bool flag = false;
    bool negative = false;
    uint64_t magnitude = 0;
    double d = 0;

    switch (wf_json_type(v)) {
    case WF_JSON_BOOL:
        (void)wf_json_as_bool(v, &flag);
        return wf_json_node_bool(flag);
    case WF_JSON_INT:
        (void)wf_json_node_int_value(v, &negative, &magnitude);
        return wf_json_node_int(negative, magnitude);
    case WF_JSON_DOUBLE:
        (void)wf_json_as_f64(v, &d);
        return wf_json_node_f64(d);
    case WF_JSON_STRING:
        return wf_json_node_string(wf_json_string(v));
    case WF_JSON_ARRAY:
        return wf_json_array();
    case WF_JSON_OBJECT:
        return wf_json_object();
    case WF_JSON_NULL:
    default:
        return wf_json_node_null();
    }
}

static enum wf_status copy_at(const struct wf_json *v,
                              int depth,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_json *copy;
    struct wf_json *child = NULL;
    enum wf_status status;

    if (depth > WF_JSON_MAX_DEPTH) {
        return wf_errorf(err, WF_EINVAL, "JSON value is nested more than %d deep",
                         WF_JSON_MAX_DEPTH);
    }
    copy = copy_leaf(v);
    if (copy == NULL) {
        return no_memory(wf_json_key(v), err);
    }
    for (const struct wf_json *c = wf_json_first(v); c != NULL; c = wf_json_next(c)) {
        status = copy_at(c, depth + 1, &child, err);
        if (status != WF_OK) {
            goto fail;
        }
        if (!wf_json_node_append(copy, wf_json_key(c), child)) {
            wf_json_free(child);
            status = no_memory(wf_json_key(c), err);
            goto fail;
        }
    }
    *ret = copy;
    return WF_OK;
fail:
    wf_json_free(copy);
    return status;
}

enum wf_status wf_json_copy(const struct wf_json *v,
                            struct wf_json **ret,
                            struct wf_error *err)
{
    if (v == NULL) {
        return no_memory(NULL, err);
    }
    return copy_at(v, 0, ret, err);
}

enum wf_status wf_json_set_parsed(struct wf_json *obj,
                                  const char *key,
                                  const char *text,
                                  struct wf_error *err)
{
    struct wf_json *v = NULL;
    if (!text[0]) {
        return wf_json_set_null(obj, key, err);
    }
    enum wf_status status = wf_json_parse(text, strlen(text), key, &v, err);
    return status == WF_OK ? wf_json_set_take(obj, key, v, err) : status;
}

enum wf_status wf_json_set_copy(struct wf_json *obj,
                                const char *key,
                                const struct wf_json *v,
                                struct wf_error *err)
{
    struct wf_json *copy = NULL;
    enum wf_status status = wf_json_copy(v, &copy, err);

    return status != WF_OK ? status : wf_json_set_take(obj, key, copy, err);
}
