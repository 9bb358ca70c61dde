/* What of the skinny GEMM depends on the operands' types (A_TYPE, B_TYPE, knobs), and
 * what only it needs of gfx942: loads of single elements, and the last of some
 * workgroups. */
#ifndef WF_KERNELS_GEMM_SKINNY_TYPES_DEVICE_H
#define WF_KERNELS_GEMM_SKINNY_TYPES_DEVICE_H

#include "kernels/gemm/problem_device.h"

#if A_TYPE == GEMM_F16 || A_TYPE == GEMM_BF16
#define ELEMENT_BYTES 2
static_assert(A_TYPE == B_TYPE, "16-bit operands have one type");
#elif A_TYPE == GEMM_I8
#define ELEMENT_BYTES 1
static_assert(B_TYPE == GEMM_I8, "i8 goes with i8");
#elif A_TYPE == GEMM_E4M3FNUZ || A_TYPE == GEMM_E5M2FNUZ
#define ELEMENT_BYTES 1
static_assert(B_TYPE == GEMM_E4M3FNUZ || B_TYPE == GEMM_E5M2FNUZ, "fp8 goes with fp8");
#else
#error "A_TYPE: f16, bf16, e4m3fnuz, e5m2fnuz or i8"
#endif

#if A_TYPE == GEMM_I8
typedef int skinny_scalar;
typedef wf_i32x4 skinny_sum;
#else
typedef float skinny_scalar;
typedef wf_f32x4 skinny_sum;
#endif

#define SKINNY_PARAMETERS GEMM_PARAMETERS(skinny_scalar)

/* The arguments as they lie in memory (problem_device.h says their order). */
struct skinny_arguments {
    const void *a, *b, *c;
    void *d;
    const void *bias;
    const float *sa, *sb;
    float *partial;
    int m, n, k, split, k_per_split, xcc_count;
    wf_i64 lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d;
    skinny_scalar alpha, beta;
    int types;
};

/* Whether there is a gate is known here, and not asked at the launch. */
WF_DEVICE gemm_problem skinny_with_gate(gemm_problem p)
{
    p.activation = GATE ? GEMM_SILU_GATE : p.activation & GEMM_SILU;
    return p;
}

/* Read once more, for the epilogue: kept in scalar registers over the loop they would
 * be spilled. The compiler must not know that they are the same. */
WF_DEVICE gemm_problem skinny_arguments_again()
{
    typedef const __attribute__((address_space(4))) skinny_arguments *place;
    place p = (place)__builtin_amdgcn_kernarg_segment_ptr();
    __asm__ volatile("" : "+s"(p));
    const auto *a = p->a;
    const auto *b = p->b;
    const auto *c = p->c;
    auto *d = p->d;
    const auto *bias = p->bias;
    const float *sa = p->sa, *sb = p->sb;
    float *partial = p->partial;
    const int m = p->m, n = p->n, k = p->k, types = p->types;
    const int split = p->split, k_per_split = p->k_per_split, xcc_count = p->xcc_count;
    const wf_i64 lda = p->lda, ldb = p->ldb, ldc = p->ldc, ldd = p->ldd;
    const wf_i64 stride_a = p->stride_a, stride_b = p->stride_b;
    const wf_i64 stride_c = p->stride_c, stride_d = p->stride_d;
    const skinny_scalar alpha = p->alpha, beta = p->beta;
    return skinny_with_gate(GEMM_PROBLEM);
}

/* 16 bytes of weights. STREAM: they are used once, and leave the caches to what is used
 * again. */
WF_DEVICE wf_u4 skinny_load_weights(wf_buffer b, int offset, int uniform_offset)
{
    return STREAM ? wf_buffer_stream16(b, offset, uniform_offset)
                  : wf_buffer_load16(b, offset, uniform_offset);
}

WF_DEVICE unsigned skinny_load_element(wf_buffer b, int offset)
{
#if ELEMENT_BYTES == 2
    return __builtin_amdgcn_raw_buffer_load_b16(b, offset, 0, 0);
#else
    return __builtin_amdgcn_raw_buffer_load_b8(b, offset, 0, 0);
#endif
}

/* Every wave's stores are behind it; true in the workgroup that comes last of `count`,
 * which then sees what the others stored. *arrived is 0 before the launch. `lds` is
 * scratch. The caches of the XCDs do not see each other: device scope writes back and
 * empties them. */
WF_DEVICE bool skinny_is_last(unsigned *arrived, unsigned count, unsigned *lds)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __builtin_amdgcn_s_barrier();
    if (wf_thread() == 0) {
        *lds = __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL,
                                      __HIP_MEMORY_SCOPE_AGENT);
    }
    wf_barrier();
    const bool last = (unsigned)wf_uniform((int)*lds) == count - 1;
    if (last) {
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    }
    return last;
}

#endif
