/* Results as JSON. A stored body is passed on as it is; samples are put back where they
 * were taken from; a task that ended without a runner's result (LOST, CANCELLED) gets a
 * result of the same schema from its columns. */
#include "coordinator/store_results.h"

#include "core/parse.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RESULT_COLUMNS of statements.def. */
enum column {
    C_TASK,
    C_BODY,
    C_ANSWER,
    C_ANSWER_TEXT,
    C_ATTEMPT,
    C_REPETITION,
    C_CANONICAL,
    C_CASE_ID,
    C_CASE_NAME,
    C_LABEL,
    C_OP,
    C_PACK,
    C_PACK_NAME,
    C_KERNEL,
    C_SELECTOR,
    C_SUITE,
    C_RUN,
    C_SEED_OFFSET,
    C_MATH_TYPE,
    C_FLOPS,
    C_BYTES,
    C_DIGEST,
    C_RECEIVED,
    C_SAMPLES,
    C_CLOCK,
    C_POWER,
    C_TEMPERATURE,
    C_THROTTLE
};

struct text_member {
    const char *key;
    enum column column;
};

static enum wf_status made_task(const struct wf_rows *rows,
                                size_t i,
                                struct wf_json *out,
                                struct wf_error *err)
{
    static const struct text_member members[] = {
        { "id", C_TASK },
        { "case_id", C_CASE_ID },
        { "case_name", C_CASE_NAME },
        { "label", C_LABEL },
        { "op", C_OP },
        { "pack", C_PACK },
        { "pack_name", C_PACK_NAME },
        { "kernel", C_KERNEL },
        { "device_selector", C_SELECTOR },
    };
    struct wf_json *t = wf_json_object();
    enum wf_status s =
        wf_json_set_parsed(t, "case", wf_rows_text(rows, i, C_CANONICAL), err);
    for (size_t m = 0; s == WF_OK && m < sizeof members / sizeof members[0]; m++) {
        s = wf_json_set_string(t, members[m].key,
                               wf_rows_text(rows, i, (int)members[m].column), err);
    }
    s = s == WF_OK
            ? wf_json_set_i64(t, "repetition", wf_rows_i64(rows, i, C_REPETITION), err)
            : s;
    enum wf_status taken = wf_json_set_take(out, "task", t, err);
    return s == WF_OK ? taken : s;
}

/* Members with nothing in them, as the schema wants them. */
static enum wf_status made_rest(struct wf_json *o, struct wf_error *err)
{
    static const char rest[] =
        "{\"mode\":{\"temperature\":\"hot\",\"batch\":0},"
        "\"code\":{\"sha256\":\"\",\"kind\":\"\",\"source\":\"\",\"compiler\":\"\","
        "\"flags\":\"\",\"commit\":\"\",\"dirty\":false},"
        "\"device\":{},\"environment\":{},\"checks\":[],"
        "\"errors\":{\"max_abs\":0,\"max_rel\":0,\"mismatches\":0,\"nonfinite\":0,"
        "\"unwritten\":0,\"worst\":null},"
        "\"tolerance\":{\"model\":\"\",\"text\":\"\"},\"diagnosis\":\"\","
        "\"time\":\"NOT_MEASURED\",\"time_text\":\"nothing was run\",\"timing\":null,"
        "\"phases_ns\":{},\"memory\":{},\"details\":{}}";
    struct wf_json *v = NULL;
    enum wf_status s = wf_json_parse(rest, sizeof rest - 1, "result", &v, err);
    for (const struct wf_json *m = s == WF_OK ? wf_json_first(v) : NULL;
         s == WF_OK && m; m = wf_json_next(m)) {
        s = wf_json_set_copy(o, wf_json_key(m), m, err);
    }
    wf_json_free(v);
    return s;
}

