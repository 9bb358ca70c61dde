/* Kernel entries: reading one, and merging its variants into kernels of a pack.
 *
 * Members that only the entry has (schema, variants, compile, args) are taken out here;
 * all others are checked where pack.json is, so that the two formats cannot drift
 * apart. */
#include "packs/build_internal.h"

#include "core/file.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA "wavefarm.kernel-entry/1"

static const char *const compile_keys[] = { "flags",    "arch_flags", "allow_spills",
                                            "compiler", "target",     NULL };

void build_kernel_fini(struct build_kernel *k)
{
    wf_json_free(k->json);
    wf_json_free(k->compile);
    free(k->source);
    free(k->unit);
    *k = (struct build_kernel){ .json = NULL };
}

void build_kernels_fini(struct build_kernels *k)
{
    for (size_t i = 0; i < k->count; i++) {
        build_kernel_fini(&k->item[i]);
    }
    free(k->item);
    *k = (struct build_kernels){ 0 };
}

static bool is_own(const char *key)
{
    return strcmp(key, "schema") == 0 || strcmp(key, "variants") == 0 ||
           strcmp(key, "compile") == 0 || strcmp(key, "args") == 0;
}

/* Sets the members of `from` in `to`, over those that are there. */
static enum wf_status overlay(struct wf_json *to,
                              const struct wf_json *from,
                              struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = from == NULL ? NULL : wf_json_first(from);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        wf_json_remove(to, wf_json_key(v));
        st = wf_json_set_copy(to, wf_json_key(v), v, err);
    }
    return st;
}

static bool is_object(const struct wf_json *v)
{
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT;
}

/* `key` of a and then of b, merged; *ret NULL when neither has it. */
static enum wf_status merge_objects(const struct wf_json *a,
                                    const struct wf_json *b,
                                    const char *key,
                                    struct wf_json **ret,
                                    struct wf_error *err)
{
    const struct wf_json *x = wf_json_find(a, key);
    const struct wf_json *y = b == NULL ? NULL : wf_json_find(b, key);
    *ret = NULL;
    if (x == NULL && y == NULL) {
        return WF_OK;
    }
    if ((x != NULL && !is_object(x)) || (y != NULL && !is_object(y))) {
        return wf_errorf(err, WF_EINVAL, "%s: an object is expected", key);
    }
    struct wf_json *merged = wf_json_object();
    enum wf_status st = merged == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                                       : overlay(merged, x, err);
    st = st != WF_OK ? st : overlay(merged, y, err);
    if (st != WF_OK) {
        wf_json_free(merged);
        return st;
    }
    *ret = merged;
    return WF_OK;
}

static enum wf_status copy_members(struct wf_json *to,
                                   const struct wf_json *from,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = from == NULL ? NULL : wf_json_first(from);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        if (!is_own(wf_json_key(v))) {
            wf_json_remove(to, wf_json_key(v));
            st = wf_json_set_copy(to, wf_json_key(v), v, err);
        }
    }
    return st;
}

/* Code for a target runs on the pack's architecture only when it is that one with more:
 * sm_90a for sm_90. What is compiled is looked at again when the pack is made. */
static enum wf_status check_target(const struct build_target *o,
                                   const struct build_kernel *k,
                                   struct wf_error *err)
{
    const char *target = NULL;
    enum wf_status st = k->compile == NULL
                            ? WF_OK
                            : wf_json_opt_string(k->compile, "target", &target, err);
    if (st != WF_OK || target == NULL) {
        return st;
    }
    size_t n = strlen(o->arch);
    if (strncmp(target, o->arch, n) != 0 || !wf_name_is_safe(target) ||
        strlen(target) > n + 1) {
        return wf_errorf(err, WF_EINVAL,
                         "compile.target '%.40s' is not %s, or that and one letter",
                         target, o->arch);
    }
    return WF_OK;
}

