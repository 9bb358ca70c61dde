/* Reads the operands of a matrix instruction into rows of 64 lanes, a row a slot, in
 * the type that the kernels compute with. Nothing here knows of rows, columns or blocks
 * but where the products of an output are found. */
#include "emulator/exec/mfma.h"

#include <immintrin.h>

unsigned em_mfma_bits(enum em_mfma_type type)
{
    static const uint8_t bits[] = {
        [EM_MFMA_F16] = 16,  [EM_MFMA_BF16] = 16, [EM_MFMA_F32] = 32,
        [EM_MFMA_XF32] = 32, [EM_MFMA_FP8] = 8,   [EM_MFMA_BF8] = 8,
        [EM_MFMA_I8] = 8,    [EM_MFMA_I8F] = 8,   [EM_MFMA_F64] = 64,
    };
    return bits[type];
}

static __m256i load_i(const void *from)
{
    return _mm256_loadu_si256(from);
}

static void stage_f16(const uint32_t *row, float *low, float *high)
{
    const __m256i mask = _mm256_set1_epi32(0xffff);
    for (unsigned l = 0; l < EM_LANES; l += 16) {
        __m256i x = load_i(row + l);
        __m256i y = load_i(row + l + 8);
        __m256i lo =
            _mm256_packus_epi32(_mm256_and_si256(x, mask), _mm256_and_si256(y, mask));
        __m256i hi =
            _mm256_packus_epi32(_mm256_srli_epi32(x, 16), _mm256_srli_epi32(y, 16));
        lo = _mm256_permute4x64_epi64(lo, 0xd8);
        hi = _mm256_permute4x64_epi64(hi, 0xd8);
        _mm256_store_ps(low + l, _mm256_cvtph_ps(_mm256_castsi256_si128(lo)));
        _mm256_store_ps(low + l + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(lo, 1)));
        _mm256_store_ps(high + l, _mm256_cvtph_ps(_mm256_castsi256_si128(hi)));
        _mm256_store_ps(high + l + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(hi, 1)));
    }
}

static void stage_bf16(const uint32_t *row, float *low, float *high)
{
    for (unsigned l = 0; l < EM_LANES; l++) {
        uint32_t lo = row[l] << 16;
        uint32_t hi = row[l] & UINT32_C(0xffff0000);
        memcpy(low + l, &lo, sizeof(lo));
        memcpy(high + l, &hi, sizeof(hi));
    }
}

/* What em_fp8_to_f32 does, eight lanes at a time: the byte's sign, exponent and
 * mantissa become an F32's, scaled by the difference of the biases. */
static void stage_fp8(const uint32_t *row, bool bf8, float (*ret)[EM_LANES])
{
    const __m256i shape = _mm256_set1_epi32((int)(bf8 ? 0x8fe00000 : 0x87f00000));
    const __m256i minus_zero = _mm256_set1_epi32((int)0x80000000);
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    const __m256 scale = _mm256_set1_ps(bf8 ? 0x1p111F : 0x1p119F);
    for (unsigned s = 0; s < 4; s++) {
        for (unsigned l = 0; l < EM_LANES; l += 8) {
            __m256i x = _mm256_slli_epi32(load_i(row + l), (int)(24 - 8 * s));
            x = bf8 ? _mm256_srai_epi32(x, 3) : _mm256_srai_epi32(x, 4);
            x = _mm256_and_si256(x, shape);
            __m256i is_nan = _mm256_cmpeq_epi32(x, minus_zero);
            __m256 value = _mm256_mul_ps(_mm256_castsi256_ps(x), scale);
            value = _mm256_blendv_ps(value, nan, _mm256_castsi256_ps(is_nan));
            _mm256_store_ps(ret[s] + l, value);
        }
    }
}

static void stage_i8_as_float(const uint32_t *row, float (*ret)[EM_LANES])
{
    for (unsigned s = 0; s < 4; s++) {
        for (unsigned l = 0; l < EM_LANES; l++) {
            ret[s][l] = (float)(int8_t)(row[l] >> (8 * s));
        }
    }
}

