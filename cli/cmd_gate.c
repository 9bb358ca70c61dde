/* gate: two packs on a device of this machine, a verdict on each change. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/gate_local.h"
#include "cli/gate_outputs.h"

#include <string.h>

#define BLOCKS_MAX 100000

/* What the record says already. */
static enum wf_status check_resume(const struct wf_args *a, struct wf_error *err)
{
    static const char *const texts[] = { "out",         "suite",      "policy",
                                         "cases",       "kernels",    "base-kernel",
                                         "cand-kernel", "max-blocks", "launches" };
    static const char *const flags[] = { "same", "answers-only", "no-sentinels", "cold",
                                         "hot",  "no-checks",    "no-counters" };
    const char *given = NULL;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        given = wf_args_string(a, texts[i]) != NULL ? texts[i] : given;
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        given = wf_args_flag(a, flags[i]) ? flags[i] : given;
    }
    return given == NULL
               ? WF_OK
               : wf_errorf(err, WF_EINVAL,
                           "--resume goes on with what the record says: --%s has "
                           "no meaning beside it",
                           given);
}

/* Options that make no sense together, or not without another. */
static enum wf_status check_options(const struct wf_args *a, struct wf_error *err)
{
    const bool resumes = wf_args_string(a, "resume") != NULL;
    enum wf_status status =
        wf_args_require(a, "base", "the pack before the change", err);
    if (status == WF_OK) {
        status = wf_args_require(a, "cand", "the pack with the change", err);
    }
    if (status == WF_OK && !resumes) {
        status = wf_args_require(a, "suite",
                                 "the cases; 'wavefarm list suites' shows some", err);
    }
    if (status == WF_OK && resumes) {
        status = check_resume(a, err);
    }
    if (status == WF_OK && (wf_args_string(a, "base-kernel") == NULL) !=
                               (wf_args_string(a, "cand-kernel") == NULL)) {
        status =
            wf_errorf(err, WF_EINVAL,
                      "--base-kernel and --cand-kernel name two kernels to compare: "
                      "both are wanted, or neither");
    }
    if (status == WF_OK && wf_args_flag(a, "cold") && wf_args_flag(a, "hot")) {
        status = wf_errorf(err, WF_EINVAL, "--cold and --hot exclude each other");
    }
    const char *record = wf_args_string(a, resumes ? "resume" : "out");
    return status == WF_OK ? gate_outputs_check(a, record, err) : status;
}

static enum wf_status read_numbers(const struct wf_args *a,
                                   struct wf_gate_options *o,
                                   struct wf_error *err)
{
    enum wf_status status = wf_args_int_in(a, "threads", 0, 4096, &o->threads, err);
    if (status == WF_OK) {
        status = wf_args_deadlines(a, &o->deadline_ns, &o->lock_timeout_ns, err);
    }
    if (status == WF_OK && wf_args_string(a, "max-blocks") != NULL) {
        status = wf_args_int_in(a, "max-blocks", 1, BLOCKS_MAX, &o->max_blocks, err);
    }
    if (status == WF_OK) {
        status = wf_args_checks(a, &o->measure.launches, &o->measure.naive, err);
    }
    return status == WF_OK ? wf_args_mfma(a, &o->measure.mfma_exact, err) : status;
}

static enum wf_status read_options(const struct wf_args *a,
                                   struct wf_gate_options *o,
                                   struct wf_error *err)
{
    *o = (struct wf_gate_options){
        .base = wf_args_string(a, "base"),
        .cand = wf_args_string(a, "cand"),
        .base_kernel = wf_args_string(a, "base-kernel"),
        .cand_kernel = wf_args_string(a, "cand-kernel"),
        .suite = wf_args_string(a, "suite"),
        .cases = wf_args_string(a, "cases"),
        .kernels = wf_args_string(a, "kernels"),
        .device = wf_args_string(a, "device"),
        .policy = wf_args_string(a, "policy"),
        .out = wf_args_string(a, "out"),
        .resume = wf_args_string(a, "resume"),
        .same = wf_args_flag(a, "same"),
        .no_sentinels = wf_args_flag(a, "no-sentinels"),
        .answers_only = wf_args_flag(a, "answers-only"),
        .seed_offset = (uint64_t)wf_args_int(a, "seed-offset"),
        .hot = wf_args_flag(a, "hot"),
        .live = true,
        .cancel = &wf_interrupted,
    };
    o->measure.measure = true;
    o->measure.cold = wf_args_flag(a, "cold");
    o->measure.no_checks = wf_args_flag(a, "no-checks");
    o->measure.no_counters = wf_args_flag(a, "no-counters");
    enum wf_status status = check_options(a, err);
    return status == WF_OK ? read_numbers(a, o, err) : status;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 }, late = { 0 };
    struct wf_gate_options o;
    struct wf_gate_record *record = NULL;
    int code = WF_EXIT_INFRA;
    enum wf_status status = read_options(args, &o, &err);
    if (status == WF_OK) {
        status = wf_gate_run_local(&o, &record, &err);
    }
    if (record == NULL) {
        return wf_exit_error(&err);
    }
    if (gate_outputs(args, record, &code, &late) != WF_OK) {
        code = wf_exit_error(&late);
    }
    wf_gate_record_free(record);
    return status != WF_OK ? wf_exit_error(&err) : code;
}

