/* Memory: HIP's pointers are the driver's addresses, nothing is wrapped. */
#include "runner/cuda/context.h"
#include "runner/cuda/hip_api.h"

#include <stdint.h>
#include <string.h>

enum {
    hipErrorInvalidMemcpyDirection = 21,
    HOST_FLAGS = 7
};

static cu_ptr address(const void *ptr)
{
    return (cu_ptr)(uintptr_t)ptr;
}

hipError_t hipMalloc(void **ptr, size_t bytes)
{
    if (ptr == NULL) {
        return cuda_fail(hipErrorInvalidValue, "hipMalloc: the result is NULL");
    }
    hipError_t error = cuda_bind();
    cu_ptr memory = 0;
    if (error == hipSuccess &&
        bytes > 0) { /* HIP: no bytes, a null pointer, no error */
        error = cuda_check(cuda_driver()->mem_alloc(&memory, bytes), "cuMemAlloc");
    }
    *ptr = (void *)(uintptr_t)memory;
    return error;
}

hipError_t hipFree(void *ptr)
{
    hipError_t error = cuda_bind();
    if (error == hipSuccess && ptr != NULL) {
        error = cuda_check(cuda_driver()->mem_free(address(ptr)), "cuMemFree");
    }
    return error;
}

hipError_t hipHostMalloc(void **ptr, size_t bytes, unsigned flags)
{
    if (ptr == NULL || (flags & ~(unsigned)HOST_FLAGS) != 0) {
        return cuda_fail(
            hipErrorInvalidValue,
            "hipHostMalloc: the result is NULL or flags 0x%x are not among "
            "portable, mapped, write-combined",
            flags);
    }
    hipError_t error = cuda_bind();
    void *memory = NULL;
    if (error == hipSuccess && bytes > 0) {
        error = cuda_check(cuda_driver()->mem_host_alloc(&memory, bytes, flags),
                           "cuMemHostAlloc");
    }
    *ptr = memory;
    return error;
}

hipError_t hipHostFree(void *ptr)
{
    hipError_t error = cuda_bind();
    if (error == hipSuccess && ptr != NULL) {
        error = cuda_check(cuda_driver()->mem_free_host(ptr), "cuMemFreeHost");
    }
    return error;
}

static hipError_t bad_direction(const char *function, int kind)
{
    return cuda_fail(hipErrorInvalidMemcpyDirection,
                     "%s: direction %d is not one of 0 to 4", function, kind);
}

hipError_t hipMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
    const struct cu_driver *driver = cuda_driver();
    hipError_t error = cuda_bind();
    if (error != hipSuccess || bytes == 0) {
        return error;
    }
    switch (kind) {
    case hipMemcpyHostToHost: /* in order after the work of the default stream */
        error = cuda_check(driver->stream_synchronize(NULL), "cuStreamSynchronize");
        if (error == hipSuccess) {
            memmove(dst, src, bytes);
        }
        return error;
    case hipMemcpyHostToDevice:
        return cuda_check(driver->memcpy_htod(address(dst), src, bytes),
                          "cuMemcpyHtoD");
    case hipMemcpyDeviceToHost:
        return cuda_check(driver->memcpy_dtoh(dst, address(src), bytes),
                          "cuMemcpyDtoH");
    case hipMemcpyDeviceToDevice:
        return cuda_check(driver->memcpy_dtod(address(dst), address(src), bytes),
                          "cuMemcpyDtoD");
    case hipMemcpyDefault:
        return cuda_check(driver->memcpy_any(address(dst), address(src), bytes),
                          "cuMemcpy");
    default:
        return bad_direction("hipMemcpy", kind);
    }
}

hipError_t hipMemcpyAsync(void *dst,
                          const void *src,
                          size_t bytes,
                          int kind,
                          hipStream_t stream)
{
    const struct cu_driver *driver = cuda_driver();
    cu_stream s = (cu_stream)(void *)stream;
    hipError_t error = cuda_bind();
    if (error != hipSuccess || bytes == 0) {
        return error;
    }
    switch (kind) {
    case hipMemcpyHostToDevice:
        return cuda_check(driver->memcpy_htod_async(address(dst), src, bytes, s),
                          "cuMemcpyHtoDAsync");
    case hipMemcpyDeviceToHost:
        return cuda_check(driver->memcpy_dtoh_async(dst, address(src), bytes, s),
                          "cuMemcpyDtoHAsync");
    case hipMemcpyDeviceToDevice:
        return cuda_check(
            driver->memcpy_dtod_async(address(dst), address(src), bytes, s),
            "cuMemcpyDtoDAsync");
    case hipMemcpyHostToHost:
    case hipMemcpyDefault:
        return cuda_check(
            driver->memcpy_any_async(address(dst), address(src), bytes, s),
            "cuMemcpyAsync");
    default:
        return bad_direction("hipMemcpyAsync", kind);
    }
}

hipError_t hipMemset(void *dst, int value, size_t bytes)
{
    hipError_t error = cuda_bind();
    if (error != hipSuccess || bytes == 0) {
        return error;
    }
    return cuda_check(
        cuda_driver()->memset_d8(address(dst), (unsigned char)value, bytes),
        "cuMemsetD8");
}

hipError_t hipMemsetAsync(void *dst, int value, size_t bytes, hipStream_t stream)
{
    hipError_t error = cuda_bind();
    if (error != hipSuccess || bytes == 0) {
        return error;
    }
    return cuda_check(cuda_driver()->memset_d8_async(address(dst), (unsigned char)value,
                                                     bytes, (cu_stream)(void *)stream),
                      "cuMemsetD8Async");
}
