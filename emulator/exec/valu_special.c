/* Transcendental functions, reciprocals and roots.
 *
 * The hardware's are within 1 ULP and their bits are not documented; here they are the
 * correctly rounded ones, nearest even whatever MODE says (f64's reciprocal root within
 * 0.501 ULP). f32's neither take nor give denormals, whatever MODE says; those of f16
 * and f64 follow it. v_sin and v_cos take revolutions up to 256 (beyond: 0 and 1). The
 * legacy ones are as the others.
 *
 * f32 results are computed in f64, with an error far below a unit of f32; where the
 * result is so close to the middle of two f32 that the error could matter, it is
 * computed again in long double. */
#include "emulator/exec/valu_float.h"

#include <math.h>

/* --- approximations in f64 of four lanes: errors within 8 units of its last place ---
 */

EM_INLINE __m256d horner(__m256d x, const double *c, unsigned count)
{
    __m256d v = _mm256_set1_pd(c[count - 1]);
    for (unsigned k = count - 1; k-- > 0;) {
        v = _mm256_fmadd_pd(v, x, _mm256_set1_pd(c[k]));
    }
    return v;
}

/* ln(2)^k / k! */
static const double exp2_terms[14] = {
    0x1.0000000000000p+0,  0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,
    0x1.c6b08d704a0c0p-5,  0x1.3b2ab6fba4e77p-7,  0x1.5d87fe78a6731p-10,
    0x1.430912f86c787p-13, 0x1.ffcbfc588b0c7p-17, 0x1.62c0223a5c824p-20,
    0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28, 0x1.e8cac7351bb25p-32,
    0x1.c3bd650fc2986p-36, 0x1.816193166d0f9p-40,
};

/* 2^x for x in -1000..1000. */
EM_INLINE __m256d exp2_4(__m256d x)
{
    __m256d whole = _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d v = horner(_mm256_sub_pd(x, whole), exp2_terms, 14);
    __m256i power = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(whole));
    return _mm256_castsi256_pd(
        _mm256_add_epi64(_mm256_castpd_si256(v), _mm256_slli_epi64(power, 52)));
}

/* 2 / ln(2) / (2 k + 1): log2((1 + s) / (1 - s)) = sum of these * s^(2 k + 1) */
static const double log2_terms[11] = {
    0x1.71547652b82fep+1, 0x1.ec709dc3a03fdp-1, 0x1.2776c50ef9bfep-1,
    0x1.a61762a7aded9p-2, 0x1.484b13d7c02a9p-2, 0x1.0c9a84994022dp-2,
    0x1.c68f568d31760p-3, 0x1.89f3b1694cffep-3, 0x1.5b9ac9b743f0dp-3,
    0x1.3703c1f4d0ffep-3, 0x1.1964ec6fc9491p-3,
};

/* log2 of finite normal positive x of at most 24 significant bits. */
EM_INLINE __m256d log2_4(__m256d x)
{
    /* A mantissa in sqrt(1/2)..sqrt(2). */
    const __m256i root = _mm256_set1_epi64x(0x3fe6a09e667f3bcd);
    const __m256i field = _mm256_set1_epi64x((int64_t)0xfff0000000000000);
    __m256i bits = _mm256_castpd_si256(x);
    __m256i above = _mm256_and_si256(_mm256_sub_epi64(bits, root), field);
    __m256d m = _mm256_castsi256_pd(_mm256_sub_epi64(bits, above));
    /* The exponent, signed, from the upper 12 bits: 2^52 + 2^51 + it has it at the end.
     */
    const __m256i magic = _mm256_set1_epi64x(0x4338000000000000);
    __m256i exponent = _mm256_srai_epi32(_mm256_sub_epi64(bits, root), 20);
    exponent = _mm256_shuffle_epi32(exponent, 0xf5); /* sign extended, both halves */
    __m256i low = _mm256_blend_epi32(_mm256_srai_epi32(exponent, 31), exponent, 0x55);
    __m256d e = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(low, magic)),
                              _mm256_castsi256_pd(magic));
    const __m256d one = _mm256_set1_pd(1);
    __m256d s = _mm256_div_pd(_mm256_sub_pd(m, one), _mm256_add_pd(m, one));
    __m256d v = _mm256_mul_pd(s, horner(_mm256_mul_pd(s, s), log2_terms, 11));
    return _mm256_add_pd(e, v);
}

