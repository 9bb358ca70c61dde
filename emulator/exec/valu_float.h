/* What the files of floating-point rows share: vectors of lanes, NaN, and the MODE
 * register.
 *
 * NaN: a result is the first operand that is NaN, quieted, its payload kept; an invalid
 * operation gives 0xffc00000 (0xfe00, 0xfff8 << 48). In a fused multiply-add the
 * factors' NaN come first, then 0 * infinity, then the addend's NaN.
 * Rounding and flushing are those of the result's and the sources' formats in MODE; an
 * f32 or f64 result is tiny, and flushed, when it is so after rounding to its precision
 * with any exponent, as the host's unit has it; an f16 result when it is denormal. */
#ifndef WF_EMULATOR_EXEC_VALU_FLOAT_H
#define WF_EMULATOR_EXEC_VALU_FLOAT_H

#include "emulator/exec/bits.h"
#include "emulator/exec/valu.h"

#include <immintrin.h>

/* Inlined with the function on vectors that it is given. */
#define EM_INLINE static inline __attribute__((always_inline))

/* Formats of sources and results, for MODE. */
enum em_float_format {
    EM_FORMAT_NONE, /* integers; sources whose denormals are the function's concern */
    EM_FORMAT_F16,  /* the low halves */
    EM_FORMAT_PF16, /* both halves */
    EM_FORMAT_F32,
    EM_FORMAT_F64
};

/* What of MODE an operation obeys. */
struct em_float_mode {
    uint8_t round; /* format whose field rounds; NONE: to nearest even */
    uint8_t src, dst;
    bool true_infinity; /* infinities are no overflow, whatever the sources are */
    uint8_t integers;   /* bit i: source i is an integer */
};

/* MODE's bits that matter to `m`, and their values where the hot path serves. */
EM_INLINE uint32_t em_float_care(struct em_float_mode m)
{
    uint32_t care = 0;
    if (m.round != EM_FORMAT_NONE) {
        care |= m.round == EM_FORMAT_F32 ? EM_MODE_ROUND_F32 : EM_MODE_ROUND_F64_F16;
    }
    if (m.src != EM_FORMAT_NONE) {
        care |= m.src == EM_FORMAT_F32 ? UINT32_C(1) << 4 : UINT32_C(1) << 6;
    }
    if (m.dst != EM_FORMAT_NONE) {
        care |= m.dst == EM_FORMAT_F32 ? UINT32_C(2) << 4 : UINT32_C(2) << 6;
    }
    if (m.dst == EM_FORMAT_F16 || m.dst == EM_FORMAT_PF16) {
        care |= EM_MODE_FP16_OVFL;
    }
    return care;
}

EM_INLINE uint32_t em_float_want(struct em_float_mode m)
{
    return em_float_care(m) & (EM_MODE_DENORM_F32 | EM_MODE_DENORM_F64_F16);
}

/* Runs `core`, which knows nothing of MODE, under it. */
void em_float_slow(struct em_rows *r, em_rows_fn core, struct em_float_mode m);

EM_INLINE void em_float_row(struct em_rows *r,
                            em_rows_fn core,
                            const struct em_float_mode m)
{
    if (__builtin_expect((r->mode & em_float_care(m)) == em_float_want(m), 1)) {
        core(r);
    } else {
        em_float_slow(r, core, m);
    }
}

