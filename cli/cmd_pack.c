/* pack build, verify, show and publish. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/kernel_set.h"
#include "cli/output.h"
#include "cli/pack_names.h"
#include "cli/pack_origin.h"
#include "cli/submission.h"
#include "cli/table.h"
#include "packs/pack.h"

#include <stdint.h>
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

/* {"pack", "name"} */
static enum wf_status print_id_json(const struct wf_pack *pack, struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status status = wf_json_set_string(o, "pack", wf_pack_id(pack), err);
    if (status == WF_OK) {
        status = wf_json_set_string(o, "name", wf_pack_name(pack), err);
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
        status = print_id_json(pack, &err);
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
        status = print_id_json(pack, &err);
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

/* With --commit what git says now, else what the folder's own record says; before
 * anything is sent. */
static enum wf_status origin(const struct wf_args *args,
                             const struct wf_pack *pack,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    const char *repository = wf_args_string(args, "repository");
    bool commit = wf_args_flag(args, "commit");
    if (repository != NULL && !commit) {
        return wf_errorf(err, WF_EINVAL,
                         "--repository is about the commit: give --commit too");
    }
    enum wf_status status =
        repository != NULL ? wf_repository_check(repository, err) : WF_OK;
    return status == WF_OK && commit ? wf_pack_origin(pack, repository, ret, err)
                                     : status;
}

static void warn_dirty(const struct wf_json *entry)
{
    bool dirty = false;
    const struct wf_json *record = wf_json_find(entry, "provenance");
    if (record != NULL && wf_json_as_bool(wf_json_find(record, "dirty"), &dirty) &&
        dirty) {
        fprintf(stderr, "wavefarm: tracked files differ from the commit: the record "
                        "says dirty\n");
    }
}

/* Uploads the archive, then publishes the pack under it. Takes `record` (NULL: the
 * folder's). */
static enum wf_status publish(struct wf_api *api,
                              const struct wf_pack *pack,
                              struct wf_json *record,
                              struct wf_json **ret_entry,
                              struct wf_json **ret_answer,
                              struct wf_error *err)
{
    struct wf_json *entry = NULL;
    enum wf_status status = wf_submit_pack(api, pack, &entry, err);
    if (status != WF_OK) {
        wf_json_free(record);
        return status;
    }
    if (record != NULL) {
        status = wf_json_set_take(entry, "provenance", record, err);
    }
    if (status == WF_OK) {
        warn_dirty(entry);
        status = wf_api_post(api, "/v1/packs", entry, ret_answer, err);
    }
    *ret_entry = entry;
    return status;
}

static enum wf_status print_published_json(const struct wf_pack *pack,
                                           const struct wf_json *entry,
                                           int64_t records,
                                           struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "pack", wf_pack_id(pack), err);
    s = s == WF_OK ? wf_json_set_string(o, "name", wf_pack_name(pack), err) : s;
    s = s == WF_OK ? wf_json_set_copy(o, "archive", wf_json_find(entry, "archive"), err)
                   : s;
    s = s == WF_OK ? wf_json_set_i64(o, "records", records, err) : s;
    s = s == WF_OK
            ? wf_json_set_copy(o, "provenance", wf_json_find(entry, "provenance"), err)
            : s;
    s = s == WF_OK ? wf_print_json(o, err) : s;
    wf_json_free(o);
    return s;
}

static void say_published(const struct wf_pack *pack, const struct wf_json *entry)
{
    const char *archive = wf_json_string(wf_json_find(entry, "archive"));
    const struct wf_json *record = wf_json_find(entry, "provenance");
    const char *commit = wf_json_string(wf_json_find(record, "commit"));
    const char *repository = wf_json_string(wf_json_find(record, "repository"));
    wf_say("pack %s", wf_pack_id(pack));
    wf_say("archive %s", archive != NULL ? archive : "");
    if (commit != NULL) {
        wf_say("commit %s%s%s", commit, repository != NULL ? " of " : "",
               repository != NULL ? repository : "");
    }
}

/* {"pack", "name", "archive", "records", "provenance"}, or the same for people. */
static enum wf_status print_published(const struct wf_args *args,
                                      const struct wf_pack *pack,
                                      const struct wf_json *entry,
                                      const struct wf_json *answer,
                                      struct wf_error *err)
{
    int64_t records = 0;
    enum wf_status status =
        wf_json_get_i64(answer, "provenance", 0, INT64_MAX, &records, err);
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = print_published_json(pack, entry, records, err);
    } else if (status == WF_OK) {
        say_published(pack, entry);
    }
    return status;
}

static int run_publish(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    struct wf_api *api = NULL;
    struct wf_json *record = NULL, *entry = NULL, *answer = NULL;
    enum wf_status status = open_verified(args, &pack, &err);
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = origin(args, pack, &record, &err);
    }
    if (status == WF_OK) {
        status = publish(api, pack, record, &entry, &answer, &err);
    }
    if (status == WF_OK) {
        status = print_published(args, pack, entry, answer, &err);
    }
    wf_json_free(answer);
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

static const struct wf_opt publish_opts[] = {
    { "commit", WF_OPT_FLAG, NULL, NULL, NULL,
      "ask git for the folder's commit and record it" },
    { "repository", WF_OPT_STRING, "URL", NULL, NULL,
      "of the record (default: git's remote \"origin\")" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_pack_publish = {
    .name = "pack publish",
    .synopsis = "FOLDER",
    .summary = "Upload a pack to a farm, with the record of where it comes from",
    .details =
        "The record is FOLDER/provenance.json where there is one. --commit makes one "
        "from git's commit\nof the folder (compilers and flags stay those of "
        "provenance.json); changes that are not\ncommitted are told as dirty. Runs "
        "whose pack has no record of its own take the last one.",
    .opt = publish_opts,
    .opt_count = sizeof(publish_opts) / sizeof(publish_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run_publish,
};
