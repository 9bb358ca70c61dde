/* Launches: configuration, arguments, and what a fault leaves behind.
 *
 * A launch is over when the call returns. Its fault is what the next call that waits
 * for the device returns, as if it had run on its own. */
#include "emulator/hip/runtime.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PUSHED    16
#define MAX_EXTRA     16   /* pairs */
#define MAX_OLD_STYLE 4096 /* bytes of hipSetupArgument */
#define MAX_KERNARG   (1u << 20)

struct configuration {
    struct hip_dim3 grid, block;
    size_t shared_bytes;
    hipStream_t stream;
    uint8_t args[MAX_OLD_STYLE]; /* of hipSetupArgument */
    size_t arg_bytes;
};

static _Thread_local struct configuration *pushed[MAX_PUSHED];
static _Thread_local unsigned pushed_count;

/* --- arguments --- */

/* The buffer of `extra`. */
static bool extra_buffer(void **extra, const void **ret, size_t *ret_bytes)
{
    *ret = NULL;
    *ret_bytes = 0;
    for (unsigned i = 0; i < MAX_EXTRA; i++) {
        if (extra[2 * i] == HIP_LAUNCH_PARAM_END) {
            return *ret != NULL || *ret_bytes == 0;
        }
        if (extra[2 * i] == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
            *ret = extra[2 * i + 1];
        } else if (extra[2 * i] == HIP_LAUNCH_PARAM_BUFFER_SIZE &&
                   extra[2 * i + 1] != NULL) {
            memcpy(ret_bytes, extra[2 * i + 1], sizeof(*ret_bytes));
        } else {
            return false;
        }
    }
    return false;
}

/* Programs give fewer bytes than a kernel's metadata tells where it does not use the
 * last ones, and the runtime takes them: zeros for the rest. *packed is then the
 * caller's. */
static hipError_t widen(const struct em_kernel *k,
                        const void **args,
                        size_t *bytes,
                        uint8_t **packed)
{
    if (*args == NULL || *bytes >= k->kernarg_bytes) {
        return hipSuccess;
    }
    *packed = wf_calloc(k->kernarg_bytes, 1);
    if (*packed == NULL) {
        return em_hip_fail(hipErrorOutOfMemory);
    }
    memcpy(*packed, *args, *bytes);
    *args = *packed;
    *bytes = k->kernarg_bytes;
    return hipSuccess;
}

/* Copies one value a parameter to where the kernel expects it. */
static hipError_t pack(const struct em_kernel *k, void **params, uint8_t *to)
{
    size_t next = 0;
    for (size_t i = 0; i < k->arg_count; i++) {
        const struct em_kernel_arg *a = &k->arg[i];
        if (a->hidden != EM_NOT_HIDDEN) {
            continue;
        }
        if (params == NULL || params[next] == NULL) {
            return em_hip_fail(hipErrorInvalidValue);
        }
        memcpy(to + a->offset, params[next++], a->bytes);
    }
    return hipSuccess;
}

/* --- one launch --- */

static hipError_t fault_code(const struct em_report *report)
{
    const char *answer = em_fault_answer(report->fault.kind);
    if (strcmp(answer, "OUT_OF_BOUNDS") == 0) {
        return hipErrorIllegalAddress;
    }
    return strcmp(answer, "TIMEOUT") == 0 ? hipErrorLaunchTimeOut
                                          : hipErrorLaunchFailure;
}

static hipError_t run(struct em_hip *hip, struct em_launch *l)
{
    struct em_report report;
    struct wf_error err = { 0 };
    memset(&report, 0, sizeof(report));
    (void)pthread_mutex_lock(&hip->running);
    (void)pthread_mutex_lock(&hip->lock);
    l->options = hip->options;
    (void)pthread_mutex_unlock(&hip->lock);
    enum wf_status st = em_launch_run(l, &report, &err);
    if (st == WF_OK) {
        em_hip_report(hip, l, &report);
    }
    (void)pthread_mutex_unlock(&hip->running);
    if (st != WF_OK) {
        return em_hip_fail_status(st, hipErrorInvalidConfiguration, &err);
    }
    if (report.faulted) {
        (void)pthread_mutex_lock(&hip->lock);
        hip->device[l->device].pending = fault_code(&report);
        (void)pthread_mutex_unlock(&hip->lock);
    }
    em_report_fini(&report);
    return hipSuccess;
}

