/* Reading a tuning table, strictly. */
#include "tune/table.h"

#include "core/sha256.h"
#include "gate/record.h"
#include "tune/model.h"
#include "tune/tournament.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const table_keys[] = { "schema", "op",    "arch",       "basis",
                                          "suite",  "seed",  "margin",     "alpha",
                                          "steps",  "cases", "provenance", NULL };
static const char *const case_keys[] = { "name", "id",         "case",  "winner",
                                         "why",  "candidates", "gates", NULL };
static const char *const candidate_keys[] = {
    "kernel", "pack", "variant", "knobs", "rank",    "start",   "incumbent",
    "cycles", "fill", "time_ns", "model", "problem", "figures", NULL
};
static const char *const gate_keys[] = { "champion", "challenger", "alpha",  "outcome",
                                         "verdict",  "effect",     "low",    "high",
                                         "d0",       "blocks",     "record", "sha256",
                                         NULL };
static const char *const problem_keys[] = { "workgroups", "length",   "split",
                                            "bytes",      "cu_count", NULL };

static enum wf_status object(const struct wf_json *v, struct wf_error *err)
{
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT
               ? WF_OK
               : wf_errorf(err, WF_EINVAL, "an object is expected");
}

static enum wf_status check_problem(const struct wf_json *p, struct wf_error *err)
{
    const struct wf_json *list = NULL;
    double unused = 0;
    enum wf_status st = wf_json_only_keys(p, problem_keys, err);
    st = st == WF_OK ? wf_json_get_array(p, "workgroups", &list, err) : st;
    st = st == WF_OK ? wf_json_get_f64(p, "length", &unused, err) : st;
    st = st == WF_OK ? wf_json_get_f64(p, "split", &unused, err) : st;
    st = st == WF_OK ? wf_json_get_f64(p, "bytes", &unused, err) : st;
    return st == WF_OK ? wf_json_get_f64(p, "cu_count", &unused, err) : st;
}

static enum wf_status check_model(const struct wf_json *c, struct wf_error *err)
{
    struct wf_tune_model m;
    const struct wf_json *problem = NULL;
    const struct wf_json *model = wf_json_find(c, "model");
    enum wf_status st = model != NULL ? wf_tune_model_parse(model, &m, err) : WF_OK;
    if (st == WF_OK && model != NULL) {
        st = wf_json_get_object(c, "problem", &problem, err);
        st = st == WF_OK ? check_problem(problem, err) : st;
    }
    return st;
}

static enum wf_status check_candidate(const struct wf_json *c, struct wf_error *err)
{
    const char *text = NULL;
    const struct wf_json *knobs = NULL;
    int64_t rank = 0;
    double cycles = 0;
    bool flag = false;
    enum wf_status st = object(c, err);
    st = st == WF_OK ? wf_json_only_keys(c, candidate_keys, err) : st;
    st = st == WF_OK ? wf_json_get_string(c, "kernel", &text, err) : st;
    st = st == WF_OK ? wf_json_get_string(c, "pack", &text, err) : st;
    if (st == WF_OK && !wf_sha256_is_hex(text)) {
        st = wf_errorf(err, WF_EINVAL, "pack: '%.80s' is no pack id", text);
    }
    st = st == WF_OK ? wf_json_opt_string(c, "variant", &text, err) : st;
    st = st == WF_OK ? wf_json_get_object(c, "knobs", &knobs, err) : st;
    st = st == WF_OK ? wf_json_get_i64(c, "rank", 0, INT32_MAX, &rank, err) : st;
    st = st == WF_OK ? wf_json_opt_bool(c, "incumbent", &flag, err) : st;
    st = st == WF_OK ? wf_json_opt_bool(c, "start", &flag, err) : st;
    st = st == WF_OK ? wf_json_opt_f64(c, "cycles", &cycles, err) : st;
    return st == WF_OK ? check_model(c, err) : st;
}

