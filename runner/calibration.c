/* Marks of devices whose clock is wrong. */
#include "runner/calibration.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/sha256.h"
#include "runner/cold_probe.h"
#include "runner/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_BYTES ((size_t)64 * 1024)

char *wf_device_cache_file(const struct wf_device *device,
                           const char *kind,
                           const char *more,
                           struct wf_error *err)
{
    char key[512];
    char hex[WF_SHA256_BYTES * 2 + 1];
    uint8_t digest[WF_SHA256_BYTES];
    char *folder = NULL;
    (void)snprintf(key, sizeof(key), "%s|%s|%s|%s|%s", kind, device->id, device->driver,
                   device->arch, more);
    wf_sha256(key, strlen(key), digest);
    wf_hex(digest, sizeof(digest), hex);
    if (wf_cache_dir(&folder, err) != WF_OK) {
        return NULL;
    }
    char *path = wf_asprintf("%s/%s-%.32s.json", folder, kind, hex);
    free(folder);
    if (!path) {
        (void)wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    return path;
}

static enum wf_status read_plain(int fd,
                                 const char *path,
                                 struct wf_buf *text,
                                 struct wf_error *err)
{
    struct stat st;
    ssize_t n = 1;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size > (off_t)CACHE_BYTES) {
        return wf_errorf(err, WF_EINVAL, "%s is no plain file of at most %zu bytes",
                         path, CACHE_BYTES);
    }
    enum wf_status status = wf_buf_reserve(text, CACHE_BYTES, err);
    while (status == WF_OK && n > 0 && text->len < CACHE_BYTES) {
        n = read(fd, text->data + text->len, CACHE_BYTES - text->len);
        text->len += n > 0 ? (size_t)n : 0;
        if (n < 0 && errno != EINTR) {
            status = wf_error_errno(err, errno, "cannot read %s", path);
        }
        n = n < 0 ? 1 : n;
    }
    return status;
}

enum wf_status wf_device_cache_read(const char *path,
                                    struct wf_json **ret,
                                    struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *json = NULL;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return wf_errorf(err, WF_ENOTFOUND, "%s is not there", path);
    }
    if (fd < 0) {
        return wf_errorf(err, WF_EINVAL, "cannot open %s: %s", path, strerror(errno));
    }
    enum wf_status status = read_plain(fd, path, &text, err);
    (void)close(fd);
    if (status == WF_OK) {
        status = wf_json_parse(wf_buf_cstr(&text), text.len, path, &json, err);
    }
    wf_buf_free(&text);
    if (status == WF_OK && wf_json_type(json) != WF_JSON_OBJECT) {
        wf_json_free(json);
        return wf_errorf(err, WF_EINVAL, "%s holds no object", path);
    }
    if (status != WF_OK) {
        return WF_EINVAL;
    }
    *ret = json;
    return WF_OK;
}

bool wf_calibration_good(double least_ns, double host_ratio)
{
    const double error = least_ns / (double)WF_CALIBRATION_NS - 1;
    return error >= -WF_CALIBRATION_LIMIT &&
           (error <= WF_CALIBRATION_LIMIT || host_ratio >= 1 - WF_CALIBRATION_LIMIT);
}

/* --- the mark --- */

static enum wf_status write_mark(const char *path,
                                 const struct wf_device *device,
                                 const char *why,
                                 struct wf_error *err)
{
    char when[40];
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *obj = wf_json_object();
    wf_format_utc(wf_realtime_ns(), when, sizeof(when));
    enum wf_status st = wf_json_set_string(obj, "device", device->id, err);
    st = st == WF_OK ? wf_json_set_string(obj, "driver", device->driver, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "when", when, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "why", why, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "retry_ns",
                                       wf_realtime_ns() + WF_CALIBRATION_RETRY_NS, err)
                     : st;
    st = st == WF_OK ? wf_json_write_pretty(obj, &text, err) : st;
    st = st == WF_OK ? wf_file_write_atomic(path, text.data, text.len, err) : st;
    wf_buf_free(&text);
    wf_json_free(obj);
    return st;
}

enum wf_status wf_calibration_store(const struct wf_device *device,
                                    bool usable,
                                    const char *why,
                                    struct wf_error *err)
{
    char *path = wf_device_cache_file(device, "unusable", "", err);
    if (!path) {
        return WF_ENOMEM;
    }
    enum wf_status st = WF_OK;
    if (!usable) {
        st = write_mark(path, device, why, err);
    } else if (unlink(path) != 0 && errno != ENOENT) {
        st = wf_error_errno(err, errno, "cannot remove %s", path);
    }
    free(path);
    return st;
}

/* When the mark is due, from what it says; now where it says nothing that can be. */
static bool is_due(const struct wf_json *json)
{
    int64_t retry_ns = 0;
    const int64_t now_ns = wf_realtime_ns();
    return wf_json_get_i64(json, "retry_ns", 0, INT64_MAX, &retry_ns, NULL) != WF_OK ||
           retry_ns <= now_ns || retry_ns > now_ns + WF_CALIBRATION_RETRY_NS;
}

