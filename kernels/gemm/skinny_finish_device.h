/* What becomes of a skinny GEMM's sums: waves that share columns and differ in k meet
 * in LDS; workgroups that do, in memory. Always added in the order of k: equal inputs
 * give equal bits.
 *
 * Partial sums of a workgroup's part lie in blocks of 16 columns, in the order of the
 * waves: [batch][part][block][row][16], rows and columns as they lie in D. */
#ifndef WF_KERNELS_GEMM_SKINNY_FINISH_DEVICE_H
#define WF_KERNELS_GEMM_SKINNY_FINISH_DEVICE_H

#include "kernels/gemm/skinny_value_device.h"

#define THREADS    (64 * WAVES)
/* Blocks that give a column of D; with GATE each has its up block BLOCKS / 2 later. */
#define OUT_BLOCKS (BLOCKS / (1 + GATE))

/* Blocks of 16 columns of op(B), those behind the edge included. */
WF_DEVICE unsigned skinny_block_count(const gemm_problem &p)
{
    return (unsigned)(wf_quotient_up(p.n, BLOCK_N) * (WAVES_N * BLOCKS));
}

/* Four sums of block `block` (of the matrix), row `row`, of part 0. */
WF_DEVICE skinny_sum *skinny_partial(const gemm_problem &p,
                                     int batch,
                                     unsigned block,
                                     int row,
                                     int quad)
{
    const unsigned at = (block * (unsigned)p.m + (unsigned)row) * 4 + (unsigned)quad;
    const wf_u64 matrix = (wf_u64)(skinny_block_count(p) * (unsigned)p.m) * 4;
    return (skinny_sum *)p.partial + ((unsigned)(batch * p.split) * matrix + at);
}

WF_DEVICE skinny_sum skinny_add_parts(const gemm_problem &p, const skinny_sum *first)
{
    const wf_u64 matrix = (wf_u64)(skinny_block_count(p) * (unsigned)p.m) * 4;
    skinny_sum sum = *first;
    _Pragma("unroll 4") for (int part = 1; part < p.split; part++)
    {
        sum += first[(unsigned)part * matrix];
    }
    return sum;
}

/* Four columns of every part: `at` counts them over the blocks that give D, from block
 * `first` (a wave's first) on. */
WF_DEVICE void skinny_finish_parts(const gemm_problem &p, int batch, int first, int at)
{
    const int line = at >> 2; /* 16 columns of a row */
    const int block = wf_quotient(line, p.m);
    const int wave = (first + block) / OUT_BLOCKS;
    const int in_wave = (first + block) % OUT_BLOCKS;
    skinny_four f = {};
    f.batch = batch;
    f.row = line - block * p.m;
    const unsigned source = (unsigned)(wave * BLOCKS + in_wave);
    f.at = skinny_columns_of(p.n, wave * (16 * OUT_BLOCKS), in_wave, at & 3);
    f.sum = skinny_add_parts(p, skinny_partial(p, batch, source, f.row, at & 3));
#if GATE
    f.up = skinny_add_parts(
        p, skinny_partial(p, batch, source + OUT_BLOCKS, f.row, at & 3));
#endif
    skinny_finish(p, f);
}

/* The LDS of a workgroup: a row of blocks of every wave. */
#define SKINNY_LDS WF_SHARED skinny_sum lds[WAVES * BLOCKS * 64]

/* Where this wave's share lies. */
struct skinny_place {
    int batch, part, tile, wave_n, wave_k;
};

/* The waves' sums of a block, in the order of k. */
WF_DEVICE skinny_sum skinny_add_waves(const skinny_sum *lds, int wave_n, int block)
{
    const skinny_sum *first =
        lds + ((wave_n * BLOCKS + block) * 64 + (wf_thread() & 63));
    skinny_sum sum = *first;
    WF_UNROLL
    for (int k = 1; k < WAVES_K; k++) {
        sum += first[k * WAVES_N * BLOCKS * 64];
    }
    return sum;
}

/* Blocks of rows 16 tile_m on are in LDS; each wave takes those of its columns whose
 * turn it is. */
WF_DEVICE void skinny_finish_row_of_blocks(const gemm_problem &p,
                                           const skinny_place &at,
                                           const skinny_sum *lds,
                                           int tile_m)
{
    const int lane = wf_thread() & 63;
    const int wave = at.tile * WAVES_N + at.wave_n;
    skinny_four f = {};
    f.batch = at.batch;
    f.row = 16 * tile_m + (lane & 15);
    WF_NO_UNROLL
    for (int block = at.wave_k; block < OUT_BLOCKS; block += WAVES_K) {
        f.at = skinny_columns_of(p.n, wave * (16 * OUT_BLOCKS), block, lane >> 4);
        f.sum = skinny_add_waves(lds, at.wave_n, block);
#if GATE
        f.up = skinny_add_waves(lds, at.wave_n, block + OUT_BLOCKS);
#endif
        if (f.row >= p.m) {
            continue;
        }
        if (p.split == 1) {
            skinny_finish(p, f);
            continue;
        }
        const wf_u64 part =
            (unsigned)at.part * ((wf_u64)(skinny_block_count(p) * (unsigned)p.m) * 4);
        const unsigned source = (unsigned)(wave * BLOCKS + block);
        skinny_partial(p, at.batch, source, f.row, lane >> 4)[part] = f.sum;
#if GATE
        skinny_partial(p, at.batch, source + OUT_BLOCKS, f.row, lane >> 4)[part] = f.up;
#endif
    }
}

WF_DEVICE void skinny_finish_workgroup(const gemm_problem &p,
                                       const skinny_place &at,
                                       const skinny_sums &sums,
                                       skinny_sum *lds)
{
    skinny_sum *mine =
        lds + (((at.wave_k * WAVES_N + at.wave_n) * BLOCKS) * 64 + (wf_thread() & 63));
    WF_NO_UNROLL
    for (int tile_m = 0; tile_m * 16 < p.m; tile_m++) {
        if (tile_m > 0) {
            wf_barrier();
        }
        WF_UNROLL
        for (int i = 0; i < ROW_TILES; i++) {
            if (tile_m == i) {
                WF_UNROLL
                for (int j = 0; j < BLOCKS; j++) {
                    mine[j * 64] = skinny_four_sums(sums, i, j);
                }
            }
        }
        wf_barrier();
        skinny_finish_row_of_blocks(p, at, lds, tile_m);
    }
}

#endif