static hipError_t check(const struct ihipModuleSymbol_t *f, const struct em_hip_call *c)
{
    uint64_t threads = (uint64_t)c->block.x * c->block.y * c->block.z;
    uint64_t blocks = (uint64_t)c->grid.x * c->grid.y * c->grid.z;
    if (threads == 0 || blocks == 0 || threads > UINT32_MAX) {
        return em_hip_fail(hipErrorInvalidConfiguration);
    }
    if (c->shared_bytes > EM_MAX_LDS_BYTES) {
        return em_hip_fail_words(hipErrorInvalidValue,
                                 "kernel %s: %zu bytes of dynamic LDS, a workgroup has "
                                 "at most %d",
                                 f->kernel->name, c->shared_bytes, EM_MAX_LDS_BYTES);
    }
    uint64_t resident =
        (uint64_t)em_hip_blocks_per_cu(f->kernel, (unsigned)threads, c->shared_bytes) *
        EM_DEVICE_CUS;
    if (c->cooperative && blocks > resident) {
        return em_hip_fail(hipErrorCooperativeLaunchTooLarge);
    }
    return hipSuccess;
}

hipError_t em_hip_launch(struct em_hip *hip,
                         const struct ihipModuleSymbol_t *f,
                         const struct em_hip_call *call)
{
    const void *args = NULL;
    size_t arg_bytes = f->kernel->kernarg_bytes;
    uint8_t *packed = NULL;
    hipError_t code = check(f, call);
    if (code != hipSuccess) {
        return code;
    }
    if (call->extra != NULL) {
        if (call->params != NULL || !extra_buffer(call->extra, &args, &arg_bytes) ||
            arg_bytes > MAX_KERNARG) {
            return em_hip_fail(hipErrorInvalidValue);
        }
        code = widen(f->kernel, &args, &arg_bytes, &packed);
    } else {
        args = packed = wf_calloc(arg_bytes + 1, 1);
        code = packed == NULL ? em_hip_fail(hipErrorOutOfMemory)
                              : pack(f->kernel, call->params, packed);
    }
    struct em_launch launch = {
        .space = hip->space,
        .device = f->device,
        .image = f->image,
        .kernel = f->kernel,
        .grid = { call->grid.x, call->grid.y, call->grid.z },
        .block = { call->block.x, call->block.y, call->block.z },
        .dynamic_lds_bytes = (uint32_t)call->shared_bytes,
        .cooperative = call->cooperative,
        .arguments = args,
        .argument_bytes = arg_bytes,
    };
    if (code == hipSuccess) {
        code = run(hip, &launch);
    }
    free(packed);
    return code;
}

/* --- by the host's function --- */

static hipError_t launch_registered(const void *function,
                                    const struct em_hip_call *call)
{
    struct em_hip *hip;
    int device = 0;
    hipFunction_t f = NULL;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess) {
        code = em_hip_stream(call->stream, &device);
    }
    if (code == hipSuccess) {
        code = em_hip_registered_function(hip, function, device, &f);
    }
    return code == hipSuccess ? em_hip_launch(hip, f, call) : code;
}

hipError_t hipLaunchKernel(const void *function,
                           struct hip_dim3 grid,
                           struct hip_dim3 block,
                           void **args,
                           size_t shared_bytes,
                           hipStream_t stream)
{
    struct em_hip_call call = { grid, block, shared_bytes, stream, args, NULL, false };
    return launch_registered(function, &call);
}

