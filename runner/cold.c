/* Rotating copies for cold runs. An option that cannot be honoured is an error, never
 * ignored: a number called cold must be one. Pure. */
#include "runner/cold.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_TARGET ((uint64_t)512 << 20)

uint64_t cold_target_bytes(const struct wf_device *device)
{
    uint64_t cache =
        device->llc_bytes > device->l2_bytes ? device->llc_bytes : device->l2_bytes;
    if (strncmp(device->arch, "gfx942", 6) == 0 || cache == 0) {
        return DEFAULT_TARGET;
    }
    return 4 * cache;
}

enum wf_status cold_set_count(const struct wf_device *device,
                              uint64_t set_bytes,
                              size_t max_sets,
                              size_t *ret,
                              struct wf_error *err)
{
    uint64_t target = cold_target_bytes(device);
    if (set_bytes == 0) {
        return wf_errorf(err, WF_EUNSUPPORTED, "cold: the case has no buffers");
    }
    uint64_t sets = target / set_bytes + (target % set_bytes != 0);
    sets = sets < 2 ? 2 : sets;
    if (sets > max_sets) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "cold: %" PRIu64 " copies of %" PRIu64
                         " bytes would be needed to "
                         "pass %" PRIu64 " MiB, at most %zu are made",
                         sets, set_bytes, target >> 20, max_sets);
    }
    if (device->memory_bytes && sets * set_bytes > device->memory_bytes / 10 * 7) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "cold: %" PRIu64 " copies of %" PRIu64
                         " bytes do not fit into 70 "
                         "%% of the device's %" PRIu64 " MiB",
                         sets, set_bytes, device->memory_bytes >> 20);
    }
    *ret = (size_t)sets;
    return WF_OK;
}
