/* Runs the cold probe and remembers it. A stored proof that cannot be read is measured
 * again: the cache is only a cache. */
#include "runner/cold_probe.h"

#include "core/clock.h"
#include "core/file.h"
#include "runner/calibration.h"
#include "runner/cold.h"
#include "runner/execute.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION    1 /* of kernel and rules: an older proof is not taken */
#define KEEP_NS    ((int64_t)30 * 24 * 3600 * 1000000000)
/* What is not proven may be a busy machine's fault; what could not be told surely is,
 * but a probe before every task of a suite would take longer than the suite. */
#define DOUBT_NS   ((int64_t)3600 * 1000000000)
#define UNKNOWN_NS ((int64_t)600 * 1000000000)
#define BUDGET_NS  ((int64_t)1000000000)

/* --- the pack --- */

static const char *pack_arch(const struct wf_device *device, char arch[64])
{
    (void)snprintf(arch, 64, "%.63s", device->arch);
    arch[strcspn(arch, ":")] = '\0';
    return device->library_kernels ? "host" : arch;
}

static char *packs_folder(struct wf_error *err)
{
    char *exe = NULL;
    const char *given = getenv("WAVEFARM_PACKS");
    if (given && given[0]) {
        return wf_strdup(given);
    }
    if (wf_executable_dir(&exe, err) != WF_OK) {
        return NULL;
    }
    char *folder = wf_path_join(exe, "../packs");
    free(exe);
    return folder;
}

enum wf_status wf_probe_pack(const struct wf_device *device,
                             char **ret,
                             struct wf_error *err)
{
    char arch[64];
    char *folder = packs_folder(err);
    char *path =
        folder ? wf_asprintf("%s/wavefarm-probe-%s", folder, pack_arch(device, arch))
               : NULL;
    char *file = path ? wf_path_join(path, "pack.json") : NULL;
    enum wf_status st = WF_OK;
    if (!file) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for a path");
    } else if (!wf_file_exists(file)) {
        st = wf_errorf(err, WF_ENOTFOUND,
                       "no probe for %s: %s is not there (WAVEFARM_PACKS may name the "
                       "folder of the packs)",
                       pack_arch(device, arch), path);
    }
    free(folder);
    free(file);
    if (st != WF_OK) {
        free(path);
        return st;
    }
    *ret = path;
    return WF_OK;
}

/* --- measuring --- */

struct probing {
    const struct wf_device *device;
    const volatile int *cancel;
    char *pack;
    char case_json[160];
};

static enum wf_status read_time(const struct wf_json *result,
                                struct cold_point *ret,
                                struct wf_error *err)
{
    const struct wf_json *timing = wf_json_find(result, "timing");
    const char *answer = NULL;
    const char *text = "";
    const char *time_text = "";
    double lo = (double)NAN;
    double hi = (double)NAN;
    enum wf_status st = wf_json_get_string(result, "answer", &answer, err);
    if (st != WF_OK) {
        return st;
    }
    (void)wf_json_get_string(result, "answer_text", &text, NULL);
    (void)wf_json_get_string(result, "time_text", &time_text, NULL);
    if (strcmp(answer, "CANCELLED") == 0) {
        return wf_errorf(err, WF_ECANCELLED, "cancelled");
    }
    if (strcmp(answer, "PASS") != 0 || !timing ||
        wf_json_type(timing) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINTERNAL,
                         "the probe over %" PRIu64 " bytes: %s %s %s", ret->bytes,
                         answer, text, time_text);
    }
    st = wf_json_get_f64(timing, "median", &ret->ns, err);
    const struct wf_json *ci_lo = wf_json_find(timing, "ci_lo");
    const struct wf_json *ci_hi = wf_json_find(timing, "ci_hi");
    if (st == WF_OK && ci_lo && ci_hi && wf_json_as_f64(ci_lo, &lo) &&
        wf_json_as_f64(ci_hi, &hi)) {
        ret->width = (hi - lo) / (2 * ret->ns);
    }
    return st;
}

