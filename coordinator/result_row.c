/* Reads a result for the store. Strict in what the store itself relies on; members that
 * only readers look at are kept as they are.
 *
 * Invariant: a result that is not PASS has no typed time, whatever its body says. */
#include "coordinator/result_row.h"

#include "coordinator/db.h"
#include "coordinator/run_request.h"
#include "core/verdict.h"

#include <math.h>
#include <string.h>

#define MAX_SAMPLES 100000

static const char *const figure_keys[WF_FIGURE_COUNT] = { "median", "mad",  "min",
                                                          "max",    "q1",   "q3",
                                                          "ci_lo",  "ci_hi" };
static enum wf_status opt_number(const struct wf_json *o,
                                 const char *key,
                                 double *ret,
                                 struct wf_error *err)
{
    const struct wf_json *v = wf_json_find(o, key);
    *ret = NAN;
    if (!v || wf_json_type(v) == WF_JSON_NULL) {
        return WF_OK;
    }
    return wf_json_get_f64(o, key, ret, err);
}

static enum wf_status opt_object(const struct wf_json *o,
                                 const char *key,
                                 const struct wf_json **ret,
                                 struct wf_error *err)
{
    *ret = wf_json_find(o, key);
    if (*ret && wf_json_type(*ret) == WF_JSON_NULL) {
        *ret = NULL;
    }
    return *ret ? wf_json_get_object(o, key, ret, err) : WF_OK;
}

static enum wf_status read_task(const struct wf_json *result,
                                struct wf_result_row *r,
                                struct wf_error *err)
{
    const struct wf_json *task = NULL;
    r->case_name = r->pack = r->pack_name = r->label = r->op = "";
    enum wf_status s = wf_json_get_object(result, "task", &task, err);
    s = s == WF_OK ? wf_json_get_object(task, "case", &r->case_json, err) : s;
    s = s == WF_OK ? wf_json_get_string(task, "case_id", &r->case_id, err) : s;
    s = s == WF_OK ? wf_json_get_string(task, "kernel", &r->kernel, err) : s;
    s = s == WF_OK ? wf_json_opt_string(task, "case_name", &r->case_name, err) : s;
    s = s == WF_OK ? wf_json_opt_string(task, "label", &r->label, err) : s;
    s = s == WF_OK ? wf_json_opt_string(task, "op", &r->op, err) : s;
    s = s == WF_OK ? wf_json_opt_string(task, "pack", &r->pack, err) : s;
    s = s == WF_OK ? wf_json_opt_string(task, "pack_name", &r->pack_name, err) : s;
    s = s == WF_OK
            ? wf_json_opt_i64(task, "repetition", 0, INT32_MAX, &r->repetition, err)
            : s;
    return s == WF_OK ? WF_OK : wf_error_prefix(err, "task");
}

static enum wf_status read_verdict(const struct wf_json *result,
                                   struct wf_result_row *r,
                                   struct wf_error *err)
{
    enum wf_answer answer;
    enum wf_time time;
    r->answer_text = r->suite = "";
    r->attempt = 1;
    enum wf_status s = wf_json_get_string(result, "kind", &r->kind, err);
    s = s == WF_OK ? wf_json_get_string(result, "answer", &r->answer, err) : s;
    s = s == WF_OK ? wf_json_get_string(result, "time", &r->time, err) : s;
    s = s == WF_OK ? wf_json_opt_string(result, "answer_text", &r->answer_text, err)
                   : s;
    s = s == WF_OK ? wf_json_opt_string(result, "suite", &r->suite, err) : s;
    s = s == WF_OK ? wf_json_opt_i64(result, "attempt", 0, INT16_MAX, &r->attempt, err)
                   : s;
    if (s == WF_OK && strcmp(r->kind, "measured") != 0 &&
        strcmp(r->kind, "imported") != 0) {
        s = wf_errorf(err, WF_EINVAL, "kind must be measured or imported, not '%.40s'",
                      r->kind);
    }
    if (s == WF_OK && !wf_answer_parse(r->answer, &answer)) {
        s = wf_errorf(err, WF_EINVAL, "unknown answer '%.40s'", r->answer);
    }
    if (s == WF_OK && !wf_time_parse(r->time, &time)) {
        s = wf_errorf(err, WF_EINVAL, "unknown time '%.40s'", r->time);
    }
    return s;
}

