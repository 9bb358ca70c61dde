/* Skinny GEMM on gfx942: a few rows of A (decode) against weights that are read once.
 *
 * Every wave streams its own columns of op(B) and its own range of k from memory to
 * registers, in 16-byte loads, PREFETCH units ahead: nothing in the loop waits for
 * another wave, and no LDS lies in between. A unit is 64 bytes of k: of A, and of B
 * stored [N][K], lane 16 q + r reads bytes 16 q .. 16 q + 15 of row r. These 16 bytes
 * feed two matrix instructions; the order of k inside a unit is the same for both
 * operands, which is all that a sum needs. The weights are the instructions' first
 * operand: a lane then holds four neighbouring columns of one row of D.
 *
 * B stored [K][N] (f16, bf16): lane 16 q + r reads eight neighbouring columns of the
 * rows 8 q .. 8 q + 7, and 2 x 2 transposes in registers make the operands, four vector
 * instructions for a KB. A wave has 128 columns there, and N is at least 8: the last
 * eight columns are read again where a lane's would reach over the edge.
 *
 * Rows that are not there, and units behind the end, are out of the buffer's range: no
 * memory is touched. The last K % 64 bytes are loaded element by element, behind the
 * loop. Rows start at any element: gfx942 loads 16 bytes from any address.
 *
 * Leading dimensions are below 2^22 (`supports`): offsets in a wave's window fit 32
 * bits. */
#ifndef WF_KERNELS_GEMM_SKINNY_DEVICE_H
#define WF_KERNELS_GEMM_SKINNY_DEVICE_H

#include "kernels/gemm/skinny_types_device.h"

#ifndef GATE
#define GATE 0
#endif

static_assert(BLOCK_M == 16 || BLOCK_M == 32 || BLOCK_M == 48 || BLOCK_M == 64,
              "BLOCK_M: 16, 32, 48 or 64");
static_assert(B_K_CONTIGUOUS || ELEMENT_BYTES == 2, "B [K][N]: 16-bit elements only");
static_assert(B_K_CONTIGUOUS || !GATE, "gate: B [N][K] only");

#define WAVES     (WAVES_N * WAVES_K)
#define ROW_TILES (BLOCK_M / 16)
/* Columns of op(B) of a wave, in blocks of 16; with GATE the first half is the gate's.
 */
#define BLOCKS    (BLOCK_N * (1 + GATE) / WAVES_N / 16)
/* 16-byte loads of B of a unit. */
#define B_LOADS   (B_K_CONTIGUOUS ? BLOCKS : 8 * (BLOCKS / 8))
#define UNIT_K    (64 / ELEMENT_BYTES)
/* A sum of one block depends on the one before: two, where nothing lies in between. */
#define CHAINS    (ROW_TILES * BLOCKS == 1 ? 2 : 1)

static_assert(BLOCK_N % (16 * WAVES_N) == 0, "BLOCK_N: whole blocks of 16 a wave");
static_assert(B_K_CONTIGUOUS || BLOCKS % 8 == 0, "B [K][N]: 128 columns a wave");
static_assert(WAVES >= 1 && WAVES <= 16, "WAVES_N * WAVES_K: 1 to 16");
static_assert(PREFETCH >= 1 && PREFETCH * (ROW_TILES + B_LOADS) <= 63,
              "PREFETCH: more loads in flight than vmcnt can count");
static_assert(WAVES * BLOCKS <= 64, "sums of one row of blocks fit LDS");

/* What a wave multiplies: its rows and columns in [k_begin, k_end). */
struct skinny_operands {
    const unsigned char *a;           /* row 0, k = 0 */
    const unsigned char *b[1 + GATE]; /* the wave's first column, k = 0 */
    unsigned a_bytes, b_bytes[1 + GATE];
    int a_at[ROW_TILES]; /* this lane's bytes of a unit, from a */
    int b_at[B_LOADS];
    int k_bytes; /* where the loads are, uniform */
    int ldb_bytes;
};

struct skinny_unit {
    wf_u4 a[ROW_TILES];
    wf_u4 b[B_LOADS];
};

struct skinny_sums {
    skinny_sum at[CHAINS][ROW_TILES][BLOCKS];
};

/* Bytes of `rows` rows of `length` elements; 0: none. */
WF_DEVICE unsigned skinny_window(int rows, int limit, int ld_bytes, int length)
{
    const int count = wf_min(rows, limit);
    return count <= 0 ? 0
                      : (unsigned)(count - 1) * (unsigned)ld_bytes +
                            (unsigned)length * ELEMENT_BYTES;
}

/* A lane's four neighbouring columns of a row of D: from `first` on, of which `skip`
 * belong to another lane, and `count` end where D does. */
struct skinny_columns {
    int first, skip, count;
};

