/* Clocks, power and temperature of an AMD device, from amdgpu's hwmon in sysfs.
 *
 * The files are read by a child process: a driver that hangs then costs one time-out,
 * after which all figures are unknown (NaN), and neither the judge nor the measurement
 * waits for it. A child that cannot be killed (state D) is left to the kernel. */
#ifndef WF_RUNNER_AMD_POWER_H
#define WF_RUNNER_AMD_POWER_H

#include "core/error.h"
#include "runner/subject_protocol.h"

struct amd_power; /* opaque */

/* `root` is "/sys" outside tests. ENOTFOUND when the device has no hwmon folder. */
enum wf_status amd_power_start(const char *root,
                               const char *pci_bus_id,
                               int timeout_ms,
                               struct amd_power **ret,
                               struct wf_error *err);
/* NaN for what is unknown; `p` NULL: all of it. throttle_reasons stays 0: hwmon does
 * not tell it, a drop of the clock shows it. */
void amd_power_read(struct amd_power *p, struct wf_sp_power *ret);
void amd_power_stop(struct amd_power *p);

#endif
