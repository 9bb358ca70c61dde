/* A workgroup's tile on mma.sync (sm_90): STAGES tiles of both operands in shared
 * memory, filled by asynchronous 16-byte copies that write zeros outside the operand.
 *
 * A k contiguous tile is stored row by row (128 bytes: 64 k of 16 bits, 128 of 8), a
 * row contiguous one k by k; in both the 16-byte chunks of a line are permuted by the
 * low three bits of its number, so that the 8 lines that ldmatrix reads together lie in
 * different banks. Row contiguous operands (16 bits) are turned by ldmatrix's
 * transposing form. fp8 becomes f16 in registers, which is exact: this chip has no
 * mma.sync of its own for it. The order of k within a step is then another one, in A
 * and B alike.
 *
 * Knobs of all kernels made of it: A_TYPE, B_TYPE, BLOCK_M, BLOCK_N, WARPS_M, WARPS_N,
 * STAGES, BLOCKS_PER_UNIT, A_K_CONTIGUOUS, B_K_CONTIGUOUS, GATE (1: op(B) has 2N
 * columns; half of a warp's are the up half's), SPLIT_K (1: partial sums go to the
 * workspace), ANY_ALIGNMENT (1: with a kernel that needs no aligned rows: it gathers
 * element by element). Dynamic shared memory: STAGES * (BLOCK_M + BLOCK_N) * 128 bytes.
 */
#ifndef WF_KERNELS_GEMM_MMA_TILE_DEVICE_H
#define WF_KERNELS_GEMM_MMA_TILE_DEVICE_H

#include "kernels/gemm/mma_finish_device.h"

#define IS_16_BIT    (A_TYPE == GEMM_F16 || A_TYPE == GEMM_BF16)
#define IS_FP8       (!IS_16_BIT && A_TYPE != GEMM_I8)
#define BYTES        (IS_16_BIT ? 2 : 1)
#define LINE_BYTES   128
#define BLOCK_K      (LINE_BYTES / BYTES)
#define STEPS        (LINE_BYTES / 32) /* of 32 bytes of k */
#define PARTS        (IS_FP8 ? 2 : 1)  /* fragments of f16 that one of 8 bits becomes */
#define CHUNK        (16 / BYTES)      /* values of 16 bytes */
#define THREADS      (32 * WARPS_M * WARPS_N)
#define WM           (BLOCK_M / 16 / WARPS_M) /* 16-row blocks of a warp */
#define WN           (BLOCK_N / 16 / WARPS_N) /* 16-column blocks of a warp, two mma each */
#define WARP_COLUMNS (16 * WN)
#define OUT_N        (GATE ? BLOCK_N / 2 : BLOCK_N) /* columns of D */
#define STAGE_BYTES  ((BLOCK_M + BLOCK_N) * LINE_BYTES)

static_assert(IS_16_BIT || (A_K_CONTIGUOUS && B_K_CONTIGUOUS), "8 bits: k contiguous");
static_assert(!GATE || WN % 2 == 0 || WARP_COLUMNS % 16 == 0,
              "halves are whole blocks");

/* The column of D that line `l` of a gated tile of B belongs to. */
WF_DEVICE int gate_column(int l)
{
    return l / WARP_COLUMNS * (WARP_COLUMNS / 2) + l % (WARP_COLUMNS / 2);
}

/* One operand's way into shared memory. A thread copies chunk 0, and CHUNKS - 1 more
 * that lie STEP lines apart: since STEP is a multiple of 8, the permutation is the same
 * for all of them. */
