#include "datasets/measure.h"

#include <string.h>

static enum wf_status check_texts(const struct wf_json *m, struct wf_error *err)
{
    const char *icache = "hot";
    bool cold = false;
    enum wf_status st = wf_json_opt_bool(m, "cold", &cold, err);
    st = st == WF_OK ? wf_json_opt_string(m, "icache", &icache, err) : st;
    if (st == WF_OK && strcmp(icache, "hot") != 0 && strcmp(icache, "cold") != 0) {
        st = wf_errorf(err, WF_EINVAL, "icache must be hot or cold, not '%.40s'",
                       icache);
    }
    return st;
}

static enum wf_status check_samples(const struct wf_json *m, struct wf_error *err)
{
    int64_t least = 0, most = 0, launches = 0;
    enum wf_status st =
        wf_json_opt_i64(m, "min_samples", 0, WF_MEASURE_SAMPLES_MAX, &least, err);
    if (st == WF_OK) {
        st = wf_json_opt_i64(m, "max_samples", 0, WF_MEASURE_SAMPLES_MAX, &most, err);
    }
    if (st == WF_OK && most > 0 && least > most) {
        return wf_errorf(err, WF_EINVAL,
                         "min_samples is %lld, more than max_samples %lld",
                         (long long)least, (long long)most);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(m, "launches", 0, WF_MEASURE_LAUNCHES_MAX, &launches, err);
    }
    return st == WF_OK && launches == 1
               ? wf_errorf(err, WF_ERANGE,
                           "launches is 1; it must be 2 to %d: one launch cannot be "
                           "compared with another",
                           WF_MEASURE_LAUNCHES_MAX)
               : st;
}

enum wf_status wf_measure_check(const struct wf_json *m, struct wf_error *err)
{
    double ci = 0;
    int64_t budget = 0;
    enum wf_status st = check_texts(m, err);
    st = st == WF_OK ? wf_json_opt_f64(m, "ci_target", &ci, err) : st;
    if (st == WF_OK && !(ci >= 0 && ci < 1)) {
        st = wf_errorf(err, WF_ERANGE,
                       "ci_target must be at least 0 and below 1 (0.01: +-1 %%)");
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(m, "budget_ms", 0, WF_MEASURE_BUDGET_MS_MAX, &budget, err);
    }
    return st == WF_OK ? check_samples(m, err) : st;
}

enum wf_status wf_measure_check_all(const struct wf_json *m, struct wf_error *err)
{
    static const char *const keys[] = { "cold",      "icache",      "ci_target",
                                        "budget_ms", "min_samples", "max_samples",
                                        "launches",  NULL };
    enum wf_status st = wf_json_only_keys(m, keys, err);
    return st == WF_OK ? wf_measure_check(m, err) : st;
}

/* Members of `from` that `ret` has not yet. */
static enum wf_status add_members(struct wf_json *ret,
                                  const struct wf_json *from,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = from ? wf_json_first(from) : NULL;
    for (; v && st == WF_OK; v = wf_json_next(v)) {
        if (!wf_json_find(ret, wf_json_key(v))) {
            st = wf_json_set_copy(ret, wf_json_key(v), v, err);
        }
    }
    return st;
}

enum wf_status wf_measure_merge(const struct wf_json *under,
                                const struct wf_json *over,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct wf_json *all = wf_json_object();
    enum wf_status st =
        all ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for measure options");
    st = st == WF_OK ? add_members(all, over, err) : st;
    st = st == WF_OK ? add_members(all, under, err) : st;
    if (st != WF_OK) {
        wf_json_free(all);
        return st;
    }
    *ret = all;
    return WF_OK;
}
