/* gfx942 with clang: a wave is 64 lanes.
 *
 * Lanes of the matrix instructions used here, i row, j column; a lane gives 8 bytes of
 * each operand, v values: 4 of 16 bits, 8 of 8 bits:
 *
 *   32x32x(2v), A (i, k): lane 32 (k / v) + i, slot k % v; B (k, j) likewise with j
 *   32x32x(2v), D (i, j): lane 32 (i / 4 % 2) + j, register 4 (i / 8) + i % 4
 *   16x16x(4v), A (i, k): lane 16 (k / v) + i, slot k % v; B (k, j) likewise with j
 *   16x16x(4v), D (i, j): lane 16 (i / 4) + j, register i % 4 */
#ifndef WF_KERNELS_DEVICE_WF_DEVICE_AMD_H
#define WF_KERNELS_DEVICE_WF_DEVICE_AMD_H

#define WF_WAVE          64
#define WF_DEVICE        __attribute__((device, always_inline)) static inline
#define WF_DEVICE_MEMBER __attribute__((device, always_inline)) inline
#define WF_SHARED        static __attribute__((shared, aligned(16)))
/* `waves` of each SIMD that must fit: bounds the registers. */
#define WF_KERNEL(threads, waves)                                                    \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads), \
                              amdgpu_waves_per_eu(waves, waves))) void

typedef float wf_f32x4 __attribute__((ext_vector_type(4)));
typedef float wf_f32x16 __attribute__((ext_vector_type(16)));
typedef _Float16 wf_f16x4 __attribute__((ext_vector_type(4)));
typedef int wf_i32x4 __attribute__((ext_vector_type(4)));
typedef int wf_i32x16 __attribute__((ext_vector_type(16)));
typedef float wf_f32x2 __attribute__((ext_vector_type(2)));

WF_DEVICE int wf_thread()
{
    return (int)__builtin_amdgcn_workitem_id_x();
}

WF_DEVICE int wf_block_x()
{
    return (int)__builtin_amdgcn_workgroup_id_x();
}

WF_DEVICE int wf_block_y()
{
    return (int)__builtin_amdgcn_workgroup_id_y();
}

WF_DEVICE int wf_block_z()
{
    return (int)__builtin_amdgcn_workgroup_id_z();
}

/* The same value in every lane, told to the compiler. */
WF_DEVICE int wf_uniform(int v)
{
    return __builtin_amdgcn_readfirstlane(v);
}

/* The compiler's scheduler may carry LDS reads over the barrier and its fences (seen
 * with iglp_opt in LLVM 19), hence the boundaries around it; and it leaves out the wait
 * for LDS that the fence stands for where a loop begins with it (seen in LLVM 19),
 * hence `lgkmcnt(0)`. */
WF_DEVICE void wf_barrier()
{
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_waitcnt(0xc07f);
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
    __builtin_amdgcn_sched_barrier(0);
}

/* No instruction is moved over this place. */
WF_DEVICE void wf_keep_order()
{
    __builtin_amdgcn_sched_barrier(0);
}

/* What was read from LDS is there. Nothing may stand between the wait and the
 * instruction behind it: LLVM 19 counts reads that it waited for once more then. */
WF_DEVICE void wf_wait_lds()
{
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_s_waitcnt(0xc07f);
}

/* What the wave's lanes wrote to LDS is there for all of them; no instruction. */
WF_DEVICE void wf_wave_barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/* The launch's dynamic LDS. */
extern "C" {
extern __attribute__((shared, aligned(16))) unsigned char wf_dynamic_lds[];
}

