/* status: the farm's runs, or one of them. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/farm_results.h"
#include "cli/output.h"
#include "cli/result_view.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(wf_json_find(obj, key));
    return s != NULL ? s : "";
}

static void add_run(struct wf_table *t, const struct wf_json *run)
{
    char done[48], answers[256] = "";
    int64_t n = 0, total = 0;
    (void)wf_json_opt_i64(run, "done", 0, INT64_MAX, &n, NULL);
    (void)wf_json_opt_i64(run, "tasks", 0, INT64_MAX, &total, NULL);
    snprintf(done, sizeof(done), "%" PRId64 "/%" PRId64, n, total);
    const struct wf_json *a = wf_json_first(wf_json_find(run, "answers"));
    for (; a != NULL; a = wf_json_next(a)) {
        size_t used = strlen(answers);
        if (wf_json_as_i64(a, &n) && n > 0) {
            snprintf(answers + used, sizeof(answers) - used, "%s%" PRId64 " %s",
                     used > 0 ? ", " : "", n, wf_json_key(a));
        }
    }
    const char *cell[] = {
        text(run, "run"), text(run, "state"),   text(run, "suite"), done,
        answers,          text(run, "created"), text(run, "name")
    };
    wf_table_row(t, cell);
}

static int list_runs(struct wf_api *api, bool json, struct wf_error *err)
{
    static const char *const header[] = { ">run",    "state",   "suite", ">done",
                                          "answers", "created", "name" };
    struct wf_json *answer = NULL;
    enum wf_status status = wf_api_get(api, "/v1/runs?limit=50", 0, &answer, err);
    if (status == WF_OK && json) {
        status = wf_print_json(answer, err);
    } else if (status == WF_OK) {
        struct wf_table *t =
            wf_table_create(header, sizeof(header) / sizeof(header[0]));
        const struct wf_json *r = wf_json_first(wf_json_find(answer, "runs"));
        for (; t != NULL && r != NULL; r = wf_json_next(r)) {
            add_run(t, r);
        }
        if (t != NULL) {
            (void)wf_table_print(t);
        }
        wf_table_free(t);
    }
    wf_json_free(answer);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(err);
}

static enum wf_status print_run(struct wf_api *api,
                                const char *run,
                                bool json,
                                struct wf_error *err)
{
    char path[96];
    struct wf_json *info = NULL;
    snprintf(path, sizeof(path), "/v1/runs/%.60s", run);
    enum wf_status status = wf_api_get(api, path, 0, &info, err);
    if (status == WF_OK && json) {
        status = wf_print_json(info, err);
    } else if (status == WF_OK) {
        wf_say("run %s (%s): %s", text(info, "run"), text(info, "name"),
               text(info, "state"));
    }
    wf_json_free(info);
    return status;
}

static int one_run(struct wf_api *api, const struct wf_args *args, struct wf_error *err)
{
    const char *run = wf_args_at(args, 0);
    bool json = wf_args_flag(args, "json");
    struct wf_results r = { 0 };
    struct wf_result_counts counts = { 0 };
    enum wf_status status = wf_run_id_check(run, err);
    if (status == WF_OK && wf_args_flag(args, "wait")) {
        status = wf_farm_run_wait(api, run, err);
    }
    if (status == WF_OK) {
        status = wf_farm_results_fetch(api, run, false, &r, err);
    }
    if (status == WF_OK) {
        status = print_run(api, run, json, err);
    }
    if (status != WF_OK) {
        wf_results_free(&r);
        return wf_exit_error(err);
    }
    for (size_t i = 0; i < r.count; i++) {
        wf_count_result(&counts, r.result[i]);
    }
    if (!json) {
        wf_print_counts(&counts, r.expected);
    }
    int code = wf_counts_exit(&counts, r.expected);
    wf_results_free(&r);
    return code;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    if (wf_api_open(args, &api, &err) != WF_OK) {
        return wf_exit_error(&err);
    }
    int code = wf_args_count(args) == 0
                   ? list_runs(api, wf_args_flag(args, "json"), &err)
                   : one_run(api, args, &err);
    wf_api_close(api);
    return code;
}

static const struct wf_opt opts[] = {
    { "wait", WF_OPT_FLAG, NULL, NULL, NULL, "wait for the run's end" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_status = {
    .name = "status",
    .synopsis = "[RUN]",
    .summary = "Show a farm's runs, or one run's state",
    .details =
        "With RUN the exit status is the run's: 0 all PASS, 1 a wrong answer, 4 not "
        "finished.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .max_args = 1,
    .run = run,
};
