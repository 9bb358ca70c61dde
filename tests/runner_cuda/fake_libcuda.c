/* A CUDA driver and an NVML that only remember what they were asked. Memory is the
 * host's, handles are small numbers, every function can be told to fail. */
#include "tests/runner_cuda/fake_cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE __attribute__((visibility("default")))

static struct fake_cuda state = { .devices = 2, .context_of_thread = -1 };

FAKE struct fake_cuda *fake_cuda_state(void)
{
    return &state;
}

static int called(const char *symbol)
{
    const size_t used = strlen(state.calls);
    snprintf(state.calls + used, sizeof state.calls - used, "%s ", symbol);
    return strcmp(state.fail_symbol, symbol) == 0 ? state.fail_code : CU_SUCCESS;
}

/* Declares and opens a driver function; `result` is what it answers. */
#define CUDA(name, ...)               \
    FAKE cu_result name(__VA_ARGS__); \
    FAKE cu_result name(__VA_ARGS__)

CUDA(cuInit, unsigned flags)
{
    (void)flags;
    return called("cuInit");
}

CUDA(cuDriverGetVersion, int *version)
{
    *version = 13000;
    return called("cuDriverGetVersion");
}

CUDA(cuGetErrorName, cu_result error, const char **text)
{
    *text = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == 716 ? "CUDA_ERROR_MISALIGNED_ADDRESS"
                           : NULL;
    return *text != NULL ? CU_SUCCESS : 1;
}

CUDA(cuGetErrorString, cu_result error, const char **text)
{
    *text = error == 700 ? "an illegal memory access was encountered" : "fake reason";
    return CU_SUCCESS;
}

CUDA(cuDeviceGetCount, int *count)
{
    *count = state.devices;
    return called("cuDeviceGetCount");
}

CUDA(cuDeviceGet, cu_device *device, int ordinal)
{
    *device = ordinal + 10;
    return called("cuDeviceGet");
}

CUDA(cuDeviceGetName, char *name, int bytes, cu_device device)
{
    snprintf(name, (size_t)bytes, "Fake GPU %d", device - 10);
    return called("cuDeviceGetName");
}

CUDA(cuDeviceGetAttribute, int *value, int attribute, cu_device device)
{
    (void)device;
    *value = attribute == CU_DEV_SHARED_OPTIN       ? 232448
             : attribute == CU_DEV_CAPABILITY_MAJOR ? 9
             : attribute == CU_DEV_CAPABILITY_MINOR ? 0
             : attribute == CU_DEV_WARP_SIZE        ? 32
                                                    : attribute * 1000;
    return called("cuDeviceGetAttribute");
}

CUDA(cuDeviceTotalMem_v2, size_t *bytes, cu_device device)
{
    (void)device;
    *bytes = (size_t)3 << 32;
    return called("cuDeviceTotalMem_v2");
}

CUDA(cuDeviceGetPCIBusId, char *id, int bytes, cu_device device)
{
    snprintf(id, (size_t)bytes, "0000:0%d:00.0", device - 10);
    return called("cuDeviceGetPCIBusId");
}

CUDA(cuDeviceGetUuid_v2, struct cu_uuid *uuid, cu_device device)
{
    for (int i = 0; i < 16; i++) {
        uuid->bytes[i] = (unsigned char)(device * 16 + i);
    }
    return called("cuDeviceGetUuid_v2");
}

CUDA(cuDevicePrimaryCtxRetain, cu_context *context, cu_device device)
{
    *context = (cu_context)(uintptr_t)(device + 1000);
    return called("cuDevicePrimaryCtxRetain");
}

CUDA(cuCtxSetCurrent, cu_context context)
{
    state.context_of_thread = (int)(uintptr_t)context - 1010;
    return called("cuCtxSetCurrent");
}

CUDA(cuCtxSynchronize, void)
{
    return called("cuCtxSynchronize");
}

CUDA(cuMemGetInfo_v2, size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = 1000;
    *total_bytes = 2000;
    return called("cuMemGetInfo_v2");
}

CUDA(cuMemAlloc_v2, cu_ptr *ptr, size_t bytes)
{
    const int result = called("cuMemAlloc_v2");
    *ptr = result == CU_SUCCESS ? (cu_ptr)(uintptr_t)calloc(1, bytes) : 0;
    return result;
}

