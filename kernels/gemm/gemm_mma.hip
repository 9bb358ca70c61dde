/* sm_90 GEMM on mma.sync. mma_tile_device.h says how, and has the knobs.
 *
 * wf_gemm_mma needs 16-byte rows (leading dimensions and batch strides);
 * wf_gemm_mma_any needs nothing. */
#include "kernels/gemm/mma_tile_device.h"

WF_KERNEL(THREADS, BLOCKS_PER_UNIT) wf_gemm_mma(GEMM_PARAMETERS(GEMM_SCALAR))
{
    const gemm_problem p = GEMM_PROBLEM;
    multiply_share<true>(p, gemm_my_share(p, BLOCK_M, OUT_N));
}

#if ANY_ALIGNMENT
WF_KERNEL(THREADS, BLOCKS_PER_UNIT) wf_gemm_mma_any(GEMM_PARAMETERS(GEMM_SCALAR))
{
    const gemm_problem p = GEMM_PROBLEM;
    multiply_share<false>(p, gemm_my_share(p, BLOCK_M, OUT_N));
}
#endif

#if SPLIT_K
WF_KERNEL(256, 4) wf_gemm_mma_sum(GEMM_PARAMETERS(GEMM_SCALAR))
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_sum_partials(p);
}
#endif
