/* cancel: no further task of a run is started. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/farm_results.h"
#include "cli/output.h"

#include <stdio.h>

static int run(const struct wf_args *args)
{
    char path[128];
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    struct wf_json *answer = NULL;
    struct wf_json *body = wf_json_object();
    snprintf(path, sizeof(path), "/v1/runs/%.60s/cancel", wf_args_at(args, 0));
    enum wf_status status = wf_run_id_check(wf_args_at(args, 0), &err);
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = wf_api_post(api, path, body, &answer, &err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = wf_print_json(answer, &err);
    } else if (status == WF_OK) {
        wf_say("run %s is cancelled", wf_args_at(args, 0));
    }
    wf_json_free(answer);
    wf_json_free(body);
    wf_api_close(api);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const struct wf_opt opts[] = { WF_OPTS_SERVER, WF_OPT_JSON };

const struct wf_command wf_command_cancel = {
    .name = "cancel",
    .synopsis = "RUN",
    .summary = "Cancel a farm's run",
    .details =
        "Open tasks become CANCELLED, running ones are stopped; results that are "
        "there stay.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
