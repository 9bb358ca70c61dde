/* gfx942: from a wave's accumulators to D, or to the workspace of a split sum.
 *
 * Blocks of rows go through LDS, a part of which is each wave's own, so that a lane
 * gets 8 neighbouring columns of a row and a wave stores whole lines. There it needs no
 * barrier, and the code that finishes 8 values is there once. */
#ifndef WF_KERNELS_GEMM_MFMA_FINISH_DEVICE_H
#define WF_KERNELS_GEMM_MFMA_FINISH_DEVICE_H

#include "kernels/gemm/finish_device.h"
#include "kernels/gemm/mfma_tile_device.h"

template <class config> struct mfma_round {
    static constexpr int S = config::SHAPE;
    static constexpr int WAVES = config::THREADS_ALL / 64;
    static constexpr int TILES_BYTES = config::LDS_STAGES * config::STAGE_BYTES;

    static constexpr int wave_bytes(int blocks)
    {
        return S * (blocks * S * 4 + 16);
    }
    /* Blocks of columns that a wave finishes at once: as many as fit where the tiles
     * were. Gate and up columns must meet. */
    static constexpr int blocks()
    {
        for (int n = config::WN; n > 1 && !config::IS_GATE; n--) {
            if (config::WN % n == 0 && WAVES * wave_bytes(n) <= TILES_BYTES &&
                n * S <= 512) {
                return n;
            }
        }
        return config::IS_GATE ? config::WN : 1;
    }
    static constexpr int BLOCKS = blocks();
    static constexpr int PITCH = BLOCKS * S * 4 + 16;
    static constexpr int WAVE_BYTES = wave_bytes(BLOCKS);
    static constexpr int LDS_BYTES =
        WAVES * WAVE_BYTES > TILES_BYTES ? WAVES *WAVE_BYTES : TILES_BYTES;
    static constexpr int COLUMNS = BLOCKS * S / (config::IS_GATE ? 2 : 1); /* of D */
    static constexpr int PER_ROW = COLUMNS / 8;                            /* lanes */
    static constexpr int ROWS = 64 / PER_ROW;                              /* a step */
    static constexpr int STEPS = (S + ROWS - 1) / ROWS;
    static_assert(LDS_BYTES <= 65536, "the epilogue does not fit into LDS");
    static_assert(COLUMNS % 8 == 0 && PER_ROW <= 64, "a wave has 8 to 512 columns");
};

/* 8 neighbouring values. */
struct mfma_line {
    wf_f32x2 v[4];
};

WF_DEVICE unsigned mfma_pack_pair(int type, wf_f32x2 v)
{
    return type == GEMM_BF16 ? (unsigned)wf_f2bf(v.x) | (unsigned)wf_f2bf(v.y) << 16
                             : wf_f2h_pair(v.x, v.y);
}

/* `count` values from `at` on, 0 behind them; reads none behind them. */
WF_DEVICE mfma_line mfma_load_some(const void *base, wf_i64 at, int type, int count)
{
    mfma_line r;
    WF_UNROLL
    for (int e = 0; e < 8; e++) {
        const float v = gemm_load_value(base, at + wf_min(e, count - 1), type);
        r.v[e / 2][e % 2] = e < count ? v : 0.0f;
    }
    return r;
}

WF_DEVICE mfma_line mfma_load_line(const void *base, wf_i64 at, int type, int count)
{
    mfma_line r;
    if (count < 8) {
        return mfma_load_some(base, at, type, count);
    }
    if (type == GEMM_F32) {
        const wf_u4 lo = wf_load16_any((const float *)base + at);
        const wf_u4 hi = wf_load16_any((const float *)base + at + 4);
        const unsigned bits[8] = { lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w };
        WF_UNROLL
        for (int e = 0; e < 8; e++) {
            r.v[e / 2][e % 2] = wf_float_from_bits(bits[e]);
        }
        return r;
    }
    const wf_u4 all = wf_load16_any((const wf_half *)base + at);
    const unsigned bits[4] = { all.x, all.y, all.z, all.w };
    WF_UNROLL
    for (int e = 0; e < 8; e++) {
        const wf_half h = (wf_half)(bits[e / 2] >> e % 2 * 16);
        r.v[e / 2][e % 2] = type == GEMM_BF16 ? wf_bf2f(h) : wf_h2f(h);
    }
    return r;
}

