/* Device kernels on the CPU, for tests: each lane is a fibre of tests' lockstep engine,
 * and whatever a wave does together goes through lockstep_exchange. Only the meaning is
 * modelled, from the layouts written down in the two vendor headers; nothing is said
 * about time. WF_HOST_WAVE is 64 (gfx942) or 32 (sm_90). Shared variables lie in their
 * own section, so that the engine can poison them. */
#ifndef WF_TESTS_DEVICE_KERNELS_WF_DEVICE_HOST_H
#define WF_TESTS_DEVICE_KERNELS_WF_DEVICE_HOST_H

#include "tests/device_kernels/lockstep.h"

#define WF_WAVE                   WF_HOST_WAVE
#define WF_DEVICE                 __attribute__((always_inline)) static inline
#define WF_DEVICE_MEMBER          __attribute__((always_inline)) inline
#define WF_SHARED                 static __attribute__((aligned(128), section("wf_shared")))
#define WF_KERNEL(threads, units) extern "C" void

typedef float wf_f32x4 __attribute__((ext_vector_type(4)));
typedef float wf_f32x16 __attribute__((ext_vector_type(16)));
typedef float wf_f32x2 __attribute__((ext_vector_type(2)));
typedef int wf_i32x4 __attribute__((ext_vector_type(4)));
typedef int wf_i32x16 __attribute__((ext_vector_type(16)));

WF_DEVICE int wf_thread()
{
    return lockstep_thread();
}

WF_DEVICE int wf_block_x()
{
    return lockstep_block(0);
}

WF_DEVICE int wf_block_y()
{
    return lockstep_block(1);
}

WF_DEVICE int wf_block_z()
{
    return lockstep_block(2);
}

WF_DEVICE int wf_uniform(int v)
{
    return v;
}

WF_DEVICE void wf_barrier()
{
    lockstep_barrier();
}

WF_DEVICE void *wf_dynamic_memory()
{
    return lockstep_dynamic_memory();
}

WF_DEVICE float wf_float_from_bits(unsigned v)
{
    return __builtin_bit_cast(float, v);
}

WF_DEVICE float wf_h2f(wf_half v)
{
    return (float)__builtin_bit_cast(_Float16, v);
}

WF_DEVICE wf_half wf_f2h(float v)
{
    return __builtin_bit_cast(wf_half, (_Float16)v);
}

WF_DEVICE unsigned wf_f2h_pair(float lo, float hi)
{
    return wf_f2h(lo) | (unsigned)wf_f2h(hi) << 16;
}

WF_DEVICE float wf_bf2f(wf_half v)
{
    return wf_float_from_bits((unsigned)v << 16);
}