static enum wf_status measure_point(const struct probing *p,
                                    uint64_t set_bytes,
                                    struct cold_point *ret,
                                    struct wf_error *err)
{
    struct wf_json *result = NULL;
    struct wf_execute_request q = {
        .task_id = "cold-probe",
        .case_json = p->case_json,
        .case_name = "cold probe",
        .pack_folder = p->pack,
        .kernel = "probe_read",
        .device = p->device,
        .calibrating = true,
        .cancel = p->cancel,
        .measure = { .measure = true,
                     .sets = (int)ret->sets,
                     .ci_target = 0.02,
                     .budget_ns = BUDGET_NS,
                     .launches = 2,
                     .naive = WF_NAIVE_OFF },
    };
    enum wf_status st = wf_execute(&q, &result, err);
    ret->bytes = ret->sets * set_bytes;
    ret->width = (double)NAN;
    if (st == WF_OK) {
        st = read_time(result, ret, err);
    }
    wf_json_free(result);
    ret->gb_per_s = (double)set_bytes / ret->ns;
    return st;
}

static enum wf_status measure_points(const struct probing *p,
                                     void (*progress)(void *ctx,
                                                      size_t done,
                                                      size_t of),
                                     void *ctx,
                                     struct cold_proof *proof,
                                     struct wf_error *err)
{
    uint64_t sets[COLD_MAX_POINTS];
    size_t n = cold_probe_sizes(proof->set_bytes, proof->target_bytes, sets);
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        if (progress) {
            progress(ctx, i, n);
        }
        proof->point[i].sets = sets[i];
        st = measure_point(p, proof->set_bytes, &proof->point[i], err);
        proof->count = i + 1;
    }
    return st;
}

enum wf_status wf_cold_probe_run(const struct wf_device *device,
                                 const volatile int *cancel,
                                 void (*progress)(void *ctx, size_t done, size_t of),
                                 void *ctx,
                                 struct cold_proof *ret,
                                 struct wf_error *err)
{
    struct probing p = { .device = device, .cancel = cancel };
    struct cold_proof proof = { .set_bytes = cold_probe_set_bytes(device),
                                .target_bytes = cold_target_bytes(device) };
    if (device->times_modelled) {
        return wf_errorf(
            err, WF_EUNSUPPORTED,
            "times of this runtime are a model's: there is no cold to prove");
    }
    enum wf_status st = wf_probe_pack(device, &p.pack, err);
    if (st != WF_OK) {
        return st;
    }
    (void)snprintf(p.case_json, sizeof(p.case_json),
                   "{\"op\":\"probe\",\"work\":\"read\",\"bytes\":%" PRIu64 "}",
                   proof.set_bytes);
    st = measure_points(&p, progress, ctx, &proof, err);
    free(p.pack);
    if (st == WF_OK) {
        cold_judge(&proof);
        *ret = proof;
    }
    return st;
}

/* --- JSON --- */

static enum wf_status set_figure(struct wf_json *obj,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(obj, key, v, err)
                       : wf_json_set_null(obj, key, err);
}

static enum wf_status push_point(struct wf_json *list,
                                 const struct cold_point *p,
                                 struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_u64(obj, "sets", p->sets, err);
    st = st == WF_OK ? wf_json_set_u64(obj, "bytes", p->bytes, err) : st;
    st = st == WF_OK ? set_figure(obj, "ns", p->ns, err) : st;
    st = st == WF_OK ? set_figure(obj, "width", p->width, err) : st;
    st = st == WF_OK ? set_figure(obj, "gb_per_s", p->gb_per_s, err) : st;
    enum wf_status took = wf_json_push_take(list, obj, err);
    return st == WF_OK ? took : st;
}

static enum wf_status set_points(struct wf_json *obj,
                                 const struct cold_proof *p,
                                 struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < p->count; i++) {
        st = push_point(list, &p->point[i], err);
    }
    enum wf_status took = wf_json_set_take(obj, "points", list, err);
    return st == WF_OK ? took : st;
}

enum wf_status wf_cold_probe_to_json(const struct cold_proof *p,
                                     bool points,
                                     struct wf_json **ret,
                                     struct wf_error *err)
{
    char when[40];
    struct wf_json *obj = wf_json_object();
    wf_format_utc(wf_realtime_ns(), when, sizeof(when));
    enum wf_status st =
        wf_json_set_string(obj, "verdict", cold_verdict_name(p->verdict), err);
    st = st == WF_OK ? wf_json_set_string(obj, "text", p->text, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "when", when, err) : st;
    st = st == WF_OK ? set_figure(obj, "ratio", p->ratio, err) : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "set_bytes", p->set_bytes, err) : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "target_bytes", p->target_bytes, err) : st;
    st = st == WF_OK ? set_figure(obj, "hot_gb_per_s", p->hot_gb_per_s, err) : st;
    st = st == WF_OK ? set_figure(obj, "cold_gb_per_s", p->cold_gb_per_s, err) : st;
    st = st == WF_OK ? set_figure(obj, "doubled_gb_per_s", p->doubled_gb_per_s, err)
                     : st;
    if (st == WF_OK && points) {
        st = set_points(obj, p, err);
    }
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

