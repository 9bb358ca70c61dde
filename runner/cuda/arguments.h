/* A launch's packed arguments as CUDA wants them. */
#ifndef WF_RUNNER_CUDA_ARGUMENTS_H
#define WF_RUNNER_CUDA_ARGUMENTS_H

#include "runner/cuda/hip_api.h"

#include "runner/cuda/driver.h"

enum {
    CUDA_MAX_EXTRA = 8,
    CUDA_MAX_PARAMETERS = 256
};

/* What cuLaunchKernel gets: one of both is NULL. Lives as long as the call. */
struct cuda_arguments {
    void **params, **extra;
    void *list[CUDA_MAX_EXTRA];
    void *address[CUDA_MAX_PARAMETERS];
};

/* From HIP's `extra`: markers and values of a packed buffer. */
hipError_t cuda_arguments(cu_function function,
                          void **extra,
                          struct cuda_arguments *ret);

#endif
