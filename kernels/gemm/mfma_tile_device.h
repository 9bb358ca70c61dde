/* gfx942: tiles of both operands through LDS to the matrix instructions, in bytes, for
 * all element types of 8 and 16 bits.
 *
 *   mfma_config   sizes and choices, all known to the compiler (mfma_config_device.h)
 *   mfma_operand  one operand's tile on its way: global memory -> registers -> LDS
 *                 (mfma_operand_device.h)
 *   mfma_lds_at   where a byte of a tile lies in LDS (mfma_config_device.h)
 *   mfma_engine   reads of LDS, acc += tile of A * tile of B
 *   mfma_sum      the loop over k
 *
 * A tile's rows (m of A, n of B) lie in LDS with k contiguous, `ROW_BYTES` of it. A
 * lane takes 16 bytes of a row and feeds them to two matrix instructions: the order of
 * k inside is the same for A and B, which is all that a sum needs. So everything but
 * the instruction is the same for f16, bf16, fp8 and i8.
 *
 * The operands are swapped: B's rows are the instruction's rows. Four neighbouring
 * registers are then four neighbouring columns of D. */
#ifndef WF_KERNELS_GEMM_MFMA_TILE_DEVICE_H
#define WF_KERNELS_GEMM_MFMA_TILE_DEVICE_H

#include "kernels/gemm/mfma_operand_device.h"

/* Where this lane reads a tile: of even and odd blocks of 16 rows, and of each way in
 * which k changes the permutation. Everything else is a constant distance. */
template <class config> struct mfma_reader {
    static constexpr int RB = config::ROW_BYTES;
    static constexpr int ODD = config::SHAPE == 16 ? 2 : 1;
    static constexpr int SPAN = RB < 128 ? RB : 128;
    static constexpr int STEPS = SPAN / config::READ_BYTES;
    int at[ODD][STEPS];

    WF_DEVICE_MEMBER void begin(int row0)
    {
        const int lane = wf_thread() & 63;
        const int row = row0 + lane % config::SHAPE;
        const int byte = lane / config::SHAPE * 16;
        WF_UNROLL
        for (int odd = 0; odd < ODD; odd++) {
            WF_UNROLL
            for (int s = 0; s < STEPS; s++) {
                at[odd][s] = mfma_lds_at<RB, config::PAD, config::ROWS_OF_32>(
                    row + odd * config::SHAPE, byte + s * config::READ_BYTES);
            }
        }
    }

    /* Block `block` of rows, `step` reads into k. */
    WF_DEVICE_MEMBER wf_u4 read(const unsigned char *lds, int block, int step) const
    {
        const int blocks = block / ODD * ODD * config::SHAPE * config::PITCH;
        return __builtin_bit_cast(
            wf_u4, *(const wf_i32x4 *)&lds[at[block % ODD][step % STEPS] + blocks +
                                           step / STEPS * SPAN]);
    }
};

/* What a wave reads at once, for two matrix instructions of each pair of blocks. */
template <class config> struct mfma_fragments {
    wf_u4 x[config::WM], y[config::WN];
};

