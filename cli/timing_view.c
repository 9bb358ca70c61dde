#include "cli/timing_view.h"

#include "cli/result_view.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CELL 32

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = obj != NULL ? wf_json_string(wf_json_find(obj, key)) : NULL;
    return s != NULL ? s : "";
}

static double number(const struct wf_json *obj, const char *key)
{
    double d = NAN;
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    return v != NULL && wf_json_as_f64(v, &d) ? d : NAN;
}

static void put(char cell[CELL],
                const char *fmt_text,
                double v,
                double scale,
                int digits)
{
    if (isfinite(v)) {
        (void)snprintf(cell, CELL, "%.*f%s", digits, v * scale, fmt_text);
    } else {
        (void)snprintf(cell, CELL, "-");
    }
}

/* "1755-1980", the range of what is known of an array. */
static void put_range(char cell[CELL], const struct wf_json *array)
{
    double lo = INFINITY;
    double hi = -INFINITY;
    const struct wf_json *v = array != NULL ? wf_json_first(array) : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        double d = NAN;
        if (wf_json_as_f64(v, &d) && isfinite(d)) {
            lo = d < lo ? d : lo;
            hi = d > hi ? d : hi;
        }
    }
    if (lo > hi) {
        (void)snprintf(cell, CELL, "-");
    } else if (hi - lo < 0.5) {
        (void)snprintf(cell, CELL, "%.0f", hi);
    } else {
        (void)snprintf(cell, CELL, "%.0f-%.0f", lo, hi);
    }
}

static void put_times(char cell[2 * CELL], double lo, double hi)
{
    char from[CELL];
    char to[CELL];
    wf_format_time_ns(lo, from, CELL);
    wf_format_time_ns(hi, to, CELL);
    (void)snprintf(cell, (size_t)2 * CELL, isfinite(lo) ? "%s .. %s" : "-", from, to);
}

struct row {
    char samples[CELL], median[CELL], range[2 * CELL], mad[CELL], drift[CELL];
    char correlation[CELL], effective[CELL], clock[CELL], power[CELL], warmup[CELL];
};

static void fill_warmup(const struct wf_json *details, char cell[CELL])
{
    double ns = number(details, "warmup_ns");
    if (isfinite(ns)) {
        (void)snprintf(cell, CELL, "%.12s %.0f ms", text(details, "warmup"), ns / 1e6);
    } else {
        (void)snprintf(cell, CELL, "%.12s", text(details, "warmup"));
    }
}

static void fill(const struct wf_json *result, const struct wf_json *t, struct row *r)
{
    double median = number(t, "median");
    size_t left_out = wf_json_count(wf_json_find(t, "invalid")) +
                      wf_json_count(wf_json_find(t, "flagged"));
    size_t samples = wf_json_count(wf_json_find(t, "samples"));
    (void)snprintf(r->samples, CELL, left_out ? "%zu (%zu out)" : "%zu", samples,
                   left_out);
    wf_format_time_ns(median, r->median, CELL);
    put_times(r->range, number(t, "p05"), number(t, "p95"));
    put(r->mad, " %", number(t, "mad") / median, 100, 2);
    put(r->drift, " %", number(t, "drift"), 100, 2);
    put(r->correlation, "", number(t, "autocorrelation"), 1, 2);
    put(r->effective, "", number(t, "effective_samples"), 1, 0);
    put_range(r->clock, wf_json_find(t, "clock_mhz"));
    put_range(r->power, wf_json_find(t, "power_w"));
    fill_warmup(wf_json_find(result, "details"), r->warmup);
}

void wf_print_timing(const struct wf_json *const *result, size_t count)
{
    static const char *const header[] = { "case",    "kernel",      ">samples",
                                          ">median", ">p05 .. p95", ">mad",
                                          ">drift",  ">lag-1",      ">worth",
                                          ">MHz",    ">W",          "warm-up" };
    struct wf_table *t = wf_table_create(header, sizeof(header) / sizeof(header[0]));
    if (t == NULL) {
        fprintf(stderr, "wavefarm: no memory for the table\n");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct row r;
        const struct wf_json *timing = wf_json_find(result[i], "timing");
        const struct wf_json *task = wf_json_find(result[i], "task");
        if (wf_json_type(timing) != WF_JSON_OBJECT) {
            continue;
        }
        fill(result[i], timing, &r);
        const char *cell[] = { text(task, "case_name"),
                               text(task, "kernel"),
                               r.samples,
                               r.median,
                               r.range,
                               r.mad,
                               r.drift,
                               r.correlation,
                               r.effective,
                               r.clock,
                               r.power,
                               r.warmup };
        wf_table_row(t, cell);
    }
    if (!wf_table_print(t)) {
        fprintf(stderr, "wavefarm: no memory for the whole table\n");
    }
    wf_table_free(t);
}