/* To nearest even; NaN stays NaN. */
WF_DEVICE wf_half wf_f2bf(float v)
{
    const unsigned bits = __builtin_bit_cast(unsigned, v);
    if (v != v) {
        return (wf_half)(bits >> 16 | 0x40u);
    }
    return (wf_half)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

WF_DEVICE unsigned wf_f2bf_pair(float lo, float hi)
{
    return wf_f2bf(lo) | (unsigned)wf_f2bf(hi) << 16;
}

WF_DEVICE float wf_exp2(float v)
{
    return __builtin_exp2f(v);
}

WF_DEVICE float wf_log2(float v)
{
    return __builtin_log2f(v);
}

WF_DEVICE float wf_rcp(float v)
{
    return 1.0f / v;
}

WF_DEVICE float wf_shuffle_xor(float v, int mask)
{
    struct {
        float v;
        int mask;
    } in = { v, mask };
    float out;
    lockstep_exchange(LOCKSTEP_SHUFFLE_XOR, &in, sizeof in, &out, sizeof out);
    return out;
}

/* v of any lane. */
WF_DEVICE int wf_value_of_lane(int v, int lane)
{
    int in[2] = { v, lane & (WF_WAVE - 1) };
    int out;
    lockstep_exchange(LOCKSTEP_FROM_LANE, in, sizeof in, &out, sizeof out);
    return out;
}

WF_DEVICE int wf_shuffle_up(int v, int distance)
{
    return wf_value_of_lane(v, wf_thread() - distance);
}

WF_DEVICE wf_u64 wf_ballot(bool v)
{
    const int in = v;
    wf_u64 out;
    lockstep_exchange(LOCKSTEP_BALLOT, &in, sizeof in, &out, sizeof out);
    return out;
}

WF_DEVICE int wf_lowest_bit(wf_u64 v)
{
    return __builtin_ctzll(v);
}

WF_DEVICE void wf_warp_barrier()
{
    (void)wf_shuffle_xor(0.0f, 0);
}

/* Device loads of 8 and 16 bytes must be aligned. */
WF_DEVICE wf_u4 wf_load16(const void *p)
{
    lockstep_require_aligned(p, 16);
    return *(const wf_u4 *)p;
}

WF_DEVICE wf_u2 wf_load8(const void *p)
{
    lockstep_require_aligned(p, 8);
    return *(const wf_u2 *)p;
}

WF_DEVICE unsigned wf_pack_low(unsigned lo, unsigned hi)
{
    return (lo & 0xffffu) | hi << 16;
}

WF_DEVICE unsigned wf_pack_high(unsigned lo, unsigned hi)
{
    return lo >> 16 | (hi & 0xffff0000u);
}

/* --- gfx942 --- */

struct wf_buffer {
    const char *base;
    unsigned bytes;
};

WF_DEVICE wf_buffer wf_buffer_make(const void *base, unsigned bytes)
{
    return wf_buffer{ (const char *)base, bytes };
}

/* Any byte may be the first; each dword is in the window or reads as 0. */
WF_DEVICE wf_u4 wf_buffer_load16(wf_buffer b, int offset, int uniform_offset)
{
    const unsigned long at = (unsigned long)(unsigned)offset + (unsigned)uniform_offset;
    unsigned v[4] = { 0, 0, 0, 0 };
    for (int i = 0; i < 4; i++) {
        if (at + 4 * (unsigned)i + 4 <= b.bytes) {
            __builtin_memcpy(&v[i], b.base + at + 4 * i, 4);
        }
    }
    return wf_u4{ v[0], v[1], v[2], v[3] };
}

WF_DEVICE wf_u4 wf_buffer_stream16(wf_buffer b, int offset, int uniform_offset)
{
    return wf_buffer_load16(b, offset, uniform_offset);
}

WF_DEVICE wf_u4 wf_load16_any(const void *p)
{
    wf_u4 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

WF_DEVICE void wf_store16_any(void *p, wf_u4 v)
{
    __builtin_memcpy(p, &v, sizeof v);
}

WF_DEVICE unsigned wf_bytes_of(unsigned lo, unsigned hi, unsigned selector)
{
    const wf_u64 both = (wf_u64)hi << 32 | lo;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        r |= (unsigned)(both >> (selector >> 8 * i & 7) * 8 & 0xff) << 8 * i;
    }
    return r;
}

/* The accumulator says the shape; types are numbers of problem_device.h. */
template <int ta, int tb, class accumulator>
WF_DEVICE accumulator wf_mfma(wf_u2 a, wf_u2 b, accumulator c)
{
    struct {
        int shape, of_a, of_b, unused;
        wf_u2 a, b;
        accumulator c;
    } in = { sizeof c == 16 ? 16 : 32, ta, tb, 0, a, b, c };
    accumulator out;
    lockstep_exchange(LOCKSTEP_MFMA, &in, sizeof in, &out, sizeof out);
    return out;
}

WF_DEVICE void wf_wave_barrier()
{
    (void)wf_shuffle_xor(0.0f, 0);
}

template <int mode> WF_DEVICE void wf_interleave()
{
}

#define WF_SCHED_MFMA      0x008
#define WF_SCHED_VMEM_READ 0x020
#define WF_SCHED_LDS_READ  0x100
#define WF_SCHED_LDS_WRITE 0x200
template <int kind, int count> WF_DEVICE void wf_sched_group()
{
}

template <int priority> WF_DEVICE void wf_priority()
{
}

WF_DEVICE wf_f32x4 wf_mfma_16x16x16(wf_u2 a, wf_u2 b, wf_f32x4 c)
{
    struct {
        wf_u2 a, b;
        wf_f32x4 c;
    } in = { a, b, c };
    wf_f32x4 out;
    lockstep_exchange(LOCKSTEP_MFMA_16X16X16, &in, sizeof in, &out, sizeof out);
    return out;
}

/* --- sm_90 --- */

typedef wf_u64 wf_shared_address;

WF_DEVICE wf_shared_address wf_dynamic_shared()
{
    return (wf_shared_address)lockstep_dynamic_memory();
}

WF_DEVICE void wf_copy16_async(wf_shared_address dst, const void *src, int bytes)
{
    lockstep_require_aligned((const void *)dst, 16);
    lockstep_require_aligned(src, 16);
    lockstep_copy_async((void *)dst, src, bytes);
}

WF_DEVICE void wf_copy_commit()
{
    lockstep_copy_commit();
}

template <int n> WF_DEVICE void wf_copy_wait()
{
    lockstep_copy_wait(n);
}

WF_DEVICE void wf_shared_store16(wf_shared_address dst, wf_u4 v)
{
    lockstep_require_aligned((const void *)dst, 16);
    *(wf_u4 *)dst = v;
}

WF_DEVICE void wf_matrix_load(unsigned r[4], wf_shared_address row)
{
    lockstep_exchange(LOCKSTEP_MATRIX_LOAD, &row, sizeof row, r, 16);
}

WF_DEVICE void wf_matrix_load_transposed(unsigned r[4], wf_shared_address row)
{
    lockstep_exchange(LOCKSTEP_MATRIX_LOAD_TRANSPOSED, &row, sizeof row, r, 16);
}

WF_DEVICE void wf_mma_16x8x16(float d[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    struct {
        unsigned a[4], b[2];
        float d[4];
    } in = { { a[0], a[1], a[2], a[3] }, { b0, b1 }, { d[0], d[1], d[2], d[3] } };
    lockstep_exchange(LOCKSTEP_MMA_16X8X16, &in, sizeof in, d, 16);
}

WF_DEVICE void wf_mma_16x8x16_bf16(float d[4],
                                   const unsigned a[4],
                                   unsigned b0,
                                   unsigned b1)
{
    struct {
        unsigned a[4], b[2];
        float d[4];
    } in = { { a[0], a[1], a[2], a[3] }, { b0, b1 }, { d[0], d[1], d[2], d[3] } };
    lockstep_exchange(LOCKSTEP_MMA_16X8X16_BF16, &in, sizeof in, d, 16);
}

WF_DEVICE void wf_mma_16x8x32_i8(int d[4],
                                 const unsigned a[4],
                                 unsigned b0,
                                 unsigned b1)
{
    struct {
        unsigned a[4], b[2];
        int d[4];
    } in = { { a[0], a[1], a[2], a[3] }, { b0, b1 }, { d[0], d[1], d[2], d[3] } };
    lockstep_exchange(LOCKSTEP_MMA_16X8X32_I8, &in, sizeof in, d, 16);
}

/* An f16 with the same digits and a bias of 15 in place of 7. */
WF_DEVICE wf_half wf_e4m3_to_half(unsigned v)
{
    const wf_half sign = (wf_half)((v & 0x80u) << 8);
    if ((v & 0x7fu) == 0x7fu) {
        return sign | 0x7fff;
    }
    const wf_half digits = (wf_half)((v & 0x7fu) << 7);
    return sign |
           __builtin_bit_cast(wf_half, (_Float16)(__builtin_bit_cast(_Float16, digits) *
                                                  (_Float16)256.0f));
}

WF_DEVICE unsigned wf_e4m3_pair_to_halves(wf_half v)
{
    return wf_e4m3_to_half(v & 0xffu) | (unsigned)wf_e4m3_to_half(v >> 8) << 16;
}

WF_DEVICE unsigned wf_e5m2_pair_to_halves(wf_half v)
{
    return (v & 0xffu) << 8 | (v & 0xff00u) << 16;
}

#endif
