/* Makes the folder of a pack: everything is written beside it first and then renamed,
 * so that whoever uses the old pack never sees half of a new one. */
#include "packs/packgen.h"

#include "core/file.h"
#include "packs/pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct making {
    const struct packgen_options *o;
    struct packgen_kernels kernels;
    struct wf_buf deps; /* absolute paths, one a line */
    char *folder;       /* "<out>.new" */
    struct wf_error *err;
};

static enum wf_status no_memory(struct making *m)
{
    return wf_errorf(m->err, WF_ENOMEM, "pack %s: no memory", m->o->name);
}

static enum wf_status read_entries(struct making *m)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < m->o->entries.count; i++) {
        const char *entry = m->o->entries.item[i];
        st = packgen_read_entry(m->o, entry, &m->kernels, m->err);
        if (st == WF_OK) {
            st = wf_buf_printf(&m->deps, m->err, "%s/%s\n", m->o->root, entry);
        }
    }
    if (st == WF_OK && m->kernels.count == 0) {
        st = wf_errorf(m->err, WF_EINVAL, "pack %s: no entry is for %s", m->o->name,
                       m->o->library ? "a library" : m->o->arch);
    }
    return st;
}

static enum wf_status fresh_folder(struct making *m)
{
    enum wf_status st = wf_remove_tree(m->folder, m->err);
    return st != WF_OK ? st : wf_mkdir_parents(m->folder, m->err);
}

/* --- libraries --- */

static enum wf_status copy_file(struct making *m, const char *from)
{
    const char *slash = strrchr(from, '/');
    struct wf_buf b = WF_BUF_INIT;
    char *to = wf_path_join(m->folder, slash == NULL ? from : slash + 1);
    enum wf_status st =
        to == NULL ? no_memory(m) : wf_file_read(from, (size_t)1 << 30, &b, m->err);
    st = st != WF_OK ? st : wf_file_write_atomic(to, b.data, b.len, m->err);
    if (st == WF_OK && chmod(to, 0755) != 0) {
        st = wf_error_errno(m->err, errno, "cannot make %s executable", to);
    }
    st = st != WF_OK ? st : wf_buf_printf(&m->deps, m->err, "%s\n", from);
    free(to);
    wf_buf_free(&b);
    return st;
}

/* The kernel's record: its "source", or else the entry. */
static enum wf_status describe_library(struct making *m, struct packgen_kernel *k)
{
    const char *named = wf_json_string(wf_json_find(k->json, "source"));
    k->source = wf_strdup(named != NULL ? named : k->entry);
    char *path = k->source == NULL ? NULL : wf_path_join(m->o->root, k->source);
    enum wf_status st =
        path == NULL ? no_memory(m) : wf_sha256_file(path, k->source_sha256, m->err);
    free(path);
    return st == WF_OK ? st : wf_error_prefix(m->err, "%s: source", k->entry);
}

static enum wf_status fill_library(struct making *m)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < m->o->files.count; i++) {
        st = copy_file(m, m->o->files.item[i]);
    }
    for (size_t i = 0; st == WF_OK && i < m->kernels.count; i++) {
        st = describe_library(m, &m->kernels.item[i]);
    }
    return st;
}

static enum wf_status fill_device(struct making *m)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < m->kernels.count; i++) {
        m->kernels.item[i].before = i > 0 ? &m->kernels.item[i - 1] : NULL;
        st = packgen_compile(m->o, &m->kernels.item[i], m->folder, &m->deps, m->err);
    }
    return st;
}

/* --- pack.json --- */

static enum wf_status make_json(struct making *m, struct wf_json *root)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = list == NULL ? no_memory(m) : WF_OK;
    for (size_t i = 0; st == WF_OK && i < m->kernels.count; i++) {
        struct wf_json *copy = NULL;
        st = wf_json_copy(m->kernels.item[i].json, &copy, m->err);
        st = st != WF_OK ? st : wf_json_push_take(list, copy, m->err);
    }
    st = st != WF_OK ? st
                     : wf_json_set_string(root, "schema", "wavefarm.pack/1", m->err);
    st = st != WF_OK ? st : wf_json_set_string(root, "name", m->o->name, m->err);
    if (st != WF_OK) {
        wf_json_free(list);
        return st;
    }
    return wf_json_set_take(root, "kernels", list, m->err);
}

static enum wf_status write_input(struct making *m, const char *path)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *root = wf_json_object();
    enum wf_status st = root == NULL ? no_memory(m) : make_json(m, root);
    st = st != WF_OK ? st : wf_json_write_pretty(root, &text, m->err);
    st = st != WF_OK ? st : wf_file_write_atomic(path, text.data, text.len, m->err);
    wf_json_free(root);
    wf_buf_free(&text);
    return st;
}

