/* Reading pack.json: members, expressions and the place that errors name.
 *
 * A reader function either succeeds or has written the error with the full place in
 * front; callers pass the status on and add nothing. */
#include "packs/pack_read.h"

#include "core/file.h"
#include "core/parse.h"
#include "packs/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t pack_where_push(struct pack_reader *r, const char *fmt, ...)
{
    size_t mark = r->where_len;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(r->where + mark, sizeof r->where - mark, fmt, ap);
    va_end(ap);
    size_t room = sizeof r->where - mark - 1;
    r->where_len = mark + ((n < 0 || (size_t)n > room) ? room : (size_t)n);
    return mark;
}

void pack_where_pop(struct pack_reader *r, size_t mark)
{
    r->where_len = mark;
    r->where[mark] = '\0';
}

enum wf_status pack_fail(struct pack_reader *r, const char *fmt, ...)
{
    char message[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return wf_errorf(r->err, WF_EINVAL, "%s: %s", r->where, message);
}

enum wf_status pack_prefix(struct pack_reader *r, enum wf_status st)
{
    if (st != WF_OK) {
        (void)wf_error_prefix(r->err, "%s", r->where);
    }
    return st;
}

enum wf_status pack_no_memory(struct pack_reader *r)
{
    return wf_errorf(r->err, WF_ENOMEM, "%s: no memory", r->where);
}

void *pack_alloc(struct pack_reader *r, size_t n, size_t size, enum wf_status *st)
{
    void *p = arena_calloc(r->arena, n, size);
    if (p == NULL) {
        *st = pack_no_memory(r);
    }
    return p;
}

enum wf_status pack_only_keys(struct pack_reader *r,
                              const struct wf_json *obj,
                              const char *const *keys)
{
    if (wf_json_type(obj) != WF_JSON_OBJECT) {
        return pack_fail(r, "an object is expected, not %s",
                         wf_json_type_name(wf_json_type(obj)));
    }
    return pack_prefix(r, wf_json_only_keys(obj, keys, r->err));
}

enum wf_status pack_copy(struct pack_reader *r, const char *s, const char **ret)
{
    const char *copy = arena_strdup(r->arena, s);
    if (copy == NULL) {
        return pack_no_memory(r);
    }
    *ret = copy;
    return WF_OK;
}

enum wf_status pack_get_string(struct pack_reader *r,
                               const struct wf_json *obj,
                               const char *key,
                               const char **ret)
{
    const char *s = NULL;
    enum wf_status st = wf_json_get_string(obj, key, &s, r->err);
    return st == WF_OK ? pack_copy(r, s, ret) : pack_prefix(r, st);
}

enum wf_status pack_opt_string(struct pack_reader *r,
                               const struct wf_json *obj,
                               const char *key,
                               const char **ret)
{
    const char *s = NULL;
    enum wf_status st = wf_json_opt_string(obj, key, &s, r->err);
    if (st != WF_OK || s == NULL) {
        return pack_prefix(r, st);
    }
    return pack_copy(r, s, ret);
}

enum wf_status pack_opt_i64(struct pack_reader *r,
                            const struct wf_json *obj,
                            const char *key,
                            int64_t min,
                            int64_t max,
                            int64_t *ret)
{
    return pack_prefix(r, wf_json_opt_i64(obj, key, min, max, ret, r->err));
}

enum wf_status pack_opt_array(struct pack_reader *r,
                              const struct wf_json *obj,
                              const char *key,
                              size_t least,
                              size_t most,
                              const struct wf_json **ret)
{
    *ret = NULL;
    if (wf_json_find(obj, key) == NULL && least == 0) {
        return WF_OK;
    }
    const struct wf_json *array = NULL;
    enum wf_status st = wf_json_get_array(obj, key, &array, r->err);
    if (st != WF_OK) {
        return pack_prefix(r, st);
    }
    size_t n = wf_json_count(array);
    if (n < least || n > most) {
        return pack_fail(r, "%s has %zu items, not %zu to %zu", key, n, least, most);
    }
    *ret = array;
    return WF_OK;
}

static enum wf_status parse_text(struct pack_reader *r,
                                 const char *text,
                                 struct wf_expr **ret)
{
    struct wf_expr *e = NULL;
    enum wf_status st = wf_expr_parse(text, r->where, &e, r->err);
    if (st == WF_OK) {
        st = arena_take_expr(r->arena, e, r->err);
    }
    if (st == WF_OK) {
        *ret = e;
    }
    return st;
}

enum wf_status pack_expr(struct pack_reader *r,
                         const struct wf_json *v,
                         struct wf_expr **ret)
{
    char text[40];
    int64_t i;
    double d;
    enum wf_json_type type = wf_json_type(v);
    if (type == WF_JSON_STRING) {
        return parse_text(r, wf_json_string(v), ret);
    }
    if (type == WF_JSON_INT && wf_json_as_i64(v, &i)) {
        (void)snprintf(text, sizeof text, "%lld", (long long)i);
        return parse_text(r, text, ret);
    }
    if (type == WF_JSON_DOUBLE && wf_json_as_f64(v, &d)) {
        return parse_text(r, wf_format_f64(d, text, sizeof text), ret);
    }
    return pack_fail(r, "an expression (string or number) is expected%s",
                     type == WF_JSON_INT ? "; this integer does not fit 64 bits" : "");
}

enum wf_status pack_opt_expr(struct pack_reader *r,
                             const struct wf_json *obj,
                             const char *key,
                             struct wf_expr **ret)
{
    const struct wf_json *v = wf_json_find(obj, key);
    if (v == NULL) {
        return WF_OK;
    }
    size_t mark = pack_where_push(r, ".%s", key);
    enum wf_status st = pack_expr(r, v, ret);
    pack_where_pop(r, mark);
    return st;
}

enum wf_status pack_get_expr(struct pack_reader *r,
                             const struct wf_json *obj,
                             const char *key,
                             struct wf_expr **ret)
{
    if (wf_json_find(obj, key) == NULL) {
        return pack_fail(r, "'%s' is missing", key);
    }
    return pack_opt_expr(r, obj, key, ret);
}

static enum wf_status read_param(struct pack_reader *r,
                                 const struct wf_json *v,
                                 struct wf_pack_param *ret)
{
    const char *name = wf_json_key(v);
    if (!wf_name_is_identifier(name)) {
        return pack_fail(r,
                         "'%.80s' is not a name: [A-Za-z_][A-Za-z0-9_]*, at most %d "
                         "characters",
                         name, WF_NAME_MAX);
    }
    size_t mark = pack_where_push(r, ".%s", name);
    enum wf_status st = pack_copy(r, name, &ret->name);
    st = st != WF_OK ? st : pack_expr(r, v, &ret->value);
    pack_where_pop(r, mark);
    return st;
}

enum wf_status pack_params(struct pack_reader *r,
                           const struct wf_json *obj,
                           const char *key,
                           size_t most,
                           struct wf_pack_param **ret,
                           size_t *ret_count)
{
    *ret_count = 0;
    if (wf_json_find(obj, key) == NULL) {
        return WF_OK;
    }
    const struct wf_json *map = NULL;
    enum wf_status st = wf_json_get_object(obj, key, &map, r->err);
    if (st != WF_OK) {
        return pack_prefix(r, st);
    }
    size_t n = wf_json_count(map);
    if (n > most) {
        return pack_fail(r, "%s has %zu members, at most %zu", key, n, most);
    }
    struct wf_pack_param *list = pack_alloc(r, n, sizeof *list, &st);
    size_t mark = pack_where_push(r, ".%s", key);
    const struct wf_json *v = wf_json_first(map);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        st = read_param(r, v, &list[i++]);
    }
    pack_where_pop(r, mark);
    *ret = list;
    *ret_count = n;
    return st;
}

enum wf_status pack_file_reference(struct pack_reader *r,
                                   const char *path,
                                   const char **ret)
{
    for (size_t i = 0; i < r->pack->file_count; i++) {
        if (strcmp(r->pack->file[i].path, path) == 0) {
            *ret = r->pack->file[i].path;
            return WF_OK;
        }
    }
    return pack_fail(r, "file '%.200s' is not in the pack's \"files\"", path);
}