/* (2 pi)^k / k!, odd and even, with their signs. */
static const double sin_terms[9] = {
    0x1.921fb54442d18p+2,  -0x1.4abbce625be53p+5, 0x1.466bc6775aae2p+6,
    -0x1.32d2cce62bd86p+6, 0x1.50783487ee782p+5,  -0x1.e3074fde8871fp+3,
    0x1.e8f434d018d63p+1,  -0x1.6fadb9f155744p-1, 0x1.aaec32af93359p-4,
};
static const double cos_terms[9] = {
    0x1.0000000000000p+0,  -0x1.3bd3cc9be45dep+4, 0x1.03c1f081b5ac4p+6,
    -0x1.55d3c7e3cbffap+6, 0x1.e1f506891babbp+5,  -0x1.a6d1f2a204a8cp+4,
    0x1.f9d38a3763cc3p+2,  -0x1.b6e24f44b128fp+0, 0x1.20c62c2f2d7f5p-2,
};

/* sin(2 pi (x + quarters / 4)) for |x| <= 2^20; -0 for -0. */
EM_INLINE __m256d sin_4(__m256d x, int quarters)
{
    enum {
        nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC
    };
    __m256d turn = _mm256_sub_pd(x, _mm256_round_pd(x, nearest));
    __m256d quarter = _mm256_round_pd(_mm256_mul_pd(turn, _mm256_set1_pd(4)), nearest);
    __m256d t = _mm256_fnmadd_pd(quarter, _mm256_set1_pd(0.25), turn); /* exact */
    __m256d square = _mm256_mul_pd(t, t);
    __m256d sine = _mm256_mul_pd(t, horner(square, sin_terms, 9));
    __m256d cosine = horner(square, cos_terms, 9);
    __m256i n = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(quarter));
    n = _mm256_add_epi64(n, _mm256_set1_epi64x(quarters));
    __m256d odd = _mm256_castsi256_pd(_mm256_slli_epi64(n, 63));
    __m256i minus = _mm256_slli_epi64(_mm256_srli_epi64(n, 1), 63);
    __m256d v = _mm256_blendv_pd(sine, cosine, odd);
    v = _mm256_xor_pd(v, _mm256_castsi256_pd(minus));
    /* Zeros other than that of a zero are +0. */
    __m256d zero = _mm256_cmp_pd(v, _mm256_setzero_pd(), _CMP_EQ_OQ);
    __m256d of_zero = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);
    v = _mm256_andnot_pd(zero, v);
    return quarters == 0 ? _mm256_blendv_pd(v, x, of_zero) : v;
}

/* --- f32: rounding what was computed in f64 --- */

typedef __m256d (*wide_fn)(__m256d);
typedef long double (*exact_fn)(long double);

/* Whether a lane is within 64 units of the middle of two f32. */
EM_INLINE bool near_middle(__m256d v)
{
    const __m256i below = _mm256_set1_epi64x(0x10000000 - 64 - 1);
    const __m256i above = _mm256_set1_epi64x(0x10000000 + 64);
    __m256i low =
        _mm256_and_si256(_mm256_castpd_si256(v), _mm256_set1_epi64x(0x1fffffff));
    __m256i in = _mm256_andnot_si256(_mm256_cmpgt_epi64(low, above),
                                     _mm256_cmpgt_epi64(low, below));
    return !_mm256_testz_si256(in, in);
}

static __m128 again(__m256d x, exact_fn exact)
{
    double values[4];
    float ret[4];
    _mm256_storeu_pd(values, x);
    for (unsigned k = 0; k < 4; k++) {
        ret[k] = (float)exact((long double)values[k]);
    }
    return _mm_loadu_ps(ret);
}

