/* Second step of the every_feature pack: sums of the partial products, and D += beta C.
 *
 * `count` must hold the split (it was zeroed before the launch) and `zero` zeros (it was
 * zeroed once): otherwise the result is NaN, which no tolerance lets pass. */
#include "tests/packs/every_feature/every_feature.h"

/* Rows [begin, end) of the product; d points at row `begin`. */
WF_KERNEL(256, 1)
wf_every_reduce(float *d, const float *partial, const unsigned *count, const float *zero,
                int begin, int end, int m, int n, int split, int blocks)
{
    const int total = (end - begin) * n;
    const int first = wf_block_x() * 256 + every_thread_of_64x4();
    for (int at = first; at < total; at += 256 * blocks) {
        const int i = begin + at / n, j = at % n;
        const int tile = i / TILE * wf_ceil_div(n, TILE) + j / TILE;
        float sum = zero[j];
        for (int part = 0; part < split; part++) {
            sum += partial[((wf_i64)part * m + i) * n + j];
        }
        d[at] = count[tile] == (unsigned)split ? sum : wf_float_from_bits(0x7fc00000u);
    }
}

WF_KERNEL(256, 1)
wf_every_add_c(float *d, const float *c, wf_i64 elements, double beta, int blocks)
{
    const wf_i64 step = (wf_i64)256 * blocks;
    for (wf_i64 at = wf_block_x() * 256 + wf_thread(); at < elements; at += step) {
        d[at] = (float)((double)d[at] + beta * (double)c[at]);
    }
}
