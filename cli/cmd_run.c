/* run: a suite on a device of this machine, without a coordinator. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/counters_view.h"
#include "cli/exit_code.h"
#include "cli/kernel_set.h"
#include "cli/measure_args.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/result_view.h"
#include "cli/results_file.h"
#include "cli/select.h"
#include "core/buf.h"
#include "core/parse.h"
#include "core/printable.h"
#include "core/sha256.h"
#include "datasets/measure.h"
#include "datasets/suite.h"
#include "runner/execute.h"
#include "runner/measure_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct local_run {
    const struct wf_args *args;
    struct wf_device device;
    char *datasets;
    struct wf_dataset_store *store;
    struct wf_suite *suite;
    struct wf_kernel_set kernels;
    struct wf_selection *selection;     /* --select, or NULL */
    struct wf_selection_choice *chosen; /* of each case, where there is one */
    struct wf_results_writer *writer;
    struct wf_result_counts counts;
    struct wf_json **result;
    size_t result_count, expected;
    int repetitions, threads;
    int64_t deadline_ns, lock_timeout_ns;
    struct wf_json *measure; /* as the command line has it */
    char run_id[17];
    struct wf_progress progress;
};

static enum wf_status open_suite(struct local_run *r, struct wf_error *err)
{
    char *suites = NULL;
    enum wf_status status = wf_suites_folder(&suites, err);
    if (status == WF_OK) {
        status = wf_datasets_folder(&r->datasets, err);
    }
    if (status == WF_OK) {
        status = wf_dataset_store_open(r->datasets, &r->store, err);
    }
    if (status == WF_OK) {
        wf_dataset_store_set_cancel(r->store, &wf_interrupted);
    }
    if (status == WF_OK) {
        status =
            wf_suite_load(wf_args_at(r->args, 0), suites, r->store, &r->suite, err);
    }
    free(suites);
    return status;
}

static enum wf_status open_kernels(struct local_run *r, struct wf_error *err)
{
    const char *folder[64];
    size_t n = wf_args_list_count(r->args, "pack");
    if (n > 64) {
        return wf_errorf(err, WF_EINVAL, "at most 64 packs in one run");
    }
    for (size_t i = 0; i < n; i++) {
        folder[i] = wf_args_list_at(r->args, "pack", i);
    }
    return wf_kernel_set_open(folder, n, wf_args_string(r->args, "kernels"),
                              &r->kernels, err);
}

static bool case_matches(const struct local_run *r, size_t c)
{
    const char *glob = wf_args_string(r->args, "cases");
    return glob == NULL || wf_glob_match(glob, wf_suite_case_name(r->suite, c));
}

/* --- --select --- */

static enum wf_status choose_kernel(struct local_run *r, size_t c, struct wf_error *err)
{
    const struct wf_case *wc = wf_suite_case(r->suite, c);
    enum wf_status status = WF_OK;
    if (!case_matches(r, c)) {
        return WF_OK;
    }
    if (r->selection == NULL) {
        status = wf_select_open(wf_args_string(r->args, "select"), wf_case_op_name(wc),
                                &r->device, &r->selection, err);
    } else if (strcmp(wf_selection_op(r->selection), wf_case_op_name(wc)) != 0) {
        status = wf_errorf(err, WF_EINVAL,
                           "--select: the selection is of %s, case %s is of %s: choose "
                           "with --cases",
                           wf_selection_op(r->selection),
                           wf_suite_case_name(r->suite, c), wf_case_op_name(wc));
    }
    status = status == WF_OK ? wf_select_kernel(r->selection, wc, &r->device,
                                                &r->kernels, &r->chosen[c], err)
                             : status;
    if (status == WF_OK && r->chosen[c].passed[0] != '\0') {
        wf_make_printable(r->chosen[c].passed); /* names are the table's */
        fprintf(stderr, "wavefarm: --select: case %s: %s\n",
                wf_suite_case_name(r->suite, c), r->chosen[c].passed);
    }
    return status;
}