/* Those of block `block` of the wave whose first column is n0; of the gate's half where
 * there is one. */
WF_DEVICE skinny_columns skinny_columns_of(int n, int n0, int block, int quad)
{
#if B_K_CONTIGUOUS
    const int first = n0 + 16 * block + 4 * quad;
    return { first, 0, wf_min(n - first, 4) };
#else
    const int eight = n0 + block / 8 * 128 + 32 * quad + block % 8 / 2 * 8;
    const int first = wf_min(eight, n - 8) + block % 2 * 4;
    return { first, eight - first, 4 };
#endif
}

WF_DEVICE skinny_operands
skinny_operands_of(const gemm_problem &p, int batch, int n0, int k_begin, int k_end)
{
    const int lane = wf_thread() & 63;
    const int row = lane & 15;
    const int quad = lane >> 4;
    const int lda = (int)p.lda * ELEMENT_BYTES;
    const int ldb = (int)p.ldb * ELEMENT_BYTES;
    skinny_operands o;
    o.a = (const unsigned char *)p.a +
          (wf_u64)((unsigned)batch * p.stride_a) * ELEMENT_BYTES;
    o.a_bytes = skinny_window(p.m, BLOCK_M, lda, k_end);
    o.k_bytes = k_begin * ELEMENT_BYTES;
    o.ldb_bytes = ldb;
    const unsigned char *b = (const unsigned char *)p.b +
                             (wf_u64)((unsigned)batch * p.stride_b) * ELEMENT_BYTES;
    WF_UNROLL
    for (int i = 0; i < ROW_TILES; i++) {
        o.a_at[i] = (16 * i + row) * lda + 16 * quad;
    }
#if B_K_CONTIGUOUS
    WF_UNROLL
    for (int g = 0; g <= GATE; g++) {
        o.b[g] =
            b + ((wf_u64)(unsigned)g * (unsigned)p.n + (unsigned)n0) * (unsigned)ldb;
        o.b_bytes[g] = skinny_window(p.n - n0, 16 * BLOCKS / (1 + GATE), ldb, k_end);
    }
    WF_UNROLL
    for (int i = 0; i < B_LOADS; i++) {
        o.b_at[i] = (16 * (i % (BLOCKS / (1 + GATE))) + row) * ldb + 16 * quad;
    }
#else
    o.b[0] = b + (wf_u64)(unsigned)k_begin * (unsigned)ldb;
    o.b_bytes[0] =
        n0 < p.n ? skinny_window(PREFETCH * UNIT_K, PREFETCH * UNIT_K, ldb, p.n) : 0;
    WF_UNROLL
    for (int i = 0; i < B_LOADS; i++) {
        const int column = wf_min(n0 + i / 8 * 128 + 8 * row, p.n - 8);
        o.b_at[i] = (8 * quad + i % 8) * ldb + column * ELEMENT_BYTES;
    }
#endif
    return o;
}

/* v, or 0 where the unit is not there. Decided here and not earlier: the compiler would
 * keep a descriptor for each unit in scalar registers. */
WF_DEVICE unsigned skinny_if(bool there, unsigned v)
{
    if (__builtin_constant_p(there)) {
        return there ? v : 0;
    }
    unsigned chosen = there ? v : 0;
    __asm__ volatile("" : "+s"(chosen));
    return chosen;
}

/* A window is never smaller than the uniform offset into it: an empty one goes with
 * offset 0. (The manual subtracts the offset from the window and compares without
 * sign.)
 *
 * Load `j` of unit `i` behind where the loads are; zeros where that is not there. */
WF_DEVICE void skinny_fetch_weights(skinny_unit &u,
                                    const skinny_operands &o,
                                    int j,
                                    int i,
                                    bool there)
{
#if B_K_CONTIGUOUS
    const int half = j / (BLOCKS / (1 + GATE));
    const wf_buffer b = wf_buffer_make(o.b[half], skinny_if(there, o.b_bytes[half]));
    u.b[j] = skinny_load_weights(b, o.b_at[j] + i * 64,
                                 (int)skinny_if(there, (unsigned)o.k_bytes));
#else
    const wf_buffer b = wf_buffer_make(o.b[0], skinny_if(there, o.b_bytes[0]));
    u.b[j] = skinny_load_weights(
        b, o.b_at[j], (int)skinny_if(there, (unsigned)(i * UNIT_K * o.ldb_bytes)));
#endif
}

WF_DEVICE void skinny_fetch_rows(skinny_unit &u,
                                 const skinny_operands &o,
                                 int j,
                                 int i,
                                 bool there)
{
    const wf_buffer a = wf_buffer_make(o.a, skinny_if(there, o.a_bytes));
    u.a[j] = wf_buffer_load16(a, o.a_at[j] + i * 64,
                              (int)skinny_if(there, (unsigned)o.k_bytes));
}