static enum wf_status check_compile(const struct wf_json *compile, struct wf_error *err)
{
    bool spills;
    const struct wf_json *unused = NULL;
    if (compile == NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_json_only_keys(compile, compile_keys, err);
    if (st == WF_OK && wf_json_find(compile, "flags") != NULL) {
        st = wf_json_get_array(compile, "flags", &unused, err);
    }
    if (st == WF_OK && wf_json_find(compile, "arch_flags") != NULL) {
        st = wf_json_get_object(compile, "arch_flags", &unused, err);
    }
    const char *compiler = NULL;
    st = st != WF_OK ? st : wf_json_opt_bool(compile, "allow_spills", &spills, err);
    st = st != WF_OK ? st : wf_json_opt_string(compile, "compiler", &compiler, err);
    if (st == WF_OK && compiler != NULL && !wf_name_is_safe(compiler)) {
        st = wf_errorf(err, WF_EINVAL,
                       "compiler '%.80s': the name of a program is expected, without "
                       "a path",
                       compiler);
    }
    return st == WF_OK ? st : wf_error_prefix(err, "compile");
}

/* A copy of `launch` that has `args` where it had none of its own. */
static enum wf_status push_launch(struct wf_json *list,
                                  const struct wf_json *launch,
                                  const struct wf_json *args,
                                  struct wf_error *err)
{
    struct wf_json *copy = NULL;
    enum wf_status st = wf_json_copy(launch, &copy, err);
    if (st == WF_OK && is_object(copy) && wf_json_find(copy, "args") == NULL) {
        st = wf_json_set_copy(copy, "args", args, err);
    }
    if (st != WF_OK) {
        wf_json_free(copy);
        return st;
    }
    return wf_json_push_take(list, copy, err);
}

/* "args" of the variant or else of the entry, for the launches without their own. */
static enum wf_status share_args(const struct wf_json *entry,
                                 const struct wf_json *variant,
                                 struct wf_json *kernel,
                                 struct wf_error *err)
{
    const struct wf_json *own = variant == NULL ? NULL : wf_json_find(variant, "args");
    const struct wf_json *args = own != NULL ? own : wf_json_find(entry, "args");
    const struct wf_json *launches = NULL;
    if (args == NULL) {
        return WF_OK;
    }
    if (wf_json_type(args) != WF_JSON_ARRAY) {
        return wf_errorf(err, WF_EINVAL, "args: an array is expected");
    }
    enum wf_status st = wf_json_get_array(kernel, "launches", &launches, err);
    if (st != WF_OK) {
        return st;
    }
    struct wf_json *list = wf_json_array();
    st = list == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    const struct wf_json *v = wf_json_first(launches);
    for (; st == WF_OK && v != NULL; v = wf_json_next(v)) {
        st = push_launch(list, v, args, err);
    }
    if (st != WF_OK) {
        wf_json_free(list);
        return st;
    }
    return wf_json_set_take(kernel, "launches", list, err);
}

/* *ret is filled on success only. */
static enum wf_status merge_kernel(const struct wf_json *entry,
                                   const struct wf_json *variant,
                                   struct build_kernel *ret,
                                   struct wf_error *err)
{
    struct build_kernel k = { .json = wf_json_object() };
    struct wf_json *knobs = NULL;
    enum wf_status st = merge_objects(entry, variant, "knobs", &knobs, err);
    st = st != WF_OK ? st : merge_objects(entry, variant, "compile", &k.compile, err);
    st = st != WF_OK ? st : check_compile(k.compile, err);
    st = st != WF_OK ? st : copy_members(k.json, entry, err);
    st = st != WF_OK ? st : copy_members(k.json, variant, err);
    st = st != WF_OK ? st : share_args(entry, variant, k.json, err);
    if (st == WF_OK && knobs != NULL) {
        wf_json_remove(k.json, "knobs");
        st = wf_json_set_take(k.json, "knobs", knobs, err);
        knobs = NULL;
    }
    wf_json_free(knobs);
    if (st != WF_OK) {
        build_kernel_fini(&k);
        return st;
    }
    *ret = k;
    return WF_OK;
}

static bool has_arch(const struct wf_json *kernel, const char *arch)
{
    const struct wf_json *list = wf_json_find(kernel, "arch");
    const struct wf_json *v = list != NULL && wf_json_type(list) == WF_JSON_ARRAY
                                  ? wf_json_first(list)
                                  : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        const char *s = wf_json_string(v);
        if (s != NULL && strcmp(s, arch) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether this run makes the kernel; errors for a kind that it cannot. */
static enum wf_status wanted(const struct build_target *o,
                             struct wf_json *kernel,
                             bool *ret,
                             struct wf_error *err)
{
    const char *kind = "code-object", *name = NULL;
    const struct wf_json *archs = NULL;
    enum wf_status st = wf_json_get_string(kernel, "name", &name, err);
    st = st != WF_OK ? st : wf_json_opt_string(kernel, "kind", &kind, err);
    st = st != WF_OK ? st : wf_json_get_array(kernel, "arch", &archs, err);
    if (st != WF_OK) {
        return st;
    }
    bool library = strcmp(kind, "library") == 0;
    if (!library && strcmp(kind, "code-object") != 0) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: kind '%.40s' is not code-object or library", name, kind);
    }
    if (library != o->library) {
        return wf_errorf(err, WF_EINVAL, "%s: kind %s in a %s pack", name, kind,
                         o->library ? "library" : "device");
    }
    *ret = library || has_arch(kernel, o->arch);
    return library ? WF_OK
           : wf_json_find(kernel, "kind") != NULL
               ? WF_OK
               : wf_json_set_string(kernel, "kind", kind, err);
}

static enum wf_status append(struct build_kernels *list,
                             const struct build_kernel *k,
                             struct wf_error *err)
{
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 8 : 2 * list->cap;
        struct build_kernel *grown = wf_realloc_array(list->item, cap, sizeof *grown);
        if (grown == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for kernels");
        }
        list->item = grown;
        list->cap = cap;
    }
    list->item[list->count++] = *k;
    return WF_OK;
}

/* The knobs and the name that the request has of its own. */
static enum wf_status apply_request(const struct wf_build_kernel *request,
                                    struct wf_json *kernel,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (request->knobs != NULL) {
        struct wf_json *knobs = NULL;
        struct wf_json *own = wf_json_object();
        st = wf_json_set_copy(own, "knobs", request->knobs, err);
        st = st != WF_OK ? st : merge_objects(kernel, own, "knobs", &knobs, err);
        wf_json_free(own);
        if (st == WF_OK) {
            wf_json_remove(kernel, "knobs");
            st = wf_json_set_take(kernel, "knobs", knobs, err);
        }
    }
    if (st == WF_OK && request->name != NULL) {
        wf_json_remove(kernel, "name");
        st = wf_json_set_string(kernel, "name", request->name, err);
    }
    return st;
}

/* A kernel that the request names has to be for the architecture. */
static enum wf_status add_variant(const struct build_target *o,
                                  const struct wf_build_kernel *request,
                                  const struct wf_json *json,
                                  const struct wf_json *variant,
                                  struct build_kernels *ret,
                                  struct wf_error *err)
{
    struct build_kernel k = { 0 };
    bool want = false, must = request->variant != NULL || request->knobs != NULL;
    if (variant != NULL &&
        (!is_object(variant) || wf_json_find(variant, "name") == NULL)) {
        return wf_errorf(err, WF_EINVAL, "a variant is an object with a name");
    }
    enum wf_status st = merge_kernel(json, variant, &k, err);
    k.entry = request->entry;
    st = st != WF_OK ? st : apply_request(request, k.json, err);
    st = st != WF_OK ? st : wanted(o, k.json, &want, err);
    if (st == WF_OK && must && !want) {
        st = wf_errorf(err, WF_EINVAL, "%s is not for %s",
                       wf_json_string(wf_json_find(k.json, "name")), o->arch);
    }
    st = st == WF_OK && want ? check_target(o, &k, err) : st;
    if (st == WF_OK && want) {
        st = append(ret, &k, err);
        if (st == WF_OK) {
            return st;
        }
    }
    build_kernel_fini(&k);
    return st;
}

static enum wf_status add_all(const struct build_target *o,
                              const struct wf_build_kernel *request,
                              const struct wf_json *json,
                              const struct wf_json *list,
                              struct build_kernels *ret,
                              struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = wf_json_first(list);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        st = add_variant(o, request, json, v, ret, err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "variants[%zu]", i);
        }
    }
    return st;
}

