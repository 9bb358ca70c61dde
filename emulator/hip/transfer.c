/* HIP's many copies and fills, as calls of copy.c. Those of symbols are symbol.c's. */
#include "emulator/hip/copy.h"

#include <string.h>

/* --- one range --- */

hipError_t hipMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
    return em_hip_copy(dst, src, bytes, kind, NULL, true);
}

hipError_t hipMemcpy_spt(void *dst, const void *src, size_t bytes, int kind)
{
    return em_hip_copy(dst, src, bytes, kind, NULL, true);
}

hipError_t hipMemcpyAsync(void *dst,
                          const void *src,
                          size_t bytes,
                          int kind,
                          hipStream_t stream)
{
    return em_hip_copy(dst, src, bytes, kind, stream, false);
}

hipError_t hipMemcpyAsync_spt(void *dst,
                              const void *src,
                              size_t bytes,
                              int kind,
                              hipStream_t stream)
{
    return em_hip_copy(dst, src, bytes, kind, stream, false);
}

hipError_t hipMemcpyWithStream(void *dst,
                               const void *src,
                               size_t bytes,
                               int kind,
                               hipStream_t stream)
{
    return em_hip_copy(dst, src, bytes, kind, stream, true);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void *src, size_t bytes)
{
    return em_hip_copy(dst, src, bytes, hipMemcpyHostToDevice, NULL, true);
}

hipError_t hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t bytes)
{
    return em_hip_copy(dst, src, bytes, hipMemcpyDeviceToHost, NULL, true);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes)
{
    return em_hip_copy(dst, src, bytes, hipMemcpyDeviceToDevice, NULL, true);
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst,
                              const void *src,
                              size_t bytes,
                              hipStream_t stream)
{
    return em_hip_copy(dst, src, bytes, hipMemcpyHostToDevice, stream, false);
}

hipError_t hipMemcpyDtoHAsync(void *dst,
                              hipDeviceptr_t src,
                              size_t bytes,
                              hipStream_t stream)
{
    return em_hip_copy(dst, src, bytes, hipMemcpyDeviceToHost, stream, false);
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst,
                              hipDeviceptr_t src,
                              size_t bytes,
                              hipStream_t stream)
{
    return em_hip_copy(dst, src, bytes, hipMemcpyDeviceToDevice, stream, false);
}

static hipError_t two_devices(int a, int b)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(a, &hip);
    return code == hipSuccess ? em_hip_device_ready(b, &hip) : code;
}

hipError_t hipMemcpyPeer(void *dst,
                         int dst_device,
                         const void *src,
                         int src_device,
                         size_t bytes)
{
    hipError_t code = two_devices(dst_device, src_device);
    return code == hipSuccess
               ? em_hip_copy(dst, src, bytes, hipMemcpyDeviceToDevice, NULL, true)
               : code;
}

hipError_t hipMemcpyPeerAsync(void *dst,
                              int dst_device,
                              const void *src,
                              int src_device,
                              size_t bytes,
                              hipStream_t stream)
{
    hipError_t code = two_devices(dst_device, src_device);
    return code == hipSuccess
               ? em_hip_copy(dst, src, bytes, hipMemcpyDeviceToDevice, stream, false)
               : code;
}

/* --- rows --- */

static struct em_hip_box rows(size_t dst_pitch,
                              size_t src_pitch,
                              size_t width,
                              size_t height)
{
    return (struct em_hip_box){ .width = width,
                                .height = height,
                                .planes = 1,
                                .dst_pitch = dst_pitch,
                                .src_pitch = src_pitch };
}

hipError_t hipMemcpy2D(void *dst,
                       size_t dst_pitch,
                       const void *src,
                       size_t src_pitch,
                       size_t width,
                       size_t height,
                       int kind)
{
    struct em_hip_box box = rows(dst_pitch, src_pitch, width, height);
    return em_hip_copy_box(dst, src, &box, kind, NULL, true);
}

hipError_t hipMemcpy2D_spt(void *dst,
                           size_t dst_pitch,
                           const void *src,
                           size_t src_pitch,
                           size_t width,
                           size_t height,
                           int kind)
{
    return hipMemcpy2D(dst, dst_pitch, src, src_pitch, width, height, kind);
}

hipError_t hipMemcpy2DAsync(void *dst,
                            size_t dst_pitch,
                            const void *src,
                            size_t src_pitch,
                            size_t width,
                            size_t height,
                            int kind,
                            hipStream_t stream)
{
    struct em_hip_box box = rows(dst_pitch, src_pitch, width, height);
    return em_hip_copy_box(dst, src, &box, kind, stream, false);
}

static hipError_t copy_param(const struct hip_memcpy_2d *c,
                             hipStream_t stream,
                             bool wait)
{
    if (c == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    if (c->src_array != NULL || c->dst_array != NULL) {
        return em_hip_fail(hipErrorNotSupported);
    }
    /* Which side is the host's the pointers tell: one of the two is set. */
    const uint8_t *src = c->src_device != NULL ? c->src_device : c->src_host;
    uint8_t *dst = c->dst_device != NULL ? c->dst_device : c->dst_host;
    if (src == NULL || dst == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    struct em_hip_box box =
        rows(c->dst_pitch == 0 ? c->width : c->dst_pitch,
             c->src_pitch == 0 ? c->width : c->src_pitch, c->width, c->height);
    return em_hip_copy_box(dst + c->dst_y * box.dst_pitch + c->dst_x,
                           src + c->src_y * box.src_pitch + c->src_x, &box,
                           hipMemcpyDefault, stream, wait);
}

hipError_t hipMemcpyParam2D(const struct hip_memcpy_2d *copy)
{
    return copy_param(copy, NULL, true);
}

hipError_t hipMemcpyParam2DAsync(const struct hip_memcpy_2d *copy, hipStream_t stream)
{
    return copy_param(copy, stream, false);
}

hipError_t hipDrvMemcpy2DUnaligned(const struct hip_memcpy_2d *copy)
{
    return copy_param(copy, NULL, true);
}

static hipError_t copy_3d(const struct hip_memcpy_3d *c, hipStream_t stream, bool wait)
{
    if (c == NULL || c->src.ptr == NULL || c->dst.ptr == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    if (c->src_array != NULL || c->dst_array != NULL) {
        return em_hip_fail(hipErrorNotSupported);
    }
    struct em_hip_box box = { .width = c->extent.width,
                              .height = c->extent.height,
                              .planes = c->extent.depth,
                              .dst_pitch = c->dst.pitch,
                              .src_pitch = c->src.pitch,
                              .dst_plane = c->dst.pitch * c->dst.ysize,
                              .src_plane = c->src.pitch * c->src.ysize };
    return em_hip_copy_box((uint8_t *)c->dst.ptr + c->dst_pos[2] * box.dst_plane +
                               c->dst_pos[1] * box.dst_pitch + c->dst_pos[0],
                           (const uint8_t *)c->src.ptr + c->src_pos[2] * box.src_plane +
                               c->src_pos[1] * box.src_pitch + c->src_pos[0],
                           &box, c->kind, stream, wait);
}

hipError_t hipMemcpy3D(const struct hip_memcpy_3d *copy)
{
    return copy_3d(copy, NULL, true);
}

hipError_t hipMemcpy3D_spt(const struct hip_memcpy_3d *copy)
{
    return copy_3d(copy, NULL, true);
}

hipError_t hipMemcpy3DAsync(const struct hip_memcpy_3d *copy, hipStream_t stream)
{
    return copy_3d(copy, stream, false);
}
