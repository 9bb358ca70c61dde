/* Runs the probes and puts figures side by side. Every measurement is a task of its
 * own, so each has a fresh subject, with the checks and marks of any other. */
#include "selftest/timing.h"

#include "core/buf.h"
#include "core/stats.h"
#include "runner/calibration.h"
#include "runner/cold_probe.h"
#include "runner/execute.h"
#include "selftest/timing_rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGREE_ABOVE_NS 50000
#define AGREE_WITHIN   0.01
#define AGREE_TRIES    3
#define CALIBRATION_NS WF_CALIBRATION_NS
#define COVERAGE_LEAST 0.92
#define LEVEL          0.95
#define COLD_PART      20 /* of the progress */
/* Of the coverage: as judge and request have it by default. */
#define WINDOWS        30u
#define WINDOW_GROUP   32u
#define WINDOW_MOST    1000u
#define WINDOW_SAMPLES 250u /* planned for one */
#define WINDOW_TARGET  0.01
#define LONG_NS        ((int64_t)60 * 1000000000)

static const int64_t spins_ns[] = { 1000,   2000,    5000,    10000,   20000,   50000,
                                    100000, 1000000, 2000000, 5000000, 10000000 };
#define SPINS (sizeof(spins_ns) / sizeof(spins_ns[0]))

struct timing {
    const struct wf_timing_options *o;
    char *pack;
    struct wf_json *report;
    const char *verdict; /* "good" until something is not */
    struct wf_json *reasons;
    size_t done, of;
};

/* What a task said of its kernel's time. */
struct measured {
    double median, least, lo, hi, host_ratio, tick_ns;
    double *sample; /* those that count */
    size_t count;
    char time[24];
};

static void measured_free(struct measured *m)
{
    free(m->sample);
    m->sample = NULL;
}

static void step(struct timing *t, const char *stage)
{
    if (t->o->progress) {
        t->o->progress(t->o->ctx, stage, t->done, t->of);
    }
    t->done++;
}

static enum wf_status fault(struct timing *t,
                            const char *verdict,
                            const char *why,
                            struct wf_error *err)
{
    if (strcmp(t->verdict, "unusable") != 0) {
        t->verdict = verdict;
    }
    return wf_json_push_string(t->reasons, why, err);
}

/* --- one task --- */

static double figure(const struct wf_json *obj, const char *key)
{
    double v = (double)NAN;
    const struct wf_json *member = obj ? wf_json_find(obj, key) : NULL;
    return member && wf_json_as_f64(member, &v) ? v : (double)NAN;
}

static bool holds(const struct wf_json *list, int64_t wanted)
{
    int64_t i = -1;
    for (const struct wf_json *v = list ? wf_json_first(list) : NULL; v;
         v = wf_json_next(v)) {
        if (wf_json_as_i64(v, &i) && i == wanted) {
            return true;
        }
    }
    return false;
}

static enum wf_status take_samples(const struct wf_json *timing,
                                   struct measured *ret,
                                   struct wf_error *err)
{
    const struct wf_json *list = wf_json_find(timing, "samples");
    const struct wf_json *flagged = wf_json_find(timing, "flagged");
    size_t n = list ? wf_json_count(list) : 0;
    int64_t i = 0;
    ret->sample = wf_calloc(n + 1, sizeof(*ret->sample));
    if (!ret->sample) {
        return wf_errorf(err, WF_ENOMEM, "no memory for samples");
    }
    for (const struct wf_json *v = n ? wf_json_first(list) : NULL; v;
         v = wf_json_next(v), i++) {
        double ns = (double)NAN;
        if (wf_json_as_f64(v, &ns) && isfinite(ns) && ns > 0 && !holds(flagged, i)) {
            ret->sample[ret->count++] = ns;
        }
    }
    return WF_OK;
}

