/* gfx942 grouped GEMM of fp8 (fnuz) operands with a scale for each 128 of k of a row of
 * A and each 128 x 128 block of each group's B: mixtures of experts with DeepSeek's
 * weights. grouped_mfma.hip's way to a group, gemm_mfma_block.hip's loop.
 *
 * Knobs: those of gemm_mfma_block.hip without A_K_CONTIGUOUS (A is [M][K]). */
#include "kernels/gemm/grouped_device.h"
#include "kernels/gemm/mfma_block_device.h"

typedef mfma_config<BLOCK_M,
                    BLOCK_N,
                    BLOCK_K,
                    WAVES_M,
                    WAVES_N,
                    MFMA,
                    A_TYPE,
                    B_TYPE,
                    true,
                    B_K_CONTIGUOUS != 0,
                    1,
                    LDS_PAD,
                    GATE != 0,
                    STREAM != 0,
                    IGLP,
                    false,
                    false>
    config;

WF_KERNEL(config::THREADS_ALL, WAVES_PER_SIMD)
wf_grouped_gemm(GEMM_PARAMETERS(float), const int *offsets, int groups, int tiles_m)
{
    WF_SHARED unsigned char lds[mfma_round<config>::LDS_BYTES];
    gemm_problem p = GEMM_PROBLEM;
    gemm_share s;
    if (!grouped_my_share(&p, offsets, groups, tiles_m, BLOCK_M,
                          config::BN / (GATE ? 2 : 1), &s)) {
        return;
    }
    mfma_block_product<config>(p, s, (const char *)p.a, s.m0, lds);
}
