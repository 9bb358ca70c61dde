/* tune: which version of a kernel family each case should get. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/results_file.h"
#include "cli/tune.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS INT64_C(86400000000000)

static enum wf_status read_numbers(const struct wf_args *a,
                                   struct tune_options *o,
                                   struct wf_error *err)
{
    double percent = 0;
    enum wf_status st =
        wf_args_int_in(a, "points", 0, WF_SPACE_MAX_POINTS, &o->points, err);
    st = st == WF_OK ? wf_args_int_in(a, "top", 1, TUNE_STORED, &o->top, err) : st;
    st = st == WF_OK ? wf_args_int_in(a, "jobs", 0, 1024, &o->jobs, err) : st;
    st = st == WF_OK ? wf_args_int_in(a, "threads", 0, 4096, &o->threads, err) : st;
    st = st == WF_OK ? wf_args_real_in(a, "alpha", 1e-6, 0.5, &o->alpha, err) : st;
    st = st == WF_OK ? wf_args_real_in(a, "margin", 0, 50, &percent, err) : st;
    o->margin = percent / 100;
    st = st == WF_OK ? wf_args_duration_in(a, "compile-time", 1000000, DAY_NS,
                                           &o->compile_timeout_ns, err)
                     : st;
    if (st == WF_OK && wf_args_string(a, "budget") != NULL) {
        st = wf_args_duration_in(a, "budget", 1000000, 30 * DAY_NS, &o->budget_ns, err);
    }
    return st == WF_OK ? wf_args_deadlines(a, &o->deadline_ns, &o->lock_timeout_ns, err)
                       : st;
}

static enum wf_status read_names(const struct wf_args *a,
                                 struct tune_options *o,
                                 struct wf_error *err)
{
    const char *work = wf_args_string(a, "work");
    o->pack_count = wf_args_list_count(a, "pack");
    if (o->pack_count > sizeof(o->pack) / sizeof(o->pack[0])) {
        return wf_errorf(err, WF_EINVAL, "at most 16 packs in one search");
    }
    for (size_t i = 0; i < o->pack_count; i++) {
        o->pack[i] = wf_args_list_at(a, "pack", i);
    }
    if (o->space != NULL && (o->pack_count > 0 || o->kernels != NULL)) {
        return wf_errorf(err, WF_EINVAL,
                         "--space names what is searched; --pack and --kernels are for "
                         "searches among kernels that are built already");
    }
    if (o->space == NULL && o->root != NULL) {
        return wf_errorf(err, WF_EINVAL, "--root is the tree of a --space");
    }
    if (work == NULL && o->out == NULL) {
        return wf_errorf(
            err, WF_EINVAL,
            "give --out TABLE (its journal is kept in TABLE.work) or --work "
            "FOLDER");
    }
    o->work = work != NULL ? wf_strdup(work) : wf_asprintf("%s.work", o->out);
    return o->work != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
}

static enum wf_status read_options(const struct wf_args *a,
                                   struct tune_options *o,
                                   struct wf_error *err)
{
    int64_t seed = wf_args_int(a, "seed");
    *o = (struct tune_options){
        .suite = wf_args_at(a, 0),
        .op = wf_args_string(a, "op"),
        .cases = wf_args_string(a, "cases"),
        .space = wf_args_string(a, "space"),
        .root = wf_args_string(a, "root"),
        .kernels = wf_args_string(a, "kernels"),
        .device = wf_args_string(a, "device"),
        .out = wf_args_string(a, "out"),
        .policy = wf_args_string(a, "policy"),
        .resume = wf_args_flag(a, "resume"),
        .json = wf_args_flag(a, "json"),
        .no_mca = wf_args_flag(a, "no-mca"),
        .no_sentinels = wf_args_flag(a, "no-sentinels"),
        .clang = wf_args_string(a, "clang"),
        .nvcc = wf_args_string(a, "nvcc"),
        .mca_program = wf_args_string(a, "mca"),
        .seed = (uint64_t)seed,
        .margin_given = wf_args_string(a, "margin") != NULL &&
                        strcmp(wf_args_string(a, "margin"), "0.5") != 0,
    };
    enum wf_status st = wf_args_require(a, "op", "the op whose kernels are tuned", err);
    st = st == WF_OK ? read_numbers(a, o, err) : st;
    st = st == WF_OK ? read_names(a, o, err) : st;
    return st == WF_OK && o->out != NULL ? wf_results_probe(o->out, err) : st;
}

static enum wf_status search(struct tune *t, struct wf_error *err)
{
    enum wf_status st = tune_open(t, err);
    st = st == WF_OK ? tune_points(t, err) : st;
    st = st == WF_OK ? tune_build(t, err) : st;
    st = st == WF_OK ? tune_statics(t, err) : st;
    st = st == WF_OK ? tune_models(t, err) : st;
    if (st == WF_OK) {
        st = t->device.times_modelled ? tune_decide(t, err) : tune_times(t, err);
    }
    return st;
}

static enum wf_status write_table(const struct tune_options *o,
                                  const struct wf_json *table,
                                  struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    if (o->out == NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_json_write_pretty(table, &text, err);
    st = st == WF_OK ? wf_buf_puts(&text, "\n", err) : st;
    st = st == WF_OK ? wf_file_write_atomic(o->out, text.data, text.len, err) : st;
    wf_buf_free(&text);
    return st;
}

/* Good: each case has its winner. */
static int exit_of(const struct tune *t)
{
    size_t without = 0;
    for (size_t i = 0; i < t->case_count; i++) {
        without += t->cases[i].winner == TUNE_NONE;
    }
    if (without == t->case_count) {
        fprintf(stderr, "wavefarm: no case has a winner: nothing was found\n");
        return WF_EXIT_NO_VERDICT;
    }
    if (t->out_of_time) {
        fprintf(stderr,
                "wavefarm: the budget was used up before the search was through\n");
        return WF_EXIT_NO_VERDICT;
    }
    return WF_EXIT_GOOD;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_json *table = NULL;
    struct tune t;
    memset(&t, 0, sizeof(t));
    enum wf_status st = read_options(args, &t.o, &err);
    st = st == WF_OK ? search(&t, &err) : st;
    st = st == WF_OK ? tune_table(&t, &table, &err) : st;
    st = st == WF_OK ? write_table(&t.o, table, &err) : st;
    if (st == WF_OK) {
        st = t.o.json ? wf_print_json(table, &err) : tune_print(table, &err);
    }
    int code = st == WF_OK ? exit_of(&t) : wf_exit_error(&err);
    wf_json_free(table);
    tune_close(&t);
    return code;
}

