/* What the device GEMMs of all vendors share: the problem as a kernel gets it, which
 * tile a workgroup computes, and where rows of the results lie. kernels/gemm/gemm.h
 * says what the numbers mean, finish_device.h what becomes of a sum.
 *
 * A kernel's entry says A_TYPE, B_TYPE (knobs, GEMM_TYPE numbers); what the epilogue
 * does is known at the launch: C, D and bias have the types `types` says.
 *
 * Bases are 64-bit; offsets inside a tile fit 32 bits because leading dimensions are
 * bounded by the entries' `supports`. */
#ifndef WF_KERNELS_GEMM_PROBLEM_DEVICE_H
#define WF_KERNELS_GEMM_PROBLEM_DEVICE_H

#include "kernels/device/wf_device.h"

/* Element types, as knobs and arguments say them. */
#define GEMM_F16      0
#define GEMM_BF16     1
#define GEMM_E4M3FNUZ 2
#define GEMM_E5M2FNUZ 3
#define GEMM_I8       4
#define GEMM_F32      5
#define GEMM_I32      6
#define GEMM_E4M3FN   7
#define GEMM_E5M2     8
#define GEMM_NO_TYPE  15

/* activation */
#define GEMM_LINEAR    0
#define GEMM_SILU      1
#define GEMM_SILU_GATE 2

/* scale */
#define GEMM_UNSCALED  0
#define GEMM_SCALE_ROW 1
#define GEMM_SCALE_128 2

struct gemm_problem {
    const void *a, *b, *c;
    void *d;
    const void *bias;     /* NULL: none */
    const float *sa, *sb; /* NULL: none */
    float *partial;       /* split > 1: [batch][split][m][b_cols], f32 or i32 */
    int m, n, k, split, k_per_split, xcc_count;
    wf_i64 lda, ldb, ldc, ldd;
    wf_i64 stride_a, stride_b, stride_c, stride_d; /* elements between batches */
    float alpha, beta;                             /* i8: use ialpha, ibeta */
    int ialpha, ibeta;
    int d_type, c_type, bias_type, activation, scale;
};

/* An entry gives these arguments, in this order ("args" of the entry):
 *   {"pointer": "A"} "B" "C" "D" "bias" "SA" "SB" and "partial" or "",
 *   i32 M N K SPLIT K_PER_SPLIT device.xcc_count,
 *   i64 lda ldb ldc ldd stride_a stride_b stride_c stride_d,
 *   f32 alpha beta (i8: i32, as GEMM_SCALAR),
 *   i32 TYPES: d_type | c_type << 4 | bias_type << 8 | activation << 12 | scale << 16
 */
#define GEMM_PARAMETERS(scalar)                                                        \
    const void *a, const void *b, const void *c, void *d, const void *bias,            \
        const float *sa, const float *sb, float *partial, int m, int n, int k,         \
        int split, int k_per_split, int xcc_count, wf_i64 lda, wf_i64 ldb, wf_i64 ldc, \
        wf_i64 ldd, wf_i64 stride_a, wf_i64 stride_b, wf_i64 stride_c,                 \
        wf_i64 stride_d, scalar alpha, scalar beta, int types

#define GEMM_PROBLEM                                                                  \
    {                                                                                 \
        a, b, c, d, bias, sa, sb, partial, m, n, alpha == 0 ? 0 : k, split,           \
            k_per_split, xcc_count, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, \
            stride_d, (float)alpha, (float)beta, (int)alpha, (int)beta, types & 15,   \
            types >> 4 & 15, types >> 8 & 15, types >> 12 & 15, types >> 16 & 15      \
    }

/* Neighbouring workgroups share GEMM_GROUP_M rows of tiles, so that their operands meet
 * in the second-level cache. A knob. */
#ifndef GEMM_GROUP_M
#define GEMM_GROUP_M 8
#endif

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

/* Tile `id` of tiles_m x tiles_n in the grouped order. */
WF_DEVICE void gemm_place_of_tile(int id,
                                  int tiles_m,
                                  int tiles_n,
                                  int *row,
                                  int *column)
{
    const int group = wf_quotient(id, GEMM_GROUP_M * tiles_n);
    const int first = group * GEMM_GROUP_M;
    const int height = wf_min(tiles_m - first, GEMM_GROUP_M);
    const int inside = id - first * tiles_n;
    *column = wf_quotient(inside, height);
    *row = first + inside - *column * height;
}

WF_DEVICE gemm_share gemm_my_share(const gemm_problem &p, int block_m, int block_n)
{
    const int tiles_m = wf_quotient_up(p.m, block_m);
    const int tiles_n = wf_quotient_up(p.n, block_n);
    int id = wf_block_x();
    int row, column;
    if (p.xcc_count > 1) {
        id = gemm_contiguous_per_xcc(id, tiles_m * tiles_n, p.xcc_count);
    }
    gemm_place_of_tile(id, tiles_m, tiles_n, &row, &column);
    gemm_share s;
    s.m0 = wf_uniform(row * block_m); /* known to the compiler as such */
    s.n0 = wf_uniform(column * block_n);
    s.part = wf_block_y();
    s.batch = wf_block_z();
    s.k_begin = wf_min(s.part * p.k_per_split, p.k);
    s.k_end = wf_min(s.k_begin + p.k_per_split, p.k);
    return s;
}

#endif
