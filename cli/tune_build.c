/* Step 2: what is left is compiled, through the kernel cache. What does not compile (a
 * static_assert, spills, the time-out) is a result and is kept with its reason. */
#include "cli/tune.h"
#include "core/buf.h"
#include "core/file.h"
#include "packs/build.h"
#include "packs/kernel_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_MOST 64

struct building {
    struct tune *t;
    struct wf_kernel_cache *cache;
    size_t todo[BATCH_MOST];
    size_t count;
    size_t done, total, batch;
    const char *format;
    struct wf_buf said; /* by the compilers, of this batch */
};

static const char *format_of(const struct tune *t)
{
    return strncmp(t->device.arch, "gfx", 3) == 0 ? "co"
           : t->o.nvcc != NULL                    ? "cubin"
                                                  : "ptx";
}

/* --- what is known already --- */

static enum wf_status take_built(struct tune *t,
                                 struct tune_point *p,
                                 const char *folder,
                                 struct wf_error *err)
{
    struct wf_pack *pack = NULL;
    enum wf_status st = tune_add_pack(t, folder, &pack, err);
    if (st == WF_OK) {
        p->pack = pack;
        p->k = wf_pack_kernel(pack, p->kernel);
    }
    return st == WF_OK && p->k == NULL
               ? wf_errorf(err, WF_EINTERNAL, "%s has no kernel %s", folder, p->kernel)
               : st;
}

/* *ret false: it has to be built. A pack that is gone or damaged is built again. */
static enum wf_status known(struct tune *t,
                            struct tune_point *p,
                            bool *ret,
                            struct wf_error *err)
{
    const struct wf_json *line = tune_journal_find(t->journal, "built", p->id);
    const struct wf_json *why = line != NULL ? wf_json_find(line, "error") : NULL;
    const struct wf_json *pack = line != NULL ? wf_json_find(line, "pack") : NULL;
    enum wf_status st = WF_OK;
    *ret = false;
    if (why != NULL && wf_json_string(why) != NULL) {
        *ret = true;
        return tune_drop_point(t, p, wf_json_string(why), err);
    }
    if (pack != NULL && wf_json_string(pack) != NULL) {
        char *folder = wf_path_join(t->o.work, wf_json_string(pack));
        st = folder == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path") : WF_OK;
        *ret = st == WF_OK && take_built(t, p, folder, NULL) == WF_OK;
        free(folder);
    }
    return st;
}

/* --- one batch --- */

static void hear(void *ctx, const char *text)
{
    struct building *b = ctx;
    (void)wf_buf_puts(&b->said, text, NULL);
}

/* The compiler's first error of this kernel, else what the builder says. */
static void reason_of(const struct building *b,
                      const struct tune_point *p,
                      const struct wf_build_outcome *o,
                      char *ret,
                      size_t n)
{
    static const char mark[] = "error: ";
    const char *text = strstr(wf_buf_cstr(&b->said), p->kernel);
    const char *at = text != NULL ? strstr(text, mark) : NULL;
    at = at != NULL ? at + strlen(mark) : NULL;
    if (at != NULL && strncmp(at, "kernels/", 8) != 0) {
        (void)snprintf(ret, n, "does not build, %.*s", (int)strcspn(at, "\n"), at);
    } else {
        (void)snprintf(ret, n, "does not build: %.380s", o->error.text);
    }
}

static enum wf_status note(struct building *b,
                           struct tune_point *p,
                           const struct wf_build_outcome *o,
                           const char *folder,
                           struct wf_error *err)
{
    char why[400];
    struct wf_json *line = wf_json_object();
    reason_of(b, p, o, why, sizeof(why));
    enum wf_status st =
        o->built
            ? wf_json_set_string(line, "pack", folder + strlen(b->t->o.work) + 1, err)
            : wf_json_set_string(line, "error", why, err);
    st = st == WF_OK ? wf_json_set_bool(line, "from_cache", o->from_cache, err) : st;
    st = st == WF_OK ? wf_json_set_i64(line, "compile_ns", o->compile_ns, err) : st;
    if (st != WF_OK) {
        wf_json_free(line);
        return st;
    }
    st = tune_journal_add(b->t->journal, "built", p->id, line, err);
    if (st == WF_OK && o->built) {
        st = take_built(b->t, p, folder, err);
    } else if (st == WF_OK) {
        st = tune_drop_point(b->t, p, why, err);
    }
    return st;
}