WF_DEVICE void mfma_store_some(void *base,
                               wf_i64 at,
                               int type,
                               int count,
                               const mfma_line &line)
{
    mfma_line l = line;
    WF_NO_UNROLL
    for (int e = 0; e < count; e++) {
        gemm_store_value(base, at + e, type, l.v[0].x);
        WF_UNROLL
        for (int q = 0; q < 4; q++) { /* registers have no number to be computed */
            l.v[q].x = l.v[q].y;
            l.v[q].y = q < 3 ? l.v[q < 3 ? q + 1 : 3].x : 0.0f;
        }
    }
}

WF_DEVICE void mfma_store_line(void *base,
                               wf_i64 at,
                               int type,
                               int count,
                               const mfma_line &l)
{
    if (count < 8) {
        mfma_store_some(base, at, type, count, l);
    } else if (type == GEMM_F32) {
        float *to = (float *)base + at;
        wf_store16_any(to, __builtin_bit_cast(wf_u4, (wf_f32x4){ l.v[0].x, l.v[0].y,
                                                                 l.v[1].x, l.v[1].y }));
        wf_store16_any(to + 4,
                       __builtin_bit_cast(wf_u4, (wf_f32x4){ l.v[2].x, l.v[2].y,
                                                             l.v[3].x, l.v[3].y }));
    } else {
        wf_store16_any((wf_half *)base + at, wf_u4{ mfma_pack_pair(type, l.v[0]),
                                                    mfma_pack_pair(type, l.v[1]),
                                                    mfma_pack_pair(type, l.v[2]),
                                                    mfma_pack_pair(type, l.v[3]) });
    }
}

WF_DEVICE void mfma_silu(mfma_line &l)
{
    WF_UNROLL
    for (int q = 0; q < 4; q++) {
        wf_f32x2 e = l.v[q] * wf_float_from_bits(0xbfb8aa3bu); /* -log2(e) */
        e.x = wf_exp2(e.x);
        e.y = wf_exp2(e.y);
        e = e + 1.0f;
        e.x = wf_rcp(e.x);
        e.y = wf_rcp(e.y);
        l.v[q] = l.v[q] * e;
    }
}

/* What is the same in all rows of a lane's 8 columns. */
struct mfma_columns {
    mfma_line bias, scale;
};

WF_DEVICE mfma_columns mfma_columns_of(const gemm_problem &p,
                                       int batch,
                                       int column,
                                       int count)
{
    mfma_columns c;
    if (p.bias_type != GEMM_NO_TYPE && count > 0) {
        c.bias = mfma_load_line(p.bias, column, p.bias_type, wf_min(count, 8));
    }
    if (p.scale == GEMM_SCALE_ROW && count > 0) {
        c.scale = mfma_load_line(p.sb, (wf_i64)batch * gemm_columns_of_b(p) + column,
                                 GEMM_F32, wf_min(count, 8));
    }
    return c;
}

WF_DEVICE void mfma_apply(const gemm_problem &p,
                          float scale,
                          const mfma_columns &c,
                          mfma_line &l)
{
    WF_UNROLL
    for (int q = 0; q < 4; q++) {
        l.v[q] = l.v[q] * scale;
    }
    if (p.scale == GEMM_SCALE_ROW) {
        WF_UNROLL
        for (int q = 0; q < 4; q++) {
            l.v[q] = l.v[q] * c.scale.v[q];
        }
    }
    if (p.bias_type != GEMM_NO_TYPE) {
        WF_UNROLL
        for (int q = 0; q < 4; q++) {
            l.v[q] = l.v[q] + c.bias.v[q];
        }
    }
}

/* 8 columns of D, or the `count` that are left. */
struct mfma_place {
    int batch, row, column, count;
};

/* 8 sums; gated: `up` has those of the up columns. */
template <bool gated>
WF_DEVICE void mfma_finish_line(const gemm_problem &p,
                                const mfma_place &at,
                                const mfma_columns &of_v,
                                const mfma_columns &of_up,
                                const float *sum,
                                const float *up)
{
    mfma_line l;
    float scale = p.alpha;
    if (p.scale == GEMM_SCALE_ROW) {
        scale *= p.sa[(wf_i64)at.batch * p.m + at.row];
    }
    WF_UNROLL
    for (int e = 0; e < 8; e++) {
        l.v[e / 2][e % 2] = sum[e];
    }
    mfma_apply(p, scale, of_v, l);
    if (p.beta != 0.0f) {
        const mfma_line c = mfma_load_line(
            p.c, gemm_c_at(p, at.batch, at.row, at.column), p.c_type, at.count);
        WF_UNROLL
        for (int q = 0; q < 4; q++) {
            l.v[q] = l.v[q] + p.beta * c.v[q];
        }
    }
    if (gated || p.activation == GEMM_SILU) {
        mfma_silu(l);
    }
    if (gated) {
        mfma_line u;
        WF_UNROLL
        for (int e = 0; e < 8; e++) {
            u.v[e / 2][e % 2] = up[e];
        }
        mfma_apply(p, scale, of_up, u);
        WF_UNROLL
        for (int q = 0; q < 4; q++) {
            l.v[q] = l.v[q] * u.v[q];
        }
    }
    mfma_store_line(p.d, gemm_d_at(p, at.batch, at.row, at.column), p.d_type, at.count,
                    l);
}

