/* The part of the HIP runtime's ABI that WaveFarm uses, declared here so that runtimes
 * of ours build without ROCm's headers. Values and layouts are asserted against the HIP
 * headers in tests/runner/test_hip_abi.c. */
#ifndef WF_RUNNER_HIP_ABI_H
#define WF_RUNNER_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;

enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNotInitialized = 3,
    hipErrorDeinitialized = 4,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorNoBinaryForGpu = 209,
    hipErrorInvalidHandle = 400,
    hipErrorNotFound = 500,
    hipErrorNotReady = 600,
    hipErrorIllegalAddress = 700,
    hipErrorLaunchTimeOut = 702,
    hipErrorLaunchFailure = 719,
    hipErrorNotSupported = 801,
    hipErrorUnknown = 999
};

enum {
    hipMemcpyHostToHost,
    hipMemcpyHostToDevice,
    hipMemcpyDeviceToHost,
    hipMemcpyDeviceToDevice,
    hipMemcpyDefault
};

enum {
    hipEventDefault = 0,
    hipEventBlockingSync = 1,
    hipEventDisableTiming = 2
};
enum {
    hipStreamDefault = 0,
    hipStreamNonBlocking = 1
};
enum {
    hipFuncAttributeMaxDynamicSharedMemorySize = 8
};

/* hipDeviceAttribute_t, the ones that are asked for. */
enum {
    hipDeviceAttributeClockRate = 5,
    hipDeviceAttributeL2CacheSize = 19,
    hipDeviceAttributeMaxThreadsPerBlock = 56,
    hipDeviceAttributeMemoryClockRate = 60,
    hipDeviceAttributeMultiprocessorCount = 63,
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
    hipDeviceAttributeWarpSize = 87
};

/* `extra` of hipModuleLaunchKernel. */
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE    ((void *)0x02)
#define HIP_LAUNCH_PARAM_END            ((void *)0x03)

/* Optional extensions of ours. They return 0, or a hipError_t.
 *
 * wf_rt_set_option, before a launch: "mfma" "fast"|"exact", "checks" "on"|"off",
 * "counters" "on"|"off", "threads" N, "budget" N instructions of a wave.
 * wf_rt_launch_report: the report of the last launch that ended on the current device,
 * as JSON text with its NUL (docs/emulator.md); *ret_needed is its size, and where
 * `bytes` is less nothing is written. hipErrorNotFound before the first launch.
 * wf_rt_touched: the first run of pages in [from, from + bytes) that may hold anything
 * but zeros, as offset and size from `from`; *ret_bytes is 0 where there is none. */
struct wf_rt_info {
    uint32_t size;           /* set by the caller */
    uint32_t abi;            /* 1 */
    char name[32];           /* "host", "cuda", "emulator" */
    char version[64];        /* of what is behind it: driver version */
    int32_t times_modelled;  /* 1: hipEventElapsedTime gives cycles of a model */
    int32_t library_kernels; /* 1: device memory is host memory */
};
struct wf_rt_device_info {
    uint32_t size;
    int32_t cu_count, xcc_count, warp_size;
    uint64_t memory_bytes, l2_bytes, llc_bytes;
    uint64_t lds_bytes; /* most dynamic shared memory of a workgroup */
    char name[128];     /* "AMD Instinct MI300X", "NVIDIA H200", CPU's model name */
    char arch[64];      /* "gfx942:sramecc+:xnack-", "sm_90", "x86-64" */
    char pci_bus_id[32];
    int32_t clock_khz, memory_clock_khz;
    char cpus[256]; /* host runtime: its core set, "0-3,8" */
    char uuid[48];  /* "GPU-xxxxxxxx-..." where the vendor gives one, else "" */
};
struct wf_rt_tensor_map {
    void *base;
    int32_t rank;
    int32_t element_bytes;
    const char *dtype;
    uint64_t dim[5], stride_bytes[4];
    uint32_t box[5];
    uint32_t swizzle_bytes;
};

#endif
