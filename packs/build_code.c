/* Kernels to units: which compilations a kernel needs, and what becomes of it once they
 * are done.
 *
 * Kernels of the same source, compiler and flags (variants that differ in what they are
 * told at the launch) share one unit and one file. An AMDGPU kernel that spills
 * registers or uses scratch is an error unless its entry allows it; its object is
 * looked at wherever it is from. (ptxas is told to treat spills as errors.) */
#include "packs/build_internal.h"

#include "core/file.h"
#include "packs/code_object.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- compilers --- */

static enum wf_status get_compiler(struct build *b,
                                   const struct build_kernel *k,
                                   const struct compiler **ret,
                                   struct wf_error *err)
{
    const char *name = build_compiler_name(b, k);
    struct build_compilers *list = &b->compilers;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->item[i]->name, name) == 0) {
            *ret = list->item[i];
            return WF_OK;
        }
    }
    struct compiler **grown =
        wf_realloc_array(list->item, list->count + 1, sizeof(struct compiler *));
    struct compiler *c = wf_calloc(1, sizeof *c);
    list->item = grown != NULL ? grown : list->item;
    if (grown == NULL || c == NULL) {
        free(c);
        return wf_errorf(err, WF_ENOMEM, "no memory for a compiler");
    }
    char *memo = b->o->cache == NULL
                     ? NULL
                     : wf_path_join(wf_kernel_cache_folder(b->o->cache), "programs");
    enum wf_status st = b->o->cache != NULL && memo == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                            : compiler_open(name, memo, c, err);
    free(memo);
    if (st != WF_OK) {
        free(c);
        return st;
    }
    list->item[list->count++] = c;
    *ret = c;
    return WF_OK;
}

void build_compilers_fini(struct build_compilers *c)
{
    for (size_t i = 0; i < c->count; i++) {
        compiler_fini(c->item[i]);
        free(c->item[i]);
    }
    free(c->item);
    *c = (struct build_compilers){ .count = 0 };
}

/* --- units --- */

static void unit_fini(struct build_unit *u)
{
    build_words_fini(&u->flags);
    free(u->source);
    free(u->file);
    wf_buf_free(&u->deps);
    wf_buf_free(&u->output);
}

void build_units_fini(struct build_units *u)
{
    for (size_t i = 0; i < u->count; i++) {
        unit_fini(&u->item[i]);
    }
    free(u->item);
    *u = (struct build_units){ .count = 0 };
}

static bool same_words(const struct build_words *a, const struct build_words *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(a->word[i], b->word[i]) == 0;
    }
    return same;
}

/* Index of the unit that does the same, or the count. */
static size_t find_unit(const struct build_units *list, const struct build_unit *u)
{
    size_t i = 0;
    while (i < list->count && !(list->item[i].compiler == u->compiler &&
                                strcmp(list->item[i].source, u->source) == 0 &&
                                same_words(&list->item[i].flags, &u->flags))) {
        i++;
    }
    return i;
}

/* Takes the unit; *ret is the index of it or of its equal. */
static enum wf_status take_unit(struct build_units *list,
                                struct build_unit *u,
                                size_t *ret,
                                struct wf_error *err)
{
    *ret = find_unit(list, u);
    if (*ret < list->count) {
        unit_fini(u);
        return WF_OK;
    }
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 32 : 2 * list->cap;
        struct build_unit *grown = wf_realloc_array(list->item, cap, sizeof *grown);
        if (grown == NULL) {
            unit_fini(u);
            return wf_errorf(err, WF_ENOMEM, "no memory for a kernel");
        }
        list->item = grown;
        list->cap = cap;
    }
    list->item[list->count++] = *u;
    return WF_OK;
}

/* --- planning --- */

/* `name` in the folder of the entry. */
static char *beside(const char *entry, const char *name)
{
    const char *slash = strrchr(entry, '/');
    int n = slash == NULL ? 0 : (int)(slash - entry + 1);
    return wf_asprintf("%.*s%s", n, entry, name);
}

