/* Allocations, and what pointers are asked for. Device, host and managed memory are all
 * ranges of the one space: their addresses are the same for every device and for the
 * host. Freed ranges are not used again for long, so later uses are found. */
#include "emulator/hip/runtime.h"

#include <stdio.h>
#include <string.h>

#define PITCH_BYTES 256

enum { /* hipHostMalloc, hipHostRegister, hipMallocManaged */
    HOST_FLAGS = 0x80000000 | 0x40000000 | 0x20000000 | 0xf,
    MANAGED_FLAGS = 0x7,
    REGISTER_FLAGS = 0xf
};

/* --- allocating --- */

static hipError_t allocate(enum em_memory_kind kind, uint64_t bytes, void **ret)
{
    struct em_hip *hip;
    struct wf_error err = { 0 };
    int device = em_hip_current();
    uint64_t address = 0;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code != hipSuccess) {
        return code;
    }
    if (ret == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    *ret = NULL;
    if (bytes == 0) {
        return hipSuccess;
    }
    uint64_t used = em_space_used(hip->space, device);
    if (kind == EM_MEMORY_DEVICE &&
        (used > EM_MEMORY_BYTES || bytes > EM_MEMORY_BYTES - used)) {
        return em_hip_fail(hipErrorOutOfMemory);
    }
    enum wf_status st = em_space_alloc(hip->space, device, kind, bytes, &address, &err);
    if (st != WF_OK) {
        return em_hip_fail_status(st, hipErrorOutOfMemory, &err);
    }
    *ret = (void *)(uintptr_t)address;
    return hipSuccess;
}

static hipError_t release(void *ptr)
{
    struct em_hip *hip;
    struct wf_error err = { 0 };
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess || ptr == NULL) {
        return code;
    }
    enum wf_status st = em_space_free(hip->space, (uintptr_t)ptr, &err);
    return st == WF_OK ? hipSuccess
                       : em_hip_fail_status(st, hipErrorInvalidValue, &err);
}

hipError_t hipMalloc(void **ptr, size_t bytes)
{
    return allocate(EM_MEMORY_DEVICE, bytes, ptr);
}

hipError_t hipExtMallocWithFlags(void **ptr, size_t bytes, unsigned flags)
{
    (void)flags; /* all memory is coherent here */
    return allocate(EM_MEMORY_DEVICE, bytes, ptr);
}

hipError_t hipFree(void *ptr)
{
    return release(ptr);
}

hipError_t hipHostMalloc(void **ptr, size_t bytes, unsigned flags)
{
    return (flags & ~(unsigned)HOST_FLAGS) == 0 ? allocate(EM_MEMORY_HOST, bytes, ptr)
                                                : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
    return hipHostMalloc(ptr, bytes, flags);
}

hipError_t hipMallocHost(void **ptr, size_t bytes)
{
    return hipHostMalloc(ptr, bytes, 0);
}

hipError_t hipMemAllocHost(void **ptr, size_t bytes)
{
    return hipHostMalloc(ptr, bytes, 0);
}

hipError_t hipHostFree(void *ptr)
{
    return release(ptr);
}

hipError_t hipFreeHost(void *ptr)
{
    return release(ptr);
}

hipError_t hipMallocManaged(void **ptr, size_t bytes, unsigned flags)
{
    return bytes > 0 && (flags & ~(unsigned)MANAGED_FLAGS) == 0
               ? allocate(EM_MEMORY_HOST, bytes, ptr)
               : em_hip_fail(hipErrorInvalidValue);
}

/* --- pitched --- */

static hipError_t allocate_rows(void **ptr, size_t *pitch, size_t width, uint64_t rows)
{
    uint64_t bytes = 0;
    if (pitch == NULL || width > EM_MEMORY_BYTES) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    *pitch = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    if (__builtin_mul_overflow(*pitch, rows, &bytes)) {
        return em_hip_fail(hipErrorOutOfMemory);
    }
    return allocate(EM_MEMORY_DEVICE, bytes, ptr);
}

hipError_t hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    return allocate_rows(ptr, pitch, width, height);
}

