/* Conversions to and from 8-bit floats and integers, and to normalised 16-bit integers
 * (-1..1 as -32767..32767, 0..1 as 0..65535; nearest even, NaN to 0, whatever MODE
 * says).
 */
#include "emulator/exec/fp8.h"
#include "emulator/exec/valu_float.h"

/* --- 8-bit floats: infinities are NaN, see fp8.h --- */

/* Nearest even, of eight lanes. Beyond the largest value (after rounding): the largest
 * of that sign where `saturate`, else NaN. What rounds to zero is +0. */
EM_INLINE __m256i to_fp8(__m256 v, bool bf8, bool saturate)
{
    const int drop = bf8 ? 21 : 20, bias = (bf8 ? 16 : 8) - 127;
    const __m256i magnitude_mask = _mm256_set1_epi32(0x7fffffff);
    __m256i bits = _mm256_castps_si256(v);
    __m256i magnitude = _mm256_and_si256(bits, magnitude_mask);
    __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(bits, 31), 7);
    /* Normal: half of the last place, less one where it is even, and the other bias. */
    __m256i odd =
        _mm256_and_si256(_mm256_srli_epi32(magnitude, drop), _mm256_set1_epi32(1));
    __m256i code = _mm256_add_epi32(magnitude, odd);
    code = _mm256_add_epi32(code, _mm256_set1_epi32((1 << (drop - 1)) - 1));
    code = _mm256_add_epi32(code, _mm256_set1_epi32(bias * (1 << 23)));
    code = _mm256_srli_epi32(code, drop);
    /* Denormal: the last place of this sum is that of the denormals. */
    __m256 magic = _mm256_set1_ps(bf8 ? 0x1p6F : 0x1p13F);
    __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(magnitude), magic);
    __m256i denormal =
        _mm256_sub_epi32(_mm256_castps_si256(sum), _mm256_castps_si256(magic));
    __m256i normal_from = _mm256_set1_epi32((1 - bias) << 23);
    code =
        _mm256_blendv_epi8(code, denormal, _mm256_cmpgt_epi32(normal_from, magnitude));
    __m256i zero = _mm256_cmpeq_epi32(code, _mm256_setzero_si256());
    code = _mm256_or_si256(code, _mm256_andnot_si256(zero, sign));
    /* Beyond these it rounds to more than the largest, 0x7f: from 248, from 61440. */
    __m256i most = _mm256_set1_epi32(bf8 ? 0x476fffff : 0x4377ffff);
    __m256i over = _mm256_cmpgt_epi32(magnitude, most);
    __m256i largest = _mm256_or_si256(sign, _mm256_set1_epi32(0x7f));
    __m256i nan = _mm256_set1_epi32(0x80);
    code = _mm256_blendv_epi8(code, saturate ? largest : nan, over);
    __m256i special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7fffff));
    return _mm256_blendv_epi8(code, nan, special);
}

EM_INLINE void each_pk_to8(struct em_rows *r, bool bf8)
{
    bool saturate = (r->mode & EM_MODE_FP16_OVFL) != 0;
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i low = to_fp8(em_get_f32(r->s[0][0], i), bf8, saturate);
        __m256i high = to_fp8(em_get_f32(r->s[1][0], i), bf8, saturate);
        em_put8(r->d[0], i, _mm256_or_si256(low, _mm256_slli_epi32(high, 8)));
    }
}

void em_row_cvt_pk_fp8(struct em_rows *r)
{
    each_pk_to8(r, false);
}

void em_row_cvt_pk_bf8(struct em_rows *r)
{
    each_pk_to8(r, true);
}

static void each_sr_to8(struct em_rows *r, bool bf8)
{
    bool saturate = (r->mode & EM_MODE_FP16_OVFL) != 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        r->d[0][i] =
            em_f32_to_fp8_sr(em_f32_of(r->s[0][0][i]), r->s[1][0][i], bf8, saturate);
    }
}

void em_row_cvt_sr_fp8(struct em_rows *r)
{
    each_sr_to8(r, false);
}

void em_row_cvt_sr_bf8(struct em_rows *r)
{
    each_sr_to8(r, true);
}

EM_INLINE void each_from8(struct em_rows *r, bool bf8)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint8_t code = (uint8_t)r->s[0][0][i];
        r->d[0][i] = em_bits_f32(em_fp8_to_f32(code, bf8));
    }
}

