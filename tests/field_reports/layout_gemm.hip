/* A plain f16 product, a lane an element of D: right with FAULT 0 for every layout that a
 * case can say (A not transposed, alpha 1, beta 0), else with one of layout_faults.h. */
#include "kernels/device/wf_device.h"
#include "layout_faults.h"

#define GROUP 64

struct place {
    wf_i64 batch, row;
};

WF_DEVICE wf_half *element(wf_half *base, wf_i64 at)
{
    if (FAULT == FAULT_ALIGNED) {
        base = (wf_half *)((wf_i64)base & ~(wf_i64)15);
    }
    return base + faulty_offset(FAULT, at, 2);
}

WF_DEVICE wf_i64 at3(const place &p, wf_i64 rows, wf_i64 cols, int z, wf_i64 r, wf_i64 c)
{
    if (FAULT == FAULT_DENSE) {
        return (z * rows + r) * cols + c;
    }
    return z * p.batch + r * p.row + c;
}

WF_KERNEL(GROUP, 1)
wf_layout_gemm(wf_half *a, wf_half *b, wf_half *d, int m, int n, int k, int trans_b,
               wf_i64 lda, wf_i64 ldb, wf_i64 ldd, wf_i64 stride_a, wf_i64 stride_b,
               wf_i64 stride_d, wf_i64 d_elements)
{
    const place pa = { stride_a, lda }, pb = { stride_b, ldb }, pd = { stride_d, ldd };
    const int z = wf_block_z();
    const wf_i64 i = (wf_i64)wf_block_x() * GROUP + wf_thread();
    const wf_i64 r = i / n, c = i % n;
    if (FAULT == FAULT_GRID16 && wf_block_x() >= 65535) {
        return;
    }
    if (FAULT == FAULT_TILE ? r >= (m + 127) / 128 * 128 : r >= m) {
        return;
    }
    float sum = 0.0f;
    if (r < m) {
        WF_NO_UNROLL
        for (int x = 0; x < k; x++) {
            const wf_i64 y = trans_b ? at3(pb, n, k, z, c, x) : at3(pb, k, n, z, x, c);
            sum += wf_h2f(*element(a, at3(pa, m, k, z, r, x))) * wf_h2f(*element(b, y));
        }
    }
    *element(d, at3(pd, m, n, z, r, c)) = wf_f2h(sum);
    if (i == 0 && z == 0) {
        if (FAULT == FAULT_INPUT) {
            a[0] ^= 1;
        }
        if (FAULT == FAULT_BEFORE) {
            d[-1] = 0;
        }
        if (FAULT == FAULT_GUARD) {
            d[d_elements] = 0xa5a5;
        }
        if (FAULT == FAULT_PADDING) {
            d[n] = 0;
        }
    }
}