CUDA(cuMemFree_v2, cu_ptr ptr)
{
    free((void *)(uintptr_t)ptr);
    return called("cuMemFree_v2");
}

CUDA(cuMemHostAlloc, void **ptr, size_t bytes, unsigned flags)
{
    (void)flags;
    const int result = called("cuMemHostAlloc");
    *ptr = result == CU_SUCCESS ? calloc(1, bytes) : NULL;
    return result;
}

CUDA(cuMemFreeHost, void *ptr)
{
    free(ptr);
    return called("cuMemFreeHost");
}

static int copied(const char *symbol, uintptr_t dst, uintptr_t src, size_t bytes)
{
    const int result = called(symbol);
    if (result == CU_SUCCESS) {
        memmove((void *)dst, (const void *)src, bytes);
    }
    return result;
}

#define COPY(name, dst_type, src_type)                               \
    CUDA(name, dst_type dst, src_type src, size_t bytes)             \
    {                                                                \
        return copied(#name, (uintptr_t)dst, (uintptr_t)src, bytes); \
    }
#define COPY_ASYNC(name, dst_type, src_type)                               \
    CUDA(name, dst_type dst, src_type src, size_t bytes, cu_stream stream) \
    {                                                                      \
        (void)stream;                                                      \
        return copied(#name, (uintptr_t)dst, (uintptr_t)src, bytes);       \
    }
COPY(cuMemcpy, cu_ptr, cu_ptr)
COPY(cuMemcpyHtoD_v2, cu_ptr, const void *)
COPY(cuMemcpyDtoH_v2, void *, cu_ptr)
COPY(cuMemcpyDtoD_v2, cu_ptr, cu_ptr)
COPY_ASYNC(cuMemcpyAsync, cu_ptr, cu_ptr)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, cu_ptr, const void *)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, cu_ptr)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, cu_ptr, cu_ptr)

CUDA(cuMemsetD8_v2, cu_ptr dst, unsigned char value, size_t bytes)
{
    (void)dst;
    (void)bytes;
    state.memset_value = value;
    return called("cuMemsetD8_v2");
}

CUDA(cuMemsetD8Async, cu_ptr dst, unsigned char value, size_t bytes, cu_stream stream)
{
    (void)dst;
    (void)bytes;
    (void)stream;
    state.memset_value = value;
    return called("cuMemsetD8Async");
}

CUDA(cuStreamCreate, cu_stream *stream, unsigned flags)
{
    *stream = (cu_stream)(uintptr_t)(0x51 + flags);
    return called("cuStreamCreate");
}

CUDA(cuEventCreate, cu_event *event, unsigned flags)
{
    *event = (cu_event)(uintptr_t)(0xe1 + flags);
    return called("cuEventCreate");
}

