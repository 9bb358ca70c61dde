/* Which group a row of tiles belongs to, when groups of rows lie one after the other
 * and each begins a tile of its own: a wave looks at as many groups at once as it has
 * lanes. */
#ifndef WF_KERNELS_GEMM_GROUPED_DEVICE_H
#define WF_KERNELS_GEMM_GROUPED_DEVICE_H

#include "kernels/gemm/problem_device.h"

struct grouped_tile {
    int group;     /* -1: no row of tiles has that number */
    int row0, end; /* first row of the tile, and behind the last one of the group */
};

/* Sum of v over this lane and those below. */
WF_DEVICE int grouped_sum_to_here(int v)
{
    const int lane = wf_thread() & (WF_WAVE - 1);
    WF_UNROLL
    for (int d = 1; d < WF_WAVE; d *= 2) {
        const int below = wf_shuffle_up(v, d);
        v += lane >= d ? below : 0;
    }
    return v;
}

/* Row `tile` of tiles of `block_m` rows; offsets[groups + 1]. The same in all lanes. */
WF_DEVICE grouped_tile grouped_find(const int *offsets,
                                    int groups,
                                    int tile,
                                    int block_m)
{
    const int lane = wf_thread() & (WF_WAVE - 1);
    int before = 0;
    WF_NO_UNROLL
    for (int first = 0; first < groups; first += WF_WAVE) {
        const int g = wf_min(first + lane, groups - 1);
        const int begin = offsets[g];
        const int end = first + lane < groups ? offsets[g + 1] : begin;
        const int tiles = wf_quotient_up(end - begin, block_m);
        const int upto = before + grouped_sum_to_here(tiles);
        const wf_u64 beyond = wf_ballot(upto > tile);
        if (beyond != 0) {
            const int l = wf_lowest_bit(beyond);
            const int row = tile - wf_value_of_lane(upto - tiles, l);
            return grouped_tile{ first + l, wf_value_of_lane(begin, l) + row * block_m,
                                 wf_value_of_lane(end, l) };
        }
        before = wf_value_of_lane(upto, WF_WAVE - 1);
    }
    return grouped_tile{ -1, 0, 0 };
}

/* This workgroup's share of tiles_m rows of tiles of block_m rows, `columns` of D wide;
 * false: none. Rows are numbered over all groups; p->m becomes the end of the group's.
 */
WF_DEVICE bool grouped_my_share(gemm_problem *p,
                                const int *offsets,
                                int groups,
                                int tiles_m,
                                int block_m,
                                int columns,
                                gemm_share *s)
{
    const int tiles_n = wf_quotient_up(p->n, columns);
    int id = wf_block_x();
    int row, column;
    if (p->xcc_count > 1) {
        id = gemm_contiguous_per_xcc(id, tiles_m * tiles_n, p->xcc_count);
    }
    gemm_place_of_tile(id, tiles_m, tiles_n, &row, &column);
    const grouped_tile tile = grouped_find(offsets, groups, row, block_m);
    p->m = tile.end;
    *s = gemm_share{
        wf_uniform(tile.row0), wf_uniform(column * columns), 0, p->k, tile.group, 0
    };
    return tile.group >= 0;
}

#endif
