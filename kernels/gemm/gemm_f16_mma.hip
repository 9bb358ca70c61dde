/* sm_90 GEMM, f16 with f32 sums: mma.m16n8k16, STAGES tiles of both operands in shared
 * memory, filled by asynchronous 16-byte copies that write zeros outside the operand.
 *
 * A k contiguous tile is stored row by row (BLOCK_K values, 128 bytes), a row contiguous
 * one k by k; in both the 16-byte chunks of a line are permuted by the low three bits of
 * its number, so that the 8 lines that ldmatrix reads together lie in different banks.
 * Row contiguous operands are turned by ldmatrix's transposing form.
 *
 * wf_gemm_f16 needs 16-byte rows (leading dimensions and batch strides are multiples of
 * 8); wf_gemm_f16_any needs nothing: it gathers element by element.
 *
 * Knobs: BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, STAGES, BLOCKS_PER_UNIT, A_K_CONTIGUOUS,
 * B_K_CONTIGUOUS, SPLIT_K (1: partial sums go to the workspace). Dynamic shared memory:
 * STAGES * (BLOCK_M + BLOCK_N) * 128 bytes. */
#include "kernels/gemm/gemm_device.h"

#define BLOCK_K 64
#define THREADS (32 * WARPS_M * WARPS_N)
#define WM (BLOCK_M / 16 / WARPS_M) /* 16-row blocks of a warp */
#define WN (BLOCK_N / 16 / WARPS_N) /* 16-column blocks of a warp, two mma each */
#define STAGE_BYTES ((BLOCK_M + BLOCK_N) * BLOCK_K * 2)

/* One operand's way into shared memory. */
template <int rows, bool k_contiguous, bool aligned> struct tile_copier {
    static constexpr int LINE = k_contiguous ? BLOCK_K / 8 : rows / 8; /* chunks */
    static constexpr int CHUNKS = rows * BLOCK_K / 8 / THREADS;
    static_assert(CHUNKS * THREADS * 8 == rows * BLOCK_K, "tile does not divide");

    const wf_half *base; /* of the workgroup's first row */
    wf_i64 ld;
    int rows_left;
    int k_end;

    WF_DEVICE_MEMBER wf_u4 gather(int row, int k) const
    {
        unsigned w[4];
        WF_UNROLL
        for (int i = 0; i < 4; i++) {
            unsigned v[2];
            WF_UNROLL
            for (int j = 0; j < 2; j++) {
                const int e = 2 * i + j;
                v[j] = gemm_element<k_contiguous>(base, ld, k_contiguous ? row : row + e,
                                                  k_contiguous ? k + e : k, rows_left,
                                                  k_end);
            }
            w[i] = v[0] | v[1] << 16;
        }
        return wf_u4{ w[0], w[1], w[2], w[3] };
    }

    WF_DEVICE_MEMBER void copy(wf_shared_address stage, int k0) const
    {
        WF_UNROLL
        for (int i = 0; i < CHUNKS; i++) {
            const int at = wf_thread() + i * THREADS;
            const int line = at / LINE;
            const int chunk = at % LINE;
            const int row = k_contiguous ? line : chunk * 8;
            const int k = k0 + (k_contiguous ? chunk * 8 : line);
            const wf_shared_address to =
                stage + (line * LINE + (chunk ^ (line & 7))) * 16;
            if (aligned) {
                /* Values of the chunk that are inside the operand. */
                const int left = k_contiguous ? k_end - k : rows_left - row;
                const bool inside = k_contiguous ? row < rows_left : k < k_end;
                const int count = inside ? wf_max(0, wf_min(left, 8)) : 0;
                const wf_i64 offset = k_contiguous ? row * ld + k : k * ld + row;
                wf_copy16_async(to, count > 0 ? base + offset : base, count * 2);
            } else {
                wf_shared_store16(to, gather(row, k));
            }
        }
    }
};

template <int rows, bool k_contiguous, bool aligned>
WF_DEVICE tile_copier<rows, k_contiguous, aligned>
tile_of(const wf_half *operand, wf_i64 ld, int row0, int row_count, int k_end)
{
    tile_copier<rows, k_contiguous, aligned> t;
    t.base = operand + (k_contiguous ? row0 * ld : (wf_i64)row0);
    t.ld = ld;
    t.rows_left = wf_min(row_count - row0, rows);
    t.k_end = k_end;
    return t;
}

/* Fragments of 16 rows of A at (row, k): matrices (row, k) (row + 8, k) (row, k + 8)
 * (row + 8, k + 8), whose registers are the operand of one mma. */
WF_DEVICE void load_a(unsigned r[4], wf_shared_address tile, int row, int k, int lane)
{
    const int inner = lane & 7;
    const int second = lane >> 3 & 1;
    const int fourth = lane >> 4;
    if (A_K_CONTIGUOUS) {
        const int line = row + inner + second * 8;
        const int chunk = k / 8 + fourth;
        wf_matrix_load(r, tile + (line * (BLOCK_K / 8) + (chunk ^ (line & 7))) * 16);
    } else {
        const int line = k + inner + fourth * 8;
        const int chunk = row / 8 + second;
        wf_matrix_load_transposed(
            r, tile + (line * (BLOCK_M / 8) + (chunk ^ (line & 7))) * 16);
    }
}