static const struct wf_opt opts[] = {
    { "op", WF_OPT_STRING, "OP", NULL, NULL, "whose kernels are tuned: gemm" },
    { "space", WF_OPT_FILE, "FILE", NULL, NULL,
      "knob space that is searched (default: the packs' kernels as they are)" },
    { "root", WF_OPT_FILE, "FOLDER", NULL, NULL,
      "tree of the space's entry (default: the folder above the space that has it)" },
    { "device", WF_OPT_STRING, "SELECTOR", "emulator", NULL,
      "emulator: modelled; amd:0, cuda:0, host: measured" },
    { "cases", WF_OPT_STRING, "GLOB", NULL, NULL, "cases by name" },
    { "pack", WF_OPT_LIST, "FOLDER", NULL, NULL,
      "without --space: a pack to take kernels from (default: all built-in packs)" },
    { "kernels", WF_OPT_STRING, "GLOB", NULL, NULL,
      "without --space: kernels by name or pack/name" },
    { "points", WF_OPT_INT, "N", "0", NULL,
      "look at about so many points a base, drawn by the seed; 0: all" },
    { "seed", WF_OPT_INT, "N", "1", NULL, "of the draw and of the gates' inputs" },
    { "top", WF_OPT_INT, "N", "4", NULL,
      "candidates that meet in gates, the incumbent among them" },
    { "alpha", WF_OPT_REAL, "P", "0.01", NULL,
      "chance that a case's winner replaced something that was as good" },
    { "margin", WF_OPT_REAL, "PERCENT", "0.5", NULL,
      "what does not count as faster (measured: also the registry's noise)" },
    { "budget", WF_OPT_DURATION, "TIME", NULL, NULL,
      "end the search after so long; what is known by then is the table" },
    { "out", WF_OPT_FILE, "TABLE", NULL, NULL, "write the tuning table" },
    { "work", WF_OPT_FILE, "FOLDER", NULL, NULL,
      "journal, packs and gates' records (default: TABLE.work)" },
    { "resume", WF_OPT_FLAG, NULL, NULL, NULL,
      "go on with the journal that is there: nothing is done twice" },
    { "clang", WF_OPT_STRING, "PROGRAM", "clang-19", "WAVEFARM_CLANG",
      "compiler of entries that name none" },
    { "nvcc", WF_OPT_STRING, "PROGRAM", NULL, "WAVEFARM_NVCC",
      "for sm_ devices: cubins instead of PTX" },
    { "jobs", WF_OPT_INT, "N", "0", NULL, "compilers at once; 0: processors" },
    { "compile-time", WF_OPT_DURATION, "TIME", "2m", NULL,
      "a point that takes longer to compile is out" },
    { "policy", WF_OPT_FILE, "FILE", NULL, NULL, "a gate's policy: its margins" },
    { "no-sentinels", WF_OPT_FLAG, NULL, NULL, NULL,
      "gates without known answers among the pairs" },
    { "no-mca", WF_OPT_FLAG, NULL, NULL, NULL, "do not ask llvm-mca" },
    { "mca", WF_OPT_FILE, "PROGRAM", NULL, "WAVEFARM_LLVM_MCA",
      "instead of llvm-mca-22, llvm-mca-19 or llvm-mca on PATH" },
    { "deadline", WF_OPT_DURATION, "TIME", "10m", NULL,
      "a run that takes longer is killed" },
    { "lock-timeout", WF_OPT_DURATION, "TIME", "10m", NULL,
      "wait so long for a device that somebody else measures on" },
    { "threads", WF_OPT_INT, "N", "0", NULL, "threads of the reference, 0: all" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_tune = {
    .name = "tune",
    .synopsis = "SUITE",
    .summary = "Find the best version of a kernel family for each case of a suite",
    .details =
        "Conditions of the knob space, compilation, the machine code's report and the "
        "emulator's\ncounters leave a few candidates; where a device measures times, these "
        "meet in gates, so that\nthe winner is not luck. On a device that models times there "
        "are no gates, and the table says\n'modelled'. Exit status: 0 every step was done, 2 "
        "usage or bad input, 3 a device or runner\nfailed, 4 the budget ended the search or "
        "no case has a winner, 130 interrupted (--resume goes\non). docs/tuning.md has the "
        "steps, the files and what is guaranteed.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