template <int rows, bool k_contiguous, bool aligned, bool gate> struct tile_copier {
    static constexpr int LINE = k_contiguous ? 8 : rows / CHUNK; /* chunks */
    static constexpr int STEP = THREADS / LINE;
    static constexpr int CHUNKS = rows * LINE_BYTES / 16 / THREADS;
    static_assert(CHUNKS * THREADS * 16 == rows * LINE_BYTES, "tile does not divide");
    static_assert(STEP % 8 == 0, "the permutation differs between a thread's chunks");

    const char *base;             /* of the workgroup's first row */
    const char *next;             /* chunk 0 of the next tile */
    wf_i64 ld;                    /* bytes */
    int rows_left, k_end, k0, up; /* up: rows from a gate's column to its up column */
    int line, chunk;
    unsigned inside; /* bit i: the row of chunk i is (k contiguous) */

    /* Row of the operand, from `base`, that row `l` of the tile is; its column of D. */
    WF_DEVICE_MEMBER int row_of(int l) const
    {
        const bool is_up = l % WARP_COLUMNS >= WARP_COLUMNS / 2;
        return gate ? gate_column(l) + (is_up ? up : 0) : l;
    }

    WF_DEVICE_MEMBER int column_of(int l) const
    {
        return gate ? gate_column(l) : l;
    }

    WF_DEVICE_MEMBER void start(int k_begin)
    {
        line = wf_thread() / LINE;
        chunk = wf_thread() % LINE;
        k0 = k_begin;
        next = base + (k_contiguous ? row_of(line) * ld + (k0 + chunk * CHUNK) * BYTES
                                    : (k0 + line) * ld + row_of(chunk * CHUNK) * BYTES);
        inside = 0;
        WF_UNROLL
        for (int i = 0; i < CHUNKS; i++) {
            inside |= (column_of(line + i * STEP) < rows_left ? 1u : 0u) << i;
        }
    }

    /* Element (row of the tile, k), 0 outside. The slow way in: any stride, any edge.
     */
    WF_DEVICE_MEMBER unsigned element(int row, int k) const
    {
        if (column_of(row) >= rows_left || k >= k_end) {
            return 0;
        }
        const char *at = base + (k_contiguous ? row_of(row) * ld + (wf_i64)k * BYTES
                                              : k * ld + (wf_i64)row_of(row) * BYTES);
        return BYTES == 2 ? *(const wf_half *)at : *(const unsigned char *)at;
    }

    WF_DEVICE_MEMBER wf_u4 gather(int row, int k) const
    {
        unsigned w[4] = {};
        WF_UNROLL
        for (int e = 0; e < CHUNK; e++) {
            w[e * BYTES / 4] |=
                element(k_contiguous ? row : row + e, k_contiguous ? k + e : k)
                << (e * BYTES % 4 * 8);
        }
        return wf_u4{ w[0], w[1], w[2], w[3] };
    }

    /* From chunk 0 to chunk i in memory. */
    WF_DEVICE_MEMBER wf_i64 chunk_offset(int i) const
    {
        return k_contiguous && gate ? (row_of(line + i * STEP) - row_of(line)) * ld
                                    : i * STEP * ld;
    }

    /* Chunk by chunk: unrolled, the elements on their way would not fit the registers.
     */
    WF_DEVICE_MEMBER void gather_tile(wf_shared_address to) const
    {
        WF_NO_UNROLL
        for (int i = 0; i < CHUNKS; i++) {
            wf_shared_store16(to + i * (STEP * LINE * 16),
                              k_contiguous
                                  ? gather(line + i * STEP, k0 + chunk * CHUNK)
                                  : gather(chunk * CHUNK, k0 + line + i * STEP));
        }
    }

    WF_DEVICE_MEMBER void copy_tile(wf_shared_address to) const
    {
        /* Values of a chunk that are inside the operand, in its own direction. */
        const int left = k_contiguous ? k_end - k0 - chunk * CHUNK
                                      : rows_left - column_of(chunk * CHUNK);
        const int bytes = wf_max(0, wf_min(left, CHUNK)) * BYTES;
        WF_UNROLL
        for (int i = 0; i < CHUNKS; i++) {
            const bool in =
                k_contiguous ? (inside >> i & 1) != 0 : k0 + line + i * STEP < k_end;
            wf_copy16_async(to + i * (STEP * LINE * 16), next + chunk_offset(i),
                            in ? bytes : 0);
        }
    }

    /* The next tile into `tile`. */
    WF_DEVICE_MEMBER void copy(wf_shared_address tile)
    {
        const wf_shared_address to = tile + (line * LINE + (chunk ^ (line & 7))) * 16;
        if (aligned) {
            copy_tile(to);
        } else {
            gather_tile(to);
        }
        k0 += BLOCK_K;
        next += k_contiguous ? (wf_i64)LINE_BYTES : BLOCK_K * ld;
    }
};

template <int rows, bool k_contiguous, bool aligned, bool gate>
WF_DEVICE tile_copier<rows, k_contiguous, aligned, gate> tile_of(const void *operand,
                                                                 wf_i64 ld,
                                                                 int row0,
                                                                 int row_count,
                                                                 const gemm_share &s)
{
    tile_copier<rows, k_contiguous, aligned, gate> t;
    t.ld = ld * BYTES;
    t.base =
        (const char *)operand + (k_contiguous ? row0 * t.ld : (wf_i64)row0 * BYTES);
    t.rows_left = wf_min(row_count - row0, gate ? rows / 2 : rows);
    t.k_end = s.k_end;
    t.up = row_count;
    t.start(s.k_begin);
    return t;
}

