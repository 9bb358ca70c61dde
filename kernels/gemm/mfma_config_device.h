/* gfx942: what the compiler knows of a matrix product's tiles, and where a tile's bytes
 * lie in LDS. mfma_tile_device.h has what is done with it. */
#ifndef WF_KERNELS_GEMM_MFMA_CONFIG_DEVICE_H
#define WF_KERNELS_GEMM_MFMA_CONFIG_DEVICE_H

#include "kernels/gemm/problem_device.h"

constexpr int mfma_bytes_of(int type)
{
    return type == GEMM_F16 || type == GEMM_BF16 ? 2 : 1;
}

constexpr bool mfma_is_power_of_two(int v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

template <int shape, bool whole> struct mfma_accumulator;
template <> struct mfma_accumulator<16, false> {
    typedef wf_f32x4 type;
};
template <> struct mfma_accumulator<32, false> {
    typedef wf_f32x16 type;
};
template <> struct mfma_accumulator<16, true> {
    typedef wf_i32x4 type;
};
template <> struct mfma_accumulator<32, true> {
    typedef wf_i32x16 type;
};

/* block_m x block_n of D by waves_m x waves_n waves, block_k of k a tile.
 *
 *   shape      16 or 32: the matrix instruction's rows and columns
 *   a_type     and b_type: GEMM_TYPE numbers
 *   a_k, b_k   neighbours in k are neighbours in memory
 *   stages     tiles in LDS, 1 or 2
 *   pad        bytes behind each row in LDS; 0: rows are permuted instead
 *   gate       B's tile is gate columns and the up columns that belong to them
 *   stream     operands are loaded with `nt`
 *   iglp       0, 1: as wf_interleave; -1: left to the compiler
 *   priority   matrix instructions run at a higher priority
 *   ahead      the next tile's first fragments are read behind the last products
 *   order      of reads: 0 A then B; 1 one block of A, B, the rest of A, so that the
 *              first products wait for few of them
 *   unroll     pairs of tiles in the loop's body, with two stages */
template <int block_m,
          int block_n,
          int block_k,
          int waves_m,
          int waves_n,
          int shape,
          int a_type,
          int b_type,
          bool a_k,
          bool b_k,
          int stages,
          int pad,
          bool gate,
          bool stream,
          int iglp,
          bool priority,
          bool ahead,
          int order = 0,
          int unroll = 1>
struct mfma_config {
    static constexpr int BM = block_m, BN = block_n, BK = block_k;
    static constexpr int WAVES_OF_M = waves_m, WAVES_OF_N = waves_n;
    static constexpr int THREADS_ALL = 64 * waves_m * waves_n;
    static constexpr int SHAPE = shape;
    static constexpr int TYPE_A = a_type, TYPE_B = b_type;
    static constexpr bool KA = a_k, KB = b_k;
    static constexpr int LDS_STAGES = stages;
    static constexpr bool IS_GATE = gate, IS_STREAM = stream, IS_PRIORITY = priority,
                          READS_AHEAD = ahead;
    static constexpr int IGLP_MODE = iglp;
    static constexpr int ORDER = order, PAIRS_UNROLLED = unroll;
    static constexpr int ELEMENT = mfma_bytes_of(a_type);
    static constexpr int ROW_BYTES = block_k * ELEMENT;
    static constexpr int PAD = pad;
    static constexpr int PITCH = ROW_BYTES + pad;
    static constexpr int READ_BYTES =
        shape == 16 ? 64 : 32;                           /* of a row, a wave's read */
    static constexpr int WM = block_m / waves_m / shape; /* blocks of a wave */
    static constexpr int WN = block_n / waves_n / shape;
    static constexpr bool ROWS_OF_32 = shape == 32 && ROW_BYTES > 64 && a_k &&b_k;
    static constexpr int A_BYTES = block_m * PITCH, B_BYTES = block_n * PITCH;
    static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
    static constexpr bool IS_WHOLE = a_type == GEMM_I8;
    typedef typename mfma_accumulator<shape, IS_WHOLE>::type accumulator;

    static_assert(shape == 16 || shape == 32, "MFMA is 16 or 32");
    static_assert(a_type >= GEMM_F16 && a_type <= GEMM_I8 && b_type >= GEMM_F16 &&
                      b_type <= GEMM_I8,
                  "A_TYPE and B_TYPE are f16, bf16, fnuz fp8 or i8");
    static_assert(mfma_bytes_of(a_type) == mfma_bytes_of(b_type) &&
                      (a_type == b_type || (a_type >= GEMM_E4M3FNUZ &&
                                            a_type < GEMM_I8 && b_type < GEMM_I8)),
                  "A_TYPE and B_TYPE are equal or both fp8");
    static_assert(waves_m > 0 && waves_n > 0 && THREADS_ALL <= 1024,
                  "a workgroup has 1 to 16 waves");
    static_assert(WM > 0 && WM * waves_m * shape == block_m,
                  "BLOCK_M is not a multiple of WAVES_M * MFMA");
    static_assert(WN > 0 && WN * waves_n * shape == block_n,
                  "BLOCK_N is not a multiple of WAVES_N * MFMA");
    static_assert(ROW_BYTES == 64 || ROW_BYTES == 128 || ROW_BYTES == 256,
                  "BLOCK_K is 64, 128 or 256 bytes");
    static_assert(pad >= 0 && pad % 16 == 0, "LDS_PAD is a multiple of 16");
    static_assert(stages == 1 || stages == 2, "STAGES is 1 or 2");
    static_assert(stages * STAGE_BYTES <= 65536, "the tiles do not fit into LDS");
    static_assert(iglp >= -1 && iglp <= 2, "IGLP is -1, 0, 1 or 2");
    static_assert(iglp != 1 || !ahead, "clang does not end on IGLP 1 with READ_AHEAD");
    static_assert(!ahead || stages == 2, "READ_AHEAD needs two stages");
    static_assert(order == 0 || order == 1, "READ_ORDER is 0 or 1");
    static_assert(unroll == 1 || (unroll == 2 && stages == 2),
                  "UNROLL is 1, or 2 with two stages");
    static_assert(!gate || b_k, "a gated B is transposed");
    static_assert(!gate || (WN % 2 == 0 && mfma_is_power_of_two(WN)),
                  "a gated wave has 2, 4, 8 or 16 blocks of columns");
};

/* Byte `byte` of row `row` of a tile. Permuted so that 8 neighbouring rows, and rows 8
 * or 16 apart, lie in other banks: reads of 16 bytes, and the writes of both ways of
 * storing, have no bank conflicts. rows_of_32: a read takes 32 neighbouring rows, and
 * nothing is written across rows (rows 16 apart then must not change places). Adding
 * multiples of 32 rows adds multiples of 32 pitches. */
template <int row_bytes, int pad, bool rows_of_32 = false>
WF_DEVICE int mfma_lds_at(int row, int byte)
{
    const int at = row * (row_bytes + pad) + byte;
    if (pad != 0) {
        return at;
    }
    const int far = (row >> 3 ^ (rows_of_32 ? 0 : row >> 4)) & 1;
    if (row_bytes == 64) {
        return at ^ (row >> 1 & 3) << 4 ^ ((row >> 2 & 1) ^ far) << 6;
    }
    return at ^ (row & 7) << 4 ^ far << 6;
}

/* Where a wave's rows of A and B begin in the tiles. */
template <class config> WF_DEVICE int mfma_wave_m()
{
    const unsigned wave = (unsigned)wf_uniform(wf_thread() >> 6);
    return (int)(wave % config::WAVES_OF_M) * config::WM * config::SHAPE;
}

template <class config> WF_DEVICE int mfma_wave_n()
{
    const unsigned wave = (unsigned)wf_uniform(wf_thread() >> 6);
    return (int)(wave / config::WAVES_OF_M) * config::WN * config::SHAPE;
}

#endif
