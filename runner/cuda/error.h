/* Error codes and texts. A failing call leaves a sentence for hipGetErrorString in its
 * thread, with the CUDA driver's own name and text, beside the code. */
#ifndef WF_RUNNER_CUDA_ERROR_H
#define WF_RUNNER_CUDA_ERROR_H

#include "runner/cuda/driver.h"
#include "runner/hip_abi.h"

#include <stdbool.h>

hipError_t cuda_error_to_hip(cu_result result);
/* The context is lost after it: every later call on the device fails too. */
bool cuda_error_is_sticky(cu_result result);

/* Records and returns `error` with this text. NotReady is an answer, not an error, and
 * is not recorded. */
hipError_t cuda_fail(hipError_t error, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Error that hipGetLastError gives: the calling thread's last, which it clears. */
hipError_t cuda_take_last_error(void);

#endif
