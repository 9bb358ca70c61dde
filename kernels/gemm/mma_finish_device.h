/* From a warp's sums to D on NVIDIA's devices: mma.sync and wgmma leave the same
 * layout. A warp holds 16 rows of `blocks` times 8 columns; value 4 j + 2 h + e of lane
 * l is row l / 4 + 8 h, column 8 j + l % 4 * 2 + e. Gated: the first half of the blocks
 * is the gate's, the second the up half's of the same columns of D.
 *
 * A warp's sums meet in shared memory, so that whole lines are written: of plain 16-bit
 * results the rounded values, of all others the sums, which a lane finishes 8 at a time
 * (one piece of code, for all the warp has, however many registers). */
#ifndef WF_KERNELS_GEMM_MMA_FINISH_DEVICE_H
#define WF_KERNELS_GEMM_MMA_FINISH_DEVICE_H

#include "kernels/gemm/finish_device.h"

#if A_TYPE == GEMM_I8
typedef int gemm_sum;
#define GEMM_SCALAR int
#else
typedef float gemm_sum;
#define GEMM_SCALAR float
#endif

#define GEMM_LINE             8    /* values that a lane finishes at once */
#define GEMM_WARP_STAGE_BYTES 4096 /* 16 rows of 256 bytes */

/* Rows of D are 16-byte aligned: a line of 8 values from a multiple of 8 is stored 16
 * bytes at once. */
WF_DEVICE bool gemm_has_wide_rows(const gemm_problem &p)
{
    const int values = p.d_type == GEMM_F32 || p.d_type == GEMM_I32 ? 4 : 8;
    return ((p.ldd | p.stride_d) & (values - 1)) == 0 && ((wf_i64)p.d & 15) == 0;
}

/* Nothing but alpha. */
WF_DEVICE bool gemm_is_plain(const gemm_problem &p)
{
    return p.beta == 0.0f && p.scale == GEMM_UNSCALED && p.bias_type == GEMM_NO_TYPE &&
           p.activation == GEMM_LINEAR;
}

WF_DEVICE unsigned gemm_pack_pair(const gemm_problem &p, float lo, float hi)
{
    return p.d_type == GEMM_BF16 ? wf_f2bf_pair(lo, hi) : wf_f2h_pair(lo, hi);
}

/* --- a line: up to 8 columns of one row --- */

/* v = v scale + bias, of `count` columns of op(B) from `column`. */
WF_DEVICE void gemm_scale_line(const gemm_problem &p,
                               int batch,
                               int row,
                               int column,
                               int count,
                               float *v)
{
    float scale = p.alpha;
    const float *sb = p.sb;
    const bool rows = p.scale == GEMM_SCALE_ROW;
    if (rows) {
        scale *= p.sa[(wf_i64)batch * p.m + row];
        sb += (wf_i64)batch * gemm_columns_of_b(p) + column;
    }
    WF_UNROLL
    for (int e = 0; e < GEMM_LINE; e++) {
        v[e] *= scale;
        if (rows && e < count) {
            v[e] *= sb[e];
        }
        if (p.bias_type != GEMM_NO_TYPE && e < count) {
            v[e] += gemm_load_value(p.bias, column + e, p.bias_type);
        }
    }
}

/* 8 values of 32 bits, 16 bytes at once. */
template <class T> struct alignas(16) gemm_quad {
    T v[4];
};

template <class T> WF_DEVICE void gemm_store_wide(T *to, const T *v)
{
    ((gemm_quad<T> *)to)[0] = gemm_quad<T>{ { v[0], v[1], v[2], v[3] } };
    ((gemm_quad<T> *)to)[1] = gemm_quad<T>{ { v[4], v[5], v[6], v[7] } };
}

WF_DEVICE void gemm_store_line(const gemm_problem &p,
                               int batch,
                               int row,
                               int column,
                               int count,
                               const float *v)
{
    const wf_i64 at = gemm_d_at(p, batch, row, column);
    if (count == GEMM_LINE && gemm_has_wide_rows(p) && p.d_type == GEMM_F32) {
        gemm_store_wide((float *)p.d + at, v);
    } else if (count == GEMM_LINE && gemm_has_wide_rows(p)) {
        *(wf_u4 *)((wf_half *)p.d + at) =
            wf_u4{ gemm_pack_pair(p, v[0], v[1]), gemm_pack_pair(p, v[2], v[3]),
                   gemm_pack_pair(p, v[4], v[5]), gemm_pack_pair(p, v[6], v[7]) };
    } else {
        WF_UNROLL
        for (int e = 0; e < GEMM_LINE; e++) {
            if (e < count) {
                gemm_store_value(p.d, at + e, p.d_type, v[e]);
            }
        }
    }
}

