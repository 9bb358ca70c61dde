/* sm_90 GEMM, f16 with f32 sums: mma.m16n8k16, STAGES tiles of both operands in shared
 * memory, filled by asynchronous 16-byte copies that write zeros outside the operand.
 *
 * A k contiguous tile is stored row by row (BLOCK_K values, 128 bytes), a row
 * contiguous one k by k; in both the 16-byte chunks of a line are permuted by the low
 * three bits of its number, so that the 8 lines that ldmatrix reads together lie in
 * different banks. Row contiguous operands are turned by ldmatrix's transposing form.
 *
 * wf_gemm_f16 needs 16-byte rows (leading dimensions and batch strides are multiples of
 * 8); wf_gemm_f16_any needs nothing: it gathers element by element.
 *
 * Knobs: BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, STAGES, BLOCKS_PER_UNIT, A_K_CONTIGUOUS,
 * B_K_CONTIGUOUS, SPLIT_K (1: partial sums go to the workspace), ANY_ALIGNMENT (1: with
 * wf_gemm_f16_any). Dynamic shared memory: STAGES * (BLOCK_M + BLOCK_N) * 128 bytes. */
#include "kernels/gemm/gemm_device.h"

#define BLOCK_K     64
#define THREADS     (32 * WARPS_M * WARPS_N)
#define WM          (BLOCK_M / 16 / WARPS_M) /* 16-row blocks of a warp */
#define WN          (BLOCK_N / 16 / WARPS_N) /* 16-column blocks of a warp, two mma each */
#define STAGE_BYTES ((BLOCK_M + BLOCK_N) * BLOCK_K * 2)

/* One operand's way into shared memory. A thread copies chunk 0, and CHUNKS - 1 more
 * that lie STEP lines apart, both in memory and in the tile: since STEP is a multiple
 * of 8, the permutation is the same for all of them and addresses only advance. */
template <int rows, bool k_contiguous, bool aligned> struct tile_copier {
    static constexpr int LINE = k_contiguous ? BLOCK_K / 8 : rows / 8; /* chunks */
    static constexpr int STEP = THREADS / LINE;
    static constexpr int CHUNKS = rows * BLOCK_K / 8 / THREADS;
    static_assert(CHUNKS * THREADS * 8 == rows * BLOCK_K, "tile does not divide");
    static_assert(STEP % 8 == 0, "the permutation differs between a thread's chunks");

    const wf_half *base; /* of the workgroup's first row */
    const wf_half *next; /* chunk 0 of the next tile */
    wf_i64 ld;
    int rows_left, k_end, k0;
    int line, chunk;
    unsigned inside; /* bit i: the row of chunk i is (k contiguous) */

    WF_DEVICE_MEMBER void start(int k_begin)
    {
        line = wf_thread() / LINE;
        chunk = wf_thread() % LINE;
        k0 = k_begin;
        next = base + (k_contiguous ? line * ld + k0 + chunk * 8
                                    : (k0 + line) * ld + chunk * 8);
        inside = 0;
        WF_UNROLL
        for (int i = 0; i < CHUNKS; i++) {
            inside |= (line + i * STEP < rows_left ? 1u : 0u) << i;
        }
    }

    WF_DEVICE_MEMBER wf_u4 gather(int row, int k) const
    {
        unsigned w[4];
        WF_UNROLL
        for (int i = 0; i < 4; i++) {
            unsigned v[2];
            WF_UNROLL
            for (int j = 0; j < 2; j++) {
                const int e = 2 * i + j;
                v[j] = gemm_element<k_contiguous>(
                    base, ld, k_contiguous ? row : row + e, k_contiguous ? k + e : k,
                    rows_left, k_end);
            }
            w[i] = v[0] | v[1] << 16;
        }
        return wf_u4{ w[0], w[1], w[2], w[3] };
    }

    /* The next tile into `tile`. */
    WF_DEVICE_MEMBER void copy(wf_shared_address tile)
    {
        const wf_shared_address to = tile + (line * LINE + (chunk ^ (line & 7))) * 16;
        /* Values of a chunk that are inside the operand, in its own direction. */
        const int left = k_contiguous ? k_end - k0 - chunk * 8 : rows_left - chunk * 8;
        const int bytes = wf_max(0, wf_min(left, 8)) * 2;
        WF_UNROLL
        for (int i = 0; i < CHUNKS; i++) {
            const wf_shared_address at = to + i * (STEP * LINE * 16);
            if (!aligned) {
                wf_shared_store16(at, k_contiguous
                                          ? gather(line + i * STEP, k0 + chunk * 8)
                                          : gather(chunk * 8, k0 + line + i * STEP));
                continue;
            }
            const bool in =
                k_contiguous ? (inside >> i & 1) != 0 : k0 + line + i * STEP < k_end;
            wf_copy16_async(at, next + i * STEP * ld, in ? bytes : 0);
        }
        k0 += BLOCK_K;
        next += k_contiguous ? (wf_i64)BLOCK_K : BLOCK_K * ld;
    }
};

