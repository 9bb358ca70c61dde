/* The `cuda` runtime over a fake driver: what it asks of CUDA, how it says no.
 * Criterion runs each test in its own process, so that each starts with an unloaded
 * library. */
#include "runner/hip_abi.h"
#include "tests/runner_cuda/fake_cuda.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
#define FN(required, result, name, arguments) result(*name) arguments;
#include "runner/hip_functions.def"
#undef FN
} hip;

static struct fake_cuda *fake;

static void load_runtime(void)
{
    void *library = dlopen(WF_CUDA_LIBRARY, RTLD_NOW);
    cr_assert_not_null(library, "%s", dlerror());
#define FN(required, result, name, arguments)                                  \
    {                                                                          \
        void *symbol = dlsym(library, #name);                                  \
        cr_assert(symbol != NULL || !(required), "%s is not exported", #name); \
        memcpy(&hip.name, &symbol, sizeof symbol);                             \
    }
#include "runner/hip_functions.def"
#undef FN
}

static void setup(void)
{
    setenv("WAVEFARM_LIBCUDA", WF_FAKE_LIBCUDA, 1);
    setenv("WAVEFARM_LIBNVML", WF_FAKE_LIBCUDA, 1);
    load_runtime();
    void *library = dlopen(WF_FAKE_LIBCUDA, RTLD_NOW);
    cr_assert_not_null(library, "%s", dlerror());
    struct fake_cuda *(*get)(void);
    void *symbol = dlsym(library, "fake_cuda_state");
    memcpy(&get, &symbol, sizeof symbol);
    fake = get();
}

static void fail(const char *symbol, int code)
{
    strncpy(fake->fail_symbol, symbol, sizeof fake->fail_symbol - 1);
    fake->fail_code = code;
}

static bool said(hipError_t error, const char *words)
{
    return strstr(hip.hipGetErrorString(error), words) != NULL;
}

Test(cuda_runtime, without_a_driver_the_text_says_what_is_missing)
{
    setenv("WAVEFARM_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    load_runtime();
    int count = 7;
    cr_assert_eq(hip.hipInit(0), hipErrorNoDevice);
    cr_assert(said(hipErrorNoDevice, "/nowhere/libcuda.so.1"));
    cr_assert(said(hipErrorNoDevice, "install the NVIDIA driver"));
    cr_assert_eq(hip.hipGetDeviceCount(&count), hipErrorNoDevice);
    cr_assert_eq(count, 0);
    void *p = NULL;
    cr_assert_eq(hip.hipMalloc(&p, 16), hipErrorNoDevice);
    struct wf_rt_info info = { .size = sizeof info };
    cr_assert_eq(hip.wf_rt_info(&info), hipSuccess);
    cr_assert_str_eq(info.version, "no driver");
}

Test(cuda_runtime, a_library_that_is_no_driver_is_refused_with_the_missing_function)
{
    setenv("WAVEFARM_LIBCUDA", "libm.so.6", 1);
    load_runtime();
    cr_assert_eq(hip.hipInit(0), hipErrorNoDevice);
    cr_assert(said(hipErrorNoDevice, "cuInit"));
}

Test(cuda_runtime, no_devices_is_no_device, .init = setup)
{
    fake->devices = 0;
    cr_assert_eq(hip.hipInit(0), hipErrorNoDevice);
    cr_assert(said(hipErrorNoDevice, "CUDA_VISIBLE_DEVICES"));
}

Test(cuda_runtime, a_driver_that_does_not_start_keeps_its_reason, .init = setup)
{
    fail("cuInit", 803);
    cr_assert_eq(hip.hipInit(0), 35);
    cr_assert(said(35, "803"));
}

Test(cuda_runtime, flags_and_null_results_are_refused, .init = setup)
{
    cr_assert_eq(hip.hipInit(1), hipErrorInvalidValue);
    cr_assert_eq(hip.hipMalloc(NULL, 1), hipErrorInvalidValue);
    cr_assert_eq(hip.hipGetDeviceCount(NULL), hipErrorInvalidValue);
    cr_assert_eq(hip.hipEventRecord(NULL, NULL), hipErrorInvalidHandle);
    cr_assert_eq(hip.hipEventElapsedTime(NULL, NULL, NULL), hipErrorInvalidValue);
    cr_assert_eq(hip.hipModuleLoadData(NULL, NULL), hipErrorInvalidValue);
    cr_assert_eq(hip.hipModuleLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 hipErrorInvalidHandle);
    hipStream_t stream;
    cr_assert_eq(hip.hipStreamCreateWithFlags(&stream, 8), hipErrorInvalidValue);
}

Test(cuda_runtime, devices_are_described_without_a_context, .init = setup)
{
    struct wf_rt_device_info d = { .size = sizeof d };
    cr_assert_eq(hip.wf_rt_device_info(1, &d), hipSuccess);
    cr_assert_str_eq(d.name, "Fake GPU 1");
    cr_assert_str_eq(d.arch, "sm_90");
    cr_assert_str_eq(d.pci_bus_id, "0000:01:00.0");
    cr_assert_str_eq(d.uuid, "GPU-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf");
    cr_assert_eq(d.cu_count, 16000);
    cr_assert_eq(d.warp_size, 32);
    cr_assert_eq(d.l2_bytes, 38000);
    cr_assert_eq(d.lds_bytes, 232448);
    cr_assert_eq(d.memory_bytes, (uint64_t)3 << 32);
    cr_assert_null(strstr(fake->calls, "PrimaryCtx"));
    cr_assert_eq(hip.wf_rt_device_info(2, &d), hipErrorInvalidDevice);
    cr_assert(said(hipErrorInvalidDevice, "there are 2"));
}

Test(cuda_runtime, an_older_caller_gets_the_members_it_knows, .init = setup)
{
    struct wf_rt_device_info d;
    memset(&d, 0x5a, sizeof d);
    d.size = offsetof(struct wf_rt_device_info, name);
    cr_assert_eq(hip.wf_rt_device_info(0, &d), hipSuccess);
    cr_assert_eq(d.cu_count, 16000);
    cr_assert_eq(d.name[0], 0x5a);
    cr_assert_eq(d.size, offsetof(struct wf_rt_device_info, name));
}

Test(cuda_runtime, attributes_are_translated, .init = setup)
{
    int value = 0;
    cr_assert_eq(hip.hipDeviceGetAttribute(&value, 63, 0), hipSuccess);
    cr_assert_eq(value, 16000, "multiprocessors");
    cr_assert_eq(hip.hipDeviceGetAttribute(&value, 19, 0), hipSuccess);
    cr_assert_eq(value, 38000, "L2");
    cr_assert_eq(hip.hipDeviceGetAttribute(&value, 10004, 0), hipErrorInvalidValue);
    cr_assert(said(hipErrorInvalidValue, "10004"));
}

Test(cuda_runtime, memory_goes_through_the_matching_driver_call, .init = setup)
{
    void *a = NULL;
    void *none = &a;
    int x = 5;
    int y = 0;
    cr_assert_eq(hip.hipMalloc(&a, 4), hipSuccess);
    cr_assert_eq(hip.hipMalloc(&none, 0), hipSuccess);
    cr_assert_null(none);
    cr_assert_eq(hip.hipMemcpy(a, &x, 4, hipMemcpyHostToDevice), hipSuccess);
    cr_assert_eq(hip.hipMemcpy(&y, a, 4, hipMemcpyDeviceToHost), hipSuccess);
    cr_assert_eq(y, 5);
    cr_assert_not_null(strstr(fake->calls, "cuMemcpyHtoD_v2 cuMemcpyDtoH_v2"));
    cr_assert_eq(hip.hipMemcpyAsync(a, a, 4, hipMemcpyDeviceToDevice, NULL),
                 hipSuccess);
    cr_assert_not_null(strstr(fake->calls, "cuMemcpyDtoDAsync_v2"));
    x = 6;
    cr_assert_eq(hip.hipMemcpy(&y, &x, 4, hipMemcpyHostToHost), hipSuccess);
    cr_assert_eq(y, 6);
    cr_assert_eq(hip.hipMemcpy(&y, a, 4, 9), 21);
    cr_assert_eq(hip.hipMemset(a, 0x1a5, 4), hipSuccess);
    cr_assert_eq(fake->memset_value, 0xa5);
    cr_assert_eq(hip.hipFree(a), hipSuccess);
    cr_assert_eq(hip.hipFree(NULL), hipSuccess);
}

Test(cuda_runtime, a_failed_allocation_carries_cudas_name, .init = setup)
{
    void *a = &a;
    fail("cuMemAlloc_v2", 2);
    cr_assert_eq(hip.hipMalloc(&a, 4), hipErrorOutOfMemory);
    cr_assert_null(a);
    cr_assert(said(hipErrorOutOfMemory, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"));
    cr_assert_eq(hip.hipGetLastError(), hipErrorOutOfMemory);
    cr_assert_eq(hip.hipGetLastError(), hipSuccess);
}

static hipError_t launch(unsigned shared_bytes)
{
    static char args[24];
    static size_t bytes = sizeof args;
    hipModule_t module;
    hipFunction_t function;
    cr_assert_eq(hip.hipModuleLoadData(&module, "image"), hipSuccess);
    cr_assert_eq(hip.hipModuleGetFunction(&function, module, "k"), hipSuccess);
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END };
    return hip.hipModuleLaunchKernel(function, 1, 2, 3, 4, 5, 6, shared_bytes, NULL,
                                     NULL, extra);
}

Test(cuda_runtime, the_argument_buffer_gets_cudas_end_marker, .init = setup)
{
    cr_assert_eq(launch(100), hipSuccess);
    cr_assert_eq(fake->extra[0], CU_PARAM_BUFFER_POINTER);
    cr_assert_eq(fake->extra[2], CU_PARAM_BUFFER_SIZE);
    cr_assert_eq(*(size_t *)fake->extra[3], 24);
    cr_assert_eq(fake->extra[4], CU_PARAM_END);
    cr_assert_eq(fake->grid[2], 3);
    cr_assert_eq(fake->block[0], 4);
    cr_assert_null(strstr(fake->calls, "cuFuncSetAttribute"));
}

Test(cuda_runtime, parameters_that_do_not_begin_at_0_get_addresses, .init = setup)
{
    cr_assert_eq(launch(0), hipSuccess);
    cr_assert_null(fake->param[0]);
    fake->first_parameter = 48;
    cr_assert_eq(launch(0), hipSuccess);
    cr_assert_eq(fake->extra[0], (void *)UINTPTR_MAX, "a buffer as well");
    cr_assert_not_null(fake->param[0]);
    cr_assert_eq((char *)fake->param[1] - (char *)fake->param[0], 16);
}

Test(cuda_runtime, arguments_that_are_not_the_parameters_are_refused, .init = setup)
{
    static char args[32];
    size_t bytes = sizeof args;
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END };
    cr_assert_eq(launch(0), hipSuccess);
    fake->first_parameter = 48;
    cr_assert_eq(hip.hipModuleLaunchKernel((hipFunction_t)fake, 1, 1, 1, 1, 1, 1, 0,
                                           NULL, NULL, extra),
                 hipErrorInvalidValue);
    cr_assert(said(hipErrorInvalidValue, "32 bytes of arguments"));
}

Test(cuda_runtime, an_argument_list_without_an_end_is_refused, .init = setup)
{
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, NULL, (void *)0x99, NULL };
    cr_assert_eq(launch(0), hipSuccess);
    cr_assert_eq(hip.hipModuleLaunchKernel((hipFunction_t)fake, 1, 1, 1, 1, 1, 1, 0,
                                           NULL, NULL, extra),
                 hipErrorInvalidValue);
}

static int count_calls(const char *name)
{
    int count = 0;
    for (const char *at = fake->calls; (at = strstr(at, name)) != NULL; at++) {
        count++;
    }
    return count;
}

Test(cuda_runtime, shared_memory_above_48_kib_is_raised_once, .init = setup)
{
    cr_assert_eq(launch(49152), hipSuccess);
    cr_assert_eq(count_calls("cuFuncSetAttribute"), 0);
    cr_assert_eq(launch(200000), hipSuccess);
    cr_assert_eq(fake->shared_limit, 200000);
    cr_assert_eq(launch(200000), hipSuccess);
    cr_assert_eq(launch(150000), hipSuccess);
    cr_assert_eq(count_calls("cuFuncSetAttribute"), 1);
    cr_assert_eq(hip.hipModuleUnload((hipModule_t)fake), hipSuccess);
    cr_assert_eq(launch(150000), hipSuccess);
    cr_assert_eq(count_calls("cuFuncSetAttribute"), 2, "an unloaded function's note");
    cr_assert_eq(launch(300000), hipErrorInvalidValue);
    cr_assert(said(hipErrorInvalidValue, "300000") &&
              said(hipErrorInvalidValue, "232448"));
}

Test(cuda_runtime, clusters_and_cooperative_launches_are_attributes, .init = setup)
{
    const unsigned grid[3] = { 32, 1, 1 };
    const unsigned block[3] = { 128, 1, 1 };
    const unsigned cluster[3] = { 16, 1, 1 };
    void *extra[] = { HIP_LAUNCH_PARAM_END };
    hipFunction_t function = (hipFunction_t)fake;
    cr_assert_eq(
        hip.wf_rt_launch_cluster(function, grid, block, cluster, 60000, NULL, extra),
        hipSuccess);
    cr_assert_eq(fake->attribute.id, CU_LAUNCH_ATTRIBUTE_CLUSTER);
    cr_assert_eq(fake->attribute.value.cluster.x, 16);
    cr_assert_eq(fake->non_portable, 1);
    cr_assert_eq(fake->shared_limit, 60000);
    cr_assert_eq(fake->extra[0], CU_PARAM_END);
    cr_assert_eq(hip.wf_rt_launch_cooperative(function, grid, block, 0, NULL, extra),
                 hipSuccess);
    cr_assert_eq(fake->attribute.id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    cr_assert_eq(fake->attribute.value.cooperative, 1);
    cr_assert_eq(
        hip.hipModuleLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL),
        hipSuccess);
    int blocks = 0;
    cr_assert_eq(hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                     &blocks, function, 64, 0),
                 hipSuccess);
    cr_assert_eq(blocks, 3);
}

Test(cuda_runtime, tensor_maps, .init = setup)
{
    unsigned char out[128] = { 0 };
    struct wf_rt_tensor_map map = { .base = out,
                                    .rank = 2,
                                    .element_bytes = 2,
                                    .dtype = "bf16",
                                    .swizzle_bytes = 128 };
    cr_assert_eq(hip.wf_rt_tensor_map(&map, out), hipSuccess);
    cr_assert_eq(fake->tensor_dtype, 9);
    cr_assert_eq(fake->tensor_swizzle, 3);
    cr_assert_eq(fake->tensor_rank, 2);
    cr_assert_eq(out[127], 0x77);
    map.dtype = "f13";
    cr_assert_eq(hip.wf_rt_tensor_map(&map, out), hipErrorInvalidValue);
    cr_assert(said(hipErrorInvalidValue, "f13"));
    map.rank = 6;
    cr_assert_eq(hip.wf_rt_tensor_map(&map, out), hipErrorInvalidValue);
}

Test(cuda_runtime, the_compilers_log_is_in_the_error, .init = setup)
{
    hipModule_t module = (hipModule_t)fake;
    fake->jit_log = "ptxas error: line 3;\nunknown symbol";
    fail("cuModuleLoadDataEx", 218);
    cr_assert_eq(hip.hipModuleLoadData(&module, "text"), 218);
    cr_assert(said(218, "line 3; unknown symbol"));
}

Test(cuda_runtime, an_unknown_kernel_is_named, .init = setup)
{
    hipFunction_t function;
    fail("cuModuleGetFunction", 500);
    cr_assert_eq(hip.hipModuleGetFunction(&function, (hipModule_t)fake, "no_such"),
                 hipErrorNotFound);
    cr_assert(said(hipErrorNotFound, "no_such"));
}

Test(cuda_runtime, a_fault_sticks_and_surfaces_later, .init = setup)
{
    cr_assert_eq(launch(0), hipSuccess);
    fail("cuStreamSynchronize", 716);
    cr_assert_eq(hip.hipStreamSynchronize(NULL), hipErrorIllegalAddress);
    cr_assert(said(hipErrorIllegalAddress, "CUDA_ERROR_MISALIGNED_ADDRESS"));
    fail("", 0);
    cr_assert_eq(hip.hipGetLastError(), hipErrorIllegalAddress);
    cr_assert_eq(hip.hipGetLastError(), hipErrorIllegalAddress);
    cr_assert_eq(hip.hipDeviceSynchronize(), hipErrorIllegalAddress);
    cr_assert_eq(hip.hipSetDevice(1), hipSuccess);
    cr_assert_eq(hip.hipDeviceSynchronize(), hipSuccess, "the other device is well");
}

Test(cuda_runtime, not_ready_is_an_answer, .init = setup)
{
    fail("cuEventQuery", 600);
    cr_assert_eq(hip.hipEventQuery((hipEvent_t)fake), hipErrorNotReady);
    cr_assert_eq(hip.hipGetLastError(), hipSuccess);
}

Test(cuda_runtime, events_and_streams, .init = setup)
{
    hipStream_t stream;
    hipEvent_t a;
    float ms = 0;
    cr_assert_eq(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
                 hipSuccess);
    cr_assert_eq((uintptr_t)stream, 0x52);
    cr_assert_eq(hip.hipEventCreateWithFlags(&a, hipEventBlockingSync), hipSuccess);
    cr_assert_eq((uintptr_t)a, 0xe2);
    cr_assert_eq(hip.hipEventRecord(a, stream), hipSuccess);
    cr_assert_eq(hip.hipEventSynchronize(a), hipSuccess);
    cr_assert_eq(hip.hipEventElapsedTime(&ms, a, a), hipSuccess);
    cr_assert_float_eq(ms, 1.5F, 0);
    cr_assert_eq(hip.hipEventDestroy(a), hipSuccess);
    cr_assert_eq(hip.hipStreamDestroy(stream), hipSuccess);
}

/* Each driver function in turn refuses; each caller must say so. */
Test(cuda_runtime, every_refusal_is_reported, .init = setup)
{
    hipFunction_t f = (hipFunction_t)fake;
    hipEvent_t e = (hipEvent_t)fake;
    hipModule_t m = (hipModule_t)fake;
    hipStream_t s;
    void *p = NULL;
    int i = 0;
    size_t z = 0;
    float ms;
    char text[64];
    cr_assert_eq(hip.hipSetDevice(0), hipSuccess);
#define REFUSE(symbol, call)               \
    fail(symbol, 304);                     \
    cr_assert_eq(call, 304, "%s", symbol); \
    cr_assert(said(304, "(304)"), "%s", symbol)
    REFUSE("cuDriverGetVersion", hip.hipDriverGetVersion(&i));
    REFUSE("cuDeviceGetName", hip.hipDeviceGetName(text, 64, 0));
    REFUSE("cuDeviceGetPCIBusId", hip.hipDeviceGetPCIBusId(text, 64, 0));
    REFUSE("cuDeviceTotalMem_v2", hip.hipDeviceTotalMem(&z, 0));
    REFUSE("cuDeviceGetAttribute", hip.hipDeviceGetAttribute(&i, 63, 0));
    REFUSE("cuMemGetInfo_v2", hip.hipMemGetInfo(&z, &z));
    REFUSE("cuMemAlloc_v2", hip.hipMalloc(&p, 1));
    REFUSE("cuMemHostAlloc", hip.hipHostMalloc(&p, 1, 0));
    REFUSE("cuMemcpy", hip.hipMemcpy(&i, &i, 1, hipMemcpyDefault));
    REFUSE("cuMemcpyDtoD_v2", hip.hipMemcpy(&i, &i, 1, hipMemcpyDeviceToDevice));
    REFUSE("cuMemcpyAsync", hip.hipMemcpyAsync(&i, &i, 1, hipMemcpyDefault, NULL));
    REFUSE("cuMemcpyHtoDAsync_v2",
           hip.hipMemcpyAsync(&i, &i, 1, hipMemcpyHostToDevice, NULL));
    REFUSE("cuMemcpyDtoHAsync_v2",
           hip.hipMemcpyAsync(&i, &i, 1, hipMemcpyDeviceToHost, NULL));
    REFUSE("cuMemsetD8_v2", hip.hipMemset(&i, 0, 1));
    REFUSE("cuMemsetD8Async", hip.hipMemsetAsync(&i, 0, 1, NULL));
    REFUSE("cuStreamCreate", hip.hipStreamCreateWithFlags(&s, 0));
    REFUSE("cuStreamQuery", hip.hipStreamQuery(NULL));
    REFUSE("cuStreamDestroy_v2", hip.hipStreamDestroy((hipStream_t)fake));
    REFUSE("cuEventCreate", hip.hipEventCreateWithFlags(&e, 0));
    e = (hipEvent_t)fake;
    REFUSE("cuEventRecord", hip.hipEventRecord(e, NULL));
    REFUSE("cuEventSynchronize", hip.hipEventSynchronize(e));
    REFUSE("cuEventElapsedTime", hip.hipEventElapsedTime(&ms, e, e));
    REFUSE("cuEventDestroy_v2", hip.hipEventDestroy(e));
    REFUSE("cuModuleUnload", hip.hipModuleUnload(m));
    REFUSE("cuFuncSetAttribute", hip.hipFuncSetAttribute(fake, 8, 1));
    REFUSE("cuLaunchKernel",
           hip.hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    REFUSE("cuLaunchCooperativeKernel",
           hip.hipModuleLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
    REFUSE("cuOccupancyMaxActiveBlocksPerMultiprocessor",
           hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&i, f, 1, 0));
    REFUSE("cuCtxSynchronize", hip.hipDeviceSynchronize());
    REFUSE("cuDevicePrimaryCtxRetain", hip.hipSetDevice(1));
    fail("", 0);
    cr_assert_eq(hip.hipGetDevice(&i), hipSuccess);
    cr_assert_eq(i, 0, "a device that did not open is not the current one");
}

Test(cuda_runtime, error_names_are_hips, .init = setup)
{
    cr_assert_str_eq(hip.hipGetErrorName(700), "hipErrorIllegalAddress");
    cr_assert_str_eq(hip.hipGetErrorName(hipSuccess), "hipSuccess");
    cr_assert_str_eq(hip.hipGetErrorName(12345), "hipErrorUnknown");
    cr_assert_str_eq(hip.hipGetErrorString(hipSuccess), "no error");
}

static void *use_second_device(void *ret)
{
    int device = -1;
    if (hip.hipSetDevice(1) == hipSuccess && hip.hipGetDevice(&device) == hipSuccess) {
        *(int *)ret = device * 10 + fake->context_of_thread;
    }
    return NULL;
}

Test(cuda_runtime, the_device_belongs_to_the_thread, .init = setup)
{
    int other = -1;
    int mine = -1;
    pthread_t thread;
    cr_assert_eq(hip.hipSetDevice(0), hipSuccess);
    cr_assert_eq(fake->context_of_thread, 0);
    cr_assert_eq(pthread_create(&thread, NULL, use_second_device, &other), 0);
    pthread_join(thread, NULL);
    cr_assert_eq(other, 11);
    cr_assert_eq(hip.hipGetDevice(&mine), hipSuccess);
    cr_assert_eq(mine, 0);
}

Test(cuda_runtime, the_drivers_version_comes_from_nvml, .init = setup)
{
    struct wf_rt_info info = { .size = sizeof info };
    cr_assert_eq(hip.wf_rt_info(&info), hipSuccess);
    cr_assert_str_eq(info.version, "580.1 (CUDA 13.0)");
    cr_assert_eq(info.times_modelled, 0);
}

Test(cuda_runtime, without_nvml_the_version_is_that_of_cuda, .init = setup)
{
    struct wf_rt_info info = { .size = sizeof info };
    setenv("WAVEFARM_LIBNVML", "/nowhere/libnvidia-ml.so", 1);
    cr_assert_eq(hip.wf_rt_info(&info), hipSuccess);
    cr_assert_str_eq(info.version, "CUDA 13.0");
}
