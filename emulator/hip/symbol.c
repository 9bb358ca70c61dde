/* Variables of a program's device code: addresses, sizes, copies. */
#include "emulator/hip/copy.h"

static hipError_t find(const void *symbol,
                       int device,
                       uint64_t *ret_at,
                       uint64_t *ret_bytes)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    return code == hipSuccess
               ? em_hip_registered_variable(hip, symbol, device, ret_at, ret_bytes)
               : code;
}

hipError_t hipGetSymbolAddress(void **address, const void *symbol)
{
    uint64_t at = 0, bytes = 0;
    hipError_t code = find(symbol, em_hip_current(), &at, &bytes);
    if (code == hipSuccess && address == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *address = (void *)(uintptr_t)at;
    }
    return code;
}

hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol)
{
    uint64_t at = 0, size = 0;
    hipError_t code = find(symbol, em_hip_current(), &at, &size);
    if (code == hipSuccess && bytes == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *bytes = size;
    }
    return code;
}

/* A part of a variable, as an address. */
static hipError_t part(const void *symbol,
                       uint64_t bytes,
                       uint64_t offset,
                       hipStream_t stream,
                       void **ret)
{
    uint64_t at = 0, size = 0;
    int device = 0;
    hipError_t code = em_hip_stream(stream, &device);
    if (code == hipSuccess) {
        code = find(symbol, device, &at, &size);
    }
    if (code == hipSuccess && (bytes > size || offset > size - bytes)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    *ret = (void *)(uintptr_t)(at + offset);
    return code;
}

static hipError_t to_symbol(const void *symbol,
                            const void *src,
                            struct hip_extent range, /* width bytes from depth on */
                            int kind,
                            hipStream_t stream,
                            bool wait)
{
    void *to = NULL;
    hipError_t code = part(symbol, range.width, range.depth, stream, &to);
    if (code == hipSuccess && kind != hipMemcpyHostToDevice &&
        kind != hipMemcpyDeviceToDevice && kind != hipMemcpyDefault) {
        code = em_hip_fail(hipErrorInvalidMemcpyDirection);
    }
    return code == hipSuccess ? em_hip_copy(to, src, range.width, kind, stream, wait)
                              : code;
}

static hipError_t from_symbol(void *dst,
                              const void *symbol,
                              struct hip_extent range,
                              int kind,
                              hipStream_t stream,
                              bool wait)
{
    void *from = NULL;
    hipError_t code = part(symbol, range.width, range.depth, stream, &from);
    if (code == hipSuccess && kind != hipMemcpyDeviceToHost &&
        kind != hipMemcpyDeviceToDevice && kind != hipMemcpyDefault) {
        code = em_hip_fail(hipErrorInvalidMemcpyDirection);
    }
    return code == hipSuccess ? em_hip_copy(dst, from, range.width, kind, stream, wait)
                              : code;
}

hipError_t hipMemcpyToSymbol(const void *symbol,
                             const void *src,
                             size_t bytes,
                             size_t offset,
                             int kind)
{
    struct hip_extent range = { .width = bytes, .depth = offset };
    return to_symbol(symbol, src, range, kind, NULL, true);
}

hipError_t hipMemcpyToSymbol_spt(const void *symbol,
                                 const void *src,
                                 size_t bytes,
                                 size_t offset,
                                 int kind)
{
    return hipMemcpyToSymbol(symbol, src, bytes, offset, kind);
}

hipError_t hipMemcpyToSymbolAsync(const void *symbol,
                                  const void *src,
                                  size_t bytes,
                                  size_t offset,
                                  int kind,
                                  hipStream_t stream)
{
    struct hip_extent range = { .width = bytes, .depth = offset };
    return to_symbol(symbol, src, range, kind, stream, false);
}

hipError_t hipMemcpyFromSymbol(void *dst,
                               const void *symbol,
                               size_t bytes,
                               size_t offset,
                               int kind)
{
    struct hip_extent range = { .width = bytes, .depth = offset };
    return from_symbol(dst, symbol, range, kind, NULL, true);
}

hipError_t hipMemcpyFromSymbol_spt(void *dst,
                                   const void *symbol,
                                   size_t bytes,
                                   size_t offset,
                                   int kind)
{
    return hipMemcpyFromSymbol(dst, symbol, bytes, offset, kind);
}

hipError_t hipMemcpyFromSymbolAsync(void *dst,
                                    const void *symbol,
                                    size_t bytes,
                                    size_t offset,
                                    int kind,
                                    hipStream_t stream)
{
    struct hip_extent range = { .width = bytes, .depth = offset };
    return from_symbol(dst, symbol, range, kind, stream, false);
}
