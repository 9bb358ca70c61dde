/* Matrix instructions by their published register layouts.
 *
 * AMD (CDNA3 manual, 7.1.4), one block of M x N x K in 64 lanes with 4 values a lane:
 *   A (i, k) and B (k, i): lane (k / 4) * M + i, slot k % 4
 *   D (i, j): with r = 64 / N, register (i / (4 r)) * 4 + i % 4, lane ((i / 4) % r) * N
 * + j NVIDIA (PTX manual, mma.m16n8k16), g = lane / 4, t = lane % 4, two values a
 * register: A (i, k): lane (i % 8) * 4 + k % 8 / 2, register i / 8 + 2 (k / 8), half k
 * % 2 B (k, j): lane j * 4 + k % 8 / 2, register k / 8, half k % 2 D (i, j): lane (i %
 * 8) * 4 + j / 2, float 2 (i / 8) + j % 2 */
#include "tests/device_kernels/lockstep_ops.h"

#include "core/dtype.h"

#include <stdint.h>
#include <string.h>

static float half_at(const unsigned char *bytes, int index)
{
    uint16_t h;
    memcpy(&h, bytes + 2 * index, sizeof h);
    return wf_f16_to_f32(h);
}

static float bfloat_at(const unsigned char *bytes, int index)
{
    uint16_t h;
    memcpy(&h, bytes + 2 * index, sizeof h);
    return wf_bf16_to_f32(h);
}

static float float_at(const unsigned char *bytes, int index)
{
    float f;
    memcpy(&f, bytes + 4 * index, sizeof f);
    return f;
}

/* Operand layout: A at 0, B at 8, C at c_offset. */
static void amd_mfma(int m,
                     int depth,
                     int c_offset,
                     unsigned char in[][LOCKSTEP_MAX_BYTES],
                     unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    const int r = 64 / m;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            const int reg = i / (4 * r) * 4 + i % 4;
            const int lane = i / 4 % r * m + j;
            double sum = float_at(in[lane] + c_offset, reg);
            for (int k = 0; k < depth; k++) {
                sum += (double)half_at(in[k / 4 * m + i], k % 4) *
                       half_at(in[k / 4 * m + j] + 8, k % 4);
            }
            const float result = (float)sum;
            memcpy(out[lane] + 4 * reg, &result, sizeof result);
        }
    }
}

/* Of any type. Operands: shape, type of A, type of B (numbers of
 * kernels/gemm/problem_device.h) at 0, A at 16, B at 24, C at 32. Sums of i8 are i32.
 */
static double amd_value(const unsigned char *bytes, int type, int index)
{
    uint16_t half;
    switch (type) {
    case 0:
        return (double)half_at(bytes, index);
    case 1:
        memcpy(&half, bytes + 2 * index, sizeof half);
        return (double)wf_bf16_to_f32(half);
    case 2:
        return (double)wf_fp8_to_f32(WF_E4M3FNUZ, bytes[index]);
    case 3:
        return (double)wf_fp8_to_f32(WF_E5M2FNUZ, bytes[index]);
    default:
        return (double)(signed char)bytes[index];
    }
}

static void amd_mfma_typed(unsigned char in[][LOCKSTEP_MAX_BYTES],
                           unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    int of[3];
    memcpy(of, in[0], sizeof of);
    const int m = of[0];
    const int slots = of[1] < 2 ? 4 : 8; /* values of a lane */
    const int r = 64 / m;
    const int c = m == 16 ? 32 : 64;
    for (int i = 0; i < m * m; i++) {
        const int row = i / m;
        const int column = i % m;
        const int reg = row / (4 * r) * 4 + row % 4;
        const int lane = row / 4 % r * m + column;
        double sum = 0;
        for (int k = 0; k < slots * r; k++) {
            sum += amd_value(in[k / slots * m + row] + 16, of[1], k % slots) *
                   amd_value(in[k / slots * m + column] + 24, of[2], k % slots);
        }
        int whole;
        memcpy(&whole, in[lane] + c + 4 * reg, sizeof whole);
        whole = (int)((unsigned)whole + (unsigned)(int)(of[1] == 4 ? sum : 0));
        const float result = (float)((double)float_at(in[lane] + c, reg) + sum);
        memcpy(out[lane] + 4 * reg, of[1] == 4 ? (const void *)&whole : &result, 4);
    }
}