/* The one variant of that name. */
static enum wf_status add_named(const struct build_target *o,
                                const struct wf_build_kernel *request,
                                const struct wf_json *json,
                                const struct wf_json *list,
                                struct build_kernels *ret,
                                struct wf_error *err)
{
    const struct wf_json *v = wf_json_first(list);
    for (; v != NULL; v = wf_json_next(v)) {
        const char *name =
            is_object(v) ? wf_json_string(wf_json_find(v, "name")) : NULL;
        if (name != NULL && strcmp(name, request->variant) == 0) {
            return add_variant(o, request, json, v, ret, err);
        }
    }
    return wf_errorf(err, WF_ENOTFOUND, "there is no variant '%.80s'",
                     request->variant);
}

/* An entry without variants is one kernel, of its own name. */
static enum wf_status add_single(const struct build_target *o,
                                 const struct wf_build_kernel *request,
                                 const struct wf_json *json,
                                 struct build_kernels *ret,
                                 struct wf_error *err)
{
    const char *name = wf_json_string(wf_json_find(json, "name"));
    if (request->variant != NULL &&
        (name == NULL || strcmp(name, request->variant) != 0)) {
        return wf_errorf(err, WF_ENOTFOUND,
                         "there is no variant '%.80s'; the kernel is %s",
                         request->variant, name == NULL ? "without a name" : name);
    }
    return add_variant(o, request, json, NULL, ret, err);
}

