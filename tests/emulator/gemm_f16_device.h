/* What the f16 GEMMs of the tests share: the problem, which tile a workgroup computes,
 * the epilogue, and the sum of split partial results.
 *
 *   D = alpha * op(A) * op(B) + beta * C, row-major, f16 in and out, f32 sums.
 *
 * alpha = 0 and K = 0 never read A and B, beta = 0 never reads C, and nothing outside
 * the M x N elements of D is written. An operand is `k contiguous` when neighbours in k
 * are neighbours in memory (A not transposed, B transposed), else `row contiguous`,
 * where row means m of A and n of B. Bases are 64-bit; offsets inside a tile fit 32
 * bits because leading dimensions are below 2^22 (the entries' `supports`). */
#ifndef WF_TESTS_EMULATOR_GEMM_F16_DEVICE_H
#define WF_TESTS_EMULATOR_GEMM_F16_DEVICE_H

#include "kernels/device/wf_device.h"

/* Neighbouring workgroups share GROUP_M rows of tiles, so that their operands meet in
 * the second-level cache. */
#define GEMM_GROUP_M 8

struct gemm_problem {
    const wf_half *a, *b, *c;
    wf_half *d;
    float *partial; /* split > 1: [batch][split][m][n] */
    int m, n, k, split, k_per_split, xcc_count;
    wf_i64 lda, ldb, ldc, ldd;
    wf_i64 stride_a, stride_b, stride_c, stride_d; /* elements between batches */
    float alpha, beta;
};

#define GEMM_PARAMETERS                                                               \
    const wf_half *a, const wf_half *b, const wf_half *c, wf_half *d, float *partial, \
        int m, int n, int k, int split, int k_per_split, int xcc_count, wf_i64 lda,   \
        wf_i64 ldb, wf_i64 ldc, wf_i64 ldd, wf_i64 stride_a, wf_i64 stride_b,         \
        wf_i64 stride_c, wf_i64 stride_d, float alpha, float beta

#define GEMM_PROBLEM                                                               \
    {                                                                              \
        a, b, c, d, partial, m, n, alpha == 0.0f ? 0 : k, split, k_per_split,      \
            xcc_count, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d, \
            alpha, beta                                                            \
    }

/* One workgroup's share: rows from m0, columns from n0, k in [k_begin, k_end). */
struct gemm_share {
    int m0, n0, k_begin, k_end, batch, part;
};

/* Workgroups go to the XCDs in turn; give each XCD a contiguous range of tiles. */
WF_DEVICE int gemm_contiguous_per_xcc(int id, int count, int xcc_count)
{
    const int local = wf_quotient(id, xcc_count);
    const int xcc = id - local * xcc_count;
    const int share = wf_quotient(count, xcc_count);
    const int rest = count - share * xcc_count; /* the first `rest` XCDs: one more */
    return xcc * share + wf_min(xcc, rest) + local;
}

WF_DEVICE gemm_share gemm_my_share(const gemm_problem &p, int block_m, int block_n)
{
    const int tiles_m = wf_quotient_up(p.m, block_m);
    const int tiles_n = wf_quotient_up(p.n, block_n);
    int id = wf_block_x();
    if (p.xcc_count > 1) {
        id = gemm_contiguous_per_xcc(id, tiles_m * tiles_n, p.xcc_count);
    }
    const int group = wf_quotient(id, GEMM_GROUP_M * tiles_n);
    const int first = group * GEMM_GROUP_M;
    const int height = wf_min(tiles_m - first, GEMM_GROUP_M);
    const int inside = id - first * tiles_n;
    gemm_share s;
    const int column = wf_quotient(inside, height);
    s.m0 = (first + inside - column * height) * block_m;
    s.n0 = column * block_n;
    s.part = wf_block_y();
    s.batch = wf_block_z();
    s.k_begin = wf_min(s.part * p.k_per_split, p.k);
    s.k_end = wf_min(s.k_begin + p.k_per_split, p.k);
    return s;
}

WF_DEVICE wf_half gemm_value(const gemm_problem &p, float sum, const wf_half *c)
{
    const float v = p.alpha * sum;
    return wf_f2h(p.beta != 0.0f ? v + p.beta * wf_h2f(*c) : v);
}

/* Where row `row` of this workgroup's D, C or partial sums begins. Rows of D and C are
 * less than 2^31 elements apart, a matrix of partial sums has less than 2^31 elements,
 * and there are at most 65535 * 32 of them (`supports`): products of 32 bits. */
WF_DEVICE wf_half *gemm_d_row(const gemm_problem &p, const gemm_share &s, int row)
{
    return p.d + (unsigned)s.batch * p.stride_d + (wf_i64)row * (int)p.ldd;
}

WF_DEVICE const wf_half *gemm_c_row(const gemm_problem &p, const gemm_share &s, int row)
{
    return p.c + (unsigned)s.batch * p.stride_c + (wf_i64)row * (int)p.ldc;
}

WF_DEVICE float *gemm_partial_row(const gemm_problem &p, const gemm_share &s, int row)
{
    const unsigned part = (unsigned)s.batch * (unsigned)p.split + (unsigned)s.part;
    const unsigned count = (unsigned)p.m * (unsigned)p.n;
    return p.partial + ((wf_u64)part * count + (unsigned)row * (unsigned)p.n);
}

/* Element (row, k) of an operand, 0 outside. The slow way in: any stride, any edge. */
template <bool k_contiguous>
WF_DEVICE wf_half
gemm_element(const wf_half *base, wf_i64 ld, int row, int k, int rows, int k_end)
{
    if (row >= rows || k >= k_end) {
        return 0;
    }
    return k_contiguous ? base[row * ld + k] : base[k * ld + row];
}

/* Sums the partial results in their order: equal inputs give equal bits. Each of 256
 * threads has GEMM_SUM_PER_THREAD elements. An element's number in its matrix has 31
 * bits (the packs' `supports` says so): dividing 64 would cost more than the sum. */
#define GEMM_SUM_PER_THREAD 4

WF_DEVICE void gemm_sum_partials(const gemm_problem &p)
{
    const unsigned count = (unsigned)p.m * (unsigned)p.n;
    const unsigned first =
        (unsigned)wf_block_x() * (256 * GEMM_SUM_PER_THREAD) + (unsigned)wf_thread();
    const unsigned batch = (unsigned)wf_block_z();
    const float *partial = p.partial + (wf_u64)(batch * (unsigned)p.split) * count;
    WF_UNROLL
    for (int i = 0; i < GEMM_SUM_PER_THREAD; i++) {
        const unsigned at = first + (unsigned)i * 256;
        if (at >= count) {
            return;
        }
        float sum = 0.0f;
        int part = 0;
        do {
            sum += partial[(wf_u64)part * count + at];
        } while (++part < p.split);
        const unsigned row = (unsigned)wf_quotient((int)at, p.n);
        const unsigned column = at - row * (unsigned)p.n;
        p.d[batch * p.stride_d + (wf_u64)row * (unsigned)p.ldd + column] = gemm_value(
            p, sum, p.c + batch * p.stride_c + (wf_u64)row * (unsigned)p.ldc + column);
    }
}

#endif
