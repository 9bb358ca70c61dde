/* show: a results file, or a run of a farm. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/counters_view.h"
#include "cli/exit_code.h"
#include "cli/farm_results.h"
#include "cli/result_view.h"
#include "cli/results_file.h"
#include "cli/timing_view.h"

/* Samples of a farm's run come only where they are looked at: they are most of it. */
static enum wf_status read_results(const struct wf_args *args,
                                   struct wf_results *ret,
                                   struct wf_error *err)
{
    const char *what = wf_args_at(args, 0);
    struct wf_api *api = NULL;
    if (!wf_is_run_id(what)) {
        return wf_results_read(what, ret, err);
    }
    enum wf_status status = wf_api_open(args, &api, err);
    if (status == WF_OK) {
        status =
            wf_farm_results_fetch(api, what, wf_args_flag(args, "timing"), ret, err);
    }
    wf_api_close(api);
    return status;
}

static enum wf_result_choice choice(const struct wf_args *args)
{
    if (wf_args_flag(args, "all")) {
        return WF_RESULTS_ALL;
    }
    return wf_args_flag(args, "failed") ? WF_RESULTS_FAILED : WF_RESULTS_RAN;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    struct wf_result_counts counts = { 0 };
    enum wf_status status = read_results(args, &r, &err);
    if (status != WF_OK) {
        return wf_exit_error(&err);
    }
    for (size_t i = 0; i < r.count; i++) {
        wf_count_result(&counts, r.result[i]);
    }
    if (wf_args_flag(args, "json")) {
        status = wf_print_results_json((const struct wf_json *const *)r.result, r.count,
                                       &err);
    } else {
        wf_print_results((const struct wf_json *const *)r.result, r.count,
                         choice(args));
        if (wf_args_flag(args, "timing")) {
            wf_print_timing((const struct wf_json *const *)r.result, r.count);
        }
        if (wf_args_flag(args, "counters")) {
            wf_print_counters((const struct wf_json *const *)r.result, r.count);
        }
        wf_print_counts(&counts, r.expected);
    }
    int code =
        status == WF_OK ? wf_counts_exit(&counts, r.expected) : wf_exit_error(&err);
    wf_results_free(&r);
    return code;
}

static const struct wf_opt opts[] = {
    { "failed", WF_OPT_FLAG, NULL, NULL, NULL, "only wrong and failed results" },
    { "all", WF_OPT_FLAG, NULL, NULL, NULL, "also cases that a kernel does not do" },
    { "timing", WF_OPT_FLAG, NULL, NULL, NULL,
      "also quantiles, spread, drift, correlation, clocks and power of the samples" },
    { "counters", WF_OPT_FLAG, NULL, NULL, NULL,
      "emulator: print each launch's counters" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_show = {
    .name = "show",
    .synopsis = "FILE.jsonl|RUN",
    .summary = "Show results of a file or of a farm's run",
    .details = "The exit status is the one that the run itself would have given.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