/* Operand layout: A at 0 (16 bytes), B at 16, C at 24. */
static void nvidia_mma(float (*value)(const unsigned char *bytes, int index),
                       unsigned char in[][LOCKSTEP_MAX_BYTES],
                       unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 8; j++) {
            const int lane = i % 8 * 4 + j / 2;
            const int at = i / 8 * 2 + j % 2;
            double sum = float_at(in[lane] + 24, at);
            for (int k = 0; k < 16; k++) {
                const int pair = k % 8 / 2;
                sum += (double)value(in[i % 8 * 4 + pair],
                                     (i / 8 + k / 8 * 2) * 2 + k % 2) *
                       value(in[j * 4 + pair] + 16, k / 8 * 2 + k % 2);
            }
            const float result = (float)sum;
            memcpy(out[lane] + 4 * at, &result, sizeof result);
        }
    }
}

/* mma.m16n8k32 of i8, four values a register: A (i, k): lane (i % 8) * 4 + k % 16 / 4,
 * register i / 8 + 2 (k / 16), byte k % 4; B (k, j): lane j * 4 + k % 16 / 4, register
 * k / 16; D as above. */
static void nvidia_mma_i8(unsigned char in[][LOCKSTEP_MAX_BYTES],
                          unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 8; j++) {
            const int lane = i % 8 * 4 + j / 2;
            const int at = i / 8 * 2 + j % 2;
            uint32_t sum;
            memcpy(&sum, in[lane] + 24 + 4 * at, sizeof sum);
            for (int k = 0; k < 32; k++) {
                const int four = k % 16 / 4;
                const int a =
                    (signed char)in[i % 8 * 4 + four][(i / 8 + k / 16 * 2) * 4 + k % 4];
                const int b = (signed char)in[j * 4 + four][16 + k / 16 * 4 + k % 4];
                sum += (uint32_t)(a * b);
            }
            memcpy(out[lane] + 4 * at, &sum, sizeof sum);
        }
    }
}

/* Register i of lane l: values 2 (l % 4) and + 1 of row l / 4 of matrix i; transposed:
 * of column l / 4. Lane 8 i + r holds the address of row r of matrix i. */
static void nvidia_matrix_load(int transposed,
                               unsigned char in[][LOCKSTEP_MAX_BYTES],
                               unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < 4; i++) {
            for (int e = 0; e < 2; e++) {
                const int row = transposed ? l % 4 * 2 + e : l / 4;
                const int column = transposed ? l / 4 : l % 4 * 2 + e;
                unsigned long long address;
                memcpy(&address, in[8 * i + row], sizeof address);
                memcpy(out[l] + 4 * i + 2 * e,
                       (const unsigned char *)(uintptr_t)address + 2 * column, 2);
            }
        }
    }
}

static void shuffle_xor(int lanes,
                        unsigned char in[][LOCKSTEP_MAX_BYTES],
                        unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    for (int l = 0; l < lanes; l++) {
        int mask;
        memcpy(&mask, in[l] + 4, sizeof mask);
        memcpy(out[l], in[l ^ mask], 4);
    }
}

static void from_lane(int lanes,
                      unsigned char in[][LOCKSTEP_MAX_BYTES],
                      unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    for (int l = 0; l < lanes; l++) {
        int from;
        memcpy(&from, in[l] + 4, sizeof from);
        memcpy(out[l], in[from], 4);
    }
}

static void ballot(int lanes,
                   unsigned char in[][LOCKSTEP_MAX_BYTES],
                   unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    uint64_t set = 0;
    for (int l = 0; l < lanes; l++) {
        set |= (uint64_t)(in[l][0] & 1) << l;
    }
    for (int l = 0; l < lanes; l++) {
        memcpy(out[l], &set, sizeof set);
    }
}

void lockstep_compute(enum lockstep_op op,
                      int lanes,
                      unsigned char in[][LOCKSTEP_MAX_BYTES],
                      unsigned char out[][LOCKSTEP_MAX_BYTES])
{
    switch (op) {
    case LOCKSTEP_SHUFFLE_XOR:
        shuffle_xor(lanes, in, out);
        break;
    case LOCKSTEP_FROM_LANE:
        from_lane(lanes, in, out);
        break;
    case LOCKSTEP_BALLOT:
        ballot(lanes, in, out);
        break;
    case LOCKSTEP_MFMA:
        amd_mfma_typed(in, out);
        break;
    case LOCKSTEP_MFMA_16X16X16:
        amd_mfma(16, 16, 16, in, out);
        break;
    case LOCKSTEP_MMA_16X8X16:
        nvidia_mma(half_at, in, out);
        break;
    case LOCKSTEP_MMA_16X8X16_BF16:
        nvidia_mma(bfloat_at, in, out);
        break;
    case LOCKSTEP_MMA_16X8X32_I8:
        nvidia_mma_i8(in, out);
        break;
    case LOCKSTEP_MATRIX_LOAD:
    case LOCKSTEP_MATRIX_LOAD_TRANSPOSED:
        nvidia_matrix_load(op == LOCKSTEP_MATRIX_LOAD_TRANSPOSED, in, out);
        break;
    }
}
