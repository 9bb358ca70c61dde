/* Compiles the sources of one kernel entry.
 *
 * Compilers run in the root of the tree with relative paths, so that neither the code
 * nor the record holds a path of the machine. An AMDGPU kernel that spills registers or
 * uses scratch is a build error unless its entry allows it; ptxas is told to treat
 * spills as errors. */
#include "packs/packgen.h"

#include "core/file.h"
#include "core/parse.h"
#include "packs/code_object.h"
#include "packs/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    const struct packgen_options *o;
    struct packgen_kernel *k;
    const char *name;   /* of the kernel */
    const char *folder; /* of the pack being made */
    struct wf_buf *deps;
    struct wf_error *err;
};

/* Words owned by the list. */
struct words {
    char *word[PACKGEN_MAX_WORDS + 1];
    size_t count;
    bool failed;
};

static void add_owned(struct words *w, char *word)
{
    if (word == NULL || w->count == PACKGEN_MAX_WORDS) {
        free(word);
        w->failed = true;
        return;
    }
    w->word[w->count++] = word;
}

static void add(struct words *w, const char *word)
{
    add_owned(w, wf_strdup(word));
}

static void add_many(struct words *w, const char *const *list)
{
    for (; *list != NULL; list++) {
        add(w, *list);
    }
}

static void words_fini(struct words *w)
{
    for (size_t i = 0; i < w->count; i++) {
        free(w->word[i]);
    }
    *w = (struct words){ .count = 0 };
}

/* --- flags --- */

static bool is_amd(const struct packgen_options *o)
{
    return strcmp(o->format, "co") == 0;
}

/* "compiler" of an entry stands for clang; nvcc has flags of its own. */
static const char *compiler_of(const struct packgen_options *o,
                               const struct packgen_kernel *k)
{
    const char *name = o->clang;
    if (strcmp(o->format, "cubin") == 0) {
        return o->nvcc;
    }
    if (k->compile != NULL) {
        (void)wf_json_opt_string(k->compile, "compiler", &name, NULL);
    }
    return name;
}

/* What the kernel's code is compiled for: "target" of an entry, else the pack's own. */
static const char *target_of(const struct packgen_options *o,
                             const struct packgen_kernel *k)
{
    const char *name = o->arch;
    if (k->compile != NULL) {
        (void)wf_json_opt_string(k->compile, "target", &name, NULL);
    }
    return name;
}

static bool allows_spills(const struct packgen_kernel *k)
{
    bool allowed = false;
    if (k->compile != NULL) {
        (void)wf_json_opt_bool(k->compile, "allow_spills", &allowed, NULL);
    }
    return allowed;
}

static void add_base_flags(const struct job *j, struct words *w)
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
    const struct packgen_options *o = j->o;
    const char *target = target_of(o, j->k);
    if (is_amd(o)) {
        add_owned(w, wf_asprintf("--offload-arch=%s", target));
        add_many(w, amd);
    } else if (strcmp(o->format, "ptx") == 0) {
        add_owned(w, wf_asprintf("--cuda-gpu-arch=%s", target));
        add_many(w, ptx);
    } else {
        add_owned(w, wf_asprintf("-arch=%s", target));
        add_many(w, cubin);
        if (!allows_spills(j->k)) {
            add(w, "-Xptxas");
            add(w, "--warn-on-spills,--warning-as-error");
        }
    }
    add(w, "-O3");
    add(w, "-std=c++17");
    add(w, "-I.");
}

/* Numeric knobs are compile-time constants. */
static void add_defines(const struct job *j, struct words *w)
{
    const struct wf_json *knobs = wf_json_find(j->k->json, "knobs");
    const struct wf_json *v = knobs != NULL && wf_json_type(knobs) == WF_JSON_OBJECT
                                  ? wf_json_first(knobs)
                                  : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        char number[40];
        int64_t i;
        double d;
        enum wf_json_type type = wf_json_type(v);
        if (type == WF_JSON_INT && wf_json_as_i64(v, &i)) {
            add_owned(w, wf_asprintf("-D%s=%lld", wf_json_key(v), (long long)i));
        } else if (type == WF_JSON_DOUBLE && wf_json_as_f64(v, &d)) {
            add_owned(w, wf_asprintf("-D%s=%s", wf_json_key(v),
                                     wf_format_f64(d, number, sizeof number)));
        }
    }
}

