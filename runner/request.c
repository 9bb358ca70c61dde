/* The request between caller and judge. Both are one build, so there is no version, but
 * every member is checked all the same. */
#include "runner/request.h"

#include "core/sha256.h"

#include <math.h>
#include <string.h>

#define SECOND_NS ((int64_t)1000000000)

/* clang-format off */
#define TEXTS(X) X(task_id) X(case_json) X(case_name) X(case_id) X(pack_folder)        \
    X(pack_id) X(provenance_file) X(kernel) X(dataset_folder)      \
    X(cold_probe)
#define INTS(X) X(repetition) X(attempt) X(threads)
#define TIMES(X) X(deadline_ns) X(kernel_deadline_ns) X(lock_timeout_ns)
/* clang-format on */

enum wf_status wf_naive_parse(const char *text,
                              enum wf_naive *ret,
                              struct wf_error *err)
{
    static const char *const names[] = { "auto", "on", "off" };
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum wf_naive)i;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_EINVAL, "naive must be auto, on or off, not '%.40s'",
                     text);
}

static enum wf_status complete_measure(struct wf_measure_options *m,
                                       const struct wf_device *device,
                                       struct wf_error *err)
{
    if (m->launches == 0) {
        m->launches = device->times_modelled ? 2 : 3;
    }
    if (m->launches < 2 || m->launches > WF_LAUNCHES_MAX) {
        return wf_errorf(err, WF_EINVAL, "launches is %d; it must be 2 to %d",
                         m->launches, WF_LAUNCHES_MAX);
    }
    if (m->ci_target == 0) {
        m->ci_target = 0.01;
    }
    if (m->budget_ns == 0) {
        m->budget_ns = 2 * SECOND_NS;
    }
    if (m->min_samples == 0) {
        m->min_samples = 10;
    }
    if (m->max_samples == 0) {
        m->max_samples = m->min_samples > 1000 ? m->min_samples : 1000;
    }
    if (m->batch_min_ns == 0) {
        m->batch_min_ns = device->library_kernels ? 1000000 : 50000;
    }
    if (m->sets < 0 || m->sets > WF_SETS_MAX) {
        return wf_errorf(err, WF_EINVAL, "%d sets of buffers; at most %d", m->sets,
                         WF_SETS_MAX);
    }
    if (!(m->ci_target > 0) || !isfinite(m->ci_target) || m->budget_ns < 0 ||
        m->batch_min_ns < 0 || m->batch_min_ns > 60 * SECOND_NS || m->min_samples < 1 ||
        m->max_samples < m->min_samples || m->max_samples > 100000) {
        return wf_errorf(
            err, WF_EINVAL,
            "measure options: ci_target %g, budget %lld ns, %d to %d samples, "
            "batch_min %lld ns",
            m->ci_target, (long long)m->budget_ns, m->min_samples, m->max_samples,
            (long long)m->batch_min_ns);
    }
    return WF_OK;
}

enum wf_status request_complete(struct wf_execute_request *r, struct wf_error *err)
{
    if (!r->case_json || !r->pack_folder || !r->kernel || !r->device) {
        return wf_errorf(err, WF_EINVAL,
                         "a task needs a case, a pack, a kernel and a "
                         "device");
    }
    if (r->pack_id && r->pack_id[0] && !wf_sha256_is_hex(r->pack_id)) {
        return wf_errorf(err, WF_EINVAL, "pack id '%.80s' is not a SHA-256",
                         r->pack_id);
    }
    if (r->attempt == 0) {
        r->attempt = 1;
    }
    if (r->deadline_ns == 0) {
        r->deadline_ns = 600 * SECOND_NS;
    }
    if (r->kernel_deadline_ns == 0) {
        /* An emulated launch takes as long as it takes. */
        r->kernel_deadline_ns =
            r->device->times_modelled ? r->deadline_ns : 60 * SECOND_NS;
    }
    if (r->lock_timeout_ns == 0) {
        r->lock_timeout_ns = 600 * SECOND_NS;
    }
    if (r->attempt < 0 || r->repetition < 0) {
        return wf_errorf(err, WF_EINVAL, "attempt %d, repetition %d", r->attempt,
                         r->repetition);
    }
    if (r->deadline_ns < 0 || r->kernel_deadline_ns < 0 || r->lock_timeout_ns < 0 ||
        r->threads < 0 || !(r->reference_budget_macs >= 0)) {
        return wf_errorf(err, WF_EINVAL, "a negative deadline, thread count or budget");
    }
    if (r->kernel_deadline_ns > r->deadline_ns) {
        r->kernel_deadline_ns = r->deadline_ns;
    }
    return complete_measure(&r->measure, r->device, err);
}

static enum wf_status measure_to_json(const struct wf_measure_options *m,
                                      struct wf_json *obj,
                                      struct wf_error *err)
{
    enum wf_status st = wf_json_set_bool(obj, "measure", m->measure, err);
    st = st == WF_OK ? wf_json_set_bool(obj, "cold", m->cold, err) : st;
    st = st == WF_OK ? wf_json_set_bool(obj, "icache_cold", m->icache_cold, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "sets", m->sets, err) : st;
    st = st == WF_OK ? wf_json_set_f64(obj, "ci_target", m->ci_target, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "budget_ns", m->budget_ns, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "min_samples", m->min_samples, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "max_samples", m->max_samples, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "batch_min_ns", m->batch_min_ns, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "launches", m->launches, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "naive", (int64_t)m->naive, err) : st;
    st = st == WF_OK ? wf_json_set_bool(obj, "mfma_exact", m->mfma_exact, err) : st;
    st = st == WF_OK ? wf_json_set_bool(obj, "no_checks", m->no_checks, err) : st;
    return st == WF_OK ? wf_json_set_bool(obj, "no_counters", m->no_counters, err) : st;
}

