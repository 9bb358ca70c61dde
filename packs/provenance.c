/* The provenance record: writing, and strict reading. */
#include "packs/provenance.h"

#include "core/clock.h"
#include "core/file.h"

#include <string.h>

#define SCHEMA    "wavefarm.provenance/1"
#define MAX_BYTES (16u << 20)

static const char *const root_keys[] = { "schema",   "pack",    "repository",
                                         "commit",   "parents", "dirty",
                                         "built_at", "kernels", NULL };
static const char *const kernel_keys[] = { "compiler", "compiler_version", "flags",
                                           "source",   "source_sha256",    NULL };

/* --- writing --- */

static enum wf_status add_git(struct wf_json *o,
                              const struct wf_git_info *g,
                              struct wf_error *err)
{
    struct wf_json *parents = wf_json_array();
    enum wf_status st =
        parents == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    for (size_t i = 0; st == WF_OK && g != NULL && i < g->parent_count; i++) {
        st = wf_json_push_string(parents, g->parent[i], err);
    }
    if (st != WF_OK) {
        wf_json_free(parents);
        return st;
    }
    bool url = g != NULL && g->repository[0] != '\0';
    st = wf_json_set_take(o, "parents", parents, err);
    st = st != WF_OK
             ? st
             : wf_json_set_string(o, "repository", url ? g->repository : NULL, err);
    st = st != WF_OK
             ? st
             : wf_json_set_string(o, "commit", g == NULL ? NULL : g->commit, err);
    if (st == WF_OK) {
        st = g == NULL ? wf_json_set_null(o, "dirty", err)
                       : wf_json_set_bool(o, "dirty", g->dirty, err);
    }
    return st;
}

static enum wf_status add_flags(struct wf_json *o,
                                const struct wf_provenance_kernel *k,
                                struct wf_error *err)
{
    struct wf_json *flags = wf_json_array();
    enum wf_status st = flags == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    for (size_t i = 0; st == WF_OK && i < k->flag_count; i++) {
        st = wf_json_push_string(flags, k->flags[i], err);
    }
    if (st != WF_OK) {
        wf_json_free(flags);
        return st;
    }
    return wf_json_set_take(o, "flags", flags, err);
}

static enum wf_status add_kernel(struct wf_json *kernels,
                                 const struct wf_provenance_kernel *k,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "compiler", k->compiler, err);
    st = st != WF_OK
             ? st
             : wf_json_set_string(o, "compiler_version", k->compiler_version, err);
    st = st != WF_OK ? st : add_flags(o, k, err);
    st = st != WF_OK ? st : wf_json_set_string(o, "source", k->source, err);
    st = st != WF_OK ? st
                     : wf_json_set_string(o, "source_sha256", k->source_sha256, err);
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    return wf_json_set_take(kernels, k->name, o, err);
}

static enum wf_status add_kernels(struct wf_json *o,
                                  const struct wf_provenance *p,
                                  struct wf_error *err)
{
    struct wf_json *kernels = wf_json_object();
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < p->kernel_count; i++) {
        st = add_kernel(kernels, &p->kernel[i], err);
    }
    if (st != WF_OK) {
        wf_json_free(kernels);
        return st;
    }
    return wf_json_set_take(o, "kernels", kernels, err);
}

enum wf_status wf_provenance_make(const char *pack_id,
                                  const struct wf_provenance *p,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    char now[40];
    struct wf_json *o = wf_json_object();
    wf_format_utc(wf_realtime_ns(), now, sizeof now);
    enum wf_status st = wf_json_set_string(o, "schema", SCHEMA, err);
    st = st != WF_OK ? st : wf_json_set_string(o, "pack", pack_id, err);
    st = st != WF_OK ? st : wf_json_set_string(o, "built_at", now, err);
    st = st != WF_OK ? st : add_git(o, p->git, err);
    st = st != WF_OK ? st : add_kernels(o, p, err);
    st = st != WF_OK ? st : wf_provenance_check(o, pack_id, err);
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    *ret = o;
    return WF_OK;
}

enum wf_status wf_provenance_write(const char *path,
                                   const char *pack_id,
                                   const struct wf_provenance *p,
                                   struct wf_error *err)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_json *o = NULL;
    enum wf_status st = wf_provenance_make(pack_id, p, &o, err);
    st = st != WF_OK ? st : wf_json_write_pretty(o, &out, err);
    st = st != WF_OK ? st : wf_file_write_atomic(path, out.data, out.len, err);
    wf_buf_free(&out);
    wf_json_free(o);
    return st;
}

/* --- reading --- */

static bool is_commit(const char *s)
{
    size_t n = s == NULL ? 0 : strlen(s);
    return (n == 40 || n == 64) && strspn(s, "0123456789abcdef") == n;
}