/* --- the cache --- */

char *wf_cold_probe_file(const struct wf_device *device, struct wf_error *err)
{
    char sizes[80];
    (void)snprintf(sizes, sizeof(sizes), "%d|%" PRIu64 "|%" PRIu64, VERSION,
                   cold_target_bytes(device), cold_probe_set_bytes(device));
    return wf_device_cache_file(device, "cold-probe", sizes, err);
}

static int64_t keep_ns(const struct cold_proof *p)
{
    return p->verdict == COLD_UNKNOWN      ? UNKNOWN_NS
           : p->verdict == COLD_NOT_PROVEN ? DOUBT_NS
                                           : KEEP_NS;
}

enum wf_status wf_cold_probe_store(const struct wf_device *device,
                                   const struct cold_proof *p,
                                   struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *json = NULL;
    char *path = wf_cold_probe_file(device, err);
    enum wf_status st = path ? WF_OK : WF_ENOMEM;
    st = st == WF_OK ? wf_cold_probe_to_json(p, true, &json, err) : st;
    st = st == WF_OK ? wf_json_set_string(json, "device", device->id, err) : st;
    st = st == WF_OK ? wf_json_set_string(json, "driver", device->driver, err) : st;
    st = st == WF_OK
             ? wf_json_set_i64(json, "until_ns", wf_realtime_ns() + keep_ns(p), err)
             : st;
    st = st == WF_OK ? wf_json_write_pretty(json, &text, err) : st;
    st = st == WF_OK ? wf_file_write_atomic(path, text.data, text.len, err) : st;
    wf_json_free(json);
    wf_buf_free(&text);
    free(path);
    return st;
}

static char *text_of(const struct wf_json *json)
{
    struct wf_buf text = WF_BUF_INIT;
    char *ret = wf_json_write(json, &text, NULL) == WF_OK
                    ? wf_strdup(wf_buf_cstr(&text))
                    : NULL;
    wf_buf_free(&text);
    return ret;
}

/* The stored proof while it lasts, else NULL. */
static char *stored(const struct wf_device *device)
{
    char *path = wf_cold_probe_file(device, NULL);
    struct wf_json *json = NULL;
    char *ret = NULL;
    int64_t until_ns = 0;
    const char *verdict = NULL;
    int64_t now_ns = wf_realtime_ns();
    if (path && wf_device_cache_read(path, &json, NULL) == WF_OK &&
        wf_json_get_i64(json, "until_ns", 0, INT64_MAX, &until_ns, NULL) == WF_OK &&
        wf_json_get_string(json, "verdict", &verdict, NULL) == WF_OK &&
        until_ns > now_ns && until_ns <= now_ns + KEEP_NS) {
        wf_json_remove(json, "until_ns");
        wf_json_remove(json, "points");
        wf_json_remove(json, "device");
        wf_json_remove(json, "driver");
        ret = text_of(json);
    }
    wf_json_free(json);
    free(path);
    return ret;
}

enum wf_status wf_cold_probe_text(const struct wf_device *device,
                                  const volatile int *cancel,
                                  char **ret,
                                  struct wf_error *err)
{
    struct cold_proof proof;
    struct wf_json *json = NULL;
    struct wf_error why = { 0 };
    *ret = stored(device);
    if (*ret) {
        return WF_OK;
    }
    enum wf_status st = wf_cold_probe_run(device, cancel, NULL, NULL, &proof, &why);
    if (st == WF_ECANCELLED) {
        return wf_errorf(err, st, "%s", why.text);
    }
    if (st == WF_OK) {
        /* A cache that cannot be written costs a probe more, nothing else. */
        (void)wf_cold_probe_store(device, &proof, NULL);
    } else {
        memset(&proof, 0, sizeof(proof));
        cold_judge(&proof);
        (void)snprintf(proof.text, sizeof(proof.text), "%.239s", why.text);
    }
    st = wf_cold_probe_to_json(&proof, false, &json, err);
    if (st == WF_OK) {
        *ret = text_of(json);
        st = *ret ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a proof");
    }
    wf_json_free(json);
    return st;
}
