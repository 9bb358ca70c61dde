/* Code objects on the host runtime: none runs here. Apart from the rest, so that a
 * test's runtime may bring kernels of its own. */
#include "runner/host/host_runtime.h"

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    (void)image;
    *module = NULL;
    return host_fail(hipErrorNotSupported);
}

hipError_t hipModuleUnload(hipModule_t module)
{
    (void)module;
    return host_fail(hipErrorInvalidHandle);
}

hipError_t hipModuleGetFunction(hipFunction_t *function,
                                hipModule_t module,
                                const char *name)
{
    (void)module;
    (void)name;
    *function = NULL;
    return host_fail(hipErrorInvalidHandle);
}

/* NOLINTNEXTLINE(readability-function-size): the ABI has so many parameters */
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
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x;
    (void)block_y, (void)block_z, (void)shared_bytes, (void)stream, (void)params;
    (void)extra;
    return host_fail(hipErrorInvalidHandle);
}
