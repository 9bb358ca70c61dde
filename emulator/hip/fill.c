/* HIP's fills, as calls of copy.c. */
#include "emulator/hip/copy.h"

static hipError_t fill_bytes(void *dst, int value, size_t bytes, hipStream_t stream)
{
    return em_hip_fill(dst, (uint8_t)value, 1, bytes, stream);
}

hipError_t hipMemset(void *dst, int value, size_t bytes)
{
    return fill_bytes(dst, value, bytes, NULL);
}

hipError_t hipMemset_spt(void *dst, int value, size_t bytes)
{
    return fill_bytes(dst, value, bytes, NULL);
}

hipError_t hipMemsetAsync(void *dst, int value, size_t bytes, hipStream_t stream)
{
    return fill_bytes(dst, value, bytes, stream);
}

hipError_t hipMemsetAsync_spt(void *dst, int value, size_t bytes, hipStream_t stream)
{
    return fill_bytes(dst, value, bytes, stream);
}

hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count)
{
    return em_hip_fill(dst, value, 1, count, NULL);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t dst,
                            unsigned char value,
                            size_t count,
                            hipStream_t stream)
{
    return em_hip_fill(dst, value, 1, count, stream);
}

hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t count)
{
    return em_hip_fill(dst, value, 2, count, NULL);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t dst,
                             unsigned short value,
                             size_t count,
                             hipStream_t stream)
{
    return em_hip_fill(dst, value, 2, count, stream);
}

hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t count)
{
    return em_hip_fill(dst, (uint32_t)value, 4, count, NULL);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t dst,
                             int value,
                             size_t count,
                             hipStream_t stream)
{
    return em_hip_fill(dst, (uint32_t)value, 4, count, stream);
}

/* Row by row, so that what is between the rows is left alone. */
static hipError_t fill_rows(struct hip_pitched_ptr dst,
                            int value,
                            struct hip_extent extent,
                            hipStream_t stream)
{
    hipError_t code = hipSuccess;
    size_t plane = dst.pitch * dst.ysize;
    if (extent.width > dst.pitch) {
        return em_hip_fail(hipErrorInvalidPitchValue);
    }
    for (size_t z = 0; code == hipSuccess && z < extent.depth; z++) {
        for (size_t y = 0; code == hipSuccess && y < extent.height; y++) {
            code = fill_bytes((uint8_t *)dst.ptr + z * plane + y * dst.pitch, value,
                              extent.width, stream);
        }
    }
    return code;
}

static hipError_t fill_2d(void *dst,
                          size_t pitch,
                          int value,
                          struct hip_extent extent,
                          hipStream_t stream)
{
    struct hip_pitched_ptr p = { dst, pitch, extent.width, extent.height };
    return fill_rows(p, value, extent, stream);
}

hipError_t hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
    return fill_2d(dst, pitch, value, (struct hip_extent){ width, height, 1 }, NULL);
}

hipError_t hipMemset2D_spt(void *dst,
                           size_t pitch,
                           int value,
                           size_t width,
                           size_t height)
{
    return fill_2d(dst, pitch, value, (struct hip_extent){ width, height, 1 }, NULL);
}

hipError_t hipMemset2DAsync(void *dst,
                            size_t pitch,
                            int value,
                            size_t width,
                            size_t height,
                            hipStream_t stream)
{
    return fill_2d(dst, pitch, value, (struct hip_extent){ width, height, 1 }, stream);
}

hipError_t hipMemset3D(struct hip_pitched_ptr dst, int value, struct hip_extent extent)
{
    return fill_rows(dst, value, extent, NULL);
}

hipError_t hipMemset3DAsync(struct hip_pitched_ptr dst,
                            int value,
                            struct hip_extent extent,
                            hipStream_t stream)
{
    return fill_rows(dst, value, extent, stream);
}
