/* gfx942: tiles of both operands through LDS to the matrix instructions, in bytes, for
 * all element types of 8 and 16 bits.
 *
 *   mfma_config   sizes and choices, all known to the compiler (mfma_config_device.h)
 *   mfma_operand  one operand's tile on its way: global memory -> registers -> LDS
 *   mfma_lds_at   where a byte of a tile lies in LDS (mfma_config_device.h)
 *   mfma_multiply acc += tile of A * tile of B
 *   mfma_sum      the loop over k
 *
 * A tile's rows (m of A, n of B) lie in LDS with k contiguous, `ROW_BYTES` of it. A
 * lane takes 16 bytes of a row and feeds them to two matrix instructions: the order of
 * k inside is the same for A and B, which is all that a sum needs. So everything but
 * the instruction is the same for f16, bf16, fp8 and i8.
 *
 * The operands are swapped: B's rows are the instruction's rows. Four neighbouring
 * registers are then four neighbouring columns of D.
 *
 * Whole tiles go through a buffer resource: what lies behind its end reads as 0, so
 * that missing rows cost nothing. Loads are 16 bytes wide at any address. What hardware
 * cannot do that way, the last partial tile in k and operands whose tile spans more
 * than 4 GiB, is gathered element by element. */
#ifndef WF_KERNELS_GEMM_MFMA_TILE_DEVICE_H
#define WF_KERNELS_GEMM_MFMA_TILE_DEVICE_H

#include "kernels/gemm/mfma_config_device.h"

/* One operand's tiles of `rows` rows.
 *
 *   k_contiguous: a thread's chunk is 16 bytes of a row.
 *   else: a thread's unit is UNIT_K values of k of neighbouring rows, 16 bytes of each;
 *   it is transposed between registers, and each row gets UNIT_K values.
 *
 * gate_columns > 0: the tile's rows are, for each wave's share of that many, half gate
 * and half up rows. */
template <class config, int rows, bool k_contiguous, int type, int gate_columns>
struct mfma_operand {
    static constexpr int ES = mfma_bytes_of(type);
    static constexpr int RB = config::ROW_BYTES;
    static constexpr int THREADS_ALL = config::THREADS_ALL;
    static constexpr int PER_ROW = RB / 16; /* chunks */
    static constexpr int ALL_CHUNKS = rows * PER_ROW;
    static constexpr int CHUNKS = ALL_CHUNKS / THREADS_ALL;
    static constexpr int VALUES = 16 / ES; /* of a chunk */
    static_assert(CHUNKS * THREADS_ALL == ALL_CHUNKS,
                  "a tile has not the same number of 16-byte chunks for each thread");
    static constexpr int UNIT_K = CHUNKS % 4 == 0 ? 4 : 2;
    static constexpr int UNITS = k_contiguous ? 1 : CHUNKS / UNIT_K;
    static_assert(k_contiguous || (CHUNKS % UNIT_K == 0 && (ES == 2 || UNIT_K == 4)),
                  "a row contiguous tile has too few chunks for each thread: larger "
                  "BLOCK_K or fewer waves");
    static constexpr int WRITES = k_contiguous ? CHUNKS : UNITS * VALUES; /* of LDS */
    static constexpr int GROUPS_K = config::BK / UNIT_K;
    static_assert(k_contiguous || THREADS_ALL % GROUPS_K == 0,
                  "threads do not divide over the tile's k");
    static_assert(!k_contiguous || THREADS_ALL % PER_ROW == 0,
                  "threads do not divide over the tile's k");

    const char *base;  /* of the tile's first row and this share's first k */
    const char *whole; /* of the tile that is fetched next, not k contiguous */
    wf_i64 ld;         /* elements */
    wf_i64 up;         /* bytes from a gate row to its up row */
    int rows_left;     /* valid rows, at least 1 */
    unsigned bytes;    /* of the window */
    int at[CHUNKS];    /* byte offsets of this thread's chunks */
    int uniform;       /* and what the same in all lanes adds to them */
    wf_u4 held[CHUNKS];

    static constexpr int GROUP = gate_columns > 0 ? gate_columns : 2;

    /* Row of memory of a tile's row, less what `up` adds. */
    WF_DEVICE_MEMBER static int row_of(int position)
    {
        if (gate_columns == 0) {
            return position;
        }
        return position / GROUP * (GROUP / 2) + position % (GROUP / 2);
    }

    WF_DEVICE_MEMBER static bool is_up(int position)
    {
        return gate_columns != 0 && position / (GROUP / 2) % 2 != 0;
    }

