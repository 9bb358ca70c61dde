/* The flags of one kernel: those of the architecture, its numeric knobs as macros, and
 * its entry's own. Compilers run in the root of the tree with relative paths, so that
 * neither the code nor the record holds a path of the machine. */
#include "packs/build_internal.h"

#include "core/parse.h"

#include <stdlib.h>
#include <string.h>

void build_word_take(struct build_words *w, char *word)
{
    if (word != NULL && w->count + 2 > w->cap) {
        size_t cap = w->cap == 0 ? 64 : 2 * w->cap;
        char **grown = wf_realloc_array(w->word, cap, sizeof *grown);
        if (grown == NULL) {
            free(word);
            word = NULL;
        } else {
            w->word = grown;
            w->cap = cap;
        }
    }
    if (word == NULL) {
        w->failed = true;
        return;
    }
    w->word[w->count++] = word;
    w->word[w->count] = NULL;
}

void build_word(struct build_words *w, const char *word)
{
    build_word_take(w, wf_strdup(word));
}

static void add_many(struct build_words *w, const char *const *list)
{
    for (; *list != NULL; list++) {
        build_word(w, *list);
    }
}

void build_words_fini(struct build_words *w)
{
    for (size_t i = 0; i < w->count; i++) {
        free(w->word[i]);
    }
    free(w->word);
    *w = (struct build_words){ .count = 0 };
}

bool build_is_amd(const struct build *b)
{
    return strcmp(b->o->format, "co") == 0;
}

bool build_allows_spills(const struct build_kernel *k)
{
    bool allowed = false;
    if (k->compile != NULL) {
        (void)wf_json_opt_bool(k->compile, "allow_spills", &allowed, NULL);
    }
    return allowed;
}

/* "compiler" of an entry stands for clang; nvcc has flags of its own. */
const char *build_compiler_name(const struct build *b, const struct build_kernel *k)
{
    const char *name = b->o->clang;
    if (strcmp(b->o->format, "cubin") == 0) {
        return b->o->nvcc;
    }
    if (k->compile != NULL) {
        (void)wf_json_opt_string(k->compile, "compiler", &name, NULL);
    }
    return name;
}

/* What the kernel's code is compiled for: "target" of an entry, else the pack's own. */
static const char *target_of(const struct build *b, const struct build_kernel *k)
{
    const char *name = b->o->arch;
    if (k->compile != NULL) {
        (void)wf_json_opt_string(k->compile, "target", &name, NULL);
    }
    return name;
}

static void add_base_flags(const struct build *b,
                           const struct build_kernel *k,
                           struct build_words *w)
{
    static const char *const amd[] = { "-x",
                                       "hip",
                                       "--offload-device-only",
                                       "--no-gpu-bundle-output",
                                       "-nogpuinc",
                                       "-nogpulib",
                                       "-fuse-cuid=none",
                                       "-DWF_DEVICE_AMD=1",
                                       "-Wall",
                                       "-Werror",
                                       "-c",
                                       NULL };
    static const char *const ptx[] = { "-x",
                                       "cuda",
                                       "--cuda-device-only",
                                       "-S",
                                       "-nocudainc",
                                       "-nocudalib",
                                       "-fuse-cuid=none",
                                       "-Wno-unknown-cuda-version",
                                       "-DWF_DEVICE_NVIDIA=1",
                                       "-Wall",
                                       "-Werror",
                                       NULL };
    static const char *const cubin[] = { "-x", "cu", "-cubin", "-DWF_DEVICE_NVIDIA=1",
                                         NULL };
    const struct wf_build_options *o = b->o;
    const char *target = target_of(b, k);
    if (build_is_amd(b)) {
        build_word_take(w, wf_asprintf("--offload-arch=%s", target));
        add_many(w, amd);
    } else if (strcmp(o->format, "ptx") == 0) {
        build_word_take(w, wf_asprintf("--cuda-gpu-arch=%s", target));
        add_many(w, ptx);
    } else {
        build_word_take(w, wf_asprintf("-arch=%s", target));
        add_many(w, cubin);
        if (!build_allows_spills(k)) {
            build_word(w, "-Xptxas");
            build_word(w, "--warn-on-spills,--warning-as-error");
        }
    }
    build_word(w, "-O3");
    build_word(w, "-std=c++17");
    build_word(w, "-I.");
}

/* Numeric knobs are compile-time constants. */
static void add_defines(const struct build_kernel *k, struct build_words *w)
{
    const struct wf_json *knobs = wf_json_find(k->json, "knobs");
    const struct wf_json *v = knobs != NULL && wf_json_type(knobs) == WF_JSON_OBJECT
                                  ? wf_json_first(knobs)
                                  : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        char number[40];
        int64_t i;
        double d;
        enum wf_json_type type = wf_json_type(v);
        if (type == WF_JSON_INT && wf_json_as_i64(v, &i)) {
            build_word_take(w, wf_asprintf("-D%s=%lld", wf_json_key(v), (long long)i));
        } else if (type == WF_JSON_DOUBLE && wf_json_as_f64(v, &d)) {
            build_word_take(w, wf_asprintf("-D%s=%s", wf_json_key(v),
                                           wf_format_f64(d, number, sizeof number)));
        }
    }
}

static enum wf_status add_flag_list(const struct build_kernel *k,
                                    const struct wf_json *list,
                                    struct build_words *w,
                                    struct wf_error *err)
{
    const struct wf_json *v = list != NULL && wf_json_type(list) == WF_JSON_ARRAY
                                  ? wf_json_first(list)
                                  : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        if (wf_json_string(v) == NULL) {
            return wf_errorf(err, WF_EINVAL, "%s: compile: a flag is a text", k->entry);
        }
        build_word(w, wf_json_string(v));
    }
    return WF_OK;
}

static enum wf_status add_entry_flags(const struct build *b,
                                      const struct build_kernel *k,
                                      struct build_words *w,
                                      struct wf_error *err)
{
    const struct wf_json *c = k->compile;
    if (c == NULL) {
        return WF_OK;
    }
    const struct wf_json *by_arch = wf_json_find(c, "arch_flags");
    enum wf_status st = add_flag_list(k, wf_json_find(c, "flags"), w, err);
    if (st == WF_OK && by_arch != NULL) {
        st = add_flag_list(k, wf_json_find(by_arch, b->o->arch), w, err);
    }
    return st;
}

enum wf_status build_flags(const struct build *b,
                           const struct build_kernel *k,
                           struct build_words *ret,
                           struct wf_error *err)
{
    struct build_words w = { .count = 0 };
    add_base_flags(b, k, &w);
    add_defines(k, &w);
    enum wf_status st = add_entry_flags(b, k, &w, err);
    if (st == WF_OK && w.failed) {
        st = wf_errorf(err, WF_ENOMEM, "%s: no memory for flags", k->entry);
    }
    if (st != WF_OK) {
        build_words_fini(&w);
        return st;
    }
    *ret = w;
    return WF_OK;
}
