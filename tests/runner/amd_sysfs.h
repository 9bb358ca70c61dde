/* A sysfs of a test's own with the gpu_metrics of an MI200 at 0000:c1:00.0, whose
 * throttle reasons are of the moment; WAVEFARM_SYSFS leads to it. */
#ifndef WF_TESTS_RUNNER_AMD_SYSFS_H
#define WF_TESTS_RUNNER_AMD_SYSFS_H

#include <stdint.h>

/* 61 degrees, 480 W. */
void amd_sysfs_put(uint64_t reasons, uint16_t mhz);
void amd_sysfs_remove(void);

#endif