/* v: sums of D's columns, `up`: the up half's of a gated one. Both are changed. */
WF_DEVICE void gemm_finish_line(const gemm_problem &p,
                                int batch,
                                int row,
                                int column,
                                int count,
                                float *v,
                                float *up)
{
    gemm_scale_line(p, batch, row, column, count, v);
    if (p.beta != 0.0f) {
        WF_UNROLL
        for (int e = 0; e < GEMM_LINE; e++) {
            if (e < count) {
                v[e] +=
                    p.beta * gemm_load_value(p.c, gemm_c_at(p, batch, row, column + e),
                                             p.c_type);
            }
        }
    }
    if (p.activation != GEMM_LINEAR) {
        WF_UNROLL
        for (int e = 0; e < GEMM_LINE; e++) {
            v[e] = gemm_silu(v[e]);
        }
    }
    if (p.activation == GEMM_SILU_GATE) {
        gemm_scale_line(p, batch, row, p.n + column, count, up);
        WF_UNROLL
        for (int e = 0; e < GEMM_LINE; e++) {
            v[e] *= up[e];
        }
    }
    gemm_store_line(p, batch, row, column, count, v);
}

/* Of i8 everything is modulo 2^32, and nothing is fused. */
WF_DEVICE void gemm_finish_line(const gemm_problem &p,
                                int batch,
                                int row,
                                int column,
                                int count,
                                int *v,
                                int *)
{
    unsigned *to = (unsigned *)p.d + gemm_d_at(p, batch, row, column);
    const unsigned *c = (const unsigned *)p.c + gemm_c_at(p, batch, row, column);
    unsigned r[GEMM_LINE];
    WF_UNROLL
    for (int e = 0; e < GEMM_LINE; e++) {
        r[e] = (unsigned)p.ialpha * (unsigned)v[e];
        if (p.ibeta != 0 && e < count) {
            r[e] += (unsigned)p.ibeta * c[e];
        }
    }
    if (count == GEMM_LINE && gemm_has_wide_rows(p)) {
        gemm_store_wide(to, r);
        return;
    }
    WF_UNROLL
    for (int e = 0; e < GEMM_LINE; e++) {
        if (e < count) {
            to[e] = r[e];
        }
    }
}

/* --- partial sums --- */

/* Two neighbouring sums; `limit` is the end of the half that `column` is in. */
WF_DEVICE void gemm_store_partial(const gemm_problem &p,
                                  const gemm_share &s,
                                  int row,
                                  int column,
                                  int limit,
                                  const gemm_sum *sum)
{
    const wf_i64 part = (wf_i64)s.batch * p.split + s.part;
    gemm_sum *to =
        (gemm_sum *)p.partial + ((part * p.m + row) * gemm_columns_of_b(p) + column);
    if (row < p.m && column < limit) {
        to[0] = sum[0];
    }
    if (row < p.m && column + 1 < limit) {
        to[1] = sum[1];
    }
}

/* Sums the partial results in their order: equal inputs give equal bits. */
WF_DEVICE void gemm_sum_line(const gemm_problem &p,
                             int batch,
                             int row,
                             int column,
                             int count,
                             gemm_sum *v)
{
    const wf_i64 columns = gemm_columns_of_b(p);
    const gemm_sum *at = (const gemm_sum *)p.partial +
                         (((wf_i64)batch * p.split * p.m + row) * columns + column);
    for (int part = 0; part < p.split; part++) {
        WF_UNROLL
        for (int e = 0; e < GEMM_LINE; e++) {
            v[e] += e < count ? at[e] : 0;
        }
        at += columns * p.m;
    }
}

/* A thread of 256 has one line; M times lines of a row fits 31 bits (`supports`). */
WF_DEVICE void gemm_sum_partials(const gemm_problem &p)
{
    const int lines = wf_quotient_up(p.n, GEMM_LINE);
    const int id = wf_block_x() * 256 + wf_thread();
    const int row = wf_quotient(id, lines);
    const int column = (id - row * lines) * GEMM_LINE;
    const int count = wf_min(p.n - column, GEMM_LINE);
    const int batch = wf_block_z();
    gemm_sum v[GEMM_LINE] = {};
    gemm_sum up[GEMM_LINE] = {};
    if (row >= p.m) {
        return;
    }
    gemm_sum_line(p, batch, row, column, count, v);
    if (p.activation == GEMM_SILU_GATE) {
        gemm_sum_line(p, batch, row, p.n + column, count, up);
    }
    gemm_finish_line(p, batch, row, column, count, v, up);
}

/* --- a warp's sums ---
 *
 * Shared memory of a warp holds rows of `stride` places (a multiple of 8) of one block
 * each, 16 bytes of rounded values or 32 of sums; a row's places are permuted by the
 * low three bits of its number, so that the 8 rows of a store lie in different banks.
 */