WF_DEVICE void skinny_fetch(skinny_unit &u, const skinny_operands &o, int i, bool there)
{
    WF_UNROLL
    for (int j = 0; j < B_LOADS; j++) {
        skinny_fetch_weights(u, o, j, i, there);
    }
    WF_UNROLL
    for (int j = 0; j < ROW_TILES; j++) {
        skinny_fetch_rows(u, o, j, i, there);
    }
}

WF_DEVICE void skinny_advance(skinny_operands &o, int units)
{
    o.k_bytes += units * 64;
#if !B_K_CONTIGUOUS
    o.b[0] += (wf_u64)(unsigned)(units * UNIT_K) * (unsigned)o.ldb_bytes;
#endif
}

WF_DEVICE wf_u2 skinny_half(const wf_u4 &v, int half)
{
    return half ? wf_u2{ v.z, v.w } : wf_u2{ v.x, v.y };
}

/* The weights of block `block` for one matrix instruction. */
WF_DEVICE wf_u2 skinny_weights(const skinny_unit &u, int block, int half)
{
#if B_K_CONTIGUOUS
    return skinny_half(u.b[block], half);
#else
    const wf_u4 *rows = &u.b[block / 8 * 8 + 4 * half];
    const int pair = block % 8 / 2;
    unsigned r[4];
    WF_UNROLL
    for (int i = 0; i < 4; i++) {
        const unsigned words[4] = { rows[i].x, rows[i].y, rows[i].z, rows[i].w };
        r[i] = words[pair];
    }
    return block % 2 ? wf_u2{ wf_pack_high(r[0], r[1]), wf_pack_high(r[2], r[3]) }
                     : wf_u2{ wf_pack_low(r[0], r[1]), wf_pack_low(r[2], r[3]) };
#endif
}

/* The compiler moves nothing across: loads stay where they are issued. */
WF_DEVICE void skinny_stay()
{
    __builtin_amdgcn_sched_barrier(0);
}

/* Loads of weights behind block `block` of half `half`: into registers that nothing
 * needs any more. Transposes are one block ahead. */
WF_DEVICE void skinny_fetch_used_weights(skinny_unit &u,
                                         const skinny_operands &o,
                                         int half,
                                         int block,
                                         int i,
                                         bool there)
{
    if (half == 0) {
        return;
    }
#if B_K_CONTIGUOUS
    skinny_fetch_weights(u, o, block, i, there);
#else
    const int row = block % 8;
    const int first = block / 8 * 8;
    if (row < 4) {
        skinny_fetch_weights(u, o, first + row, i, there);
    }
    if (row == 7) {
        WF_UNROLL
        for (int j = 4; j < 8; j++) {
            skinny_fetch_weights(u, o, first + j, i, there);
        }
    }
#endif
}

/* One block's matrix instructions; the last block frees the rows of A. */
template <bool fetch>
WF_DEVICE void skinny_multiply_block(skinny_unit &u,
                                     skinny_sums &sums,
                                     const skinny_operands &o,
                                     wf_u2 weights,
                                     int step,
                                     int i,
                                     bool there)
{
    const int half = step / BLOCKS;
    const int block = step % BLOCKS;
    WF_UNROLL
    for (int row = 0; row < ROW_TILES; row++) {
        skinny_sum &s = sums.at[half % CHAINS][row][block];
        s = wf_mfma<B_TYPE, A_TYPE>(weights, skinny_half(u.a[row], half), s);
        if (fetch && step == 2 * BLOCKS - 1) {
            skinny_stay();
            skinny_fetch_rows(u, o, row, i, there);
        }
    }
    if (fetch) {
        skinny_fetch_used_weights(u, o, half, block, i, there);
        skinny_stay();
    }
}

/* sums += the unit's product. `fetch`: each of its registers gets what comes PREFETCH
 * units later as soon as nothing needs it, between the matrix instructions. */
template <bool fetch>
WF_DEVICE void skinny_multiply(skinny_unit &u,
                               skinny_sums &sums,
                               const skinny_operands &o,
                               int i,
                               bool there)
{
    wf_u2 weights = skinny_weights(u, 0, 0);
    WF_UNROLL
    for (int step = 0; step < 2 * BLOCKS; step++) {
        const wf_u2 now = weights;
        if (step + 1 < 2 * BLOCKS) {
            weights = skinny_weights(u, (step + 1) % BLOCKS, (step + 1) / BLOCKS);
        }
        if (fetch && !B_K_CONTIGUOUS) {
            skinny_stay();
        }
        skinny_multiply_block<fetch>(u, sums, o, now, step, i, there);
    }
}

