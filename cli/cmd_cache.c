/* cache show, clear, verify: the kernel cache of this user. docs/kernel-cache.md. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "packs/kernel_cache.h"

#include <inttypes.h>

static const struct wf_opt opts[] = {
    { "folder", WF_OPT_FILE, "FOLDER", NULL, "WAVEFARM_KERNEL_CACHE",
      "the cache (default: wavefarm/kernels in $XDG_CACHE_HOME or ~/.cache)" },
    WF_OPT_JSON,
};

/* *ret NULL with WF_OK never: "none" is an error here. */
static enum wf_status open_cache(const struct wf_args *args,
                                 struct wf_kernel_cache **ret,
                                 struct wf_error *err)
{
    enum wf_status st =
        wf_kernel_cache_open(wf_args_string(args, "folder"), 0, ret, err);
    if (st == WF_OK && *ret == NULL) {
        st = wf_errorf(
            err, WF_EINVAL,
            "there is no kernel cache: WAVEFARM_KERNEL_CACHE, or --folder, is "
            "'none'");
    }
    return st;
}

/* --- show --- */

static enum wf_status show_json(const struct wf_kernel_cache *cache,
                                const struct wf_kernel_cache_stats *s,
                                struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st =
        wf_json_set_string(o, "folder", wf_kernel_cache_folder(cache), err);
    st = st != WF_OK ? st : wf_json_set_i64(o, "objects", s->objects, err);
    st = st != WF_OK ? st : wf_json_set_i64(o, "bytes", s->bytes, err);
    st = st != WF_OK ? st : wf_json_set_i64(o, "limit_bytes", s->limit_bytes, err);
    st = st != WF_OK ? st : wf_print_json(o, err);
    wf_json_free(o);
    return st;
}

static enum wf_status show(const struct wf_args *args,
                           struct wf_kernel_cache *cache,
                           struct wf_error *err)
{
    struct wf_kernel_cache_stats s;
    enum wf_status st = wf_kernel_cache_stats(cache, &s, err);
    if (st != WF_OK || wf_args_flag(args, "json")) {
        return st != WF_OK ? st : show_json(cache, &s, err);
    }
    wf_say("%s: %" PRId64 " objects, %.1f of %.0f MiB", wf_kernel_cache_folder(cache),
           s.objects, (double)s.bytes / 1048576, (double)s.limit_bytes / 1048576);
    return WF_OK;
}

/* --- the others --- */

static enum wf_status clear(const struct wf_args *args,
                            struct wf_kernel_cache *cache,
                            struct wf_error *err)
{
    int64_t removed = 0;
    enum wf_status st = wf_kernel_cache_clear(cache, &removed, err);
    if (st == WF_OK && wf_args_flag(args, "json")) {
        struct wf_json *o = wf_json_object();
        st = wf_json_set_i64(o, "removed", removed, err);
        st = st != WF_OK ? st : wf_print_json(o, err);
        wf_json_free(o);
    } else if (st == WF_OK) {
        wf_say("%" PRId64 " objects removed", removed);
    }
    return st;
}

static enum wf_status verify(const struct wf_args *args,
                             struct wf_kernel_cache *cache,
                             struct wf_error *err)
{
    int64_t good = 0, damaged = 0;
    enum wf_status st = wf_kernel_cache_verify(cache, &good, &damaged, err);
    if (st == WF_OK && wf_args_flag(args, "json")) {
        struct wf_json *o = wf_json_object();
        st = wf_json_set_i64(o, "good", good, err);
        st = st != WF_OK ? st : wf_json_set_i64(o, "damaged", damaged, err);
        st = st != WF_OK ? st : wf_print_json(o, err);
        wf_json_free(o);
    } else if (st == WF_OK) {
        wf_say("%" PRId64 " objects are good, %" PRId64 " damaged and removed", good,
               damaged);
    }
    return st;
}

/* --- commands --- */

typedef enum wf_status action_fn(const struct wf_args *args,
                                 struct wf_kernel_cache *cache,
                                 struct wf_error *err);

static int run(const struct wf_args *args, action_fn *action)
{
    struct wf_error err = { .text = "" };
    struct wf_kernel_cache *cache = NULL;
    enum wf_status st = open_cache(args, &cache, &err);
    st = st != WF_OK ? st : action(args, cache, &err);
    wf_kernel_cache_close(cache);
    return st == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static int run_show(const struct wf_args *args)
{
    return run(args, show);
}

static int run_clear(const struct wf_args *args)
{
    return run(args, clear);
}

static int run_verify(const struct wf_args *args)
{
    return run(args, verify);
}

#define OPTIONS .opt = opts, .opt_count = sizeof opts / sizeof opts[0]

const struct wf_command wf_command_cache_show = {
    .name = "cache show",
    .synopsis = "",
    .summary = "Show how much the kernel cache holds",
    .details = "Compiled kernels are kept by the content of what made them, and shared "
               "by all\nbuild folders and by wavefarm tune.",
    OPTIONS,
    .run = run_show,
};

const struct wf_command wf_command_cache_clear = {
    .name = "cache clear",
    .synopsis = "",
    .summary = "Throw away all objects of the kernel cache",
    .details = "They are compiled again when they are wanted.",
    OPTIONS,
    .run = run_clear,
};

const struct wf_command wf_command_cache_verify = {
    .name = "cache verify",
    .synopsis = "",
    .summary = "Read every object of the kernel cache and remove damaged ones",
    .details = "Each use checks its object too; this is for a disk that is in doubt.",
    OPTIONS,
    .run = run_verify,
};