static enum wf_status made_work(const struct wf_rows *rows,
                                size_t i,
                                struct wf_json *o,
                                struct wf_error *err)
{
    struct wf_json *w = wf_json_object();
    enum wf_status s = wf_json_set_f64(w, "flops", wf_rows_f64(rows, i, C_FLOPS), err);
    s = s == WF_OK ? wf_json_set_f64(w, "bytes", wf_rows_f64(rows, i, C_BYTES), err)
                   : s;
    s = s == WF_OK ? wf_json_set_string(w, "math_type",
                                        wf_rows_text(rows, i, C_MATH_TYPE), err)
                   : s;
    s = s == WF_OK ? wf_json_set_i64(w, "peak_flops", 0, err) : s;
    s = s == WF_OK ? wf_json_set_i64(w, "peak_bytes_per_s", 0, err) : s;
    s = s == WF_OK ? wf_json_set_i64(w, "roofline_ns", 0, err) : s;
    enum wf_status taken = wf_json_set_take(o, "work", w, err);
    return s == WF_OK ? taken : s;
}

static enum wf_status made_seeds(const struct wf_rows *rows,
                                 size_t i,
                                 struct wf_json *o,
                                 struct wf_error *err)
{
    struct wf_json *c = NULL;
    struct wf_json *seeds = wf_json_object();
    int64_t seed = 1;
    const char *text = wf_rows_text(rows, i, C_CANONICAL);
    enum wf_status s = wf_json_parse(text, strlen(text), "case", &c, err);
    s = s == WF_OK ? wf_json_opt_i64(c, "seed", INT64_MIN, INT64_MAX, &seed, err) : s;
    s = s == WF_OK ? wf_json_set_i64(seeds, "case", seed, err) : s;
    s = s == WF_OK ? wf_json_set_i64(seeds, "run_offset",
                                     wf_rows_i64(rows, i, C_SEED_OFFSET), err)
                   : s;
    wf_json_free(c);
    enum wf_status taken = wf_json_set_take(o, "seeds", seeds, err);
    return s == WF_OK ? taken : s;
}

static enum wf_status made_result(const struct wf_rows *rows,
                                  size_t i,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "schema", "wavefarm.result/1", err);
    s = s == WF_OK ? wf_json_set_string(o, "kind", "measured", err) : s;
    s = s == WF_OK ? made_task(rows, i, o, err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "suite", wf_rows_text(rows, i, C_SUITE), err)
                   : s;
    s = s == WF_OK ? wf_json_set_string(o, "run", wf_rows_text(rows, i, C_RUN), err)
                   : s;
    s = s == WF_OK ? wf_json_set_i64(o, "attempt", wf_rows_i64(rows, i, C_ATTEMPT), err)
                   : s;
    s = s == WF_OK ? made_seeds(rows, i, o, err) : s;
    s = s == WF_OK
            ? wf_json_set_string(o, "answer", wf_rows_text(rows, i, C_ANSWER), err)
            : s;
    s = s == WF_OK ? wf_json_set_string(o, "answer_text",
                                        wf_rows_text(rows, i, C_ANSWER_TEXT), err)
                   : s;
    s = s == WF_OK ? made_work(rows, i, o, err) : s;
    s = s == WF_OK ? made_rest(o, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    *ret = o;
    return WF_OK;
}

/* --- samples --- */

/* "{1.5,NaN,Infinity}" as a JSON array. */
static enum wf_status array_json(const char *text,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status s =
        list ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for samples");
    const char *at = *text == '{' ? text + 1 : text;
    while (s == WF_OK && *at && *at != '}') {
        char item[48];
        double v = 0;
        size_t n = strcspn(at, ",}");
        snprintf(item, sizeof item, "%.*s", (int)n, at);
        at += n + (at[n] == ',');
        if (strcmp(item, "NaN") == 0) {
            s = wf_json_push_string(list, "nan", err);
        } else if (strstr(item, "Infinity")) {
            s = wf_json_push_string(list, item[0] == '-' ? "-inf" : "inf", err);
        } else {
            s = wf_parse_f64(item, "sample", -DBL_MAX, DBL_MAX, &v, err);
            s = s == WF_OK ? wf_json_push_f64(list, v, err) : s;
        }
    }
    if (s != WF_OK) {
        wf_json_free(list);
        return s;
    }
    *ret = list;
    return WF_OK;
}

