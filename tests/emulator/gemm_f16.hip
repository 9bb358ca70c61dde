/* gfx942 GEMM, f16 with f32 sums: 32x32x8 matrix instructions, both operands in LDS.
 *
 * Each wave computes WM x WN blocks of 32 x 32. Tiles of BLOCK_K go global memory ->
 * registers -> one of two LDS stages while the other is multiplied: one barrier a tile,
 * and everything behind it may be interleaved. The four 16-byte chunks of an LDS row
 * are permuted by its number, so that a wave's reads spread over all banks. A lane's 16
 * bytes feed two matrix instructions: the order of k inside a group of 16 is the same
 * for A and B, which is all that a sum needs. Edges in m and n are the buffer's bound
 * (reads give 0) and the masked epilogue; the last, partial tile in k is loaded element
 * by element.
 *
 * wf_gemm_f16 needs 16-byte rows (leading dimensions, batch strides, and extents of row
 * contiguous operands are multiples of 8) and leading dimensions below 2^22;
 * wf_gemm_f16_any needs nothing.
 *
 * Knobs: BLOCK_M, BLOCK_N, WAVES_M, WAVES_N, WAVES_PER_SIMD, A_K_CONTIGUOUS,
 * B_K_CONTIGUOUS, SPLIT_K (1: partial sums go to the workspace), ANY_ALIGNMENT (1: with
 * wf_gemm_f16_any). */
#include "tests/emulator/gemm_f16_device.h"

#define BLOCK_K 32
#define THREADS (64 * WAVES_M * WAVES_N)
#define WM      (BLOCK_M / 32 / WAVES_M)
#define WN      (BLOCK_N / 32 / WAVES_N)

/* Place of element (row, k) in a stage, in f16 values. */
WF_DEVICE int lds_at(int row, int k)
{
    return row * BLOCK_K + (((k >> 3) ^ ((row >> 1) & 3)) << 3) + (k & 7);
}

/* One operand's tile of `rows` x BLOCK_K on its way into LDS. */
template <int rows, bool k_contiguous> struct tile_loader {
    static constexpr int CHUNKS = rows * BLOCK_K / 8 / THREADS;
    static_assert(CHUNKS * THREADS * 8 == rows * BLOCK_K, "tile does not divide");
    static_assert(k_contiguous || CHUNKS % 2 == 0, "row contiguous tiles go in pairs");

    const wf_half *base; /* of the workgroup's first row */
    wf_i64 ld;
    int rows_left; /* valid rows, at most `rows` */
    int k_end;
    wf_u4 held[CHUNKS];

    /* Chunk i of a k contiguous tile: its row, and its first k. */
    WF_DEVICE_MEMBER int chunk_row(int i) const
    {
        return wf_thread() / (BLOCK_K / 8) + i * (THREADS / (BLOCK_K / 8));
    }
    WF_DEVICE_MEMBER int chunk_k() const
    {
        return wf_thread() % (BLOCK_K / 8) * 8;
    }
    /* Pair i of a row contiguous tile: first of its 8 rows, and the even one of its two
     * k. */
    WF_DEVICE_MEMBER int pair_row(int i) const
    {
        return (wf_thread() + i * THREADS) / (BLOCK_K / 2) * 8;
    }
    WF_DEVICE_MEMBER int pair_k() const
    {
        return wf_thread() % (BLOCK_K / 2) * 2;
    }

    /* Bytes from the first element of the tile at k0 to behind its last one; 0 when the
     * tile is not whole. */
    WF_DEVICE_MEMBER unsigned window_bytes(int k0) const
    {
        if (k0 + BLOCK_K > k_end) {
            return 0;
        }
        const int lines = k_contiguous ? rows_left : BLOCK_K;
        const int last = k_contiguous ? BLOCK_K : rows_left;
        return (unsigned)((lines - 1) * (int)ld + last) * 2;
    }

    /* Whole tile at k0, or zeros. */
    WF_DEVICE_MEMBER void fetch(int k0)
    {
        const int ld2 = (int)ld * 2;
        const wf_half *first =
            base + (wf_u64)(unsigned)k0 * (k_contiguous ? 1 : (unsigned)ld);
        const wf_buffer buffer = wf_buffer_make(first, window_bytes(k0));
        if (k_contiguous) {
            WF_UNROLL
            for (int i = 0; i < CHUNKS; i++) {
                held[i] =
                    wf_buffer_load16(buffer, chunk_row(i) * ld2 + chunk_k() * 2, 0);
            }
        } else {
            WF_UNROLL
            for (int i = 0; i < CHUNKS / 2; i++) {
                const int offset = pair_k() * ld2 + pair_row(i) * 2;
                held[2 * i] = wf_buffer_load16(buffer, offset, 0);
                held[2 * i + 1] = wf_buffer_load16(buffer, offset + ld2, 0);
            }
        }
    }

    WF_DEVICE_MEMBER void store_pair(wf_half *lds, int i) const
    {
        const wf_u4 even = held[2 * i];
        const wf_u4 odd = held[2 * i + 1];
        const unsigned e[4] = { even.x, even.y, even.z, even.w };
        const unsigned o[4] = { odd.x, odd.y, odd.z, odd.w };
        WF_UNROLL
        for (int j = 0; j < 4; j++) {
            const int row = pair_row(i) + 2 * j;
            *(unsigned *)&lds[lds_at(row, pair_k())] = wf_pack_low(e[j], o[j]);
            *(unsigned *)&lds[lds_at(row + 1, pair_k())] = wf_pack_high(e[j], o[j]);
        }
    }

    WF_DEVICE_MEMBER void store(wf_half *lds) const
    {
        if (k_contiguous) {
            WF_UNROLL
            for (int i = 0; i < CHUNKS; i++) {
                *(wf_u4 *)&lds[lds_at(chunk_row(i), chunk_k())] = held[i];
            }
        } else {
            WF_UNROLL
            for (int i = 0; i < CHUNKS / 2; i++) {
                store_pair(lds, i);
            }
        }
    }

    /* Any alignment, any edge; straight into LDS. */
    WF_DEVICE_MEMBER void copy_masked(wf_half *lds, int k0) const
    {
        WF_NO_UNROLL
        for (int i = wf_thread(); i < rows * BLOCK_K; i += THREADS) {
            const int row = k_contiguous ? i / BLOCK_K : i % rows;
            const int k = k_contiguous ? i % BLOCK_K : i / rows;
            lds[lds_at(row, k)] =
                gemm_element<k_contiguous>(base, ld, row, k0 + k, rows_left, k_end);
        }
    }
};

