/* Reads a kernel's code objects and writes them again with one change. */
#include "selftest/generate_object.h"

#include "core/file.h"
#include "packs/pack.h"
#include "selftest/generate_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_OBJECT_BYTES ((size_t)64 << 20)

/* --- reading --- */

static enum wf_status find_text(struct gen_object *o, struct wf_error *err)
{
    const void *words = (const void *)(uintptr_t)em_code_address(o->code, 0);
    const char *text =
        memmem(o->bytes.data, o->bytes.len, words, em_code_count(o->code) * 4);
    if (!text) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: its code is not in the file as it is in memory", o->file);
    }
    o->text = (size_t)(text - o->bytes.data);
    return WF_OK;
}

static enum wf_status load(struct gen_object *o,
                           const char *pack_folder,
                           struct wf_error *err)
{
    char *path = wf_path_join(pack_folder, o->file);
    enum wf_status st =
        path ? wf_file_read(path, MAX_OBJECT_BYTES, &o->bytes, err)
             : wf_errorf(err, WF_ENOMEM, "no memory for a path of %s", o->file);
    free(path);
    if (st == WF_OK) {
        st = em_space_create(&o->space, err);
    }
    if (st == WF_OK) {
        st = em_image_load(o->space, 0, o->bytes.data, o->bytes.len, o->file, &o->image,
                           err);
    }
    if (st == WF_OK) {
        o->code = em_image_code(o->image);
        st = find_text(o, err);
    }
    return st;
}

static uint32_t end_of(const struct gen_object *o, const struct em_kernel *k)
{
    uint32_t i = k->entry;
    uint32_t offset;
    const char *symbol = em_image_symbol(o->image, i, &offset);
    while (symbol && strcmp(symbol, k->name) == 0) {
        i = em_code_at(o->code, i)->next;
        symbol =
            i < em_code_count(o->code) ? em_image_symbol(o->image, i, &offset) : NULL;
    }
    return i;
}

static enum wf_status add_function(struct gen_object *o,
                                   const struct wf_pack_kernel *kernel,
                                   const struct wf_pack_launch *l,
                                   const struct em_kernel *k,
                                   struct wf_error *err)
{
    struct gen_argument argument[GEN_MAX_ARGUMENTS];
    struct gen_launch launch;
    struct gen_function *f = &o->function[o->count++];
    struct em_reach reach;
    *f = (struct gen_function){ .name = k->name,
                                .entry = k->entry,
                                .end = end_of(o, k) };
    enum wf_status st = em_code_reach(o->code, k->entry, &reach, err);
    if (st != WF_OK) {
        return st;
    }
    f->limits = (struct gen_limits){ reach.sgprs, reach.vgprs, reach.agprs };
    st = gen_flow_create(o->code, k->entry, &f->flow, err);
    if (st == WF_OK) {
        st = gen_waits_create(&f->flow, &f->waits, err);
    }
    if (st == WF_OK) {
        st = gen_launch_of(kernel, l, k, argument, &launch, err);
    }
    return st == WF_OK ? gen_values_create(&f->flow, &launch, &f->values, err) : st;
}