/* A row function `row_NAME` that runs core_NAME under MODE. */
#define EM_FLOAT_ROW(name, ...)                         \
    static void row_##name(struct em_rows *r)           \
    {                                                   \
        const struct em_float_mode m = { __VA_ARGS__ }; \
        em_float_row(r, core_##name, m);                \
    }
/* Rounding, sources and results of these formats (EM_FORMAT_...). */
#define EM_FORMATS_ROW(name, rounding, source, result)                           \
    EM_FLOAT_ROW(name, .round = EM_FORMAT_##rounding, .src = EM_FORMAT_##source, \
                 .dst = EM_FORMAT_##result)
#define EM_F32_ROW(name)  EM_FORMATS_ROW(name, F32, F32, F32)
#define EM_F64_ROW(name)  EM_FORMATS_ROW(name, F64, F64, F64)
#define EM_F16_ROW(name)  EM_FORMATS_ROW(name, F16, F16, F16)
#define EM_PF16_ROW(name) EM_FORMATS_ROW(name, PF16, PF16, PF16)

/* Denormals of eight f32, or of every 16 bits: zeros of their sign. */
EM_INLINE __m256i em_flush_f32(__m256i v)
{
    __m256i exponent = _mm256_and_si256(v, _mm256_set1_epi32(0x7f800000));
    __m256i zero = _mm256_cmpeq_epi32(exponent, _mm256_setzero_si256());
    __m256i magnitude = _mm256_and_si256(zero, _mm256_set1_epi32(0x7fffffff));
    return _mm256_andnot_si256(magnitude, v);
}

EM_INLINE __m256i em_flush_f16(__m256i v)
{
    __m256i exponent = _mm256_and_si256(v, _mm256_set1_epi16(0x7c00));
    __m256i zero = _mm256_cmpeq_epi16(exponent, _mm256_setzero_si256());
    __m256i magnitude = _mm256_and_si256(zero, _mm256_set1_epi16(0x7fff));
    return _mm256_andnot_si256(magnitude, v);
}

/* Eight lanes of dwords. */
EM_INLINE __m256i em_get8(const uint32_t *row, unsigned i)
{
    return _mm256_load_si256((const __m256i *)(const void *)(row + i));
}

EM_INLINE void em_put8(uint32_t *row, unsigned i, __m256i v)
{
    _mm256_store_si256((__m256i *)(void *)(row + i), v);
}

EM_INLINE __m256 em_get_f32(const uint32_t *row, unsigned i)
{
    return _mm256_castsi256_ps(em_get8(row, i));
}

EM_INLINE void em_put_f32(uint32_t *row, unsigned i, __m256 v)
{
    em_put8(row, i, _mm256_castps_si256(v));
}

/* Four lanes of f64 from the rows of their halves. */
EM_INLINE __m256d em_get_f64(const uint32_t *const row[2], unsigned i)
{
    __m128i low = _mm_load_si128((const __m128i *)(const void *)(row[0] + i));
    __m128i high = _mm_load_si128((const __m128i *)(const void *)(row[1] + i));
    __m128i first = _mm_unpacklo_epi32(low, high);
    __m128i last = _mm_unpackhi_epi32(low, high);
    return _mm256_castsi256_pd(
        _mm256_inserti128_si256(_mm256_castsi128_si256(first), last, 1));
}

EM_INLINE void em_put_f64(uint32_t *const row[2], unsigned i, __m256d v)
{
    __m128 first = _mm256_castps256_ps128(_mm256_castpd_ps(v));
    __m128 last = _mm256_extractf128_ps(_mm256_castpd_ps(v), 1);
    _mm_store_si128((__m128i *)(void *)(row[0] + i),
                    _mm_castps_si128(_mm_shuffle_ps(first, last, 0x88)));
    _mm_store_si128((__m128i *)(void *)(row[1] + i),
                    _mm_castps_si128(_mm_shuffle_ps(first, last, 0xdd)));
}

/* Eight f16, of the low halves of dwords, as f32 (signalling NaN become quiet). */
EM_INLINE __m256 em_widen_f16(__m256i v)
{
    __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
    __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}

/* Rounded by the host's mode, into the low halves. */
EM_INLINE __m256i em_narrow_f16(__m256 v)
{
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(v, _MM_FROUND_CUR_DIRECTION));
}

EM_INLINE __m256 em_nan_f32(void)
{
    return _mm256_castsi256_ps(_mm256_set1_epi32((int)0xffc00000));
}

EM_INLINE __m256 em_unord_f32(__m256 v)
{
    return _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
}

EM_INLINE __m256 em_quiet_f32(__m256 v)
{
    return _mm256_or_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x00400000)));
}

EM_INLINE bool em_any_nan_f32(__m256 v)
{
    return _mm256_movemask_ps(em_unord_f32(v)) != 0;
}

/* `v` with the NaN that the operation on a, b (and c, fused) gives. */
EM_INLINE __m256 em_nan2_f32(__m256 v, __m256 a, __m256 b)
{
    __m256 nan = _mm256_blendv_ps(em_nan_f32(), em_quiet_f32(b), em_unord_f32(b));
    nan = _mm256_blendv_ps(nan, em_quiet_f32(a), em_unord_f32(a));
    return _mm256_blendv_ps(v, nan, em_unord_f32(v));
}

EM_INLINE __m256 em_nan3_f32(__m256 v, __m256 a, __m256 b, __m256 c)
{
    __m256 invalid = em_unord_f32(_mm256_mul_ps(a, b));
    __m256 of_c = _mm256_andnot_ps(invalid, em_unord_f32(c));
    __m256 nan = _mm256_blendv_ps(em_nan_f32(), em_quiet_f32(c), of_c);
    nan = _mm256_blendv_ps(nan, em_quiet_f32(b), em_unord_f32(b));
    nan = _mm256_blendv_ps(nan, em_quiet_f32(a), em_unord_f32(a));
    return _mm256_blendv_ps(v, nan, em_unord_f32(v));
}