template <int rows, bool k_contiguous>
WF_DEVICE tile_loader<rows, k_contiguous> tile_of(const wf_half *operand,
                                                  wf_i64 ld,
                                                  int row0,
                                                  int row_count,
                                                  int k_end)
{
    tile_loader<rows, k_contiguous> t;
    t.base = operand + (unsigned)row0 * (k_contiguous ? ld : 1);
    t.ld = ld;
    t.rows_left = wf_min(row_count - row0, rows);
    t.k_end = k_end;
    return t;
}

/* acc += A tile * B tile, both in LDS. */
WF_DEVICE void multiply_tile(const wf_half *a,
                             const wf_half *b,
                             wf_f32x16 acc[WM][WN],
                             int lane)
{
    const int row = lane & 31;
    const int k = (lane >> 5) * 8;
#if A_K_CONTIGUOUS && B_K_CONTIGUOUS
    /* The compiler's scheduler does not end on the loops that transpose. */
    wf_interleave_matrix_loop();
#endif
    WF_UNROLL
    for (int kk = 0; kk < BLOCK_K; kk += 16) {
        wf_u4 x[WM], y[WN];
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            x[i] = *(const wf_u4 *)&a[lds_at(i * 32 + row, kk + k)];
        }
        WF_UNROLL
        for (int j = 0; j < WN; j++) {
            y[j] = *(const wf_u4 *)&b[lds_at(j * 32 + row, kk + k)];
        }
        WF_UNROLL
        for (int half = 0; half < 2; half++) {
            WF_UNROLL
            for (int i = 0; i < WM; i++) {
                WF_UNROLL
                for (int j = 0; j < WN; j++) {
                    const wf_u2 u =
                        half ? wf_u2{ x[i].z, x[i].w } : wf_u2{ x[i].x, x[i].y };
                    const wf_u2 v =
                        half ? wf_u2{ y[j].z, y[j].w } : wf_u2{ y[j].x, y[j].y };
                    acc[i][j] = wf_mfma_32x32x8(u, v, acc[i][j]);
                }
            }
        }
    }
}

/* Each register of a block is one row, 32 neighbouring columns over the lanes. Where M
 * is a multiple of 4, neighbouring rows share what says whether they are there. */
template <bool rows_by_four>
WF_DEVICE void store_block(const gemm_problem &p,
                           const gemm_share &s,
                           const wf_f32x16 &acc,
                           int row0,
                           int column)
{
    WF_UNROLL
    for (int r = 0; r < 16; r++) {
        const int row = row0 + (r & 3) + 8 * (r >> 2);
        if ((rows_by_four ? row0 + 8 * (r >> 2) : row) < p.m && column < p.n) {
#if SPLIT_K
            gemm_partial_row(p, s, row)[column] = acc[r];
#else
            gemm_d_row(p, s, row)[column] =
                gemm_value(p, acc[r], gemm_c_row(p, s, row) + column);
#endif
        }
    }
}

