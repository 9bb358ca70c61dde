/* gfx942 GEMM of fp8 (fnuz) operands with a scale for each 128 of k of a row of A and
 * each 128 x 128 block of B, as DeepSeek's weights have. gemm_mfma.hip's loop and
 * epilogue; mfma_block_device.h adds the scales. docs/gemm-block-scale.md.
 *
 * Knobs: those of gemm_mfma.hip without SPLIT_K, STAGES, SETPRIO and READ_AHEAD;
 * BLOCK_K is 128. */
#include "kernels/gemm/mfma_block_device.h"

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
                    1,
                    LDS_PAD,
                    GATE != 0,
                    STREAM != 0,
                    IGLP,
                    false,
                    false>
    config;

WF_KERNEL(config::THREADS_ALL, WAVES_PER_SIMD) wf_gemm(GEMM_PARAMETERS(float))
{
    WF_SHARED unsigned char lds[mfma_round<config>::LDS_BYTES];
    const gemm_problem p = GEMM_PROBLEM;
    gemm_share s = gemm_my_share(p, BLOCK_M, config::BN / (GATE ? 2 : 1));
    s.part = 0;
    mfma_block_product<config>(
        p, s, (const char *)p.a + (unsigned)s.batch * p.stride_a * config::ELEMENT,
        (wf_i64)s.batch * p.m + s.m0, lds);
}