EM_INLINE __m128 rounded4(__m256d x, wide_fn fn, exact_fn exact)
{
    __m256d v = fn(x);
    return __builtin_expect(near_middle(v), 0) ? again(x, exact) : _mm256_cvtpd_ps(v);
}

EM_INLINE __m256 rounded8(__m256 x, wide_fn fn, exact_fn exact)
{
    __m128 low = rounded4(_mm256_cvtps_pd(_mm256_castps256_ps128(x)), fn, exact);
    __m128 high = rounded4(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)), fn, exact);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

EM_INLINE __m256 no_denormals(__m256 v)
{
    return _mm256_castsi256_ps(em_flush_f32(_mm256_castps_si256(v)));
}

typedef __m256 (*function8)(__m256);

/* NaN sources are quieted; denormals, before and after, are zeros. */
EM_INLINE void each_f32(struct em_rows *r, function8 fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 x = no_denormals(em_get_f32(r->s[0][0], i));
        __m256 v = _mm256_blendv_ps(fn(x), em_quiet_f32(x), em_unord_f32(x));
        em_put_f32(r->d[0], i, no_denormals(v));
    }
}

EM_INLINE __m256 where(__m256 condition, __m256 yes, __m256 no)
{
    return _mm256_blendv_ps(no, yes, condition);
}

EM_INLINE __m256 infinity8(void)
{
    return _mm256_set1_ps(__builtin_inff());
}

static __m256d exp2_wide(__m256d x)
{
    return exp2_4(x);
}

static __m256 exp8(__m256 x)
{
    __m256 most = _mm256_set1_ps(200);
    x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-200)), most); /* NaN: -200 */
    return rounded8(x, exp2_wide, exp2l);
}

static __m256d log2_wide(__m256d x)
{
    return log2_4(x);
}

/* Neither 0, negative, infinite nor NaN. */
EM_INLINE __m256 log_plain(__m256 x)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ),
                         _mm256_cmp_ps(x, infinity8(), _CMP_LT_OQ));
}

/* `v` of plain x, and what the logarithms of the others are. */
EM_INLINE __m256 log_special(__m256 x, __m256 v)
{
    const __m256 zero = _mm256_setzero_ps();
    __m256 of_zero = _mm256_xor_ps(infinity8(), _mm256_set1_ps(-0.0F));
    v = where(_mm256_cmp_ps(x, zero, _CMP_EQ_OQ), of_zero, v);
    v = where(_mm256_cmp_ps(x, infinity8(), _CMP_EQ_OQ), infinity8(), v);
    return where(_mm256_cmp_ps(x, zero, _CMP_LT_OQ), em_nan_f32(), v);
}

static __m256 log8(__m256 x)
{
    __m256 plain = where(log_plain(x), x, _mm256_set1_ps(1));
    return log_special(x, rounded8(plain, log2_wide, log2l));
}

static __m256 rcp8(__m256 x)
{
    return _mm256_div_ps(_mm256_set1_ps(1), x);
}

static __m256 sqrt8(__m256 x)
{
    return where(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ), em_nan_f32(),
                 _mm256_sqrt_ps(x));
}

static __m256d rsq_wide(__m256d x)
{
    return _mm256_div_pd(_mm256_set1_pd(1), _mm256_sqrt_pd(x));
}

static long double rsq_exact(long double x)
{
    return 1 / sqrtl(x);
}

static __m256 rsq8(__m256 x)
{
    __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    return where(negative, em_nan_f32(), rounded8(x, rsq_wide, rsq_exact));
}

/* In long double, of a value within half a turn: exact to 2^-63. */
static long double sin_exact(long double x)
{
    const long double two_pi = 6.283185307179586476925286766559005768L;
    return sinl((x - rintl(x)) * two_pi);
}

static long double cos_exact(long double x)
{
    const long double two_pi = 6.283185307179586476925286766559005768L;
    return cosl((x - rintl(x)) * two_pi);
}

