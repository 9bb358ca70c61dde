/* dataset make page-table, dataset show. Options of the first are the members of the
 * recipe (docs/datasets.md), with '-' for '_'. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/sha256.h"
#include "datasets/dataset.h"
#include "datasets/page_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wf_opt make_opts[] = {
    { "out", WF_OPT_FILE, "FILE", NULL, NULL,
      "safetensors file to write (also goes into the cache)" },
    { "trace", WF_OPT_FILE, "FILE", NULL, NULL,
      "replay an Azure CSV or Mooncake JSONL" },
    { "trace-sha256", WF_OPT_STRING, "SHA256", NULL, NULL, "what the trace must be" },
    { "synthetic", WF_OPT_FLAG, NULL, NULL, NULL, "draw requests instead" },
    { "batch", WF_OPT_INT, "N", NULL, NULL, "most sequences at once" },
    { "page-size", WF_OPT_INT, "TOKENS", NULL, NULL, "tokens a page" },
    { "num-pages", WF_OPT_INT, "N", NULL, NULL, "pages of the pool" },
    { "seed", WF_OPT_INT, "N", NULL, NULL, "of every random choice" },
    { "step", WF_OPT_INT, "N", NULL, NULL, "step to take (default: the fullest)" },
    { "mode", WF_OPT_STRING, "MODE", NULL, NULL, "decode, extend or prefill" },
    { "free-order", WF_OPT_STRING, "ORDER", NULL, NULL, "lifo or random" },
    { "requests", WF_OPT_INT, "N", NULL, NULL, "requests to replay" },
    { "mean-prompt", WF_OPT_REAL, "TOKENS", NULL, NULL, "synthetic prompt length" },
    { "mean-output", WF_OPT_REAL, "TOKENS", NULL, NULL, "synthetic output length" },
    { "spread", WF_OPT_REAL, "SIGMA", NULL, NULL, "of the lengths' logarithm" },
    { "rate-per-s", WF_OPT_REAL, "N", NULL, NULL, "synthetic arrivals a second" },
    { "prefix-share", WF_OPT_REAL, "PART", NULL, NULL,
      "requests with a common prefix" },
    { "prefix-tokens", WF_OPT_INT, "TOKENS", NULL, NULL, "length of a common prefix" },
    { "prefix-groups", WF_OPT_INT, "N", NULL, NULL, "different common prefixes" },
    { "step-ms", WF_OPT_REAL, "MS", NULL, NULL, "time of one step" },
    { "time-scale", WF_OPT_REAL, "FACTOR", NULL, NULL,
      "the trace's time passes faster" },
    WF_OPT_JSON,
};

static enum wf_status set_member(const struct wf_args *args,
                                 const struct wf_opt *o,
                                 struct wf_json *recipe,
                                 struct wf_error *err)
{
    char key[32];
    const char *value = wf_args_string(args, o->name);
    snprintf(key, sizeof(key), "%s", o->name);
    for (char *p = key; *p != '\0'; p++) {
        *p = *p == '-' ? '_' : *p;
    }
    if (o->kind == WF_OPT_FLAG) {
        return wf_args_flag(args, o->name) ? wf_json_set_bool(recipe, key, true, err)
                                           : WF_OK;
    }
    if (value == NULL) {
        return WF_OK;
    }
    if (o->kind == WF_OPT_INT) {
        return wf_json_set_i64(recipe, key, wf_args_int(args, o->name), err);
    }
    return o->kind == WF_OPT_REAL
               ? wf_json_set_f64(recipe, key, wf_args_real(args, o->name), err)
               : wf_json_set_string(recipe, key, value, err);
}

static enum wf_status make_recipe(const struct wf_args *args,
                                  struct wf_json *recipe,
                                  struct wf_error *err)
{
    enum wf_status status = wf_json_set_string(recipe, "kind", "page-table", err);
    for (size_t i = 0; i < sizeof(make_opts) / sizeof(make_opts[0]); i++) {
        const struct wf_opt *o = &make_opts[i];
        bool member = strcmp(o->name, "out") != 0 && strcmp(o->name, "json") != 0;
        if (member && status == WF_OK) {
            status = set_member(args, o, recipe, err);
        }
    }
    return status;
}

/* Into the cache under its hash, and to --out. */
static enum wf_status store(const struct wf_args *args,
                            const struct wf_buf *image,
                            char sha256[WF_SHA256_HEX],
                            struct wf_error *err)
{
    char *folder = NULL;
    struct wf_dataset_store *s = NULL;
    const char *out = wf_args_string(args, "out");
    enum wf_status status = wf_datasets_folder(&folder, err);
    if (status == WF_OK) {
        status = wf_dataset_store_open(folder, &s, err);
    }
    if (status == WF_OK) {
        status = wf_dataset_store_add(s, image->data, image->len, sha256, err);
    }
    if (status == WF_OK && out != NULL) {
        status = wf_file_write_atomic(out, image->data, image->len, err);
    }
    wf_dataset_store_close(s);
    free(folder);
    return status;
}

