/* Copies and fills, checked against the space. */
#ifndef WF_EMULATOR_HIP_COPY_H
#define WF_EMULATOR_HIP_COPY_H

#include "emulator/hip/runtime.h"

/* Rows of `width` bytes; `planes` of `height` rows each. */
struct em_hip_box {
    uint64_t width, height, planes;
    uint64_t dst_pitch, src_pitch; /* bytes from row to row */
    uint64_t dst_plane, src_plane; /* bytes from plane to plane */
};

/* `kind` is hipMemcpyKind. Blocking copies return a launch's fault first. */
hipError_t em_hip_copy(void *dst,
                       const void *src,
                       uint64_t bytes,
                       int kind,
                       hipStream_t stream,
                       bool blocking);
hipError_t em_hip_copy_box(void *dst,
                           const void *src,
                           const struct em_hip_box *box,
                           int kind,
                           hipStream_t stream,
                           bool blocking);
/* Fills `count` elements of 1, 2 or 4 bytes. */
hipError_t em_hip_fill(void *dst,
                       uint32_t value,
                       unsigned element_bytes,
                       uint64_t count,
                       hipStream_t stream);

#endif
