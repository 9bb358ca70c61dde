/* submit: a suite to a farm. Uploads packs and datasets by hash, makes the run. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/farm_results.h"
#include "cli/output.h"
#include "cli/result_view.h"
#include "cli/submission.h"

#include <stdio.h>
#include <string.h>

static enum wf_status save(const struct wf_args *args,
                           const struct wf_results *r,
                           struct wf_error *err)
{
    struct wf_results_writer *w = NULL;
    const char *out = wf_args_string(args, "out");
    if (out == NULL) {
        return WF_OK;
    }
    const char *suite =
        r->count > 0 ? wf_json_string(wf_json_find(r->result[0], "suite")) : "";
    enum wf_status status =
        wf_results_create(out, suite != NULL ? suite : "", r->expected, &w, err);
    for (size_t i = 0; i < r->count && status == WF_OK; i++) {
        status = wf_results_append(w, r->result[i], err);
    }
    struct wf_error late;
    enum wf_status closed = wf_results_close(w, &late);
    if (status == WF_OK && closed != WF_OK && err != NULL) {
        *err = late;
    }
    return status != WF_OK ? status : closed;
}

/* The run's results, as `wavefarm run` would have shown them. */
static int wait_and_show(struct wf_api *api,
                         const struct wf_args *args,
                         const char *run,
                         struct wf_error *err)
{
    struct wf_results r = { 0 };
    struct wf_result_counts counts = { 0 };
    enum wf_status status = wf_farm_run_wait(api, run, err);
    if (status == WF_OK) {
        status = wf_farm_results_fetch(api, run, wf_args_string(args, "out") != NULL,
                                       &r, err);
    }
    enum wf_status fetched = status;
    if (status == WF_OK) {
        status = save(args, &r, err);
    }
    for (size_t i = 0; i < r.count; i++) {
        wf_count_result(&counts, r.result[i]);
    }
    if (fetched == WF_OK && !wf_args_flag(args, "json")) { /* also when not saved */
        wf_print_results((const struct wf_json *const *)r.result, r.count,
                         WF_RESULTS_RAN);
        wf_print_counts(&counts, r.expected);
    }
    int code =
        status == WF_OK ? wf_counts_exit(&counts, r.expected) : wf_exit_error(err);
    wf_results_free(&r);
    return code;
}

/* Before the run is made: its results would come when nobody looks any more. */
static enum wf_status check_out(const struct wf_args *args, struct wf_error *err)
{
    const char *out = wf_args_string(args, "out");
    if (out == NULL) {
        return WF_OK;
    }
    if (!wf_args_flag(args, "wait")) {
        return wf_errorf(err, WF_EINVAL,
                         "--out needs --wait: without it there are no results yet");
    }
    return wf_results_probe(out, err);
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    struct wf_json *answer = NULL;
    const char *id = NULL;
    int code = WF_EXIT_GOOD;
    enum wf_status status = check_out(args, &err);
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = wf_submit(api, args, &answer, &err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(answer, "run", &id, &err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = wf_print_json(answer, &err);
    } else if (status == WF_OK) {
        wf_say("run %s", id);
        fflush(stdout);
    }
    if (status == WF_OK && wf_args_flag(args, "wait")) {
        code = wait_and_show(api, args, id, &err);
    }
    wf_json_free(answer);
    wf_api_close(api);
    return status == WF_OK ? code : wf_exit_error(&err);
}

static const struct wf_opt opts[] = {
    { "wait", WF_OPT_FLAG, NULL, NULL, NULL, "show progress, then the results" },
    { "out", WF_OPT_FILE, "FILE", NULL, NULL,
      "with --wait: write results as JSON Lines" },
    { "name", WF_OPT_STRING, "TEXT", NULL, NULL, "what the run is called" },
    { "priority", WF_OPT_STRING, "CLASS", "normal", NULL,
      "pr, normal, nightly or release" },
    WF_OPTS_TASKS,
    { "runtime", WF_OPT_STRING, "NAME", NULL, NULL, "only devices of this runtime" },
    { "arch", WF_OPT_STRING, "ARCH", NULL, NULL, "only devices of this arch" },
    { "model", WF_OPT_STRING, "MODEL", NULL, NULL, "only devices of this model" },
    { "label", WF_OPT_LIST, "LABEL", NULL, NULL, "only runners with this label" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_submit = {
    .name = "submit",
    .synopsis = "SUITE",
    .summary = "Run a suite on a farm",
    .details =
        "A task is made for each case x kernel of the same op x repetition. Packs "
        "and datasets\nare uploaded by their hash, once.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
