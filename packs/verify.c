/* wf_pack_verify: the launches against what the code objects say about themselves.
 *
 * Checked for every kernel: the architecture, each launch's symbol, and where the code
 * object states it, the layout of the arguments. A library must export its entry. */
#include "packs/pack_read.h"

#include "core/file.h"
#include "packs/code_object.h"
#include "packs/library_abi.h"
#include "packs/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verifier {
    const struct wf_pack *pack;
    struct wf_code_object **code; /* of the pack's files; NULL: not read yet */
    const struct wf_pack_kernel *kernel;
    struct wf_error *err;
};

static enum wf_status read_file(struct verifier *v,
                                const char *file,
                                const struct wf_code_object **ret)
{
    size_t i = 0;
    while (i < v->pack->file_count && strcmp(v->pack->file[i].path, file) != 0) {
        i++;
    }
    if (i == v->pack->file_count) {
        return wf_errorf(v->err, WF_EINTERNAL, "%s is not in the pack", file);
    }
    if (v->code[i] == NULL) {
        char *path = wf_path_join(v->pack->folder, file);
        if (path == NULL) {
            return wf_errorf(v->err, WF_ENOMEM, "no memory for a path");
        }
        enum wf_status st = wf_code_object_read(path, &v->code[i], v->err);
        free(path);
        if (st != WF_OK) {
            return wf_error_prefix(v->err, "kernel %s", v->kernel->name);
        }
    }
    *ret = v->code[i];
    return WF_OK;
}

static enum wf_status check_arch(struct verifier *v,
                                 const char *file,
                                 const struct wf_code_object *c)
{
    for (size_t i = 0; i < v->kernel->arch_count; i++) {
        if (!wf_code_object_runs_on(c, v->kernel->arch[i])) {
            return wf_errorf(
                v->err, WF_EINVAL,
                "kernel %s: %s is built for %s, which does not run on %s of "
                "the kernel's arch",
                v->kernel->name, file, wf_code_object_arch(c), v->kernel->arch[i]);
        }
    }
    return WF_OK;
}

/* "there are a, b, c and 4 more". */
static void list_symbols(const struct wf_code_object *c, char *ret, size_t size)
{
    size_t at = 0, n = wf_code_object_count(c), shown = 0;
    ret[0] = '\0';
    for (; shown < n; shown++) {
        const char *name = wf_code_object_at(c, shown)->name;
        if (at + strlen(name) + 24 > size) {
            break;
        }
        int w = snprintf(ret + at, size - at, "%s%s", shown == 0 ? "" : ", ", name);
        at += w > 0 ? (size_t)w : 0;
    }
    if (shown < n) {
        (void)snprintf(ret + at, size - at, " and %zu more", n - shown);
    }
}

static enum wf_status wrong_symbol(struct verifier *v,
                                   size_t launch,
                                   const char *file,
                                   const struct wf_code_object *c)
{
    char there[300];
    const char *wanted = v->kernel->launch[launch].symbol;
    struct wf_nearest near = wf_nearest_start(wanted);
    for (size_t i = 0; i < wf_code_object_count(c); i++) {
        wf_nearest_offer(&near, wf_code_object_at(c, i)->name);
    }
    list_symbols(c, there, sizeof there);
    return wf_errorf(
        v->err, WF_EINVAL,
        "kernel %s: launches[%zu]: %s has no kernel '%.100s'%s%s%s; there %s "
        "%s",
        v->kernel->name, launch, file, wanted,
        near.best != NULL ? "; did you mean " : "", near.best != NULL ? near.best : "",
        near.best != NULL ? "?" : "", wf_code_object_count(c) == 1 ? "is" : "are",
        wf_code_object_count(c) == 0 ? "none" : there);
}

/* Where the parameters begin. Not 0 in a cubin whose first one is aligned to 64 bytes,
 * as tensor maps are: the constant bank's own alignment is counted in. */
static uint32_t first_offset(const struct wf_code_kernel *k)
{
    return k->arg_count == 0 ? 0 : k->arg[0].offset;
}

static uint32_t explicit_bytes(const struct wf_code_kernel *k)
{
    uint32_t end = first_offset(k);
    for (size_t i = 0; i < k->arg_count; i++) {
        uint64_t e = (uint64_t)k->arg[i].offset + k->arg[i].bytes;
        end = e > end && e <= UINT32_MAX ? (uint32_t)e : end;
    }
    return end - first_offset(k);
}