/* The entry's own name with .hip, or its member "source". */
static char *default_source(const struct build_kernel *k)
{
    const char *named = wf_json_string(wf_json_find(k->json, "source"));
    const char *dot = strrchr(k->entry, '.');
    size_t stem = dot == NULL ? strlen(k->entry) : (size_t)(dot - k->entry);
    return named != NULL ? beside(k->entry, named)
                         : wf_asprintf("%.*s.hip", (int)stem, k->entry);
}

static enum wf_status hash_source(const struct build *b,
                                  struct build_unit *u,
                                  struct wf_error *err)
{
    char *path = wf_path_join(b->o->root, u->source);
    enum wf_status st = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                                     : wf_sha256_file(path, u->source_sha256, err);
    free(path);
    return st == WF_OK ? st : wf_error_prefix(err, "%s", u->entry);
}

/* One label of a kernel; takes `source`. */
static enum wf_status plan_label(struct build *b,
                                 struct build_kernel *k,
                                 const struct compiler *compiler,
                                 const char *label,
                                 char *source,
                                 struct wf_error *err)
{
    const char *name = wf_json_string(wf_json_find(k->json, "name"));
    bool main = strcmp(label, "main") == 0;
    struct build_unit u = { .compiler = compiler,
                            .source = source,
                            .entry = k->entry,
                            .kernel = name,
                            .deps = WF_BUF_INIT,
                            .output = WF_BUF_INIT };
    u.file = main ? wf_asprintf("%s.%s", name, b->o->format)
                  : wf_asprintf("%s.%s.%s", name, label, b->o->format);
    enum wf_status st = u.source == NULL || u.file == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory")
                            : build_flags(b, k, &u.flags, err);
    st = st != WF_OK ? st : hash_source(b, &u, err);
    if (st != WF_OK) {
        unit_fini(&u);
        return st;
    }
    st = take_unit(&b->units, &u, &k->unit[k->unit_count], err);
    k->unit_count += st == WF_OK;
    return st;
}

static enum wf_status plan_labels(struct build *b,
                                  struct build_kernel *k,
                                  const struct compiler *compiler,
                                  struct wf_error *err)
{
    const struct wf_json *map = wf_json_find(k->json, "code");
    enum wf_status st = WF_OK;
    if (map != NULL && wf_json_type(map) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "%s: code: an object is expected", k->entry);
    }
    k->unit = wf_calloc(map == NULL ? 1 : wf_json_count(map) + 1, sizeof *k->unit);
    if (k->unit == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    if (map == NULL) {
        return plan_label(b, k, compiler, "main", default_source(k), err);
    }
    const struct wf_json *v = wf_json_first(map);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        const char *name = wf_json_string(v);
        if (name == NULL || !wf_relative_path_is_safe(name)) {
            return wf_errorf(err, WF_EINVAL,
                             "%s: code.%s: a source file beside the entry is expected",
                             k->entry, wf_json_key(v));
        }
        st = plan_label(b, k, compiler, wf_json_key(v), beside(k->entry, name), err);
    }
    return st;
}

enum wf_status build_plan_kernel(struct build *b,
                                 struct build_kernel *k,
                                 struct wf_error *err)
{
    const struct compiler *compiler = NULL;
    const char *name = NULL;
    enum wf_status st = wf_json_get_string(k->json, "name", &name, err);
    st = st != WF_OK ? st : get_compiler(b, k, &compiler, err);
    if (st == WF_ENOTFOUND) {
        return wf_errorf(
            err, st,
            "%s: kernel %s needs the compiler %s, which is not installed: "
            "install it, or change \"compile\": {\"compiler\"} of the entry",
            k->entry, name, build_compiler_name(b, k));
    }
    return st != WF_OK ? st : plan_labels(b, k, compiler, err);
}

/* --- running --- */

struct pool {
    struct build *b;
    atomic_size_t next;
};

static void *work(void *ctx)
{
    struct pool *p = ctx;
    for (;;) {
        size_t i = atomic_fetch_add(&p->next, 1);
        if (i >= p->b->units.count) {
            return NULL;
        }
        build_unit_run(p->b, &p->b->units.item[i]);
    }
}

