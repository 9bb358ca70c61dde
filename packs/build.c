/* A pack of device kernels from requests. */
#include "packs/build.h"
#include "packs/build_internal.h"

#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct device {
    struct build b;
    struct build_pack pack;
    const struct wf_build_kernel *request;
    size_t request_count;
    struct wf_build_outcome *outcome; /* one a request; never NULL */
    struct wf_error *err;
};

static enum wf_status no_memory(struct device *d)
{
    return wf_errorf(d->err, WF_ENOMEM, "pack %s: no memory", d->b.o->name);
}

static void say(const struct device *d, const char *text)
{
    if (d->b.o->say != NULL) {
        d->b.o->say(d->b.o->say_ctx, text);
    } else {
        (void)fputs(text, stderr);
    }
}

/* --- requests --- */

/* A request that is wrong is told like a kernel that does not compile. */
static void read_request(struct device *d, size_t i)
{
    const struct build_target target = { .arch = d->b.o->arch, .root = d->b.o->root };
    struct wf_build_outcome *outcome = &d->outcome[i];
    size_t first = d->b.kernels.count;
    *outcome = (struct wf_build_outcome){ .built = true, .from_cache = true };
    if (build_read_entry(&target, &d->request[i], &d->b.kernels, &outcome->error) !=
        WF_OK) {
        outcome->built = false;
        for (size_t j = first; j < d->b.kernels.count; j++) {
            build_kernel_fini(&d->b.kernels.item[j]);
        }
        d->b.kernels.count = first;
    }
    for (size_t j = first; j < d->b.kernels.count; j++) {
        d->b.kernels.item[j].request = i;
    }
}

static enum wf_status read_requests(struct device *d)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < d->request_count; i++) {
        read_request(d, i);
        st = wf_buf_printf(&d->pack.deps, d->err, "%s/%s\n", d->b.o->root,
                           d->request[i].entry);
    }
    return st;
}

static void plan_kernels(struct device *d)
{
    for (size_t i = 0; i < d->b.kernels.count; i++) {
        struct build_kernel *k = &d->b.kernels.item[i];
        k->status = build_plan_kernel(&d->b, k, &k->error);
    }
}

/* --- what became of them --- */

static void tell_units(struct device *d)
{
    bool warned = false;
    for (size_t i = 0; i < d->b.units.count; i++) {
        struct build_unit *u = &d->b.units.item[i];
        if (u->output.len > 0) {
            say(d, wf_buf_cstr(&u->output));
        }
        if (!warned && u->cache_error.text[0] != '\0') {
            char *text = wf_asprintf("warning: the kernel cache is of no use, %s is "
                                     "compiled without it: %s\n",
                                     u->kernel, u->cache_error.text);
            warned = true;
            say(d, text == NULL ? "warning: the kernel cache is of no use\n" : text);
            free(text);
        }
    }
}

static void note_kernel(struct device *d, const struct build_kernel *k)
{
    struct wf_build_outcome *o = &d->outcome[k->request];
    for (size_t i = 0; i < k->unit_count; i++) {
        const struct build_unit *u = &d->b.units.item[k->unit[i]];
        o->from_cache = o->from_cache && u->from_cache;
        o->compile_ns += u->compile_ns;
    }
    if (k->status != WF_OK && o->built) {
        o->built = false;
        o->error = k->error;
    }
}

/* Errors of all kernels, where there are several; *err is the first, with the number of
 * the others. */
static enum wf_status sum_up(struct device *d)
{
    size_t bad = 0, good = 0;
    const struct wf_error *first = NULL;
    for (size_t i = 0; i < d->request_count; i++) {
        const struct wf_build_outcome *o = &d->outcome[i];
        good += o->built;
        bad += !o->built;
        first = first == NULL && !o->built ? &o->error : first;
    }
    for (size_t i = 0; i < d->b.kernels.count && bad + d->b.kernels.count > 1; i++) {
        const struct build_kernel *k = &d->b.kernels.item[i];
        if (k->status != WF_OK && (bad > 1 || &k->error != first)) {
            char *text = wf_asprintf("error: %s\n", k->error.text);
            say(d, text == NULL ? k->error.text : text);
            free(text);
        }
    }
    if (first == NULL || (d->b.o->keep_going && good > 0)) {
        return WF_OK;
    }
    if (d->err != NULL) {
        *d->err = *first;
    }
    return first->status;
}

