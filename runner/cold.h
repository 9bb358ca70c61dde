/* How many copies of a task's buffers a cold run rotates through. Pure. */
#ifndef WF_RUNNER_COLD_H
#define WF_RUNNER_COLD_H

#include "runner/device.h"

/* Bytes that must lie between two uses of the same copy, so that it has left the last
 * level of cache: 512 MiB on MI300 (its Infinity Cache has 256), else four times the
 * cache that the device reports, 512 MiB when it reports none. */
uint64_t cold_target_bytes(const struct wf_device *device);
/* At least 2. EUNSUPPORTED when the copies would not fit the device, or would be more
 * than `max_sets`. */
enum wf_status cold_set_count(const struct wf_device *device,
                              uint64_t set_bytes,
                              size_t max_sets,
                              size_t *ret,
                              struct wf_error *err);

#endif
