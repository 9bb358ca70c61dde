/* Builds a result's JSON from what the judge found. One shape for every outcome:
 * members that have nothing to say are empty, 0 or null, never absent. */
#include "runner/result.h"

#include "core/buf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs `call` unless something failed before. */
#define STEP(call)         \
    do {                   \
        if (st == WF_OK) { \
            st = (call);   \
        }                  \
    } while (0)

/* What the samples were to reach: a width means little without it. */
static enum wf_status set_asked(const struct wf_measure_options *m,
                                struct wf_json *details,
                                struct wf_error *err)
{
    if (!m->measure || m->ci_target == 0) { /* 0: it never came to be asked */
        return WF_OK;
    }
    struct wf_json *asked = wf_json_object();
    enum wf_status st = wf_json_set_f64(asked, "ci_target", m->ci_target, err);
    st = st == WF_OK ? wf_json_set_i64(asked, "budget_ns", m->budget_ns, err) : st;
    st = st == WF_OK ? wf_json_set_i64(asked, "min_samples", m->min_samples, err) : st;
    st = st == WF_OK ? wf_json_set_i64(asked, "max_samples", m->max_samples, err) : st;
    enum wf_status took = wf_json_set_take(details, "asked", asked, err);
    return st != WF_OK ? st : took;
}

enum wf_status result_init(struct result *r,
                           const struct wf_execute_request *request,
                           struct wf_error *err)
{
    memset(r, 0, sizeof(*r));
    r->request = request;
    r->answer = WF_ANSWER_PASS;
    r->time = WF_TIME_NOT_MEASURED;
    r->code_kind = "";
    r->code_sha256 = "";
    r->source = "";
    r->timing.host_ratio = (double)NAN;
    r->details = wf_json_object();
    return r->details ? set_asked(&request->measure, r->details, err)
                      : wf_errorf(err, WF_ENOMEM, "no memory for a result");
}

void result_fini(struct result *r)
{
    free(r->timing.sample);
    wf_json_free(r->provenance);
    wf_json_free(r->placement);
    wf_json_free(r->details);
}

void result_answer(struct result *r, enum wf_answer answer, const char *fmt, ...)
{
    va_list args;
    if (r->answer != WF_ANSWER_PASS &&
        wf_answer_worse(r->answer, answer) == r->answer) {
        return;
    }
    r->answer = answer;
    va_start(args, fmt);
    (void)vsnprintf(r->answer_text, sizeof(r->answer_text), fmt, args);
    va_end(args);
}

void result_time(struct result *r, enum wf_time time, const char *fmt, ...)
{
    va_list args;
    r->time = time;
    va_start(args, fmt);
    (void)vsnprintf(r->time_text, sizeof(r->time_text), fmt, args);
    va_end(args);
}

static const char *text(const char *s)
{
    return s ? s : "";
}

/* Takes `child` in any case. */
static enum wf_status set_built(struct wf_json *obj,
                                const char *key,
                                struct wf_json *child,
                                struct wf_error *err)
{
    return wf_json_set_take(obj, key, child, err);
}

/* The case as an object: canonical where it parsed, else as it was given, else null. */
static enum wf_status set_case(const struct result *r,
                               struct wf_json *obj,
                               struct wf_error *err)
{
    struct wf_json *parsed = NULL;
    const char *json = r->c.canonical ? r->c.canonical : r->request->case_json;
    if (!json || wf_json_parse(json, strlen(json), "case", &parsed, NULL) != WF_OK) {
        return wf_json_set_null(obj, "case", err);
    }
    return set_built(obj, "case", parsed, err);
}

/* The op's name of a case that may not have parsed. */
static const char *case_op(const struct result *r, const struct wf_json *task)
{
    const char *op = NULL;
    const struct wf_json *c = wf_json_find(task, "case");
    if (r->c.op) {
        return r->c.op;
    }
    if (c && wf_json_type(c) == WF_JSON_OBJECT) {
        (void)wf_json_get_string(c, "op", &op, NULL);
    }
    return text(op);
}

static enum wf_status task_to_json(const struct result *r,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    char selector[32];
    const struct wf_execute_request *q = r->request;
    struct wf_json *obj = wf_json_object();
    (void)snprintf(selector, sizeof(selector), "%s:%d", q->device->runtime,
                   q->device->ordinal);
    enum wf_status st = wf_json_set_string(obj, "id", text(q->task_id), err);
    STEP(set_case(r, obj, err));
    STEP(wf_json_set_string(obj, "case_id", text(r->c.id ? r->c.id : q->case_id), err));
    STEP(wf_json_set_string(obj, "case_name", text(q->case_name), err));
    STEP(wf_json_set_string(obj, "label", text(r->c.label), err));
    STEP(wf_json_set_string(obj, "op", case_op(r, obj), err));
    STEP(wf_json_set_string(obj, "pack", text(q->pack_id), err));
    STEP(wf_json_set_string(obj, "pack_name", text(r->pack_name), err));
    STEP(wf_json_set_string(obj, "kernel", text(q->kernel), err));
    STEP(wf_json_set_string(obj, "device_selector", selector, err));
    STEP(wf_json_set_i64(obj, "repetition", q->repetition, err));
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static const char *find_text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj ? wf_json_find(obj, key) : NULL;
    return v ? text(wf_json_string(v)) : "";
}