static bool has_function(const struct gen_object *o, const char *name)
{
    for (size_t i = 0; i < o->count; i++) {
        if (strcmp(o->function[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum wf_status add_functions(struct gen_object *o,
                                    const struct wf_pack_kernel *kernel,
                                    const char *label,
                                    struct wf_error *err)
{
    o->function = wf_calloc(kernel->launch_count + 1, sizeof(*o->function));
    if (!o->function) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the kernels of %s", o->file);
    }
    for (size_t i = 0; i < kernel->launch_count; i++) {
        const struct wf_pack_launch *l = &kernel->launch[i];
        if (strcmp(l->code, label) != 0 || has_function(o, l->symbol)) {
            continue;
        }
        const struct em_kernel *k = em_image_find(o->image, l->symbol);
        if (!k) {
            return wf_errorf(err, WF_ENOTFOUND, "%s: no kernel %s", o->file, l->symbol);
        }
        enum wf_status st = add_function(o, kernel, l, k, err);
        if (st != WF_OK) {
            return wf_error_prefix(err, "%s: %s", o->file, l->symbol);
        }
    }
    return WF_OK;
}

static enum wf_status only_kernel(const char *folder,
                                  const char *kernel,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_json *all = NULL;
    struct wf_json *out = wf_json_object();
    struct wf_json *list = wf_json_array();
    struct wf_json *copy = NULL;
    char *path = wf_path_join(folder, "pack.json");
    enum wf_status st = path && out && list
                            ? wf_json_parse_file(path, &all, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for a pack");
    const struct wf_json *k = st == WF_OK ? wf_json_find(all, "kernels") : NULL;
    for (k = k ? wf_json_first(k) : NULL; k && !copy && st == WF_OK;
         k = wf_json_next(k)) {
        const char *name = wf_json_string(wf_json_find(k, "name"));
        if (name && strcmp(name, kernel) == 0) {
            st = wf_json_copy(k, &copy, err);
        }
    }
    if (st == WF_OK) {
        st = wf_json_set_string(out, "schema", "wavefarm.pack/1", err);
    }
    if (st == WF_OK) {
        st = wf_json_set_string(out, "name", "mutant", err);
    }
    if (st == WF_OK && copy) {
        st = wf_json_push_take(list, copy, err);
        copy = NULL;
    }
    if (st == WF_OK) {
        st = wf_json_set_take(out, "kernels", list, err);
        list = NULL;
    }
    free(path);
    wf_json_free(all);
    wf_json_free(list);
    wf_json_free(copy);
    if (st != WF_OK) {
        wf_json_free(out);
        return st;
    }
    *ret = out;
    return WF_OK;
}

static enum wf_status open_objects(const char *folder,
                                   const struct wf_pack_kernel *k,
                                   struct gen_objects *ret,
                                   struct wf_error *err)
{
    ret->object = wf_calloc(k->code_count + 1, sizeof(*ret->object));
    if (!ret->object) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the code of %s", k->name);
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < k->code_count && st == WF_OK; i++) {
        struct gen_object *o = &ret->object[ret->count++];
        o->file = wf_strdup(k->code[i].file);
        st = o->file
                 ? load(o, folder, err)
                 : wf_errorf(err, WF_ENOMEM, "no memory for the code of %s", k->name);
        if (st == WF_OK) {
            st = add_functions(o, k, k->code[i].label, err);
        }
    }
    return st;
}

enum wf_status gen_objects_open(const char *pack_folder,
                                const char *kernel,
                                struct gen_objects *ret,
                                struct wf_error *err)
{
    struct wf_pack *pack = NULL;
    *ret = (struct gen_objects){ 0 };
    enum wf_status st = wf_pack_open(pack_folder, &pack, err);
    if (st != WF_OK) {
        return st;
    }
    const struct wf_pack_kernel *k = wf_pack_kernel(pack, kernel);
    if (!k) {
        st = wf_errorf(err, WF_ENOTFOUND, "%s: no kernel '%s'", pack_folder, kernel);
    } else if (k->kind != WF_KERNEL_CODE_OBJECT) {
        st = wf_errorf(err, WF_EUNSUPPORTED, "%s: %s is no code object", pack_folder,
                       kernel);
    } else {
        st = open_objects(pack_folder, k, ret, err);
    }
    if (st == WF_OK) {
        st = only_kernel(pack_folder, kernel, &ret->pack, err);
    }
    wf_pack_free(pack);
    if (st != WF_OK) {
        gen_objects_close(ret);
    }
    return st;
}

static void close_object(struct gen_object *o)
{
    for (size_t i = 0; i < o->count; i++) {
        gen_values_destroy(o->function[i].values);
        gen_waits_destroy(o->function[i].waits);
        gen_flow_free(&o->function[i].flow);
    }
    free(o->function);
    em_image_destroy(o->image);
    em_space_destroy(o->space);
    wf_buf_free(&o->bytes);
    free(o->file);
}

void gen_objects_close(struct gen_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++) {
        close_object(&objects->object[i]);
    }
    free(objects->object);
    wf_json_free(objects->pack);
    *objects = (struct gen_objects){ 0 };
}

/* --- writing --- */

/* Thousands of short-lived packs: nothing that is worth a flush of the disk. */
static enum wf_status write_now(const char *path,
                                const void *data,
                                size_t bytes,
                                struct wf_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return wf_error_errno(err, errno, "%s", path);
    }
    enum wf_status st = wf_write_all(fd, data, bytes, path, err);
    if (close(fd) != 0 && st == WF_OK) {
        st = wf_error_errno(err, errno, "%s", path);
    }
    return st;
}

static enum wf_status write_file(const char *folder,
                                 const char *file,
                                 const void *data,
                                 size_t bytes,
                                 struct wf_error *err)
{
    char *path = wf_path_join(folder, file);
    char *end = path ? strrchr(path, '/') : NULL;
    enum wf_status st = WF_OK;
    if (!end) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for a path");
    } else {
        *end = 0;
        st = wf_mkdir_parents(path, err);
        *end = '/';
    }
    if (st == WF_OK) {
        st = write_now(path, data, bytes, err);
    }
    free(path);
    return st;
}

static enum wf_status write_object(const struct gen_object *o,
                                   const struct gen_change *change,
                                   const char *folder,
                                   struct wf_error *err)
{
    struct wf_buf copy = WF_BUF_INIT;
    enum wf_status st = wf_buf_add(&copy, o->bytes.data, o->bytes.len, err);
    if (st == WF_OK && change) {
        memcpy(copy.data + o->text + (size_t)change->at * 4, change->word,
               (size_t)change->words * 4);
    }
    if (st == WF_OK) {
        st = write_file(folder, o->file, copy.data, copy.len, err);
    }
    wf_buf_free(&copy);
    return st;
}

static enum wf_status write_pack(const struct gen_objects *objects,
                                 const char *folder,
                                 struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_pack *pack = NULL;
    enum wf_status st = wf_json_write(objects->pack, &text, err);
    if (st == WF_OK) {
        st = write_file(folder, "pack.json.in", text.data, text.len, err);
    }
    if (st == WF_OK) {
        st = wf_pack_build(folder, &pack, err);
    }
    wf_pack_free(pack);
    wf_buf_free(&text);
    return st;
}

enum wf_status gen_objects_write(const struct gen_objects *objects,
                                 size_t which,
                                 const struct gen_change *change,
                                 const char *folder,
                                 struct wf_error *err)
{
    if (mkdir(folder, 0777) != 0) {
        return wf_error_errno(err, errno, "%s", folder);
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < objects->count && st == WF_OK; i++) {
        st = write_object(&objects->object[i], i == which ? change : NULL, folder, err);
    }
    return st == WF_OK ? write_pack(objects, folder, err) : st;
}
