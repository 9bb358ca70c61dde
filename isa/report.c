/* Reads a code object or bundle and analyses its kernels. */
#include "isa/report.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"
#include "emulator/load/bundle.h"
#include "emulator/load/image.h"
#include "isa/report_internal.h"
#include "packs/elf.h"

#include <stdlib.h>
#include <string.h>

/* Every dword of code becomes an instruction of about 200 bytes. */
#define MAX_OBJECT_BYTES ((size_t)64 << 20)

static const struct wf_isa_options no_options = { .mca = false };

struct work {
    const char *source;
    const struct wf_isa_options *options;
    struct em_chosen chosen;
    struct em_space *space;
    struct em_image *image;
    struct wf_code_object *metadata;
    struct isa_marks *marks;
};

/* --- sizes of functions --- */

struct search {
    const char *name;
    uint64_t bytes;
};

static enum wf_status visit(void *ctx, const struct elf_symbol *s, struct wf_error *err)
{
    struct search *f = ctx;
    (void)err;
    if (s->type == 2 && s->section != 0 && strcmp(s->name, f->name) == 0) {
        f->bytes = s->bytes;
    }
    return WF_OK;
}

static uint64_t function_bytes(const struct work *w, const char *name)
{
    struct search f = { name, 0 };
    struct elf e;
    if (elf_open(w->chosen.data, w->chosen.bytes, w->source, &e, NULL) != WF_OK ||
        elf_symbols(&e, visit, &f, NULL) != WF_OK) {
        return 0;
    }
    return f.bytes;
}

/* --- steps --- */

static enum wf_status load(struct work *w,
                           const void *data,
                           size_t bytes,
                           struct wf_error *err)
{
    size_t whole = 0;
    enum wf_status st = em_bundle_measure(data, bytes, w->source, &whole, err);
    if (st == WF_OK) {
        whole = whole < bytes ? whole : bytes;
        st = em_bundle_choose(data, whole, w->source, &w->chosen, err);
    }
    if (st == WF_OK && w->chosen.bytes > MAX_OBJECT_BYTES) {
        st = wf_errorf(err, WF_EINVAL,
                       "%s: a code object of %zu bytes; at most %zu MiB are looked at",
                       w->source, w->chosen.bytes, MAX_OBJECT_BYTES >> 20);
    }
    st = st == WF_OK ? em_space_create(&w->space, err) : st;
    if (st == WF_OK) {
        st = em_image_load(w->space, 0, w->chosen.data, w->chosen.bytes, w->source,
                           &w->image, err);
    }
    if (st == WF_OK) {
        st = wf_code_object_parse(w->chosen.data, w->chosen.bytes, w->source,
                                  &w->metadata, err);
    }
    return st == WF_OK ? isa_marks_create(em_image_code(w->image), &w->marks, err) : st;
}

static void unload(struct work *w)
{
    isa_marks_free(w->marks);
    wf_code_object_free(w->metadata);
    em_image_destroy(w->image);
    em_space_destroy(w->space);
    em_chosen_fini(&w->chosen);
}

static enum wf_status add_kernel(const struct work *w,
                                 const struct em_kernel *k,
                                 struct wf_isa_report *r,
                                 struct wf_error *err)
{
    enum wf_status st =
        isa_kernel_analyse(w->image, k, wf_code_object_find(w->metadata, k->name),
                           function_bytes(w, k->name), w->marks, &r->tool,
                           w->options->hot_loops, &r->kernel[r->count], err);
    r->count += st == WF_OK;
    return st;
}

static int by_name(const void *a, const void *b)
{
    const struct isa_kernel *x = a;
    const struct isa_kernel *y = b;
    return strcmp(x->name, y->name);
}

static enum wf_status analyse(const struct work *w,
                              struct wf_isa_report *r,
                              struct wf_error *err)
{
    size_t count = em_image_kernel_count(w->image);
    enum wf_status st = WF_OK;
    r->kernel = wf_calloc(count + 1, sizeof(*r->kernel));
    if (r->kernel == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for %zu kernels", w->source,
                         count);
    }
    for (size_t i = 0; i < count && st == WF_OK; i++) {
        const struct em_kernel *k = em_image_kernel(w->image, i);
        const char *glob = w->options->kernel;
        if (glob == NULL || wf_glob_match(glob, k->name)) {
            st = add_kernel(w, k, r, err);
        }
    }
    if (r->count > 1) { /* symbol tables have them in the order of a hash */
        qsort(r->kernel, r->count, sizeof(*r->kernel), by_name);
    }
    return st;
}

static enum wf_status find_mca(const struct wf_isa_options *o,
                               struct isa_mca_tool *ret,
                               struct wf_error *err)
{
    if (o->mca) {
        return isa_mca_find(o->mca_program, o->mca_timeout_ns, ret, err);
    }
    ret->why = wf_strdup("llvm-mca was not asked");
    return ret->why != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
}

enum wf_status wf_isa_report_parse(const void *data,
                                   size_t bytes,
                                   const char *source,
                                   const struct wf_isa_options *options,
                                   struct wf_isa_report **ret,
                                   struct wf_error *err)
{
    struct work w = { .source = source,
                      .options = options != NULL ? options : &no_options };
    struct wf_isa_report *r = wf_calloc(1, sizeof(*r));
    char *name = wf_strdup(source);
    enum wf_status st = WF_OK;
    if (r == NULL || name == NULL) {
        free(r);
        free(name);
        return wf_errorf(err, WF_ENOMEM, "%s: no memory to look at it", source);
    }
    r->file = name;
    st = load(&w, data, bytes, err);
    st = st == WF_OK ? find_mca(w.options, &r->tool, err) : st;
    st = st == WF_OK ? analyse(&w, r, err) : st;
    unload(&w);
    if (st == WF_OK) {
        *ret = r;
    } else {
        wf_isa_report_free(r);
    }
    return st;
}

enum wf_status wf_isa_report_read(const char *path,
                                  const struct wf_isa_options *options,
                                  struct wf_isa_report **ret,
                                  struct wf_error *err)
{
    struct wf_buf bytes = WF_BUF_INIT;
    enum wf_status st = wf_file_read(path, WF_CODE_MAX_BYTES, &bytes, err);
    if (st == WF_OK) {
        st = wf_isa_report_parse(bytes.data != NULL ? bytes.data : "", bytes.len, path,
                                 options, ret, err);
    }
    wf_buf_free(&bytes);
    return st;
}

void wf_isa_report_free(struct wf_isa_report *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        isa_kernel_fini(&r->kernel[i]);
    }
    free(r->kernel);
    free(r->file);
    isa_mca_tool_fini(&r->tool);
    free(r);
}

/* --- reading it --- */

size_t wf_isa_report_count(const struct wf_isa_report *r)
{
    return r->count;
}

const char *wf_isa_report_kernel(const struct wf_isa_report *r, size_t kernel)
{
    return kernel < r->count ? r->kernel[kernel].name : NULL;
}

size_t wf_isa_figure_count(const struct wf_isa_report *r, size_t kernel)
{
    return kernel < r->count ? isa_figure_count() : 0;
}

struct wf_isa_figure wf_isa_figure_at(const struct wf_isa_report *r,
                                      size_t kernel,
                                      size_t i)
{
    return isa_figure(&r->kernel[kernel], i);
}

size_t wf_isa_figure_names(void)
{
    return isa_figure_count();
}

const char *wf_isa_figure_name(size_t i)
{
    return isa_figure_title(i);
}

const char *wf_isa_figure_words(size_t i)
{
    return isa_figure_words(i);
}
