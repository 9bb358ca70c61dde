/* The only file of the tests that includes the HIP headers. */
#include "hip_theirs.h"

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <stdio.h>
#include <string.h>

const struct hip_name their_names[] = {
#define NAME(name) { #name, (long)(name) },
#include "hip_names.def"
#undef NAME
};
const size_t their_name_count = sizeof(their_names) / sizeof(their_names[0]);

void *const their_launch_params[3] = { HIP_LAUNCH_PARAM_BUFFER_POINTER,
                                       HIP_LAUNCH_PARAM_BUFFER_SIZE,
                                       HIP_LAUNCH_PARAM_END };

size_t their_properties_bytes(void)
{
    return sizeof(hipDeviceProp_t);
}

void their_properties_fill(void *properties, const char *arch)
{
    hipDeviceProp_t *p = properties;
    memset(p, 0xee, sizeof(*p));
    (void)snprintf(p->gcnArchName, sizeof(p->gcnArchName), "%s", arch);
}
