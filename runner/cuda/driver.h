/* The part of the CUDA driver API that this library uses, declared here so that it
 * builds without NVIDIA's headers, and loaded at run time so that it starts without
 * NVIDIA's driver. */
#ifndef WF_RUNNER_CUDA_DRIVER_H
#define WF_RUNNER_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_ptr;
typedef struct CUctx_st *cu_context;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;

struct cu_uuid {
    unsigned char bytes[16];
};

/* Layout of CUlaunchAttribute and CUlaunchConfig (stable since CUDA 11.8). */
struct cu_launch_attribute {
    int id;
    int pad;
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } cluster;
        int cooperative;
    } value;
};

struct cu_launch_config {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    cu_stream stream;
    struct cu_launch_attribute *attribute;
    unsigned attribute_count;
};

enum {
    CU_SUCCESS = 0,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
    CU_LAUNCH_ATTRIBUTE_CLUSTER = 4,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BYTES = 6,
    CU_FUNC_SHARED_BYTES = 1,
    CU_FUNC_MAX_DYNAMIC_SHARED = 8,
    CU_FUNC_NON_PORTABLE_CLUSTER = 14,
    CU_DEV_WARP_SIZE = 10,
    CU_DEV_CLOCK_KHZ = 13,
    CU_DEV_MULTIPROCESSORS = 16,
    CU_DEV_MEMORY_CLOCK_KHZ = 36,
    CU_DEV_L2_BYTES = 38,
    CU_DEV_CAPABILITY_MAJOR = 75,
    CU_DEV_CAPABILITY_MINOR = 76,
    CU_DEV_SHARED_OPTIN = 97
};

#define CU_PARAM_END            ((void *)0)
#define CU_PARAM_BUFFER_POINTER ((void *)1)
#define CU_PARAM_BUFFER_SIZE    ((void *)2)

struct cu_driver {
#define DRV(required, field, symbol, arguments) cu_result(*field) arguments;
#include "runner/cuda/driver.def"
#undef DRV
};

/* Loads $WAVEFARM_LIBCUDA, or libcuda.so.1. Returns 0, or -1 with one line in `text`
 * that says what is missing and what to do. Never unloaded. */
int cu_driver_load(struct cu_driver *ret, char *text, size_t text_bytes);

#endif
