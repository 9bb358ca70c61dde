/* Copies and fills. The side that is a device's must be inside one live allocation; a
 * side that is the host's is the program's to answer for, unless it is an address of
 * the space. Pages that hold nothing stay untouched, so that large sparse memory is
 * cheap. */
#include "emulator/hip/copy.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES          4096u
#define SPARSE_BYTES        ((uint64_t)1 << 20) /* from here on pages are looked at */
#define HOST_BYTES_PER_MS   (64e9 / 1e3)        /* of the model: the link to the host */
#define DEVICE_BYTES_PER_MS (5300e9 / 1e3)      /* main memory, each way once */

/* --- what may be copied --- */

static bool in_space(struct em_hip *hip, uint64_t at, struct em_allocation *ret)
{
    return em_space_find(hip->space, at, ret) && at - ret->address < ret->bytes;
}

/* Whether `bytes` at a pointer may be touched. */
static hipError_t check(struct em_hip *hip,
                        const void *ptr,
                        uint64_t bytes,
                        bool device,
                        const char *what)
{
    struct em_allocation a;
    char where[256];
    uint64_t at = (uintptr_t)ptr;
    if (ptr != NULL && (em_space_covers(hip->space, at, bytes) ||
                        (!device && !in_space(hip, at, &a)))) {
        return hipSuccess;
    }
    em_space_explain(hip->space, at, bytes, where, sizeof(where));
    (void)em_hip_fail_words(hipErrorInvalidValue, "%s: %s", what, where);
    return hipErrorInvalidValue;
}

static hipError_t check_kind(int kind)
{
    return kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault
               ? hipSuccess
               : em_hip_fail(hipErrorInvalidMemcpyDirection);
}

static hipError_t check_both(struct em_hip *hip,
                             const void *dst,
                             uint64_t dst_bytes,
                             const void *src,
                             uint64_t src_bytes,
                             int kind)
{
    bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
    bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
    hipError_t code = check_kind(kind);
    if (code == hipSuccess) {
        code = check(hip, dst, dst_bytes, to_device, "copy to memory");
    }
    return code == hipSuccess
               ? check(hip, src, src_bytes, from_device, "copy from memory")
               : code;
}

/* --- moving bytes --- */

