/* One measurement at a time on a device, over all processes and users of a machine.
 *
 * A lock is a file per card in a folder that all share, locked with flock(2): the
 * kernel drops it with the process, so nothing is ever stale, whatever a crash left
 * behind. Partitions of a card share its power and its memory, so they share its lock.
 */
#ifndef WF_RUNNER_DEVICE_LOCK_H
#define WF_RUNNER_DEVICE_LOCK_H

#include "core/error.h"
#include "runner/device.h"

#include <stddef.h>
#include <stdint.h>

#define DEVICE_LOCK_NAME 160

struct device_lock; /* opaque */

/* Called once when it has to wait; `line` says for whom. */
typedef void (*device_lock_wait_fn)(void *ctx, const char *line);

struct device_lock_options {
    const char *folder; /* NULL: $WAVEFARM_LOCK_DIR, else /run/lock, else /tmp */
    int64_t timeout_ns; /* 0: not a moment */
    device_lock_wait_fn wait;
    void *ctx;
};

/* "wavefarm-0000-c1-00.lock" by PCI address without its function; else by runtime,
 * machine id, device id: the same for all processes of this machine. */
void device_lock_name(const struct wf_device *device, char ret[DEVICE_LOCK_NAME]);

/* ETIMEOUT names the process that has the device; EIO names the folder that cannot be
 * written and what to do. A file that is no plain file, or a link, is refused. */
enum wf_status device_lock_take(const struct wf_device *device,
                                const struct device_lock_options *options,
                                struct device_lock **ret,
                                struct wf_error *err);
int64_t device_lock_waited_ns(const struct device_lock *lock);
void device_lock_free(struct device_lock *lock);

#endif
