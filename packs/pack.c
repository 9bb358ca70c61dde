/* A pack: pack.json, its id, and the hashes of the files that it names.
 *
 * Invariant: a struct wf_pack exists only when the whole of pack.json is right; after
 * wf_pack_open every file was there, regular, and had its hash. */
#include "packs/pack_read.h"

#include "core/file.h"
#include "packs/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const root_keys[] = { "schema", "name",    "description",
                                         "files",  "kernels", NULL };

static enum wf_status read_file_row(struct pack_reader *r,
                                    const struct wf_json *v,
                                    struct pack_file *ret)
{
    const char *path = wf_json_key(v);
    const char *hash = wf_json_string(v);
    if (!wf_relative_path_is_safe(path) || strlen(path) > 255) {
        return pack_fail(r,
                         "'%.200s' is not a safe relative path: components of "
                         "[A-Za-z0-9._-] that do not start with '.'",
                         path);
    }
    if (strcmp(path, "pack.json") == 0) {
        return pack_fail(r, "pack.json does not name itself");
    }
    if (hash == NULL || !wf_sha256_is_hex(hash)) {
        return pack_fail(r,
                         "'%.200s' needs a SHA-256 of 64 lower-case hexadecimal "
                         "digits; `wavefarm pack build` writes it",
                         path);
    }
    enum wf_status st = pack_copy(r, path, &ret->path);
    return st != WF_OK ? st : pack_copy(r, hash, &ret->sha256);
}

static enum wf_status read_files(struct pack_reader *r, const struct wf_json *json)
{
    const struct wf_json *map = NULL;
    enum wf_status st = wf_json_get_object(json, "files", &map, r->err);
    if (st != WF_OK) {
        return pack_prefix(r, st);
    }
    struct wf_pack *p = r->pack;
    size_t n = wf_json_count(map);
    if (n > PACK_MAX_FILES) {
        return pack_fail(r, "%zu files, at most %d", n, PACK_MAX_FILES);
    }
    p->file = pack_alloc(r, n, sizeof *p->file, &st);
    size_t mark = pack_where_push(r, ": files");
    const struct wf_json *v = wf_json_first(map);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        st = read_file_row(r, v, &p->file[p->file_count]);
        p->file_count++;
    }
    pack_where_pop(r, mark);
    return st;
}

static enum wf_status read_kernels(struct pack_reader *r, const struct wf_json *json)
{
    const struct wf_json *array = NULL;
    struct wf_pack *p = r->pack;
    enum wf_status st = pack_opt_array(r, json, "kernels", 1, PACK_MAX_KERNELS, &array);
    if (st != WF_OK) {
        return st;
    }
    p->kernel = pack_alloc(r, wf_json_count(array), sizeof *p->kernel, &st);
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        st = pack_read_kernel(r, v, i, &p->kernel[i]);
        if (st == WF_OK && wf_pack_kernel(p, p->kernel[i].name) != NULL) {
            st = pack_fail(r, "two kernels are named '%s'", p->kernel[i].name);
        }
        p->kernel_count += st == WF_OK;
    }
    return st;
}

static enum wf_status read_head(struct pack_reader *r, const struct wf_json *json)
{
    const char *schema = NULL;
    const char *description = NULL; /* for people: only its type matters */
    struct wf_pack *p = r->pack;
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return pack_fail(r, "an object is expected");
    }
    enum wf_status st = pack_get_string(r, json, "schema", &schema);
    if (st == WF_OK && strcmp(schema, PACK_SCHEMA) != 0) {
        st = pack_fail(r, "schema '%.60s' is not \"" PACK_SCHEMA "\"", schema);
    }
    st = st != WF_OK ? st : pack_only_keys(r, json, root_keys);
    st = st != WF_OK ? st : pack_get_string(r, json, "name", &p->name);
    if (st == WF_OK && (!wf_name_is_safe(p->name) || strlen(p->name) > WF_NAME_MAX)) {
        st = pack_fail(r, "name '%.80s' is not [A-Za-z0-9._-], at most %d characters",
                       p->name, WF_NAME_MAX);
    }
    return st != WF_OK ? st : pack_opt_string(r, json, "description", &description);
}

static enum wf_status make_id(struct wf_pack *p,
                              const struct wf_json *json,
                              struct wf_error *err)
{
    enum wf_status st = wf_json_write_canonical(json, &p->canonical, err);
    if (st == WF_OK) {
        wf_sha256_hex(p->canonical.data, p->canonical.len, p->id);
    }
    return st;
}

enum wf_status wf_pack_parse(const struct wf_json *json,
                             const char *source,
                             struct wf_pack **ret,
                             struct wf_error *err)
{
    struct wf_pack *p = wf_calloc(1, sizeof *p);
    if (p == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", source);
    }
    p->folder = "";
    struct pack_reader r = { .pack = p, .arena = &p->arena, .err = err };
    (void)pack_where_push(&r, "%.200s", source);
    enum wf_status st = read_head(&r, json);
    st = st != WF_OK ? st : read_files(&r, json);
    st = st != WF_OK ? st : read_kernels(&r, json);
    st = st != WF_OK ? st : make_id(p, json, err);
    if (st != WF_OK) {
        wf_pack_free(p);
        return st;
    }
    *ret = p;
    return WF_OK;
}

