/* gate replay: a record's verdicts computed anew from its blocks. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/gate_outputs.h"
#include "cli/output.h"

#include <stdio.h>

static void say_difference(void *ctx, const char *line)
{
    (void)ctx;
    wf_say("differs: %s", line);
}

static enum wf_status print_json(size_t differences, struct wf_error *err)
{
    struct wf_json *v = wf_json_object();
    enum wf_status status = wf_json_set_u64(v, "differences", differences, err);
    if (status == WF_OK) {
        status = wf_json_set_bool(v, "same", differences == 0, err);
    }
    if (status == WF_OK) {
        status = wf_print_json(v, err);
    }
    wf_json_free(v);
    return status;
}

static void drop_difference(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_gate_record *record = NULL;
    size_t differences = 0;
    const bool json = wf_args_flag(args, "json");
    enum wf_status status =
        wf_gate_record_read(wf_args_at(args, 0), false, &record, NULL, &err);
    if (status == WF_OK) {
        status = wf_gate_record_replay(record, json ? drop_difference : say_difference,
                                       NULL, &differences, &err);
    }
    if (status == WF_OK && json) {
        status = print_json(differences, &err);
    } else if (status == WF_OK && differences == 0) {
        wf_say("%zu pairs, %zu lines: the same verdicts, bit by bit",
               wf_gate_record_count(record), wf_gate_record_line_count(record) + 1);
    } else if (status == WF_OK) {
        wf_say("%zu figures differ: the record was changed, or made by another rule",
               differences);
    }
    wf_gate_record_free(record);
    return status != WF_OK    ? wf_exit_error(&err)
           : differences == 0 ? WF_EXIT_GOOD
                              : WF_EXIT_BAD;
}

static const struct wf_opt opts[] = { WF_OPT_JSON };

const struct wf_command wf_command_gate_replay = {
    .name = "gate replay",
    .synopsis = "FILE",
    .summary = "Compute a gate's verdicts anew from its record, and compare",
    .details = "FILE is what 'wavefarm gate --out' wrote; - reads standard input. The "
               "exit status is 0\nwhen every figure is the same, bit by bit.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