enum wf_status request_to_json(const struct wf_execute_request *r,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *device = NULL;
    struct wf_json *measure = wf_json_object();
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_device_to_json(r->device, &device, err);
    if (st == WF_OK) {
        st = wf_json_set_take(obj, "device", device, err);
    }
#define X(m) st = st == WF_OK ? wf_json_set_string(obj, #m, r->m ? r->m : "", err) : st;
    TEXTS(X)
#undef X
#define X(m) st = st == WF_OK ? wf_json_set_i64(obj, #m, r->m, err) : st;
    INTS(X)
    TIMES(X)
#undef X
    st = st == WF_OK ? wf_json_set_u64(obj, "seed_offset", r->seed_offset, err) : st;
    st = st == WF_OK ? wf_json_set_f64(obj, "reference_budget_macs",
                                       r->reference_budget_macs, err)
                     : st;
    st = st == WF_OK ? measure_to_json(&r->measure, measure, err) : st;
    if (st != WF_OK) {
        wf_json_free(measure);
    } else {
        st = wf_json_set_take(obj, "measure", measure, err);
    }
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static enum wf_status get_int(const struct wf_json *obj,
                              const char *key,
                              int *ret,
                              struct wf_error *err)
{
    int64_t value = 0;
    enum wf_status st = wf_json_get_i64(obj, key, INT32_MIN, INT32_MAX, &value, err);
    if (st == WF_OK) {
        *ret = (int)value;
    }
    return st;
}

static enum wf_status measure_from_json(const struct wf_json *obj,
                                        struct wf_measure_options *m,
                                        struct wf_error *err)
{
    int naive = 0;
    enum wf_status st = wf_json_get_bool(obj, "measure", &m->measure, err);
    st = st == WF_OK ? wf_json_get_bool(obj, "cold", &m->cold, err) : st;
    st = st == WF_OK ? wf_json_get_bool(obj, "icache_cold", &m->icache_cold, err) : st;
    st = st == WF_OK ? get_int(obj, "sets", &m->sets, err) : st;
    st = st == WF_OK ? wf_json_get_f64(obj, "ci_target", &m->ci_target, err) : st;
    st = st == WF_OK
             ? wf_json_get_i64(obj, "budget_ns", 0, INT64_MAX, &m->budget_ns, err)
             : st;
    st = st == WF_OK ? get_int(obj, "min_samples", &m->min_samples, err) : st;
    st = st == WF_OK ? get_int(obj, "max_samples", &m->max_samples, err) : st;
    st = st == WF_OK ? get_int(obj, "launches", &m->launches, err) : st;
    st = st == WF_OK ? get_int(obj, "naive", &naive, err) : st;
    m->naive = naive == WF_NAIVE_ON    ? WF_NAIVE_ON
               : naive == WF_NAIVE_OFF ? WF_NAIVE_OFF
                                       : WF_NAIVE_AUTO;
    st = st == WF_OK ? wf_json_get_bool(obj, "mfma_exact", &m->mfma_exact, err) : st;
    st = st == WF_OK ? wf_json_get_bool(obj, "no_checks", &m->no_checks, err) : st;
    st = st == WF_OK ? wf_json_get_bool(obj, "no_counters", &m->no_counters, err) : st;
    return st == WF_OK ? wf_json_get_i64(obj, "batch_min_ns", 0, INT64_MAX,
                                         &m->batch_min_ns, err)
                       : st;
}

enum wf_status request_from_json(const struct wf_json *json,
                                 struct wf_execute_request *ret,
                                 struct wf_device *ret_device,
                                 struct wf_error *err)
{
    struct wf_execute_request r = { 0 };
    const struct wf_json *device = NULL;
    const struct wf_json *measure = NULL;
    enum wf_status st = WF_OK;
#define X(m) st = st == WF_OK ? wf_json_get_string(json, #m, &r.m, err) : st;
    TEXTS(X)
#undef X
#define X(m) st = st == WF_OK ? get_int(json, #m, &r.m, err) : st;
    INTS(X)
#undef X
#define X(m) st = st == WF_OK ? wf_json_get_i64(json, #m, 0, INT64_MAX, &r.m, err) : st;
    TIMES(X)
#undef X
    st = st == WF_OK
             ? wf_json_get_u64(json, "seed_offset", 0, UINT64_MAX, &r.seed_offset, err)
             : st;
    st = st == WF_OK ? wf_json_get_f64(json, "reference_budget_macs",
                                       &r.reference_budget_macs, err)
                     : st;
    st = st == WF_OK ? wf_json_get_object(json, "measure", &measure, err) : st;
    st = st == WF_OK ? measure_from_json(measure, &r.measure, err) : st;
    st = st == WF_OK ? wf_json_get_object(json, "device", &device, err) : st;
    st = st == WF_OK ? wf_device_from_json(device, ret_device, err) : st;
    if (st != WF_OK) {
        return wf_error_prefix(err, "request");
    }
    r.device = ret_device;
    *ret = r;
    return request_complete(ret, err);
}
