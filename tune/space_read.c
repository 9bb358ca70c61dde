/* Reading a knob space, strictly. */
#include "tune/space_internal.h"

#include "core/buf.h"
#include "core/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = { "schema", "op",        "description", "entry",
                                    "bases",  "knobs",     "values",      "conditions",
                                    "limits", "dominance", NULL };

static bool is_object(const struct wf_json *v)
{
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT;
}

static enum wf_status copy_text(const char *text, char **ret, struct wf_error *err)
{
    *ret = wf_strdup(text);
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a space");
}

static enum wf_status get_copy(const struct wf_json *obj,
                               const char *key,
                               char **ret,
                               struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status st = wf_json_get_string(obj, key, &text, err);
    return st == WF_OK ? copy_text(text, ret, err) : st;
}

/* --- knobs --- */

static enum wf_status read_value(struct space_knob *k,
                                 const struct wf_json *v,
                                 struct wf_error *err)
{
    int64_t n = 0;
    if (!wf_json_as_i64(v, &n)) {
        return wf_errorf(err, WF_EINVAL, "knobs: %s: values are whole numbers, not %s",
                         k->name, wf_json_type_name(wf_json_type(v)));
    }
    if (k->count == WF_SPACE_VALUES) {
        return wf_errorf(err, WF_ERANGE, "knobs: %s: more than %d values", k->name,
                         WF_SPACE_VALUES);
    }
    for (size_t i = 0; i < k->count; i++) {
        if (k->value[i] == n) {
            return wf_errorf(err, WF_EINVAL, "knobs: %s: %lld is there twice", k->name,
                             (long long)n);
        }
    }
    k->value[k->count++] = n;
    return WF_OK;
}

static enum wf_status read_knob(struct wf_space *s,
                                const struct wf_json *list,
                                struct wf_error *err)
{
    if (s->knob_count == WF_SPACE_KNOBS) {
        return wf_errorf(err, WF_ERANGE, "knobs: more than %d", WF_SPACE_KNOBS);
    }
    struct space_knob *k = &s->knob[s->knob_count];
    enum wf_status st = copy_text(wf_json_key(list), &k->name, err);
    if (st != WF_OK) {
        return st;
    }
    s->knob_count++;
    if (wf_json_type(list) != WF_JSON_ARRAY || wf_json_count(list) == 0) {
        return wf_errorf(err, WF_EINVAL,
                         "knobs: %s: give a list of values, "
                         "the simplest first",
                         k->name);
    }
    for (const struct wf_json *v = wf_json_first(list); v != NULL && st == WF_OK;
         v = wf_json_next(v)) {
        st = read_value(k, v, err);
    }
    s->points *= st == WF_OK ? k->count : 1;
    if (st == WF_OK && s->points > WF_SPACE_MAX_POINTS) {
        st = wf_errorf(err, WF_ERANGE,
                       "knobs: more than %d combinations: take out values or knobs, or "
                       "make two spaces of it",
                       WF_SPACE_MAX_POINTS);
    }
    return st;
}

static enum wf_status read_knobs(struct wf_space *s,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    const struct wf_json *o = NULL;
    enum wf_status st = wf_json_get_object(json, "knobs", &o, err);
    s->points = 1;
    if (st == WF_OK && wf_json_count(o) == 0) {
        st = wf_errorf(err, WF_EINVAL, "knobs: there are none");
    }
    const struct wf_json *v = st == WF_OK ? wf_json_first(o) : NULL;
    for (; v != NULL && st == WF_OK; v = wf_json_next(v)) {
        st = read_knob(s, v, err);
    }
    return st;
}

/* --- values and conditions --- */

static enum wf_status parse_expr(const struct wf_json *v,
                                 const char *where,
                                 const char *name,
                                 struct wf_expr **ret,
                                 struct wf_error *err)
{
    const char *text = wf_json_string(v);
    char *place = wf_asprintf("%s: %.200s", where, name);
    enum wf_status st =
        text == NULL    ? wf_errorf(err, WF_EINVAL,
                                    "%s: %.200s: an expression is expected", where, name)
        : place == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a space")
                        : wf_expr_parse(text, place, ret, err);
    free(place);
    return st;
}