hipError_t hipLaunchKernel_spt(const void *function,
                               struct hip_dim3 grid,
                               struct hip_dim3 block,
                               void **args,
                               size_t shared_bytes,
                               hipStream_t stream)
{
    return hipLaunchKernel(function, grid, block, args, shared_bytes, stream);
}

hipError_t hipLaunchCooperativeKernel(const void *function,
                                      struct hip_dim3 grid,
                                      struct hip_dim3 block,
                                      void **args,
                                      unsigned shared_bytes,
                                      hipStream_t stream)
{
    struct em_hip_call call = { grid, block, shared_bytes, stream, args, NULL, true };
    return launch_registered(function, &call);
}

hipError_t hipLaunchCooperativeKernel_spt(const void *function,
                                          struct hip_dim3 grid,
                                          struct hip_dim3 block,
                                          void **args,
                                          unsigned shared_bytes,
                                          hipStream_t stream)
{
    return hipLaunchCooperativeKernel(function, grid, block, args, shared_bytes,
                                      stream);
}

/* Events that are given with a launch are recorded before and after it. */
static hipError_t stamp(hipEvent_t event, hipStream_t stream)
{
    return event == NULL ? hipSuccess : hipEventRecord(event, stream);
}

hipError_t hipExtLaunchKernel(const void *function,
                              struct hip_dim3 grid,
                              struct hip_dim3 block,
                              void **args,
                              size_t shared_bytes,
                              hipStream_t stream,
                              hipEvent_t start,
                              hipEvent_t stop,
                              int flags)
{
    (void)flags; /* any order is allowed; ours is one */
    hipError_t code = stamp(start, stream);
    if (code == hipSuccess) {
        code = hipLaunchKernel(function, grid, block, args, shared_bytes, stream);
    }
    return code == hipSuccess ? stamp(stop, stream) : code;
}

/* --- by a module's function --- */

static hipError_t launch_function(hipFunction_t function,
                                  const struct em_hip_call *call)
{
    struct em_hip *hip;
    int device = 0;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess) {
        code = em_hip_stream(call->stream, &device);
    }
    if (code != hipSuccess) {
        return code;
    }
    const struct ihipModuleSymbol_t *f = em_hip_function(hip, function);
    if (f == NULL || f->device != device) { /* a module belongs to its device */
        return em_hip_fail(hipErrorInvalidHandle);
    }
    return em_hip_launch(hip, f, call);
}

/* The ABI has so many parameters. NOLINTNEXTLINE(readability-function-size) */
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
    struct em_hip_call call = { .grid = { grid_x, grid_y, grid_z },
                                .block = { block_x, block_y, block_z },
                                .shared_bytes = shared_bytes,
                                .stream = stream,
                                .params = params,
                                .extra = extra };
    return launch_function(function, &call);
}

/* The ABI has so many parameters. NOLINTNEXTLINE(readability-function-size) */
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
    struct em_hip_call call = { .grid = { grid_x, grid_y, grid_z },
                                .block = { block_x, block_y, block_z },
                                .shared_bytes = shared_bytes,
                                .stream = stream,
                                .params = params,
                                .cooperative = true };
    return launch_function(function, &call);
}

int wf_rt_launch_cooperative(hipFunction_t function,
                             const unsigned grid[3],
                             const unsigned block[3],
                             unsigned shared_bytes,
                             hipStream_t stream,
                             void **extra)
{
    struct em_hip_call call = { .grid = { grid[0], grid[1], grid[2] },
                                .block = { block[0], block[1], block[2] },
                                .shared_bytes = shared_bytes,
                                .stream = stream,
                                .extra = extra,
                                .cooperative = true };
    return launch_function(function, &call);
}

/* Sizes are in work-items here, and must be whole workgroups.
 * NOLINTNEXTLINE(readability-function-size): as above */
