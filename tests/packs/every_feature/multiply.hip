/* First step of the every_feature pack: partial products of one share of k.
 *
 * Small and plain on purpose. Operands come through a device array of pointers (A, the
 * transposed B, and a null pointer), sizes in a struct with padding; both tiles lie in
 * dynamic shared memory. Each workgroup counts itself in `count`, which must be 0 before
 * every launch: the next step writes NaN where the count is not the split. */
#include "tests/packs/every_feature/every_feature.h"

static_assert(sizeof(every_task) == 56, "as every_feature.json states it");

WF_KERNEL(256, 1)
wf_every_multiply(unsigned char several, const float *const *operands, every_task task)
{
    float *tile_a = (float *)wf_dynamic_memory();
    float *tile_b = tile_a + TILE * TILE;
    const int m = task.m, n = task.n, k = (int)task.k, split = task.split;
    const int column = wf_thread() % TILE, row = wf_thread() / TILE;
    const int i = wf_block_y() * TILE + row, j = wf_block_x() * TILE + column;
    const int b_row = wf_block_x() * TILE + row;
    const int share = wf_ceil_div(k, split), begin = wf_block_z() * share;
    const int end = wf_min(k, begin + share);
    float sum = 0.0f;
    for (int at = begin; at < end; at += TILE) {
        const int kk = at + column;
        const bool inside = kk < end;
        tile_a[row * TILE + column] =
            inside && i < m ? operands[0][(wf_i64)i * k + kk] : 0.0f;
        tile_b[row * TILE + column] =
            inside && b_row < n ? operands[1][(wf_i64)b_row * k + kk] : 0.0f;
        wf_barrier();
        for (int x = 0; x < TILE; x++) {
            sum += tile_a[row * TILE + x] * tile_b[column * TILE + x];
        }
        wf_barrier();
    }
    const bool consistent = several == task.several && operands[2] == nullptr;
    if (i < m && j < n) {
        task.partial[((wf_i64)wf_block_z() * m + i) * n + j] =
            consistent ? task.alpha * sum : wf_float_from_bits(0x7fc00000u);
    }
    if (wf_thread() == 0) {
        every_count(&task.count[wf_block_y() * wf_ceil_div(n, TILE) + wf_block_x()]);
    }
}