WF_DEVICE void *wf_dynamic_memory()
{
    return wf_dynamic_lds;
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

WF_DEVICE float wf_bf2f(wf_half v)
{
    return wf_float_from_bits((unsigned)v << 16);
}

/* To nearest even; a NaN stays one. */
WF_DEVICE wf_half wf_f2bf(float v)
{
    return __builtin_bit_cast(wf_half, (__bf16)v);
}

/* `lo` in the low half. */
WF_DEVICE unsigned wf_f2h_pair(float lo, float hi)
{
    return wf_f2h(lo) | (unsigned)wf_f2h(hi) << 16;
}

WF_DEVICE float wf_exp2(float v)
{
    return __builtin_amdgcn_exp2f(v);
}

WF_DEVICE float wf_log2(float v)
{
    return __builtin_amdgcn_logf(v);
}

WF_DEVICE float wf_rcp(float v)
{
    return __builtin_amdgcn_rcpf(v);
}

WF_DEVICE float wf_shuffle_xor(float v, int mask)
{
    const int lane =
        (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    return __builtin_bit_cast(
        float,
        __builtin_amdgcn_ds_bpermute((lane ^ mask) << 2, __builtin_bit_cast(int, v)));
}

/* v of the lane `distance` below; the lowest lanes get any lane's. */
WF_DEVICE int wf_shuffle_up(int v, int distance)
{
    const int lane =
        (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    return __builtin_amdgcn_ds_bpermute((lane - distance) << 2, v);
}

/* Bit l: whether it is true in lane l. */
WF_DEVICE wf_u64 wf_ballot(bool v)
{
    return __builtin_amdgcn_ballot_w64(v);
}

/* The lowest bit that is set; there is one. */
WF_DEVICE int wf_lowest_bit(wf_u64 v)
{
    return __builtin_ctzll(v);
}

/* v of one lane, the same in all. */
WF_DEVICE int wf_value_of_lane(int v, int lane)
{
    return __builtin_amdgcn_readlane(v, lane);
}

WF_DEVICE wf_u4 wf_load16(const void *p)
{
    wf_i32x4 v = *(const __attribute__((address_space(1))) wf_i32x4 *)p;
    return __builtin_bit_cast(wf_u4, v);
}

WF_DEVICE wf_u2 wf_load8(const void *p)
{
    typedef int i32x2 __attribute__((ext_vector_type(2)));
    i32x2 v = *(const __attribute__((address_space(1))) i32x2 *)p;
    return __builtin_bit_cast(wf_u2, v);
}

/* Low halves of (hi, lo) and high halves: one 2x2 transpose of 16-bit values. */
WF_DEVICE unsigned wf_pack_low(unsigned lo, unsigned hi)
{
    return __builtin_amdgcn_perm(hi, lo, 0x05040100u);
}

WF_DEVICE unsigned wf_pack_high(unsigned lo, unsigned hi)
{
    return __builtin_amdgcn_perm(hi, lo, 0x07060302u);
}

/* Bytes of two dwords by number: 0 to 3 are those of lo, 4 to 7 those of hi. */
WF_DEVICE unsigned wf_bytes_of(unsigned lo, unsigned hi, unsigned selector)
{
    return __builtin_amdgcn_perm(hi, lo, selector);
}

/* A window of memory whose reads beyond `bytes` give 0 without touching memory. */
typedef __amdgpu_buffer_rsrc_t wf_buffer;

WF_DEVICE wf_buffer wf_buffer_make(const void *base, unsigned bytes)
{
    return __builtin_amdgcn_make_buffer_rsrc((void *)base, 0, (int)bytes, 0x20000);
}

/* `uniform_offset` is the same in every lane. Any byte may be the first: devices run in
 * unaligned access mode. Each dword is in the window or reads as 0. */
WF_DEVICE wf_u4 wf_buffer_load16(wf_buffer b, int offset, int uniform_offset)
{
    return __builtin_bit_cast(
        wf_u4, __builtin_amdgcn_raw_buffer_load_b128(b, offset, uniform_offset, 0));
}

/* The same for what is read once: `nt`, not kept in the caches. */
WF_DEVICE wf_u4 wf_buffer_stream16(wf_buffer b, int offset, int uniform_offset)
{
    return __builtin_bit_cast(
        wf_u4, __builtin_amdgcn_raw_buffer_load_b128(b, offset, uniform_offset, 2));
}

/* One aligned value; outside of the window it is 0. */
WF_DEVICE float wf_buffer_load_float(wf_buffer b, int offset, int uniform_offset)
{
    return __builtin_bit_cast(
        float, __builtin_amdgcn_raw_buffer_load_b32(b, offset, uniform_offset, 0));
}

/* Global memory at any address. */
WF_DEVICE wf_u4 wf_load16_any(const void *p)
{
    typedef int any __attribute__((ext_vector_type(4), aligned(1)));
    return __builtin_bit_cast(wf_u4, *(const __attribute__((address_space(1))) any *)p);
}

WF_DEVICE void wf_store16_any(void *p, wf_u4 v)
{
    typedef int any __attribute__((ext_vector_type(4), aligned(1)));
    *(__attribute__((address_space(1))) any *)p = __builtin_bit_cast(any, v);
}

/* Operand types of matrix instructions, numbers of kernels/gemm/problem_device.h. */
#define WF_MATRIX_F16  0
#define WF_MATRIX_BF16 1
#define WF_MATRIX_E4M3 2
#define WF_MATRIX_E5M2 3
#define WF_MATRIX_I8   4

/* By way of a vector: of two words that are shifted together, clang makes a load of
 * its own. */
WF_DEVICE long wf_matrix_bytes(wf_u2 v)
{
    typedef unsigned pair __attribute__((ext_vector_type(2)));
    return __builtin_bit_cast(long, (pair){ v.x, v.y });
}

#define WF_MFMA_16BIT(shape, suffix, type)            \
    return __builtin_amdgcn_mfma_f32_##shape##suffix( \
        __builtin_bit_cast(type, a), __builtin_bit_cast(type, b), c, 0, 0, 0)
#define WF_MFMA_8BIT(result, shape, suffix)                  \
    return __builtin_amdgcn_mfma_##result##_##shape##suffix( \
        wf_matrix_bytes(a), wf_matrix_bytes(b), c, 0, 0, 0)
#define WF_MFMA_FLOAT(shape16, shape8)                                   \
    typedef short i16x4 __attribute__((ext_vector_type(4)));             \
    static_assert(ta <= WF_MATRIX_E5M2 && (ta < 2) == (tb < 2) &&        \
                      (ta == tb || ta >= 2),                             \
                  "no matrix instruction has these operand types");      \
    if constexpr (ta == WF_MATRIX_F16) {                                 \
        WF_MFMA_16BIT(shape16, f16, wf_f16x4);                           \
    } else if constexpr (ta == WF_MATRIX_BF16) {                         \
        WF_MFMA_16BIT(shape16, bf16_1k, i16x4);                          \
    } else if constexpr (ta == WF_MATRIX_E4M3 && tb == WF_MATRIX_E4M3) { \
        WF_MFMA_8BIT(f32, shape8, _fp8_fp8);                             \
    } else if constexpr (ta == WF_MATRIX_E4M3) {                         \
        WF_MFMA_8BIT(f32, shape8, _fp8_bf8);                             \
    } else if constexpr (tb == WF_MATRIX_E4M3) {                         \
        WF_MFMA_8BIT(f32, shape8, _bf8_fp8);                             \
    } else {                                                             \
        WF_MFMA_8BIT(f32, shape8, _bf8_bf8);                             \
    }

/* c + a b; the accumulator says the shape, 16 x 16 or 32 x 32. */
template <int ta, int tb> WF_DEVICE wf_f32x4 wf_mfma(wf_u2 a, wf_u2 b, wf_f32x4 c)
{
    WF_MFMA_FLOAT(16x16x16, 16x16x32)
}

template <int ta, int tb> WF_DEVICE wf_f32x16 wf_mfma(wf_u2 a, wf_u2 b, wf_f32x16 c)
{
    WF_MFMA_FLOAT(32x32x8, 32x32x16)
}

template <int ta, int tb> WF_DEVICE wf_i32x4 wf_mfma(wf_u2 a, wf_u2 b, wf_i32x4 c)
{
    static_assert(ta == WF_MATRIX_I8 && tb == WF_MATRIX_I8, "whole sums are of i8");
    WF_MFMA_8BIT(i32, 16x16x32, _i8);
}

template <int ta, int tb> WF_DEVICE wf_i32x16 wf_mfma(wf_u2 a, wf_u2 b, wf_i32x16 c)
{
    static_assert(ta == WF_MATRIX_I8 && tb == WF_MATRIX_I8, "whole sums are of i8");
    WF_MFMA_8BIT(i32, 32x32x16, _i8);
}

/* Of f16 alone. */
WF_DEVICE wf_f32x16 wf_mfma_32x32x8(wf_u2 a, wf_u2 b, wf_f32x16 c)
{
    return wf_mfma<WF_MATRIX_F16, WF_MATRIX_F16>(a, b, c);
}

WF_DEVICE wf_f32x4 wf_mfma_16x16x16(wf_u2 a, wf_u2 b, wf_f32x4 c)
{
    return wf_mfma<WF_MATRIX_F16, WF_MATRIX_F16>(a, b, c);
}

/* The clock of constant rate: 100 MHz. */
WF_DEVICE wf_u64 wf_ticks()
{
    return __builtin_amdgcn_s_memrealtime();
}

/* Core clocks of this compute unit. */
WF_DEVICE wf_u64 wf_clocks()
{
    return __builtin_amdgcn_s_memtime();
}

/* How the compiler is to order the basic block: 0 and 1 interleave LDS and matrix
 * instructions in two ways. The block must have LDS accesses: clang hangs otherwise. */
template <int mode> WF_DEVICE void wf_interleave()
{
    __builtin_amdgcn_iglp_opt(mode);
}

WF_DEVICE void wf_interleave_matrix_loop()
{
    wf_interleave<1>();
}

/* The next `count` instructions of a kind, in the order these calls come in. */
#define WF_SCHED_VALU      0x002
#define WF_SCHED_MFMA      0x008
#define WF_SCHED_VMEM_READ 0x020
#define WF_SCHED_LDS_READ  0x100
#define WF_SCHED_LDS_WRITE 0x200
template <int kind, int count> WF_DEVICE void wf_sched_group()
{
    __builtin_amdgcn_sched_group_barrier(kind, count, 0);
}

/* 0 to 3: which of a SIMD's waves issues first. */
template <int priority> WF_DEVICE void wf_priority()
{
    __builtin_amdgcn_s_setprio(priority);
}

#endif