static bool is_null(const struct wf_json *o, const char *key)
{
    const struct wf_json *v = wf_json_find(o, key);
    return v != NULL && wf_json_type(v) == WF_JSON_NULL;
}

static enum wf_status check_parents(const struct wf_json *o, struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status st = wf_json_get_array(o, "parents", &list, err);
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        if (!is_commit(wf_json_string(v))) {
            st = wf_errorf(err, WF_EINVAL, "parents: not a commit hash");
        }
    }
    return st;
}

static enum wf_status check_git(const struct wf_json *o, struct wf_error *err)
{
    bool dirty;
    const char *text = NULL;
    enum wf_status st = WF_OK;
    if (!is_null(o, "repository")) {
        st = wf_json_get_string(o, "repository", &text, err);
    }
    if (st == WF_OK && !is_null(o, "commit")) {
        st = wf_json_get_string(o, "commit", &text, err);
        if (st == WF_OK && !is_commit(text)) {
            st = wf_errorf(err, WF_EINVAL, "commit '%.80s' is not a hash", text);
        }
    }
    if (st == WF_OK && !is_null(o, "dirty")) {
        st = wf_json_get_bool(o, "dirty", &dirty, err);
    }
    return st != WF_OK ? st : check_parents(o, err);
}

static enum wf_status check_flags(const struct wf_json *k, struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status st = wf_json_get_array(k, "flags", &list, err);
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        if (wf_json_string(v) == NULL) {
            st = wf_errorf(err, WF_EINVAL, "flags: a string is expected");
        }
    }
    return st;
}

static enum wf_status check_kernel(const struct wf_json *k, struct wf_error *err)
{
    const char *text = NULL;
    if (wf_json_type(k) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "an object is expected");
    }
    enum wf_status st = wf_json_only_keys(k, kernel_keys, err);
    st = st != WF_OK ? st : wf_json_get_string(k, "compiler", &text, err);
    st = st != WF_OK ? st : wf_json_get_string(k, "compiler_version", &text, err);
    st = st != WF_OK ? st : check_flags(k, err);
    st = st != WF_OK ? st : wf_json_get_string(k, "source", &text, err);
    st = st != WF_OK ? st : wf_json_get_string(k, "source_sha256", &text, err);
    if (st == WF_OK && !wf_sha256_is_hex(text)) {
        st = wf_errorf(err, WF_EINVAL, "source_sha256 '%.80s' is not a SHA-256", text);
    }
    return st;
}

static enum wf_status check_kernels(const struct wf_json *o, struct wf_error *err)
{
    const struct wf_json *map = NULL;
    enum wf_status st = wf_json_get_object(o, "kernels", &map, err);
    const struct wf_json *k = st == WF_OK ? wf_json_first(map) : NULL;
    for (; st == WF_OK && k != NULL; k = wf_json_next(k)) {
        st = check_kernel(k, err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "kernel %.80s", wf_json_key(k));
        }
    }
    return st;
}

static enum wf_status check_head(const struct wf_json *o,
                                 const char *pack_id,
                                 struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status st = wf_json_get_string(o, "schema", &text, err);
    if (st == WF_OK && strcmp(text, SCHEMA) != 0) {
        st = wf_errorf(err, WF_EINVAL, "schema '%.60s' is not \"" SCHEMA "\"", text);
    }
    st = st != WF_OK ? st : wf_json_only_keys(o, root_keys, err);
    st = st != WF_OK ? st : wf_json_get_string(o, "pack", &text, err);
    if (st == WF_OK && !wf_sha256_is_hex(text)) {
        st = wf_errorf(err, WF_EINVAL, "pack '%.80s' is not a pack id", text);
    }
    if (st == WF_OK && pack_id != NULL && strcmp(text, pack_id) != 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "is the record of pack %.64s, not of %s; remove it, or write "
                       "a new one",
                       text, pack_id);
    }
    return st != WF_OK ? st : wf_json_get_string(o, "built_at", &text, err);
}

enum wf_status wf_provenance_check(const struct wf_json *json,
                                   const char *pack_id,
                                   struct wf_error *err)
{
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "provenance: an object is expected");
    }
    enum wf_status st = check_head(json, pack_id, err);
    st = st != WF_OK ? st : check_git(json, err);
    st = st != WF_OK ? st : check_kernels(json, err);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "provenance");
    }
    return st;
}

enum wf_status wf_provenance_read(const char *path,
                                  const char *pack_id,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *json = NULL;
    enum wf_status st = wf_file_read(path, MAX_BYTES, &text, err);
    st = st != WF_OK ? st
                     : wf_json_parse(wf_buf_cstr(&text), text.len, path, &json, err);
    if (st == WF_OK) {
        st = wf_provenance_check(json, pack_id, err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "%s", path);
        }
    }
    if (st == WF_OK) {
        *ret = json;
        json = NULL;
    }
    wf_json_free(json);
    wf_buf_free(&text);
    return st;
}