/* a * b + c, one rounding, with the NaN above. */
EM_INLINE __m256 em_fma_f32(__m256 a, __m256 b, __m256 c)
{
    __m256 v = _mm256_fmadd_ps(a, b, c);
    return __builtin_expect(em_any_nan_f32(v), 0) ? em_nan3_f32(v, a, b, c) : v;
}

/* To integers; f16 too, widened. */
EM_INLINE __m256 em_floor_f32(__m256 v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

EM_INLINE __m256 em_ceil_f32(__m256 v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

EM_INLINE __m256 em_trunc_f32(__m256 v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

EM_INLINE __m256 em_rndne_f32(__m256 v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* v - floor(v): at most the largest value below 1, `below_one`, also where the
 * difference rounds up to 1. */
EM_INLINE __m256 em_fract_f32(__m256 v, __m256 below_one)
{
    __m256 f = _mm256_sub_ps(v, em_floor_f32(v));
    f = _mm256_blendv_ps(f, below_one, _mm256_cmp_ps(f, below_one, _CMP_GT_OQ));
    return em_any_nan_f32(f) ? em_nan2_f32(f, v, v) : f;
}

EM_INLINE __m256d em_nan_f64(void)
{
    return _mm256_castsi256_pd(_mm256_set1_epi64x((int64_t)0xfff8000000000000));
}

EM_INLINE __m256d em_unord_f64(__m256d v)
{
    return _mm256_cmp_pd(v, v, _CMP_UNORD_Q);
}

EM_INLINE __m256d em_quiet_f64(__m256d v)
{
    return _mm256_or_pd(v, _mm256_castsi256_pd(_mm256_set1_epi64x(0x0008000000000000)));
}

EM_INLINE bool em_any_nan_f64(__m256d v)
{
    return _mm256_movemask_pd(em_unord_f64(v)) != 0;
}

EM_INLINE uint64_t em_lane64(const uint32_t *const row[2], unsigned lane)
{
    return row[0][lane] | (uint64_t)row[1][lane] << 32;
}

EM_INLINE void em_set_lane64(uint32_t *const row[2], unsigned lane, uint64_t value)
{
    row[0][lane] = (uint32_t)value;
    row[1][lane] = (uint32_t)(value >> 32);
}

/* valu_divide.c: in em_valu_special. */
void em_row_div_scale_f32(struct em_rows *r);
void em_row_div_scale_f64(struct em_rows *r);
void em_row_div_fmas_f32(struct em_rows *r);
void em_row_div_fmas_f64(struct em_rows *r);
void em_row_div_fixup_f16(struct em_rows *r);
void em_row_div_fixup_f32(struct em_rows *r);
void em_row_div_fixup_f64(struct em_rows *r);

/* valu_exponent.c: in em_valu_special. */
void em_row_frexp_exp_f16(struct em_rows *r);
void em_row_frexp_exp_f32(struct em_rows *r);
void em_row_frexp_exp_f64(struct em_rows *r);
void em_row_frexp_mant_f16(struct em_rows *r);
void em_row_frexp_mant_f32(struct em_rows *r);
void em_row_frexp_mant_f64(struct em_rows *r);
void em_row_ldexp_f16(struct em_rows *r);
void em_row_ldexp_f32(struct em_rows *r);
void em_row_ldexp_f64(struct em_rows *r);
void em_row_trig_preop_f64(struct em_rows *r);

/* valu_convert8.c: in em_valu_convert. */
void em_row_cvt_pk_fp8(struct em_rows *r);
void em_row_cvt_pk_bf8(struct em_rows *r);
void em_row_cvt_sr_fp8(struct em_rows *r);
void em_row_cvt_sr_bf8(struct em_rows *r);
void em_row_cvt_f32_fp8(struct em_rows *r);
void em_row_cvt_f32_bf8(struct em_rows *r);
void em_row_cvt_pk_f32_fp8(struct em_rows *r);
void em_row_cvt_pk_f32_bf8(struct em_rows *r);
void em_row_cvt_pk_u8_f32(struct em_rows *r);
void em_row_pknorm_i16_f16(struct em_rows *r);
void em_row_pknorm_i16_f32(struct em_rows *r);
void em_row_pknorm_u16_f16(struct em_rows *r);
void em_row_pknorm_u16_f32(struct em_rows *r);
void em_row_norm_i16_f16(struct em_rows *r);
void em_row_norm_u16_f16(struct em_rows *r);

#endif