/* Where a lane's ldmatrix row of the block at (row, k 0) of a k contiguous tile begins;
 * `high_k`, `high_row` say which of the block's 8x8 matrices (of 16 bits) it is. The
 * block at another step differs in bits 5 and 6: exclusive or with 32 a step. Blocks 16
 * rows on are 2048 bytes on. */
WF_DEVICE unsigned k_line_offset(int row, int high_row, int high_k, int lane)
{
    const int inner = lane & 7;
    return (unsigned)((row + inner + high_row * 8) * LINE_BYTES +
                      ((inner ^ high_k) << 4));
}

/* The same for the block at (row, k) of a row contiguous tile of `rows`. */
template <int rows>
WF_DEVICE unsigned row_line_offset(int row, int k, int high_row, int high_k, int lane)
{
    const int inner = lane & 7;
    const int line = k + inner + high_k * 8;
    return (unsigned)((line * (rows / 8) + ((row / 8 + high_row) ^ inner)) * 16);
}

/* Operand A of 16 rows: matrices (row, k) (row + 8, k) (row, k + 8) (row + 8, k + 8).
 * Operand B of 16 columns: (k, n) (k + 8, n) (k, n + 8) (k + 8, n + 8): registers 0, 1
 * are columns 0 to 7, registers 2, 3 columns 8 to 15. */
template <int rows, int blocks, bool k_contiguous, bool is_a>
WF_DEVICE void load_operand(unsigned r[blocks][4 * PARTS],
                            wf_shared_address tile,
                            int row,
                            int step,
                            int lane)
{
    const int high_row = is_a ? lane >> 3 & 1 : lane >> 4;
    const int high_k = is_a ? lane >> 4 : lane >> 3 & 1;
    if (k_contiguous) {
        const wf_shared_address at =
            tile + (k_line_offset(row, high_row, high_k, lane) ^ (unsigned)(32 * step));
        WF_UNROLL
        for (int i = 0; i < blocks; i++) {
            wf_matrix_load(r[i], at + i * (16 * LINE_BYTES));
        }
    } else {
        WF_UNROLL
        for (int i = 0; i < blocks; i++) {
            wf_matrix_load_transposed(
                r[i], tile + row_line_offset<rows>(row + i * 16, 16 * step, high_row,
                                                   high_k, lane));
        }
    }
}

struct fragments {
    unsigned a[WM][4 * PARTS];
    unsigned b[WN][4 * PARTS];
};

template <int type> WF_DEVICE unsigned as_halves(unsigned v, int high)
{
    const wf_half pair = (wf_half)(high ? v >> 16 : v);
    return type == GEMM_E4M3FN ? wf_e4m3_pair_to_halves(pair)
                               : wf_e5m2_pair_to_halves(pair);
}

/* Registers hold 4 bytes of k. The first f16 product takes those of k 0 to 15: two of
 * each as its low k, two as its high k. The second takes those of k 16 to 31. */
template <int type> WF_DEVICE void widen_a(unsigned r[8])
{
    const unsigned v[4] = { r[0], r[1], r[2], r[3] };
    WF_UNROLL
    for (int i = 0; i < 8; i++) {
        r[i] = as_halves<type>(v[i / 4 * 2 + i % 2], i / 2 % 2);
    }
}

/* Columns 0 to 7: registers 0, 1 (first product), 4, 5 (second); 8 to 15: 2, 3, 6, 7.
 */
template <int type> WF_DEVICE void widen_b(unsigned r[8])
{
    const unsigned v[4] = { r[0], r[1], r[2], r[3] };
    WF_UNROLL
    for (int i = 0; i < 8; i++) {
        r[i] = as_halves<type>(v[i / 2 % 2 * 2 + i / 4], i % 2);
    }
}

WF_DEVICE void load_fragments(fragments &f,
                              wf_shared_address stage,
                              int row,
                              int column,
                              int step,
                              int lane)
{
    load_operand<BLOCK_M, WM, A_K_CONTIGUOUS, true>(f.a, stage, row, step, lane);
    load_operand<BLOCK_N, WN, B_K_CONTIGUOUS, false>(f.b, stage + BLOCK_M * LINE_BYTES,
                                                     column, step, lane);
#if IS_FP8
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        widen_a<A_TYPE>(f.a[i]);
    }
    WF_UNROLL
    for (int j = 0; j < WN; j++) {
        widen_b<B_TYPE>(f.b[j]);
    }