static enum wf_status read_values(struct wf_space *s,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    const struct wf_json *o = wf_json_find(json, "values");
    enum wf_status st =
        o == NULL || is_object(o)
            ? WF_OK
            : wf_errorf(err, WF_EINVAL, "values: an object is expected");
    const struct wf_json *v = st == WF_OK && o != NULL ? wf_json_first(o) : NULL;
    for (; v != NULL && st == WF_OK; v = wf_json_next(v)) {
        struct space_named *n = &s->value[s->value_count];
        if (s->value_count == WF_SPACE_KNOBS) {
            return wf_errorf(err, WF_ERANGE, "values: more than %d", WF_SPACE_KNOBS);
        }
        if (space_find_knob(s, wf_json_key(v)) < WF_SPACE_KNOBS) {
            return wf_errorf(err, WF_EINVAL, "values: %.100s is a knob already",
                             wf_json_key(v));
        }
        st = copy_text(wf_json_key(v), &n->name, err);
        s->value_count += st == WF_OK;
        st = st == WF_OK ? parse_expr(v, "values", n->name, &n->expr, err) : st;
    }
    return st;
}

static enum wf_status read_condition(struct wf_space *s,
                                     const struct wf_json *v,
                                     struct wf_error *err)
{
    static const char *const members[] = { "needs", "why", NULL };
    if (s->condition_count == SPACE_CONDITIONS) {
        return wf_errorf(err, WF_ERANGE, "more than %d", SPACE_CONDITIONS);
    }
    struct space_named *c = &s->condition[s->condition_count];
    enum wf_status st = is_object(v)
                            ? wf_json_only_keys(v, members, err)
                            : wf_errorf(err, WF_EINVAL, "an object is expected");
    st = st == WF_OK ? get_copy(v, "why", &c->name, err) : st;
    s->condition_count += st == WF_OK;
    if (st == WF_OK && wf_json_find(v, "needs") == NULL) {
        st = wf_errorf(err, WF_EINVAL, "needs: is missing");
    }
    return st == WF_OK
               ? parse_expr(wf_json_find(v, "needs"), "needs", c->name, &c->expr, err)
               : st;
}

