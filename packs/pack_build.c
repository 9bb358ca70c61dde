/* Making pack.json: hashes of the files, and the description for people and tools.
 *
 * pack.json.in (or pack.json) may leave `files` out or list paths; every file that a
 * kernel refers to is added. Nothing is written before the result is a valid pack. */
#include "packs/pack_read.h"

#include "core/file.h"

#include <stdlib.h>
#include <string.h>

static enum wf_status add_file(struct wf_json *files,
                               const char *folder,
                               const char *path,
                               struct wf_error *err)
{
    char hash[WF_SHA256_HEX];
    if (wf_json_find(files, path) != NULL) {
        return WF_OK;
    }
    if (!wf_relative_path_is_safe(path)) {
        return wf_errorf(err, WF_EINVAL, "%s: '%.200s' is not a safe relative path",
                         folder, path);
    }
    enum wf_status st = pack_hash_file(folder, path, hash, err);
    return st != WF_OK ? st : wf_json_set_string(files, path, hash, err);
}

/* Paths of an array of strings, or the keys of an object. */
static enum wf_status add_listed(struct wf_json *files,
                                 const char *folder,
                                 const struct wf_json *list,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = list == NULL ? NULL : wf_json_first(list);
    bool keys = list != NULL && wf_json_type(list) == WF_JSON_OBJECT;
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        const char *path = keys ? wf_json_key(v) : wf_json_string(v);
        st = path == NULL
                 ? wf_errorf(err, WF_EINVAL, "%s: files: a path is expected", folder)
                 : add_file(files, folder, path, err);
    }
    return st;
}

static enum wf_status add_string(struct wf_json *files,
                                 const char *folder,
                                 const struct wf_json *v,
                                 const char *prefix,
                                 struct wf_error *err)
{
    const char *s = v == NULL ? NULL : wf_json_string(v);
    size_t n = strlen(prefix);
    if (s == NULL || strncmp(s, prefix, n) != 0) {
        return WF_OK;
    }
    return add_file(files, folder, s + n, err);
}

static enum wf_status add_each(struct wf_json *files,
                               const char *folder,
                               const struct wf_json *list,
                               const char *prefix,
                               struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = list == NULL ? NULL : wf_json_first(list);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        st = add_string(files, folder, v, prefix, err);
    }
    return st;
}

static bool is_container(const struct wf_json *v, enum wf_json_type type)
{
    return v != NULL && wf_json_type(v) == type;
}

/* Wrong types are left alone: the reader names them better. */
static enum wf_status add_referred(struct wf_json *files,
                                   const char *folder,
                                   const struct wf_json *kernels,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *k =
        is_container(kernels, WF_JSON_ARRAY) ? wf_json_first(kernels) : NULL;
    for (; st == WF_OK && k != NULL; k = wf_json_next(k)) {
        if (!is_container(k, WF_JSON_OBJECT)) {
            continue;
        }
        const struct wf_json *code = wf_json_find(k, "code");
        const struct wf_json *command = wf_json_find(k, "command");
        st = add_each(files, folder, is_container(code, WF_JSON_OBJECT) ? code : NULL,
                      "", err);
        if (st == WF_OK) {
            st = add_string(files, folder, wf_json_find(k, "library"), "", err);
        }
        if (st == WF_OK) {
            st = add_each(files, folder,
                          is_container(command, WF_JSON_ARRAY) ? command : NULL,
                          "{pack}/", err);
        }
    }
    return st;
}

static enum wf_status make_files(const struct wf_json *in,
                                 const char *folder,
                                 struct wf_json *files,
                                 struct wf_error *err)
{
    const struct wf_json *listed = wf_json_find(in, "files");
    if (listed != NULL && wf_json_type(listed) != WF_JSON_OBJECT &&
        wf_json_type(listed) != WF_JSON_ARRAY) {
        return wf_errorf(err, WF_EINVAL, "%s: files is neither a list nor an object",
                         folder);
    }
    enum wf_status st = add_listed(files, folder, listed, err);
    return st != WF_OK ? st
                       : add_referred(files, folder, wf_json_find(in, "kernels"), err);
}

/* The members of `in` in their order, `files` before `kernels`. */
static enum wf_status merge(const struct wf_json *in,
                            struct wf_json *files,
                            struct wf_json *out,
                            struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = wf_json_first(in);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        const char *key = wf_json_key(v);
        if (strcmp(key, "kernels") == 0) {
            st = wf_json_set_copy(out, "files", files, err);
        }
        if (st == WF_OK && strcmp(key, "files") != 0) {
            st = wf_json_set_copy(out, key, v, err);
        }
    }
    return st;
}

static enum wf_status write_pack_json(const char *folder,
                                      const struct wf_json *json,
                                      struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_pack *checked = NULL;
    char *path = wf_path_join(folder, "pack.json");
    enum wf_status st = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    st = st != WF_OK ? st : wf_pack_parse(json, path, &checked, err);
    st = st != WF_OK ? st : wf_json_write_pretty(json, &text, err);
    st = st != WF_OK ? st : wf_file_write_atomic(path, text.data, text.len, err);
    wf_pack_free(checked);
    wf_buf_free(&text);
    free(path);
    return st;
}

static enum wf_status read_input(const char *folder,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    char *in = wf_path_join(folder, "pack.json.in");
    char *plain = wf_path_join(folder, "pack.json");
    enum wf_status st;
    if (in == NULL || plain == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "%s: no memory", folder);
    } else {
        st = pack_read_json(wf_file_exists(in) ? in : plain, ret, err);
    }
    if (st == WF_OK && wf_json_type(*ret) != WF_JSON_OBJECT) {
        st = wf_errorf(err, WF_EINVAL, "%s: pack.json is not an object", folder);
        wf_json_free(*ret);
        *ret = NULL;
    }
    free(plain);
    free(in);
    return st;
}

enum wf_status wf_pack_build(const char *folder,
                             struct wf_pack **ret,
                             struct wf_error *err)
{
    struct wf_json *in = NULL;
    struct wf_json *files = wf_json_object();
    struct wf_json *out = wf_json_object();
    enum wf_status st = files == NULL || out == NULL
                            ? wf_errorf(err, WF_ENOMEM, "%s: no memory", folder)
                            : WF_OK;
    st = st != WF_OK ? st : read_input(folder, &in, err);
    st = st != WF_OK ? st : make_files(in, folder, files, err);
    st = st != WF_OK ? st : merge(in, files, out, err);
    st = st != WF_OK ? st : write_pack_json(folder, out, err);
    wf_json_free(out);
    wf_json_free(files);
    wf_json_free(in);
    return st != WF_OK ? st : wf_pack_open(folder, ret, err);
}

enum wf_status wf_pack_describe(const struct wf_pack *pack,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct wf_json *in = NULL;
    struct wf_json *out = wf_json_object();
    enum wf_status st = wf_json_set_string(out, "id", pack->id, err);
    st = st != WF_OK ? st : wf_json_set_string(out, "folder", pack->folder, err);
    st = st != WF_OK ? st
                     : wf_json_parse(pack->canonical.data, pack->canonical.len,
                                     "pack.json", &in, err);
    const struct wf_json *v = st == WF_OK ? wf_json_first(in) : NULL;
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        st = wf_json_set_copy(out, wf_json_key(v), v, err);
    }
    if (st == WF_OK) {
        *ret = out;
        out = NULL;
    }
    wf_json_free(out);
    wf_json_free(in);
    return st;
}