/* Adds a list of texts with blanks between them. */
static enum wf_status join_texts(const struct wf_json *list,
                                 struct wf_buf *ret,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    size_t n = list && wf_json_type(list) == WF_JSON_ARRAY ? wf_json_count(list) : 0;
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        st = wf_buf_printf(ret, err, "%s%s", i > 0 ? " " : "",
                           text(wf_json_string(wf_json_at(list, i))));
    }
    return st;
}

static enum wf_status code_to_json(const struct result *r,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    const struct wf_json *all =
        r->provenance ? wf_json_find(r->provenance, "kernels") : NULL;
    const struct wf_json *mine =
        all ? wf_json_find(all, text(r->request->kernel)) : NULL;
    const struct wf_json *dirty =
        r->provenance ? wf_json_find(r->provenance, "dirty") : NULL;
    struct wf_buf flags = WF_BUF_INIT;
    char compiler[160];
    bool is_dirty = false;
    if (dirty) {
        (void)wf_json_as_bool(dirty, &is_dirty);
    }
    const char *version = find_text(mine, "compiler_version");
    (void)snprintf(compiler, sizeof(compiler), "%.70s%s%.80s",
                   find_text(mine, "compiler"), version[0] ? " " : "", version);
    enum wf_status st = wf_json_set_string(obj, "sha256", r->code_sha256, err);
    STEP(wf_json_set_string(obj, "kind", r->code_kind, err));
    STEP(wf_json_set_string(obj, "source", r->source, err));
    STEP(wf_json_set_string(obj, "compiler", compiler, err));
    STEP(join_texts(mine ? wf_json_find(mine, "flags") : NULL, &flags, err));
    STEP(wf_json_set_string(obj, "flags", wf_buf_cstr(&flags), err));
    STEP(wf_json_set_string(obj, "commit", find_text(r->provenance, "commit"), err));
    STEP(wf_json_set_bool(obj, "dirty", is_dirty, err));
    wf_buf_free(&flags);
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static enum wf_status check_to_json(const struct wf_check *c,
                                    struct wf_json **ret,
                                    struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_string(obj, "name", c->name, err);
    STEP(wf_json_set_bool(obj, "passed", c->passed, err));
    STEP(wf_json_set_u64(obj, "elements", c->elements, err));
    STEP(wf_json_set_f64(obj, "worst_ratio", c->worst_ratio, err));
    STEP(wf_json_set_f64(obj, "smallest_caught", c->smallest_caught, err));
    STEP(wf_json_set_u64(obj, "seed", c->seed, err));
    STEP(wf_json_set_string(obj, "note", c->note, err));
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static enum wf_status set_checks(const struct result *r,
                                 struct wf_json *result,
                                 struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && r->has_report && i < r->report.check_count; i++) {
        struct wf_json *check = NULL;
        st = check_to_json(&r->report.check[i], &check, err);
        STEP(wf_json_push_take(list, check, err));
    }
    enum wf_status took = set_built(result, "checks", list, err);
    return st == WF_OK ? took : st;
}

static enum wf_status work_to_json(const struct result *r,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_f64(obj, "flops", r->c.flops, err);
    STEP(wf_json_set_f64(obj, "bytes", r->c.bytes, err));
    STEP(wf_json_set_string(obj, "math_type", text(r->c.math_type), err));
    STEP(wf_json_set_f64(obj, "peak_flops", r->peak_flops, err));
    STEP(wf_json_set_f64(obj, "peak_bytes_per_s", r->peak_bytes_per_s, err));
    STEP(wf_json_set_f64(obj, "roofline_ns", r->roofline_ns, err));
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

/* The members that are objects of numbers or texts, each built in one place. */
static enum wf_status set_small_objects(const struct result *r,
                                        struct wf_json *result,
                                        struct wf_error *err)
{
    struct wf_json *mode = wf_json_object();
    enum wf_status st = set_built(result, "mode", mode, err);
    STEP(wf_json_set_string(mode, "temperature",
                            r->request->measure.cold ? "cold" : "hot", err));
    STEP(wf_json_set_string(mode, "icache",
                            r->request->measure.icache_cold ? "cold" : "hot", err));
    STEP(wf_json_set_u64(mode, "batch", r->timing.launches_per_sample, err));
    struct wf_json *seeds = wf_json_object();
    enum wf_status took = set_built(result, "seeds", seeds, err);
    STEP(took);
    STEP(wf_json_set_u64(seeds, "case", r->c.seed, err));
    STEP(wf_json_set_u64(seeds, "run_offset", r->request->seed_offset, err));
    struct wf_json *tolerance = wf_json_object();
    took = set_built(result, "tolerance", tolerance, err);
    STEP(took);
    STEP(wf_json_set_string(tolerance, "model", r->report.tolerance_model, err));
    STEP(wf_json_set_string(tolerance, "text", r->report.tolerance_text, err));
    STEP(result_set_tolerance_inputs(&r->report, tolerance, err));
    return st;
}

static enum wf_status set_numbers(const struct result *r,
                                  struct wf_json *result,
                                  struct wf_error *err)
{
    const struct result_phases *p = &r->phases;
    struct wf_json *phases = wf_json_object();
    enum wf_status st = set_built(result, "phases_ns", phases, err);
    STEP(wf_json_set_i64(phases, "prepare", p->prepare, err));
    STEP(wf_json_set_i64(phases, "reference", p->reference, err));
    STEP(wf_json_set_i64(phases, "judge", p->judge, err));
    STEP(wf_json_set_i64(phases, "measure", p->measure, err));
    STEP(wf_json_set_i64(phases, "total", p->total, err));
    struct wf_json *memory = wf_json_object();
    enum wf_status took = set_built(result, "memory", memory, err);
    STEP(took);
    STEP(wf_json_set_u64(memory, "judge_peak_bytes", r->judge_peak_bytes, err));
    STEP(wf_json_set_u64(memory, "subject_peak_bytes", r->subject_peak_bytes, err));
    STEP(wf_json_set_u64(memory, "case_bytes", r->case_bytes, err));
    STEP(wf_json_set_u64(memory, "reference_bytes", r->reference_bytes, err));
    return st;
}

/* Sets a member from a function that builds it. */
#define BUILD(key, call)                       \
    do {                                       \
        struct wf_json *child = NULL;          \
        STEP(call);                            \
        STEP(set_built(obj, key, child, err)); \
    } while (0)

static enum wf_status set_verdict(const struct result *r,
                                  struct wf_json *obj,
                                  struct wf_error *err)
{
    enum wf_status st =
        wf_json_set_string(obj, "answer", wf_answer_name(r->answer), err);
    STEP(wf_json_set_string(obj, "answer_text", r->answer_text, err));
    STEP(set_checks(r, obj, err));
    BUILD("errors", result_errors_to_json(&r->report, &child, err));
    STEP(result_set_peers(&r->report, obj, err));
    STEP(wf_json_set_string(obj, "diagnosis", r->report.diagnosis, err));
    STEP(wf_json_set_string(obj, "time", wf_time_name(r->time), err));
    STEP(wf_json_set_string(obj, "time_text", r->time_text, err));
    if (r->timing.source) {
        BUILD("timing", result_timing_to_json(&r->timing, &child, err));
    } else {
        STEP(wf_json_set_null(obj, "timing", err));
    }
    return st;
}

enum wf_status result_to_json(const struct result *r,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_string(obj, "schema", "wavefarm.result/1", err);
    STEP(wf_json_set_string(obj, "kind", "measured", err));
    BUILD("task", task_to_json(r, &child, err));
    STEP(wf_json_set_string(obj, "suite", "", err));
    STEP(wf_json_set_string(obj, "run", "", err));
    STEP(wf_json_set_i64(obj, "attempt", r->request->attempt ? r->request->attempt : 1,
                         err));
    STEP(set_small_objects(r, obj, err));
    BUILD("code", code_to_json(r, &child, err));
    BUILD("device", wf_device_to_json(r->request->device, &child, err));
    BUILD("environment",
          result_environment_to_json(r->request->device, r->placement, &child, err));
    STEP(set_verdict(r, obj, err));
    BUILD("work", work_to_json(r, &child, err));
    STEP(set_numbers(r, obj, err));
    STEP(wf_json_set_copy(obj, "details", r->details, err));
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

enum wf_status wf_result_without_run(const struct wf_execute_request *request,
                                     const char *answer,
                                     const char *detail,
                                     struct wf_json **ret_result,
                                     struct wf_error *err)
{
    struct result r;
    enum wf_answer parsed;
    if (!wf_answer_parse(answer, &parsed) || parsed == WF_ANSWER_PASS) {
        return wf_errorf(err, WF_EINVAL,
                         "'%s' is not the answer of a task that did not "
                         "run",
                         answer);
    }
    enum wf_status st = result_init(&r, request, err);
    if (st == WF_OK) {
        result_answer(&r, parsed, "%s", detail);
        st = result_to_json(&r, ret_result, err);
    }
    result_fini(&r);
    return st;
}
