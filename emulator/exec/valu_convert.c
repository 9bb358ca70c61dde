/* Conversions between floats, and between floats and 16- and 32-bit integers. To
 * integers: towards zero, saturated, NaN to 0. Those to and from 8 bits and to
 * normalised integers are valu_convert8.c's. */
#include "emulator/exec/valu_float.h"

/* --- f32 and 32-bit integers --- */

static void core_f32_i32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i, _mm256_cvtepi32_ps(em_get8(r->s[0][0], i)));
    }
}

/* Exact in f64, and then rounded; downwards the sum of a 0 is -0. */
static void core_f32_u32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m128i v = _mm_load_si128((const __m128i *)(const void *)(r->s[0][0] + i));
        v = _mm_xor_si128(v, _mm_set1_epi32((int)0x80000000));
        __m256d exact = _mm256_add_pd(_mm256_cvtepi32_pd(v), _mm256_set1_pd(0x1p31));
        __m128i rounded = _mm_castps_si128(_mm256_cvtpd_ps(exact));
        rounded = _mm_and_si128(rounded, _mm_set1_epi32(0x7fffffff));
        _mm_store_si128((__m128i *)(void *)(r->d[0] + i), rounded);
    }
}

EM_INLINE __m256i to_i32(__m256 v)
{
    __m256i n = _mm256_cvttps_epi32(v);
    __m256 large = _mm256_cmp_ps(v, _mm256_set1_ps(0x1p31F), _CMP_GE_OQ);
    n = _mm256_blendv_epi8(n, _mm256_set1_epi32(0x7fffffff),
                           _mm256_castps_si256(large));
    return _mm256_andnot_si256(_mm256_castps_si256(em_unord_f32(v)), n);
}

EM_INLINE __m256i to_u32(__m256 v)
{
    const __m256 half = _mm256_set1_ps(0x1p31F), all = _mm256_set1_ps(0x1p32F);
    v = _mm256_max_ps(v, _mm256_setzero_ps()); /* NaN: the second, 0 */
    __m256 large = _mm256_cmp_ps(v, half, _CMP_GE_OQ);
    __m256 rest = _mm256_sub_ps(v, _mm256_and_ps(large, half));
    __m256i top = _mm256_slli_epi32(_mm256_castps_si256(large), 31);
    __m256i n = _mm256_xor_si256(_mm256_cvttps_epi32(rest), top);
    __m256 over = _mm256_cmp_ps(v, all, _CMP_GE_OQ);
    return _mm256_or_si256(n, _mm256_castps_si256(over));
}

static void core_i32_f32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put8(r->d[0], i, to_i32(em_get_f32(r->s[0][0], i)));
    }
}

static void core_u32_f32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put8(r->d[0], i, to_u32(em_get_f32(r->s[0][0], i)));
    }
}

static void core_flr(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put8(r->d[0], i, to_i32(_mm256_floor_ps(em_get_f32(r->s[0][0], i))));
    }
}

/* The floor of x + 0.5, as if the sum were exact. */
static void core_rpi(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 v = em_get_f32(r->s[0][0], i), floor = _mm256_floor_ps(v);
        __m256 up =
            _mm256_cmp_ps(_mm256_sub_ps(v, floor), _mm256_set1_ps(0.5F), _CMP_GE_OQ);
        up = _mm256_and_ps(up, _mm256_set1_ps(1));
        em_put8(r->d[0], i, to_i32(_mm256_add_ps(floor, up)));
    }
}

EM_FLOAT_ROW(f32_i32, .round = EM_FORMAT_F32)
EM_FLOAT_ROW(f32_u32, .round = EM_FORMAT_F32)
EM_FLOAT_ROW(i32_f32, .src = EM_FORMAT_F32)
EM_FLOAT_ROW(u32_f32, .src = EM_FORMAT_F32)
EM_FLOAT_ROW(flr, .src = EM_FORMAT_F32)
EM_FLOAT_ROW(rpi, .src = EM_FORMAT_F32)

/* A signed nibble over 16: offsets within a pixel. */
static void row_off_f32_i4(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i nibble = _mm256_slli_epi32(em_get8(r->s[0][0], i), 28);
        __m256 v = _mm256_cvtepi32_ps(_mm256_srai_epi32(nibble, 28));
        em_put_f32(r->d[0], i, _mm256_mul_ps(v, _mm256_set1_ps(0x1p-4F)));
    }
}

EM_INLINE void each_ubyte(struct em_rows *r, int byte)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i v = _mm256_srli_epi32(em_get8(r->s[0][0], i), 8 * byte);
        v = _mm256_and_si256(v, _mm256_set1_epi32(0xff));
        em_put_f32(r->d[0], i, _mm256_cvtepi32_ps(v));
    }
}

static void row_ubyte0(struct em_rows *r)
{
    each_ubyte(r, 0);
}

static void row_ubyte1(struct em_rows *r)
{
    each_ubyte(r, 1);
}