static enum wf_status take_result(const struct wf_json *result,
                                  const char *what,
                                  struct measured *ret,
                                  struct wf_error *err)
{
    const struct wf_json *timing = wf_json_find(result, "timing");
    const char *answer = "";
    const char *text = "";
    const char *time = "";
    const char *time_text = "";
    (void)wf_json_get_string(result, "answer", &answer, NULL);
    (void)wf_json_get_string(result, "answer_text", &text, NULL);
    (void)wf_json_get_string(result, "time", &time, NULL);
    (void)wf_json_get_string(result, "time_text", &time_text, NULL);
    if (strcmp(answer, "CANCELLED") == 0) {
        return wf_errorf(err, WF_ECANCELLED, "interrupted");
    }
    if (strcmp(answer, "PASS") != 0 || !timing ||
        wf_json_type(timing) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINTERNAL, "%s: %s %s; %s %s", what, answer, text,
                         time, time_text);
    }
    *ret = (struct measured){ .median = figure(timing, "median"),
                              .lo = figure(timing, "ci_lo"),
                              .hi = figure(timing, "ci_hi"),
                              .least = figure(timing, "min"),
                              .host_ratio = figure(timing, "host_ratio"),
                              .tick_ns = figure(wf_json_find(result, "details"),
                                                "event_tick_ns") };
    (void)snprintf(ret->time, sizeof(ret->time), "%.20s", time);
    return take_samples(timing, ret, err);
}

static enum wf_status measure(struct timing *t,
                              const char *kernel,
                              const char *case_json,
                              uint64_t seed,
                              int samples,
                              struct measured *ret,
                              struct wf_error *err)
{
    struct wf_json *result = NULL;
    struct wf_execute_request q = { .task_id = "selftest",
                                    .case_json = case_json,
                                    .case_name = kernel,
                                    .pack_folder = t->pack,
                                    .kernel = kernel,
                                    .device = t->o->device,
                                    .seed_offset = seed,
                                    .calibrating = true,
                                    .cancel = t->o->cancel,
                                    .measure = { .measure = true,
                                                 .min_samples = samples,
                                                 .max_samples = samples,
                                                 .budget_ns = samples ? LONG_NS : 0,
                                                 .launches = 2,
                                                 .naive = WF_NAIVE_OFF } };
    enum wf_status st = wf_execute(&q, &result, err);
    if (st == WF_OK) {
        st = take_result(result, case_json, ret, err);
    }
    wf_json_free(result);
    return st;
}

/* --- the spins --- */

static enum wf_status set_figure(struct wf_json *obj,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(obj, key, v, err)
                       : wf_json_set_null(obj, key, err);
}

static enum wf_status push_spin(struct wf_json *list,
                                int64_t ns,
                                const struct measured *m,
                                struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_i64(obj, "ns", ns, err);
    st = st == WF_OK ? set_figure(obj, "median", m->median, err) : st;
    st = st == WF_OK ? set_figure(obj, "error", m->median / (double)ns - 1, err) : st;
    st = st == WF_OK ? set_figure(obj, "overhead_ns", m->median - (double)ns, err) : st;
    st = st == WF_OK ? set_figure(obj, "host_ratio", m->host_ratio, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "time", m->time, err) : st;
    enum wf_status took = wf_json_push_take(list, obj, err);
    return st == WF_OK ? took : st;
}

/* The mark follows the calibration, whatever else there is to say. The least sample
 * counts: work beside it makes a spin longer, on a host easily by half, and says
 * nothing of the clock as long as the host's clock has seen it too. */
static enum wf_status calibrate(struct timing *t,
                                const struct measured *m,
                                struct wf_error *err)
{
    char why[160] = "";
    const double error = m->least / (double)CALIBRATION_NS - 1;
    const bool good = wf_calibration_good(m->least, m->host_ratio);
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_i64(obj, "asked_ns", CALIBRATION_NS, err);
    st = st == WF_OK ? set_figure(obj, "least_ns", m->least, err) : st;
    st = st == WF_OK ? set_figure(obj, "error", error, err) : st;
    st = st == WF_OK ? wf_json_set_f64(obj, "limit", WF_CALIBRATION_LIMIT, err) : st;
    st = st == WF_OK ? wf_json_set_bool(obj, "good", good, err) : st;
    enum wf_status took = wf_json_set_take(t->report, "calibration", obj, err);
    st = st == WF_OK ? took : st;
    if (!good) {
        (void)snprintf(why, sizeof(why), "a spin of 5 ms read %.4g ms at least",
                       m->least / 1e6);
        st = st == WF_OK ? fault(t, "unusable", why, err) : st;
    }
    return st == WF_OK ? wf_calibration_store(t->o->device, good, why, err) : st;
}

