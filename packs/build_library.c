/* Packs of shared libraries: the files are copied, the entries describe them. */
#include "packs/build_internal.h"

#include "core/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct library {
    const struct wf_build_library *o;
    struct build_pack pack;
    struct build_kernels kernels;
    char (*source_sha256)[WF_SHA256_HEX]; /* one a kernel */
    struct wf_error *err;
};

static enum wf_status no_memory(struct library *l)
{
    return wf_errorf(l->err, WF_ENOMEM, "pack %s: no memory", l->o->name);
}

static enum wf_status read_entries(struct library *l)
{
    const struct build_target target = { .library = true, .root = l->o->root };
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < l->o->entry_count; i++) {
        const struct wf_build_kernel request = { .entry = l->o->entry[i] };
        st = build_read_entry(&target, &request, &l->kernels, l->err);
        st = st != WF_OK ? st
                         : wf_buf_printf(&l->pack.deps, l->err, "%s/%s\n", l->o->root,
                                         l->o->entry[i]);
    }
    if (st == WF_OK && l->kernels.count == 0) {
        st = wf_errorf(l->err, WF_EINVAL, "pack %s: no entry is for a library",
                       l->o->name);
    }
    return st;
}

static enum wf_status copy_file(struct library *l, const char *from)
{
    const char *slash = strrchr(from, '/');
    struct wf_buf b = WF_BUF_INIT;
    char *to = wf_path_join(l->pack.folder, slash == NULL ? from : slash + 1);
    enum wf_status st =
        to == NULL ? no_memory(l) : wf_file_read(from, (size_t)1 << 30, &b, l->err);
    st = st != WF_OK ? st : wf_file_write_atomic(to, b.data, b.len, l->err);
    if (st == WF_OK && chmod(to, 0755) != 0) {
        st = wf_error_errno(l->err, errno, "cannot make %s executable", to);
    }
    st = st != WF_OK ? st : wf_buf_printf(&l->pack.deps, l->err, "%s\n", from);
    free(to);
    wf_buf_free(&b);
    return st;
}

/* The kernel's record: its "source", or else the entry. */
static enum wf_status describe(struct library *l, size_t i)
{
    struct build_kernel *k = &l->kernels.item[i];
    const char *named = wf_json_string(wf_json_find(k->json, "source"));
    k->source = wf_strdup(named != NULL ? named : k->entry);
    char *path = k->source == NULL ? NULL : wf_path_join(l->o->root, k->source);
    enum wf_status st =
        path == NULL ? no_memory(l) : wf_sha256_file(path, l->source_sha256[i], l->err);
    free(path);
    return st == WF_OK ? st : wf_error_prefix(l->err, "%s: source", k->entry);
}

static enum wf_status finish(struct library *l)
{
    size_t n = l->kernels.count;
    struct wf_provenance_kernel *record = wf_calloc(n, sizeof *record);
    const struct wf_json **json = wf_calloc(n, sizeof *json);
    enum wf_status st = record == NULL || json == NULL ? no_memory(l) : WF_OK;
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        const struct build_kernel *k = &l->kernels.item[i];
        json[i] = k->json;
        record[i] = (struct wf_provenance_kernel){
            .name = wf_json_string(wf_json_find(k->json, "name")),
            .compiler = l->o->compiler,
            .compiler_version = l->o->compiler_version,
            .flags = l->o->flag,
            .flag_count = l->o->flag_count,
            .source = k->source,
            .source_sha256 = l->source_sha256[i],
        };
    }
    st = st != WF_OK ? st : build_pack_end(&l->pack, json, record, n);
    free(json);
    free(record);
    return st;
}

enum wf_status wf_build_library_pack(const struct wf_build_library *o,
                                     struct wf_error *err)
{
    struct library l = { .o = o,
                         .err = err,
                         .pack = { .name = o->name,
                                   .root = o->root,
                                   .out = o->out,
                                   .depfile = o->depfile,
                                   .deps = WF_BUF_INIT,
                                   .err = err } };
    enum wf_status st = read_entries(&l);
    st = st != WF_OK ? st : build_pack_begin(&l.pack);
    for (size_t i = 0; st == WF_OK && i < o->file_count; i++) {
        st = copy_file(&l, o->file[i]);
    }
    if (st == WF_OK) {
        l.source_sha256 = wf_calloc(l.kernels.count, sizeof *l.source_sha256);
        st = l.source_sha256 == NULL ? no_memory(&l) : WF_OK;
    }
    for (size_t i = 0; st == WF_OK && i < l.kernels.count; i++) {
        st = describe(&l, i);
    }
    st = st != WF_OK ? st : finish(&l);
    build_pack_fini(&l.pack, st != WF_OK);
    build_kernels_fini(&l.kernels);
    free(l.source_sha256);
    return st;
}