static void row_ubyte2(struct em_rows *r)
{
    each_ubyte(r, 2);
}

static void row_ubyte3(struct em_rows *r)
{
    each_ubyte(r, 3);
}

/* --- f16 --- */

static void core_f16_f32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put8(r->d[0], i, em_narrow_f16(em_get_f32(r->s[0][0], i)));
    }
}

static void core_f32_f16(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i, em_widen_f16(em_get8(r->s[0][0], i)));
    }
}

/* Towards zero in every MODE; an overflow is the largest value. */
EM_INLINE __m256i narrow_to_zero(__m256 v)
{
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(v, _MM_FROUND_TO_ZERO));
}

static void core_pkrtz(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i low = narrow_to_zero(em_get_f32(r->s[0][0], i));
        __m256i high = narrow_to_zero(em_get_f32(r->s[1][0], i));
        em_put8(r->d[0], i, _mm256_or_si256(low, _mm256_slli_epi32(high, 16)));
    }
}

static void core_f16_u16(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i v = em_get8(r->s[0][0], i);
        v = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
        em_put8(r->d[0], i, em_narrow_f16(_mm256_cvtepi32_ps(v)));
    }
}

static void core_f16_i16(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i v = _mm256_slli_epi32(em_get8(r->s[0][0], i), 16);
        v = _mm256_srai_epi32(v, 16);
        em_put8(r->d[0], i, em_narrow_f16(_mm256_cvtepi32_ps(v)));
    }
}

/* Between the limits and without NaN, the low 16 bits. */
EM_INLINE void each_int16(struct em_rows *r, float least, float most)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 v = em_widen_f16(em_get8(r->s[0][0], i));
        v = _mm256_andnot_ps(em_unord_f32(v), v);
        v = _mm256_max_ps(_mm256_min_ps(v, _mm256_set1_ps(most)),
                          _mm256_set1_ps(least));
        __m256i n = _mm256_cvttps_epi32(v);
        em_put8(r->d[0], i, _mm256_and_si256(n, _mm256_set1_epi32(0xffff)));
    }
}

static void core_u16_f16(struct em_rows *r)
{
    each_int16(r, 0, 65535);
}

static void core_i16_f16(struct em_rows *r)
{
    each_int16(r, -32768, 32767);
}

EM_FORMATS_ROW(f16_f32, F16, F32, F16)
EM_FORMATS_ROW(f32_f16, NONE, F16, F32)
/* FP16_OVFL changes nothing: what is cut never overflows. */
EM_FLOAT_ROW(pkrtz, .src = EM_FORMAT_F32, .dst = EM_FORMAT_PF16, .true_infinity = true)
EM_FLOAT_ROW(f16_u16, .round = EM_FORMAT_F16, .dst = EM_FORMAT_F16)
EM_FLOAT_ROW(f16_i16, .round = EM_FORMAT_F16, .dst = EM_FORMAT_F16)
EM_FLOAT_ROW(u16_f16, .src = EM_FORMAT_F16)
EM_FLOAT_ROW(i16_f16, .src = EM_FORMAT_F16)

/* --- f64 --- */

static void core_f32_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m128 v = _mm256_cvtpd_ps(em_get_f64(r->s[0], i));
        _mm_store_ps((float *)(void *)(r->d[0] + i), v);
    }
}

static void core_f64_f32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m128 v = _mm_load_ps((const float *)(const void *)(r->s[0][0] + i));
        em_put_f64(r->d, i, _mm256_cvtps_pd(v));
    }
}

static void row_f64_i32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m128i v = _mm_load_si128((const __m128i *)(const void *)(r->s[0][0] + i));
        em_put_f64(r->d, i, _mm256_cvtepi32_pd(v));
    }
}

static void row_f64_u32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m128i v = _mm_load_si128((const __m128i *)(const void *)(r->s[0][0] + i));
        v = _mm_xor_si128(v, _mm_set1_epi32((int)0x80000000));
        em_put_f64(r->d, i,
                   _mm256_add_pd(_mm256_cvtepi32_pd(v), _mm256_set1_pd(0x1p31)));
    }
}

static void row_i32_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d v = em_get_f64(r->s[0], i);
        v = _mm256_andnot_pd(em_unord_f64(v), v);
        v = _mm256_min_pd(v, _mm256_set1_pd(2147483647));
        v = _mm256_max_pd(v, _mm256_set1_pd(-2147483648.0));
        _mm_store_si128((__m128i *)(void *)(r->d[0] + i), _mm256_cvttpd_epi32(v));
    }
}

/* 2^52 + n has n in its low bits. */
static void row_u32_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d v = _mm256_max_pd(em_get_f64(r->s[0], i), _mm256_setzero_pd());
        v = _mm256_min_pd(v, _mm256_set1_pd(4294967295.0));
        v = _mm256_add_pd(_mm256_floor_pd(v), _mm256_set1_pd(0x1p52));
        __m128 low = _mm256_castps256_ps128(_mm256_castpd_ps(v));
        __m128 high = _mm256_extractf128_ps(_mm256_castpd_ps(v), 1);
        _mm_store_ps((float *)(void *)(r->d[0] + i), _mm_shuffle_ps(low, high, 0x88));
    }
}