static enum wf_status add_kernels(const struct build_target *o,
                                  const struct wf_build_kernel *request,
                                  const struct wf_json *json,
                                  struct build_kernels *ret,
                                  struct wf_error *err)
{
    const struct wf_json *list = NULL;
    const char *schema = NULL;
    enum wf_status st = wf_json_get_string(json, "schema", &schema, err);
    if (st == WF_OK && strcmp(schema, SCHEMA) != 0) {
        st = wf_errorf(err, WF_EINVAL, "schema '%.60s' is not \"" SCHEMA "\"", schema);
    }
    if (st != WF_OK || wf_json_find(json, "variants") == NULL) {
        return st != WF_OK ? st : add_single(o, request, json, ret, err);
    }
    st = wf_json_get_array(json, "variants", &list, err);
    if (st != WF_OK) {
        return st;
    }
    if (request->variant != NULL) {
        return add_named(o, request, json, list, ret, err);
    }
    if (request->knobs != NULL || request->name != NULL) {
        return wf_errorf(err, WF_EINVAL,
                         "it has several variants: say which one gets other knobs");
    }
    return add_all(o, request, json, list, ret, err);
}

enum wf_status build_read_entry(const struct build_target *o,
                                const struct wf_build_kernel *request,
                                struct build_kernels *ret,
                                struct wf_error *err)
{
    struct wf_json *json = NULL;
    char *path = NULL;
    /* Sources are found, and recorded, by their path in the tree. */
    if (request->entry[0] == '/') {
        return wf_errorf(
            err, WF_EINVAL,
            "entry %s: an entry is a path inside the tree %s: give it from "
            "there on",
            request->entry, o->root);
    }
    path = wf_path_join(o->root, request->entry);
    enum wf_status st = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                                     : wf_json_parse_file(path, &json, err);
    if (st == WF_OK && wf_json_type(json) != WF_JSON_OBJECT) {
        st = wf_errorf(err, WF_EINVAL, "%s: an object is expected", request->entry);
    } else if (st == WF_OK) {
        st = add_kernels(o, request, json, ret, err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "%s", request->entry);
        }
    }
    wf_json_free(json);
    free(path);
    return st;
}
