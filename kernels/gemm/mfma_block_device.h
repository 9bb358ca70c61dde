/* gfx942: sums of fp8 products whose operands are scaled in blocks of 128 of k.
 *
 *   total = sum over blocks b of k:  SA[row][b] * SB[column / 128][b] * (sum in block
 * b)
 *
 * in f32 and in that order. A tile of both operands is one block. Its sums begin at
 * zero, which the matrix instructions have as a constant; a row of the wave's blocks is
 * multiplied over all of the tile's k, and packed FMAs add it to the totals while the
 * matrix instructions work on the next row, the last one while they work on the next
 * tile. So only two rows of unscaled sums are ever there, and two waves fit a SIMD.
 *
 * A lane has one row of each block of rows, hence one factor of SA; all columns of a
 * wave (of its gate half, and of its up half) lie in one block of SB. Scales come
 * through windows of memory a tile ahead; behind the last block these give a
 * neighbour's or 0, which nobody uses. */
#ifndef WF_KERNELS_GEMM_MFMA_BLOCK_DEVICE_H
#define WF_KERNELS_GEMM_MFMA_BLOCK_DEVICE_H

#include "kernels/gemm/mfma_finish_device.h"

#define MFMA_SCALE_BLOCK 128

/* The scales of a wave's blocks. */
template <class config> struct mfma_block_scales {
    static constexpr int WM = config::WM, WN = config::WN;
    static constexpr int HALVES = config::IS_GATE ? 2 : 1;
    static constexpr int COLUMNS = WN * config::SHAPE / HALVES; /* of D, a wave's */
    static_assert(config::BK == MFMA_SCALE_BLOCK, "BLOCK_K is 128: a block of scales");
    static_assert(COLUMNS <= MFMA_SCALE_BLOCK && MFMA_SCALE_BLOCK % COLUMNS == 0,
                  "a wave's columns lie in two blocks of scales");
    static_assert(!config::IS_WHOLE && config::ELEMENT == 1, "scales are for fp8");

    wf_buffer of_a, of_b[HALVES];
    int at[WM];
    float sa[WM], sb[HALVES]; /* of the next tile */
    float scale[WM][HALVES];  /* of this one */

    /* `line`: of SA, the tile's first row; `group`: of SB, the matrix. */
    WF_DEVICE_MEMBER void begin(const gemm_problem &p,
                                wf_i64 line,
                                int group,
                                const gemm_share &s)
    {
        const int blocks = wf_quotient_up(p.k, MFMA_SCALE_BLOCK);
        const int columns = wf_quotient_up(p.n, MFMA_SCALE_BLOCK);
        const int mine = wf_min(
            (s.n0 + mfma_wave_n<config>() / HALVES) / MFMA_SCALE_BLOCK, columns - 1);
        const unsigned rows = (unsigned)wf_min(p.m - s.m0, config::BM);
        of_a = wf_buffer_make(p.sa + line * blocks, rows * (unsigned)blocks * 4);
        WF_UNROLL
        for (int h = 0; h < HALVES; h++) {
            const wf_i64 first = ((wf_i64)group * HALVES + h) * columns + mine;
            of_b[h] = wf_buffer_make(p.sb + first * blocks, (unsigned)blocks * 4);
        }
        const int row = mfma_wave_m<config>() + (wf_thread() & 63) % config::SHAPE;
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            at[i] = (row + i * config::SHAPE) * blocks * 4;
        }
    }

    WF_DEVICE_MEMBER void fetch(int block)
    {
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            sa[i] = wf_buffer_load_float(of_a, at[i], block * 4);
        }
        WF_UNROLL
        for (int h = 0; h < HALVES; h++) {
            sb[h] = wf_buffer_load_float(of_b[h], 0, block * 4);
        }
    }

    /* What was fetched becomes the scales of this tile. */
    WF_DEVICE_MEMBER void take()
    {
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            WF_UNROLL
            for (int h = 0; h < HALVES; h++) {
                scale[i][h] = sa[i] * sb[h];
            }
        }
    }
};