template <int place_bytes, int stride>
WF_DEVICE unsigned char *gemm_place(unsigned char *stage, int row, int place)
{
    return stage + row * (stride * place_bytes) + (place ^ (row & 7)) * place_bytes;
}

/* `rows` times 16 rows; those of sum are `step` values apart. */
template <int rows, int count, int stride>
WF_DEVICE void gemm_stage_rounded(const gemm_problem &p,
                                  const float *sum,
                                  int step,
                                  unsigned char *stage)
{
    const int lane = wf_thread() & 31;
    WF_UNROLL
    for (int i = 0; i < rows; i++) {
        WF_UNROLL
        for (int j = 0; j < count; j++) {
            WF_UNROLL
            for (int h = 0; h < 2; h++) {
                const float *v = sum + i * step + 4 * j + 2 * h;
                const int row = 16 * i + 8 * h + (lane >> 2);
                *(unsigned *)(gemm_place<16, stride>(stage, row, j) + (lane & 3) * 4) =
                    gemm_pack_pair(p, p.alpha * v[0], p.alpha * v[1]);
            }
        }
    }
}

template <int rows, int count, int stride>
WF_DEVICE void gemm_stage_sums(const gemm_sum *sum,
                               int step,
                               int place,
                               unsigned char *stage)
{
    const int lane = wf_thread() & 31;
    WF_UNROLL
    for (int i = 0; i < rows; i++) {
        WF_UNROLL
        for (int j = 0; j < count; j++) {
            WF_UNROLL
            for (int h = 0; h < 2; h++) {
                const gemm_sum *v = sum + i * step + 4 * j + 2 * h;
                const int row = 16 * i + 8 * h + (lane >> 2);
                gemm_sum *to =
                    (gemm_sum *)(gemm_place<32, stride>(stage, row, place + j) +
                                 (lane & 3) * 8);
                to[0] = v[0];
                to[1] = v[1];
            }
        }
    }
}

/* Lines of 8 rounded values to D, whose rows are wide. */
template <int rows, int count, int stride>
WF_DEVICE void gemm_store_rounded(const gemm_problem &p,
                                  int batch,
                                  int row0,
                                  int column0,
                                  unsigned char *stage)
{
    const int lines = 16 * rows * count;
    WF_UNROLL
    for (int i = 0; i < (lines + 31) / 32; i++) {
        const int at = i * 32 + (wf_thread() & 31);
        const int r = at / count;
        const int column = column0 + 8 * (at % count);
        if (at >= lines || row0 + r >= p.m || column >= p.n) {
            continue;
        }
        const unsigned char *from = gemm_place<16, stride>(stage, r, at % count);
        wf_half *to = (wf_half *)p.d + gemm_d_at(p, batch, row0 + r, column);
        if (column + 8 <= p.n) {
            *(wf_u4 *)to = *(const wf_u4 *)from;
        } else {
            for (int e = 0; column + e < p.n; e++) {
                to[e] = ((const wf_half *)from)[e];
            }
        }
    }
}

/* Lines of 8 sums to D; an up half's are `up` places on (0: there is none). */
template <int rows, int count, int stride, int up>
WF_DEVICE void gemm_finish_lines(const gemm_problem &p,
                                 int batch,
                                 int row0,
                                 int column0,
                                 unsigned char *stage)
{
    WF_NO_UNROLL
    for (int at = wf_thread() & 31; at < 16 * rows * count; at += 32) {
        const int r = at / count;
        const int j = at % count;
        const int columns = wf_min(p.n - (column0 + 8 * j), GEMM_LINE);
        if (row0 + r >= p.m || columns <= 0) {
            continue;
        }
        const gemm_sum *gate = (const gemm_sum *)gemm_place<32, stride>(stage, r, j);
        const gemm_sum *other =
            (const gemm_sum *)gemm_place<32, stride>(stage, r, j + up);
        gemm_sum v[GEMM_LINE];
        gemm_sum u[GEMM_LINE];
        WF_UNROLL
        for (int e = 0; e < GEMM_LINE; e++) {
            v[e] = gate[e];
            u[e] = up != 0 ? other[e] : 0;
        }
        gemm_finish_line(p, batch, row0 + r, column0 + 8 * j, columns, v, u);
    }
}

/* All of a warp at once: `rows` times 16 rows of `blocks` blocks, to row0, column0 of
 * D. `stage` has GEMM_TILE_STAGE_BYTES(rows, blocks). */
#define GEMM_PLACES(blocks)                 (((blocks) + 7) / 8 * 8)
#define GEMM_TILE_STAGE_BYTES(rows, blocks) (16 * (rows)*GEMM_PLACES(blocks) * 32)

