/* gfx942 with clang: a wave is 64 lanes.
 *
 * Lanes of the matrix instructions used here (f16 in, f32 sum), i row, j column:
 *
 *   32x32x8, A (i, k):   lane 32 (k / 4) + i, slot k % 4; B (k, j) likewise with j
 *   32x32x8, D (i, j):   lane 32 (i / 4 % 2) + j, register 4 (i / 8) + i % 4
 *   16x16x16, A (i, k):  lane 16 (k / 4) + i, slot k % 4; B (k, j) likewise with j
 *   16x16x16, D (i, j):  lane 16 (i / 4) + j, register i % 4 */
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
 * with iglp_opt in LLVM 19), hence the boundaries around it. */
WF_DEVICE void wf_barrier()
{
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
    __builtin_amdgcn_sched_barrier(0);
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

/* A window of memory whose reads beyond `bytes` give 0 without touching memory. */
typedef __amdgpu_buffer_rsrc_t wf_buffer;

WF_DEVICE wf_buffer wf_buffer_make(const void *base, unsigned bytes)
{
    return __builtin_amdgcn_make_buffer_rsrc((void *)base, 0, (int)bytes, 0x20000);
}

/* `uniform_offset` is the same in every lane. Sums are multiples of 4. */
WF_DEVICE wf_u4 wf_buffer_load16(wf_buffer b, int offset, int uniform_offset)
{
    return __builtin_bit_cast(
        wf_u4, __builtin_amdgcn_raw_buffer_load_b128(b, offset, uniform_offset, 0));
}

WF_DEVICE wf_f32x16 wf_mfma_32x32x8(wf_u2 a, wf_u2 b, wf_f32x16 c)
{
    return __builtin_amdgcn_mfma_f32_32x32x8f16(
        __builtin_bit_cast(wf_f16x4, a), __builtin_bit_cast(wf_f16x4, b), c, 0, 0, 0);
}

WF_DEVICE wf_f32x4 wf_mfma_16x16x16(wf_u2 a, wf_u2 b, wf_f32x4 c)
{
    return __builtin_amdgcn_mfma_f32_16x16x16f16(
        __builtin_bit_cast(wf_f16x4, a), __builtin_bit_cast(wf_f16x4, b), c, 0, 0, 0);
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

/* Interleave the basic block's LDS reads and matrix instructions. */
WF_DEVICE void wf_interleave_matrix_loop()
{
    __builtin_amdgcn_iglp_opt(1);
}

#endif