static enum wf_status read_conditions(struct wf_space *s,
                                      const struct wf_json *json,
                                      struct wf_error *err)
{
    const struct wf_json *list = NULL;
    if (wf_json_find(json, "conditions") == NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_json_get_array(json, "conditions", &list, err);
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (size_t i = 0; v != NULL && st == WF_OK; v = wf_json_next(v), i++) {
        if (read_condition(s, v, err) != WF_OK) {
            st = wf_error_prefix(err, "conditions[%zu]", i);
        }
    }
    return st;
}

/* --- limits and dominance --- */

static enum wf_status read_limit(struct wf_space *s,
                                 const struct wf_json *v,
                                 struct wf_error *err)
{
    static const char *const members[] = { "figure", "least", "most", "why", NULL };
    const char *why = "";
    if (s->limit_count == WF_SPACE_KNOBS) {
        return wf_errorf(err, WF_ERANGE, "more than %d", WF_SPACE_KNOBS);
    }
    struct space_limit *l = &s->limit[s->limit_count];
    l->least = l->most = (double)NAN;
    enum wf_status st = is_object(v)
                            ? wf_json_only_keys(v, members, err)
                            : wf_errorf(err, WF_EINVAL, "an object is expected");
    st = st == WF_OK ? get_copy(v, "figure", &l->figure, err) : st;
    s->limit_count += st == WF_OK;
    st = st == WF_OK ? wf_json_opt_f64(v, "least", &l->least, err) : st;
    st = st == WF_OK ? wf_json_opt_f64(v, "most", &l->most, err) : st;
    st = st == WF_OK ? wf_json_opt_string(v, "why", &why, err) : st;
    if (st == WF_OK && isnan(l->least) && isnan(l->most)) {
        st = wf_errorf(err, WF_EINVAL, "%.60s: give least or most", l->figure);
    }
    return st == WF_OK ? copy_text(why, &l->why, err) : st;
}

static enum wf_status read_limits(struct wf_space *s,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    const struct wf_json *list = NULL;
    if (wf_json_find(json, "limits") == NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_json_get_array(json, "limits", &list, err);
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (size_t i = 0; v != NULL && st == WF_OK; v = wf_json_next(v), i++) {
        if (read_limit(s, v, err) != WF_OK) {
            st = wf_error_prefix(err, "limits[%zu]", i);
        }
    }
    return st;
}

static enum wf_status read_class(struct wf_space *s,
                                 const struct wf_json *list,
                                 struct wf_error *err)
{
    const struct wf_json *v = wf_json_first(list);
    for (; v != NULL; v = wf_json_next(v)) {
        const char *name = wf_json_string(v);
        const size_t knob = name != NULL ? space_find_knob(s, name) : WF_SPACE_KNOBS;
        if (knob == WF_SPACE_KNOBS || s->class_count == WF_SPACE_KNOBS) {
            return wf_errorf(err, WF_EINVAL, "among: '%.60s' is no knob of this space",
                             name != NULL ? name : wf_json_type_name(wf_json_type(v)));
        }
        s->class_knob[s->class_count++] = knob;
    }
    return WF_OK;
}

static enum wf_status read_figures(struct wf_space *s,
                                   const struct wf_json *list,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = wf_json_first(list);
    for (; v != NULL && st == WF_OK; v = wf_json_next(v)) {
        const char *name = wf_json_string(v);
        if (name == NULL || s->dominance_count == WF_SPACE_KNOBS) {
            return wf_errorf(err, WF_EINVAL, "figures: at most %d names are expected",
                             WF_SPACE_KNOBS);
        }
        st = copy_text(name, &s->dominance[s->dominance_count], err);
        s->dominance_count += st == WF_OK;
    }
    return st;
}

static enum wf_status read_dominance(struct wf_space *s,
                                     const struct wf_json *json,
                                     struct wf_error *err)
{
    static const char *const members[] = { "figures", "among", NULL };
    const struct wf_json *o = NULL, *figures = NULL, *among = NULL;
    if (wf_json_find(json, "dominance") == NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_json_get_object(json, "dominance", &o, err);
    st = st == WF_OK ? wf_json_only_keys(o, members, err) : st;
    st = st == WF_OK ? wf_json_get_array(o, "figures", &figures, err) : st;
    st = st == WF_OK ? wf_json_get_array(o, "among", &among, err) : st;
    st = st == WF_OK ? read_figures(s, figures, err) : st;
    st = st == WF_OK ? read_class(s, among, err) : st;
    return st == WF_OK ? st : wf_error_prefix(err, "dominance");
}

/* --- the whole --- */

static enum wf_status hash(struct wf_space *s,
                           const struct wf_json *json,
                           struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status st = wf_json_write_canonical(json, &text, err);
    if (st == WF_OK) {
        wf_sha256_hex(text.data, text.len, s->sha256);
    }
    wf_buf_free(&text);
    return st;
}

static enum wf_status read_head(struct wf_space *s,
                                const struct wf_json *json,
                                struct wf_error *err)
{
    const char *schema = NULL, *description = NULL;
    if (!is_object(json)) {
        return wf_errorf(err, WF_EINVAL, "an object is expected");
    }
    enum wf_status st = wf_json_get_string(json, "schema", &schema, err);
    if (st == WF_OK && strcmp(schema, WF_SPACE_SCHEMA) != 0) {
        st = wf_errorf(err, WF_EINVAL, "schema '%.60s' is not \"" WF_SPACE_SCHEMA "\"",
                       schema);
    }
    st = st == WF_OK ? wf_json_only_keys(json, keys, err) : st;
    st = st == WF_OK ? wf_json_opt_string(json, "description", &description, err) : st;
    st = st == WF_OK ? get_copy(json, "op", &s->op, err) : st;
    st = st == WF_OK ? get_copy(json, "entry", &s->entry, err) : st;
    if (st == WF_OK && !wf_relative_path_is_safe(s->entry)) {
        st = wf_errorf(err, WF_EINVAL,
                       "entry: '%.200s' is no path from the tree's root", s->entry);
    }
    return st;
}

enum wf_status wf_space_parse(const struct wf_json *json,
                              const struct wf_json *entry,
                              struct wf_space **ret,
                              struct wf_error *err)
{
    const struct wf_json *bases = NULL;
    struct wf_space *s = wf_calloc(1, sizeof(*s));
    if (s == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a space");
    }
    enum wf_status st = read_head(s, json, err);
    st = st == WF_OK ? hash(s, json, err) : st;
    st = st == WF_OK ? read_knobs(s, json, err) : st;
    st = st == WF_OK ? read_values(s, json, err) : st;
    st = st == WF_OK ? read_conditions(s, json, err) : st;
    st = st == WF_OK ? read_limits(s, json, err) : st;
    st = st == WF_OK ? read_dominance(s, json, err) : st;
    st = st == WF_OK ? wf_json_get_array(json, "bases", &bases, err) : st;
    st = st == WF_OK ? space_read_bases(s, bases, entry, err) : st;
    if (st != WF_OK) {
        wf_space_free(s);
        return st;
    }
    *ret = s;
    return WF_OK;
}

/* The folder above `path` that has the entry. */
static enum wf_status find_root(const char *path,
                                const char *entry,
                                char **ret,
                                struct wf_error *err)
{
    char *folder = wf_strdup(path);
    char *slash = folder != NULL ? strrchr(folder, '/') : NULL;
    for (; slash != NULL; slash = strrchr(folder, '/')) {
        *slash = '\0';
        char *file = wf_asprintf("%s/%s", folder, entry);
        const bool there = file != NULL && wf_file_exists(file);
        free(file);
        if (there) {
            *ret = folder;
            return WF_OK;
        }
    }
    free(folder);
    if (wf_file_exists(entry)) {
        return copy_text(".", ret, err);
    }
    return wf_errorf(
        err, WF_ENOTFOUND,
        "no folder above it has the entry %.200s: name the tree with --root", entry);
}

static enum wf_status read_entry(const char *path,
                                 const char *entry,
                                 const char *root,
                                 char **ret_root,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    enum wf_status st = root != NULL ? copy_text(root, ret_root, err)
                                     : find_root(path, entry, ret_root, err);
    char *file = st == WF_OK ? wf_path_join(*ret_root, entry) : NULL;
    if (st == WF_OK) {
        st = file != NULL ? wf_json_parse_file(file, ret, err)
                          : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    free(file);
    return st;
}

enum wf_status wf_space_read(const char *path,
                             const char *root,
                             struct wf_space **ret,
                             struct wf_error *err)
{
    struct wf_json *json = NULL, *entry = NULL;
    char *found = NULL;
    const char *name = NULL;
    enum wf_status st = wf_json_parse_file(path, &json, err);
    if (st != WF_OK) {
        return st;
    }
    st = is_object(json) ? wf_json_get_string(json, "entry", &name, err)
                         : wf_errorf(err, WF_EINVAL, "an object is expected");
    if (st == WF_OK && !wf_relative_path_is_safe(name)) {
        st = wf_errorf(err, WF_EINVAL,
                       "entry: '%.200s' is no path from the tree's root", name);
    }
    st = st == WF_OK ? read_entry(path, name, root, &found, &entry, err) : st;
    st = st == WF_OK ? wf_space_parse(json, entry, ret, err) : st;
    if (st == WF_OK) {
        (*ret)->root = found;
        found = NULL;
    } else {
        st = wf_error_prefix(err, "%s", path);
    }
    free(found);
    wf_json_free(entry);
    wf_json_free(json);
    return st;
}
