#include "cli/measure_args.h"

#include "datasets/measure.h"

#define MS_NS 1000000

static enum wf_status put_mode(const struct wf_args *a,
                               struct wf_json *m,
                               struct wf_error *err)
{
    const bool cold = wf_args_flag(a, "cold");
    enum wf_status st = WF_OK;
    if (cold && wf_args_flag(a, "hot")) {
        return wf_errorf(err, WF_EINVAL, "--cold and --hot exclude each other");
    }
    if (cold || wf_args_flag(a, "hot")) {
        st = wf_json_set_bool(m, "cold", cold, err);
    }
    if (st == WF_OK && wf_args_string(a, "icache") != NULL) {
        bool icache = false;
        st = wf_args_icache(a, &icache, err);
        st = st == WF_OK ? wf_json_set_string(m, "icache", icache ? "cold" : "hot", err)
                         : st;
    }
    return st;
}

static enum wf_status put_samples(const struct wf_args *a,
                                  struct wf_json *m,
                                  const char *option,
                                  const char *member,
                                  struct wf_error *err)
{
    int n = 0;
    if (wf_args_string(a, option) == NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_args_int_in(a, option, 1, WF_MEASURE_SAMPLES_MAX, &n, err);
    return st == WF_OK ? wf_json_set_i64(m, member, n, err) : st;
}

static enum wf_status put_target(const struct wf_args *a,
                                 struct wf_json *m,
                                 struct wf_error *err)
{
    double ci = 0;
    int64_t budget_ns = 0;
    enum wf_status st = WF_OK;
    if (wf_args_string(a, "ci") != NULL) {
        st = wf_args_real_in(a, "ci", WF_CI_MIN, WF_CI_MAX, &ci, err);
        st = st == WF_OK ? wf_json_set_f64(m, "ci_target", ci / 100, err) : st;
    }
    if (st == WF_OK && wf_args_string(a, "budget") != NULL) {
        st = wf_args_duration_in(a, "budget", WF_BUDGET_MIN_NS, WF_BUDGET_MAX_NS,
                                 &budget_ns, err);
        st = st == WF_OK ? wf_json_set_i64(m, "budget_ms", budget_ns / MS_NS, err) : st;
    }
    if (st == WF_OK) {
        st = put_samples(a, m, "min-samples", "min_samples", err);
    }
    return st == WF_OK ? put_samples(a, m, "max-samples", "max_samples", err) : st;
}

static enum wf_status put_checks(const struct wf_args *a,
                                 struct wf_json *m,
                                 struct wf_error *err)
{
    int launches = 0;
    enum wf_naive naive = WF_NAIVE_AUTO;
    enum wf_status st = wf_args_checks(a, &launches, &naive, err);
    if (st == WF_OK && launches > 0) {
        st = wf_json_set_i64(m, "launches", launches, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_string(m, "naive", wf_args_string(a, "naive"), err);
    }
    return st == WF_OK
               ? wf_json_set_bool(m, "measure", !wf_args_flag(a, "no-measure"), err)
               : st;
}

static enum wf_status put_emulation(const struct wf_args *a,
                                    struct wf_json *m,
                                    struct wf_error *err)
{
    enum wf_status st = wf_args_mfma(a, NULL, err);
    if (st == WF_OK) {
        st = wf_json_set_string(m, "mfma", wf_args_string(a, "mfma"), err);
    }
    if (st == WF_OK) {
        st = wf_json_set_bool(m, "checks", !wf_args_flag(a, "no-checks"), err);
    }
    return st == WF_OK
               ? wf_json_set_bool(m, "counters", !wf_args_flag(a, "no-counters"), err)
               : st;
}

enum wf_status wf_measure_args(const struct wf_args *args,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *m = wf_json_object();
    enum wf_status st =
        m ? put_target(args, m, err) : wf_errorf(err, WF_ENOMEM, "no memory");
    st = st == WF_OK ? put_mode(args, m, err) : st;
    st = st == WF_OK ? put_checks(args, m, err) : st;
    st = st == WF_OK ? put_emulation(args, m, err) : st;
    st = st == WF_OK ? wf_measure_check(m, err) : st;
    if (st != WF_OK) {
        wf_json_free(m);
        return st;
    }
    *ret = m;
    return WF_OK;
}