template <class config> struct mfma_engine {
    typedef typename config::accumulator accumulator;
    typedef mfma_fragments<config> fragments;
    static constexpr int STEPS = config::ROW_BYTES / config::READ_BYTES; /* of a tile */

    mfma_reader<config> a, b;

    WF_DEVICE_MEMBER void begin()
    {
        a.begin(mfma_wave_m<config>());
        b.begin(mfma_wave_n<config>());
    }

    WF_DEVICE_MEMBER void read(fragments &f,
                               const unsigned char *of_a,
                               const unsigned char *of_b,
                               int step) const
    {
        constexpr int first = config::ORDER == 0 ? config::WM : 1;
        WF_UNROLL
        for (int i = 0; i < first; i++) {
            f.x[i] = a.read(of_a, i, step);
        }
        WF_UNROLL
        for (int j = 0; j < config::WN; j++) {
            f.y[j] = b.read(of_b, j, step);
        }
        WF_UNROLL
        for (int i = first; i < config::WM; i++) {
            f.x[i] = a.read(of_a, i, step);
        }
    }

    /* acc += half of the fragments' product. */
    WF_DEVICE_MEMBER static void multiply(const fragments &f,
                                          int half,
                                          accumulator acc[config::WM][config::WN])
    {
        WF_UNROLL
        for (int i = 0; i < config::WM; i++) {
            WF_UNROLL
            for (int j = 0; j < config::WN; j++) {
                const wf_u4 x = f.x[i];
                const wf_u4 y = f.y[j];
                const wf_u2 u = half ? wf_u2{ x.z, x.w } : wf_u2{ x.x, x.y };
                const wf_u2 v = half ? wf_u2{ y.z, y.w } : wf_u2{ y.x, y.y };
                acc[i][j] = wf_mfma<config::TYPE_B, config::TYPE_A>(v, u, acc[i][j]);
            }
        }
    }

    WF_DEVICE_MEMBER static void hint()
    {
        if constexpr (config::IGLP_MODE == 0 || config::IGLP_MODE == 1) {
            wf_interleave<config::IGLP_MODE>();
        }
    }

    /* The region's order, behind it: `turns` times `reads` and `writes` of LDS and
     * `loads` of global memory, each behind its share of `matrix` instructions. */
    template <int turns, int matrix, int reads, int writes, int loads>
    WF_DEVICE_MEMBER static void order()
    {
        if constexpr (config::IGLP_MODE == 2) {
            constexpr int parts = (reads > 0) + (writes > 0) + (loads > 0);
            constexpr int share = reads > 0 && parts == 1 ? 1 : matrix / turns / parts;
            WF_UNROLL
            for (int i = 0; i < turns; i++) {
                if constexpr (reads > 0) {
                    wf_sched_group<WF_SCHED_LDS_READ, reads>();
                    wf_sched_group<WF_SCHED_MFMA, share>();
                }
                if constexpr (writes > 0) {
                    wf_sched_group<WF_SCHED_LDS_WRITE, writes>();
                    wf_sched_group<WF_SCHED_MFMA, share>();
                }
                if constexpr (loads > 0) {
                    wf_sched_group<WF_SCHED_VMEM_READ, loads>();
                    wf_sched_group<WF_SCHED_MFMA, share>();
                }
            }
        }
    }

    /* acc += A's tile * B's tile. */
    WF_DEVICE_MEMBER void multiply_tile(const unsigned char *of_a,
                                        const unsigned char *of_b,
                                        accumulator acc[config::WM][config::WN]) const
    {
        fragments f[STEPS];
        hint();
        WF_UNROLL
        for (int s = 0; s < STEPS; s++) {
            read(f[s], of_a, of_b, s);
            multiply(f[s], 0, acc);
            multiply(f[s], 1, acc);
        }
    }
};

struct mfma_nothing {
    WF_DEVICE_MEMBER void operator()(int) const
    {
    }
};

/* One tile of the loop, fragments ahead. The tile's first fragments are in registers,
 * and the tile behind it goes into LDS and the one behind that is fetched meanwhile.
 * Before the last matrix instructions all waves meet, so that the next tile's first
 * fragments are read behind these, and nobody waits for LDS. */
template <class config>
WF_DEVICE void mfma_tile_ahead(mfma_operand_a<config> &a,
                               mfma_operand_b<config> &b,
                               const mfma_engine<config> &engine,
                               mfma_fragments<config> &now,
                               mfma_fragments<config> &then,
                               const unsigned char *a_now,
                               const unsigned char *b_now,
                               unsigned char *a_then,
                               unsigned char *b_then,
                               typename config::accumulator acc[config::WM][config::WN])
{
    constexpr int steps = mfma_engine<config>::STEPS;
    mfma_fragments<config> f[steps];
    f[0] = now;
    engine.hint();
    a.store(a_then);
    b.store(b_then);
    a.fetch();
    b.fetch();
    WF_UNROLL
    for (int s = 0; s < steps; s++) {
        if (s + 1 < steps) {
            engine.read(f[s + 1], a_now, b_now, s + 1);
        }
        engine.multiply(f[s], 0, acc);
        if (s + 1 < steps) {
            engine.multiply(f[s], 1, acc);
        }
    }
    constexpr int pairs = config::WM * config::WN;
    constexpr int loads =
        mfma_operand_a<config>::CHUNKS + mfma_operand_b<config>::CHUNKS;
    constexpr int writes =
        mfma_operand_a<config>::WRITES + mfma_operand_b<config>::WRITES;
    constexpr int reads = config::WM + config::WN;
    mfma_engine<config>::template order<loads, pairs *(2 * steps - 1),
                                        ((steps - 1) * reads + loads - 1) / loads,
                                        writes / loads, 1>();
    wf_barrier();
    engine.hint();
    if (config::IS_PRIORITY) {
        wf_priority<1>();
    }
    engine.read(then, a_then, b_then, 0);
    engine.multiply(f[steps - 1], 1, acc);
    mfma_engine<config>::template order<reads, pairs, 1, 0, 0>();
    if (config::IS_PRIORITY) {
        wf_priority<0>();
    }
}