static enum wf_status note_agreement(struct timing *t,
                                     double worst,
                                     struct wf_error *err)
{
    char why[160];
    const bool good = worst <= AGREE_WITHIN;
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_i64(obj, "above_ns", AGREE_ABOVE_NS, err);
    st = st == WF_OK ? set_figure(obj, "worst", worst, err) : st;
    st = st == WF_OK ? wf_json_set_f64(obj, "limit", AGREE_WITHIN, err) : st;
    st = st == WF_OK ? wf_json_set_bool(obj, "good", good, err) : st;
    enum wf_status took = wf_json_set_take(t->report, "agreement", obj, err);
    st = st == WF_OK ? took : st;
    if (st == WF_OK && !good) {
        (void)snprintf(why, sizeof(why),
                       "from 50 us on events and host clock differ by up to %.2g %%",
                       100 * worst);
        st = fault(t, "bad", why, err);
    }
    return st;
}

static enum wf_status spin_once(struct timing *t,
                                int64_t ns,
                                struct measured *ret,
                                struct wf_error *err)
{
    char text[80];
    step(t, "spin");
    (void)snprintf(text, sizeof(text),
                   "{\"op\":\"probe\",\"work\":\"spin\",\"ns\":%" PRId64 "}", ns);
    return measure(t, "probe_spin", text, 0, 0, ret, err);
}

/* What the host does meanwhile only ever adds to its own time, and not every time; two
 * clocks that differ do so again. So the best of up to three tries is what counts. */
static enum wf_status spin_agreeing(struct timing *t,
                                    int64_t ns,
                                    struct measured *ret,
                                    struct wf_error *err)
{
    enum wf_status st = spin_once(t, ns, ret, err);
    for (int i = 1; st == WF_OK && i < AGREE_TRIES && ns >= AGREE_ABOVE_NS &&
                    !(fabs(ret->host_ratio - 1) <= AGREE_WITHIN);
         i++) {
        struct measured again = { 0 };
        t->of++;
        st = spin_once(t, ns, &again, err);
        if (st == WF_OK && fabs(again.host_ratio - 1) < fabs(ret->host_ratio - 1)) {
            ret->host_ratio = again.host_ratio;
        }
        measured_free(&again);
    }
    return st;
}

static enum wf_status spins(struct timing *t, struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    double worst = 0;
    double overhead_ns = (double)NAN;
    double tick_ns = (double)NAN;
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < SPINS; i++) {
        struct measured m = { 0 };
        st = spin_agreeing(t, spins_ns[i], &m, err);
        st = st == WF_OK ? push_spin(list, spins_ns[i], &m, err) : st;
        if (st == WF_OK && spins_ns[i] >= AGREE_ABOVE_NS) {
            const double off = fabs(m.host_ratio - 1);
            worst = !(off <= worst) ? off : worst; /* NaN is the worst */
        }
        if (st == WF_OK && spins_ns[i] == CALIBRATION_NS) {
            st = calibrate(t, &m, err);
        }
        overhead_ns = i == 0 ? m.median - (double)spins_ns[0] : overhead_ns;
        tick_ns = i == 0 ? m.tick_ns : tick_ns;
        measured_free(&m);
    }
    enum wf_status took = wf_json_set_take(t->report, "spins", list, err);
    st = st == WF_OK ? took : st;
    st = st == WF_OK ? set_figure(t->report, "launch_overhead_ns", overhead_ns, err)
                     : st;
    st = st == WF_OK ? set_figure(t->report, "event_tick_ns", tick_ns, err) : st;
    return st == WF_OK ? note_agreement(t, worst, err) : st;
}

/* --- A/A and coverage: the same work, measured again and again --- */

/* On a host the reading kernel within its cache, elsewhere one workgroup a compute unit
 * that only computes. */
static const char *same_work(const struct wf_device *device, char *text, size_t n)
{
    if (device->library_kernels) {
        (void)snprintf(text, n,
                       "{\"op\":\"probe\",\"work\":\"read\",\"bytes\":1048576}");
        return "probe_read";
    }
    (void)snprintf(text, n,
                   "{\"op\":\"probe\",\"work\":\"code\",\"lanes\":%d,\"steps\":1024}",
                   256 * (device->cu_count > 0 ? device->cu_count : 1));
    return "probe_code_1024";
}

struct repeats {
    struct measured *m;
    size_t n;
};

static enum wf_status repeat(struct timing *t,
                             const char *stage,
                             size_t n,
                             struct repeats *ret,
                             struct wf_error *err)
{
    char text[120];
    const char *kernel = same_work(t->o->device, text, sizeof(text));
    enum wf_status st = WF_OK;
    ret->n = 0;
    ret->m = wf_calloc(n + 1, sizeof(*ret->m));
    if (!ret->m) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu measurements", n);
    }
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        step(t, stage);
        st = measure(t, kernel, text, i, 0, &ret->m[i], err);
        ret->n = i + 1;
    }
    return st;
}

