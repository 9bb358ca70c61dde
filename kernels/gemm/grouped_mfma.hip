/* gfx942 grouped GEMM on the matrix units: groups of rows of any heights, each with a B
 * of its own, in one launch. gemm_mfma.hip's loop and epilogue; what is new is where a
 * workgroup's rows are.
 *
 * The grid has a row of workgroups for each row of tiles that there can be at most,
 * ceil(M / BLOCK_M) + groups; each finds its group in `offsets`, which is read on the
 * device: nothing about the groups is known at the launch but how many there are, so
 * that a router's result never visits the host. Those that find none end at once.
 *
 * Knobs: those of gemm_mfma.hip without A_K_CONTIGUOUS (A is [M][K]) and SPLIT_K. */
#include "kernels/gemm/grouped_device.h"
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
                    true,
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

WF_DEVICE void multiply_share(const gemm_problem &p,
                              const gemm_share &s,
                              unsigned char *lds)
{
    mfma_operand_a<config> of_a;
    mfma_operand_b<config> of_b;
    of_a.begin(p.a, p.lda, s.m0, p.m, 0, 0);
    of_b.begin((const char *)p.b + (unsigned)s.batch * p.stride_b * config::ELEMENT,
               p.ldb, s.n0, p.n, 0, GATE ? p.n : 0);
    config::accumulator acc[config::WM][config::WN];
    WF_UNROLL
    for (int i = 0; i < config::WM; i++) {
        WF_UNROLL
        for (int j = 0; j < config::WN; j++) {
            acc[i][j] = (config::accumulator)(0);
        }
    }
    constexpr int second = STAGES == 2 ? config::STAGE_BYTES : 0;
    mfma_sum<config>(of_a, of_b, p.k, lds, lds + config::A_BYTES, lds + second,
                     lds + second + config::A_BYTES, acc, mfma_nothing());
    wf_barrier();
    mfma_finish<config, false>(p, s, acc, lds);
}

WF_KERNEL(config::THREADS_ALL, WAVES_PER_SIMD)
wf_grouped_gemm(GEMM_PARAMETERS(GEMM_SCALAR),
                const int *offsets,
                int groups,
                int tiles_m)
{
    WF_SHARED unsigned char lds[mfma_round<config>::LDS_BYTES];
    gemm_problem p = GEMM_PROBLEM;
    gemm_share s;
    if (!grouped_my_share(&p, offsets, groups, tiles_m, BLOCK_M,
                          config::BN / (GATE ? 2 : 1), &s)) {
        return;
    }
    /* What counts rows by group starts earlier: they are numbered over all groups. */
    p.sa -= (wf_i64)s.batch * p.m;
    multiply_share(p, s, lds);
}