enum wf_status pack_hash_file(const char *folder,
                              const char *path,
                              char ret[WF_SHA256_HEX],
                              struct wf_error *err)
{
    struct stat info;
    enum wf_status st = WF_OK;
    char *full = wf_path_join(folder, path);
    if (full == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", folder);
    }
    if (lstat(full, &info) != 0) {
        st = wf_errorf(err, WF_ENOTFOUND, "%s/pack.json names %s, which is not there",
                       folder, path);
    } else if (!S_ISREG(info.st_mode)) {
        st = wf_errorf(err, WF_EINVAL, "%s is not a regular file", full);
    } else {
        st = wf_sha256_file(full, ret, err);
    }
    free(full);
    return st;
}

static enum wf_status check_file(const char *folder,
                                 const struct pack_file *f,
                                 struct wf_error *err)
{
    char found[WF_SHA256_HEX] = "";
    char *path = wf_path_join(folder, f->path);
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    enum wf_status st = pack_hash_file(folder, f->path, found, err);
    if (st == WF_OK && strcmp(found, f->sha256) != 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "%s: SHA-256 is %s, pack.json states %s; run `wavefarm pack "
                       "build` when the change is meant",
                       path, found, f->sha256);
    }
    free(path);
    return st;
}

enum wf_status pack_read_json(const char *path,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    uint64_t bytes = 0;
    enum wf_status st = wf_file_size(path, &bytes, err);
    if (st == WF_OK && bytes > PACK_MAX_JSON_BYTES) {
        st = wf_errorf(err, WF_EINVAL, "%s has %llu bytes, at most %u", path,
                       (unsigned long long)bytes, PACK_MAX_JSON_BYTES);
    }
    return st != WF_OK ? st : wf_json_parse_file(path, ret, err);
}

static enum wf_status check_files(struct wf_pack *p,
                                  const char *folder,
                                  struct wf_error *err)
{
    p->folder = arena_strdup(&p->arena, folder);
    if (p->folder == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", folder);
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < p->file_count; i++) {
        st = check_file(folder, &p->file[i], err);
    }
    return st;
}

enum wf_status wf_pack_open(const char *folder,
                            struct wf_pack **ret,
                            struct wf_error *err)
{
    struct wf_json *json = NULL;
    struct wf_pack *p = NULL;
    char *path = wf_path_join(folder, "pack.json");
    enum wf_status st = WF_OK;
    if (path == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "%s: no memory", folder);
        goto out;
    }
    st = pack_read_json(path, &json, err);
    st = st != WF_OK ? st : wf_pack_parse(json, path, &p, err);
    st = st != WF_OK ? st : check_files(p, folder, err);
    if (st == WF_OK) {
        *ret = p;
        p = NULL;
    }
out:
    wf_pack_free(p);
    wf_json_free(json);
    free(path);
    return st;
}

void wf_pack_free(struct wf_pack *pack)
{
    if (pack == NULL) {
        return;
    }
    arena_fini(&pack->arena);
    wf_buf_free(&pack->canonical);
    free(pack);
}

const char *wf_pack_id(const struct wf_pack *pack)
{
    return pack->id;
}

const char *wf_pack_name(const struct wf_pack *pack)
{
    return pack->name;
}

const char *wf_pack_folder(const struct wf_pack *pack)
{
    return pack->folder;
}

const char *wf_pack_canonical(const struct wf_pack *pack)
{
    return wf_buf_cstr(&pack->canonical);
}

size_t wf_pack_kernel_count(const struct wf_pack *pack)
{
    return pack->kernel_count;
}

const struct wf_pack_kernel *wf_pack_kernel_at(const struct wf_pack *pack, size_t i)
{
    return i < pack->kernel_count ? &pack->kernel[i] : NULL;
}

const struct wf_expr *wf_pack_kernel_expr(const struct wf_pack *pack,
                                          const struct wf_pack_kernel *kernel,
                                          size_t i)
{
    return i < kernel->expr_count ? pack->arena.expr[kernel->first_expr + i] : NULL;
}

const struct wf_pack_kernel *wf_pack_kernel(const struct wf_pack *pack,
                                            const char *name)
{
    for (size_t i = 0; i < pack->kernel_count; i++) {
        if (strcmp(pack->kernel[i].name, name) == 0) {
            return &pack->kernel[i];
        }
    }
    return NULL;
}

size_t wf_pack_file_count(const struct wf_pack *pack)
{
    return pack->file_count;
}

const char *wf_pack_file_sha256(const struct wf_pack *pack, const char *file)
{
    for (size_t i = 0; i < pack->file_count; i++) {
        if (strcmp(pack->file[i].path, file) == 0) {
            return pack->file[i].sha256;
        }
    }
    return NULL;
}
