/* Declarations of the functions that this library exports, made from the same table
 * that the runner resolves them by. */
#ifndef WF_RUNNER_CUDA_HIP_API_H
#define WF_RUNNER_CUDA_HIP_API_H

#include "runner/hip_abi.h"

#define FN(required, result, name, arguments) \
    __attribute__((visibility("default"))) result name arguments;
#include "runner/hip_functions.def"
#undef FN

#endif