template <int rows, int blocks, bool gate>
WF_DEVICE void gemm_finish_tile(const gemm_problem &p,
                                int batch,
                                int row0,
                                int column0,
                                const gemm_sum *sum,
                                unsigned char *stage)
{
    constexpr int stride = GEMM_PLACES(blocks);
    constexpr int count = gate ? blocks / 2 : blocks;
#if A_TYPE != GEMM_I8
    if (!gate && gemm_is_plain(p) && gemm_has_wide_rows(p) && p.d_type != GEMM_F32) {
        gemm_stage_rounded<rows, count, stride>(p, sum, 4 * blocks, stage);
        wf_warp_barrier();
        gemm_store_rounded<rows, count, stride>(p, batch, row0, column0, stage);
        return;
    }
#endif
    gemm_stage_sums<rows, blocks, stride>(sum, 4 * blocks, 0, stage);
    wf_warp_barrier();
    gemm_finish_lines<rows, count, stride, gate ? count : 0>(p, batch, row0, column0,
                                                             stage);
}

/* 16 rows in rounds of what fits GEMM_WARP_STAGE_BYTES; by recursion, so that numbers
 * of registers are constants. */
template <int blocks, int first, bool gate> struct gemm_rounds {
    static constexpr int HALF = gate ? blocks / 2 : blocks; /* D's blocks */
    static constexpr int LEFT = first < HALF ? HALF - first : 1;
    static constexpr int WIDE = LEFT < 16 ? LEFT : 16;
    static constexpr int COUNT = LEFT < (gate ? 4 : 8) ? LEFT : (gate ? 4 : 8);

    WF_DEVICE_MEMBER static void plain(const gemm_problem &p,
                                       int batch,
                                       int row0,
                                       int column0,
                                       const float *sum,
                                       unsigned char *stage)
    {
        if constexpr (first < HALF) {
            gemm_stage_rounded<1, WIDE, 16>(p, sum + 4 * first, 0, stage);
            wf_warp_barrier();
            gemm_store_rounded<1, WIDE, 16>(p, batch, row0, column0 + 8 * first, stage);
            wf_warp_barrier();
            gemm_rounds<blocks, first + WIDE, gate>::plain(p, batch, row0, column0, sum,
                                                           stage);
        }
    }

    WF_DEVICE_MEMBER static void any(const gemm_problem &p,
                                     int batch,
                                     int row0,
                                     int column0,
                                     const gemm_sum *sum,
                                     unsigned char *stage)
    {
        if constexpr (first < HALF) {
            gemm_stage_sums<1, COUNT, 8>(sum + 4 * first, 0, 0, stage);
            if (gate) {
                gemm_stage_sums<1, COUNT, 8>(sum + 4 * (HALF + first), 0, 4, stage);
            }
            wf_warp_barrier();
            gemm_finish_lines<1, COUNT, 8, gate ? 4 : 0>(p, batch, row0,
                                                         column0 + 8 * first, stage);
            wf_warp_barrier();
            gemm_rounds<blocks, first + COUNT, gate>::any(p, batch, row0, column0, sum,
                                                          stage);
        }
    }
};

/* 16 rows of a warp to D, in GEMM_WARP_STAGE_BYTES. */
template <int blocks, bool gate>
WF_DEVICE void gemm_finish_rows(const gemm_problem &p,
                                int batch,
                                int row0,
                                int column0,
                                const gemm_sum *sum,
                                unsigned char *stage)
{
#if A_TYPE != GEMM_I8
    if (!gate && gemm_is_plain(p) && gemm_has_wide_rows(p) && p.d_type != GEMM_F32) {
        gemm_rounds<blocks, 0, gate>::plain(p, batch, row0, column0, sum, stage);
        return;
    }
#endif
    gemm_rounds<blocks, 0, gate>::any(p, batch, row0, column0, sum, stage);
}

/* 16 rows of a warp to the workspace. */
template <int blocks, bool gate>
WF_DEVICE void gemm_finish_partial(const gemm_problem &p,
                                   const gemm_share &s,
                                   int row0,
                                   int column0,
                                   const gemm_sum *sum)
{
    const int lane = wf_thread() & 31;
    WF_UNROLL
    for (int j = 0; j < blocks; j++) {
        const bool is_up = gate && j >= blocks / 2;
        const int column =
            column0 + (lane & 3) * 2 + (is_up ? p.n - 4 * blocks : 0) + 8 * j;
        const int limit = is_up ? 2 * p.n : p.n;
        WF_UNROLL
        for (int h = 0; h < 2; h++) {
            gemm_store_partial(p, s, row0 + (lane >> 2) + 8 * h, column, limit,
                               sum + 4 * j + 2 * h);
        }
    }
}

#endif