WF_DEVICE void mfma_store_words(unsigned *to, int count, wf_u4 lo, wf_u4 hi)
{
    if (count == 8) {
        wf_store16_any(to, lo);
        wf_store16_any(to + 4, hi);
        return;
    }
    WF_NO_UNROLL
    for (int e = 0; e < count; e++) {
        to[e] = lo.x;
        lo = wf_u4{ lo.y, lo.z, lo.w, hi.x };
        hi = wf_u4{ hi.y, hi.z, hi.w, 0 };
    }
}

/* 8 sums of i8, modulo 2^32. */
WF_DEVICE void mfma_finish_whole(const gemm_problem &p,
                                 const mfma_place &at,
                                 wf_u4 lo,
                                 wf_u4 hi)
{
    unsigned v[8] = { lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w };
    const unsigned *c =
        (const unsigned *)p.c + gemm_c_at(p, at.batch, at.row, at.column);
    WF_UNROLL
    for (int e = 0; e < 8; e++) {
        v[e] *= (unsigned)p.ialpha;
    }
    if (p.ibeta != 0) {
        WF_UNROLL
        for (int e = 0; e < 8; e++) {
            v[e] += (unsigned)p.ibeta * c[wf_min(e, at.count - 1)];
        }
    }
    mfma_store_words((unsigned *)p.d + gemm_d_at(p, at.batch, at.row, at.column),
                     at.count, wf_u4{ v[0], v[1], v[2], v[3] },
                     wf_u4{ v[4], v[5], v[6], v[7] });
}

/* Where row `row` of the partial sums begins: [batch][split][m][n]. */
WF_DEVICE wf_i64 mfma_partial_at(const gemm_problem &p, int batch, int part, int row)
{
    return (((wf_i64)batch * p.split + part) * p.m + row) * p.n;
}