    WF_DEVICE_MEMBER void begin(const void *operand,
                                wf_i64 leading,
                                int row0,
                                int row_count,
                                wf_i64 k_begin,
                                wf_i64 up_rows)
    {
        ld = leading;
        base = (const char *)operand + ((unsigned)row0 * (k_contiguous ? ld : 1) +
                                        k_begin * (k_contiguous ? 1 : ld)) *
                                           ES;
        whole = base;
        up = up_rows * ld * ES;
        rows_left = wf_min(row_count - row0, rows);
        uniform = 0;
        bytes = 0;
    }

    /* How many of `k` values can go through the window in whole tiles. The last k of a
     * row contiguous operand cannot where its rows end inside a dword: the buffer gives
     * whole ones, and behind it there may be nothing: up to 3 bytes, which are up to 3
     * k where a row is one byte long. */
    WF_DEVICE_MEMBER int whole_tiles(int k) const
    {
        const wf_i64 lines = k_contiguous ? rows : config::BK;
        const wf_i64 last = k_contiguous ? (wf_i64)k : rows;
        if (((lines - 1) * ld + last) * ES + up > 0xfffffff0ll) {
            return 0;
        }
        const bool inside = !k_contiguous && rows_left * ES % 4 != 0;
        return wf_max(k - (!inside ? 0 : ld * ES < 4 ? 3 : 1), 0) / config::BK;
    }

    /* Tiles 0 to count - 1 will be fetched, each once, in their order. */
    WF_DEVICE_MEMBER void window(int count)
    {
        const unsigned by = (unsigned)ld * ES;
        if (k_contiguous) {
            bytes =
                (unsigned)(((rows_left - 1) * ld + (wf_i64)count * config::BK) * ES +
                           up);
            const int row = wf_thread() / PER_ROW;
            const int byte = wf_thread() % PER_ROW * 16;
            WF_UNROLL
            for (int i = 0; i < CHUNKS; i++) {
                const int p = row + i * (THREADS_ALL / PER_ROW);
                at[i] = (int)((unsigned)row_of(p) * by + (unsigned)byte +
                              (is_up(p) ? (unsigned)up : 0));
            }
        } else {
            bytes =
                (unsigned)((config::BK - 1) * ld * ES + ((rows_left * ES + 3) & -4));
            WF_UNROLL
            for (int i = 0; i < CHUNKS; i++) {
                at[i] = (int)((unsigned)(unit_k() + i % UNIT_K) * by +
                              (unsigned)(unit_row(i / UNIT_K) * ES));
            }
        }
    }

    WF_DEVICE_MEMBER int unit_k() const
    {
        return wf_thread() % GROUPS_K * UNIT_K;
    }

    WF_DEVICE_MEMBER int unit_row(int unit) const
    {
        return (wf_thread() / GROUPS_K + unit * (THREADS_ALL / GROUPS_K)) * VALUES;
    }

    /* The next tile to registers. */
    WF_DEVICE_MEMBER void fetch()
    {
        const wf_buffer buffer = wf_buffer_make(k_contiguous ? base : whole, bytes);
        WF_UNROLL
        for (int i = 0; i < CHUNKS; i++) {
            held[i] = config::IS_STREAM ? wf_buffer_stream16(buffer, at[i], uniform)
                                        : wf_buffer_load16(buffer, at[i], uniform);
        }
        if (k_contiguous) {
            uniform += RB;
        } else {
            whole += config::BK * ld * ES;
        }
    }

    /* Unit `unit` transposed: `values` of k for each of its rows. */
    WF_DEVICE_MEMBER void store_pairs(unsigned char *lds, int unit) const
    {
        WF_UNROLL
        for (int j = 0; j < 4; j++) {
            unsigned lo[UNIT_K / 2], hi[UNIT_K / 2];
            WF_UNROLL
            for (int q = 0; q < UNIT_K / 2; q++) {
                const unsigned even = dword(unit * UNIT_K + 2 * q, j);
                const unsigned odd = dword(unit * UNIT_K + 2 * q + 1, j);
                lo[q] = wf_pack_low(even, odd);
                hi[q] = wf_pack_high(even, odd);
            }
            put(lds, unit_row(unit) + 2 * j, lo);
            put(lds, unit_row(unit) + 2 * j + 1, hi);
        }
    }