/* A workgroup's tiles in LDS, two stages of each operand. */
struct lds_stages {
    wf_half *a0, *b0, *a1, *b1;
};

template <bool aligned>
WF_DEVICE void gemm_workgroup(const gemm_problem &p, const lds_stages &lds)
{
    gemm_share s = gemm_my_share(p, BLOCK_M, BLOCK_N);
#if !SPLIT_K
    s.part = 0;
    s.k_begin = 0;
    s.k_end = p.k;
#endif
    const int lane = wf_thread() & 63;
    const unsigned wave = (unsigned)wf_uniform(wf_thread() >> 6);
    const int wave_n = wave / WAVES_M * (32 * WN);
    const int wave_m = wave % WAVES_M * (32 * WM);
    const int at_a = wave_m * BLOCK_K;
    const int at_b = wave_n * BLOCK_K;
    const unsigned batch = (unsigned)s.batch;
    auto a = tile_of<BLOCK_M, A_K_CONTIGUOUS>(p.a + batch * p.stride_a, p.lda, s.m0,
                                              p.m, s.k_end);
    auto b = tile_of<BLOCK_N, B_K_CONTIGUOUS>(p.b + batch * p.stride_b, p.ldb, s.n0,
                                              p.n, s.k_end);
    wf_f32x16 acc[WM][WN];
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int j = 0; j < WN; j++) {
            acc[i][j] = (wf_f32x16)(0.0f);
        }
    }
    int k = s.k_begin;
    if (aligned && k + BLOCK_K <= s.k_end) {
        a.fetch(k);
        b.fetch(k);
        a.store(lds.a0);
        b.store(lds.b0);
        a.fetch(k + BLOCK_K);
        b.fetch(k + BLOCK_K);
        /* Two tiles a turn; the second may be behind the last whole one: zeros. */
        for (int at = k; at + BLOCK_K <= s.k_end; at += 2 * BLOCK_K) {
            wf_barrier();
            a.store(lds.a1);
            b.store(lds.b1);
            a.fetch(at + 2 * BLOCK_K);
            b.fetch(at + 2 * BLOCK_K);
            multiply_tile(lds.a0 + at_a, lds.b0 + at_b, acc, lane);
            wf_barrier();
            a.store(lds.a0);
            b.store(lds.b0);
            a.fetch(at + 3 * BLOCK_K);
            b.fetch(at + 3 * BLOCK_K);
            multiply_tile(lds.a1 + at_a, lds.b1 + at_b, acc, lane);
        }
        k += (s.k_end - k) & -BLOCK_K;
    }
    WF_NO_UNROLL
    for (; k < s.k_end; k += BLOCK_K) {
        wf_barrier();
        a.copy_masked(lds.a0, k);
        b.copy_masked(lds.b0, k);
        wf_barrier();
        multiply_tile(lds.a0 + at_a, lds.b0 + at_b, acc, lane);
    }
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int j = 0; j < WN; j++) {
            store_block<aligned && !A_K_CONTIGUOUS>(
                p, s, acc[i][j], s.m0 + wave_m + i * 32 + (lane >> 5) * 4,
                s.n0 + wave_n + j * 32 + (lane & 31));
        }
    }
}

#define GEMM_LDS                             \
    WF_SHARED wf_half a0[BLOCK_M * BLOCK_K]; \
    WF_SHARED wf_half b0[BLOCK_N * BLOCK_K]; \
    WF_SHARED wf_half a1[BLOCK_M * BLOCK_K]; \
    WF_SHARED wf_half b1[BLOCK_N * BLOCK_K]; \
    const lds_stages lds = { a0, b0, a1, b1 }

WF_KERNEL(THREADS, WAVES_PER_SIMD) wf_gemm_f16(GEMM_PARAMETERS)
{
    GEMM_LDS;
    const gemm_problem p = GEMM_PROBLEM;
    gemm_workgroup<true>(p, lds);
}

#if ANY_ALIGNMENT
WF_KERNEL(THREADS, WAVES_PER_SIMD) wf_gemm_f16_any(GEMM_PARAMETERS)
{
    GEMM_LDS;
    const gemm_problem p = GEMM_PROBLEM;
    gemm_workgroup<false>(p, lds);
}
#endif

#if SPLIT_K
WF_KERNEL(256, 4) wf_gemm_f16_sum(GEMM_PARAMETERS)
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_sum_partials(p);
}
#endif