/* All whole units. Loads of a turn are those of PREFETCH units later. */
WF_DEVICE void skinny_whole_units(skinny_operands &o, skinny_sums &sums, int units)
{
    skinny_unit ring[PREFETCH];
    WF_UNROLL
    for (int i = 0; i < PREFETCH; i++) {
        skinny_fetch(ring[i], o, i, i < units);
        skinny_stay();
    }
    skinny_advance(o, PREFETCH);
    WF_NO_UNROLL
    for (; units >= 2 * PREFETCH; units -= PREFETCH) {
        WF_UNROLL
        for (int i = 0; i < PREFETCH; i++) {
            skinny_multiply<true>(ring[i], sums, o, i, true);
        }
        skinny_advance(o, PREFETCH);
    }
    if (units > PREFETCH) {
        WF_UNROLL
        for (int i = 0; i < PREFETCH; i++) {
            skinny_multiply<true>(ring[i], sums, o, i, i < units - PREFETCH);
        }
        skinny_advance(o, PREFETCH);
    }
    WF_UNROLL
    for (int i = 0; i < PREFETCH; i++) {
        skinny_multiply<false>(ring[i], sums, o, i, false);
    }
}

/* 16 bytes of a row, element by element: `left` elements of it are there. */
WF_DEVICE wf_u4 skinny_load_edge(wf_buffer buffer, int at, int left)
{
    unsigned v[4] = { 0, 0, 0, 0 };
    WF_UNROLL
    for (int e = 0; e < 16 / ELEMENT_BYTES; e++) {
        const unsigned value =
            skinny_load_element(buffer, e < left ? at + e * ELEMENT_BYTES : -1);
        v[e * ELEMENT_BYTES / 4] |= value << e * ELEMENT_BYTES % 4 * 8;
    }
    return wf_u4{ v[0], v[1], v[2], v[3] };
}

/* The last `left` elements of k, less than a unit. */
WF_DEVICE void skinny_partial_unit(const skinny_operands &o,
                                   skinny_sums &sums,
                                   int left)
{
    const int lane_left = left - (wf_thread() >> 4 & 3) * (16 / ELEMENT_BYTES);
    skinny_unit u;
    WF_UNROLL
    for (int j = 0; j < ROW_TILES; j++) {
        u.a[j] = skinny_load_edge(wf_buffer_make(o.a, o.a_bytes), o.a_at[j] + o.k_bytes,
                                  lane_left);
    }
    WF_UNROLL
    for (int j = 0; j < B_LOADS; j++) {
#if B_K_CONTIGUOUS
        const int half = j / (BLOCKS / (1 + GATE));
        u.b[j] = skinny_load_edge(wf_buffer_make(o.b[half], o.b_bytes[half]),
                                  o.b_at[j] + o.k_bytes, lane_left);
#else
        const wf_buffer b = wf_buffer_make(o.b[0], o.b_bytes[0]);
        u.b[j] = skinny_load_weights(b, j % 8 < lane_left ? o.b_at[j] : -1, 0);
#endif
    }
    skinny_multiply<false>(u, sums, o, 0, false);
}

/* The wave's product of columns from n0 over [k_begin, k_end), in sums.at[0]. */
WF_DEVICE void skinny_product(const gemm_problem &p,
                              int batch,
                              int n0,
                              int k_begin,
                              int k_end,
                              skinny_sums &sums)
{
    WF_UNROLL
    for (int c = 0; c < CHAINS; c++) {
        WF_UNROLL
        for (int i = 0; i < ROW_TILES; i++) {
            WF_UNROLL
            for (int j = 0; j < BLOCKS; j++) {
                sums.at[c][i][j] = (skinny_sum)(0);
            }
        }
    }
    if (k_begin >= k_end || n0 >= p.n || p.m <= 0) {
        return;
    }
    skinny_operands o = skinny_operands_of(p, batch, n0, k_begin, k_end);
    skinny_operands edge = o;
    const int units = (k_end - k_begin) / UNIT_K;
    const int left = (k_end - k_begin) % UNIT_K;
    if (units > 0) {
        skinny_whole_units(o, sums, units);
        skinny_advance(edge, units);
    }
    if (left > 0) {
        skinny_partial_unit(edge, sums, left);
    }
    if (CHAINS == 2) {
        sums.at[0][0][0] += sums.at[CHAINS - 1][0][0];
    }
}

/* Four neighbouring columns of the sums (skinny_columns_of), of one row a lane. */
WF_DEVICE skinny_sum skinny_four_sums(const skinny_sums &sums, int row_tile, int block)
{
#if B_K_CONTIGUOUS
    return sums.at[0][row_tile][block];
#else
    const skinny_sum *eight = &sums.at[0][row_tile][block / 8 * 8 + block % 2 * 4];
    const int e = block % 8 / 2;
    return { eight[0][e], eight[1][e], eight[2][e], eight[3][e] };
#endif
}

#endif
