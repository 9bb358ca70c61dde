/* Error codes, names and texts, and each thread's last error. The text that a failing
 * call left is given by hipGetErrorString as long as the same code is asked for, so
 * that a caller who only knows HIP's interface still sees the driver's reason. */
#include "runner/cuda/error.h"

#include "runner/cuda/hip_api.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidMemcpyDirection = 21,
    hipErrorInsufficientDriver = 35,
    hipErrorECCNotCorrectable = 214,
    hipErrorInvalidKernelFile = 218
};

static const struct {
    hipError_t value;
    const char *name;
    const char *text;
} HIP_ERRORS[] = {
#define HIP_ERROR(value, name, text) { value, #name, text },
#define CUDA_ALIAS(value, name)
#include "runner/cuda/error.def"
#undef HIP_ERROR
#undef CUDA_ALIAS
};

static const struct {
    cu_result cuda;
    hipError_t hip;
} CUDA_ALIASES[] = {
#define HIP_ERROR(value, name, text)
#define CUDA_ALIAS(value, name) { value, name },
#include "runner/cuda/error.def"
#undef HIP_ERROR
#undef CUDA_ALIAS
};

static _Thread_local hipError_t last_error;
static _Thread_local hipError_t detail_error;
static _Thread_local char detail_text[1024];

hipError_t cuda_error_to_hip(cu_result result)
{
    for (size_t i = 0; i < sizeof HIP_ERRORS / sizeof HIP_ERRORS[0]; i++) {
        if (HIP_ERRORS[i].value == result) {
            return HIP_ERRORS[i].value;
        }
    }
    for (size_t i = 0; i < sizeof CUDA_ALIASES / sizeof CUDA_ALIASES[0]; i++) {
        if (CUDA_ALIASES[i].cuda == result) {
            return CUDA_ALIASES[i].hip;
        }
    }
    return hipErrorUnknown;
}

bool cuda_error_is_sticky(cu_result result)
{
    /* 704, 705, 708, 711..713 of that block are refusals, not faults. */
    return result == 214 || result == 220 || result == 226 || result == 700 ||
           result == 702 || result == 709 || result == 710 ||
           (result >= 714 && result <= 719) || result == 721;
}

hipError_t cuda_fail(hipError_t error, const char *fmt, ...)
{
    if (error == hipSuccess || error == hipErrorNotReady) {
        return error;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(detail_text, sizeof detail_text, fmt, args);
    va_end(args);
    detail_error = error;
    last_error = error;
    return error;
}

hipError_t cuda_take_last_error(void)
{
    hipError_t error = last_error;
    last_error = hipSuccess;
    return error;
}

const char *hipGetErrorName(hipError_t error)
{
    for (size_t i = 0; i < sizeof HIP_ERRORS / sizeof HIP_ERRORS[0]; i++) {
        if (HIP_ERRORS[i].value == error) {
            return HIP_ERRORS[i].name;
        }
    }
    return "hipErrorUnknown";
}

const char *hipGetErrorString(hipError_t error)
{
    if (error != hipSuccess && error == detail_error) {
        return detail_text;
    }
    for (size_t i = 0; i < sizeof HIP_ERRORS / sizeof HIP_ERRORS[0]; i++) {
        if (HIP_ERRORS[i].value == error) {
            return HIP_ERRORS[i].text;
        }
    }
    return "unknown error";
}
