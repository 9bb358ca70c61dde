/* sm_90 with nvcc, or with clang and no CUDA headers: a wave is a warp of 32 lanes.
 *
 * Lanes of mma.m16n8k16 (f16 in, f32 sum), g = lane / 4, t = lane % 4:
 *   A registers: (g, 2t..) (g + 8, 2t..) (g, 2t + 8..) (g + 8, 2t + 8..), two k each
 *   B registers: (k 2t.., n g) (k 2t + 8.., n g)
 *   D floats:    (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1) */
#ifndef WF_KERNELS_DEVICE_WF_DEVICE_NVIDIA_H
#define WF_KERNELS_DEVICE_WF_DEVICE_NVIDIA_H

#define WF_WAVE 32
#if defined(__clang__)
#define WF_DEVICE        __attribute__((device, always_inline)) static inline
#define WF_DEVICE_MEMBER __attribute__((device, always_inline)) inline
#define WF_SHARED        static __attribute__((shared, aligned(16)))
#define WF_KERNEL(threads, blocks) \
    extern "C" __attribute__((global, launch_bounds(threads, blocks))) void
#else
#define WF_DEVICE        static __device__ __forceinline__
#define WF_DEVICE_MEMBER __device__ __forceinline__
#define WF_SHARED        static __shared__ __attribute__((aligned(16)))
/* `blocks` of each multiprocessor that must fit: bounds the registers. */
#define WF_KERNEL(threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks)
#endif

WF_DEVICE int wf_thread()
{
    int v;
    asm("mov.u32 %0, %%tid.x;" : "=r"(v));
    return v;
}

WF_DEVICE int wf_block_x()
{
    int v;
    asm("mov.u32 %0, %%ctaid.x;" : "=r"(v));
    return v;
}

WF_DEVICE int wf_block_y()
{
    int v;
    asm("mov.u32 %0, %%ctaid.y;" : "=r"(v));
    return v;
}

WF_DEVICE int wf_block_z()
{
    int v;
    asm("mov.u32 %0, %%ctaid.z;" : "=r"(v));
    return v;
}

WF_DEVICE int wf_blocks_x()
{
    int v;
    asm("mov.u32 %0, %%nctaid.x;" : "=r"(v));
    return v;
}

WF_DEVICE int wf_uniform(int v)
{
    return v;
}

WF_DEVICE void wf_barrier()
{
    asm volatile("bar.sync 0;" ::: "memory");
}

/* Of the 32 lanes of a warp. */
WF_DEVICE void wf_warp_barrier()
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* The clock of constant rate: nanoseconds, in steps of some tens. */
WF_DEVICE wf_u64 wf_ticks()
{
    wf_u64 v;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(v));
    return v;
}

/* Core clocks of this multiprocessor. */
WF_DEVICE wf_u64 wf_clocks()
{
    wf_u64 v;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(v));
    return v;
}

WF_DEVICE float wf_float_from_bits(unsigned v)
{
    float r;
    asm("mov.b32 %0, %1;" : "=f"(r) : "r"(v));
    return r;
}

WF_DEVICE float wf_h2f(wf_half v)
{
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v));
    return r;
}

WF_DEVICE wf_half wf_f2h(float v)
{
    wf_half r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
    return r;
}