static __m256d sin_wide(__m256d x)
{
    return sin_4(x, 0);
}

static __m256d cos_wide(__m256d x)
{
    return sin_4(x, 1);
}

EM_INLINE __m256 turns8(__m256 x, wide_fn fn, exact_fn exact, float beyond)
{
    const __m256 sign = _mm256_set1_ps(-0.0F), most = _mm256_set1_ps(256);
    __m256 size = _mm256_andnot_ps(sign, x);
    __m256 inside = _mm256_cmp_ps(size, most, _CMP_LE_OQ);
    __m256 v = rounded8(_mm256_and_ps(inside, x), fn, exact);
    v = where(inside, v, _mm256_set1_ps(beyond));
    return where(_mm256_cmp_ps(size, infinity8(), _CMP_EQ_OQ), em_nan_f32(), v);
}

static __m256 sin8(__m256 x)
{
    return turns8(x, sin_wide, sin_exact, 0);
}

static __m256 cos8(__m256 x)
{
    return turns8(x, cos_wide, cos_exact, 1);
}

static void row_exp_f32(struct em_rows *r)
{
    each_f32(r, exp8);
}

static void row_log_f32(struct em_rows *r)
{
    each_f32(r, log8);
}

static void row_rcp_f32(struct em_rows *r)
{
    each_f32(r, rcp8);
}

static void row_rsq_f32(struct em_rows *r)
{
    each_f32(r, rsq8);
}

static void row_sqrt_f32(struct em_rows *r)
{
    each_f32(r, sqrt8);
}

static void row_sin_f32(struct em_rows *r)
{
    each_f32(r, sin8);
}

static void row_cos_f32(struct em_rows *r)
{
    each_f32(r, cos8);
}

/* --- f16: from f64, rounded to odd in f32 and then to f16 --- */

EM_INLINE __m128 to_odd4(__m256d v)
{
    __m128 f = _mm256_cvtpd_ps(v);
    __m256d back = _mm256_cvtps_pd(f), error = _mm256_sub_pd(v, back);
    __m256d inexact = _mm256_cmp_pd(error, _mm256_setzero_pd(), _CMP_NEQ_OQ);
    __m256d toward = _mm256_xor_pd(error, back); /* sign bit: the error reduces it */
    __m256i pick = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
    __m128i need = _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(_mm256_castpd_si256(inexact), pick));
    __m128i less = _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(_mm256_castpd_si256(toward), pick));
    __m128i bits = _mm_castps_si128(f);
    __m128i odd = _mm_srai_epi32(_mm_slli_epi32(bits, 31), 31);
    __m128i step = _mm_or_si128(_mm_srai_epi32(less, 31), _mm_set1_epi32(1));
    step = _mm_and_si128(step, _mm_andnot_si128(odd, need));
    return _mm_castsi128_ps(_mm_add_epi32(bits, step));
}

EM_INLINE __m256 wide8(__m256 x, wide_fn fn)
{
    __m128 low = to_odd4(fn(_mm256_cvtps_pd(_mm256_castps256_ps128(x))));
    __m128 high = to_odd4(fn(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

static __m256 exp_f16_8(__m256 x)
{
    __m256 most = _mm256_set1_ps(60);
    x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-60)), most);
    return wide8(x, exp2_wide);
}

static __m256 log_f16_8(__m256 x)
{
    __m256 plain = where(log_plain(x), x, _mm256_set1_ps(1));
    return log_special(x, wide8(plain, log2_wide));
}

static __m256 rsq_f16_8(__m256 x)
{
    __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    return where(negative, em_nan_f32(), wide8(x, rsq_wide));
}