static const struct wf_opt opts[] = {
    { "base", WF_OPT_FILE, "PACK", NULL, NULL,
      "the pack before the change: a folder or an archive" },
    { "cand", WF_OPT_FILE, "PACK", NULL, NULL, "the pack with the change" },
    { "suite", WF_OPT_STRING, "SUITE", NULL, NULL, "a built-in suite or a .json file" },
    { "device", WF_OPT_STRING, "SELECTOR", "host", NULL,
      "host, host:1, cuda:0, amd:0, emulator" },
    { "policy", WF_OPT_FILE, "FILE", NULL, NULL,
      "margins, waivers, what else is red (docs/gate-command.md)" },
    { "out", WF_OPT_FILE, "FILE", NULL, NULL, "keep the record: JSON Lines" },
    { "resume", WF_OPT_FILE, "FILE", NULL, NULL,
      "go on with a gate that was cut short, from its record" },
    { "cases", WF_OPT_STRING, "GLOB", NULL, NULL, "cases by name" },
    { "kernels", WF_OPT_STRING, "GLOB", NULL, NULL, "kernels by name" },
    { "base-kernel", WF_OPT_STRING, "NAME", NULL, NULL,
      "with --cand-kernel: compare these two, whatever their names" },
    { "cand-kernel", WF_OPT_STRING, "NAME", NULL, NULL, "see --base-kernel" },
    { "same", WF_OPT_FLAG, NULL, NULL, NULL,
      "A/A: measure equal code, too, and learn this machine's noise from it" },
    { "answers-only", WF_OPT_FLAG, NULL, NULL, NULL,
      "judge answers, compare no times" },
    { "no-sentinels", WF_OPT_FLAG, NULL, NULL, NULL,
      "no known answers among the pairs: nothing shows that the device can be trusted" },
    { "max-blocks", WF_OPT_INT, "N", NULL, NULL,
      "blocks of a pair before it is inconclusive (default 24)" },
    { "seed-offset", WF_OPT_INT, "N", "0", NULL, "other inputs for the same cases" },
    { "cold", WF_OPT_FLAG, NULL, NULL, NULL,
      "every timed launch meets its inputs outside the last-level cache" },
    { "hot", WF_OPT_FLAG, NULL, NULL, NULL,
      "every launch on the same buffers (default, unless the suite says cold)" },
    { "launches", WF_OPT_INT, "N", NULL, NULL,
      "checked launches on equal inputs (default: the suite's, else 2)" },
    { "naive", WF_OPT_STRING, "MODE", "auto", NULL,
      "naive device kernel as a check of all elements: auto (off), on or off" },
    { "mfma", WF_OPT_STRING, "MODE", "fast", NULL,
      "emulator: fast (FMA) or exact (rounded as the hardware does)" },
    { "no-checks", WF_OPT_FLAG, NULL, NULL, NULL, "emulator: no fault detection" },
    { "no-counters", WF_OPT_FLAG, NULL, NULL, NULL, "emulator: no counters" },
    { "deadline", WF_OPT_DURATION, "TIME", "10m", NULL,
      "a pair that takes longer in a round is killed" },
    { "lock-timeout", WF_OPT_DURATION, "TIME", "10m", NULL,
      "wait so long for a device that somebody else measures on" },
    { "threads", WF_OPT_INT, "N", "0", NULL, "threads of the reference, 0: all" },
    WF_OPTS_GATE_REPORT,
};

const struct wf_command wf_command_gate = {
    .name = "gate",
    .synopsis = "",
    .summary =
        "Compare two packs on a device of this machine: what became slower or wrong",
    .details =
        "Base and candidate are measured side by side, block by block in drawn order, until "
        "each\npair of case and kernel has its verdict. Without a true regression the gate "
        "is red at most\nonce in 100. Exit status: 0 nothing red, 1 slower or wrong, 2 "
        "usage, 3 no verdict for want of\na working device or of anything to compare, 4 "
        "inconclusive under --strict, 130 interrupted.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
