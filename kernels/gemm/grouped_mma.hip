/* sm_90 grouped GEMM on mma.sync: groups of rows of any heights, each with a B of its
 * own, in one launch. mma_tile_device.h's loop and epilogue; what is new is where a
 * workgroup's rows are. As in grouped_mfma.hip the grid has a row of workgroups for
 * each row of tiles that there can be at most, ceil(M / BLOCK_M) + groups; each finds
 * its group in `offsets`, and those that find none end at once.
 *
 * Rows of A must be 16-byte aligned, each group's B too, for wf_grouped_mma;
 * wf_grouped_mma_any needs nothing. */
#include "kernels/gemm/grouped_device.h"
#include "kernels/gemm/mma_tile_device.h"

template <bool aligned>
WF_DEVICE void multiply_groups(gemm_problem &p,
                               const int *offsets,
                               int groups,
                               int tiles_m)
{
    gemm_share s;
    if (grouped_my_share(&p, offsets, groups, tiles_m, BLOCK_M, OUT_N, &s)) {
        p.sa -= (wf_i64)s.batch * p.m; /* it is counted by group and row */
        multiply_share<aligned>(p, s);
    }
}

WF_KERNEL(THREADS, BLOCKS_PER_UNIT)
wf_grouped_mma(GEMM_PARAMETERS(GEMM_SCALAR),
               const int *offsets,
               int groups,
               int tiles_m)
{
    gemm_problem p = GEMM_PROBLEM;
    multiply_groups<true>(p, offsets, groups, tiles_m);
}

WF_KERNEL(THREADS, BLOCKS_PER_UNIT)
wf_grouped_mma_any(GEMM_PARAMETERS(GEMM_SCALAR),
                   const int *offsets,
                   int groups,
                   int tiles_m)
{
    gemm_problem p = GEMM_PROBLEM;
    multiply_groups<false>(p, offsets, groups, tiles_m);
}