EM_FORMATS_ROW(f32_f64, F32, F64, F32)
EM_FORMATS_ROW(f64_f32, NONE, F32, F64)

/* clang-format off */
const struct em_valu_row em_valu_convert[] = {
    {EM_v_cvt_f32_i32, EM_CLASS_VALU, row_f32_i32},
    {EM_v_cvt_f32_u32, EM_CLASS_VALU, row_f32_u32},
    {EM_v_cvt_i32_f32, EM_CLASS_VALU, row_i32_f32},
    {EM_v_cvt_u32_f32, EM_CLASS_VALU, row_u32_f32},
    {EM_v_cvt_flr_i32_f32, EM_CLASS_VALU, row_flr},
    {EM_v_cvt_rpi_i32_f32, EM_CLASS_VALU, row_rpi},
    {EM_v_cvt_off_f32_i4, EM_CLASS_VALU, row_off_f32_i4},
    {EM_v_cvt_f32_ubyte0, EM_CLASS_VALU, row_ubyte0},
    {EM_v_cvt_f32_ubyte1, EM_CLASS_VALU, row_ubyte1},
    {EM_v_cvt_f32_ubyte2, EM_CLASS_VALU, row_ubyte2},
    {EM_v_cvt_f32_ubyte3, EM_CLASS_VALU, row_ubyte3},
    {EM_v_cvt_f16_f32, EM_CLASS_VALU, row_f16_f32},
    {EM_v_cvt_f32_f16, EM_CLASS_VALU, row_f32_f16},
    {EM_v_cvt_pkrtz_f16_f32, EM_CLASS_VALU, row_pkrtz},
    {EM_v_cvt_f16_u16, EM_CLASS_VALU, row_f16_u16},
    {EM_v_cvt_f16_i16, EM_CLASS_VALU, row_f16_i16},
    {EM_v_cvt_u16_f16, EM_CLASS_VALU, row_u16_f16},
    {EM_v_cvt_i16_f16, EM_CLASS_VALU, row_i16_f16},
    {EM_v_cvt_f32_f64, EM_CLASS_F64, row_f32_f64},
    {EM_v_cvt_f64_f32, EM_CLASS_F64, row_f64_f32},
    {EM_v_cvt_f64_i32, EM_CLASS_F64, row_f64_i32},
    {EM_v_cvt_f64_u32, EM_CLASS_F64, row_f64_u32},
    {EM_v_cvt_i32_f64, EM_CLASS_F64, row_i32_f64},
    {EM_v_cvt_u32_f64, EM_CLASS_F64, row_u32_f64},
    {EM_v_cvt_pk_fp8_f32, EM_CLASS_VALU, em_row_cvt_pk_fp8},
    {EM_v_cvt_pk_bf8_f32, EM_CLASS_VALU, em_row_cvt_pk_bf8},
    {EM_v_cvt_sr_fp8_f32, EM_CLASS_VALU, em_row_cvt_sr_fp8},
    {EM_v_cvt_sr_bf8_f32, EM_CLASS_VALU, em_row_cvt_sr_bf8},
    {EM_v_cvt_f32_fp8, EM_CLASS_VALU, em_row_cvt_f32_fp8},
    {EM_v_cvt_f32_bf8, EM_CLASS_VALU, em_row_cvt_f32_bf8},
    {EM_v_cvt_pk_f32_fp8, EM_CLASS_VALU, em_row_cvt_pk_f32_fp8},
    {EM_v_cvt_pk_f32_bf8, EM_CLASS_VALU, em_row_cvt_pk_f32_bf8},
    {EM_v_cvt_pk_u8_f32, EM_CLASS_VALU, em_row_cvt_pk_u8_f32},
    {EM_v_cvt_pkaccum_u8_f32, EM_CLASS_VALU, em_row_cvt_pk_u8_f32},
    {EM_v_cvt_pknorm_i16_f32, EM_CLASS_VALU, em_row_pknorm_i16_f32},
    {EM_v_cvt_pknorm_u16_f32, EM_CLASS_VALU, em_row_pknorm_u16_f32},
    {EM_v_cvt_pknorm_i16_f16, EM_CLASS_VALU, em_row_pknorm_i16_f16},
    {EM_v_cvt_pknorm_u16_f16, EM_CLASS_VALU, em_row_pknorm_u16_f16},
    {EM_v_cvt_norm_i16_f16, EM_CLASS_VALU, em_row_norm_i16_f16},
    {EM_v_cvt_norm_u16_f16, EM_CLASS_VALU, em_row_norm_u16_f16},
    {0, 0, NULL},
};
