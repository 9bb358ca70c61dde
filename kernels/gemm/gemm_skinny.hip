/* gfx942 GEMM for few rows (decode): weights stream from memory to registers.
 * skinny_device.h says how, skinny_finish_device.h what becomes of the sums.
 *
 * A workgroup has BLOCK_N columns and one of SPLIT parts of k; WAVES_N of its waves
 * share the columns, WAVES_K the part. With more than one part a second launch
 * (LAST_ADDS 0) or the part that is done last (LAST_ADDS 1) adds what the parts left in
 * memory.
 *
 * Knobs: A_TYPE, B_TYPE, BLOCK_M (16, 32, 48, 64: the most that M may be), BLOCK_N,
 * WAVES_N, WAVES_K, PREFETCH (units of 64 bytes of k ahead), B_K_CONTIGUOUS, GATE (1:
 * gated SiLU, op(B) has 2 N columns), STREAM (1: non-temporal loads of B),
 * WAVES_PER_SIMD, LAST_ADDS. */
#include "kernels/gemm/skinny_finish_device.h"

WF_DEVICE void skinny_workgroup(const gemm_problem &p, skinny_sum *lds)
{
    const unsigned wave = (unsigned)wf_uniform(wf_thread() >> 6);
    skinny_place at;
    at.batch = wf_block_z();
    at.part = wf_block_y();
    at.tile = wf_block_x();
    at.wave_n = (int)(wave % WAVES_N);
    at.wave_k = (int)(wave / WAVES_N);
    const int begin = wf_min(at.part * p.k_per_split, p.k);
    const int end = wf_min(begin + p.k_per_split, p.k);
    /* Whole lines of 128 bytes for each wave. */
    const int lines = wf_quotient_up(end - begin, 2 * UNIT_K * WAVES_K);
    const int k_begin = wf_min(begin + at.wave_k * lines * (2 * UNIT_K), end);
    const int k_end = wf_min(k_begin + lines * (2 * UNIT_K), end);
    const int n0 = (at.tile * WAVES_N + at.wave_n) * (16 * OUT_BLOCKS);
    skinny_sums sums;
    skinny_product(p, at.batch, n0, k_begin, k_end, sums);
    skinny_finish_workgroup(skinny_arguments_again(), at, sums, lds);
}

#if LAST_ADDS

WF_DEVICE void skinny_finish_parts_of_tile(const gemm_problem &p)
{
    const int first = wf_block_x() * (WAVES_N * OUT_BLOCKS);
    WF_NO_UNROLL
    for (int i = wf_thread(); i < WAVES_N * OUT_BLOCKS * p.m * 4; i += THREADS) {
        skinny_finish_parts(p, wf_block_z(), first, i);
    }
}

WF_KERNEL(THREADS, WAVES_PER_SIMD)
wf_gemm_skinny(SKINNY_PARAMETERS, unsigned *arrived)
{
    SKINNY_LDS;
    const gemm_problem p = GEMM_PROBLEM;
    skinny_workgroup(p, lds);
    if (p.split == 1) {
        return;
    }
    wf_barrier(); /* LDS is free */
    if (skinny_is_last(
            &arrived[wf_block_z() * wf_quotient_up(p.n, BLOCK_N) + wf_block_x()],
            (unsigned)p.split, (unsigned *)lds)) {
        skinny_finish_parts_of_tile(skinny_arguments_again());
    }
}

#else

WF_KERNEL(THREADS, WAVES_PER_SIMD) wf_gemm_skinny(SKINNY_PARAMETERS)
{
    SKINNY_LDS;
    const gemm_problem p = GEMM_PROBLEM;
    skinny_workgroup(p, lds);
}

WF_KERNEL(256, 4) wf_gemm_skinny_sum(SKINNY_PARAMETERS)
{
    const gemm_problem p = skinny_with_gate(GEMM_PROBLEM);
    const int at = wf_block_x() * 256 + wf_thread();
    const int blocks = wf_quotient_up(p.n, BLOCK_N) * (WAVES_N * OUT_BLOCKS);
    if (at < blocks * p.m * 4) {
        skinny_finish_parts(p, wf_block_z(), 0, at);
    }
}

#endif