/* Counts may differ (one struct may cover several parameters), the whole may not. */
static enum wf_status check_layout(struct verifier *v,
                                   size_t launch,
                                   const struct wf_code_kernel *k)
{
    const struct wf_pack_launch *l = &v->kernel->launch[launch];
    uint32_t at = 0;
    for (size_t i = 0; i < l->arg_count; i++) {
        uint32_t align = pack_arg_align(&l->arg[i]), n = pack_arg_bytes(&l->arg[i]);
        at = (at + align - 1) / align * align;
        if (l->arg_count == k->arg_count &&
            (k->arg[i].offset - first_offset(k) != at || k->arg[i].bytes != n)) {
            return wf_errorf(
                v->err, WF_EINVAL,
                "kernel %s: launches[%zu].args[%zu]: %u bytes at offset %u; "
                "the code object's parameter has %u bytes at %u",
                v->kernel->name, launch, i, n, at, k->arg[i].bytes, k->arg[i].offset);
        }
        at += n;
    }
    if (at != explicit_bytes(k)) {
        return wf_errorf(
            v->err, WF_EINVAL,
            "kernel %s: launches[%zu]: %zu arguments of %u bytes; %s has %zu "
            "parameters of %u bytes",
            v->kernel->name, launch, l->arg_count, at, l->symbol, k->arg_count,
            explicit_bytes(k));
    }
    return WF_OK;
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

static enum wf_status verify_launch(struct verifier *v, size_t launch)
{
    const struct wf_pack_launch *l = &v->kernel->launch[launch];
    const char *file = file_of(v->kernel, l->code);
    const struct wf_code_object *c = NULL;
    enum wf_status st = read_file(v, file, &c);
    if (st != WF_OK) {
        return st;
    }
    const struct wf_code_kernel *k = wf_code_object_find(c, l->symbol);
    if (k == NULL) {
        return wrong_symbol(v, launch, file, c);
    }
    return k->has_layout ? check_layout(v, launch, k) : WF_OK;
}

static enum wf_status verify_code(struct verifier *v)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < v->kernel->code_count; i++) {
        const struct wf_code_object *c = NULL;
        const char *file = v->kernel->code[i].file;
        st = read_file(v, file, &c);
        if (st == WF_OK && wf_code_object_kind(c) == WF_CODE_SHARED) {
            st = wf_errorf(v->err, WF_EINVAL,
                           "kernel %s: %s is a shared object of the host, not a code "
                           "object",
                           v->kernel->name, file);
        }
        st = st != WF_OK ? st : check_arch(v, file, c);
    }
    for (size_t i = 0; st == WF_OK && i < v->kernel->launch_count; i++) {
        st = verify_launch(v, i);
    }
    return st;
}

static enum wf_status verify_library(struct verifier *v)
{
    const struct wf_code_object *c = NULL;
    enum wf_status st = read_file(v, v->kernel->library, &c);
    if (st != WF_OK) {
        return st;
    }
    if (wf_code_object_kind(c) != WF_CODE_SHARED ||
        wf_code_object_find(c, WF_LIBRARY_ENTRY) == NULL) {
        return wf_errorf(v->err, WF_EINVAL,
                         "kernel %s: %s does not export " WF_LIBRARY_ENTRY
                         " (packs/library_abi.h)",
                         v->kernel->name, v->kernel->library);
    }
    return WF_OK;
}

static enum wf_status verify_kernel(struct verifier *v)
{
    switch (v->kernel->kind) {
    case WF_KERNEL_CODE_OBJECT:
        return verify_code(v);
    case WF_KERNEL_LIBRARY:
        return verify_library(v);
    case WF_KERNEL_PROCESS:
        break;
    }
    return WF_OK;
}

enum wf_status wf_pack_verify(const struct wf_pack *pack, struct wf_error *err)
{
    if (pack->folder[0] == '\0') {
        return wf_errorf(err, WF_EINVAL, "pack %s was not opened from a folder",
                         pack->name);
    }
    struct verifier v = { .pack = pack, .err = err };
    v.code = wf_calloc(pack->file_count + 1, sizeof(struct wf_code_object *));
    if (v.code == NULL) {
        return wf_errorf(err, WF_ENOMEM, "pack %s: no memory", pack->name);
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < pack->kernel_count; i++) {
        v.kernel = &pack->kernel[i];
        st = verify_kernel(&v);
    }
    for (size_t i = 0; i < pack->file_count; i++) {
        wf_code_object_free(v.code[i]);
    }
    free(v.code);
    return st;
}