void em_row_cvt_f32_fp8(struct em_rows *r)
{
    each_from8(r, false);
}

void em_row_cvt_f32_bf8(struct em_rows *r)
{
    each_from8(r, true);
}

EM_INLINE void each_pk_from8(struct em_rows *r, bool bf8)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t codes = r->s[0][0][i];
        r->d[0][i] = em_bits_f32(em_fp8_to_f32((uint8_t)codes, bf8));
        r->d[1][i] = em_bits_f32(em_fp8_to_f32((uint8_t)(codes >> 8), bf8));
    }
}

void em_row_cvt_pk_f32_fp8(struct em_rows *r)
{
    each_pk_from8(r, false);
}

void em_row_cvt_pk_f32_bf8(struct em_rows *r)
{
    each_pk_from8(r, true);
}

/* --- unsigned bytes: rounded as MODE says, into the byte that source 1 names --- */

static void core_pk_u8(struct em_rows *r)
{
    const __m256i three = _mm256_set1_epi32(3), byte = _mm256_set1_epi32(0xff);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 v = em_get_f32(r->s[0][0], i);
        v = _mm256_max_ps(v, _mm256_setzero_ps()); /* NaN: the second, 0 */
        v = _mm256_min_ps(v, _mm256_set1_ps(255));
        __m256i shift = _mm256_and_si256(em_get8(r->s[1][0], i), three);
        shift = _mm256_slli_epi32(shift, 3);
        __m256i n = _mm256_sllv_epi32(_mm256_cvtps_epi32(v), shift);
        __m256i rest =
            _mm256_andnot_si256(_mm256_sllv_epi32(byte, shift), em_get8(r->s[2][0], i));
        em_put8(r->d[0], i, _mm256_or_si256(rest, n));
    }
}

EM_FLOAT_ROW(pk_u8, .round = EM_FORMAT_F32, .src = EM_FORMAT_F32)

void em_row_cvt_pk_u8_f32(struct em_rows *r)
{
    row_pk_u8(r);
}

/* --- normalised integers --- */

/* The products are exact: 24 + 16 bits. */
EM_INLINE uint32_t normal(float value, bool is_signed)
{
    double least = is_signed ? -1 : 0, v = (double)value;
    v = v >= least ? v : (v < least ? least : 0);
    v = v <= 1 ? v : 1;
    v = __builtin_rint(v * (is_signed ? 32767 : 65535));
    return (uint32_t)(int32_t)v & 0xffff;
}

EM_INLINE void each_norm_f32(struct em_rows *r, bool is_signed)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t low = normal(em_f32_of(r->s[0][0][i]), is_signed);
        uint32_t high = normal(em_f32_of(r->s[1][0][i]), is_signed);
        r->d[0][i] = low | high << 16;
    }
}

EM_INLINE void each_norm_f16(struct em_rows *r, bool is_signed, unsigned sources)
{
    _Alignas(64) uint32_t wide[2][EM_LANES];
    struct em_rows f32 = *r;
    for (unsigned s = 0; s < 2; s++) {
        for (unsigned i = 0; i < EM_LANES; i += 8) {
            __m256i v = s < sources ? em_get8(r->s[s][0], i) : _mm256_setzero_si256();
            v = r->mode >> 6 & 1 ? v : em_flush_f16(v);
            em_put_f32(wide[s], i, em_widen_f16(v));
        }
        f32.s[s][0] = wide[s];
    }
    each_norm_f32(&f32, is_signed);
}

void em_row_pknorm_i16_f32(struct em_rows *r)
{
    each_norm_f32(r, true);
}

void em_row_pknorm_u16_f32(struct em_rows *r)
{
    each_norm_f32(r, false);
}

void em_row_pknorm_i16_f16(struct em_rows *r)
{
    each_norm_f16(r, true, 2);
}

void em_row_pknorm_u16_f16(struct em_rows *r)
{
    each_norm_f16(r, false, 2);
}

void em_row_norm_i16_f16(struct em_rows *r)
{
    each_norm_f16(r, true, 1);
}

void em_row_norm_u16_f16(struct em_rows *r)
{
    each_norm_f16(r, false, 1);
}
