/* pack build, verify, show and publish. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/kernel_set.h"
#include "cli/output.h"
#include "cli/pack_names.h"
#include "cli/submission.h"
#include "cli/table.h"
#include "packs/pack.h"

#include <stdio.h>
#include <stdlib.h>

static enum wf_status verify(const struct wf_pack *pack, struct wf_error *err)
{
    char *path = NULL;
    struct wf_json *record = NULL;
    enum wf_status status = wf_pack_check_names(pack, err);
    if (status == WF_OK) {
        status = wf_pack_verify(pack, err);
    }
    if (status == WF_OK) {
        status = wf_pack_provenance_path(pack, &path, err);
    }
    if (status == WF_OK && path != NULL) {
        status = wf_provenance_read(path, wf_pack_id(pack), &record, err);
    }
    wf_json_free(record);
    free(path);
    return status;
}

static enum wf_status open_verified(const struct wf_args *args,
                                    struct wf_pack **ret,
                                    struct wf_error *err)
{
    enum wf_status status = wf_pack_open(wf_args_at(args, 0), ret, err);
    return status == WF_OK ? verify(*ret, err) : status;
}

/* {"pack", "name"} and, where it was uploaded, {"archive"}. */
static enum wf_status print_id_json(const struct wf_pack *pack,
                                    const char *archive,
                                    struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status status = wf_json_set_string(o, "pack", wf_pack_id(pack), err);
    if (status == WF_OK) {
        status = wf_json_set_string(o, "name", wf_pack_name(pack), err);
    }
    if (status == WF_OK && archive != NULL) {
        status = wf_json_set_string(o, "archive", archive, err);
    }
    if (status == WF_OK) {
        status = wf_print_json(o, err);
    }
    wf_json_free(o);
    return status;
}

static int run_build(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    enum wf_status status = wf_pack_build(wf_args_at(args, 0), &pack, &err);
    if (status == WF_OK) {
        status = verify(pack, &err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = print_id_json(pack, NULL, &err);
    } else if (status == WF_OK) {
        printf("%s  %s\n", wf_pack_id(pack), wf_pack_name(pack));
    }
    wf_pack_free(pack);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static int run_verify(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    enum wf_status status = open_verified(args, &pack, &err);
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = print_id_json(pack, NULL, &err);
    } else if (status == WF_OK) {
        printf("%s: good, id %s\n", wf_pack_name(pack), wf_pack_id(pack));
    }
    wf_pack_free(pack);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const char *kind_name(enum wf_kernel_kind kind)
{
    switch (kind) {
    case WF_KERNEL_CODE_OBJECT:
        return "code-object";
    case WF_KERNEL_LIBRARY:
        return "library";
    case WF_KERNEL_PROCESS:
        return "process";
    }
    return "?";
}

static void print_kernels(const struct wf_pack *pack)
{
    static const char *const header[] = { "kernel", "op", "kind", "arch", "supports" };
    struct wf_table *t = wf_table_create(header, sizeof(header) / sizeof(header[0]));
    for (size_t i = 0; t != NULL && i < wf_pack_kernel_count(pack); i++) {
        const struct wf_pack_kernel *k = wf_pack_kernel_at(pack, i);
        const char *cell[] = { k->name, k->op, kind_name(k->kind), k->arch[0],
                               k->supports != NULL ? wf_expr_text(k->supports) : "" };
        wf_table_row(t, cell);
    }
    if (t != NULL) {
        (void)wf_table_print(t);
    }
    wf_table_free(t);
}

static int run_show(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    struct wf_json *description = NULL;
    enum wf_status status = wf_pack_open(wf_args_at(args, 0), &pack, &err);
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = wf_pack_describe(pack, &description, &err);
        if (status == WF_OK) {
            status = wf_print_json(description, &err);
        }
    } else if (status == WF_OK) {
        printf("pack %s\nid   %s\n\n", wf_pack_name(pack), wf_pack_id(pack));
        print_kernels(pack);
    }
    wf_json_free(description);
    wf_pack_free(pack);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

/* Uploads the archive and says under which hashes the farm now has the pack. */
static int run_publish(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    struct wf_api *api = NULL;
    struct wf_json *entry = NULL;
    const char *archive = "";
    enum wf_status status = open_verified(args, &pack, &err);
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = wf_submit_pack(api, pack, &entry, &err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(entry, "archive", &archive, &err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = print_id_json(pack, archive, &err);
    } else if (status == WF_OK) {
        printf("pack %s\narchive %s\n", wf_pack_id(pack), archive);
    }
    wf_json_free(entry);
    wf_api_close(api);
    wf_pack_free(pack);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const struct wf_opt json_opts[] = { WF_OPT_JSON };
#define JSON_ONLY \
    .opt = json_opts, .opt_count = sizeof(json_opts) / sizeof(json_opts[0])

const struct wf_command wf_command_pack_build = {
    .name = "pack build",
    .synopsis = "FOLDER",
    .summary = "Fill in the file hashes of a pack and check it",
    .details =
        "Reads FOLDER/pack.json.in (or pack.json), writes FOLDER/pack.json, prints "
        "the pack's id.\ndocs/pack.md describes the format.",
    JSON_ONLY,
    .min_args = 1,
    .max_args = 1,
    .run = run_build,
};

const struct wf_command wf_command_pack_verify = {
    .name = "pack verify",
    .synopsis = "FOLDER",
    .summary = "Check a pack: format, hashes, symbols, target",
    JSON_ONLY,
    .min_args = 1,
    .max_args = 1,
    .run = run_verify,
};

const struct wf_command wf_command_pack_show = {
    .name = "pack show",
    .synopsis = "FOLDER",
    .summary = "Show a pack's kernels",
    JSON_ONLY,
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};

static const struct wf_opt publish_opts[] = { WF_OPTS_SERVER, WF_OPT_JSON };

const struct wf_command wf_command_pack_publish = {
    .name = "pack publish",
    .synopsis = "FOLDER",
    .summary = "Upload a pack to a farm",
    .opt = publish_opts,
    .opt_count = sizeof(publish_opts) / sizeof(publish_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run_publish,
};