hipError_t hipMemAllocPitch(hipDeviceptr_t *ptr,
                            size_t *pitch,
                            size_t width,
                            size_t height,
                            unsigned element)
{
    return element == 4 || element == 8 || element == 16
               ? allocate_rows(ptr, pitch, width, height)
               : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipMalloc3D(struct hip_pitched_ptr *ret, struct hip_extent extent)
{
    uint64_t rows = 0;
    if (ret == NULL || __builtin_mul_overflow(extent.height, extent.depth, &rows)) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    ret->xsize = extent.width;
    ret->ysize = extent.height;
    return allocate_rows(&ret->ptr, &ret->pitch, extent.width, rows);
}

/* --- in the order of a stream: at once --- */

hipError_t hipMallocAsync(void **ptr, size_t bytes, hipStream_t stream)
{
    int device = 0;
    hipError_t code = em_hip_stream(stream, &device);
    return code == hipSuccess ? hipMalloc(ptr, bytes) : code;
}

hipError_t hipMallocFromPoolAsync(void **ptr,
                                  size_t bytes,
                                  hipMemPool_t pool,
                                  hipStream_t stream)
{
    return pool != NULL ? hipMallocAsync(ptr, bytes, stream)
                        : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipFreeAsync(void *ptr, hipStream_t stream)
{
    int device = 0;
    hipError_t code = em_hip_stream(stream, &device);
    return code == hipSuccess ? release(ptr) : code;
}

/* A device's one pool: its context stands for it. */
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device)
{
    hipCtx_t context = NULL;
    if (pool == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    hipError_t code = hipDevicePrimaryCtxRetain(&context, device);
    if (code == hipSuccess) {
        *pool = (hipMemPool_t)(void *)context;
    }
    return code;
}

hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device)
{
    return hipDeviceGetDefaultMemPool(pool, device);
}

hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool)
{
    hipMemPool_t own = NULL;
    hipError_t code = hipDeviceGetDefaultMemPool(&own, device);
    return code == hipSuccess && pool != own ? em_hip_fail(hipErrorInvalidValue) : code;
}

static hipError_t pool_ready(hipMemPool_t pool)
{
    return pool != NULL ? hipSuccess : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t bytes)
{
    (void)bytes; /* nothing is kept back */
    return pool_ready(pool);
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute, void *value)
{
    (void)attribute;
    return value != NULL ? pool_ready(pool) : em_hip_fail(hipErrorInvalidValue);
}

/* Numbers of 64 bits all; those up to 3 are switches of 32. */
hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute, void *value)
{
    if (value == NULL || pool == NULL || attribute < 1 || attribute > 8) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    memset(value, 0, attribute <= 3 ? sizeof(int) : sizeof(uint64_t));
    return hipSuccess;
}

/* --- the program's own memory --- */

hipError_t hipHostRegister(void *ptr, size_t bytes, unsigned flags)
{
    struct em_hip *hip;
    struct wf_error err = { 0 };
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (ptr == NULL || bytes == 0 || (flags & ~(unsigned)REGISTER_FLAGS) != 0) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    enum wf_status st = em_space_register(hip->space, ptr, bytes, &err);
    return st == WF_OK
               ? hipSuccess
               : em_hip_fail_status(st, hipErrorHostMemoryAlreadyRegistered, &err);
}

hipError_t hipHostUnregister(void *ptr)
{
    struct em_hip *hip;
    struct em_allocation a;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (!em_space_find(hip->space, (uintptr_t)ptr, &a) || a.address != (uintptr_t)ptr ||
        a.freed || a.kind != EM_MEMORY_FOREIGN) {
        return em_hip_fail(hipErrorHostMemoryNotRegistered);
    }
    return release(ptr);
}

/* --- asking --- */

/* The live allocation that holds a pointer. */
static hipError_t live(const void *ptr, struct em_allocation *ret)
{
    struct em_hip *hip;
    uint64_t at = (uintptr_t)ptr;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (ptr == NULL || !em_space_find(hip->space, at, ret) || ret->freed ||
        at - ret->address >= ret->bytes) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    return hipSuccess;
}

hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    struct em_allocation a;
    if (device == NULL || flags != 0) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    hipError_t code = live(host, &a);
    if (code == hipSuccess && a.kind != EM_MEMORY_HOST && a.kind != EM_MEMORY_FOREIGN) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *device = host;
    }
    return code;
}

hipError_t hipHostGetFlags(unsigned *flags, void *ptr)
{
    void *device = NULL;
    hipError_t code = flags == NULL ? em_hip_fail(hipErrorInvalidValue)
                                    : hipHostGetDevicePointer(&device, ptr, 0);
    if (code == hipSuccess) {
        *flags = 0;
    }
    return code;
}

