/* Rotating copies of code. An option that cannot be honoured is an error, never
 * ignored. Pure. */
#include "runner/icache.h"

#include <inttypes.h>
#include <string.h>

enum wf_status icache_bytes(const struct wf_device *device,
                            uint64_t *ret,
                            struct wf_error *err)
{
    if (strncmp(device->arch, "gfx942", 6) == 0) {
        *ret = (uint64_t)64 << 10;
        return WF_OK;
    }
    if (strncmp(device->arch, "sm_", 3) == 0) {
        *ret = (uint64_t)128 << 10;
        return WF_OK;
    }
    return wf_errorf(err, WF_EUNSUPPORTED,
                     "icache cold: the instruction caches of %.60s are not known",
                     device->arch);
}

enum wf_status icache_copies(const struct wf_device *device,
                             uint64_t code_bytes,
                             size_t max_copies,
                             size_t *ret,
                             struct wf_error *err)
{
    uint64_t cache = 0;
    enum wf_status st = icache_bytes(device, &cache, err);
    if (st != WF_OK) {
        return st;
    }
    if (code_bytes == 0) {
        return wf_errorf(err, WF_EUNSUPPORTED, "icache cold: the kernel has no code");
    }
    uint64_t target = ICACHE_TIMES * cache;
    uint64_t copies = target / code_bytes + (target % code_bytes != 0);
    copies = copies < 2 ? 2 : copies;
    if (copies > max_copies) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "icache cold: %" PRIu64 " copies of %" PRIu64
                         " bytes of code would be needed to pass %" PRIu64
                         " KiB, at most %zu are loaded",
                         copies, code_bytes, target >> 10, max_copies);
    }
    *ret = (size_t)copies;
    return WF_OK;
}

size_t icache_sets(size_t sets, size_t copies)
{
    if (sets <= 1 || copies <= 1) {
        return sets;
    }
    return (sets + copies - 1) / copies * copies;
}