/* `lo` in the low half. */
WF_DEVICE unsigned wf_f2h_pair(float lo, float hi)
{
    unsigned r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

WF_DEVICE float wf_bf2f(wf_half v)
{
    return wf_float_from_bits((unsigned)v << 16);
}

WF_DEVICE wf_half wf_f2bf(float v)
{
    wf_half r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
    return r;
}

/* `lo` in the low half. */
WF_DEVICE unsigned wf_f2bf_pair(float lo, float hi)
{
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

WF_DEVICE float wf_exp2(float v)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

WF_DEVICE float wf_log2(float v)
{
    float r;
    asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

WF_DEVICE float wf_rcp(float v)
{
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

WF_DEVICE float wf_shuffle_xor(float v, int mask)
{
    float r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=f"(r)
                 : "f"(v), "r"(mask));
    return r;
}

/* v of the lane `distance` below; the lowest lanes get any lane's. */
WF_DEVICE int wf_shuffle_up(int v, int distance)
{
    int r;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;"
                 : "=r"(r)
                 : "r"(v), "r"(distance));
    return r;
}

/* Bit l: whether it is true in lane l. */
WF_DEVICE wf_u64 wf_ballot(bool v)
{
    unsigned r;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "setp.ne.u32 p, %1, 0;\n\t"
                 "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t}"
                 : "=r"(r)
                 : "r"((unsigned)v));
    return r;
}

/* The lowest bit that is set; there is one. */
WF_DEVICE int wf_lowest_bit(wf_u64 v)
{
    int r;
    asm("{\n\t.reg .b64 t;\n\tbrev.b64 t, %1;\n\tclz.b64 %0, t;\n\t}"
        : "=r"(r)
        : "l"(v));
    return r;
}

/* v of one lane, the same in all. */
WF_DEVICE int wf_value_of_lane(int v, int lane)
{
    int r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(r)
                 : "r"(v), "r"(lane));
    return r;
}

/* Read once, through the read-only path, not kept in L1. */
WF_DEVICE wf_u4 wf_load16(const void *p)
{
    wf_u4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

WF_DEVICE unsigned wf_pack_low(unsigned lo, unsigned hi)
{
    unsigned r;
    asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r) : "r"(lo), "r"(hi));
    return r;
}

WF_DEVICE unsigned wf_pack_high(unsigned lo, unsigned hi)
{
    unsigned r;
    asm("prmt.b32 %0, %1, %2, 0x7632;" : "=r"(r) : "r"(lo), "r"(hi));
    return r;
}

typedef unsigned wf_shared_address;

WF_DEVICE wf_shared_address wf_shared_of(const void *p)
{
    unsigned r;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }"
        : "=r"(r)
        : "l"(p));
    return r;
}

/* The launch's dynamic shared memory. */
#if defined(__clang__)
extern "C" {
extern __attribute__((shared, aligned(128))) unsigned char wf_dynamic_shared_memory[];
}
#else
extern __shared__
    __attribute__((aligned(128))) unsigned char wf_dynamic_shared_memory[];
#endif

WF_DEVICE void *wf_dynamic_memory()
{
    return wf_dynamic_shared_memory;
}

WF_DEVICE wf_shared_address wf_dynamic_shared()
{
    return wf_shared_of(wf_dynamic_shared_memory);
}

/* Copies `bytes` (0 to 16) and fills the rest of 16 with zeros; both aligned to 16. */
WF_DEVICE void wf_copy16_async(wf_shared_address dst, const void *src, int bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(dst), "l"(src), "r"(bytes)
                 : "memory");
}

WF_DEVICE void wf_copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until all but the newest `n` groups of this thread have arrived. */
template <int n> WF_DEVICE void wf_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

WF_DEVICE void wf_shared_store16(wf_shared_address dst, wf_u4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(dst), "r"(v.x),
                 "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/* Four 8x8 matrices of 16-bit values; lanes 8i to 8i + 7 give the rows of matrix i. */
WF_DEVICE void wf_matrix_load(unsigned r[4], wf_shared_address row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}

WF_DEVICE void wf_matrix_load_transposed(unsigned r[4], wf_shared_address row)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(row)
        : "memory");
}

WF_DEVICE void wf_mma_16x8x16(float d[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

WF_DEVICE void wf_mma_16x8x16_bf16(float d[4],
                                   const unsigned a[4],
                                   unsigned b0,
                                   unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* As m16n8k16, with four k to a register in place of two. */
WF_DEVICE void wf_mma_16x8x32_i8(int d[4],
                                 const unsigned a[4],
                                 unsigned b0,
                                 unsigned b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Two f16 of two 8-bit floats; the low one in the low half. Exact. */
WF_DEVICE unsigned wf_e4m3_pair_to_halves(wf_half v)
{
    unsigned r;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(v));
    return r;
}

WF_DEVICE unsigned wf_e5m2_pair_to_halves(wf_half v)
{
    unsigned r;
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(v));
    return r;
}

#endif
