/* gfx942 GEMM on the matrix units: f16, bf16, fp8 (fnuz) and i8, all transposes, any
 * sizes, alignment and distances, batches; bias, row scales, SiLU and gated SiLU. What
 * the entry's `activation`, `scale` and types say is known at the launch; docs/gemm.md
 * has the whole story, mfma_tile_device.h the loop, mfma_finish_device.h what follows.
 *
 * Knobs: A_TYPE, B_TYPE (GEMM_TYPE numbers), A_K_CONTIGUOUS, B_K_CONTIGUOUS, BLOCK_M,
 * BLOCK_N, BLOCK_K (elements), WAVES_M, WAVES_N, MFMA (16 or 32: rows of the
 * instruction), STAGES, LDS_PAD, GATE, STREAM, READ_AHEAD, IGLP, READ_ORDER, UNROLL,
 * SETPRIO, WAVES_PER_SIMD, GEMM_GROUP_M, SPLIT_K (1: partial sums go to the workspace,
 * and a second kernel adds them). */
#include "kernels/gemm/mfma_finish_device.h"

#if A_TYPE == GEMM_I8
#define GEMM_SCALAR int
#else
#define GEMM_SCALAR float
#endif

typedef mfma_config<BLOCK_M,
                    BLOCK_N,
                    BLOCK_K,
                    WAVES_M,
                    WAVES_N,
                    MFMA,
                    A_TYPE,
                    B_TYPE,
                    A_K_CONTIGUOUS != 0,
                    B_K_CONTIGUOUS != 0,
                    STAGES,
                    LDS_PAD,
                    GATE != 0,
                    STREAM != 0,
                    IGLP,
                    SETPRIO != 0,
                    READ_AHEAD != 0,
                    READ_ORDER,
                    UNROLL>
    config;

WF_KERNEL(config::THREADS_ALL, WAVES_PER_SIMD) wf_gemm(GEMM_PARAMETERS(GEMM_SCALAR))
{
    WF_SHARED unsigned char lds[mfma_round<config>::LDS_BYTES];
    const gemm_problem p = GEMM_PROBLEM;
    gemm_share s = gemm_my_share(p, BLOCK_M, config::BN / (GATE ? 2 : 1));
#if !SPLIT_K
    s.part = 0;
    s.k_begin = 0;
    s.k_end = p.k;
#endif
    mfma_operand_a<config> of_a;
    mfma_operand_b<config> of_b;
    of_a.begin((const char *)p.a + (unsigned)s.batch * p.stride_a * config::ELEMENT,
               p.lda, s.m0, p.m, s.k_begin, 0);
    of_b.begin((const char *)p.b + (unsigned)s.batch * p.stride_b * config::ELEMENT,
               p.ldb, s.n0, p.n, s.k_begin, GATE ? p.n : 0);
    config::accumulator acc[config::WM][config::WN];
    WF_UNROLL
    for (int i = 0; i < config::WM; i++) {
        WF_UNROLL
        for (int j = 0; j < config::WN; j++) {
            acc[i][j] = (config::accumulator)(0);
        }
    }
    constexpr int second = STAGES == 2 ? config::STAGE_BYTES : 0;
    mfma_sum<config>(of_a, of_b, s.k_end - s.k_begin, lds, lds + config::A_BYTES,
                     lds + second, lds + second + config::A_BYTES, acc, mfma_nothing());
    wf_barrier();
    mfma_finish<config, SPLIT_K != 0>(p, s, acc, lds);
}

#if SPLIT_K
WF_KERNEL(256, 4) wf_gemm_sum(GEMM_PARAMETERS(GEMM_SCALAR))
{
    const gemm_problem p = GEMM_PROBLEM;
    mfma_sum_partials<A_TYPE == GEMM_I8>(p);
}
#endif