#endif
}

WF_DEVICE void product(gemm_sum d[4], const unsigned a[4], unsigned b0, unsigned b1)
{
#if A_TYPE == GEMM_I8
    wf_mma_16x8x32_i8(d, a, b0, b1);
#elif A_TYPE == GEMM_BF16
    wf_mma_16x8x16_bf16(d, a, b0, b1);
#else
    wf_mma_16x8x16(d, a, b0, b1);
#endif
}

WF_DEVICE void multiply(gemm_sum acc[WM][2 * WN][4], const fragments &f)
{
    WF_UNROLL
    for (int h = 0; h < PARTS; h++) {
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            WF_UNROLL
            for (int j = 0; j < WN; j++) {
                const unsigned *b = f.b[j] + 4 * h;
                product(acc[i][2 * j], f.a[i] + 4 * h, b[0], b[1]);
                product(acc[i][2 * j + 1], f.a[i] + 4 * h, b[2], b[3]);
            }
        }
    }
}

WF_DEVICE void finish(const gemm_problem &p,
                      const gemm_share &s,
                      const gemm_sum acc[WM][2 * WN][4],
                      int row,
                      int column)
{
#if SPLIT_K
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        gemm_finish_partial<2 * WN, GATE>(p, s, row + i * 16, column, acc[i][0]);
    }
#else
    constexpr int stage_bytes = GEMM_TILE_STAGE_BYTES(WM, 2 * WN);
    static_assert(WARPS_M * WARPS_N * stage_bytes <= STAGES * STAGE_BYTES, "sums meet");
    wf_copy_wait<0>();
    wf_barrier();
    gemm_finish_tile<WM, 2 * WN, GATE>(p, s.batch, row, column, acc[0][0],
                                       (unsigned char *)wf_dynamic_memory() +
                                           (wf_thread() >> 5) * stage_bytes);
#endif
}

/* All that a workgroup does of a problem. */
template <bool aligned>
WF_DEVICE void multiply_share(const gemm_problem &p, const gemm_share &s)
{
    const wf_shared_address shared = wf_dynamic_shared();
    const int lane = wf_thread() & 31;
    const int warp = wf_thread() >> 5;
    const int warp_m = warp % WARPS_M * (16 * WM);
    const int warp_n = warp / WARPS_M * WARP_COLUMNS;
    auto a = tile_of<BLOCK_M, A_K_CONTIGUOUS, aligned, false>(
        (const char *)p.a + s.batch * p.stride_a * BYTES, p.lda, s.m0, p.m, s);
    auto b = tile_of<BLOCK_N, B_K_CONTIGUOUS, aligned, GATE>(
        (const char *)p.b + s.batch * p.stride_b * BYTES, p.ldb, s.n0, p.n, s);
    const int tiles = wf_ceil_div(s.k_end - s.k_begin, BLOCK_K);
    gemm_sum acc[WM][2 * WN][4] = {};

    WF_UNROLL
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < tiles) {
            a.copy(shared + t * STAGE_BYTES);
            b.copy(shared + t * STAGE_BYTES + BLOCK_M * LINE_BYTES);
        }
        wf_copy_commit();
    }
    wf_copy_wait<STAGES - 2>();
    wf_barrier();
    wf_shared_address now = shared;
    wf_shared_address fill = shared + (STAGES - 1) * STAGE_BYTES;
    fragments f[2];
    load_fragments(f[0], now, warp_m, warp_n, 0, lane);
    WF_NO_UNROLL
    for (int t = 0; t < tiles; t++) {
        WF_UNROLL
        for (int i = 0; i < STEPS; i++) {
            if (i + 1 == STEPS) {
                /* The next tile has arrived, and nobody reads the one before this. */
                wf_copy_wait<STAGES - 2>();
                wf_barrier();
                fill = now;
                now = now + STAGE_BYTES == shared + STAGES * STAGE_BYTES
                          ? shared
                          : now + STAGE_BYTES;
            }
            load_fragments(f[(i + 1) & 1], now, warp_m, warp_n, (i + 1) % STEPS, lane);
            if (i == 0) {
                if (t + STAGES - 1 < tiles) {
                    a.copy(fill);
                    b.copy(fill + BLOCK_M * LINE_BYTES);
                }
                wf_copy_commit();
            }
            multiply(acc, f[i & 1]);
        }
    }
    finish(p, s, acc, s.m0 + warp_m, s.n0 + (GATE ? warp_n / 2 : warp_n));
}

#endif