/* Bytes 0 1 and 2 3 of each lane as two values of 16 bits. */
static void stage_i8_pairs(const uint32_t *row, int32_t *low, int32_t *high)
{
    const __m256i spread =
        _mm256_setr_epi8(-1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1,
                         0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13);
    const __m256i upper =
        _mm256_setr_epi8(-1, 2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1,
                         2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15);
    for (unsigned l = 0; l < EM_LANES; l += 8) {
        __m256i x = load_i(row + l);
        __m256i lo = _mm256_srai_epi16(_mm256_shuffle_epi8(x, spread), 8);
        __m256i hi = _mm256_srai_epi16(_mm256_shuffle_epi8(x, upper), 8);
        _mm256_store_si256((void *)(low + l), lo);
        _mm256_store_si256((void *)(high + l), hi);
    }
}

static void stage_32(const uint32_t *row, uint32_t mask, bool flush, float *ret)
{
    for (unsigned l = 0; l < EM_LANES; l++) {
        uint32_t bits = row[l] & mask;
        bool denormal = flush && !(bits & UINT32_C(0x7f800000));
        bits &= denormal ? UINT32_C(0x80000000) : UINT32_MAX;
        memcpy(ret + l, &bits, sizeof(bits));
    }
}

static void stage_f64(const uint32_t *row, double *ret)
{
    for (unsigned l = 0; l < EM_LANES; l++) {
        uint64_t bits = (uint64_t)row[EM_LANES + l] << 32 | row[l];
        memcpy(ret + l, &bits, sizeof(bits));
    }
}

void em_mfma_stage(const uint32_t *rows,
                   enum em_mfma_type type,
                   unsigned slots,
                   bool flush,
                   struct em_mfma_stage *ret)
{
    unsigned in_row = type == EM_MFMA_F64 ? 1 : 32 / em_mfma_bits(type);
    ret->slots = type == EM_MFMA_I8 ? slots / 2 : slots;
    for (unsigned s = 0; s < slots; s += in_row) {
        const uint32_t *row = rows + (size_t)(s / in_row) * EM_LANES;
        switch (type) {
        case EM_MFMA_F16:
            stage_f16(row, ret->f[s], ret->f[s + 1]);
            break;
        case EM_MFMA_BF16:
            stage_bf16(row, ret->f[s], ret->f[s + 1]);
            break;
        case EM_MFMA_F32:
            stage_32(row, UINT32_MAX, flush, ret->f[s]);
            break;
        case EM_MFMA_XF32: /* cut to 10 bits behind the point */
            stage_32(row, UINT32_C(0xffffe000), false, ret->f[s]);
            break;
        case EM_MFMA_FP8:
            stage_fp8(row, false, &ret->f[s]);
            break;
        case EM_MFMA_BF8:
            stage_fp8(row, true, &ret->f[s]);
            break;
        case EM_MFMA_I8:
            stage_i8_pairs(row, ret->pair[s / 2], ret->pair[s / 2 + 1]);
            break;
        case EM_MFMA_I8F:
            stage_i8_as_float(row, &ret->f[s]);
            break;
        case EM_MFMA_F64:
            stage_f64(row, ret->d[s]);
            break;
        }
    }
}

void em_mfma_permute(struct em_mfma_stage *stage, const uint8_t map[EM_LANES])
{
    for (unsigned s = 0; s < stage->slots; s++) {
        int32_t old[EM_LANES];
        memcpy(old, stage->pair[s], sizeof(old));
        for (unsigned l = 0; l < EM_LANES; l++) {
            stage->pair[s][l] = old[map[l]];
        }
    }
}

void em_mfma_offsets(const struct em_mfma_shape *s,
                     unsigned k,
                     unsigned slots,
                     uint16_t ret[EM_MFMA_MAX_K])
{
    for (unsigned p = 0; p < k; p++) {
        unsigned group = p / slots;
        ret[p] = (uint16_t)(p % slots * EM_LANES + group * s->mn * s->blocks);
    }
}

/* Slots are a power of two. */
void em_mfma_sparse_offsets(const struct em_mfma_job *job,
                            unsigned i,
                            uint16_t ret[EM_MFMA_MAX_K])
{
    const struct em_mfma_shape *s = job->shape;
    unsigned slots_a = job->a.slots;
    unsigned slots_b = job->b.slots; /* twice as many */
    unsigned p = 0;
    for (unsigned lane = i; lane < EM_LANES; lane += s->mn) {
        uint32_t index = job->index[lane] >> job->index_shift;
        for (unsigned slot = 0; slot < slots_a; slot++, p++, index >>= 2) {
            unsigned k = p / 2 * 4 + (index & 3); /* every four of the row keep two */
            /* A lane of B holds what a lane of A stands for. */
            ret[p] = (uint16_t)((k & (slots_b - 1)) * EM_LANES + (lane - i));
        }
    }
}
