/* Error codes as names and words, and the last error of a thread. */
#include "emulator/hip/runtime.h"

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
#define HIP_ERROR(name, number, text) { number, #name, text },
#define HIP_ERROR_LATER               HIP_ERROR
#include "emulator/hip/error.def"
#undef HIP_ERROR
#undef HIP_ERROR_LATER
};

#define ERROR_COUNT (sizeof(errors) / sizeof(errors[0]))

const char *hipGetErrorName(hipError_t error)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) {
        if (errors[i].code == error) {
            return errors[i].name;
        }
    }
    return "hipErrorUnknown";
}

const char *hipGetErrorString(hipError_t error)
{
    const char *said = em_hip_words(error);
    if (said != NULL) {
        return said;
    }
    for (size_t i = 0; i < ERROR_COUNT; i++) {
        if (errors[i].code == error) {
            return errors[i].text;
        }
    }
    return "unknown error";
}

hipError_t hipDrvGetErrorName(hipError_t error, const char **name)
{
    if (name == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    *name = hipGetErrorName(error);
    return hipSuccess;
}

hipError_t hipDrvGetErrorString(hipError_t error, const char **text)
{
    if (text == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    *text = hipGetErrorString(error);
    return hipSuccess;
}

hipError_t hipGetLastError(void)
{
    return em_hip_last(true);
}

hipError_t hipExtGetLastError(void)
{
    return em_hip_last(true);
}

hipError_t hipPeekAtLastError(void)
{
    return em_hip_last(false);
}