template <class config, bool is_partial> struct mfma_finisher {
    typedef mfma_round<config> round;
    typedef typename config::accumulator accumulator;
    static constexpr int S = config::SHAPE;
    static constexpr int ROUNDS_N = config::WN / round::BLOCKS;
    static constexpr bool GATED = config::IS_GATE;
    static_assert(!GATED || !is_partial, "a gated product is not split");

    const gemm_problem &p;
    int batch, part;
    int row0, column0;  /* of D, where this wave's blocks begin */
    unsigned char *lds; /* this wave's */
    mfma_columns of_v, of_up;

    WF_DEVICE_MEMBER static wf_u4 quad(const accumulator &all, int r)
    {
        typedef unsigned bits __attribute__((ext_vector_type(S * S / 64)));
        const bits b = __builtin_bit_cast(bits, all); /* of an element clang takes 0 */
        return wf_u4{ b[r], b[r + 1], b[r + 2], b[r + 3] };
    }

    /* Block i of rows, a round's blocks of columns from j0 on. */
    WF_DEVICE_MEMBER void put(const accumulator acc[config::WM][config::WN],
                              int i,
                              int j0) const
    {
        const int lane = wf_thread() & 63;
        unsigned char *row = lds + lane % S * round::PITCH + lane / S * 16;
        WF_UNROLL
        for (int j = 0; j < round::BLOCKS; j++) {
            WF_UNROLL
            for (int r = 0; r < S * S / 64; r += 4) {
                const wf_u4 v = quad(acc[i][j0 + j], r);
                *(wf_u4 *)(row + j * S * 4 + r * 8) = v;
            }
        }
    }

    WF_DEVICE_MEMBER void line(const mfma_place &at, const unsigned char *from) const
    {
        const wf_u4 lo = *(const wf_u4 *)from;
        const wf_u4 hi = *(const wf_u4 *)(from + 16);
        if constexpr (is_partial) {
            mfma_store_words((unsigned *)p.partial +
                                 mfma_partial_at(p, batch, part, at.row) + at.column,
                             at.count, lo, hi);
        } else if constexpr (config::IS_WHOLE) {
            mfma_finish_whole(p, at, lo, hi);
        } else {
            float sum[8], up[8];
            floats(sum, lo, hi);
            if constexpr (GATED) {
                const unsigned char *other = from + round::COLUMNS * 4;
                floats(up, *(const wf_u4 *)other, *(const wf_u4 *)(other + 16));
            }
            mfma_finish_line<GATED>(p, at, of_v, of_up, sum, up);
        }
    }

    WF_DEVICE_MEMBER static void floats(float *to, wf_u4 lo, wf_u4 hi)
    {
        const unsigned v[8] = { lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w };
        WF_UNROLL
        for (int e = 0; e < 8; e++) {
            to[e] = wf_float_from_bits(v[e]);
        }
    }

    WF_DEVICE_MEMBER void get(int i, int column, int count) const
    {
        const int lane = wf_thread() & 63;
        const int first = lane / round::PER_ROW;
        WF_NO_UNROLL
        for (int r = first; r < S; r += round::ROWS) {
            const mfma_place at = { batch, row0 + i * S + r, column, count };
            if (at.row < p.m && count > 0 && first < round::ROWS) {
                line(at, lds + r * round::PITCH + lane % round::PER_ROW * 32);
            }
        }
    }

    WF_DEVICE_MEMBER void run(const accumulator acc[config::WM][config::WN])
    {
        const int lane = wf_thread() & 63;
        int column = 0, count = 0;
        WF_NO_UNROLL
        for (int q = 0; q < config::WM * ROUNDS_N; q++) {
            wf_wave_barrier();
            WF_UNROLL
            for (int s = 0; s < config::WM * ROUNDS_N; s++) {
                if (s == q) { /* registers have no number to be computed */
                    put(acc, s % config::WM, s / config::WM * round::BLOCKS);
                }
            }
            wf_wave_barrier();
            if (q % config::WM == 0) {
                column = column0 + q / config::WM * round::COLUMNS +
                         lane % round::PER_ROW * 8;
                count = wf_min(p.n - column, 8);
                if constexpr (!is_partial && !config::IS_WHOLE) {
                    of_v = mfma_columns_of(p, batch, column, count);
                }
                if constexpr (GATED) {
                    of_up = mfma_columns_of(p, batch, p.n + column, count);
                }
            }
            get(q % config::WM, column, count);
        }
    }
};

/* All of a workgroup's sums. `lds`: mfma_round<config>::LDS_BYTES that no wave reads or
 * writes any more. */
template <class config, bool is_partial>
WF_DEVICE void mfma_finish(
    const gemm_problem &p,
    const gemm_share &s,
    const typename config::accumulator acc[config::WM][config::WN],
    unsigned char *lds)
{
    const int wave = wf_uniform(wf_thread() >> 6);
    const int n = mfma_wave_n<config>() / (config::IS_GATE ? 2 : 1);
    mfma_finisher<config, is_partial> f = {
        p,        s.batch,
        s.part,   s.m0 + mfma_wave_m<config>(),
        s.n0 + n, lds + wave * mfma_round<config>::WAVE_BYTES,
        {},       {}
    };
    f.run(acc);
}

/* --- the sum of a split product --- */

/* Adds the parts in their order: equal inputs give equal bits. A thread of 256 has 8
 * columns of a row. */
template <bool is_whole> WF_DEVICE void mfma_sum_partials(const gemm_problem &p)
{
    const int lines = wf_quotient_up(p.n, 8);
    const int id = wf_block_x() * 256 + wf_thread();
    const int row = wf_quotient(id, lines);
    const int column = (id - row * lines) * 8;
    const mfma_place at = { wf_block_z(), row, column, wf_min(p.n - column, 8) };
    if (row >= p.m) {
        return;
    }
    float sum[8] = {};
    unsigned whole[8] = {};
    int part = 0;
    do {
        const unsigned *from = (const unsigned *)p.partial +
                               mfma_partial_at(p, at.batch, part, row) + column;
        WF_UNROLL
        for (int e = 0; e < 8; e++) {
            const unsigned v = from[wf_min(e, at.count - 1)];
            sum[e] += wf_float_from_bits(v);
            whole[e] += v;
        }
    } while (++part < p.split);
    if constexpr (is_whole) {
        mfma_finish_whole(p, at, wf_u4{ whole[0], whole[1], whole[2], whole[3] },
                          wf_u4{ whole[4], whole[5], whole[6], whole[7] });
    } else {
        const mfma_columns c = mfma_columns_of(p, at.batch, column, at.count);
        mfma_finish_line<false>(p, at, c, c, sum, sum);
    }
}

#endif