static enum wf_status add_flag_list(const struct job *j,
                                    const struct wf_json *list,
                                    struct words *w)
{
    const struct wf_json *v = list != NULL && wf_json_type(list) == WF_JSON_ARRAY
                                  ? wf_json_first(list)
                                  : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        if (wf_json_string(v) == NULL) {
            return wf_errorf(j->err, WF_EINVAL, "%s: compile: a flag is a text",
                             j->k->entry);
        }
        add(w, wf_json_string(v));
    }
    return WF_OK;
}

static enum wf_status add_entry_flags(const struct job *j, struct words *w)
{
    const struct wf_json *c = j->k->compile;
    if (c == NULL) {
        return WF_OK;
    }
    const struct wf_json *by_arch = wf_json_find(c, "arch_flags");
    enum wf_status st = add_flag_list(j, wf_json_find(c, "flags"), w);
    if (st == WF_OK && by_arch != NULL) {
        st = add_flag_list(j, wf_json_find(by_arch, j->o->arch), w);
    }
    return st;
}

static enum wf_status make_flags(const struct job *j, struct words *w)
{
    add_base_flags(j, w);
    add_defines(j, w);
    enum wf_status st = add_entry_flags(j, w);
    if (st == WF_OK && w->failed) {
        st = wf_errorf(j->err, WF_ENOMEM, "%s: no memory, or more than %d flags",
                       j->k->entry, PACKGEN_MAX_WORDS);
    }
    return st;
}

/* --- one source --- */

static enum wf_status compiler_failed(const struct job *j,
                                      const struct words *w,
                                      int code,
                                      const struct wf_buf *output)
{
    struct wf_buf line = WF_BUF_INIT;
    const char *argv[PACKGEN_MAX_WORDS + 1];
    for (size_t i = 0; i <= w->count; i++) {
        argv[i] = w->word[i];
    }
    (void)command_text(argv, &line, NULL);
    (void)fprintf(stderr, "%s\n%s\n", wf_buf_cstr(&line), wf_buf_cstr(output));
    wf_buf_free(&line);
    return wf_errorf(j->err, WF_EINVAL,
                     "%s: kernel %s does not compile for %s (the "
                     "compiler ended with %d)",
                     j->k->entry, j->name, j->o->arch, code);
}

static enum wf_status run_compiler(const struct job *j,
                                   const struct words *flags,
                                   const char *source,
                                   const char *object,
                                   const char *depfile)
{
    struct words w = { .count = 0 };
    struct wf_buf output = WF_BUF_INIT;
    const char *argv[PACKGEN_MAX_WORDS + 1] = { NULL };
    const char *const tail[] = { "-MMD", "-MF", depfile, source, "-o", object, NULL };
    int code = 0;
    add(&w, j->k->compiler);
    for (size_t i = 0; i < flags->count; i++) {
        add(&w, flags->word[i]);
    }
    add_many(&w, tail);
    for (size_t i = 0; i < w.count; i++) {
        argv[i] = w.word[i];
    }
    enum wf_status st =
        w.failed ? wf_errorf(j->err, WF_ENOMEM, "no memory for a command")
                 : command_run(argv, j->o->root, true, &output, &code, j->err);
    if (st == WF_OK && code != 0) {
        st = compiler_failed(j, &w, code, &output);
    } else if (st == WF_OK && output.len > 0) {
        (void)fputs(wf_buf_cstr(&output), stderr);
    }
    wf_buf_free(&output);
    words_fini(&w);
    return st;
}

static enum wf_status check_spills(const struct job *j, const char *object)
{
    struct wf_code_object *c = NULL;
    enum wf_status st = wf_code_object_read(object, &c, j->err);
    for (size_t i = 0; st == WF_OK && i < wf_code_object_count(c); i++) {
        const struct wf_code_kernel *k = wf_code_object_at(c, i);
        if (k->private_bytes != 0 || k->vgpr_spills != 0 || k->sgpr_spills != 0) {
            st = wf_errorf(
                j->err, WF_EINVAL,
                "%s: kernel %s: %s uses %u bytes of scratch and spills %u "
                "vector and %u scalar registers; make the tile smaller or say "
                "\"compile\": {\"allow_spills\": true}",
                j->k->entry, j->name, k->name, k->private_bytes, k->vgpr_spills,
                k->sgpr_spills);
        }
    }
    wf_code_object_free(c);
    return st;
}