/* An array of numbers; "nan" and "inf" are numbers here. *ret_n: how many. */
static enum wf_status check_numbers(const struct wf_json *timing,
                                    const char *key,
                                    int64_t *ret_n,
                                    struct wf_error *err)
{
    const struct wf_json *list = wf_json_find(timing, key);
    enum wf_status s = list ? wf_json_get_array(timing, key, &list, err) : WF_OK;
    *ret_n = 0;
    if (s == WF_OK && list && wf_json_count(list) > MAX_SAMPLES) {
        s = wf_errorf(err, WF_EINVAL, "%s has more than %d items", key, MAX_SAMPLES);
    }
    for (const struct wf_json *v = s == WF_OK && list ? wf_json_first(list) : NULL;
         s == WF_OK && v; v = wf_json_next(v)) {
        double x = 0;
        if (!wf_json_as_f64(v, &x)) {
            s = wf_errorf(err, WF_EINVAL, "%s[%lld] is no number", key,
                          (long long)*ret_n);
        }
        ++*ret_n;
    }
    return s;
}

static enum wf_status read_timing(const struct wf_json *result,
                                  struct wf_result_row *r,
                                  struct wf_error *err)
{
    const struct wf_json *timing = NULL;
    const char *unit = "ns";
    int64_t other = 0;
    for (size_t i = 0; i < WF_FIGURE_COUNT; i++) {
        r->figure[i] = NAN;
    }
    enum wf_status s = opt_object(result, "timing", &timing, err);
    if (s != WF_OK || !timing) {
        return s;
    }
    s = wf_json_opt_string(timing, "unit", &unit, err);
    bool timed = strcmp(r->answer, "PASS") == 0 && strcmp(unit, "ns") == 0;
    for (size_t i = 0; s == WF_OK && i < WF_FIGURE_COUNT; i++) {
        double v = NAN;
        s = opt_number(timing, figure_keys[i], &v, err);
        r->figure[i] = timed ? v : NAN;
    }
    s = s == WF_OK ? check_numbers(timing, "samples", &r->sample_count, err) : s;
    s = s == WF_OK ? check_numbers(timing, "clock_mhz", &other, err) : s;
    s = s == WF_OK ? check_numbers(timing, "power_w", &other, err) : s;
    s = s == WF_OK ? check_numbers(timing, "temperature_c", &other, err) : s;
    s = s == WF_OK ? check_numbers(timing, "throttle", &other, err) : s;
    return s == WF_OK ? WF_OK : wf_error_prefix(err, "timing");
}

static enum wf_status read_work(const struct wf_json *result,
                                struct wf_result_row *r,
                                struct wf_error *err)
{
    const struct wf_json *work = NULL;
    const struct wf_json *phases = NULL;
    const struct wf_json *mode = NULL;
    const char *temperature = "hot";
    r->math_type = "";
    r->flops = r->bytes = r->peak_flops = r->peak_bytes_per_s = NAN;
    r->roofline_ns = r->total_ns = NAN;
    enum wf_status s = opt_object(result, "work", &work, err);
    if (s == WF_OK && work) {
        s = opt_number(work, "flops", &r->flops, err);
        s = s == WF_OK ? opt_number(work, "bytes", &r->bytes, err) : s;
        s = s == WF_OK ? opt_number(work, "peak_flops", &r->peak_flops, err) : s;
        s = s == WF_OK ? opt_number(work, "peak_bytes_per_s", &r->peak_bytes_per_s, err)
                       : s;
        s = s == WF_OK ? opt_number(work, "roofline_ns", &r->roofline_ns, err) : s;
        s = s == WF_OK ? wf_json_opt_string(work, "math_type", &r->math_type, err) : s;
    }
    s = s == WF_OK ? opt_object(result, "phases_ns", &phases, err) : s;
    s = s == WF_OK && phases ? opt_number(phases, "total", &r->total_ns, err) : s;
    s = s == WF_OK ? opt_object(result, "mode", &mode, err) : s;
    s = s == WF_OK && mode ? wf_json_opt_string(mode, "temperature", &temperature, err)
                           : s;
    r->cold = strcmp(temperature, "cold") == 0;
    return s;
}

