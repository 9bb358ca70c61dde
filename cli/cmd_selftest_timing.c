/* selftest timing: is the clock of a device to be believed? */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/table.h"
#include "runner/execute.h"
#include "selftest/timing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double figure(const struct wf_json *obj, const char *key)
{
    double v = (double)NAN;
    const struct wf_json *member = obj ? wf_json_find(obj, key) : NULL;
    return member && wf_json_as_f64(member, &v) ? v : (double)NAN;
}

static const char *word(const struct wf_json *obj, const char *key)
{
    const char *text = "";
    if (obj) {
        (void)wf_json_get_string(obj, key, &text, NULL);
    }
    return text;
}

static const struct wf_json *part(const struct wf_json *report, const char *key)
{
    const struct wf_json *v = wf_json_find(report, key);
    return v && wf_json_type(v) == WF_JSON_OBJECT ? v : NULL;
}

static bool print_spins(const struct wf_json *report)
{
    static const char *const header[] = { ">asked us", ">events say us", ">more us",
                                          ">error",    ">host/events",   "time" };
    const struct wf_json *list = wf_json_find(report, "spins");
    struct wf_table *t = wf_table_create(header, 6);
    for (const struct wf_json *v = t && list ? wf_json_first(list) : NULL; v;
         v = wf_json_next(v)) {
        char cell[5][32];
        (void)snprintf(cell[0], 32, "%.0f", figure(v, "ns") / 1e3);
        (void)snprintf(cell[1], 32, "%.2f", figure(v, "median") / 1e3);
        (void)snprintf(cell[2], 32, "%.2f", figure(v, "overhead_ns") / 1e3);
        (void)snprintf(cell[3], 32, "%.3g %%", 100 * figure(v, "error"));
        (void)snprintf(cell[4], 32, "%.4f", figure(v, "host_ratio"));
        const char *row[] = { cell[0], cell[1], cell[2],
                              cell[3], cell[4], word(v, "time") };
        wf_table_row(t, row);
    }
    bool good = t && wf_table_print(t);
    wf_table_free(t);
    return good;
}

static bool print_cold(const struct wf_json *cold)
{
    static const char *const header[] = { ">MiB in turn", ">GB/s", ">interval" };
    const struct wf_json *list = wf_json_find(cold, "points");
    struct wf_table *t = wf_table_create(header, 3);
    for (const struct wf_json *v = t && list ? wf_json_first(list) : NULL; v;
         v = wf_json_next(v)) {
        char cell[3][32];
        (void)snprintf(cell[0], 32, "%.0f", figure(v, "bytes") / 1048576);
        (void)snprintf(cell[1], 32, "%.4g", figure(v, "gb_per_s"));
        (void)snprintf(cell[2], 32, "+-%.2g %%", 100 * figure(v, "width"));
        const char *row[] = { cell[0], cell[1], cell[2] };
        wf_table_row(t, row);
    }
    bool good = t && wf_table_print(t);
    wf_table_free(t);
    wf_say("cold: %s: %s", word(cold, "verdict"), word(cold, "text"));
    return good;
}

static void print_rest(const struct wf_json *report)
{
    const struct wf_json *a = part(report, "agreement");
    const struct wf_json *c = part(report, "calibration");
    const struct wf_json *aa = part(report, "aa");
    const struct wf_json *cover = part(report, "coverage");
    if (a && c) {
        wf_say(
            "launch and events: %.2f us more than the work; the events' step is %.0f ns",
            figure(report, "launch_overhead_ns") / 1e3,
            figure(report, "event_tick_ns"));
        wf_say("events and host clock, 50 us and more: within %.2f %% (limit 1 %%)",
               100 * figure(a, "worst"));
        wf_say("a spin of 5 ms reads %.4f ms at least (limit 10 %%)",
               figure(c, "least_ns") / 1e6);
    }
    if (aa) {
        wf_say(
            "A/A: %.0f processes, median %.3f us, between them %.2g %%, range %.2g %%; "
            "within one %.2g %%",
            figure(aa, "runs"), figure(aa, "median") / 1e3, 100 * figure(aa, "between"),
            100 * figure(aa, "range"), 100 * figure(aa, "within"));
    }
    if (cover) {
        wf_say(
            "coverage: %.0f of %.0f intervals hold the median of their process (%.0f "
            "repeats in %.0f processes); lower limit %.1f %% (target 92 %%), mean width "
            "+-%.2g %%",
            figure(cover, "covered"), figure(cover, "with_interval"),
            figure(cover, "repeats"), figure(cover, "processes"),
            100 * figure(cover, "lower_limit"), 100 * figure(cover, "mean_width"));
    }
}

