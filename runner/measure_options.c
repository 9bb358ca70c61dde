#include "runner/measure_options.h"

#include "datasets/measure.h"

#include <string.h>

/* "mfma", "checks" and "counters": for runtimes that model. */
static enum wf_status read_emulation(const struct wf_json *json,
                                     struct wf_measure_options *ret,
                                     struct wf_error *err)
{
    const char *mfma = "fast";
    bool checks = true;
    bool counters = true;
    enum wf_status status = wf_json_opt_string(json, "mfma", &mfma, err);
    if (status == WF_OK) {
        status = wf_json_opt_bool(json, "checks", &checks, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_bool(json, "counters", &counters, err);
    }
    if (status == WF_OK && strcmp(mfma, "fast") != 0 && strcmp(mfma, "exact") != 0) {
        status =
            wf_errorf(err, WF_EINVAL, "mfma must be fast or exact, not '%.40s'", mfma);
    }
    ret->mfma_exact = strcmp(mfma, "exact") == 0;
    ret->no_checks = !checks;
    ret->no_counters = !counters;
    return status;
}

static enum wf_status read_checks(const struct wf_json *json,
                                  struct wf_measure_options *ret,
                                  struct wf_error *err)
{
    const char *naive = "auto";
    enum wf_status status = wf_json_opt_bool(json, "measure", &ret->measure, err);
    if (status == WF_OK) {
        status = wf_json_opt_string(json, "naive", &naive, err);
    }
    return status == WF_OK ? wf_naive_parse(naive, &ret->naive, err) : status;
}

/* What a suite may say too; its types and ranges are checked already. */
static enum wf_status read_sampling(const struct wf_json *json,
                                    struct wf_measure_options *ret,
                                    struct wf_error *err)
{
    int64_t budget_ms = 0, least = 0, most = 0, launches = 0;
    const char *icache = "hot";
    enum wf_status status = wf_json_opt_bool(json, "cold", &ret->cold, err);
    if (status == WF_OK) {
        status = wf_json_opt_string(json, "icache", &icache, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_f64(json, "ci_target", &ret->ci_target, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_i64(json, "budget_ms", 0, INT32_MAX, &budget_ms, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_i64(json, "min_samples", 0, INT32_MAX, &least, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_i64(json, "max_samples", 0, INT32_MAX, &most, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_i64(json, "launches", 0, INT32_MAX, &launches, err);
    }
    ret->icache_cold = strcmp(icache, "cold") == 0;
    ret->budget_ns = budget_ms * 1000000;
    ret->min_samples = (int)least;
    ret->max_samples = (int)most;
    ret->launches = (int)launches;
    return status;
}

enum wf_status wf_measure_options_read(const struct wf_json *json,
                                       struct wf_measure_options *ret,
                                       struct wf_error *err)
{
    memset(ret, 0, sizeof(*ret));
    ret->measure = true;
    if (json == NULL) {
        return WF_OK;
    }
    enum wf_status status = wf_measure_check(json, err);
    if (status == WF_OK) {
        status = read_sampling(json, ret, err);
    }
    if (status == WF_OK) {
        status = read_checks(json, ret, err);
    }
    return status == WF_OK ? read_emulation(json, ret, err) : status;
}
