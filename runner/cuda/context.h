/* The driver, its devices and their primary contexts; which one a thread is on. */
#ifndef WF_RUNNER_CUDA_CONTEXT_H
#define WF_RUNNER_CUDA_CONTEXT_H

#include "runner/cuda/driver.h"
#include "runner/cuda/error.h"

/* Loads and initialises the driver once per process; later calls return the same
 * answer. hipErrorNoDevice when there is no driver or no device. */
hipError_t cuda_ready(void);

/* Valid after cuda_ready() succeeded. */
const struct cu_driver *cuda_driver(void);
int cuda_device_count(void);
int cuda_current_ordinal(void);
/* hipErrorInvalidDevice when the ordinal is out of range. */
hipError_t cuda_device_handle(int ordinal, cu_device *ret);

/* cuda_ready, and the primary context of this thread's device made current: what every
 * call that touches memory, streams or code begins with. */
hipError_t cuda_bind(void);

/* Translates a driver's answer: records its text (`what` is the call), and remembers a
 * fault of the context. */
hipError_t cuda_check(cu_result result, const char *what);

/* The fault that the current device's context has died of, or hipSuccess. */
hipError_t cuda_sticky_error(void);

#endif