static void repeats_free(struct repeats *r)
{
    for (size_t i = 0; i < r->n; i++) {
        measured_free(&r->m[i]);
    }
    free(r->m);
}

static enum wf_status note_aa(struct timing *t,
                              const struct repeats *r,
                              struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    struct wf_json *list = wf_json_array();
    double *median = wf_calloc(r->n + 1, sizeof(*median));
    double *within = wf_calloc(r->n + 1, sizeof(*within));
    double between = (double)NAN;
    struct wf_summary medians = { 0 };
    struct wf_summary withins = { 0 };
    enum wf_status st =
        median && within ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for medians");
    for (size_t i = 0; st == WF_OK && i < r->n; i++) {
        median[i] = r->m[i].median;
        st = timing_spread(r->m[i].sample, r->m[i].count, &within[i], err);
        st = st == WF_OK ? wf_json_push_f64(list, median[i], err) : st;
    }
    st = st == WF_OK ? timing_spread(median, r->n, &between, err) : st;
    st = st == WF_OK ? wf_summarise(median, r->n, &medians, err) : st;
    st = st == WF_OK ? wf_summarise(within, r->n, &withins, err) : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "runs", r->n, err) : st;
    st = st == WF_OK ? set_figure(obj, "median", medians.median, err) : st;
    st = st == WF_OK ? set_figure(obj, "between", between, err) : st;
    st = st == WF_OK ? set_figure(obj, "range",
                                  (medians.max - medians.min) / medians.median, err)
                     : st;
    st = st == WF_OK ? set_figure(obj, "within", withins.median, err) : st;
    enum wf_status took = wf_json_set_take(obj, "medians", list, err);
    enum wf_status taken = wf_json_set_take(t->report, "aa", obj, err);
    free(median);
    free(within);
    st = st == WF_OK ? took : st;
    return st == WF_OK ? taken : st;
}

static enum wf_status aa(struct timing *t, struct wf_error *err)
{
    struct repeats r = { 0 };
    enum wf_status st = repeat(t, "A/A", (size_t)t->o->runs, &r, err);
    st = st == WF_OK ? note_aa(t, &r, err) : st;
    repeats_free(&r);
    return st;
}

/* What an interval claims is the median of what its process would measure if it went
 * on. So a process goes on: WINDOWS measurements one after the other, each stopped by
 * the rule, and the median over all of them. Processes of their own as often as it
 * takes; how far these lie apart is A/A's figure, and in no interval. */
static enum wf_status cover_one(struct timing *t,
                                uint64_t seed,
                                size_t left,
                                struct timing_windows *sum,
                                struct wf_error *err)
{
    char text[120];
    struct measured m = { 0 };
    struct timing_windows w = { 0 };
    const struct timing_window_rule rule = { WINDOW_GROUP, WINDOW_MOST,
                                             left < WINDOWS ? left : WINDOWS,
                                             WINDOW_TARGET };
    const char *kernel = same_work(t->o->device, text, sizeof(text));
    enum wf_status st =
        measure(t, kernel, text, seed, WINDOWS * WINDOW_SAMPLES, &m, err);
    st = st == WF_OK ? timing_cut(m.sample, m.count, m.median, &rule, &w, err) : st;
    measured_free(&m);
    if (st == WF_OK && w.count == 0) {
        st = wf_errorf(err, WF_EINTERNAL, "coverage: %zu samples are too few", m.count);
    }
    sum->count += w.count;
    sum->known += w.known;
    sum->covered += w.covered;
    sum->widths += w.widths;
    return st;
}

static enum wf_status note_coverage(struct timing *t,
                                    const struct timing_windows *w,
                                    size_t processes,
                                    struct wf_error *err)
{
    char why[160];
    const double lower = timing_lower_limit(w->covered, w->known, LEVEL);
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_u64(obj, "repeats", w->count, err);
    st = st == WF_OK ? wf_json_set_u64(obj, "processes", processes, err) : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "with_interval", w->known, err) : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "covered", w->covered, err) : st;
    st = st == WF_OK ? set_figure(obj, "lower_limit", lower, err) : st;
    st = st == WF_OK ? wf_json_set_f64(obj, "target", COVERAGE_LEAST, err) : st;
    st = st == WF_OK ? set_figure(obj, "mean_width", w->widths / (double)w->known, err)
                     : st;
    enum wf_status took = wf_json_set_take(t->report, "coverage", obj, err);
    st = st == WF_OK ? took : st;
    if (st == WF_OK && !(lower >= COVERAGE_LEAST)) {
        (void)snprintf(
            why, sizeof(why),
            "%zu of %zu intervals cover the pooled median: lower limit %.3g %%, "
            "not 92 %%",
            w->covered, w->known, 100 * lower);
        st = fault(t, "bad", why, err);
    }
    return st;
}

