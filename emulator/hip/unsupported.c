/* Functions of HIP that MI300 has and the emulator does not: graphs, textures, arrays,
 * virtual memory, interprocess handles and others. They are there, so that programs
 * start, and they return hipErrorNotSupported whatever they are given. */
#include "emulator/hip/runtime.h"

#define UNSUPPORTED(name)                                                          \
    __attribute__((visibility("default"))) hipError_t name(void);                  \
    hipError_t name(void)                                                          \
    {                                                                              \
        return em_hip_fail_words(hipErrorNotSupported, #name " is not supported"); \
    }
#include "emulator/hip/unsupported.def"
#undef UNSUPPORTED