hipError_t hipPointerGetAttributes(struct hip_pointer_attributes *ret, const void *ptr)
{
    struct em_hip *hip;
    struct em_allocation a;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess && ret == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code != hipSuccess) {
        return code;
    }
    uint64_t at = (uintptr_t)ptr;
    bool known = ptr != NULL && em_space_find(hip->space, at, &a) && !a.freed &&
                 at - a.address < a.bytes;
    memset(ret, 0, sizeof(*ret));
    if (!known) { /* memory that HIP does not know: from HIP 6 on that is an answer */
        ret->host_pointer = (void *)(uintptr_t)at;
        ret->device = hip->old_generation ? 0 : -2;
        return hip->old_generation ? em_hip_fail(hipErrorInvalidValue) : hipSuccess;
    }
    bool host = a.kind == EM_MEMORY_HOST || a.kind == EM_MEMORY_FOREIGN;
    ret->type = (host ? 0 : 1) + (hip->old_generation ? 0 : 1);
    ret->device = a.device < 0 ? 0 : a.device;
    ret->device_pointer = (void *)(uintptr_t)at;
    ret->host_pointer = host ? (void *)(uintptr_t)at : NULL;
    return hipSuccess;
}

enum { /* hipPointer_attribute */
    POINTER_MEMORY_TYPE = 2,
    POINTER_DEVICE = 3,
    POINTER_HOST = 4,
    POINTER_ORDINAL = 9,
    POINTER_START = 11,
    POINTER_BYTES = 12,
    POINTER_MAPPED = 13
};

hipError_t hipPointerGetAttribute(void *data, int attribute, hipDeviceptr_t ptr)
{
    struct em_allocation a;
    struct hip_pointer_attributes p;
    hipError_t code = data == NULL ? em_hip_fail(hipErrorInvalidValue) : live(ptr, &a);
    if (code == hipSuccess) {
        code = hipPointerGetAttributes(&p, ptr);
    }
    if (code != hipSuccess) {
        return code;
    }
    int mapped = 1;
    switch (attribute) {
    case POINTER_MEMORY_TYPE:
        memcpy(data, &p.type, sizeof(p.type));
        break;
    case POINTER_DEVICE:
        memcpy(data, &p.device_pointer, sizeof(p.device_pointer));
        break;
    case POINTER_HOST:
        memcpy(data, &p.host_pointer, sizeof(p.host_pointer));
        break;
    case POINTER_ORDINAL:
        memcpy(data, &p.device, sizeof(p.device));
        break;
    case POINTER_START:
        memcpy(data, &a.address, sizeof(a.address));
        break;
    case POINTER_BYTES:
        memcpy(data, &a.bytes, sizeof(a.bytes));
        break;
    case POINTER_MAPPED:
        memcpy(data, &mapped, sizeof(mapped));
        break;
    default:
        code = em_hip_fail(hipErrorNotSupported);
    }
    return code;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base,
                                 size_t *bytes,
                                 hipDeviceptr_t ptr)
{
    struct em_allocation a;
    hipError_t code = live(ptr, &a);
    if (code != hipSuccess) {
        return code;
    }
    if (base != NULL) {
        *base = (hipDeviceptr_t)(uintptr_t)a.address;
    }
    if (bytes != NULL) {
        *bytes = a.bytes;
    }
    return hipSuccess;
}

hipError_t hipMemPtrGetInfo(void *ptr, size_t *bytes)
{
    return bytes != NULL ? hipMemGetAddressRange(NULL, bytes, ptr)
                         : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    struct em_hip *hip;
    int device = em_hip_current();
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && (free_bytes == NULL || total_bytes == NULL)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        uint64_t used = em_space_used(hip->space, device);
        *total_bytes = EM_MEMORY_BYTES;
        *free_bytes = used < EM_MEMORY_BYTES ? EM_MEMORY_BYTES - used : 0;
    }
    return code;
}

/* --- advice: nothing moves --- */

static hipError_t advise(const void *ptr, size_t bytes)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess && !em_space_covers(hip->space, (uintptr_t)ptr, bytes)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code;
}

hipError_t hipMemPrefetchAsync(const void *ptr,
                               size_t bytes,
                               int device,
                               hipStream_t stream)
{
    (void)device;
    int on = 0;
    hipError_t code = em_hip_stream(stream, &on);
    return code == hipSuccess ? advise(ptr, bytes) : code;
}

hipError_t hipMemAdvise(const void *ptr, size_t bytes, int advice, int device)
{
    (void)advice;
    (void)device;
    return advise(ptr, bytes);
}

hipError_t hipStreamAttachMemAsync(hipStream_t stream,
                                   void *ptr,
                                   size_t bytes,
                                   unsigned flags)
{
    (void)bytes;
    (void)flags;
    int device = 0;
    hipError_t code = em_hip_stream(stream, &device);
    return code == hipSuccess ? advise(ptr, 1) : code;
}