static enum wf_status with_samples(const struct wf_json *timing,
                                   const struct wf_rows *rows,
                                   size_t i,
                                   struct wf_json *body,
                                   struct wf_error *err)
{
    static const struct text_member members[] = { { "samples", C_SAMPLES },
                                                  { "clock_mhz", C_CLOCK },
                                                  { "power_w", C_POWER },
                                                  { "temperature_c", C_TEMPERATURE },
                                                  { "throttle", C_THROTTLE } };
    struct wf_json *copy = NULL;
    enum wf_status s = wf_json_copy(timing, &copy, err);
    for (size_t m = 0; s == WF_OK && m < sizeof members / sizeof members[0]; m++) {
        struct wf_json *list = NULL;
        /* A member that the result did not have is not made up; an old row has its
         * temperatures and throttle reasons in the body. */
        if (!wf_json_find(timing, members[m].key) ||
            wf_rows_null(rows, i, (int)members[m].column)) {
            continue;
        }
        s = array_json(wf_rows_text(rows, i, (int)members[m].column), &list, err);
        s = s == WF_OK ? wf_json_set_take(copy, members[m].key, list, err) : s;
    }
    if (s != WF_OK) {
        wf_json_free(copy);
        return s;
    }
    return wf_json_set_take(body, "timing", copy, err);
}

/* Result i as JSON, whole. */
static enum wf_status result_json(const struct wf_rows *rows,
                                  size_t i,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_json *body = NULL;
    if (wf_rows_null(rows, i, C_BODY)) {
        return made_result(rows, i, ret, err);
    }
    const char *text = wf_rows_text(rows, i, C_BODY);
    enum wf_status s = wf_json_parse(text, strlen(text), "stored result", &body, err);
    const struct wf_json *timing = s == WF_OK ? wf_json_find(body, "timing") : NULL;
    if (timing && wf_json_type(timing) == WF_JSON_OBJECT &&
        !wf_rows_null(rows, i, C_SAMPLES)) {
        s = with_samples(timing, rows, i, body, err);
    }
    if (s != WF_OK) {
        wf_json_free(body);
        return s;
    }
    *ret = body;
    return WF_OK;
}

static enum wf_status append_result(const struct wf_rows *rows,
                                    size_t i,
                                    bool samples,
                                    struct wf_buf *out,
                                    struct wf_error *err)
{
    struct wf_json *v = NULL;
    if (!samples && !wf_rows_null(rows, i, C_BODY)) {
        return wf_buf_puts(out, wf_rows_text(rows, i, C_BODY), err);
    }
    enum wf_status s = result_json(rows, i, &v, err);
    s = s == WF_OK ? wf_json_write(v, out, err) : s;
    wf_json_free(v);
    return s;
}

static enum wf_status run_exists(struct wf_db *db, int64_t run, struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    char what[64];
    snprintf(what, sizeof what, "there is no run %" PRId64, run);
    wf_param_i64(&p, run);
    enum wf_status s = wf_db_one(db, WF_STMT_RUN_DAY, &p, what, &rows, err);
    wf_rows_free(rows);
    return s;
}

enum wf_status wf_store_results_page(struct wf_db *db,
                                     const struct wf_results_page *page,
                                     struct wf_buf *out,
                                     struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, page->run);
    wf_param_i64(&p, page->after);
    wf_param_i64(&p, page->limit);
    enum wf_status s = run_exists(db, page->run, err);
    s = s == WF_OK ? wf_db_run(db,
                               page->samples ? WF_STMT_RESULTS_PAGE_SAMPLES
                                             : WF_STMT_RESULTS_PAGE,
                               &p, &rows, err)
                   : s;
    s = s == WF_OK ? wf_buf_printf(out, err, "{\"run\":\"%" PRId64 "\",\"results\":[",
                                   page->run)
                   : s;
    size_t n = s == WF_OK ? wf_rows_count(rows) : 0;
    for (size_t i = 0; s == WF_OK && i < n; i++) {
        s = i > 0 ? wf_buf_puts(out, ",", err) : s;
        s = s == WF_OK ? append_result(rows, i, page->samples, out, err) : s;
    }
    if (s == WF_OK && n == (size_t)page->limit) {
        s = wf_buf_printf(out, err, "],\"next\":\"%s\"}",
                          wf_rows_text(rows, n - 1, C_TASK));
    } else if (s == WF_OK) {
        s = wf_buf_puts(out, "],\"next\":null}", err);
    }
    wf_rows_free(rows);
    return s;
}