/* Files are not ours alone: no character of them reaches a terminal unseen. */
static void plain_text(char *text)
{
    for (; *text; text++) {
        *text = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
    }
}

enum wf_calibration wf_calibration_state(const struct wf_device *device,
                                         char *why,
                                         size_t n)
{
    struct wf_json *json = NULL;
    struct wf_error err = { 0 };
    const char *text = "";
    const char *when = "";
    enum wf_calibration ret = WF_CALIBRATION_DUE;
    char *path = wf_device_cache_file(device, "unusable", "", &err);
    enum wf_status st = path ? wf_device_cache_read(path, &json, &err) : WF_ENOTFOUND;
    if (st == WF_OK && wf_json_get_string(json, "why", &text, &err) == WF_OK) {
        (void)wf_json_get_string(json, "when", &when, NULL);
        ret = is_due(json) ? WF_CALIBRATION_DUE : WF_CALIBRATION_FAILED;
        (void)snprintf(why, n,
                       "the device's clock failed its calibration on %.24s (%.120s)",
                       when, text);
    } else {
        (void)snprintf(why, n, "%.200s", err.text);
    }
    ret = st == WF_ENOTFOUND ? WF_CALIBRATION_GOOD : ret;
    why[0] = ret == WF_CALIBRATION_GOOD ? '\0' : why[0];
    plain_text(why);
    wf_json_free(json);
    free(path);
    return ret;
}

/* --- again --- */

static enum wf_status spin(const struct wf_device *device,
                           const volatile int *cancel,
                           double *ret_least_ns,
                           double *ret_host_ratio,
                           struct wf_error *err)
{
    char text[64];
    char *pack = NULL;
    struct wf_json *result = NULL;
    const struct wf_json *timing = NULL;
    const char *answer = "";
    struct wf_execute_request q = { .task_id = "calibration",
                                    .case_json = text,
                                    .case_name = "calibration",
                                    .kernel = "probe_spin",
                                    .device = device,
                                    .calibrating = true,
                                    .cancel = cancel,
                                    .measure = { .measure = true,
                                                 .budget_ns = 500000000,
                                                 .launches = 2,
                                                 .naive = WF_NAIVE_OFF } };
    (void)snprintf(text, sizeof(text), "{\"op\":\"probe\",\"work\":\"spin\",\"ns\":%d}",
                   WF_CALIBRATION_NS);
    enum wf_status st = wf_probe_pack(device, &pack, err);
    q.pack_folder = pack;
    st = st == WF_OK ? wf_execute(&q, &result, err) : st;
    st = st == WF_OK ? wf_json_get_string(result, "answer", &answer, err) : st;
    if (st == WF_OK && strcmp(answer, "PASS") != 0) {
        st = wf_errorf(err, WF_EINTERNAL, "the spin's answer is %s", answer);
    }
    timing = st == WF_OK ? wf_json_find(result, "timing") : NULL;
    if (st == WF_OK && (!timing || wf_json_type(timing) != WF_JSON_OBJECT)) {
        st = wf_errorf(err, WF_EINTERNAL, "the spin has no time");
    }
    st = st == WF_OK ? wf_json_get_f64(timing, "min", ret_least_ns, err) : st;
    st = st == WF_OK ? wf_json_get_f64(timing, "host_ratio", ret_host_ratio, err) : st;
    wf_json_free(result);
    free(pack);
    return st;
}

static void append(char *why, size_t n, const char *text)
{
    const size_t used = strlen(why);
    (void)snprintf(why + used, n - used, "; %s", text);
}

/* The mark follows what the spin reads. */
static bool spin_again(const struct wf_device *device,
                       const volatile int *cancel,
                       char *why,
                       size_t n)
{
    char text[160];
    double least_ns = 0;
    double host_ratio = 0;
    struct wf_error err = { 0 };
    if (spin(device, cancel, &least_ns, &host_ratio, &err) != WF_OK) {
        (void)snprintf(text, sizeof(text), "it could not be measured again: %.100s",
                       err.text);
        append(why, n, text);
        return true;
    }
    const bool good = wf_calibration_good(least_ns, host_ratio);
    (void)snprintf(text, sizeof(text), "a spin of 5 ms read %.4g ms at least",
                   least_ns / 1e6);
    /* A folder that cannot be written costs a spin more, nothing else. */
    (void)wf_calibration_store(device, good, text, NULL);
    if (!good) {
        (void)wf_calibration_state(device, why, n);
    }
    return !good;
}

bool wf_calibration_refuses(const struct wf_device *device,
                            const volatile int *cancel,
                            char *why,
                            size_t n)
{
    const enum wf_calibration state = wf_calibration_state(device, why, n);
    if (state == WF_CALIBRATION_GOOD ||
        (state == WF_CALIBRATION_DUE && !(cancel && *cancel) &&
         !spin_again(device, cancel, why, n))) {
        why[0] = '\0';
        return false;
    }
    append(why, n,
           "no times until it passes: it is spun again by a measurement ten minutes "
           "later, or by 'wavefarm selftest timing'");
    return true;
}