static enum wf_status compile_source(const struct job *j,
                                     const struct words *flags,
                                     const char *source,
                                     const char *file)
{
    char *object = wf_path_join(j->folder, file);
    char *depfile = object == NULL ? NULL : wf_asprintf("%s.d", object);
    enum wf_status st = depfile == NULL
                            ? wf_errorf(j->err, WF_ENOMEM, "no memory")
                            : run_compiler(j, flags, source, object, depfile);
    if (st == WF_OK && is_amd(j->o) && !allows_spills(j->k)) {
        st = check_spills(j, object);
    }
    st = st != WF_OK ? st : packgen_parse_depfile(depfile, j->o->root, j->deps, j->err);
    if (depfile != NULL) {
        (void)unlink(depfile);
    }
    free(depfile);
    free(object);
    return st;
}

/* --- the kernel --- */

/* `name` in the folder of the entry. */
static char *beside(const char *entry, const char *name)
{
    const char *slash = strrchr(entry, '/');
    int n = slash == NULL ? 0 : (int)(slash - entry + 1);
    return wf_asprintf("%.*s%s", n, entry, name);
}

/* The entry's own name with .hip, or its member "source". */
static char *default_source(const struct packgen_kernel *k)
{
    const char *named = wf_json_string(wf_json_find(k->json, "source"));
    const char *dot = strrchr(k->entry, '.');
    size_t stem = dot == NULL ? strlen(k->entry) : (size_t)(dot - k->entry);
    return named != NULL ? beside(k->entry, named)
                         : wf_asprintf("%.*s.hip", (int)stem, k->entry);
}

static enum wf_status add_code(const struct job *j,
                               const struct words *flags,
                               struct wf_json *code,
                               const char *label,
                               const char *source)
{
    const char *extension = j->o->format;
    char *file = strcmp(label, "main") == 0
                     ? wf_asprintf("%s.%s", j->name, extension)
                     : wf_asprintf("%s.%s.%s", j->name, label, extension);
    enum wf_status st = file == NULL ? wf_errorf(j->err, WF_ENOMEM, "no memory")
                                     : compile_source(j, flags, source, file);
    st = st != WF_OK ? st : wf_json_set_string(code, label, file, j->err);
    free(file);
    return st;
}

/* The object of the kernel before, when it comes of the same source with the same flags
 * (variants that differ in what they are told at the launch), or NULL. */
static const char *shared_object(const struct job *j, const struct words *flags)
{
    const struct packgen_kernel *b = j->k->before;
    if (b == NULL || strcmp(b->source, j->k->source) != 0 ||
        strcmp(b->compiler, j->k->compiler) != 0 || b->flag_count != flags->count) {
        return NULL;
    }
    for (size_t i = 0; i < flags->count; i++) {
        if (strcmp(b->flag[i], flags->word[i]) != 0) {
            return NULL;
        }
    }
    const struct wf_json *code = wf_json_find(b->json, "code");
    return code != NULL && wf_json_count(code) == 1
               ? wf_json_string(wf_json_find(code, "main"))
               : NULL;
}

static enum wf_status compile_labels(const struct job *j,
                                     const struct words *flags,
                                     struct wf_json *code)
{
    const struct wf_json *map = wf_json_find(j->k->json, "code");
    const char *shared = map == NULL ? shared_object(j, flags) : NULL;
    if (shared != NULL) {
        return wf_json_set_string(code, "main", shared, j->err);
    }
    if (map == NULL) {
        return add_code(j, flags, code, "main", j->k->source);
    }
    if (wf_json_type(map) != WF_JSON_OBJECT) {
        return wf_errorf(j->err, WF_EINVAL, "%s: code: an object is expected",
                         j->k->entry);
    }
    enum wf_status st = WF_OK;
    const struct wf_json *v = wf_json_first(map);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        const char *name = wf_json_string(v);
        if (name == NULL || !wf_relative_path_is_safe(name)) {
            return wf_errorf(j->err, WF_EINVAL,
                             "%s: code.%s: a source file beside the "
                             "entry is expected",
                             j->k->entry, wf_json_key(v));
        }
        char *source = beside(j->k->entry, name);
        st = source == NULL ? wf_errorf(j->err, WF_ENOMEM, "no memory")
                            : add_code(j, flags, code, wf_json_key(v), source);
        if (st == WF_OK && v == wf_json_first(map)) { /* the record names the first */
            free(j->k->source);
            j->k->source = source;
            source = NULL;
        }
        free(source);
    }
    return st;
}

