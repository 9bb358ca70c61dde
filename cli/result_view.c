#include "cli/result_view.h"

#include "cli/condition_view.h"
#include "cli/error_view.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(wf_json_find(obj, key));
    return s != NULL ? s : "";
}

static double number(const struct wf_json *obj, const char *key)
{
    double d = NAN;
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    return v != NULL && wf_json_as_f64(v, &d) ? d : NAN;
}

void wf_count_result(struct wf_result_counts *c, const struct wf_json *result)
{
    enum wf_answer a = WF_ANSWER_LOST;
    enum wf_time t = WF_TIME_NOT_MEASURED;
    (void)wf_answer_parse(text(result, "answer"), &a);
    (void)wf_time_parse(text(result, "time"), &t);
    c->answer[a]++;
    c->time[t]++;
    c->total++;
}

int wf_counts_exit(const struct wf_result_counts *c, size_t expected)
{
    size_t good = c->answer[WF_ANSWER_PASS];
    size_t skipped = c->answer[WF_ANSWER_NOT_SUPPORTED];
    size_t unfinished = c->answer[WF_ANSWER_CANCELLED] + c->answer[WF_ANSWER_LOST];
    if (c->total > good + skipped + unfinished) {
        return WF_EXIT_BAD;
    }
    if (c->total < expected || unfinished > 0 || good == 0) {
        return WF_EXIT_NO_VERDICT;
    }
    return WF_EXIT_GOOD;
}

static void print_list(const size_t *n, size_t count, const char *(*name)(size_t))
{
    const char *separator = " ";
    for (size_t i = count; i > 0; i--) {
        if (n[i - 1] > 0) {
            printf("%s%zu %s", separator, n[i - 1], name(i - 1));
            separator = ", ";
        }
    }
}

static const char *answer_name(size_t i)
{
    return wf_answer_name((enum wf_answer)i);
}

static const char *time_name(size_t i)
{
    return wf_time_name((enum wf_time)i);
}

void wf_print_counts(const struct wf_result_counts *c, size_t expected)
{
    printf("%zu results:", c->total);
    print_list(c->answer, WF_ANSWER_COUNT, answer_name);
    printf("; time:");
    print_list(c->time, WF_TIME_COUNT, time_name);
    if (c->total < expected) {
        printf("; incomplete: %zu of %zu", c->total, expected);
    }
    printf("\n");
}

void wf_format_time_ns(double ns, char *ret, size_t n)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
    if (!isfinite(ns)) {
        snprintf(ret, n, "-");
        return;
    }
    size_t i = 0;
    while (i < 3 && ns < units[i].unit) {
        i++;
    }
    snprintf(ret, n, "%.4g %s", ns / units[i].unit, units[i].name);
}

struct row {
    char time[32], spread[32], rate[32], roof[32];
};

/* Compute-bound ops show TFLOP/s; those whose least traffic takes longer than their
 * arithmetic at the device's peaks, or at 50 flop a byte where no peak is known, GB/s.
 */
static void fill_rate(const struct wf_json *work, double median_ns, struct row *r)
{
    double flops = number(work, "flops");
    double bytes = number(work, "bytes");
    double peak_flops = number(work, "peak_flops");
    double peak_bytes = number(work, "peak_bytes_per_s");
    double ridge = peak_flops > 0 && peak_bytes > 0 ? peak_flops / peak_bytes : 50;
    double floor_ns = number(work, "roofline_ns");
    double gflops = flops / median_ns;
    if (flops < ridge * bytes) {
        snprintf(r->rate, sizeof(r->rate), "%.4g GB/s", bytes / median_ns);
    } else if (gflops < 1000) {
        snprintf(r->rate, sizeof(r->rate), "%.4g GFLOP/s", gflops);
    } else {
        snprintf(r->rate, sizeof(r->rate), "%.4g TFLOP/s", gflops / 1000);
    }
    if (floor_ns > 0) {
        snprintf(r->roof, sizeof(r->roof), "%.0f %%", 100 * floor_ns / median_ns);
    }
}

static void fill_row(const struct wf_json *result, struct row *r)
{
    const struct wf_json *timing = wf_json_find(result, "timing");
    double median = number(timing, "median");
    *r = (struct row){ "-", "-", "-", "-" };
    if (!isfinite(median) || median <= 0) {
        return;
    }
    wf_format_time_ns(median, r->time, sizeof(r->time));
    snprintf(r->spread, sizeof(r->spread), "%.1f %%",
             100 * (number(timing, "q3") - number(timing, "q1")) / median);
    fill_rate(wf_json_find(result, "work"), median, r);
}

/* A long list of wrong results stays readable: maps of the first ones, unless failures
 * are what was asked for. */
#define MOST_MAPS    4
#define MOST_REASONS 4 /* why nothing ran */

/* The answer's text without what the lines under it say. */
static void print_headline(const struct wf_json *result, bool details)
{
    const struct wf_json *task = wf_json_find(result, "task");
    const char *why = text(result, "answer_text");
    const char *diagnosis = text(result, "diagnosis");
    const char *worst = details ? strstr(why, "; worst ") : NULL;
    const int length = (int)(worst != NULL ? (size_t)(worst - why) : strlen(why));
    const bool likely =
        !details && diagnosis[0] != '\0' && strstr(why, diagnosis) == NULL;
    wf_say("%s / %s: %s%s%.*s%s%s", text(task, "case_name"), text(task, "kernel"),
           text(result, "answer"), length > 0 ? ": " : "", length, why,
           likely ? "; likely: " : "", likely ? diagnosis : "");
}