template <int rows, bool k_contiguous, bool aligned>
WF_DEVICE tile_copier<rows, k_contiguous, aligned> tile_of(const wf_half *operand,
                                                           wf_i64 ld,
                                                           int row0,
                                                           int row_count,
                                                           const gemm_share &s)
{
    tile_copier<rows, k_contiguous, aligned> t;
    t.base = operand + (k_contiguous ? row0 * ld : (wf_i64)row0);
    t.ld = ld;
    t.rows_left = wf_min(row_count - row0, rows);
    t.k_end = s.k_end;
    t.start(s.k_begin);
    return t;
}

/* Where a lane's ldmatrix row of the block at (row, k 0) of a k contiguous tile begins;
 * `high_k`, `high_row` say which of the block's 8x8 matrices it is. The block at k
 * differs in bits 5 and 6: exclusive or with 2 k. Blocks 16 rows on are 2048 bytes on.
 */
WF_DEVICE unsigned k_line_offset(int row, int high_row, int high_k, int lane)
{
    const int inner = lane & 7;
    return (unsigned)((row + inner + high_row * 8) * (BLOCK_K * 2) +
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
WF_DEVICE void load_operand(unsigned r[blocks][4],
                            wf_shared_address tile,
                            int row,
                            int k,
                            int lane)
{
    const int high_row = is_a ? lane >> 3 & 1 : lane >> 4;
    const int high_k = is_a ? lane >> 4 : lane >> 3 & 1;
    if (k_contiguous) {
        const wf_shared_address at =
            tile + (k_line_offset(row, high_row, high_k, lane) ^ (unsigned)(2 * k));
        WF_UNROLL
        for (int i = 0; i < blocks; i++) {
            wf_matrix_load(r[i], at + i * (16 * BLOCK_K * 2));
        }
    } else {
        WF_UNROLL
        for (int i = 0; i < blocks; i++) {
            wf_matrix_load_transposed(
                r[i],
                tile + row_line_offset<rows>(row + i * 16, k, high_row, high_k, lane));
        }
    }
}

struct fragments {
    unsigned a[WM][4];
    unsigned b[WN][4];
};

WF_DEVICE void load_fragments(fragments &f,
                              wf_shared_address stage,
                              int row,
                              int column,
                              int k,
                              int lane)
{
    load_operand<BLOCK_M, WM, A_K_CONTIGUOUS, true>(f.a, stage, row, k, lane);
    load_operand<BLOCK_N, WN, B_K_CONTIGUOUS, false>(f.b, stage + BLOCK_M * BLOCK_K * 2,
                                                     column, k, lane);
}

WF_DEVICE void multiply(float acc[WM][2 * WN][4], const fragments &f)
{
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int j = 0; j < WN; j++) {
            wf_mma_16x8x16(acc[i][2 * j], f.a[i], f.b[j][0], f.b[j][1]);
            wf_mma_16x8x16(acc[i][2 * j + 1], f.a[i], f.b[j][2], f.b[j][3]);
        }
    }
}

/* Two neighbouring results of one row; `pairs` when 4-byte stores are aligned. */
WF_DEVICE void store_pair(const gemm_problem &p,
                          const gemm_share &s,
                          int row,
                          int column,
                          const float *sum,
                          bool pairs)
{
    if (row >= p.m || column >= p.n) {
        return;
    }
#if SPLIT_K
    (void)pairs;
    float *to = gemm_partial_row(p, s, row) + column;
    to[0] = sum[0];
    if (column + 1 < p.n) {
        to[1] = sum[1];
    }
#else
    wf_half *to = gemm_d_row(p, s, row) + column;
    const wf_half *c = gemm_c_row(p, s, row) + column;
    const wf_half first = gemm_value(p, sum[0], c);
    if (column + 1 < p.n) {
        const wf_half second = gemm_value(p, sum[1], c + 1);
        if (pairs) {
            *(unsigned *)to = first | (unsigned)second << 16;
            return;
        }
        to[1] = second;
    }
    to[0] = first;
#endif
}

/* Sums to D or to the partial sums, straight from the registers. */
WF_DEVICE void store_direct(const gemm_problem &p,
                            const gemm_share &s,
                            const float acc[WM][2 * WN][4],
                            int row0,
                            int column0)
{
    const bool pairs = ((p.ldd | p.stride_d) & 1) == 0 && ((wf_i64)p.d & 3) == 0;
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int j = 0; j < 2 * WN; j++) {
            store_pair(p, s, row0 + i * 16, column0 + j * 8, acc[i][j], pairs);
            store_pair(p, s, row0 + i * 16 + 8, column0 + j * 8, acc[i][j] + 2, pairs);
        }
    }
}

