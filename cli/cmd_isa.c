/* isa: static reports of gfx942 code objects, or two of them side by side. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/isa_compare.h"
#include "cli/isa_files.h"
#include "cli/isa_knobs.h"
#include "cli/isa_view.h"
#include "cli/output.h"
#include "core/buf.h"
#include "core/clock.h"
#include "isa/report.h"

#include <stdio.h>
#include <stdlib.h>

#define MCA_TIME_MIN_NS 1000000LL      /* 1 ms */
#define MCA_TIME_MAX_NS 600000000000LL /* 10 min */

struct run {
    const struct wf_args *args;
    struct wf_isa_options options;
    struct wf_json *reports; /* --json: all of them */
    size_t shown, failed;
    enum wf_status worst;
};

static enum wf_status options_of(const struct wf_args *args,
                                 struct wf_isa_options *ret,
                                 struct wf_error *err)
{
    *ret = (struct wf_isa_options){
        .mca = !wf_args_flag(args, "no-mca"),
        .mca_program = wf_args_string(args, "mca"),
        .kernel = wf_args_string(args, "kernel"),
        .hot_loops = wf_args_flag(args, "loops") ? 8 : 1,
    };
    return wf_args_duration_in(args, "mca-time", MCA_TIME_MIN_NS, MCA_TIME_MAX_NS,
                               &ret->mca_timeout_ns, err);
}

static enum wf_status show(struct run *r,
                           const struct wf_isa_report *report,
                           int64_t took_ns,
                           struct wf_error *err)
{
    struct wf_json *json = NULL;
    enum wf_status st = wf_isa_report_json(report, &json, err);
    if (st != WF_OK) {
        return st;
    }
    if (r->reports != NULL) {
        return wf_json_push_take(r->reports, json, err);
    }
    const char *version =
        wf_json_string(wf_json_find(wf_json_find(json, "llvm_mca"), "version"));
    wf_say("== %s  gfx942, %zu kernel%s, %s, %.0f ms",
           wf_json_string(wf_json_find(json, "file")), wf_isa_report_count(report),
           wf_isa_report_count(report) == 1 ? "" : "s",
           version != NULL ? version : "no llvm-mca", (double)took_ns / 1e6);
    wf_print_isa(json, wf_args_flag(r->args, "loops"));
    wf_json_free(json);
    return WF_OK;
}

/* A file that cannot be read does not keep the others from being shown. */
static void look_at(struct run *r, const char *path)
{
    struct wf_error err = { 0 };
    struct wf_isa_report *report = NULL;
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = wf_isa_report_read(path, &r->options, &report, &err);
    if (st == WF_OK && wf_isa_report_count(report) > 0) {
        st = show(r, report, wf_monotonic_ns() - start_ns, &err);
        r->shown += wf_isa_report_count(report);
    }
    wf_isa_report_free(report);
    if (st != WF_OK) {
        r->failed++;
        r->worst = st;
        (void)wf_exit_error(&err);
    }
}

static enum wf_status look_at_all(struct run *r, struct wf_error *err)
{
    for (size_t i = 0; i < wf_args_count(r->args); i++) {
        struct wf_isa_files f = { .path = NULL };
        enum wf_status st = wf_isa_files_of(wf_args_at(r->args, i), &f, err);
        for (size_t k = 0; st == WF_OK && k < f.count && !wf_interrupted; k++) {
            look_at(r, f.path[k]);
        }
        wf_isa_files_free(&f);
        if (st != WF_OK) {
            return st;
        }
    }
    if (wf_interrupted) {
        return wf_errorf(err, WF_ECANCELLED, "interrupted");
    }
    if (r->shown == 0 && r->failed == 0) {
        return wf_errorf(err, WF_EINVAL, "no kernel's name matches %s",
                         r->options.kernel != NULL ? r->options.kernel : "*");
    }
    return WF_OK;
}

static enum wf_status print_reports(struct wf_json *reports, struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "schema", "wavefarm.isa-reports/1", err);
    if (st == WF_OK) {
        st = wf_json_set_take(o, "reports", reports, err);
    } else {
        wf_json_free(reports);
    }
    st = st == WF_OK ? wf_print_json(o, err) : st;
    wf_json_free(o);
    return st;
}

static int report(const struct wf_args *args, const struct wf_isa_options *options)
{
    struct wf_error err = { 0 };
    struct run r = { .args = args, .options = *options };
    if (wf_args_flag(args, "json")) {
        r.reports = wf_json_array();
    }
    enum wf_status st = look_at_all(&r, &err);
    if (st == WF_OK && r.reports != NULL) {
        st = print_reports(r.reports, &err);
    } else {
        wf_json_free(r.reports);
    }
    if (st != WF_OK) {
        return wf_exit_error(&err);
    }
    return r.failed > 0 ? wf_exit_of(r.worst) : WF_EXIT_GOOD;
}

/* --- knobs --- */

static enum wf_status print_knobs(const struct wf_args *args,
                                  const struct wf_knob_table *t,
                                  struct wf_error *err)
{
    const char *by = wf_args_string(args, "by");
    if (t->count == 0) {
        const char *glob = wf_args_string(args, "kernel");
        return wf_errorf(err, WF_EINVAL, "no kernel's name matches %s",
                         glob != NULL ? glob : "*");
    }
    return wf_args_flag(args, "json") ? wf_knob_print_json(t, by, err)
           : wf_args_flag(args, "csv")
               ? wf_knob_print_csv(t, err)
               : wf_knob_print_text(t, by, wf_args_string(args, "show"), err);
}