/* Returns whether a map was printed. */
static bool print_reason(const struct wf_json *result, bool map)
{
    const bool details = wf_has_error_view(result);
    if (strcmp(text(result, "answer"), "PASS") == 0) {
        return false;
    }
    print_headline(result, details);
    if (details) {
        wf_print_error_view(result, map);
    }
    return details && map;
}

/* A kernel that does not do a whole suite says so once. */
static bool was_said(const struct wf_json *const *result, size_t i)
{
    const char *kernel = text(wf_json_find(result[i], "task"), "kernel");
    const char *why = text(result[i], "answer_text");
    if (strcmp(text(result[i], "answer"), "NOT_SUPPORTED") != 0) {
        return false;
    }
    for (size_t k = i; k > 0; k--) {
        const struct wf_json *r = result[k - 1];
        if (strcmp(text(r, "answer"), "NOT_SUPPORTED") == 0 &&
            strcmp(text(r, "answer_text"), why) == 0 &&
            strcmp(text(wf_json_find(r, "task"), "kernel"), kernel) == 0) {
            return true;
        }
    }
    return false;
}

static void add_row(struct wf_table *t, const struct wf_json *result)
{
    struct row r;
    const struct wf_json *task = wf_json_find(result, "task");
    const struct wf_json *device = wf_json_find(result, "device");
    const char *name = text(task, "case_name");
    const char *id = text(device, "id");
    fill_row(result, &r);
    const char *cell[] = {
        name[0] != '\0' ? name : text(task, "label"),
        text(task, "kernel"),
        id[0] != '\0' ? id : text(task, "device_selector"),
        text(result, "answer"),
        text(result, "time"),
        r.time,
        r.spread,
        r.rate,
        r.roof,
    };
    wf_table_row(t, cell);
}

static bool is_answer(const struct wf_json *result, const char *answer)
{
    return strcmp(text(result, "answer"), answer) == 0;
}

static bool is_listed(const struct wf_json *result, enum wf_result_choice choice)
{
    switch (choice) {
    case WF_RESULTS_RAN:
        return !is_answer(result, "NOT_SUPPORTED");
    case WF_RESULTS_FAILED:
        return !is_answer(result, "PASS") && !is_answer(result, "NOT_SUPPORTED");
    case WF_RESULTS_ALL:
        break;
    }
    return true;
}

/* Nothing ran: a table without rows would not say why. Each reason once, with its
 * count. */
static void print_why_nothing_ran(const struct wf_json *const *result, size_t count)
{
    size_t reasons = 0;
    for (size_t i = 0; i < count; i++) {
        const char *why = text(result[i], "answer_text");
        size_t same = 0, before = 0;
        for (size_t k = 0; k < count; k++) {
            const bool equal = strcmp(text(result[k], "answer_text"), why) == 0;
            same += equal;
            before += equal && k < i;
        }
        if (before == 0 && reasons++ < MOST_REASONS) {
            printf("%zu NOT_SUPPORTED: %s\n", same, why);
        }
    }
    if (reasons > MOST_REASONS) {
        printf("%zu other reasons: 'show --all' has them\n", reasons - MOST_REASONS);
    }
}

static void print_left_out(size_t unsupported)
{
    if (unsupported > 0) {
        printf("not listed: %zu NOT_SUPPORTED (the kernel does not do the case); 'show "
               "--all' has them\n",
               unsupported);
    }
}

static struct wf_table *make_table(void)
{
    static const char *const header[] = { "case",    "kernel", "device",
                                          "answer",  "time",   ">median",
                                          ">spread", ">rate",  ">of roofline" };
    return wf_table_create(header, sizeof(header) / sizeof(header[0]));
}

void wf_print_results(const struct wf_json *const *result,
                      size_t count,
                      enum wf_result_choice choice)
{
    size_t unsupported = 0;
    size_t maps = 0;
    size_t listed = 0;
    struct wf_table *t = make_table();
    if (t == NULL) {
        fprintf(stderr, "wavefarm: no memory for the table\n");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        unsupported += is_answer(result[i], "NOT_SUPPORTED");
        if (is_listed(result[i], choice)) {
            add_row(t, result[i]);
            listed++;
        }
    }
    if (choice == WF_RESULTS_RAN && listed == 0 && unsupported > 0) {
        print_why_nothing_ran(result, count);
    } else if (!wf_table_print(t)) {
        fprintf(stderr, "wavefarm: no memory for the whole table\n");
    }
    wf_table_free(t);
    for (size_t i = 0; i < count; i++) {
        if (is_listed(result[i], choice) && !was_said(result, i)) {
            maps += print_reason(result[i],
                                 choice == WF_RESULTS_FAILED || maps < MOST_MAPS);
        }
    }
    if (maps == MOST_MAPS && choice != WF_RESULTS_FAILED) {
        printf("maps of the first %d wrong results only; 'show --failed' has all\n",
               MOST_MAPS);
    }
    if (choice == WF_RESULTS_FAILED || (choice == WF_RESULTS_RAN && listed > 0)) {
        print_left_out(unsupported);
    }
    if (choice != WF_RESULTS_FAILED) {
        wf_print_conditions(result, count);
    }
}

enum wf_status wf_print_results_json(const struct wf_json *const *result,
                                     size_t count,
                                     struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < count && status == WF_OK; i++) {
        struct wf_json *copy = NULL;
        status = wf_json_copy(result[i], &copy, err);
        if (status == WF_OK) {
            status = wf_json_push_take(list, copy, err);
        }
    }
    if (status == WF_OK) {
        status = wf_print_json(list, err);
    }
    wf_json_free(list);
    return status;
}