EM_INLINE __m256 turns_f16_8(__m256 x, wide_fn fn, float beyond)
{
    const __m256 sign = _mm256_set1_ps(-0.0F), most = _mm256_set1_ps(256);
    __m256 size = _mm256_andnot_ps(sign, x);
    __m256 inside = _mm256_cmp_ps(size, most, _CMP_LE_OQ);
    __m256 v = wide8(_mm256_and_ps(inside, x), fn);
    v = where(inside, v, _mm256_set1_ps(beyond));
    return where(_mm256_cmp_ps(size, infinity8(), _CMP_EQ_OQ), em_nan_f32(), v);
}

static __m256 sin_f16_8(__m256 x)
{
    return turns_f16_8(x, sin_wide, 0);
}

static __m256 cos_f16_8(__m256 x)
{
    return turns_f16_8(x, cos_wide, 1);
}

EM_INLINE void each_f16(struct em_rows *r, function8 fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 x = em_widen_f16(em_get8(r->s[0][0], i));
        __m256 v = where(em_unord_f32(x), x, fn(x));
        em_put8(r->d[0], i, em_narrow_f16(v));
    }
}

static void core_exp_f16(struct em_rows *r)
{
    each_f16(r, exp_f16_8);
}

static void core_log_f16(struct em_rows *r)
{
    each_f16(r, log_f16_8);
}

static void core_rcp_f16(struct em_rows *r)
{
    each_f16(r, rcp8);
}

static void core_rsq_f16(struct em_rows *r)
{
    each_f16(r, rsq_f16_8);
}

static void core_sqrt_f16(struct em_rows *r)
{
    each_f16(r, sqrt8);
}

static void core_sin_f16(struct em_rows *r)
{
    each_f16(r, sin_f16_8);
}

static void core_cos_f16(struct em_rows *r)
{
    each_f16(r, cos_f16_8);
}

/* The reciprocals' infinities are taken for those of zeros, which are no overflow. */
EM_FORMATS_ROW(exp_f16, NONE, F16, F16)
EM_FLOAT_ROW(log_f16, .src = EM_FORMAT_F16, .dst = EM_FORMAT_F16, .true_infinity = true)
EM_FLOAT_ROW(rcp_f16, .src = EM_FORMAT_F16, .dst = EM_FORMAT_F16, .true_infinity = true)
EM_FLOAT_ROW(rsq_f16, .src = EM_FORMAT_F16, .dst = EM_FORMAT_F16, .true_infinity = true)
EM_FLOAT_ROW(sqrt_f16,
             .src = EM_FORMAT_F16,
             .dst = EM_FORMAT_F16,
             .true_infinity = true)
EM_FLOAT_ROW(sin_f16, .src = EM_FORMAT_F16, .dst = EM_FORMAT_F16, .true_infinity = true)
EM_FLOAT_ROW(cos_f16, .src = EM_FORMAT_F16, .dst = EM_FORMAT_F16, .true_infinity = true)

/* --- f64 --- */

EM_INLINE __m256d quieted(__m256d v, __m256d x)
{
    return _mm256_blendv_pd(v, em_quiet_f64(x), em_unord_f64(x));
}

static void core_rcp_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d x = em_get_f64(r->s[0], i);
        em_put_f64(r->d, i, quieted(_mm256_div_pd(_mm256_set1_pd(1), x), x));
    }
}

static void core_sqrt_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d x = em_get_f64(r->s[0], i), v = _mm256_sqrt_pd(x);
        v = _mm256_blendv_pd(v, em_nan_f64(),
                             _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_LT_OQ));
        em_put_f64(r->d, i, quieted(v, x));
    }
}

static void core_rsq_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d x = em_get_f64(r->s[0], i);
        double values[4];
        _mm256_storeu_pd(values, x);
        for (unsigned k = 0; k < 4; k++) {
            values[k] = values[k] < 0 ? 0 : (double)rsq_exact((long double)values[k]);
        }
        __m256d v = _mm256_blendv_pd(_mm256_loadu_pd(values), em_nan_f64(),
                                     _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_LT_OQ));
        em_put_f64(r->d, i, quieted(v, x));
    }
}

EM_FORMATS_ROW(rcp_f64, NONE, F64, F64)
EM_FORMATS_ROW(sqrt_f64, NONE, F64, F64)
EM_FORMATS_ROW(rsq_f64, NONE, F64, F64)