/* A file that cannot be read does not keep the others from being shown. */
static int knobs(const struct wf_args *args, const struct wf_isa_options *options)
{
    struct wf_knob_table t = { .row = NULL };
    struct wf_error err = { 0 };
    enum wf_status worst = WF_OK, st = WF_OK;
    for (size_t i = 0; i < wf_args_count(args) && !wf_interrupted; i++) {
        struct wf_error of_file = { 0 };
        st = wf_knob_table_add(&t, wf_args_at(args, i), options, &of_file);
        if (st != WF_OK) {
            worst = st;
            (void)wf_exit_error(&of_file);
        }
    }
    st = wf_interrupted ? wf_errorf(&err, WF_ECANCELLED, "interrupted")
         : t.count == 0 && worst != WF_OK ? WF_OK /* said already */
                                          : print_knobs(args, &t, &err);
    wf_knob_table_free(&t);
    if (st != WF_OK) {
        return wf_exit_error(&err);
    }
    return worst != WF_OK ? wf_exit_of(worst) : WF_EXIT_GOOD;
}

static enum wf_status check_knob_options(const struct wf_args *args,
                                         struct wf_error *err)
{
    static const char *const words[] = { "by", "show" };
    const bool wanted = wf_args_flag(args, "knobs");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !wanted; i++) {
        if (wf_args_string(args, words[i]) != NULL) {
            return wf_errorf(err, WF_EINVAL, "--%s belongs to --knobs", words[i]);
        }
    }
    if (!wanted && wf_args_flag(args, "csv")) {
        return wf_errorf(err, WF_EINVAL, "--csv belongs to --knobs");
    }
    if (wf_args_flag(args, "csv") && wf_args_string(args, "by") != NULL) {
        return wf_errorf(err, WF_EINVAL,
                         "--csv writes a row a kernel; groups are in --json");
    }
    return wanted && wf_args_flag(args, "compare")
               ? wf_errorf(err, WF_EINVAL, "--knobs and --compare exclude each other")
               : WF_OK;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_isa_options options;
    enum wf_status st = options_of(args, &options, &err);
    st = st == WF_OK ? check_knob_options(args, &err) : st;
    if (st == WF_OK && wf_args_flag(args, "knobs")) {
        return knobs(args, &options);
    }
    if (st == WF_OK && wf_args_flag(args, "compare") && wf_args_count(args) != 2) {
        st = wf_errorf(&err, WF_EINVAL, "--compare takes two files, A and B, not %zu",
                       wf_args_count(args));
    }
    if (st == WF_OK && wf_args_flag(args, "compare")) {
        st =
            wf_isa_compare(wf_args_at(args, 0), wf_args_at(args, 1), &options,
                           wf_args_flag(args, "json"), wf_args_flag(args, "all"), &err);
        return st == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
    }
    return st == WF_OK ? report(args, &options) : wf_exit_error(&err);
}

static const struct wf_opt opts[] = {
    { "kernel", WF_OPT_STRING, "GLOB", NULL, NULL, "kernels by name (default: all)" },
    { "compare", WF_OPT_FLAG, NULL, NULL, NULL,
      "two files side by side: figures that differ, better or worse" },
    { "all", WF_OPT_FLAG, NULL, NULL, NULL, "with --compare: equal figures too" },
    { "loops", WF_OPT_FLAG, NULL, NULL, NULL,
      "every loop, and what the hottest eight consist of" },
    { "knobs", WF_OPT_FLAG, NULL, NULL, NULL,
      "what kernels were made with beside their figures: a row a kernel" },
    { "by", WF_OPT_STRING, "KNOB", NULL, NULL,
      "with --knobs: medians of the figures for each value of a knob" },
    { "show", WF_OPT_STRING, "NAMES", NULL, NULL,
      "with --knobs: these knobs and figures, joined by commas" },
    { "csv", WF_OPT_FLAG, NULL, NULL, NULL, "with --knobs: all knobs and figures" },
    { "no-mca", WF_OPT_FLAG, NULL, NULL, NULL, "do not ask llvm-mca" },
    { "mca", WF_OPT_FILE, "PROGRAM", NULL, "WAVEFARM_LLVM_MCA",
      "instead of llvm-mca-22, llvm-mca-19 or llvm-mca on PATH" },
    { "mca-time", WF_OPT_DURATION, "TIME", "20s", NULL,
      "time-out of one call of llvm-mca" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_isa = {
    .name = "isa",
    .synopsis = "FILE...",
    .summary = "Report what the machine code of gfx942 kernels consists of",
    .details =
        "FILE is a code object (.co), a bundle (compressed or not), or a pack's folder:\n"
        "all its gfx942 code objects. Nothing is run: registers, spills, LDS, occupancy,\n"
        "loops, and of the hot loop its matrix and vector work, memory accesses, waits\n"
        "and llvm-mca's view of it. '!' marks what is notable. With --knobs FILE may be a\n"
        "logic file of hipBLASLt too (.yaml). docs/isa.md explains every figure and its\n"
        "limits.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = -1,
    .run = run,
};