static enum wf_status read_device(const struct wf_json *result,
                                  struct wf_result_row *r,
                                  struct wf_error *err)
{
    const struct wf_json *d = NULL;
    const char *arch = "";
    r->device_id = r->device_name = r->device_model = r->runtime = "";
    enum wf_status s = opt_object(result, "device", &d, err);
    if (s != WF_OK || !d) {
        return s;
    }
    s = wf_json_opt_string(d, "id", &r->device_id, err);
    s = s == WF_OK ? wf_json_opt_string(d, "name", &r->device_name, err) : s;
    s = s == WF_OK ? wf_json_opt_string(d, "model", &r->device_model, err) : s;
    s = s == WF_OK ? wf_json_opt_string(d, "runtime", &r->runtime, err) : s;
    s = s == WF_OK ? wf_json_opt_string(d, "arch", &arch, err) : s;
    if (s == WF_OK && !wf_arch_base(arch, r->device_arch, sizeof r->device_arch)) {
        s = wf_errorf(err, WF_EINVAL, "arch '%.80s' is too long", arch);
    }
    return s == WF_OK ? WF_OK : wf_error_prefix(err, "device");
}

/* Digest, body and samples from one canonical text. */
static enum wf_status write_body(const struct wf_json *result,
                                 const char *task_id,
                                 const char *run,
                                 struct wf_result_row *r,
                                 struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status s = wf_json_write_canonical(result, &text, err);
    if (s == WF_OK) {
        wf_sha256_hex(text.data, text.len, r->digest);
        s = wf_result_text_split(text.data, task_id, run, &r->body, r->array, err);
    }
    wf_buf_free(&text);
    return s;
}

enum wf_status wf_result_row_read(const struct wf_json *result,
                                  const char *task_id,
                                  const char *run,
                                  struct wf_result_row *ret,
                                  struct wf_error *err)
{
    const char *schema = NULL;
    memset(ret, 0, sizeof *ret);
    if (wf_json_type(result) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "a result must be an object");
    }
    enum wf_status s = wf_json_get_string(result, "schema", &schema, err);
    if (s == WF_OK && strcmp(schema, "wavefarm.result/1") != 0) {
        s = wf_errorf(err, WF_EINVAL, "schema must be wavefarm.result/1, not '%.60s'",
                      schema);
    }
    s = s == WF_OK ? read_task(result, ret, err) : s;
    s = s == WF_OK ? read_verdict(result, ret, err) : s;
    s = s == WF_OK ? read_timing(result, ret, err) : s;
    s = s == WF_OK ? read_work(result, ret, err) : s;
    s = s == WF_OK ? read_device(result, ret, err) : s;
    return s == WF_OK ? write_body(result, task_id, run, ret, err) : s;
}

void wf_result_row_free(struct wf_result_row *row)
{
    wf_buf_free(&row->body);
    for (size_t i = 0; i < WF_ARRAY_COUNT; i++) {
        wf_buf_free(&row->array[i]);
    }
}

enum wf_status wf_result_row_copy(const struct wf_result_row *r,
                                  struct wf_buf *line,
                                  struct wf_error *err)
{
    const double work[] = { r->peak_flops, r->peak_bytes_per_s, r->roofline_ns,
                            r->total_ns };
    const char *const texts[] = { r->device_id,         r->device_name,
                                  r->device_model,      r->device_arch,
                                  r->runtime,           r->cold ? "t" : "f",
                                  wf_buf_cstr(&r->body) };
    enum wf_status s = wf_copy_text(line, r->kind, err);
    s = s == WF_OK ? wf_copy_text(line, r->answer, err) : s;
    s = s == WF_OK ? wf_copy_text(line, r->answer_text, err) : s;
    s = s == WF_OK ? wf_copy_text(line, r->time, err) : s;
    for (size_t i = 0; s == WF_OK && i < WF_FIGURE_COUNT; i++) {
        s = wf_copy_f64(line, r->figure[i], err);
    }
    s = s == WF_OK ? wf_copy_i64(line, r->sample_count, err) : s;
    s = s == WF_OK ? wf_copy_f64(line, r->flops, err) : s;
    s = s == WF_OK ? wf_copy_f64(line, r->bytes, err) : s;
    s = s == WF_OK ? wf_copy_text(line, r->math_type, err) : s;
    for (size_t i = 0; s == WF_OK && i < sizeof work / sizeof work[0]; i++) {
        s = wf_copy_f64(line, work[i], err);
    }
    for (size_t i = 0; s == WF_OK && i < sizeof texts / sizeof texts[0]; i++) {
        s = wf_copy_text(line, texts[i], err);
    }
    return s;
}

enum wf_status wf_result_row_copy_samples(const struct wf_result_row *r,
                                          struct wf_buf *line,
                                          struct wf_error *err)
{
    bool any = r->array[WF_ARRAY_samples].len > 0;
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < WF_ARRAY_COUNT; i++) {
        const struct wf_buf *a = &r->array[i];
        s = wf_copy_text(line, !any ? NULL : a->len ? wf_buf_cstr(a) : "{}", err);
    }
    return s;
}
