/* The identity of a kernel: its entry in pack.json, in which the names of files are
 * replaced by the identities of what they hold. */
#include "packs/identity.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/json.h"
#include "packs/code_object.h"
#include "packs/pack_read.h"

#include <stdlib.h>
#include <string.h>

/* Members of an entry that say nothing about what runs. */
static const char *const UNHASHED[] = { "summary", "source", "code", "library" };

struct identity {
    const struct wf_pack *pack;
    const struct wf_pack_kernel *kernel;
    char (*image)[WF_SHA256_HEX]; /* of the pack's files; "": not asked for yet */
    struct wf_error *err;
};

static enum wf_status file_identity(struct identity *id,
                                    const char *file,
                                    const char **ret)
{
    size_t i = 0;
    while (i < id->pack->file_count && strcmp(id->pack->file[i].path, file) != 0) {
        i++;
    }
    if (i == id->pack->file_count) {
        return wf_errorf(id->err, WF_EINTERNAL, "%s is not in the pack", file);
    }
    *ret = id->image[i];
    if (id->image[i][0] != '\0') {
        return WF_OK;
    }
    struct wf_buf b = WF_BUF_INIT;
    char *path = wf_path_join(id->pack->folder, file);
    enum wf_status st = path == NULL
                            ? wf_errorf(id->err, WF_ENOMEM, "no memory for a path")
                            : wf_file_read(path, WF_CODE_MAX_BYTES, &b, id->err);
    st = st == WF_OK
             ? wf_code_identity(wf_buf_cstr(&b), b.len, path, id->image[i], id->err)
             : st;
    wf_buf_free(&b);
    free(path);
    return st;
}

static enum wf_status find_entry(const struct wf_pack *pack,
                                 const char *name,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    struct wf_json *root = NULL;
    const struct wf_json *kernels = NULL;
    const char *text = wf_buf_cstr(&pack->canonical);
    enum wf_status st =
        wf_json_parse(text, pack->canonical.len, "pack.json", &root, err);
    st = st == WF_OK ? wf_json_get_array(root, "kernels", &kernels, err) : st;
    const struct wf_json *k = st == WF_OK ? wf_json_first(kernels) : NULL;
    for (; k != NULL; k = wf_json_next(k)) {
        const char *found = wf_json_string(wf_json_find(k, "name"));
        if (found != NULL && strcmp(found, name) == 0) {
            st = wf_json_copy(k, ret, err);
            break;
        }
    }
    if (st == WF_OK && k == NULL) {
        st = wf_errorf(err, WF_EINTERNAL, "kernel %s is not in pack.json", name);
    }
    wf_json_free(root);
    return st;
}

static const char *file_of(const struct wf_pack_kernel *k, const char *label)
{
    for (size_t i = 0; i < k->code_count; i++) {
        if (strcmp(k->code[i].label, label) == 0) {
            return k->code[i].file;
        }
    }
    return "";
}

/* One launch, with the identity of its code in place of the label. */
static enum wf_status add_launch(struct identity *id,
                                 const struct wf_json *launch,
                                 size_t i,
                                 struct wf_json *to)
{
    struct wf_json *copy = NULL;
    const char *code = NULL;
    enum wf_status st =
        file_identity(id, file_of(id->kernel, id->kernel->launch[i].code), &code);
    st = st == WF_OK ? wf_json_copy(launch, &copy, id->err) : st;
    st = st == WF_OK ? wf_json_set_string(copy, "code", code, id->err) : st;
    if (st != WF_OK) {
        wf_json_free(copy);
        return st;
    }
    return wf_json_push_take(to, copy, id->err);
}

static enum wf_status add_launches(struct identity *id, struct wf_json *entry)
{
    const struct wf_json *launches = NULL;
    enum wf_status st = wf_json_get_array(entry, "launches", &launches, id->err);
    struct wf_json *to = st == WF_OK ? wf_json_array() : NULL;
    const struct wf_json *l = st == WF_OK ? wf_json_first(launches) : NULL;
    for (size_t i = 0; st == WF_OK && i < id->kernel->launch_count; i++) {
        st = add_launch(id, l, i, to);
        l = wf_json_next(l);
    }
    if (st != WF_OK) {
        wf_json_free(to);
        return st;
    }
    return wf_json_set_take(entry, "launches", to, id->err);
}

static bool is_code(const struct wf_pack *pack, const char *file)
{
    for (size_t i = 0; i < pack->kernel_count; i++) {
        const struct wf_pack_kernel *k = &pack->kernel[i];
        if (k->library != NULL && strcmp(k->library, file) == 0) {
            return true;
        }
        for (size_t c = 0; c < k->code_count; c++) {
            if (strcmp(k->code[c].file, file) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Files that a library or a command may open: of a command's pack all of them, of a
 * library's those that no kernel names as its own code. */
static enum wf_status add_files(struct identity *id, struct wf_json *entry)
{
    const bool all = id->kernel->kind == WF_KERNEL_PROCESS;
    struct wf_json *files = wf_json_object();
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < id->pack->file_count; i++) {
        const struct pack_file *f = &id->pack->file[i];
        if (all || !is_code(id->pack, f->path)) {
            st = wf_json_set_string(files, f->path, f->sha256, id->err);
        }
    }
    if (st != WF_OK) {
        wf_json_free(files);
        return st;
    }
    return wf_json_set_take(entry, "files", files, id->err);
}

static enum wf_status add_code(struct identity *id, struct wf_json *entry)
{
    const char *library = NULL;
    enum wf_status st = WF_OK;
    switch (id->kernel->kind) {
    case WF_KERNEL_CODE_OBJECT:
        wf_json_remove(entry, "name");
        return add_launches(id, entry);
    case WF_KERNEL_LIBRARY:
        st = file_identity(id, id->kernel->library, &library);
        st = st == WF_OK ? wf_json_set_string(entry, "library", library, id->err) : st;
        return st == WF_OK ? add_files(id, entry) : st;
    case WF_KERNEL_PROCESS:
        break;
    }
    return add_files(id, entry);
}

static enum wf_status hash_entry(struct identity *id, char ret[WF_SHA256_HEX])
{
    struct wf_json *entry = NULL;
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status st = find_entry(id->pack, id->kernel->name, &entry, id->err);
    for (size_t i = 0; st == WF_OK && i < sizeof UNHASHED / sizeof *UNHASHED; i++) {
        wf_json_remove(entry, UNHASHED[i]);
    }
    st = st == WF_OK ? add_code(id, entry) : st;
    st = st == WF_OK ? wf_json_write_canonical(entry, &text, id->err) : st;
    if (st == WF_OK) {
        wf_sha256_hex(wf_buf_cstr(&text), text.len, ret);
    }
    wf_buf_free(&text);
    wf_json_free(entry);
    return st;
}

enum wf_status wf_kernel_identity(const struct wf_pack *pack,
                                  const struct wf_pack_kernel *kernel,
                                  char ret[WF_SHA256_HEX],
                                  struct wf_error *err)
{
    struct identity id = { .pack = pack, .kernel = kernel, .err = err };
    if (pack->folder[0] == '\0') {
        return wf_errorf(err, WF_EINVAL, "pack %s was not opened from a folder",
                         pack->name);
    }
    id.image = wf_calloc(pack->file_count + 1, sizeof *id.image);
    if (id.image == NULL) {
        return wf_errorf(err, WF_ENOMEM, "pack %s: no memory", pack->name);
    }
    enum wf_status st = hash_entry(&id, ret);
    free(id.image);
    return st == WF_OK ? WF_OK : wf_error_prefix(err, "kernel %s", kernel->name);
}