#define STREAM_CALL(name)        \
    CUDA(name, cu_stream stream) \
    {                            \
        (void)stream;            \
        return called(#name);    \
    }
#define EVENT_CALL(name)       \
    CUDA(name, cu_event event) \
    {                          \
        (void)event;           \
        return called(#name);  \
    }
STREAM_CALL(cuStreamDestroy_v2)
STREAM_CALL(cuStreamSynchronize)
STREAM_CALL(cuStreamQuery)
EVENT_CALL(cuEventDestroy_v2)
EVENT_CALL(cuEventSynchronize)
EVENT_CALL(cuEventQuery)

CUDA(cuEventRecord, cu_event event, cu_stream stream)
{
    (void)event;
    (void)stream;
    return called("cuEventRecord");
}

CUDA(cuEventElapsedTime, float *ms, cu_event start, cu_event stop)
{
    (void)start;
    (void)stop;
    *ms = 1.5F;
    return called("cuEventElapsedTime");
}

CUDA(cuModuleLoadDataEx,
     cu_module *module,
     const void *image,
     unsigned count,
     int *options,
     void **values)
{
    (void)image;
    *module = (cu_module)(uintptr_t)0x30d;
    if (state.jit_log != NULL && count == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER) {
        snprintf(values[0], (size_t)(uintptr_t)values[1], "%s", state.jit_log);
    }
    return called("cuModuleLoadDataEx");
}

CUDA(cuModuleUnload, cu_module module)
{
    (void)module;
    return called("cuModuleUnload");
}

CUDA(cuModuleGetFunction, cu_function *function, cu_module module, const char *name)
{
    (void)module;
    (void)name;
    *function = (cu_function)(uintptr_t)0xf0;
    return called("cuModuleGetFunction");
}

CUDA(cuFuncGetAttribute, int *value, int attribute, cu_function function)
{
    (void)attribute;
    (void)function;
    *value = 0;
    return called("cuFuncGetAttribute");
}

CUDA(cuFuncSetAttribute, cu_function function, int attribute, int value)
{
    (void)function;
    if (attribute == CU_FUNC_MAX_DYNAMIC_SHARED) {
        state.shared_limit = value;
    } else if (attribute == CU_FUNC_NON_PORTABLE_CLUSTER) {
        state.non_portable = value;
    }
    return called("cuFuncSetAttribute");
}

static void remember_extra(void **extra)
{
    memset(state.extra, 0xff, sizeof state.extra);
    for (int i = 0; extra != NULL && i < 8; i++) {
        state.extra[i] = extra[i];
        if (i % 2 == 0 && extra[i] == CU_PARAM_END) {
            break;
        }
    }
}

CUDA(cuFuncGetParamInfo,
     cu_function function,
     size_t index,
     size_t *offset,
     size_t *bytes)
{
    (void)function;
    if (index > 1) {
        return 1; /* there are two */
    }
    *offset = state.first_parameter + 16 * index;
    *bytes = index == 0 ? 16 : 8;
    return called("cuFuncGetParamInfo");
}

CUDA(cuLaunchKernel,
     cu_function function,
     unsigned gx,
     unsigned gy,
     unsigned gz,
     unsigned bx,
     unsigned by,
     unsigned bz,
     unsigned shared_bytes,
     cu_stream stream,
     void **params,
     void **extra)
{
    (void)function;
    (void)stream;
    memset(state.param, 0, sizeof state.param);
    if (params != NULL) {
        memcpy(state.param, params, sizeof state.param);
    }
    const unsigned grid[3] = { gx, gy, gz };
    const unsigned block[3] = { bx, by, bz };
    memcpy(state.grid, grid, sizeof grid);
    memcpy(state.block, block, sizeof block);
    state.shared_bytes = shared_bytes;
    remember_extra(extra);
    return called("cuLaunchKernel");
}

CUDA(cuLaunchCooperativeKernel,
     cu_function function,
     unsigned gx,
     unsigned gy,
     unsigned gz,
     unsigned bx,
     unsigned by,
     unsigned bz,
     unsigned shared_bytes,
     cu_stream stream,
     void **params)
{
    (void)function;
    (void)gx;
    (void)gy;
    (void)gz;
    (void)bx;
    (void)by;
    (void)bz;
    (void)shared_bytes;
    (void)stream;
    (void)params;
    return called("cuLaunchCooperativeKernel");
}

CUDA(cuLaunchKernelEx,
     const struct cu_launch_config *config,
     cu_function function,
     void **params,
     void **extra)
{
    (void)function;
    (void)params;
    memcpy(state.grid, config->grid, sizeof state.grid);
    memcpy(state.block, config->block, sizeof state.block);
    state.shared_bytes = config->shared_bytes;
    state.attribute = config->attribute[0];
    remember_extra(extra);
    return called("cuLaunchKernelEx");
}

CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor,
     int *blocks,
     cu_function function,
     int threads,
     size_t shared_bytes)
{
    (void)function;
    (void)threads;
    (void)shared_bytes;
    *blocks = 3;
    return called("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

CUDA(cuTensorMapEncodeTiled,
     void *map,
     int dtype,
     uint32_t rank,
     void *base,
     const uint64_t *dim,
     const uint64_t *stride,
     const uint32_t *box,
     const uint32_t *element_stride,
     int interleave,
     int swizzle,
     int promotion,
     int fill)
{
    (void)base;
    (void)dim;
    (void)stride;
    (void)box;
    (void)element_stride;
    (void)interleave;
    (void)promotion;
    (void)fill;
    memset(map, 0x77, 128);
    state.tensor_dtype = dtype;
    state.tensor_rank = (int)rank;
    state.tensor_swizzle = swizzle;
    return called("cuTensorMapEncodeTiled");
}

/* --- NVML --- */

CUDA(nvmlInit_v2, void)
{
    return called("nvmlInit_v2");
}

CUDA(nvmlSystemGetDriverVersion, char *text, unsigned bytes)
{
    snprintf(text, bytes, "580.1");
    return called("nvmlSystemGetDriverVersion");
}