static bool print_report(const struct wf_json *report)
{
    const struct wf_json *cold = part(report, "cold");
    const struct wf_json *reasons = wf_json_find(report, "reasons");
    bool good = wf_json_find(report, "spins") == NULL || print_spins(report);
    good = (cold == NULL || print_cold(cold)) && good;
    print_rest(report);
    wf_say("verdict: %s", word(report, "verdict"));
    for (const struct wf_json *v = reasons ? wf_json_first(reasons) : NULL; v;
         v = wf_json_next(v)) {
        wf_say("  %s", wf_json_string(v) ? wf_json_string(v) : "");
    }
    if (strcmp(word(report, "verdict"), "unusable") == 0) {
        wf_say(
            "This device's times are not to be believed: until 'selftest timing' finds "
            "it good again, nothing is measured on it from this machine.");
    }
    return good;
}

static void show(void *ctx, const char *stage, size_t done, size_t of)
{
    wf_progress_show(ctx, done, of, stage);
}

static int run_timing(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_device device;
    struct wf_progress progress;
    struct wf_json *report = NULL;
    struct wf_timing_options o = {
        .device = &device, .cancel = &wf_interrupted, .progress = show, .ctx = &progress
    };
    enum wf_status st = wf_args_int_in(args, "repeats", 0, 100000, &o.repeats, &err);
    st = st == WF_OK ? wf_args_int_in(args, "runs", 2, 10000, &o.runs, &err) : st;
    st = st == WF_OK ? wf_device_open(wf_args_string(args, "device"), &device, &err)
                     : st;
    if (st != WF_OK) {
        return wf_exit_error(&err);
    }
    wf_progress_start(&progress);
    st = wf_timing_run(&o, &report, &err);
    wf_progress_end(&progress);
    if (st == WF_OK && wf_args_flag(args, "json")) {
        st = wf_print_json(report, &err);
    } else if (st == WF_OK && !print_report(report)) {
        st = wf_errorf(&err, WF_ENOMEM, "no memory for a table");
    }
    int code = st != WF_OK                 ? wf_exit_error(&err)
               : wf_timing_is_good(report) ? WF_EXIT_GOOD
                                           : WF_EXIT_BAD;
    wf_json_free(report);
    return code;
}

static const struct wf_opt timing_opts[] = {
    { "device", WF_OPT_STRING, "SELECTOR", "host", NULL, "host, cuda:0, amd:0" },
    { "repeats", WF_OPT_INT, "N", "300", NULL,
      "measurements for the coverage of the interval, 0: none" },
    { "runs", WF_OPT_INT, "N", "10", NULL, "processes of the A/A comparison" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_selftest_timing = {
    .name = "selftest timing",
    .synopsis = "",
    .summary = "Measure the measuring on a device: clocks, cold, A/A, coverage",
    .details =
        "Runs kernels of which everything is known: spins of 1 us to 10 ms, the proof that "
        "cold\nis cold (stored, for later cold results), one kernel in many processes. Exit "
        "status 0:\nthe verdict is good, or the device's times are a model's. A device "
        "whose spin of 5 ms\nis more than 10 % off is marked: nothing is measured on it "
        "until this command, or a\nspin before a measurement ten minutes later, finds it "
        "good again.",
    .opt = timing_opts,
    .opt_count = sizeof(timing_opts) / sizeof(timing_opts[0]),
    .run = run_timing,
};