/* clang-format off */
const struct em_valu_row em_valu_special[] = {
    {EM_v_exp_f32, EM_CLASS_TRANS, row_exp_f32},
    {EM_v_exp_legacy_f32, EM_CLASS_TRANS, row_exp_f32},
    {EM_v_log_f32, EM_CLASS_TRANS, row_log_f32},
    {EM_v_log_legacy_f32, EM_CLASS_TRANS, row_log_f32},
    {EM_v_rcp_f32, EM_CLASS_TRANS, row_rcp_f32},
    {EM_v_rcp_iflag_f32, EM_CLASS_TRANS, row_rcp_f32},
    {EM_v_rsq_f32, EM_CLASS_TRANS, row_rsq_f32},
    {EM_v_sqrt_f32, EM_CLASS_TRANS, row_sqrt_f32},
    {EM_v_sin_f32, EM_CLASS_TRANS, row_sin_f32},
    {EM_v_cos_f32, EM_CLASS_TRANS, row_cos_f32},
    {EM_v_exp_f16, EM_CLASS_TRANS, row_exp_f16},
    {EM_v_log_f16, EM_CLASS_TRANS, row_log_f16},
    {EM_v_rcp_f16, EM_CLASS_TRANS, row_rcp_f16},
    {EM_v_rsq_f16, EM_CLASS_TRANS, row_rsq_f16},
    {EM_v_sqrt_f16, EM_CLASS_TRANS, row_sqrt_f16},
    {EM_v_sin_f16, EM_CLASS_TRANS, row_sin_f16},
    {EM_v_cos_f16, EM_CLASS_TRANS, row_cos_f16},
    {EM_v_rcp_f64, EM_CLASS_TRANS, row_rcp_f64},
    {EM_v_rsq_f64, EM_CLASS_TRANS, row_rsq_f64},
    {EM_v_sqrt_f64, EM_CLASS_TRANS, row_sqrt_f64},
    {EM_v_frexp_exp_i16_f16, EM_CLASS_VALU, em_row_frexp_exp_f16},
    {EM_v_frexp_exp_i32_f32, EM_CLASS_VALU, em_row_frexp_exp_f32},
    {EM_v_frexp_exp_i32_f64, EM_CLASS_F64, em_row_frexp_exp_f64},
    {EM_v_frexp_mant_f16, EM_CLASS_VALU, em_row_frexp_mant_f16},
    {EM_v_frexp_mant_f32, EM_CLASS_VALU, em_row_frexp_mant_f32},
    {EM_v_frexp_mant_f64, EM_CLASS_F64, em_row_frexp_mant_f64},
    {EM_v_ldexp_f16, EM_CLASS_VALU, em_row_ldexp_f16},
    {EM_v_ldexp_f32, EM_CLASS_VALU, em_row_ldexp_f32},
    {EM_v_ldexp_f64, EM_CLASS_F64, em_row_ldexp_f64},
    {EM_v_trig_preop_f64, EM_CLASS_F64, em_row_trig_preop_f64},
    {EM_v_div_scale_f32, EM_CLASS_VALU, em_row_div_scale_f32},
    {EM_v_div_scale_f64, EM_CLASS_F64, em_row_div_scale_f64},
    {EM_v_div_fmas_f32, EM_CLASS_VALU, em_row_div_fmas_f32},
    {EM_v_div_fmas_f64, EM_CLASS_F64, em_row_div_fmas_f64},
    {EM_v_div_fixup_f16, EM_CLASS_VALU, em_row_div_fixup_f16},
    {EM_v_div_fixup_legacy_f16, EM_CLASS_VALU, em_row_div_fixup_f16},
    {EM_v_div_fixup_f32, EM_CLASS_VALU, em_row_div_fixup_f32},
    {EM_v_div_fixup_f64, EM_CLASS_F64, em_row_div_fixup_f64},
    {0, 0, NULL},
};