#define STATS(X)          \
    X(step)               \
    X(batch)              \
    X(page_size)          \
    X(num_pages)          \
    X(kv_tokens)          \
    X(min_kv)             \
    X(max_kv)             \
    X(indices)            \
    X(distinct_pages)     \
    X(shared_pages)       \
    X(partial_last_pages) \
    X(ascending_pairs)    \
    X(free_pages)         \
    X(requests)           \
    X(admitted)           \
    X(finished)           \
    X(preempted)          \
    X(refused)

static enum wf_status print_stats(const struct wf_page_table_stats *s,
                                  const char *sha256,
                                  bool json,
                                  struct wf_error *err)
{
    if (!json) {
        printf("sha256 %s\n", sha256);
#define X(member) printf("%-18s %" PRId64 "\n", #member, s->member);
        STATS(X)
#undef X
        return WF_OK;
    }
    struct wf_json *o = wf_json_object();
    enum wf_status status = wf_json_set_string(o, "sha256", sha256, err);
#define X(member)                                             \
    if (status == WF_OK) {                                    \
        status = wf_json_set_i64(o, #member, s->member, err); \
    }
    STATS(X)
#undef X
    if (status == WF_OK) {
        status = wf_print_json(o, err);
    }
    wf_json_free(o);
    return status;
}

static int run_make(const struct wf_args *args)
{
    char sha256[WF_SHA256_HEX];
    struct wf_error err = { 0 };
    struct wf_buf image = WF_BUF_INIT;
    struct wf_page_table_spec spec;
    struct wf_page_table_stats stats;
    struct wf_json *recipe = wf_json_object();
    enum wf_status status = make_recipe(args, recipe, &err);
    if (status == WF_OK) {
        status = wf_page_table_spec_parse(recipe, NULL, &spec, &err);
    }
    if (status == WF_OK) {
        spec.cancel = &wf_interrupted;
        status = wf_page_table_make(&spec, &image, &stats, &err);
    }
    if (status == WF_OK) {
        status = store(args, &image, sha256, &err);
    }
    if (status == WF_OK) {
        status = print_stats(&stats, sha256, wf_args_flag(args, "json"), &err);
    }
    wf_buf_free(&image);
    wf_json_free(recipe);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

const struct wf_command wf_command_dataset_make_page_table = {
    .name = "dataset make page-table",
    .synopsis = "",
    .summary = "Make the page table of a paged KV cache",
    .details =
        "Replays requests through a continuous-batching page allocator and takes "
        "one step's\ntable: permuted page ids, partly filled last pages, shared "
        "prefixes. Equal options\ngive equal bytes. docs/datasets.md explains each "
        "option and its default.",
    .opt = make_opts,
    .opt_count = sizeof(make_opts) / sizeof(make_opts[0]),
    .run = run_make,
};

static void print_tensor(const struct wf_dataset_tensor *t)
{
    struct wf_buf shape = WF_BUF_INIT;
    for (int d = 0; d < t->ndim; d++) {
        (void)wf_buf_printf(&shape, NULL, "%s%" PRId64, d > 0 ? ", " : "", t->dim[d]);
    }
    wf_say("%-20s %-8s [%s]  %" PRIu64 " bytes", t->name, wf_dtype_name(t->dtype),
           wf_buf_cstr(&shape), t->bytes);
    wf_buf_free(&shape);
}

static enum wf_status tensor_json(const struct wf_dataset_tensor *t,
                                  struct wf_json *list,
                                  struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    struct wf_json *shape = wf_json_array();
    enum wf_status status = wf_json_set_string(o, "name", t->name, err);
    if (status == WF_OK) {
        status = wf_json_set_string(o, "dtype", wf_dtype_name(t->dtype), err);
    }
    for (int d = 0; d < t->ndim && status == WF_OK; d++) {
        status = wf_json_push_i64(shape, t->dim[d], err);
    }
    enum wf_status shaped = wf_json_set_take(o, "shape", shape, err);
    if (status == WF_OK) {
        status = shaped;
    }
    if (status == WF_OK) {
        status = wf_json_set_u64(o, "bytes", t->bytes, err);
    }
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return status == WF_OK ? pushed : status;
}

static enum wf_status set_recipe(const struct wf_dataset *ds,
                                 struct wf_json *o,
                                 struct wf_error *err)
{
    struct wf_json *recipe = NULL;
    const char *text = wf_dataset_metadata(ds, "recipe");
    if (text == NULL) {
        return wf_json_set_null(o, "recipe", err);
    }
    enum wf_status status = wf_json_parse(text, strlen(text), "recipe", &recipe, err);
    return status == WF_OK ? wf_json_set_take(o, "recipe", recipe, err) : status;
}

static enum wf_status print_dataset_json(const struct wf_dataset *ds,
                                         struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    struct wf_json *list = wf_json_array();
    enum wf_status status = wf_json_set_string(o, "sha256", wf_dataset_sha256(ds), err);
    for (size_t i = 0; i < wf_dataset_count(ds) && status == WF_OK; i++) {
        status = tensor_json(wf_dataset_at(ds, i), list, err);
    }
    enum wf_status taken = wf_json_set_take(o, "tensors", list, err);
    if (status == WF_OK) {
        status = taken;
    }
    if (status == WF_OK) {
        status = set_recipe(ds, o, err);
    }
    if (status == WF_OK) {
        status = wf_print_json(o, err);
    }
    wf_json_free(o);
    return status;
}

static int run_show(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_dataset *ds = NULL;
    if (wf_dataset_read_file(wf_args_at(args, 0), &ds, &err) != WF_OK) {
        return wf_exit_error(&err);
    }
    if (wf_args_flag(args, "json")) {
        enum wf_status status = print_dataset_json(ds, &err);
        wf_dataset_free(ds);
        return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
    }
    printf("sha256 %s\n", wf_dataset_sha256(ds));
    for (size_t i = 0; i < wf_dataset_count(ds); i++) {
        print_tensor(wf_dataset_at(ds, i));
    }
    const char *recipe = wf_dataset_metadata(ds, "recipe");
    if (recipe != NULL) {
        wf_say("recipe %s", recipe);
    }
    wf_dataset_free(ds);
    return WF_EXIT_GOOD;
}

static const struct wf_opt show_opts[] = { WF_OPT_JSON };

const struct wf_command wf_command_dataset_show = {
    .name = "dataset show",
    .synopsis = "FILE.safetensors",
    .summary = "Show a dataset's tensors and provenance",
    .opt = show_opts,
    .opt_count = sizeof(show_opts) / sizeof(show_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};