/* Fragments of 16 columns of B: registers 0, 1 are the operand of columns 0 to 7, 2, 3
 * that of 8 to 15. */
WF_DEVICE void load_b(unsigned r[4], wf_shared_address tile, int column, int k, int lane)
{
    const int inner = lane & 7;
    const int second = lane >> 3 & 1;
    const int fourth = lane >> 4;
    if (B_K_CONTIGUOUS) {
        const int line = column + inner + fourth * 8;
        const int chunk = k / 8 + second;
        wf_matrix_load(r, tile + (line * (BLOCK_K / 8) + (chunk ^ (line & 7))) * 16);
    } else {
        const int line = k + inner + second * 8;
        const int chunk = column / 8 + fourth;
        wf_matrix_load_transposed(
            r, tile + (line * (BLOCK_N / 8) + (chunk ^ (line & 7))) * 16);
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
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        load_a(f.a[i], stage, row + i * 16, k, lane);
    }
    WF_UNROLL
    for (int j = 0; j < WN; j++) {
        load_b(f.b[j], stage + BLOCK_M * BLOCK_K * 2, column + j * 16, k, lane);
    }
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

template <bool aligned>
WF_DEVICE void gemm_workgroup(const gemm_problem &p, wf_shared_address shared)
{
    const gemm_share s = gemm_my_share(p, BLOCK_M, BLOCK_N);
    const int lane = wf_thread() & 31;
    const int warp = wf_thread() >> 5;
    const int warp_m = warp % WARPS_M * (16 * WM);
    const int warp_n = warp / WARPS_M * (16 * WN);
    const auto a = tile_of<BLOCK_M, A_K_CONTIGUOUS, aligned>(
        p.a + s.batch * p.stride_a, p.lda, s.m0, p.m, s.k_end);
    const auto b = tile_of<BLOCK_N, B_K_CONTIGUOUS, aligned>(
        p.b + s.batch * p.stride_b, p.ldb, s.n0, p.n, s.k_end);
    const int tiles = wf_ceil_div(s.k_end - s.k_begin, BLOCK_K);
    float acc[WM][2 * WN][4] = {};

    WF_UNROLL
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < tiles) {
            const wf_shared_address stage = shared + t * STAGE_BYTES;
            a.copy(stage, s.k_begin + t * BLOCK_K);
            b.copy(stage + BLOCK_M * BLOCK_K * 2, s.k_begin + t * BLOCK_K);
        }
        wf_copy_commit();
    }
    int now = 0;
    int next = STAGES - 1;
    fragments f[2];
    WF_NO_UNROLL
    for (int t = 0; t < tiles; t++) {
        wf_copy_wait<STAGES - 2>();
        wf_barrier();
        const wf_shared_address stage = shared + now * STAGE_BYTES;
        load_fragments(f[0], stage, warp_m, warp_n, 0, lane);
        if (t + STAGES - 1 < tiles) {
            const wf_shared_address to = shared + next * STAGE_BYTES;
            const int k0 = s.k_begin + (t + STAGES - 1) * BLOCK_K;
            a.copy(to, k0);
            b.copy(to + BLOCK_M * BLOCK_K * 2, k0);
        }
        wf_copy_commit();
        WF_UNROLL
        for (int i = 0; i < BLOCK_K / 16; i++) {
            if (i + 1 < BLOCK_K / 16) {
                load_fragments(f[(i + 1) & 1], stage, warp_m, warp_n, (i + 1) * 16, lane);
            }
            multiply(acc, f[i & 1]);
        }
        now = now + 1 == STAGES ? 0 : now + 1;
        next = next + 1 == STAGES ? 0 : next + 1;
    }

    const bool pairs = ((p.ldd | p.stride_d) & 1) == 0;
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int j = 0; j < 2 * WN; j++) {
            const int row = s.m0 + warp_m + i * 16 + lane / 4;
            const int column = s.n0 + warp_n + j * 8 + lane % 4 * 2;
            store_pair(p, s, row, column, acc[i][j], pairs);
            store_pair(p, s, row + 8, column, acc[i][j] + 2, pairs);
        }
    }
}

WF_KERNEL(THREADS, BLOCKS_PER_UNIT) wf_gemm_f16(GEMM_PARAMETERS)
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_workgroup<true>(p, wf_dynamic_shared());
}

WF_KERNEL(THREADS, BLOCKS_PER_UNIT) wf_gemm_f16_any(GEMM_PARAMETERS)
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_workgroup<false>(p, wf_dynamic_shared());
}

#if SPLIT_K
WF_KERNEL(256, 4) wf_gemm_f16_sum(GEMM_PARAMETERS)
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_sum_partials(p);
}
#endif