static enum wf_status hash_source(const struct job *j)
{
    char *path = wf_path_join(j->o->root, j->k->source);
    enum wf_status st = path == NULL
                            ? wf_errorf(j->err, WF_ENOMEM, "no memory")
                            : wf_sha256_file(path, j->k->source_sha256, j->err);
    free(path);
    return st;
}

static enum wf_status set_members(const struct job *j, struct wf_json *code)
{
    struct wf_json *json = j->k->json;
    struct wf_json *archs = wf_json_array();
    enum wf_status st = wf_json_push_string(archs, j->o->arch, j->err);
    wf_json_remove(json, "arch");
    wf_json_remove(json, "code");
    wf_json_remove(json, "source");
    if (st != WF_OK) {
        wf_json_free(archs);
        wf_json_free(code);
        return st;
    }
    st = wf_json_set_take(json, "code", code, j->err);
    enum wf_status arch = wf_json_set_take(json, "arch", archs, j->err);
    st = st != WF_OK ? st : arch;
    return st != WF_OK ? st : wf_json_set_string(json, "source", j->k->source, j->err);
}

/* The flags go to the kernel's record. */
static void move_flags(struct packgen_kernel *k, struct words *flags)
{
    k->flag = wf_calloc(flags->count + 1, sizeof *k->flag);
    if (k->flag != NULL) {
        memcpy(k->flag, flags->word, flags->count * sizeof *k->flag);
        k->flag_count = flags->count;
        flags->count = 0;
    }
}

/* The version is asked for once where kernels follow each other with one compiler. */
static enum wf_status name_compiler(const struct job *j)
{
    struct packgen_kernel *k = j->k;
    const struct packgen_kernel *b = k->before;
    k->compiler = wf_strdup(compiler_of(j->o, k));
    if (k->compiler == NULL) {
        return wf_errorf(j->err, WF_ENOMEM, "no memory");
    }
    if (b != NULL && strcmp(b->compiler, k->compiler) == 0) {
        k->compiler_version = wf_strdup(b->compiler_version);
        return k->compiler_version != NULL ? WF_OK
                                           : wf_errorf(j->err, WF_ENOMEM, "no memory");
    }
    enum wf_status st =
        packgen_compiler_version(k->compiler, &k->compiler_version, j->err);
    if (st == WF_ENOTFOUND) {
        return wf_errorf(j->err, st,
                         "%s: kernel %s needs the compiler %s, which is not "
                         "installed: install it, or change \"compile\": "
                         "{\"compiler\"} of the entry",
                         k->entry, j->name, k->compiler);
    }
    return st == WF_OK ? st : wf_error_prefix(j->err, "%s", k->entry);
}

enum wf_status packgen_compile(const struct packgen_options *o,
                               struct packgen_kernel *k,
                               const char *folder,
                               struct wf_buf *deps,
                               struct wf_error *err)
{
    struct job j = { .o = o, .k = k, .folder = folder, .deps = deps, .err = err };
    struct words flags = { .count = 0 };
    struct wf_json *code = wf_json_object();
    k->source = default_source(k);
    enum wf_status st = code == NULL || k->source == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory")
                            : wf_json_get_string(k->json, "name", &j.name, err);
    st = st != WF_OK ? st : name_compiler(&j);
    st = st != WF_OK ? st : make_flags(&j, &flags);
    st = st != WF_OK ? st : compile_labels(&j, &flags, code);
    st = st != WF_OK ? st : hash_source(&j);
    if (st == WF_OK) {
        st = set_members(&j, code);
        code = NULL;
        move_flags(k, &flags);
    }
    wf_json_free(code);
    words_fini(&flags);
    return st;
}

enum wf_status packgen_compiler_version(const char *compiler,
                                        char **ret,
                                        struct wf_error *err)
{
    const char *const argv[] = { compiler, "--version", NULL };
    struct wf_buf out = WF_BUF_INIT;
    int code = 0;
    enum wf_status st = command_run(argv, NULL, true, &out, &code, err);
    if (st == WF_OK && code != 0) {
        st = wf_errorf(err, WF_EINVAL, "%s --version ended with %d", compiler, code);
    }
    if (st == WF_OK) {
        const char *text = wf_buf_cstr(&out);
        const char *release = strstr(text, "Cuda compilation tools"); /* of nvcc */
        const char *line = release != NULL ? release : text;
        *ret = wf_strndup(line, strcspn(line, "\n"));
        st = *ret == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    }
    wf_buf_free(&out);
    return st;
}