static enum wf_status choose_kernels(struct local_run *r, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    if (wf_args_string(r->args, "select") == NULL) {
        return WF_OK;
    }
    r->chosen = wf_calloc(wf_suite_count(r->suite) + 1, sizeof(*r->chosen));
    if (r->chosen == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu choices",
                         wf_suite_count(r->suite));
    }
    for (size_t c = 0; c < wf_suite_count(r->suite) && status == WF_OK; c++) {
        status = choose_kernel(r, c, err);
    }
    return status;
}

/* A case that the selection has no kernel for. */
static bool left_out(const struct local_run *r, size_t c)
{
    return r->chosen != NULL && case_matches(r, c) &&
           r->chosen[c].kernel == r->kernels.count;
}

static bool any_case(const struct local_run *r)
{
    size_t c = 0;
    while (c < wf_suite_count(r->suite) && !case_matches(r, c)) {
        c++;
    }
    return c < wf_suite_count(r->suite);
}

static bool selected(const struct local_run *r,
                     size_t c,
                     const struct wf_kernel_choice *k)
{
    const struct wf_case *wc = wf_suite_case(r->suite, c);
    if (r->chosen != NULL && k != &r->kernels.choice[r->chosen[c].kernel]) {
        return false;
    }
    return strcmp(k->kernel->op, wf_case_op_name(wc)) == 0 &&
           wf_kernel_fits_arch(k->kernel, r->device.arch) && case_matches(r, c);
}

static enum wf_status count_tasks(struct local_run *r, struct wf_error *err)
{
    size_t repetitions = (size_t)r->repetitions;
    for (size_t c = 0; c < wf_suite_count(r->suite); c++) {
        for (size_t k = 0; k < r->kernels.count; k++) {
            r->expected += selected(r, c, &r->kernels.choice[k]) ? repetitions : 0;
        }
        r->expected += left_out(r, c);
    }
    if (r->expected == 0 && !any_case(r)) {
        return wf_errorf(err, WF_ENOTFOUND, "no case of suite '%s' matches '%s'",
                         wf_suite_name(r->suite), wf_args_string(r->args, "cases"));
    }
    if (r->expected == 0) {
        return wf_errorf(
            err, WF_ENOTFOUND,
            "nothing to run: no kernel for %s among the selected ones fits "
            "the suite's ops; 'wavefarm list kernels' shows them",
            r->device.arch);
    }
    r->result = wf_calloc(r->expected, sizeof(*r->result));
    return r->result != NULL ? WF_OK
                             : wf_errorf(err, WF_ENOMEM, "no memory for results");
}

static enum wf_status keep(struct local_run *r,
                           struct wf_json *result,
                           struct wf_error *err)
{
    enum wf_status status =
        wf_json_set_string(result, "suite", wf_suite_name(r->suite), err);
    if (status == WF_OK) {
        status = wf_json_set_string(result, "run", r->run_id, err);
    }
    if (status == WF_OK && r->writer != NULL) {
        status = wf_results_append(r->writer, result, err);
    }
    wf_count_result(&r->counts, result);
    r->result[r->result_count++] = result;
    return status;
}

static void fill_request(const struct local_run *r, struct wf_execute_request *q)
{
    q->device = &r->device;
    q->dataset_folder = r->datasets;
    q->seed_offset = (uint64_t)wf_args_int(r->args, "seed-offset");
    q->attempt = 1;
    q->deadline_ns = r->deadline_ns;
    q->lock_timeout_ns = r->lock_timeout_ns;
    q->threads = r->threads;
    q->cancel = &wf_interrupted;
}

/* The suite's options with the command line's over them. */
static enum wf_status read_measure(const struct local_run *r,
                                   size_t c,
                                   struct wf_measure_options *ret,
                                   struct wf_error *err)
{
    struct wf_json *all = NULL;
    enum wf_status status =
        wf_measure_merge(wf_suite_case_measure(r->suite, c), r->measure, &all, err);
    if (status == WF_OK) {
        status = wf_measure_options_read(all, ret, err);
    }
    if (status == WF_OK && wf_args_string(r->args, "budget") != NULL) {
        ret->budget_ns = wf_args_duration_ns(r->args, "budget"); /* not in whole ms */
    }
    wf_json_free(all);
    return status;
}

