/* Kernels whose second launch may differ from the first: a split product with float
 * atomics, and one with a counter that is set once and must be left as it was. f32,
 * sizes multiples of 16; one thread an element. */
#include "kernels/device/wf_device.h"

WF_DEVICE float part_of(const float *a,
                        const float *b,
                        int row,
                        int col,
                        int n,
                        int k,
                        int first,
                        int end)
{
    float sum = 0.0f;
    for (int x = first; x < end; x++) {
        sum += a[(wf_i64)row * k + x] * b[(wf_i64)x * n + col];
    }
    return sum;
}

WF_KERNEL(256, 1)
wf_split_add(const float *a, const float *b, float *sum, int n, int k, int parts)
{
    const int row = wf_block_y() * 16 + wf_thread() / 16;
    const int col = wf_block_x() * 16 + wf_thread() % 16;
    const int part = wf_block_z();
    const int each = k / parts;
    const float v = part_of(a, b, row, col, n, k, part * each, (part + 1) * each);
    (void)__hip_atomic_fetch_add(&sum[(wf_i64)row * n + col], v, __ATOMIC_RELAXED,
                                 __HIP_MEMORY_SCOPE_AGENT);
}

WF_KERNEL(256, 1) wf_split_copy(const float *sum, float *d)
{
    const int i = wf_block_x() * 256 + wf_thread();
    d[i] = sum[i];
}

/* `clean`: the counter is put back. Else the next launch takes itself for the second
 * part of a product and leaves one k out. */
WF_KERNEL(256, 1)
wf_counted(const float *a,
           const float *b,
           float *d,
           int *counter,
           int n,
           int k,
           int clean)
{
    const int row = wf_block_y() * 16 + wf_thread() / 16;
    const int col = wf_block_x() * 16 + wf_thread() % 16;
    const int mine = wf_block_y() * (n / 16) + wf_block_x();
    const int before = counter[mine];
    d[(wf_i64)row * n + col] = part_of(a, b, row, col, n, k, before ? 1 : 0, k);
    __builtin_amdgcn_s_waitcnt(0);
    wf_barrier();
    if (wf_thread() == 0) {
        counter[mine] = clean ? 0 : before + 1;
    }
}
