/* Prototypes of the functions that a runtime library of ours exports, from
 * hip_functions.def, with default visibility (such a library is built with hidden). */
#ifndef WF_RUNNER_HIP_EXPORTS_H
#define WF_RUNNER_HIP_EXPORTS_H

#include "runner/hip_abi.h"

#define FN(required, result, name, args) \
    __attribute__((visibility("default"))) result name args;
#include "runner/hip_functions.def"
#undef FN

#endif