    WF_DEVICE_MEMBER void put(unsigned char *lds, int row, const unsigned *v) const
    {
        unsigned char *p =
            &lds[mfma_lds_at<RB, config::PAD, config::ROWS_OF_32>(row, unit_k() * ES)];
        if (UNIT_K * ES == 8) {
            *(wf_u2 *)p = wf_u2{ v[0], v[UNIT_K * ES / 8] };
        } else {
            *(unsigned *)p = v[0];
        }
    }

    WF_DEVICE_MEMBER unsigned dword(int i, int j) const
    {
        return j == 0 ? held[i].x : j == 1 ? held[i].y : j == 2 ? held[i].z : held[i].w;
    }

    /* 4 x 4 bytes at a time. */
    WF_DEVICE_MEMBER void store_quads(unsigned char *lds, int unit) const
    {
        WF_UNROLL
        for (int j = 0; j < 4; j++) {
            const unsigned k0 = dword(unit * 4, j);
            const unsigned k1 = dword(unit * 4 + 1, j);
            const unsigned k2 = dword(unit * 4 + 2, j);
            const unsigned k3 = dword(unit * 4 + 3, j);
            const unsigned lo01 = wf_bytes_of(k0, k1, 0x05010400u);
            const unsigned hi01 = wf_bytes_of(k0, k1, 0x07030602u);
            const unsigned lo23 = wf_bytes_of(k2, k3, 0x05010400u);
            const unsigned hi23 = wf_bytes_of(k2, k3, 0x07030602u);
            const unsigned row[4] = { wf_pack_low(lo01, lo23), wf_pack_high(lo01, lo23),
                                      wf_pack_low(hi01, hi23),
                                      wf_pack_high(hi01, hi23) };
            WF_UNROLL
            for (int r = 0; r < 4; r++) {
                put(lds, unit_row(unit) + 4 * j + r, &row[r]);
            }
        }
    }

    /* What was fetched last, into LDS. */
    WF_DEVICE_MEMBER void store(unsigned char *lds) const
    {
        if (k_contiguous) {
            const int row = wf_thread() / PER_ROW;
            const int byte = wf_thread() % PER_ROW * 16;
            WF_UNROLL
            for (int i = 0; i < CHUNKS; i++) {
                const int p = row + i * (THREADS_ALL / PER_ROW);
                *(wf_u4 *)&lds[mfma_lds_at<RB, config::PAD, config::ROWS_OF_32>(
                    p, byte)] = held[i];
            }
        } else {
            WF_UNROLL
            for (int i = 0; i < UNITS; i++) {
                if (ES == 2) {
                    store_pairs(lds, i);
                } else {
                    store_quads(lds, i);
                }
            }
        }
    }

    /* `valid` values of k from k0 (counted from the share's first) on, and zeros behind
     * them, one element at a time, straight into LDS. Rows that are not there repeat
     * the last one. Any alignment, any distance. */
    WF_DEVICE_MEMBER void gather(unsigned char *lds, wf_i64 k0, int valid) const
    {
        const wf_i64 row_step = (k_contiguous ? ld : 1) * ES;
        const wf_i64 k_step = (k_contiguous ? 1 : ld) * ES;
        WF_NO_UNROLL
        for (int c = wf_thread(); c < ALL_CHUNKS; c += THREADS_ALL) {
            const int p = k_contiguous ? c / PER_ROW : c % rows;
            const int first = (k_contiguous ? c % PER_ROW : c / rows) * VALUES;
            const char *row = base + wf_min(row_of(p), rows_left - 1) * row_step +
                              k0 * k_step + (is_up(p) ? up : 0);
            unsigned v[4] = { 0, 0, 0, 0 };
            WF_UNROLL
            for (int e = 0; e < VALUES; e++) {
                const char *from = row + wf_min(first + e, valid - 1) * k_step;
                const unsigned bits =
                    ES == 2 ? *(const wf_half *)from : *(const unsigned char *)from;
                v[e * ES / 4] |= (first + e < valid ? bits : 0) << e * ES % 4 * 8;
            }
            *(wf_u4 *)&lds[mfma_lds_at<RB, config::PAD, config::ROWS_OF_32>(
                p, first * ES)] = wf_u4{ v[0], v[1], v[2], v[3] };
        }
    }
};

template <class config>
using mfma_operand_a = mfma_operand<config, config::BM, config::KA, config::TYPE_A, 0>;
template <class config>
using mfma_operand_b =
    mfma_operand<config,
                 config::BN,
                 config::KB,
                 config::TYPE_B,
                 config::IS_GATE ? config::BN / config::WAVES_OF_N : 0>;

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
