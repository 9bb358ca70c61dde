/* The "timing" member of a result: every raw sample, and figures over those that count.
 * An invalid sample stays as it is; figures of no sample are null. */
#include "runner/result.h"

#include "core/stats.h"
#include "core/stats_series.h"

#include <math.h>
#include <stdlib.h>

enum wf_status result_valid_samples(const struct result_timing *t,
                                    double **ret,
                                    size_t *ret_count,
                                    struct wf_error *err)
{
    double *valid = wf_calloc(t->count + 1, sizeof(*valid));
    size_t n = 0;
    if (!valid) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu samples", t->count);
    }
    for (size_t i = 0; i < t->count; i++) {
        const struct result_sample *s = &t->sample[i];
        if (isfinite(s->ns) && s->ns > 0 && !s->flagged) {
            valid[n++] = s->ns;
        }
    }
    *ret = valid;
    *ret_count = n;
    return WF_OK;
}

static enum wf_status set_figure(struct wf_json *obj,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(obj, key, v, err)
                       : wf_json_set_null(obj, key, err);
}

static enum wf_status set_figures(struct wf_json *obj,
                                  const struct wf_summary *s,
                                  struct wf_error *err)
{
    enum wf_status st = set_figure(obj, "median", s->median, err);
    st = st == WF_OK ? set_figure(obj, "mad", s->mad, err) : st;
    st = st == WF_OK ? set_figure(obj, "min", s->min, err) : st;
    st = st == WF_OK ? set_figure(obj, "max", s->max, err) : st;
    st = st == WF_OK ? set_figure(obj, "mean", s->mean, err) : st;
    st = st == WF_OK ? set_figure(obj, "q1", s->q1, err) : st;
    st = st == WF_OK ? set_figure(obj, "q3", s->q3, err) : st;
    st = st == WF_OK ? set_figure(obj, "ci_lo", s->ci_lo, err) : st;
    return st == WF_OK ? set_figure(obj, "ci_hi", s->ci_hi, err) : st;
}

/* See core/stats_series.h. */
static enum wf_status set_series(struct wf_json *obj,
                                 const struct wf_series *s,
                                 struct wf_error *err)
{
    enum wf_status st = set_figure(obj, "p01", s->p01, err);
    st = st == WF_OK ? set_figure(obj, "p05", s->p05, err) : st;
    st = st == WF_OK ? set_figure(obj, "p95", s->p95, err) : st;
    st = st == WF_OK ? set_figure(obj, "p99", s->p99, err) : st;
    st = st == WF_OK ? set_figure(obj, "drift", s->drift, err) : st;
    st = st == WF_OK ? set_figure(obj, "autocorrelation", s->autocorrelation, err) : st;
    return st == WF_OK ? set_figure(obj, "effective_samples", s->effective_n, err) : st;
}

struct arrays {
    struct wf_json *samples, *invalid, *flagged, *clock, *power, *temperature,
        *throttle;
};

static enum wf_status push_sample(struct arrays *a,
                                  const struct result_timing *t,
                                  size_t i,
                                  struct wf_error *err)
{
    const struct result_sample *s = &t->sample[i];
    bool valid = isfinite(s->ns) && s->ns > 0;
    enum wf_status st = wf_json_push_f64(a->samples, s->ns, err);
    if (st == WF_OK && !valid) {
        st = wf_json_push_i64(a->invalid, (int64_t)i, err);
    }
    if (st == WF_OK && s->flagged) {
        st = wf_json_push_i64(a->flagged, (int64_t)i, err);
    }
    if (st == WF_OK && t->has_power) {
        st = wf_json_push_f64(a->clock, s->clock_mhz, err);
    }
    if (st == WF_OK && t->has_power) {
        st = wf_json_push_f64(a->power, s->power_w, err);
    }
    if (st == WF_OK && t->has_power) {
        st = wf_json_push_f64(a->temperature, s->temperature_c, err);
    }
    if (st == WF_OK && t->has_power) {
        st = wf_json_push_i64(a->throttle, s->reasons, err);
    }
    return st;
}

static enum wf_status set_arrays(struct wf_json *obj,
                                 const struct result_timing *t,
                                 struct wf_error *err)
{
    struct arrays a = { wf_json_array(), wf_json_array(), wf_json_array(),
                        wf_json_array(), wf_json_array(), wf_json_array(),
                        wf_json_array() };
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < t->count; i++) {
        st = push_sample(&a, t, i, err);
    }
    /* set_take owns its child whatever happens, so all are handed over. */
    enum wf_status took[] = { wf_json_set_take(obj, "samples", a.samples, err),
                              wf_json_set_take(obj, "invalid", a.invalid, err),
                              wf_json_set_take(obj, "flagged", a.flagged, err),
                              wf_json_set_take(obj, "clock_mhz", a.clock, err),
                              wf_json_set_take(obj, "power_w", a.power, err),
                              wf_json_set_take(obj, "temperature_c", a.temperature,
                                               err),
                              wf_json_set_take(obj, "throttle", a.throttle, err) };
    for (size_t i = 0; i < sizeof(took) / sizeof(took[0]); i++) {
        st = st == WF_OK ? took[i] : st;
    }
    return st;
}

enum wf_status result_timing_to_json(const struct result_timing *t,
                                     struct wf_json **ret,
                                     struct wf_error *err)
{
    struct wf_summary summary;
    struct wf_series series;
    double *valid = NULL;
    size_t count = 0;
    struct wf_json *obj = wf_json_object();
    enum wf_status st = result_valid_samples(t, &valid, &count, err);
    st = st == WF_OK ? wf_summarise(valid, count, &summary, err) : st;
    st = st == WF_OK ? wf_series_figures(valid, count, &series, err) : st;
    free(valid);
    st = st == WF_OK ? wf_json_set_string(obj, "unit", "ns", err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "source", t->source, err) : st;
    st = st == WF_OK
             ? wf_json_set_u64(obj, "launches_per_sample", t->launches_per_sample, err)
             : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "warmup_launches", t->warmup_launches, err)
                     : st;
    st = st == WF_OK ? set_figures(obj, &summary, err) : st;
    st = st == WF_OK ? set_series(obj, &series, err) : st;
    st = st == WF_OK ? set_arrays(obj, t, err) : st;
    st = st == WF_OK ? set_figure(obj, "host_ratio", t->host_ratio, err) : st;
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}
