/* HIP_VISIBLE_DEVICES and its relatives. */
#ifndef WF_RUNNER_VISIBLE_H
#define WF_RUNNER_VISIBLE_H

#include "core/error.h"

/* WF_OK: unset (all devices) or a list of different numbers or UUIDs. ENOTFOUND: empty,
 * so that there is no device. EINVAL: blanks, a trailing or doubled comma, something
 * that is neither number nor UUID, or a device twice. `value` NULL is unset. */
enum wf_status visible_devices_check(const char *variable,
                                     const char *value,
                                     struct wf_error *err);

#endif
