/* Inside the host runtime. */
#ifndef WF_RUNNER_HOST_RUNTIME_H
#define WF_RUNNER_HOST_RUNTIME_H

#include "runner/hip_exports.h"

/* Remembers the error for hipGetLastError and returns it. */
hipError_t host_fail(hipError_t code);

#endif
