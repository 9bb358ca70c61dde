#include "coordinator/run_measure.h"

#include "core/buf.h"
#include "datasets/measure.h"

#include <string.h>

#define DEFAULT_BUDGET_MS 2000 /* the runner's */

/* What a runner is asked for beyond the time; passed on as it is. */
static enum wf_status check_options(const struct wf_json *m, struct wf_error *err)
{
    const char *mfma = "fast";
    const char *naive = "auto";
    bool flag = false;
    enum wf_status status = wf_json_opt_string(m, "mfma", &mfma, err);
    status = status == WF_OK ? wf_json_opt_bool(m, "checks", &flag, err) : status;
    status = status == WF_OK ? wf_json_opt_bool(m, "counters", &flag, err) : status;
    status = status == WF_OK ? wf_json_opt_string(m, "naive", &naive, err) : status;
    if (status == WF_OK && strcmp(mfma, "fast") != 0 && strcmp(mfma, "exact") != 0) {
        status =
            wf_errorf(err, WF_EINVAL, "mfma must be fast or exact, not '%.40s'", mfma);
    }
    if (status == WF_OK && strcmp(naive, "auto") != 0 && strcmp(naive, "on") != 0 &&
        strcmp(naive, "off") != 0) {
        status = wf_errorf(err, WF_EINVAL, "naive must be auto, on or off, not '%.40s'",
                           naive);
    }
    return status;
}

enum wf_status wf_run_measure_read(const struct wf_json *root,
                                   char **ret_text,
                                   bool *ret_measured,
                                   struct wf_error *err)
{
    static const char *const keys[] = { "measure",   "cold",        "ci_target",
                                        "budget_ms", "mfma",        "checks",
                                        "counters",  "launches",    "naive",
                                        "icache",    "min_samples", "max_samples",
                                        NULL };
    const struct wf_json *m = wf_json_find(root, "measure");
    *ret_measured = true;
    if (!m) {
        *ret_text = wf_strdup("{}");
        return *ret_text ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    }
    enum wf_status status = wf_json_get_object(root, "measure", &m, err);
    status = status == WF_OK ? wf_json_only_keys(m, keys, err) : status;
    status =
        status == WF_OK ? wf_json_opt_bool(m, "measure", ret_measured, err) : status;
    status = status == WF_OK ? wf_measure_check(m, err) : status;
    status = status == WF_OK ? check_options(m, err) : status;
    if (status != WF_OK) {
        return wf_error_prefix(err, "measure");
    }
    return wf_json_text(m, ret_text, err);
}

static enum wf_status read_budget(const struct wf_json *m,
                                  int64_t *ret,
                                  struct wf_error *err)
{
    int64_t ms = 0;
    enum wf_status status =
        m ? wf_json_opt_i64(m, "budget_ms", 0, INT64_MAX, &ms, err) : WF_OK;
    *ret = ms > 0 ? ms : DEFAULT_BUDGET_MS;
    return status;
}

enum wf_status wf_run_measure_of_case(const struct wf_json *run,
                                      const struct wf_json *own,
                                      char **ret_text,
                                      int64_t *ret_budget_ms,
                                      struct wf_error *err)
{
    struct wf_json *all = NULL;
    if (!own) {
        return read_budget(run, ret_budget_ms, err);
    }
    enum wf_status status = WF_OK;
    if (wf_json_type(own) != WF_JSON_OBJECT) {
        status = wf_errorf(err, WF_EINVAL, "must be an object, not %s",
                           wf_json_type_name(wf_json_type(own)));
    }
    status = status == WF_OK ? wf_measure_check_all(own, err) : status;
    status = status == WF_OK ? wf_measure_merge(run, own, &all, err) : status;
    status = status == WF_OK ? wf_measure_check(all, err) : status;
    status = status == WF_OK ? read_budget(all, ret_budget_ms, err) : status;
    status = status == WF_OK ? wf_json_text(all, ret_text, err) : status;
    wf_json_free(all);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "measure");
}
