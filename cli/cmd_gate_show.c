/* gate show: a gate's record as a report, or the story of single pairs. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/gate_outputs.h"
#include "cli/gate_view.h"
#include "cli/output.h"

#include <stdio.h>

static enum wf_status tell_story(const struct wf_args *args,
                                 struct wf_gate_record *record,
                                 int *ret_exit,
                                 struct wf_error *err)
{
    struct wf_gate_report *r = NULL;
    enum wf_status status =
        wf_gate_report_create(record, wf_args_flag(args, "strict"), &r, err);
    if (status == WF_OK) {
        *ret_exit = gate_exit_of(r);
        const char *cases = wf_args_string(args, "case");
        status =
            wf_args_flag(args, "json")
                ? gate_story_json(record, cases, err)
                : gate_story_print(record, r, cases, wf_args_flag(args, "blocks"), err);
    }
    wf_gate_report_free(r);
    return status;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_gate_record *record = NULL;
    bool torn = false;
    int code = WF_EXIT_INFRA;
    enum wf_status status = gate_outputs_check(args, wf_args_at(args, 0), &err);
    if (status == WF_OK) {
        status = wf_gate_record_read(wf_args_at(args, 0), true, &record, &torn, &err);
    }
    if (status == WF_OK && torn) {
        fprintf(stderr,
                "wavefarm: %s ends in the middle of a line, which is left out\n",
                wf_args_at(args, 0));
    }
    if (status == WF_OK) {
        const bool story =
            wf_args_string(args, "case") != NULL || wf_args_flag(args, "blocks");
        status = story ? tell_story(args, record, &code, &err)
                       : gate_outputs(args, record, &code, &err);
    }
    wf_gate_record_free(record);
    return status != WF_OK ? wf_exit_error(&err) : code;
}

static const struct wf_opt opts[] = {
    { "case", WF_OPT_STRING, "GLOB", NULL, NULL,
      "the story of the pairs whose key or case fits: answers, evidence block by block" },
    { "blocks", WF_OPT_FLAG, NULL, NULL, NULL, "the story with every slot's times" },
    WF_OPTS_GATE_REPORT,
};

const struct wf_command wf_command_gate_show = {
    .name = "gate show",
    .synopsis = "FILE",
    .summary = "Show a gate's record: the report, or the story of a pair",
    .details =
        "FILE is what 'wavefarm gate --out' wrote, finished or not; - reads standard "
        "input. The\nexit status is the one that the gate itself would have given.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