/* --- one task --- */

static enum wf_status attempt_json(const struct wf_rows *rows,
                                   size_t i,
                                   struct wf_json *list,
                                   struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_i64(o, "attempt", wf_rows_i64(rows, i, 0), err);
    s = s == WF_OK ? wf_json_set_string(o, "shard", wf_rows_text(rows, i, 1), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "session", wf_rows_text(rows, i, 2), err)
                   : s;
    s = s == WF_OK ? wf_json_set_string(o, "runner", wf_rows_text(rows, i, 3), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "device", wf_rows_text(rows, i, 4), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "leased", wf_rows_text(rows, i, 5), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "elapsed_ms", wf_rows_i64(rows, i, 6), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "outcome", wf_rows_text(rows, i, 7), err)
                   : s;
    s = s == WF_OK ? wf_json_set_string(o, "reason", wf_rows_text(rows, i, 8), err) : s;
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s == WF_OK ? pushed : s;
}

static enum wf_status add_attempts(struct wf_db *db,
                                   int64_t task,
                                   struct wf_json *o,
                                   struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *list = wf_json_array();
    wf_param_i64(&p, task);
    enum wf_status s = wf_db_run(db, WF_STMT_TASK_ATTEMPTS, &p, &rows, err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        s = attempt_json(rows, i, list, err);
    }
    wf_rows_free(rows);
    enum wf_status taken = wf_json_set_take(o, "attempts", list, err);
    return s == WF_OK ? taken : s;
}

static enum wf_status add_result(struct wf_db *db,
                                 int64_t task,
                                 struct wf_json *o,
                                 struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *result = NULL;
    wf_param_i64(&p, task);
    enum wf_status s = wf_db_run(db, WF_STMT_TASK_RESULT, &p, &rows, err);
    if (s == WF_OK && wf_rows_count(rows) == 0) {
        s = wf_json_set_null(o, "result", err);
    } else if (s == WF_OK) {
        s = result_json(rows, 0, &result, err);
        s = s == WF_OK ? wf_json_set_take(o, "result", result, err) : s;
        s = s == WF_OK
                ? wf_json_set_string(o, "digest", wf_rows_text(rows, 0, C_DIGEST), err)
                : s;
        s = s == WF_OK ? wf_json_set_string(o, "received",
                                            wf_rows_text(rows, 0, C_RECEIVED), err)
                       : s;
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status add_head(const struct wf_rows *rows,
                               struct wf_json *o,
                               struct wf_error *err)
{
    static const struct {
        const char *key;
        int column;
    } members[] = { { "task", 0 },    { "run", 1 },       { "state", 2 },
                    { "case_id", 6 }, { "case_name", 7 }, { "label", 8 },
                    { "op", 9 },      { "pack", 10 },     { "kernel", 11 } };
    enum wf_status s = WF_OK;
    for (size_t m = 0; s == WF_OK && m < sizeof members / sizeof members[0]; m++) {
        s = wf_json_set_string(o, members[m].key,
                               wf_rows_text(rows, 0, members[m].column), err);
    }
    s = s == WF_OK
            ? wf_json_set_string(
                  o, "shard",
                  wf_rows_null(rows, 0, 3) ? NULL : wf_rows_text(rows, 0, 3), err)
            : s;
    s = s == WF_OK ? wf_json_set_i64(o, "repetition", wf_rows_i64(rows, 0, 4), err) : s;
    return s == WF_OK ? wf_json_set_parsed(o, "case", wf_rows_text(rows, 0, 5), err)
                      : s;
}

enum wf_status wf_store_task(struct wf_db *db,
                             int64_t task,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *o = wf_json_object();
    char what[64];
    snprintf(what, sizeof what, "there is no task %" PRId64, task);
    wf_param_i64(&p, task);
    enum wf_status s = wf_db_one(db, WF_STMT_TASK_GET, &p, what, &rows, err);
    s = s == WF_OK ? add_head(rows, o, err) : s;
    s = s == WF_OK ? add_attempts(db, task, o, err) : s;
    s = s == WF_OK ? add_result(db, task, o, err) : s;
    wf_rows_free(rows);
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    *ret = o;
    return WF_OK;
}