/* Before anything runs: together they may make no sense (more samples at least than at
 * most). */
static enum wf_status check_measures(const struct local_run *r, struct wf_error *err)
{
    struct wf_measure_options unused;
    for (size_t c = 0; c < wf_suite_count(r->suite); c++) {
        if (read_measure(r, c, &unused, err) != WF_OK) {
            return wf_error_prefix(err, "case %s: measure",
                                   wf_suite_case_name(r->suite, c));
        }
    }
    return WF_OK;
}

static enum wf_status run_one(struct local_run *r,
                              size_t c,
                              const struct wf_kernel_choice *k,
                              int repetition,
                              struct wf_error *err)
{
    char id[256];
    char *provenance = NULL;
    struct wf_json *result = NULL;
    struct wf_execute_request q = { 0 };
    const struct wf_case *wc = wf_suite_case(r->suite, c);
    snprintf(id, sizeof(id), "%.12s:%.150s:%d", wf_case_id(wc), k->kernel->name,
             repetition);
    fill_request(r, &q);
    q.task_id = id;
    q.case_json = wf_case_canonical(wc);
    q.case_name = wf_suite_case_name(r->suite, c);
    q.pack_folder = wf_pack_folder(k->pack);
    q.pack_id = wf_pack_id(k->pack);
    q.kernel = k->kernel->name;
    q.repetition = repetition;
    enum wf_status status = read_measure(r, c, &q.measure, err);
    if (status == WF_OK) {
        status = wf_pack_provenance_path(k->pack, &provenance, err);
    }
    if (status == WF_OK) {
        q.provenance_file = provenance;
        wf_progress_show(&r->progress, r->result_count, r->expected, q.case_name);
        status = wf_execute(&q, &result, err);
    }
    if (status == WF_OK) {
        status = keep(r, result, err);
    }
    free(provenance);
    return status;
}

/* NOT_SUPPORTED, with the selection's reason. */
static enum wf_status leave_out(struct local_run *r, size_t c, struct wf_error *err)
{
    const struct wf_case *wc = wf_suite_case(r->suite, c);
    struct wf_json *result = NULL;
    struct wf_execute_request q = { 0 };
    fill_request(r, &q);
    q.task_id = "";
    q.case_json = wf_case_canonical(wc);
    q.case_name = wf_suite_case_name(r->suite, c);
    q.pack_id = "";
    q.kernel = "none selected";
    enum wf_status status =
        wf_result_without_run(&q, "NOT_SUPPORTED", r->chosen[c].why, &result, err);
    return status == WF_OK ? keep(r, result, err) : status;
}

static enum wf_status run_all(struct local_run *r, struct wf_error *err)
{
    for (size_t c = 0; c < wf_suite_count(r->suite); c++) {
        if (left_out(r, c) && leave_out(r, c, err) != WF_OK) {
            return err->status;
        }
        for (size_t k = 0; k < r->kernels.count; k++) {
            if (!selected(r, c, &r->kernels.choice[k])) {
                continue;
            }
            for (int i = 0; i < r->repetitions; i++) {
                enum wf_status status = run_one(r, c, &r->kernels.choice[k], i, err);
                if (status != WF_OK) {
                    return status;
                }
                if (wf_interrupted) {
                    return wf_errorf(err, WF_ECANCELLED, "interrupted");
                }
            }
        }
    }
    return WF_OK;
}

static enum wf_status read_numbers(struct local_run *r, struct wf_error *err)
{
    const struct wf_args *a = r->args;
    enum wf_status status =
        wf_args_int_in(a, "repetitions", 1, 100000, &r->repetitions, err);
    if (status == WF_OK) {
        status = wf_args_int_in(a, "threads", 0, 4096, &r->threads, err);
    }
    if (status == WF_OK) {
        status = wf_args_deadlines(a, &r->deadline_ns, &r->lock_timeout_ns, err);
    }
    return status == WF_OK ? wf_measure_args(a, &r->measure, err) : status;
}