/* Files of kernels that are left out are not left behind. */
static void remove_unused(struct device *d)
{
    for (size_t i = 0; i < d->b.units.count; i++) {
        bool used = false;
        for (size_t j = 0; !used && j < d->b.kernels.count; j++) {
            const struct build_kernel *k = &d->b.kernels.item[j];
            for (size_t l = 0; k->status == WF_OK && l < k->unit_count; l++) {
                used = used || k->unit[l] == i;
            }
        }
        char *path =
            used ? NULL : wf_path_join(d->pack.folder, d->b.units.item[i].file);
        if (path != NULL) {
            (void)unlink(path);
        }
        free(path);
    }
}

/* --- the pack --- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void fill_record(const struct device *d,
                        const struct build_kernel *k,
                        struct wf_provenance_kernel *record)
{
    const struct build_unit *u = &d->b.units.item[k->unit[0]];
    *record = (struct wf_provenance_kernel){
        .name = wf_json_string(wf_json_find(k->json, "name")),
        .compiler = base_name(u->compiler->name),
        .compiler_version = u->compiler->version,
        .flags = (const char *const *)u->flags.word,
        .flag_count = u->flags.count,
        .source = u->source,
        .source_sha256 = u->source_sha256,
    };
}

static enum wf_status add_deps(struct device *d)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < d->b.units.count; i++) {
        const struct wf_buf *deps = &d->b.units.item[i].deps;
        st = wf_buf_add(&d->pack.deps, wf_buf_cstr(deps), deps->len, d->err);
    }
    return st;
}

static enum wf_status write_pack(struct device *d)
{
    size_t n = d->b.kernels.count, count = 0;
    struct wf_provenance_kernel *record = wf_calloc(n, sizeof *record);
    const struct wf_json **json = wf_calloc(n, sizeof *json);
    enum wf_status st = record == NULL || json == NULL ? no_memory(d) : add_deps(d);
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        const struct build_kernel *k = &d->b.kernels.item[i];
        if (k->status == WF_OK) {
            json[count] = k->json;
            fill_record(d, k, &record[count++]);
        }
    }
    if (st == WF_OK && count == 0) {
        st = wf_errorf(d->err, WF_EINVAL, "pack %s: no entry is for %s", d->b.o->name,
                       d->b.o->arch);
    }
    st = st != WF_OK ? st : build_pack_end(&d->pack, json, record, count);
    free(json);
    free(record);
    return st;
}

static enum wf_status make(struct device *d)
{
    enum wf_status st = read_requests(d);
    st = st != WF_OK ? st : build_pack_begin(&d->pack);
    if (st != WF_OK) {
        return st;
    }
    d->b.folder = d->pack.folder;
    plan_kernels(d);
    build_run_units(&d->b);
    tell_units(d);
    for (size_t i = 0; i < d->b.kernels.count; i++) {
        build_finish_kernel(&d->b, &d->b.kernels.item[i]);
        note_kernel(d, &d->b.kernels.item[i]);
    }
    st = sum_up(d);
    if (st == WF_OK) {
        remove_unused(d);
        st = write_pack(d);
    }
    return st;
}

enum wf_status wf_build_pack(const struct wf_build_options *o,
                             const struct wf_build_kernel *kernels,
                             size_t n,
                             struct wf_build_outcome *outcomes,
                             struct wf_error *err)
{
    struct wf_build_outcome *own =
        outcomes != NULL ? NULL : wf_calloc(n + 1, sizeof *own);
    struct device d = { .b = { .o = o },
                        .request = kernels,
                        .request_count = n,
                        .outcome = outcomes != NULL ? outcomes : own,
                        .err = err,
                        .pack = { .name = o->name,
                                  .root = o->root,
                                  .out = o->out,
                                  .depfile = o->depfile,
                                  .deps = WF_BUF_INIT,
                                  .err = err } };
    enum wf_status st = d.outcome == NULL ? no_memory(&d) : make(&d);
    build_pack_fini(&d.pack, st != WF_OK);
    build_kernels_fini(&d.b.kernels);
    build_units_fini(&d.b.units);
    build_compilers_fini(&d.b.compilers);
    free(own);
    return st;
}