static enum wf_status build(struct making *m, struct wf_pack **ret)
{
    char *input = wf_path_join(m->folder, "pack.json.in");
    enum wf_status st = input == NULL ? no_memory(m) : write_input(m, input);
    st = st != WF_OK ? st : wf_pack_build(m->folder, ret, m->err);
    st = st != WF_OK ? st : wf_pack_verify(*ret, m->err);
    if (input != NULL) {
        (void)remove(input);
    }
    free(input);
    return st;
}

/* --- the record --- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void fill_record(const struct making *m, struct wf_provenance_kernel *list)
{
    const struct packgen_options *o = m->o;
    for (size_t i = 0; i < m->kernels.count; i++) {
        const struct packgen_kernel *k = &m->kernels.item[i];
        list[i] = (struct wf_provenance_kernel){
            .name = wf_json_string(wf_json_find(k->json, "name")),
            .compiler = base_name(o->library ? o->compiler : k->compiler),
            .compiler_version = o->library ? o->compiler_version : k->compiler_version,
            .flags = o->library ? o->flags.item : (const char *const *)k->flag,
            .flag_count = o->library ? o->flags.count : k->flag_count,
            .source = k->source,
            .source_sha256 = k->source_sha256,
        };
    }
}

/* Outside a git work tree the record says so. */
static enum wf_status write_record(struct making *m, const char *id)
{
    struct wf_git_info git;
    char *path = wf_path_join(m->folder, "provenance.json");
    struct wf_provenance_kernel *list = wf_calloc(m->kernels.count, sizeof *list);
    enum wf_status st = path == NULL || list == NULL ? no_memory(m) : WF_OK;
    if (st == WF_OK) {
        bool known = wf_git_read(m->o->root, &git, NULL) == WF_OK;
        fill_record(m, list);
        struct wf_provenance p = { .git = known ? &git : NULL,
                                   .kernel = list,
                                   .kernel_count = m->kernels.count };
        st = wf_provenance_write(path, id, &p, m->err);
    }
    free(list);
    free(path);
    return st;
}

/* --- finishing --- */

static enum wf_status escape(const char *path,
                             size_t n,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        st = path[i] == ' ' ? wf_buf_puts(out, "\\ ", err)
                            : wf_buf_add(out, path + i, 1, err);
    }
    return st;
}

static enum wf_status write_depfile(struct making *m)
{
    struct wf_buf out = WF_BUF_INIT;
    const char *p = wf_buf_cstr(&m->deps);
    enum wf_status st = escape(m->o->out, strlen(m->o->out), &out, m->err);
    st = st != WF_OK ? st : wf_buf_puts(&out, "/pack.json:", m->err);
    while (st == WF_OK && *p != '\0') {
        size_t n = strcspn(p, "\n");
        st = wf_buf_puts(&out, " \\\n ", m->err);
        st = st != WF_OK ? st : escape(p, n, &out, m->err);
        p += n + 1;
    }
    st = st != WF_OK ? st : wf_buf_puts(&out, "\n", m->err);
    st = st != WF_OK ? st
                     : wf_file_write_atomic(m->o->depfile, out.data, out.len, m->err);
    wf_buf_free(&out);
    return st;
}

static enum wf_status put_in_place(struct making *m)
{
    enum wf_status st = wf_remove_tree(m->o->out, m->err);
    if (st == WF_OK && rename(m->folder, m->o->out) != 0) {
        st = wf_error_errno(m->err, errno, "cannot rename %s to %s", m->folder,
                            m->o->out);
    }
    return st;
}

static enum wf_status make(struct making *m)
{
    struct wf_pack *pack = NULL;
    enum wf_status st = read_entries(m);
    st = st != WF_OK ? st : fresh_folder(m);
    st = st != WF_OK ? st : (m->o->library ? fill_library(m) : fill_device(m));
    st = st != WF_OK ? st : build(m, &pack);
    st = st != WF_OK ? st : write_record(m, wf_pack_id(pack));
    if (st == WF_OK && m->o->depfile != NULL) {
        st = write_depfile(m);
    }
    st = st != WF_OK ? st : put_in_place(m);
    wf_pack_free(pack);
    return st;
}

enum wf_status packgen_make(const struct packgen_options *o, struct wf_error *err)
{
    struct making m = { .o = o, .deps = WF_BUF_INIT, .err = err };
    m.folder = wf_asprintf("%s.new", o->out);
    enum wf_status st = m.folder == NULL ? no_memory(&m) : make(&m);
    if (st != WF_OK && m.folder != NULL) {
        (void)wf_remove_tree(m.folder, NULL);
    }
    packgen_kernels_fini(&m.kernels);
    wf_buf_free(&m.deps);
    free(m.folder);
    return st;
}
