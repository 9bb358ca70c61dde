/* Buffers of a kernel in pack.json: workspaces and derived buffers. */
#include "packs/pack_read.h"

#include "packs/names.h"
#include "packs/transform.h"

#include <string.h>

static const char *const workspace_keys[] = { "name", "bytes", "init", NULL };
static const char *const derived_keys[] = { "name", "derive", NULL };
static const char *const init_keys[] = { "byte", "when", NULL };
static const char *const derive_keys[] = { "from", "transform", "params", NULL };

static enum wf_status read_init(struct pack_reader *r,
                                const struct wf_json *v,
                                struct wf_pack_buffer *b)
{
    const char *when = NULL;
    int64_t byte = 0;
    enum wf_status st = pack_only_keys(r, v, init_keys);
    st = st != WF_OK ? st : pack_opt_i64(r, v, "byte", 0, 255, &byte);
    st = st != WF_OK ? st : pack_get_string(r, v, "when", &when);
    if (st != WF_OK) {
        return st;
    }
    if (strcmp(when, "each") != 0 && strcmp(when, "once") != 0) {
        return pack_fail(r, "when '%.40s' is not \"once\" or \"each\"", when);
    }
    b->init = strcmp(when, "each") == 0 ? WF_INIT_EACH : WF_INIT_ONCE;
    b->init_byte = (uint8_t)byte;
    return WF_OK;
}

static enum wf_status read_workspace(struct pack_reader *r,
                                     const struct wf_json *json,
                                     struct wf_pack_buffer *b)
{
    b->kind = WF_BUFFER_WORKSPACE;
    enum wf_status st = pack_only_keys(r, json, workspace_keys);
    st = st != WF_OK ? st : pack_get_expr(r, json, "bytes", &b->bytes);
    const struct wf_json *init = wf_json_find(json, "init");
    if (st == WF_OK && init != NULL) {
        size_t mark = pack_where_push(r, ".init");
        st = read_init(r, init, b);
        pack_where_pop(r, mark);
    }
    return st;
}

static bool has_param(const struct wf_pack_buffer *b, const char *name)
{
    for (size_t i = 0; i < b->param_count; i++) {
        if (strcmp(b->param[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool row_has(const struct transform_row *row, const char *name)
{
    for (size_t i = 0; i < TRANSFORM_MAX_PARAMS && row->param[i].name != NULL; i++) {
        if (strcmp(row->param[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum wf_status check_params(struct pack_reader *r,
                                   const struct transform_row *row,
                                   const struct wf_pack_buffer *b)
{
    for (size_t i = 0; i < b->param_count; i++) {
        if (!row_has(row, b->param[i].name)) {
            return pack_fail(r, "transform %s has no parameter '%s'", row->name,
                             b->param[i].name);
        }
    }
    for (size_t i = 0; i < TRANSFORM_MAX_PARAMS && row->param[i].name != NULL; i++) {
        if (row->param[i].required && !has_param(b, row->param[i].name)) {
            return pack_fail(r, "transform %s needs the parameter '%s'", row->name,
                             row->param[i].name);
        }
    }
    return WF_OK;
}

static enum wf_status unknown_transform(struct pack_reader *r, const char *name)
{
    char known[200] = "";
    size_t at = 0;
    for (size_t i = 0; i < transform_count(); i++) {
        const char *t = transform_at(i)->name;
        size_t n = strlen(t);
        if (at + n + 3 < sizeof known) {
            memcpy(known + at, i == 0 ? "" : ", ", i == 0 ? 0 : 2);
            at += i == 0 ? 0 : 2;
            memcpy(known + at, t, n + 1);
            at += n;
        }
    }
    return pack_fail(r, "no transform '%.60s'; there are %s", name, known);
}

static enum wf_status read_derive(struct pack_reader *r,
                                  const struct wf_json *v,
                                  struct wf_pack_buffer *b)
{
    enum wf_status st = pack_only_keys(r, v, derive_keys);
    st = st != WF_OK ? st : pack_get_string(r, v, "from", &b->from);
    st = st != WF_OK ? st : pack_get_string(r, v, "transform", &b->transform);
    if (st == WF_OK) {
        st = pack_params(r, v, "params", TRANSFORM_MAX_PARAMS, &b->param,
                         &b->param_count);
    }
    if (st != WF_OK) {
        return st;
    }
    const struct transform_row *row = transform_find(b->transform);
    return row == NULL ? unknown_transform(r, b->transform) : check_params(r, row, b);
}

static enum wf_status read_derived(struct pack_reader *r,
                                   const struct wf_json *json,
                                   struct wf_pack_buffer *b)
{
    b->kind = WF_BUFFER_DERIVED;
    enum wf_status st = pack_only_keys(r, json, derived_keys);
    size_t mark = pack_where_push(r, ".derive");
    st = st != WF_OK ? st : read_derive(r, wf_json_find(json, "derive"), b);
    pack_where_pop(r, mark);
    return st;
}

static enum wf_status read_buffer(struct pack_reader *r,
                                  const struct wf_json *json,
                                  const struct wf_pack_kernel *k,
                                  struct wf_pack_buffer *b)
{
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return pack_fail(r, "an object is expected");
    }
    enum wf_status st = pack_get_string(r, json, "name", &b->name);
    if (st != WF_OK) {
        return st;
    }
    if (!wf_name_is_identifier(b->name)) {
        return pack_fail(r, "name '%.80s' is not a name", b->name);
    }
    for (const struct wf_pack_buffer *o = k->buffer; o < b; o++) {
        if (strcmp(o->name, b->name) == 0) {
            return pack_fail(r, "a buffer '%s' is there already", b->name);
        }
    }
    return wf_json_find(json, "derive") != NULL ? read_derived(r, json, b)
                                                : read_workspace(r, json, b);
}

enum wf_status pack_read_buffers(struct pack_reader *r,
                                 const struct wf_json *json,
                                 struct wf_pack_kernel *k)
{
    const struct wf_json *array = NULL;
    enum wf_status st = pack_opt_array(r, json, "buffers", 0, PACK_MAX_BUFFERS, &array);
    if (st != WF_OK || array == NULL) {
        return st;
    }
    k->buffer_count = wf_json_count(array);
    k->buffer = pack_alloc(r, k->buffer_count, sizeof *k->buffer, &st);
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ": buffers[%zu]", i);
        st = read_buffer(r, v, k, &k->buffer[i]);
        pack_where_pop(r, mark);
    }
    return st;
}
