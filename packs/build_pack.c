/* Makes the folder of a pack: everything is written beside it first and then renamed,
 * so that whoever uses the old pack never sees half of a new one. */
#include "packs/build_internal.h"

#include "core/file.h"
#include "packs/pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wf_status no_memory(struct build_pack *p)
{
    return wf_errorf(p->err, WF_ENOMEM, "pack %s: no memory", p->name);
}

enum wf_status build_pack_begin(struct build_pack *p)
{
    p->folder = wf_asprintf("%s.new", p->out);
    if (p->folder == NULL) {
        return no_memory(p);
    }
    enum wf_status st = wf_remove_tree(p->folder, p->err);
    return st != WF_OK ? st : wf_mkdir_parents(p->folder, p->err);
}

/* --- pack.json --- */

static enum wf_status make_json(struct build_pack *p,
                                const struct wf_json *const *kernel,
                                size_t n,
                                struct wf_json *root)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = list == NULL ? no_memory(p) : WF_OK;
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        struct wf_json *copy = NULL;
        st = wf_json_copy(kernel[i], &copy, p->err);
        st = st != WF_OK ? st : wf_json_push_take(list, copy, p->err);
    }
    st = st != WF_OK ? st
                     : wf_json_set_string(root, "schema", "wavefarm.pack/1", p->err);
    st = st != WF_OK ? st : wf_json_set_string(root, "name", p->name, p->err);
    if (st != WF_OK) {
        wf_json_free(list);
        return st;
    }
    return wf_json_set_take(root, "kernels", list, p->err);
}

static enum wf_status write_input(struct build_pack *p,
                                  const char *path,
                                  const struct wf_json *const *kernel,
                                  size_t n)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *root = wf_json_object();
    enum wf_status st = root == NULL ? no_memory(p) : make_json(p, kernel, n, root);
    st = st != WF_OK ? st : wf_json_write_pretty(root, &text, p->err);
    st = st != WF_OK ? st : wf_file_write_atomic(path, text.data, text.len, p->err);
    wf_json_free(root);
    wf_buf_free(&text);
    return st;
}

static enum wf_status build(struct build_pack *p,
                            const struct wf_json *const *kernel,
                            size_t n,
                            struct wf_pack **ret)
{
    char *input = wf_path_join(p->folder, "pack.json.in");
    enum wf_status st = input == NULL ? no_memory(p) : write_input(p, input, kernel, n);
    st = st != WF_OK ? st : wf_pack_build(p->folder, ret, p->err);
    st = st != WF_OK ? st : wf_pack_verify(*ret, p->err);
    if (input != NULL) {
        (void)remove(input);
    }
    free(input);
    return st;
}

/* Outside a git work tree the record says so. */
static enum wf_status write_record(struct build_pack *p,
                                   const char *id,
                                   const struct wf_provenance_kernel *record,
                                   size_t n)
{
    struct wf_git_info git;
    char *path = wf_path_join(p->folder, "provenance.json");
    if (path == NULL) {
        return no_memory(p);
    }
    bool known = wf_git_read(p->root, &git, NULL) == WF_OK;
    struct wf_provenance all = { .git = known ? &git : NULL,
                                 .kernel = record,
                                 .kernel_count = n };
    enum wf_status st = wf_provenance_write(path, id, &all, p->err);
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

static enum wf_status write_depfile(struct build_pack *p)
{
    struct wf_buf out = WF_BUF_INIT;
    const char *at = wf_buf_cstr(&p->deps);
    enum wf_status st = escape(p->out, strlen(p->out), &out, p->err);
    st = st != WF_OK ? st : wf_buf_puts(&out, "/pack.json:", p->err);
    while (st == WF_OK && *at != '\0') {
        size_t n = strcspn(at, "\n");
        st = wf_buf_puts(&out, " \\\n ", p->err);
        st = st != WF_OK ? st : escape(at, n, &out, p->err);
        at += n + 1;
    }
    st = st != WF_OK ? st : wf_buf_puts(&out, "\n", p->err);
    st = st != WF_OK ? st : wf_file_write_atomic(p->depfile, out.data, out.len, p->err);
    wf_buf_free(&out);
    return st;
}

static enum wf_status put_in_place(struct build_pack *p)
{
    enum wf_status st = wf_remove_tree(p->out, p->err);
    if (st == WF_OK && rename(p->folder, p->out) != 0) {
        st = wf_error_errno(p->err, errno, "cannot rename %s to %s", p->folder, p->out);
    }
    return st;
}

enum wf_status build_pack_end(struct build_pack *p,
                              const struct wf_json *const *kernel,
                              const struct wf_provenance_kernel *record,
                              size_t n)
{
    struct wf_pack *pack = NULL;
    enum wf_status st = build(p, kernel, n, &pack);
    st = st != WF_OK ? st : write_record(p, wf_pack_id(pack), record, n);
    if (st == WF_OK && p->depfile != NULL) {
        st = write_depfile(p);
    }
    st = st != WF_OK ? st : put_in_place(p);
    wf_pack_free(pack);
    return st;
}

void build_pack_fini(struct build_pack *p, bool failed)
{
    if (failed && p->folder != NULL) {
        (void)wf_remove_tree(p->folder, NULL);
    }
    wf_buf_free(&p->deps);
    free(p->folder);
    p->folder = NULL;
}