hipError_t hipExtModuleLaunchKernel(hipFunction_t function,
                                    uint32_t x,
                                    uint32_t y,
                                    uint32_t z,
                                    uint32_t block_x,
                                    uint32_t block_y,
                                    uint32_t block_z,
                                    size_t shared_bytes,
                                    hipStream_t stream,
                                    void **params,
                                    void **extra,
                                    hipEvent_t start,
                                    hipEvent_t stop,
                                    uint32_t flags)
{
    (void)flags;
    if (block_x == 0 || block_y == 0 || block_z == 0 || x % block_x != 0 ||
        y % block_y != 0 || z % block_z != 0) {
        return em_hip_fail(hipErrorInvalidConfiguration);
    }
    struct em_hip_call call = { .grid = { x / block_x, y / block_y, z / block_z },
                                .block = { block_x, block_y, block_z },
                                .shared_bytes = shared_bytes,
                                .stream = stream,
                                .params = params,
                                .extra = extra };
    hipError_t code = stamp(start, stream);
    if (code == hipSuccess) {
        code = launch_function(function, &call);
    }
    return code == hipSuccess ? stamp(stop, stream) : code;
}

hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *symbol)
{
    struct em_hip *hip;
    int device = em_hip_current();
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && function == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code == hipSuccess
               ? em_hip_registered_function(hip, symbol, device, function)
               : code;
}

/* --- kernel<<<...>>>: pushed by the call, popped by the function's host part --- */

hipError_t __hipPushCallConfiguration(struct hip_dim3 grid,
                                      struct hip_dim3 block,
                                      size_t shared_bytes,
                                      hipStream_t stream)
{
    struct configuration *c =
        pushed_count == MAX_PUSHED ? NULL : wf_calloc(1, sizeof(*c));
    if (c == NULL) {
        return em_hip_fail(hipErrorOutOfMemory);
    }
    c->grid = grid;
    c->block = block;
    c->shared_bytes = shared_bytes;
    c->stream = stream;
    pushed[pushed_count++] = c;
    return hipSuccess;
}

hipError_t __hipPopCallConfiguration(struct hip_dim3 *grid,
                                     struct hip_dim3 *block,
                                     size_t *shared_bytes,
                                     hipStream_t *stream)
{
    if (pushed_count == 0) {
        return em_hip_fail(hipErrorMissingConfiguration);
    }
    struct configuration *c = pushed[--pushed_count];
    *grid = c->grid;
    *block = c->block;
    *shared_bytes = c->shared_bytes;
    *stream = c->stream;
    free(c);
    return hipSuccess;
}

/* The older way: configure, one argument after the other, launch. */
hipError_t hipConfigureCall(struct hip_dim3 grid,
                            struct hip_dim3 block,
                            size_t shared_bytes,
                            hipStream_t stream)
{
    return __hipPushCallConfiguration(grid, block, shared_bytes, stream);
}

hipError_t hipSetupArgument(const void *arg, size_t bytes, size_t offset)
{
    if (pushed_count == 0) {
        return em_hip_fail(hipErrorMissingConfiguration);
    }
    struct configuration *c = pushed[pushed_count - 1];
    if (arg == NULL || bytes > sizeof(c->args) || offset > sizeof(c->args) - bytes) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    memcpy(c->args + offset, arg, bytes);
    c->arg_bytes = offset + bytes > c->arg_bytes ? offset + bytes : c->arg_bytes;
    return hipSuccess;
}

hipError_t hipLaunchByPtr(const void *function)
{
    if (pushed_count == 0) {
        return em_hip_fail(hipErrorMissingConfiguration);
    }
    struct configuration *c = pushed[--pushed_count];
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, c->args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &c->arg_bytes,
                      HIP_LAUNCH_PARAM_END };
    struct em_hip_call call = { c->grid, c->block, c->shared_bytes, c->stream, NULL,
                                extra,   false };
    hipError_t code = launch_registered(function, &call);
    free(c);
    return code;
}
