/* Marks of devices whose clock is wrong. */
#include "runner/calibration.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

bool wf_calibration_failed(const struct wf_device *device, char *why, size_t n)
{
    struct wf_json *json = NULL;
    const char *text = "";
    const char *when = "";
    char *path = wf_device_cache_file(device, "unusable", "", NULL);
    bool failed = path && wf_json_parse_file(path, &json, NULL) == WF_OK &&
                  wf_json_get_string(json, "why", &text, NULL) == WF_OK;
    if (failed) {
        (void)wf_json_get_string(json, "when", &when, NULL);
        (void)snprintf(why, n,
                       "the device's clock failed its calibration on %.24s (%.150s); "
                       "'wavefarm selftest timing' measures it again",
                       when, text);
    }
    wf_json_free(json);
    free(path);
    return failed;
}
