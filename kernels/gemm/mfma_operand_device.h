/* gfx942: an operand of a matrix product on its way from memory into LDS, tile by tile.
 *
 * Whole tiles go through a buffer resource: what lies behind its end reads as 0, so
 * that missing rows cost nothing. Loads are 16 bytes wide at any address. What hardware
 * cannot do that way, the last partial tile in k and operands whose tile spans more
 * than 4 GiB, is gathered element by element. */
#ifndef WF_KERNELS_GEMM_MFMA_OPERAND_DEVICE_H
#define WF_KERNELS_GEMM_MFMA_OPERAND_DEVICE_H

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

#endif