static enum wf_status coverage(struct timing *t, struct wf_error *err)
{
    struct timing_windows sum = { 0 };
    const size_t wanted = (size_t)t->o->repeats;
    size_t processes = 0;
    enum wf_status st = WF_OK;
    while (st == WF_OK && sum.count < wanted) {
        step(t, "coverage");
        st = cover_one(t, processes++, wanted - sum.count, &sum, err);
    }
    if (st != WF_OK) {
        return st;
    }
    return wanted ? note_coverage(t, &sum, processes, err)
                  : wf_json_set_null(t->report, "coverage", err);
}

/* --- cold --- */

static void cold_progress(void *ctx, size_t done, size_t of)
{
    struct timing *t = ctx;
    if (t->o->progress) {
        t->o->progress(t->o->ctx, "cold", t->done + done * COLD_PART / of, t->of);
    }
}

static enum wf_status cold(struct timing *t, struct wf_error *err)
{
    struct cold_proof proof;
    struct wf_json *json = NULL;
    enum wf_status st =
        wf_cold_probe_run(t->o->device, t->o->cancel, cold_progress, t, &proof, err);
    t->done += COLD_PART;
    if (st == WF_OK && proof.verdict != COLD_UNKNOWN) {
        st = wf_cold_probe_store(t->o->device, &proof, err);
    }
    st = st == WF_OK ? wf_cold_probe_to_json(&proof, true, &json, err) : st;
    st = st == WF_OK ? wf_json_set_take(t->report, "cold", json, err) : st;
    if (st == WF_OK && proof.verdict == COLD_NOT_PROVEN) {
        st = fault(t, "bad", proof.text, err);
    }
    return st;
}

/* --- all --- */

static enum wf_status run_all(struct timing *t, struct wf_error *err)
{
    enum wf_status st = wf_probe_pack(t->o->device, &t->pack, err);
    t->of = SPINS + (size_t)t->o->runs +
            ((size_t)t->o->repeats + WINDOWS - 1) / WINDOWS + COLD_PART;
    st = st == WF_OK ? spins(t, err) : st;
    st = st == WF_OK ? aa(t, err) : st;
    st = st == WF_OK ? cold(t, err) : st;
    return st == WF_OK ? coverage(t, err) : st;
}

static enum wf_status start_report(struct timing *t, struct wf_error *err)
{
    struct wf_json *device = NULL;
    t->report = wf_json_object();
    t->reasons = wf_json_array();
    enum wf_status st =
        wf_json_set_string(t->report, "schema", "wavefarm.selftest-timing/1", err);
    st = st == WF_OK ? wf_device_to_json(t->o->device, &device, err) : st;
    return st == WF_OK ? wf_json_set_take(t->report, "device", device, err) : st;
}

enum wf_status wf_timing_run(const struct wf_timing_options *options,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct timing t = { .o = options, .verdict = "good" };
    if (options->runs < 2 || options->repeats < 0) {
        return wf_errorf(err, WF_EINVAL, "%d runs and %d repeats; at least 2 and 0",
                         options->runs, options->repeats);
    }
    enum wf_status st = start_report(&t, err);
    if (st == WF_OK && options->device->times_modelled) {
        st = fault(&t, "modelled",
                   "times of this runtime are a model's: there is nothing to measure",
                   err);
    } else if (st == WF_OK) {
        st = run_all(&t, err);
    }
    st = st == WF_OK ? wf_json_set_string(t.report, "verdict", t.verdict, err) : st;
    enum wf_status took = wf_json_set_take(t.report, "reasons", t.reasons, err);
    st = st == WF_OK ? took : st;
    free(t.pack);
    if (st != WF_OK) {
        wf_json_free(t.report);
        return st;
    }
    *ret = t.report;
    return WF_OK;
}

bool wf_timing_is_good(const struct wf_json *report)
{
    const char *verdict = "";
    (void)wf_json_get_string(report, "verdict", &verdict, NULL);
    return strcmp(verdict, "good") == 0 || strcmp(verdict, "modelled") == 0;
}
