/* Code objects and launches. One difference between the interfaces is bridged here:
 * CUDA gives a kernel more than 48 KiB of dynamic shared memory only after an attribute
 * is raised. Another one in arguments.c: how packed arguments are handed over. */
#include "runner/cuda/arguments.h"
#include "runner/cuda/context.h"
#include "runner/cuda/hip_api.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_SHARED_BYTES = 48 * 1024,
    PORTABLE_CLUSTER = 8
};

/* A thread's note of the last function whose limit it raised. Unloading a module ends
 * the notes of all threads, since an address may be given again. */
static atomic_uint unload_count;
static _Thread_local struct {
    cu_function function;
    unsigned bytes;
    unsigned unloads;
} raised;

static cu_function function_of(hipFunction_t function)
{
    return (cu_function)(void *)function;
}

static hipError_t no_function(const char *call)
{
    return cuda_fail(hipErrorInvalidHandle, "%s: the function is NULL", call);
}

/* The compiler's log is the useful part of a PTX error: it replaces the driver's text.
 */
static hipError_t load_failed(cu_result result, const char *log)
{
    hipError_t error = cuda_check(result, "cuModuleLoadData");
    if (log[0] == '\0') {
        return error;
    }
    char reason[320];
    snprintf(reason, sizeof reason, "%s", hipGetErrorString(error));
    return cuda_fail(error, "%s; compiler: %s", reason, log);
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    if (module == NULL || image == NULL) {
        return cuda_fail(hipErrorInvalidValue,
                         "hipModuleLoadData: the result or the image is NULL");
    }
    char log[512] = "";
    int option[2] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BYTES };
    void *value[2] = { log, (void *)(uintptr_t)(sizeof log - 1) };
    cu_module loaded = NULL;
    hipError_t error = cuda_bind();
    if (error == hipSuccess) {
        cu_result result = cuda_driver()->module_load(&loaded, image, 2, option, value);
        log[sizeof log - 1] = '\0';
        for (char *c = log; *c != '\0'; c++) {
            *c = *c == '\n' ? ' ' : *c;
        }
        error = result == CU_SUCCESS ? hipSuccess : load_failed(result, log);
    }
    *module = (hipModule_t)(void *)loaded;
    return error;
}

hipError_t hipModuleUnload(hipModule_t module)
{
    if (module == NULL) {
        return cuda_fail(hipErrorInvalidHandle, "hipModuleUnload: the module is NULL");
    }
    hipError_t error = cuda_bind();
    if (error == hipSuccess) {
        atomic_fetch_add(&unload_count, 1);
        error = cuda_check(cuda_driver()->module_unload((cu_module)(void *)module),
                           "cuModuleUnload");
    }
    return error;
}

hipError_t hipModuleGetFunction(hipFunction_t *function,
                                hipModule_t module,
                                const char *name)
{
    if (function == NULL || module == NULL || name == NULL) {
        return cuda_fail(hipErrorInvalidValue,
                         "hipModuleGetFunction: the result, the module or the name is "
                         "NULL");
    }
    cu_function found = NULL;
    hipError_t error = cuda_bind();
    if (error == hipSuccess) {
        char what[256];
        snprintf(what, sizeof what, "cuModuleGetFunction(\"%s\")", name);
        error = cuda_check(
            cuda_driver()->module_function(&found, (cu_module)(void *)module, name),
            what);
    }
    *function = (hipFunction_t)(void *)found;
    return error;
}