/* beta = 0 and 16-byte rows of D: rounded results meet in shared memory, so that whole
 * lines are written. Rows there are padded by 16 bytes against bank conflicts. */
#define OUT_ROW (BLOCK_N + 8)

WF_DEVICE void store_staged(const gemm_problem &p,
                            const gemm_share &s,
                            const float acc[WM][2 * WN][4],
                            wf_half *tile,
                            int row0,
                            int column0)
{
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int j = 0; j < 2 * WN; j++) {
            wf_half *at = tile + (row0 + i * 16) * OUT_ROW + column0 + j * 8;
            const float *v = acc[i][j];
            *(unsigned *)at = wf_f2h_pair(p.alpha * v[0], p.alpha * v[1]);
            *(unsigned *)(at + 8 * OUT_ROW) =
                wf_f2h_pair(p.alpha * v[2], p.alpha * v[3]);
        }
    }
    wf_barrier();
    WF_UNROLL
    for (int i = 0; i < BLOCK_M * BLOCK_N / 8 / THREADS; i++) {
        const int at = wf_thread() + i * THREADS;
        const int row = at / (BLOCK_N / 8);
        const int column = at % (BLOCK_N / 8) * 8;
        if (s.m0 + row >= p.m || s.n0 + column >= p.n) {
            continue;
        }
        const wf_half *from = tile + row * OUT_ROW + column;
        wf_half *to = gemm_d_row(p, s, s.m0 + row) + s.n0 + column;
        if (s.n0 + column + 8 <= p.n) {
            *(wf_u4 *)to = *(const wf_u4 *)from;
        } else {
            for (int e = 0; s.n0 + column + e < p.n; e++) {
                to[e] = from[e];
            }
        }
    }
}

template <bool aligned> WF_DEVICE void gemm_workgroup(const gemm_problem &p)
{
    const wf_shared_address shared = wf_dynamic_shared();
    const gemm_share s = gemm_my_share(p, BLOCK_M, BLOCK_N);
    const int lane = wf_thread() & 31;
    const int warp = wf_thread() >> 5;
    const int warp_m = warp % WARPS_M * (16 * WM);
    const int warp_n = warp / WARPS_M * (16 * WN);
    auto a = tile_of<BLOCK_M, A_K_CONTIGUOUS, aligned>(p.a + s.batch * p.stride_a,
                                                       p.lda, s.m0, p.m, s);
    auto b = tile_of<BLOCK_N, B_K_CONTIGUOUS, aligned>(p.b + s.batch * p.stride_b,
                                                       p.ldb, s.n0, p.n, s);
    const int tiles = wf_ceil_div(s.k_end - s.k_begin, BLOCK_K);
    float acc[WM][2 * WN][4] = {};

    WF_UNROLL
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < tiles) {
            a.copy(shared + t * STAGE_BYTES);
            b.copy(shared + t * STAGE_BYTES + BLOCK_M * BLOCK_K * 2);
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
        for (int i = 0; i < BLOCK_K / 16; i++) {
            if (i + 1 == BLOCK_K / 16) {
                /* The next tile has arrived, and nobody reads the one before this. */
                wf_copy_wait<STAGES - 2>();
                wf_barrier();
                fill = now;
                now = now + STAGE_BYTES == shared + STAGES * STAGE_BYTES
                          ? shared
                          : now + STAGE_BYTES;
            }
            load_fragments(f[(i + 1) & 1], now, warp_m, warp_n,
                           (i + 1) % (BLOCK_K / 16) * 16, lane);
            if (i == 0) {
                if (t + STAGES - 1 < tiles) {
                    a.copy(fill);
                    b.copy(fill + BLOCK_M * BLOCK_K * 2);
                }
                wf_copy_commit();
            }
            multiply(acc, f[i & 1]);
        }
    }

    const int row0 = warp_m + lane / 4;
    const int column0 = warp_n + lane % 4 * 2;
    if (!SPLIT_K && p.beta == 0.0f && ((p.ldd | p.stride_d) & 7) == 0 &&
        ((wf_i64)p.d & 15) == 0) {
        wf_copy_wait<0>();
        wf_barrier();
        store_staged(p, s, acc, (wf_half *)wf_dynamic_memory(), row0, column0);
    } else {
        store_direct(p, s, acc, s.m0 + row0, s.n0 + column0);
    }
}

WF_KERNEL(THREADS, BLOCKS_PER_UNIT) wf_gemm_f16(GEMM_PARAMETERS)
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_workgroup<true>(p);
}

#if ANY_ALIGNMENT
WF_KERNEL(THREADS, BLOCKS_PER_UNIT) wf_gemm_f16_any(GEMM_PARAMETERS)
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_workgroup<false>(p);
}
#endif

#if SPLIT_K
WF_KERNEL(256, 4) wf_gemm_f16_sum(GEMM_PARAMETERS)
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_sum_partials(p);
}
#endif