/* A workgroup's sum over k. */
template <class config> struct mfma_block_sum {
    typedef typename config::accumulator accumulator;
    typedef wf_u4 chunk;
    static constexpr int WM = config::WM, WN = config::WN;
    static constexpr int HALVES = mfma_block_scales<config>::HALVES;
    static constexpr int STEPS = config::ROW_BYTES / config::READ_BYTES;

    mfma_operand_a<config> a;
    mfma_operand_b<config> b;
    mfma_block_scales<config> scales;
    mfma_reader<config> of_a, of_b;
    static_assert(config::LDS_STAGES == 1,
                  "two stages of such tiles leave one wave a SIMD");
    static_assert(config::IGLP_MODE == -1 || config::IGLP_MODE == 2,
                  "IGLP is -1, or 2: in groups");
    accumulator total[WM][WN];
    accumulator late[WN]; /* unscaled sums of the last row of blocks */

    WF_DEVICE_MEMBER static wf_u2 half_of(chunk x, int half)
    {
        return half ? wf_u2{ x.z, x.w } : wf_u2{ x.x, x.y };
    }

    /* Row i of blocks, over the tile's k. */
    WF_DEVICE_MEMBER static void multiply(const chunk x[STEPS],
                                          const chunk y[STEPS][WN],
                                          accumulator part[WN])
    {
        WF_UNROLL
        for (int q = 0; q < 2 * STEPS; q++) {
            WF_UNROLL
            for (int j = 0; j < WN; j++) {
                part[j] = wf_mfma<config::TYPE_B, config::TYPE_A>(
                    half_of(y[q / 2][j], q % 2), half_of(x[q / 2], q % 2),
                    q == 0 ? (accumulator)(0) : part[j]);
            }
        }
    }

    WF_DEVICE_MEMBER void add(int i, const accumulator part[WN])
    {
        WF_UNROLL
        for (int j = 0; j < WN; j++) {
            total[i][j] = __builtin_elementwise_fma(
                part[j], (accumulator)(scales.scale[i][j / (WN / HALVES)]),
                total[i][j]);
        }
    }

    /* What the last row of the tile before this one still has to give. */
    WF_DEVICE_MEMBER void add_late()
    {
        add(WM - 1, late);
    }

    /* Adds tile t's product but for its last row, which is left for later, and fetches
     * the next tile's scales and, if asked, operands. */
    template <bool fetches>
    WF_DEVICE_MEMBER void tile(const unsigned char *a_lds,
                               const unsigned char *b_lds,
                               int t)
    {
        chunk x[WM][STEPS], y[STEPS][WN];
        accumulator part[WM][WN];
        WF_UNROLL
        for (int s = 0; s < STEPS; s++) {
            x[0][s] = of_a.read(a_lds, 0, s);
            WF_UNROLL
            for (int j = 0; j < WN; j++) {
                y[s][j] = of_b.read(b_lds, j, s);
            }
        }
        WF_UNROLL
        for (int i = 1; i < WM; i++) {
            WF_UNROLL
            for (int s = 0; s < STEPS; s++) {
                x[i][s] = of_a.read(a_lds, i, s);
            }
        }
        multiply(x[0], y, part[0]);
        add_late();
        order_reads();
        wf_wait_lds();
        if constexpr (fetches) {
            fetch();
        }
        scales.take();
        scales.fetch(t + 1);
        WF_UNROLL
        for (int i = 1; i < WM; i++) {
            multiply(x[i], y, part[i]);
            add(i - 1, part[i - 1]);
        }
        keep(part[WM - 1]);
        order_loads<fetches>();
    }

    WF_DEVICE_MEMBER void keep(const accumulator part[WN])
    {
        WF_UNROLL
        for (int j = 0; j < WN; j++) {
            late[j] = part[j];
        }
    }

    static constexpr int ROW_MATRIX = 2 * STEPS * WN; /* instructions of a row */
    static constexpr int ROW_ADDS = WN * config::SHAPE * config::SHAPE / 64 / 2;

    /* The order of the first row: its own fragments, then a packed FMA and two reads
     * behind every few matrix instructions. */
    WF_DEVICE_MEMBER static void order_reads()
    {
        if constexpr (config::IGLP_MODE == 2) {
            wf_sched_group<WF_SCHED_LDS_READ, 1 + WN>();
            WF_UNROLL
            for (int i = 0; i < ROW_ADDS; i++) {
                wf_sched_group<WF_SCHED_MFMA, ROW_MATRIX / ROW_ADDS>();
                wf_sched_group<WF_SCHED_VALU, 1>();
                wf_sched_group<WF_SCHED_LDS_READ, 2>();
            }
        }
    }

    /* Of the others: what is fetched goes between them one by one. */
    template <bool fetches> WF_DEVICE_MEMBER static void order_loads()
    {
        if constexpr (config::IGLP_MODE == 2) {
            constexpr int loads = (fetches ? mfma_operand_a<config>::CHUNKS +
                                                 mfma_operand_b<config>::CHUNKS
                                           : 0) +
                                  WM + HALVES;
            WF_UNROLL
            for (int i = 0; i < (WM - 1) * ROW_ADDS; i++) {
                if (i < loads) {
                    wf_sched_group<WF_SCHED_VMEM_READ, 1>();
                }
                wf_sched_group<WF_SCHED_MFMA, ROW_MATRIX / ROW_ADDS>();
                wf_sched_group<WF_SCHED_VALU, 1>();
                if (i < WM) {
                    wf_sched_group<WF_SCHED_VALU, 1>();
                }
            }
        }
    }

    WF_DEVICE_MEMBER void begin()
    {
        of_a.begin(mfma_wave_m<config>());
        of_b.begin(mfma_wave_n<config>());
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            WF_UNROLL
            for (int j = 0; j < WN; j++) {
                total[i][j] = (accumulator)(0);
                late[j] = (accumulator)(0);
            }
        }
        WF_UNROLL
        for (int h = 0; h < HALVES; h++) {
            scales.scale[WM - 1][h] = 0.0f;
        }
    }

    WF_DEVICE_MEMBER void fetch()
    {
        a.fetch();
        b.fetch();
    }

    WF_DEVICE_MEMBER void store(unsigned char *lds) const
    {
        a.store(lds);
        b.store(lds + config::A_BYTES);
    }

    WF_DEVICE_MEMBER void run(int k, unsigned char *lds)
    {
        const int whole = wf_min(a.whole_tiles(k), b.whole_tiles(k));
        begin();
        if (whole > 0) {
            a.window(whole);
            b.window(whole);
            wf_keep_order();
            fetch();
        }
        wf_keep_order();
        scales.fetch(0);
        int t = 0;
        for (; t + 1 < whole; t++) {
            wf_barrier();
            store(lds);
            wf_barrier();
            tile<true>(lds, lds + config::A_BYTES, t);
        }
        WF_NO_UNROLL
        for (; t * config::BK < k; t++) { /* nothing whole is behind it */
            wf_barrier();
            if (t < whole) {
                store(lds);
            } else {
                const int valid = wf_min(k - t * config::BK, config::BK);
                a.gather(lds, (wf_i64)t * config::BK, valid);
                b.gather(lds + config::A_BYTES, (wf_i64)t * config::BK, valid);
            }
            wf_barrier();
            tile<false>(lds, lds + config::A_BYTES, t);
        }
        add_late();
    }
};

/* A share's product and its epilogue; `a` is the matrix that `s.m0` counts rows of. */
template <class config>
WF_DEVICE void mfma_block_product(const gemm_problem &p,
                                  const gemm_share &s,
                                  const char *a,
                                  wf_i64 line,
                                  unsigned char *lds)
{
    mfma_block_sum<config> sum;
    sum.a.begin(a, p.lda, s.m0, p.m, 0, 0);
    sum.b.begin((const char *)p.b + (unsigned)s.batch * p.stride_b, p.ldb, s.n0, p.n, 0,
                config::IS_GATE ? p.n : 0);
    sum.scales.begin(p, line, s.batch, s);
    sum.run(p.k, lds);
    wf_barrier();
    mfma_finish<config, false>(p, s, sum.total, lds);
}

#endif