static hipError_t raise_shared_limit(cu_function function, unsigned bytes)
{
    unsigned unloads = atomic_load(&unload_count);
    if (bytes <= DEFAULT_SHARED_BYTES ||
        (raised.function == function && raised.bytes >= bytes &&
         raised.unloads == unloads)) {
        return hipSuccess;
    }
    cu_device device;
    int limit = 0;
    hipError_t error = cuda_device_handle(cuda_current_ordinal(), &device);
    if (error == hipSuccess) {
        error = cuda_check(
            cuda_driver()->device_attribute(&limit, CU_DEV_SHARED_OPTIN, device),
            "cuDeviceGetAttribute");
    }
    if (error != hipSuccess) {
        return error;
    }
    if (bytes > (unsigned)limit) {
        return cuda_fail(hipErrorInvalidValue,
                         "the launch asks for %u bytes of dynamic shared memory, the "
                         "device gives a workgroup at most %d",
                         bytes, limit);
    }
    error = cuda_check(cuda_driver()->func_set_attribute(
                           function, CU_FUNC_MAX_DYNAMIC_SHARED, (int)bytes),
                       "cuFuncSetAttribute");
    if (error == hipSuccess) {
        raised.function = function;
        raised.bytes = bytes;
        raised.unloads = unloads;
    }
    return error;
}

/* The ABI has eleven parameters. NOLINTNEXTLINE(readability-function-size) */
hipError_t hipModuleLaunchKernel(hipFunction_t function,
                                 unsigned grid_x,
                                 unsigned grid_y,
                                 unsigned grid_z,
                                 unsigned block_x,
                                 unsigned block_y,
                                 unsigned block_z,
                                 unsigned shared_bytes,
                                 hipStream_t stream,
                                 void **params,
                                 void **extra)
{
    struct cuda_arguments a = { .params = params };
    if (function == NULL) {
        return no_function("hipModuleLaunchKernel");
    }
    hipError_t error = cuda_bind();
    if (error == hipSuccess && extra != NULL) {
        error = cuda_arguments(function_of(function), extra, &a);
    }
    if (error == hipSuccess) {
        error = raise_shared_limit(function_of(function), shared_bytes);
    }
    if (error != hipSuccess) {
        return error;
    }
    return cuda_check(cuda_driver()->launch(function_of(function), grid_x, grid_y,
                                            grid_z, block_x, block_y, block_z,
                                            shared_bytes, (cu_stream)(void *)stream,
                                            a.params, a.extra),
                      "cuLaunchKernel");
}

/* NOLINTNEXTLINE(readability-function-size): as above */
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function,
                                            unsigned grid_x,
                                            unsigned grid_y,
                                            unsigned grid_z,
                                            unsigned block_x,
                                            unsigned block_y,
                                            unsigned block_z,
                                            unsigned shared_bytes,
                                            hipStream_t stream,
                                            void **params)
{
    if (function == NULL) {
        return no_function("hipModuleLaunchCooperativeKernel");
    }
    hipError_t error = cuda_bind();
    if (error == hipSuccess && cuda_driver()->launch_cooperative == NULL) {
        error = cuda_fail(hipErrorNotSupported,
                          "the driver has no cuLaunchCooperativeKernel");
    }
    if (error == hipSuccess) {
        error = raise_shared_limit(function_of(function), shared_bytes);
    }
    if (error != hipSuccess) {
        return error;
    }
    return cuda_check(
        cuda_driver()->launch_cooperative(function_of(function), grid_x, grid_y, grid_z,
                                          block_x, block_y, block_z, shared_bytes,
                                          (cu_stream)(void *)stream, params),
        "cuLaunchCooperativeKernel");
}

/* A launch with one attribute, arguments in `extra`. */
static hipError_t launch_with(hipFunction_t function,
                              const unsigned grid[3],
                              const unsigned block[3],
                              unsigned shared_bytes,
                              struct cu_launch_attribute *attribute,
                              hipStream_t stream,
                              void **extra)
{
    struct cuda_arguments a = { .params = NULL };
    struct cu_launch_config config = { .shared_bytes = shared_bytes,
                                       .stream = (cu_stream)(void *)stream,
                                       .attribute = attribute,
                                       .attribute_count = 1 };
    memcpy(config.grid, grid, sizeof config.grid);
    memcpy(config.block, block, sizeof config.block);
    if (cuda_driver()->launch_ex == NULL) {
        return cuda_fail(hipErrorNotSupported,
                         "the driver has no cuLaunchKernelEx (CUDA 12.0 has it)");
    }
    hipError_t error =
        extra != NULL ? cuda_arguments(function_of(function), extra, &a) : hipSuccess;
    if (error == hipSuccess) {
        error = raise_shared_limit(function_of(function), shared_bytes);
    }
    if (error != hipSuccess) {
        return error;
    }
    return cuda_check(
        cuda_driver()->launch_ex(&config, function_of(function), a.params, a.extra),
        "cuLaunchKernelEx");
}