template <class config>
WF_DEVICE void mfma_tile(mfma_operand_a<config> &a,
                         mfma_operand_b<config> &b,
                         const mfma_engine<config> &engine,
                         mfma_fragments<config> &now,
                         mfma_fragments<config> &then,
                         const unsigned char *a_now,
                         const unsigned char *b_now,
                         unsigned char *a_then,
                         unsigned char *b_then,
                         typename config::accumulator acc[config::WM][config::WN])
{
    if constexpr (config::READS_AHEAD) {
        mfma_tile_ahead<config>(a, b, engine, now, then, a_now, b_now, a_then, b_then,
                                acc);
    } else {
        wf_barrier();
        a.store(a_then);
        b.store(b_then);
        a.fetch();
        b.fetch();
        engine.multiply_tile(a_now, b_now, acc);
    }
}

/* acc += the product over k values of k, both operands having begun. behind(t) is
 * called when tile t has been added, in order, by all lanes alike. a0 to b1 are the
 * stages (of one: a1 and b1 are not used). Ends without a barrier behind the last
 * reads. */
template <class config, class after>
WF_DEVICE void mfma_sum(mfma_operand_a<config> &a,
                        mfma_operand_b<config> &b,
                        int k,
                        unsigned char *__restrict a0,
                        unsigned char *__restrict b0,
                        unsigned char *__restrict a1,
                        unsigned char *__restrict b1,
                        typename config::accumulator acc[config::WM][config::WN],
                        const after &behind)
{
    constexpr bool two = config::LDS_STAGES == 2;
    const int whole = wf_min(a.whole_tiles(k), b.whole_tiles(k));
    mfma_engine<config> engine;
    engine.begin();
    int t = 0;
    if (whole > 0) {
        a.window(whole);
        b.window(whole);
        a.fetch();
        b.fetch();
    }
    if constexpr (two) {
        if (whole > 0) {
            a.store(a0);
            b.store(b0);
        }
        if (whole > 1) {
            a.fetch();
            b.fetch();
        }
        if (whole >= 4) {
            mfma_fragments<config> even, odd;
            if constexpr (config::READS_AHEAD) {
                wf_barrier();
                engine.read(even, a0, b0, 0);
            }
            const auto pair = [&](int at) {
                mfma_tile<config>(a, b, engine, even, odd, a0, b0, a1, b1, acc);
                behind(at);
                mfma_tile<config>(a, b, engine, odd, even, a1, b1, a0, b0, acc);
                behind(at + 1);
            };
            if constexpr (config::PAIRS_UNROLLED > 1) {
                constexpr int tiles = 2 * config::PAIRS_UNROLLED;
                WF_NO_UNROLL
                for (; t + tiles + 2 <= whole; t += tiles) {
                    WF_UNROLL
                    for (int i = 0; i < tiles; i += 2) {
                        pair(t + i);
                    }
                }
            }
            WF_NO_UNROLL
            for (; t + 4 <= whole; t += 2) {
                pair(t);
            }
        }
    } else {
        for (; t + 1 < whole; t++) {
            wf_barrier();
            a.store(a0);
            b.store(b0);
            wf_barrier();
            a.fetch();
            b.fetch();
            engine.multiply_tile(a0, b0, acc);
            behind(t);
        }
    }
    /* The whole tiles behind which nothing is fetched, and what cannot be fetched. */
    bool is_there = two && t < whole;
    WF_NO_UNROLL
    for (; t * config::BK < k; t++) {
        if (!is_there) {
            wf_barrier();
            if (t < whole) {
                a.store(a0);
                b.store(b0);
                if (t + 1 < whole) {
                    a.fetch();
                    b.fetch();
                }
            } else {
                const int valid = wf_min(k - t * config::BK, config::BK);
                a.gather(a0, (wf_i64)t * config::BK, valid);
                b.gather(b0, (wf_i64)t * config::BK, valid);
            }
        }
        is_there = false;
        wf_barrier();
        engine.multiply_tile(a0, b0, acc);
        behind(t);
    }
}

#endif