static size_t processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

void build_run_units(struct build *b)
{
    enum {
        MAX_JOBS = 256
    };
    pthread_t thread[MAX_JOBS];
    struct pool p = { .b = b };
    size_t jobs = b->o->jobs <= 0 ? processors() : (size_t)b->o->jobs;
    size_t started = 0;
    jobs = jobs > MAX_JOBS ? MAX_JOBS : jobs;
    jobs = jobs > b->units.count ? b->units.count : jobs;
    while (started + 1 < jobs &&
           pthread_create(&thread[started], NULL, work, &p) == 0) {
        started++;
    }
    (void)work(&p);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(thread[i], NULL);
    }
}

/* --- finishing --- */

static enum wf_status check_spills(const struct build_kernel *k,
                                   const char *object,
                                   struct wf_error *err)
{
    struct wf_code_object *c = NULL;
    enum wf_status st = wf_code_object_read(object, &c, err);
    for (size_t i = 0; st == WF_OK && i < wf_code_object_count(c); i++) {
        const struct wf_code_kernel *f = wf_code_object_at(c, i);
        if (f->private_bytes != 0 || f->vgpr_spills != 0 || f->sgpr_spills != 0) {
            st = wf_errorf(
                err, WF_EINVAL,
                "%s: kernel %s: %s uses %u bytes of scratch and spills %u "
                "vector and %u scalar registers; make the tile smaller or say "
                "\"compile\": {\"allow_spills\": true}",
                k->entry, wf_json_string(wf_json_find(k->json, "name")), f->name,
                f->private_bytes, f->vgpr_spills, f->sgpr_spills);
        }
    }
    wf_code_object_free(c);
    return st;
}

static enum wf_status check_units(const struct build *b,
                                  const struct build_kernel *k,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < k->unit_count; i++) {
        const struct build_unit *u = &b->units.item[k->unit[i]];
        if (u->status != WF_OK) {
            *err = u->error;
            return u->status;
        }
        if (build_is_amd(b) && !build_allows_spills(k)) {
            char *object = wf_path_join(b->folder, u->file);
            st = object == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                                : check_spills(k, object, err);
            free(object);
        }
    }
    return st;
}

/* "code" of pack.json: label to file. */
static enum wf_status make_code(const struct build *b,
                                const struct build_kernel *k,
                                struct wf_json *code,
                                struct wf_error *err)
{
    const struct wf_json *map = wf_json_find(k->json, "code");
    const struct wf_json *v = map == NULL ? NULL : wf_json_first(map);
    enum wf_status st = code == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    for (size_t i = 0; st == WF_OK && i < k->unit_count; i++) {
        st = wf_json_set_string(code, v == NULL ? "main" : wf_json_key(v),
                                b->units.item[k->unit[i]].file, err);
        v = v == NULL ? NULL : wf_json_next(v);
    }
    return st;
}

static enum wf_status set_members(const struct build *b,
                                  struct build_kernel *k,
                                  struct wf_error *err)
{
    struct wf_json *code = wf_json_object();
    struct wf_json *archs = wf_json_array();
    enum wf_status st = make_code(b, k, code, err);
    st = st != WF_OK ? st : wf_json_push_string(archs, b->o->arch, err);
    if (st != WF_OK) {
        wf_json_free(archs);
        wf_json_free(code);
        return st;
    }
    wf_json_remove(k->json, "arch");
    wf_json_remove(k->json, "code");
    wf_json_remove(k->json, "source");
    st = wf_json_set_take(k->json, "code", code, err);
    enum wf_status arch = wf_json_set_take(k->json, "arch", archs, err);
    st = st != WF_OK ? st : arch;
    /* The record names the first source. */
    return st != WF_OK ? st
                       : wf_json_set_string(k->json, "source",
                                            b->units.item[k->unit[0]].source, err);
}

void build_finish_kernel(struct build *b, struct build_kernel *k)
{
    k->status = k->status != WF_OK ? k->status : check_units(b, k, &k->error);
    k->status = k->status != WF_OK ? k->status : set_members(b, k, &k->error);
}
