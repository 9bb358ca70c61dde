/* Reasons why a clock is held down (throttle.def), as bits. Pure. */
#ifndef WF_RUNNER_THROTTLE_H
#define WF_RUNNER_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#define THROTTLE(name, text, counts) THROTTLE_INDEX_##name,
#include "runner/throttle.def"
#undef THROTTLE
    THROTTLE_COUNT
};

enum {
#define THROTTLE(name, text, counts) THROTTLE_##name = 1u << THROTTLE_INDEX_##name,
#include "runner/throttle.def"
#undef THROTTLE
};

/* Has it a reason that makes a sample not count? */
bool throttle_counts(uint32_t reasons);
const char *throttle_name(size_t index); /* below THROTTLE_COUNT */

/* nvmlDeviceGetCurrentClocksEventReasons's bits (nvml.h, nvmlClocksEventReason...);
 * idle, application clocks, sync boost and display clock are no throttling. */
uint32_t throttle_from_nvml(uint64_t bits);
/* amdgpu's indep_throttle_status (SMU_THROTTLER_*_BIT of amdgpu_smu.h). */
uint32_t throttle_from_amd_common(uint64_t bits);
/* throttle_status of MI300 (THROTTLER_*_BIT of its firmware's interface). */
uint32_t throttle_from_mi300(uint32_t bits);

#endif