int wf_rt_launch_cluster(hipFunction_t function,
                         const unsigned grid[3],
                         const unsigned block[3],
                         const unsigned cluster[3],
                         unsigned shared_bytes,
                         hipStream_t stream,
                         void **extra)
{
    struct cu_launch_attribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER };
    if (function == NULL) {
        return no_function("wf_rt_launch_cluster");
    }
    attribute.value.cluster.x = cluster[0];
    attribute.value.cluster.y = cluster[1];
    attribute.value.cluster.z = cluster[2];
    hipError_t error = cuda_bind();
    if (error == hipSuccess &&
        (uint64_t)cluster[0] * cluster[1] * cluster[2] > PORTABLE_CLUSTER) {
        error = cuda_check(cuda_driver()->func_set_attribute(
                               function_of(function), CU_FUNC_NON_PORTABLE_CLUSTER, 1),
                           "cuFuncSetAttribute");
    }
    if (error != hipSuccess) {
        return error;
    }
    return launch_with(function, grid, block, shared_bytes, &attribute, stream, extra);
}

int wf_rt_launch_cooperative(hipFunction_t function,
                             const unsigned grid[3],
                             const unsigned block[3],
                             unsigned shared_bytes,
                             hipStream_t stream,
                             void **extra)
{
    struct cu_launch_attribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE };
    if (function == NULL) {
        return no_function("wf_rt_launch_cooperative");
    }
    attribute.value.cooperative = 1;
    hipError_t error = cuda_bind();
    if (error != hipSuccess) {
        return error;
    }
    return launch_with(function, grid, block, shared_bytes, &attribute, stream, extra);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                              hipFunction_t function,
                                                              int block_threads,
                                                              size_t shared_bytes)
{
    if (blocks == NULL || function == NULL) {
        return cuda_fail(
            hipErrorInvalidValue,
            "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor: the result "
            "or the function is NULL");
    }
    hipError_t error = cuda_bind();
    if (error == hipSuccess && cuda_driver()->occupancy == NULL) {
        error = cuda_fail(hipErrorNotSupported, "the driver has no occupancy query");
    }
    if (error == hipSuccess && shared_bytes > UINT32_MAX) {
        error = cuda_fail(hipErrorInvalidValue,
                          "%zu bytes of shared memory are too many", shared_bytes);
    }
    if (error == hipSuccess) {
        error = raise_shared_limit(function_of(function), (unsigned)shared_bytes);
    }
    if (error != hipSuccess) {
        return error;
    }
    return cuda_check(cuda_driver()->occupancy(blocks, function_of(function),
                                               block_threads, shared_bytes),
                      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

hipError_t hipFuncSetAttribute(const void *function, int attribute, int value)
{
    cu_function handle = NULL;
    if (function == NULL || attribute != hipFuncAttributeMaxDynamicSharedMemorySize) {
        return cuda_fail(hipErrorInvalidValue,
                         "hipFuncSetAttribute: the function is NULL or attribute %d is "
                         "not 8 (dynamic shared memory)",
                         attribute);
    }
    memcpy(&handle, &function, sizeof handle);
    hipError_t error = cuda_bind();
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->func_set_attribute(
                                handle, CU_FUNC_MAX_DYNAMIC_SHARED, value),
                            "cuFuncSetAttribute");
}