static enum wf_status check_gate(const struct wf_json *g,
                                 size_t candidates,
                                 struct wf_error *err)
{
    const int64_t last = candidates > 0 ? (int64_t)candidates - 1 : 0;
    const char *text = NULL;
    int64_t at = 0;
    double alpha = 0;
    enum wf_tune_outcome o;
    enum wf_status st = object(g, err);
    st = st == WF_OK ? wf_json_only_keys(g, gate_keys, err) : st;
    st = st == WF_OK ? wf_json_get_i64(g, "champion", 0, last, &at, err) : st;
    st = st == WF_OK ? wf_json_get_i64(g, "challenger", 0, last, &at, err) : st;
    st = st == WF_OK ? wf_json_get_f64(g, "alpha", &alpha, err) : st;
    st = st == WF_OK ? wf_json_get_string(g, "record", &text, err) : st;
    st = st == WF_OK ? wf_json_get_string(g, "sha256", &text, err) : st;
    st = st == WF_OK ? wf_json_get_string(g, "outcome", &text, err) : st;
    if (st == WF_OK && !wf_tune_outcome_parse(text, &o)) {
        st = wf_errorf(err, WF_EINVAL, "outcome: '%.60s' is none", text);
    }
    return st;
}

static enum wf_status check_list(const struct wf_json *c,
                                 const char *key,
                                 size_t *ret_count,
                                 const struct wf_json **ret,
                                 struct wf_error *err)
{
    enum wf_status st = wf_json_get_array(c, key, ret, err);
    *ret_count = st == WF_OK ? wf_json_count(*ret) : 0;
    return st;
}

static enum wf_status check_case(const struct wf_json *c, struct wf_error *err)
{
    const struct wf_json *list = NULL, *gates = NULL, *unused = NULL;
    const char *text = NULL;
    size_t n = 0, gate_count = 0;
    int64_t winner = 0;
    enum wf_status st = object(c, err);
    st = st == WF_OK ? wf_json_only_keys(c, case_keys, err) : st;
    st = st == WF_OK ? wf_json_get_string(c, "name", &text, err) : st;
    st = st == WF_OK ? wf_json_get_string(c, "id", &text, err) : st;
    st = st == WF_OK ? wf_json_get_object(c, "case", &unused, err) : st;
    st = st == WF_OK ? check_list(c, "candidates", &n, &list, err) : st;
    st = st == WF_OK ? check_list(c, "gates", &gate_count, &gates, err) : st;
    if (st == WF_OK && wf_json_find(c, "winner") != NULL) {
        st = n > 0 ? wf_json_get_i64(c, "winner", 0, (int64_t)n - 1, &winner, err)
                   : wf_errorf(err, WF_EINVAL, "winner: there are no candidates");
    } else if (st == WF_OK) {
        st = wf_json_get_string(c, "why", &text, err);
    }
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (size_t i = 0; v != NULL && st == WF_OK; v = wf_json_next(v), i++) {
        st = check_candidate(v, err) == WF_OK
                 ? WF_OK
                 : wf_error_prefix(err, "candidates[%zu]", i);
    }
    v = st == WF_OK ? wf_json_first(gates) : NULL;
    for (size_t i = 0; v != NULL && st == WF_OK; v = wf_json_next(v), i++) {
        st = check_gate(v, n, err) == WF_OK ? WF_OK
                                            : wf_error_prefix(err, "gates[%zu]", i);
    }
    return st;
}

static enum wf_status check_head(const struct wf_json *t, struct wf_error *err)
{
    const char *text = NULL;
    const struct wf_json *unused = NULL;
    uint64_t seed = 0;
    double margin = 0, alpha = 0.01;
    enum wf_status st = object(t, err);
    st = st == WF_OK ? wf_json_get_string(t, "schema", &text, err) : st;
    if (st == WF_OK && strcmp(text, WF_TUNING_SCHEMA) != 0) {
        st = wf_errorf(err, WF_EINVAL, "schema '%.60s' is not \"" WF_TUNING_SCHEMA "\"",
                       text);
    }
    st = st == WF_OK ? wf_json_only_keys(t, table_keys, err) : st;
    st = st == WF_OK ? wf_json_get_string(t, "op", &text, err) : st;
    st = st == WF_OK ? wf_json_get_string(t, "arch", &text, err) : st;
    st = st == WF_OK ? wf_json_get_string(t, "suite", &text, err) : st;
    st = st == WF_OK ? wf_json_get_u64(t, "seed", 0, UINT64_MAX, &seed, err) : st;
    st = st == WF_OK ? wf_json_get_f64(t, "margin", &margin, err) : st;
    st = st == WF_OK ? wf_json_opt_f64(t, "alpha", &alpha, err) : st;
    st = st == WF_OK ? wf_json_get_array(t, "steps", &unused, err) : st;
    st = st == WF_OK ? wf_json_get_object(t, "provenance", &unused, err) : st;
    st = st == WF_OK ? wf_json_get_string(t, "basis", &text, err) : st;
    if (st == WF_OK && strcmp(text, "modelled") != 0 && strcmp(text, "measured") != 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "basis: '%.60s' is neither modelled nor measured", text);
    }
    if (st == WF_OK && !(margin >= 0 && margin < 1 && alpha > 0 && alpha < 1)) {
        st = wf_errorf(err, WF_ERANGE, "margin is in [0, 1), alpha in (0, 1)");
    }
    return st;
}