/* Zeros; whole pages of the space's own memory are given back instead. */
static void zero(struct em_hip *hip, uint8_t *dst, uint64_t bytes)
{
    struct em_allocation a;
    uint64_t at = (uintptr_t)dst;
    uint64_t begin = (at + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    uint64_t end = (at + bytes) / PAGE_BYTES * PAGE_BYTES;
    bool ours =
        bytes >= SPARSE_BYTES && in_space(hip, at, &a) && a.kind != EM_MEMORY_FOREIGN;
    if (!ours || end <= begin ||
        madvise((void *)(uintptr_t)begin, end - begin, MADV_DONTNEED) != 0) {
        memset(dst, 0, bytes);
        return;
    }
    memset(dst, 0, begin - at);
    memset((void *)(uintptr_t)end, 0, at + bytes - end);
}

static void move(struct em_hip *hip, uint8_t *dst, const uint8_t *src, uint64_t bytes)
{
    struct em_allocation a;
    uint64_t from = (uintptr_t)src, end = from + bytes;
    bool apart = dst + bytes <= src || src + bytes <= dst;
    if (bytes < SPARSE_BYTES || !apart || !in_space(hip, from, &a) ||
        !in_space(hip, (uintptr_t)dst, &a)) {
        memmove(dst, src, bytes);
        return;
    }
    uint64_t begin = 0, stop = 0, at = from;
    while (at < end && em_space_touched(hip->space, at, end, &begin, &stop)) {
        zero(hip, dst + (at - from), begin - at);
        memcpy(dst + (begin - from), src + (begin - from), stop - begin);
        at = stop;
    }
    zero(hip, dst + (at - from), end - at);
}

static void charge(struct em_hip *hip, int device, int kind, uint64_t bytes)
{
    bool on_device = kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDefault;
    em_hip_advance(hip, device,
                   on_device ? 2.0 * (double)bytes / DEVICE_BYTES_PER_MS
                             : (double)bytes / HOST_BYTES_PER_MS);
}

/* The runtime, the stream's device, and for blocking calls the fault of a launch. */
static hipError_t start(hipStream_t stream,
                        bool blocking,
                        struct em_hip **ret_hip,
                        int *ret_device)
{
    hipError_t code = em_hip_ready(ret_hip);
    if (code == hipSuccess) {
        code = em_hip_stream(stream, ret_device);
    }
    return code == hipSuccess && blocking ? em_hip_finish(*ret_hip, *ret_device) : code;
}

hipError_t em_hip_copy(void *dst,
                       const void *src,
                       uint64_t bytes,
                       int kind,
                       hipStream_t stream,
                       bool blocking)
{
    struct em_hip *hip;
    int device = 0;
    hipError_t code = start(stream, blocking, &hip, &device);
    if (code == hipSuccess && bytes == 0) {
        return check_kind(kind);
    }
    if (code == hipSuccess) {
        code = check_both(hip, dst, bytes, src, bytes, kind);
    }
    if (code == hipSuccess) {
        move(hip, dst, src, bytes);
        charge(hip, device, kind, bytes);
    }
    return code;
}

/* From the first byte to the last one of a side. */
static bool span(uint64_t pitch,
                 uint64_t plane,
                 const struct em_hip_box *b,
                 uint64_t *ret)
{
    uint64_t rows = 0, planes = 0;
    return !__builtin_mul_overflow(pitch, b->height - 1, &rows) &&
           !__builtin_mul_overflow(plane, b->planes - 1, &planes) &&
           !__builtin_add_overflow(rows, planes, ret) &&
           !__builtin_add_overflow(*ret, b->width, ret);
}

hipError_t em_hip_copy_box(void *dst,
                           const void *src,
                           const struct em_hip_box *box,
                           int kind,
                           hipStream_t stream,
                           bool blocking)
{
    struct em_hip *hip;
    int device = 0;
    uint64_t to = 0, from = 0;
    hipError_t code = start(stream, blocking, &hip, &device);
    if (code != hipSuccess || box->width == 0 || box->height == 0 || box->planes == 0) {
        return code == hipSuccess ? check_kind(kind) : code;
    }
    if (box->width > box->dst_pitch || box->width > box->src_pitch) {
        return em_hip_fail(hipErrorInvalidPitchValue);
    }
    if (!span(box->dst_pitch, box->dst_plane, box, &to) ||
        !span(box->src_pitch, box->src_plane, box, &from)) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    code = check_both(hip, dst, to, src, from, kind);
    for (uint64_t z = 0; code == hipSuccess && z < box->planes; z++) {
        for (uint64_t y = 0; y < box->height; y++) {
            move(hip, (uint8_t *)dst + z * box->dst_plane + y * box->dst_pitch,
                 (const uint8_t *)src + z * box->src_plane + y * box->src_pitch,
                 box->width);
        }
    }
    if (code == hipSuccess) {
        charge(hip, device, kind, box->width * box->height * box->planes);
    }
    return code;
}

static void fill(uint8_t *dst, uint32_t value, unsigned element_bytes, uint64_t count)
{
    uint8_t block[256];
    for (unsigned i = 0; i < sizeof(block); i += element_bytes) {
        memcpy(block + i, &value, element_bytes);
    }
    uint64_t bytes = count * element_bytes;
    for (uint64_t at = 0; at < bytes; at += sizeof(block)) {
        uint64_t left = bytes - at;
        memcpy(dst + at, block, left < sizeof(block) ? left : sizeof(block));
    }
}

hipError_t em_hip_fill(void *dst,
                       uint32_t value,
                       unsigned element_bytes,
                       uint64_t count,
                       hipStream_t stream)
{
    struct em_hip *hip;
    int device = 0;
    uint64_t bytes = 0;
    hipError_t code = start(stream, false, &hip, &device);
    if (code != hipSuccess || count == 0) {
        return code;
    }
    if (__builtin_mul_overflow(count, (uint64_t)element_bytes, &bytes) ||
        (uintptr_t)dst % element_bytes != 0) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    code = check(hip, dst, bytes, true, "fill of memory");
    if (code != hipSuccess) {
        return code;
    }
    if (value == 0) {
        zero(hip, dst, bytes);
    } else {
        fill(dst, value, element_bytes, count);
    }
    em_hip_advance(hip, device, (double)bytes / DEVICE_BYTES_PER_MS);
    return hipSuccess;
}
