/* Extensions: what this runtime is, what a device is, tensor maps. Structs carry
 * the caller's size, so that an older caller gets the members that it knows. */
#include "runner/cuda/context.h"
#include "runner/cuda/hip_api.h"
#include "runner/cuda/nvml.h"

#include <stdio.h>
#include <string.h>

static hipError_t give(void *dst, uint32_t dst_bytes, void *src, uint32_t src_bytes)
{
    if (dst_bytes < sizeof(uint32_t)) {
        return cuda_fail(hipErrorInvalidValue, "the caller's `size` is %u", dst_bytes);
    }
    uint32_t bytes = dst_bytes < src_bytes ? dst_bytes : src_bytes;
    memcpy(src, &dst_bytes, sizeof dst_bytes); /* `size` stays what the caller said */
    memcpy(dst, src, bytes);
    return hipSuccess;
}

int wf_rt_info(struct wf_rt_info *ret)
{
    struct wf_rt_info info = { .abi = 1, .name = "cuda" };
    if (ret == NULL) {
        return cuda_fail(hipErrorInvalidValue, "wf_rt_info: the result is NULL");
    }
    int cuda = 0;
    char driver[40] = "";
    if (cuda_ready() != hipSuccess ||
        cuda_driver()->driver_version(&cuda) != CU_SUCCESS) {
        snprintf(info.version, sizeof info.version, "no driver");
    } else if (nvml_driver_version(driver, sizeof driver) == 0) {
        snprintf(info.version, sizeof info.version, "%s (CUDA %d.%d)", driver,
                 cuda / 1000, cuda % 1000 / 10);
    } else {
        snprintf(info.version, sizeof info.version, "CUDA %d.%d", cuda / 1000,
                 cuda % 1000 / 10);
    }
    return give(ret, ret->size, &info, sizeof info);
}

/* The vendor tools' spelling: GPU-8-4-4-4-12. */
static void format_uuid(const struct cu_uuid *uuid, char *ret, size_t bytes)
{
    const unsigned char *b = uuid->bytes;
    snprintf(ret, bytes,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
             b[12], b[13], b[14], b[15]);
}

static hipError_t read_attributes(cu_device device, struct wf_rt_device_info *info)
{
    int l2 = 0;
    int shared = 0;
    int major = 0;
    int minor = 0;
    const struct {
        int attribute;
        int *value;
    } row[] = { { CU_DEV_MULTIPROCESSORS, &info->cu_count },
                { CU_DEV_WARP_SIZE, &info->warp_size },
                { CU_DEV_L2_BYTES, &l2 },
                { CU_DEV_SHARED_OPTIN, &shared },
                { CU_DEV_CLOCK_KHZ, &info->clock_khz },
                { CU_DEV_MEMORY_CLOCK_KHZ, &info->memory_clock_khz },
                { CU_DEV_CAPABILITY_MAJOR, &major },
                { CU_DEV_CAPABILITY_MINOR, &minor } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        hipError_t error = cuda_check(
            cuda_driver()->device_attribute(row[i].value, row[i].attribute, device),
            "cuDeviceGetAttribute");
        if (error != hipSuccess) {
            return error;
        }
    }
    info->l2_bytes = (uint64_t)l2;
    info->llc_bytes = (uint64_t)l2;
    info->lds_bytes = (uint64_t)shared;
    snprintf(info->arch, sizeof info->arch, "sm_%d%d", major, minor);
    return hipSuccess;
}

int wf_rt_device_info(int device, struct wf_rt_device_info *ret)
{
    struct wf_rt_device_info info = { .xcc_count = 1 };
    struct cu_uuid uuid;
    cu_device handle;
    size_t bytes = 0;
    if (ret == NULL) {
        return cuda_fail(hipErrorInvalidValue, "wf_rt_device_info: the result is NULL");
    }
    hipError_t error = cuda_ready();
    if (error == hipSuccess) {
        error = cuda_device_handle(device, &handle);
    }
    if (error == hipSuccess) {
        error = hipDeviceTotalMem(&bytes, device);
    }
    if (error == hipSuccess) {
        error = hipDeviceGetName(info.name, (int)sizeof info.name, device);
    }
    if (error == hipSuccess) {
        error =
            hipDeviceGetPCIBusId(info.pci_bus_id, (int)sizeof info.pci_bus_id, device);
    }
    if (error == hipSuccess) {
        error = read_attributes(handle, &info);
    }
    if (error != hipSuccess) {
        return error;
    }
    info.memory_bytes = bytes;
    if (cuda_driver()->device_uuid != NULL &&
        cuda_driver()->device_uuid(&uuid, handle) == CU_SUCCESS) {
        format_uuid(&uuid, info.uuid, sizeof info.uuid);
    }
    return give(ret, ret->size, &info, sizeof info);
}

static int tensor_dtype(const char *name)
{
    /* CUtensorMapDataType; 8-bit floats travel as bytes. */
    static const struct {
        const char *name;
        int value;
    } row[] = { { "u8", 0 },  { "i8", 0 },  { "e4m3fn", 0 }, { "e5m2", 0 },
                { "i32", 3 }, { "i64", 5 }, { "f16", 6 },    { "f32", 7 },
                { "f64", 8 }, { "bf16", 9 } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (strcmp(row[i].name, name) == 0) {
            return row[i].value;
        }
    }
    return -1;
}

static int tensor_swizzle(uint32_t bytes)
{
    switch (bytes) {
    case 0:
        return 0;
    case 32:
        return 1;
    case 64:
        return 2;
    case 128:
        return 3;
    default:
        return -1;
    }
}

int wf_rt_tensor_map(const struct wf_rt_tensor_map *map, void *ret_128_bytes)
{
    enum {
        PROMOTE_L2_256B = 3
    };
    const uint32_t step[5] = { 1, 1, 1, 1, 1 };
    hipError_t error = cuda_bind();
    if (error != hipSuccess) {
        return error;
    }
    if (map == NULL || ret_128_bytes == NULL || map->dtype == NULL || map->rank < 1 ||
        map->rank > 5) {
        return cuda_fail(hipErrorInvalidValue,
                         "wf_rt_tensor_map: NULL argument or rank not 1 to 5");
    }
    int dtype = tensor_dtype(map->dtype);
    int swizzle = tensor_swizzle(map->swizzle_bytes);
    if (dtype < 0 || swizzle < 0) {
        return cuda_fail(hipErrorInvalidValue,
                         "tensor map: type %s or swizzle of %u bytes is not possible",
                         map->dtype, map->swizzle_bytes);
    }
    if (cuda_driver()->tensor_map_tiled == NULL ||
        cuda_driver()->func_param_info == NULL) {
        return cuda_fail(hipErrorNotSupported,
                         "the driver has no cuTensorMapEncodeTiled or no "
                         "cuFuncGetParamInfo (CUDA 12.4 has both)");
    }
    return cuda_check(
        cuda_driver()->tensor_map_tiled(ret_128_bytes, dtype, (uint32_t)map->rank,
                                        map->base, map->dim, map->stride_bytes,
                                        map->box, step, 0, swizzle, PROMOTE_L2_256B, 0),
        "cuTensorMapEncodeTiled");
}