enum wf_status wf_tuning_check(const struct wf_json *t, struct wf_error *err)
{
    const struct wf_json *cases = NULL;
    enum wf_status st = check_head(t, err);
    st = st == WF_OK ? wf_json_get_array(t, "cases", &cases, err) : st;
    const struct wf_json *v = st == WF_OK ? wf_json_first(cases) : NULL;
    for (size_t i = 0; v != NULL && st == WF_OK; v = wf_json_next(v), i++) {
        st =
            check_case(v, err) == WF_OK ? WF_OK : wf_error_prefix(err, "cases[%zu]", i);
    }
    return st;
}

enum wf_status wf_tuning_read(const char *path,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_json *t = NULL;
    enum wf_status st = wf_json_parse_file(path, &t, err);
    if (st == WF_OK && wf_tuning_check(t, err) != WF_OK) {
        st = wf_error_prefix(err, "%s", path);
    }
    if (st != WF_OK) {
        wf_json_free(t);
        return st;
    }
    *ret = t;
    return WF_OK;
}

/* --- what a gate said --- */

static enum wf_tune_outcome outcome_of(const struct wf_gate_figures *f)
{
    switch (f->verdict) {
    case WF_GATE_VERDICT_IMPROVED:
        return WF_TUNE_FASTER;
    case WF_GATE_VERDICT_UNCHANGED:
        return WF_TUNE_SAME_CODE;
    case WF_GATE_VERDICT_FAIL:
        return f->reason == WF_GATE_REASON_WRONG ? WF_TUNE_WRONG : WF_TUNE_NOT_FASTER;
    case WF_GATE_VERDICT_PASS:
        return WF_TUNE_NOT_FASTER;
    case WF_GATE_VERDICT_OPEN:
    case WF_GATE_VERDICT_INCONCLUSIVE:
    case WF_GATE_VERDICT_COUNT:
        break;
    }
    return f->reason == WF_GATE_REASON_BASE_WRONG  ? WF_TUNE_BASE_WRONG
           : f->reason == WF_GATE_REASON_UNDECIDED ? WF_TUNE_NOT_FASTER
                                                   : WF_TUNE_LOST;
}

enum wf_status wf_tune_hear(struct wf_gate_record *record,
                            struct wf_tune_heard *ret,
                            struct wf_error *err)
{
    size_t cases = 0;
    *ret = (struct wf_tune_heard){ .outcome = WF_TUNE_LOST };
    for (size_t i = 0; i < wf_gate_record_count(record); i++) {
        struct wf_gate_figures f;
        wf_gate_figures(wf_gate_record_gate(record), i, &f);
        if (f.role != WF_GATE_CASE) {
            continue;
        }
        cases++;
        ret->outcome = (int)outcome_of(&f);
        ret->effect = f.effect;
        ret->low = f.low;
        ret->high = f.high;
        ret->d0 = f.margins.d0;
        ret->blocks = f.blocks;
        (void)snprintf(ret->verdict, sizeof(ret->verdict), "%s%s%s",
                       wf_gate_verdict_name(f.verdict),
                       f.reason != WF_GATE_REASON_NONE ? " " : "",
                       wf_gate_reason_name(f.reason));
    }
    return cases == 1
               ? WF_OK
               : wf_errorf(err, WF_EINVAL,
                           "the record has %zu cases; one of a tournament has one",
                           cases);
}
