/* What a device is: names, attributes, memory. Nothing here creates a context except
 * hipMemGetInfo, so that discovery does not take device memory. */
#include "runner/cuda/context.h"
#include "runner/cuda/hip_api.h"

#include <string.h>

static const struct {
    int hip, cuda;
} ATTRIBUTES[] = {
#define ATTRIBUTE(hip, cuda) { hip, cuda },
#include "runner/cuda/attribute.def"
#undef ATTRIBUTE
};

static hipError_t null_result(const char *function)
{
    return cuda_fail(hipErrorInvalidValue,
                     "%s: the place for the result is NULL or empty", function);
}

static hipError_t ready_device(int ordinal, cu_device *ret)
{
    hipError_t error = cuda_ready();
    return error == hipSuccess ? cuda_device_handle(ordinal, ret) : error;
}

hipError_t hipDriverGetVersion(int *version)
{
    if (version == NULL) {
        return null_result("hipDriverGetVersion");
    }
    hipError_t error = cuda_ready();
    return error != hipSuccess ? error
                               : cuda_check(cuda_driver()->driver_version(version),
                                            "cuDriverGetVersion");
}

hipError_t hipRuntimeGetVersion(int *version)
{
    return hipDriverGetVersion(version);
}

hipError_t hipGetDeviceCount(int *count)
{
    if (count == NULL) {
        return null_result("hipGetDeviceCount");
    }
    hipError_t error = cuda_ready();
    *count = error == hipSuccess ? cuda_device_count() : 0;
    return error;
}

hipError_t hipDeviceGetAttribute(int *value, int attribute, int device)
{
    cu_device handle;
    if (value == NULL) {
        return null_result("hipDeviceGetAttribute");
    }
    hipError_t error = ready_device(device, &handle);
    if (error != hipSuccess) {
        return error;
    }
    for (size_t i = 0; i < sizeof ATTRIBUTES / sizeof ATTRIBUTES[0]; i++) {
        if (ATTRIBUTES[i].hip == attribute) {
            return cuda_check(
                cuda_driver()->device_attribute(value, ATTRIBUTES[i].cuda, handle),
                "cuDeviceGetAttribute");
        }
    }
    return cuda_fail(
        hipErrorInvalidValue,
        "hipDeviceGetAttribute: HIP attribute %d has no counterpart in CUDA",
        attribute);
}

hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t device)
{
    cu_device handle;
    if (name == NULL || bytes <= 0) {
        return null_result("hipDeviceGetName");
    }
    hipError_t error = ready_device(device, &handle);
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->device_name(name, bytes, handle),
                            "cuDeviceGetName");
}

hipError_t hipDeviceGetPCIBusId(char *id, int bytes, int device)
{
    cu_device handle;
    if (id == NULL || bytes <= 0) {
        return null_result("hipDeviceGetPCIBusId");
    }
    hipError_t error = ready_device(device, &handle);
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->device_pci_bus_id(id, bytes, handle),
                            "cuDeviceGetPCIBusId");
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    cu_device handle;
    if (bytes == NULL) {
        return null_result("hipDeviceTotalMem");
    }
    hipError_t error = ready_device(device, &handle);
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->device_total_mem(bytes, handle),
                            "cuDeviceTotalMem");
}

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (free_bytes == NULL || total_bytes == NULL) {
        return null_result("hipMemGetInfo");
    }
    hipError_t error = cuda_bind();
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->mem_get_info(free_bytes, total_bytes),
                            "cuMemGetInfo");
}