static enum wf_status prepare(struct local_run *r, struct wf_error *err)
{
    uint8_t random[8];
    const char *out = wf_args_string(r->args, "out");
    enum wf_status status = read_numbers(r, err);
    if (status == WF_OK) {
        status = open_suite(r, err);
    }
    if (status == WF_OK) {
        status = check_measures(r, err);
    }
    if (status == WF_OK) {
        status = wf_device_open(wf_args_string(r->args, "device"), &r->device, err);
    }
    if (status == WF_OK) {
        status = open_kernels(r, err);
    }
    if (status == WF_OK) {
        status = choose_kernels(r, err);
    }
    if (status == WF_OK) {
        status = count_tasks(r, err);
    }
    if (status == WF_OK) {
        status = wf_random_bytes(random, sizeof(random), err);
    }
    if (status == WF_OK) {
        wf_hex(random, sizeof(random), r->run_id);
    }
    if (status == WF_OK && out != NULL) {
        status = wf_results_create(out, wf_suite_name(r->suite), r->expected,
                                   &r->writer, err);
    }
    return status;
}

static enum wf_status report(const struct local_run *r, struct wf_error *err)
{
    if (wf_args_flag(r->args, "json")) {
        return wf_print_results_json((const struct wf_json *const *)r->result,
                                     r->result_count, err);
    }
    wf_print_results((const struct wf_json *const *)r->result, r->result_count,
                     WF_RESULTS_RAN);
    if (wf_args_flag(r->args, "counters")) {
        wf_print_counters((const struct wf_json *const *)r->result, r->result_count);
    }
    wf_print_counts(&r->counts, r->expected);
    wf_print_emulation_cost((const struct wf_json *const *)r->result, r->result_count);
    return WF_OK;
}

static void clean_up(struct local_run *r)
{
    for (size_t i = 0; i < r->result_count; i++) {
        wf_json_free(r->result[i]);
    }
    free(r->result);
    wf_json_free(r->measure);
    wf_selection_free(r->selection);
    free(r->chosen);
    wf_kernel_set_close(&r->kernels);
    wf_suite_free(r->suite);
    wf_dataset_store_close(r->store);
    free(r->datasets);
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct local_run r = { .args = args };
    enum wf_status status = prepare(&r, &err);
    if (status == WF_OK) {
        wf_progress_start(&r.progress);
        status = run_all(&r, &err);
        wf_progress_end(&r.progress);
    }
    struct wf_error late = { 0 };
    enum wf_status closed = wf_results_close(r.writer, &late);
    if (r.result_count > 0 && report(&r, &late) != WF_OK) {
        closed = late.status;
    }
    int code = status != WF_OK   ? wf_exit_error(&err)
               : closed != WF_OK ? wf_exit_error(&late)
                                 : wf_counts_exit(&r.counts, r.expected);
    clean_up(&r);
    return code;
}

static const struct wf_opt opts[] = {
    { "device", WF_OPT_STRING, "SELECTOR", "host", NULL,
      "host, host:1, cuda:0, amd:0, emulator" },
    WF_OPTS_TASKS,
    { "select", WF_OPT_FILE, "FILE", NULL, NULL,
      "for each case only the kernel that this selection table chooses; auto: the "
      "built-in one" },
    { "counters", WF_OPT_FLAG, NULL, NULL, NULL,
      "emulator: print each launch's counters" },
    { "out", WF_OPT_FILE, "FILE", NULL, NULL, "write results as JSON Lines" },
    { "deadline", WF_OPT_DURATION, "TIME", "10m", NULL,
      "a task that takes longer is killed" },
    { "lock-timeout", WF_OPT_DURATION, "TIME", "10m", NULL,
      "wait so long for a device that somebody else measures on" },
    { "threads", WF_OPT_INT, "N", "0", NULL, "threads of the reference, 0: all" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_run = {
    .name = "run",
    .synopsis = "SUITE",
    .summary = "Run a suite on a device of this machine",
    .details =
        "SUITE is a built-in suite's name or the path of a .json file. Exit status 0 "
        "means that\nevery answer is PASS (kernels that do not support a case "
        "apart).",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
