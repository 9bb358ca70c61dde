/* Controls of the fake driver (and NVML): what it was asked, what it shall refuse. */
#ifndef WF_TESTS_RUNNER_CUDA_FAKE_CUDA_H
#define WF_TESTS_RUNNER_CUDA_FAKE_CUDA_H

#include "runner/cuda/driver.h"

struct fake_cuda {
    int devices;
    char fail_symbol[64]; /* this function answers fail_code */
    int fail_code;
    const char *jit_log;
    /* Record of the last calls. */
    char calls[4096];      /* names, each followed by a blank */
    int context_of_thread; /* device of the last cuCtxSetCurrent, -1: none yet */
    void *extra[8];
    unsigned grid[3], block[3], shared_bytes;
    int shared_limit; /* last cuFuncSetAttribute(8) */
    int non_portable;
    struct cu_launch_attribute attribute;
    int tensor_dtype, tensor_swizzle, tensor_rank;
    unsigned memset_value;
    size_t first_parameter; /* offset of the first of two parameters (16, 8 bytes) */
    void *param[2];         /* of the last launch; NULL: it had a packed buffer */
};

struct fake_cuda *fake_cuda_state(void);

#endif
