/* A device as JSON: the "device" member of a result and of a runner's registration. */
#include "runner/device.h"

#include <stdio.h>

/* clang-format off */
#define TEXT_MEMBERS(X) X(runtime) X(library) X(id) X(name) X(arch) X(model)           \
    X(partition) X(driver) X(pci_bus_id) X(cpus)
#define INT_MEMBERS(X) X(ordinal) X(cu_count) X(xcc_count) X(warp_size)
#define BYTE_MEMBERS(X) X(memory_bytes) X(l2_bytes) X(llc_bytes) X(lds_bytes)
#define BOOL_MEMBERS(X) X(times_modelled) X(library_kernels)
/* clang-format on */

enum wf_status wf_device_to_json(const struct wf_device *device,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = WF_OK;
#define X(m) st = st == WF_OK ? wf_json_set_string(obj, #m, device->m, err) : st;
    TEXT_MEMBERS(X)
#undef X
#define X(m) st = st == WF_OK ? wf_json_set_i64(obj, #m, device->m, err) : st;
    INT_MEMBERS(X)
#undef X
#define X(m) st = st == WF_OK ? wf_json_set_u64(obj, #m, device->m, err) : st;
    BYTE_MEMBERS(X)
#undef X
#define X(m) st = st == WF_OK ? wf_json_set_bool(obj, #m, device->m, err) : st;
    BOOL_MEMBERS(X)
#undef X
    if (st == WF_OK) {
        st = wf_json_set_f64(obj, "peak_bytes_per_s", device->peak_bytes_per_s, err);
    }
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static enum wf_status get_text(const struct wf_json *json,
                               const char *key,
                               char *ret,
                               size_t n,
                               struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status st = wf_json_get_string(json, key, &text, err);
    if (st == WF_OK && (size_t)snprintf(ret, n, "%s", text) >= n) {
        st = wf_errorf(err, WF_EINVAL, "device.%s is longer than %zu", key, n - 1);
    }
    return st;
}

static enum wf_status get_int(const struct wf_json *json,
                              const char *key,
                              int *ret,
                              struct wf_error *err)
{
    int64_t value = 0;
    enum wf_status st = wf_json_get_i64(json, key, 0, 1 << 24, &value, err);
    if (st == WF_OK) {
        *ret = (int)value;
    }
    return st;
}

enum wf_status wf_device_from_json(const struct wf_json *json,
                                   struct wf_device *ret,
                                   struct wf_error *err)
{
    struct wf_device device = { 0 };
    enum wf_status st = WF_OK;
#define X(m) \
    st = st == WF_OK ? get_text(json, #m, device.m, sizeof(device.m), err) : st;
    TEXT_MEMBERS(X)
#undef X
#define X(m) st = st == WF_OK ? get_int(json, #m, &device.m, err) : st;
    INT_MEMBERS(X)
#undef X
#define X(m) \
    st = st == WF_OK ? wf_json_get_u64(json, #m, 0, UINT64_MAX, &device.m, err) : st;
    BYTE_MEMBERS(X)
#undef X
#define X(m) st = st == WF_OK ? wf_json_get_bool(json, #m, &device.m, err) : st;
    BOOL_MEMBERS(X)
#undef X
    if (st == WF_OK) {
        st = wf_json_get_f64(json, "peak_bytes_per_s", &device.peak_bytes_per_s, err);
    }
    if (st == WF_OK) {
        *ret = device;
    }
    return st;
}