static enum wf_status build(struct building *b,
                            const char *folder,
                            struct wf_build_outcome *outcome,
                            struct wf_error *err)
{
    struct tune *t = b->t;
    struct wf_build_kernel kernel[BATCH_MOST];
    char arch[64];
    (void)snprintf(arch, sizeof(arch), "%.*s", (int)strcspn(t->device.arch, ":"),
                   t->device.arch);
    for (size_t i = 0; i < b->count; i++) {
        const struct tune_point *p = &t->point[b->todo[i]];
        kernel[i] =
            (struct wf_build_kernel){ .entry = wf_space_entry(t->space),
                                      .variant = wf_space_base(t->space, p->base),
                                      .knobs = p->knobs,
                                      .name = p->kernel };
    }
    const struct wf_build_options o = {
        .name = "tune",
        .arch = arch,
        .format = b->format,
        .clang = t->o.clang,
        .nvcc = t->o.nvcc,
        .root = wf_space_root(t->space),
        .out = folder,
        .jobs = t->o.jobs,
        .cache = b->cache,
        .timeout_ms = (int)(t->o.compile_timeout_ns / 1000000),
        .keep_going = true,
        .say = hear,
        .say_ctx = b,
    };
    return wf_build_pack(&o, kernel, b->count, outcome, err);
}

/* A batch of which nothing was built has no pack; that is no failure of ours, if each
 * kernel says why. */
static enum wf_status build_batch(struct building *b, struct wf_error *err)
{
    struct wf_build_outcome outcome[BATCH_MOST];
    struct wf_error own = { 0 };
    if (b->count == 0) {
        return WF_OK;
    }
    memset(outcome, 0, sizeof(outcome));
    char *folder = wf_asprintf("%s/packs/%s", b->t->o.work, b->t->point[b->todo[0]].id);
    enum wf_status st = folder != NULL
                            ? wf_mkdir_parents(folder, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    const enum wf_status built = st == WF_OK ? build(b, folder, outcome, &own) : st;
    for (size_t i = 0; i < b->count && st == WF_OK; i++) {
        if (built != WF_OK && !outcome[i].built && outcome[i].error.text[0] == '\0') {
            st = wf_errorf(err, built, "%s", own.text);
        } else {
            st = note(b, &b->t->point[b->todo[i]], &outcome[i], folder, err);
        }
    }
    b->done += b->count;
    b->count = 0;
    wf_buf_clear(&b->said);
    wf_progress_show(&b->t->progress, b->done, b->total, "compiling");
    free(folder);
    return st;
}

/* --- all of them --- */

static enum wf_status build_all(struct building *b, struct wf_error *err)
{
    struct tune *t = b->t;
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < t->point_count && st == WF_OK; i++) {
        bool is_known = false, over = false;
        st = known(t, &t->point[i], &is_known, err);
        st = st == WF_OK ? tune_check_time(t, &over, err) : st;
        if (st != WF_OK || is_known) {
            b->done += is_known;
            continue;
        }
        if (over) {
            st = tune_drop_point(t, &t->point[i], "not built, the budget was used up",
                                 err);
            continue;
        }
        b->todo[b->count++] = i;
        st = b->count == b->batch ? build_batch(b, err) : WF_OK;
    }
    return st == WF_OK ? build_batch(b, err) : st;
}

/* A cache that cannot be opened is no reason not to compile. */
static struct wf_kernel_cache *open_cache(void)
{
    struct wf_kernel_cache *cache = NULL;
    struct wf_error err;
    if (wf_kernel_cache_open(NULL, 0, &cache, &err) != WF_OK) {
        fprintf(stderr, "tune: warning: compiling without a cache: %s\n", err.text);
        return NULL;
    }
    return cache;
}

enum wf_status tune_build(struct tune *t, struct wf_error *err)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t jobs = t->o.jobs > 0 ? (size_t)t->o.jobs : cpus > 0 ? (size_t)cpus : 1;
    struct building b = { .t = t,
                          .total = t->point_count,
                          .batch = jobs < BATCH_MOST ? jobs : BATCH_MOST,
                          .format = format_of(t) };
    if (t->space == NULL) {
        return WF_OK;
    }
    tune_step_begin(t, "build");
    wf_progress_start(&t->progress);
    b.cache = open_cache();
    enum wf_status st = build_all(&b, err);
    wf_kernel_cache_close(b.cache);
    wf_buf_free(&b.said);
    if (st == WF_OK) {
        tune_step_end(t);
    } else {
        wf_progress_end(&t->progress);
    }
    return st;
}
