/* Vector arithmetic of 64-bit floats, and their rounding to integers. */
#include "emulator/exec/valu_float.h"

typedef __m256d (*unary_fn)(__m256d);
typedef __m256d (*binary_fn)(__m256d, __m256d);

EM_INLINE __m256d nan2(__m256d v, __m256d a, __m256d b)
{
    __m256d nan = _mm256_blendv_pd(em_nan_f64(), em_quiet_f64(b), em_unord_f64(b));
    nan = _mm256_blendv_pd(nan, em_quiet_f64(a), em_unord_f64(a));
    return _mm256_blendv_pd(v, nan, em_unord_f64(v));
}

EM_INLINE __m256d nan3(__m256d v, __m256d a, __m256d b, __m256d c)
{
    __m256d invalid = em_unord_f64(_mm256_mul_pd(a, b));
    __m256d of_c = _mm256_andnot_pd(invalid, em_unord_f64(c));
    __m256d nan = _mm256_blendv_pd(em_nan_f64(), em_quiet_f64(c), of_c);
    nan = _mm256_blendv_pd(nan, em_quiet_f64(b), em_unord_f64(b));
    nan = _mm256_blendv_pd(nan, em_quiet_f64(a), em_unord_f64(a));
    return _mm256_blendv_pd(v, nan, em_unord_f64(v));
}

EM_INLINE void each_unary(struct em_rows *r, unary_fn fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        em_put_f64(r->d, i, fn(em_get_f64(r->s[0], i)));
    }
}

EM_INLINE void each_binary(struct em_rows *r, binary_fn fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d a = em_get_f64(r->s[0], i), b = em_get_f64(r->s[1], i);
        __m256d v = fn(a, b);
        if (__builtin_expect(em_any_nan_f64(v), 0)) {
            v = nan2(v, a, b);
        }
        em_put_f64(r->d, i, v);
    }
}

EM_INLINE __m256d add4(__m256d a, __m256d b)
{
    return _mm256_add_pd(a, b);
}

EM_INLINE __m256d mul4(__m256d a, __m256d b)
{
    return _mm256_mul_pd(a, b);
}

static void core_add(struct em_rows *r)
{
    each_binary(r, add4);
}

static void core_mul(struct em_rows *r)
{
    each_binary(r, mul4);
}

static void core_fma(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d a = em_get_f64(r->s[0], i), b = em_get_f64(r->s[1], i);
        __m256d c = em_get_f64(r->s[2], i), v = _mm256_fmadd_pd(a, b, c);
        if (__builtin_expect(em_any_nan_f64(v), 0)) {
            v = nan3(v, a, b, c);
        }
        em_put_f64(r->d, i, v);
    }
}

EM_F64_ROW(add)
EM_F64_ROW(mul)
EM_F64_ROW(fma)

/* --- rounding to integers --- */

EM_INLINE __m256d floor4(__m256d v)
{
    return _mm256_round_pd(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

EM_INLINE __m256d ceil4(__m256d v)
{
    return _mm256_round_pd(v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

EM_INLINE __m256d trunc4(__m256d v)
{
    return _mm256_round_pd(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

EM_INLINE __m256d rndne4(__m256d v)
{
    return _mm256_round_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

EM_INLINE __m256d fract4(__m256d v)
{
    const __m256d below_one = _mm256_set1_pd(0x1.fffffffffffffp-1);
    __m256d f = _mm256_sub_pd(v, floor4(v));
    f = _mm256_blendv_pd(f, below_one, _mm256_cmp_pd(f, below_one, _CMP_GT_OQ));
    return em_any_nan_f64(f) ? nan2(f, v, v) : f;
}

static void core_floor(struct em_rows *r)
{
    each_unary(r, floor4);
}

static void core_ceil(struct em_rows *r)
{
    each_unary(r, ceil4);
}

static void core_trunc(struct em_rows *r)
{
    each_unary(r, trunc4);
}

static void core_rndne(struct em_rows *r)
{
    each_unary(r, rndne4);
}

static void core_fract(struct em_rows *r)
{
    each_unary(r, fract4);
}

EM_F64_ROW(floor)
EM_F64_ROW(ceil)
EM_F64_ROW(trunc)
EM_F64_ROW(rndne)
EM_F64_ROW(fract)

/* --- minimum, maximum --- */

EM_INLINE __m256d flush4(__m256d v)
{
    const __m256i exponent = _mm256_set1_epi64x(0x7ff0000000000000);
    __m256i bits = _mm256_castpd_si256(v);
    __m256i zero =
        _mm256_cmpeq_epi64(_mm256_and_si256(bits, exponent), _mm256_setzero_si256());
    return _mm256_blendv_pd(v, _mm256_and_pd(v, _mm256_set1_pd(-0.0)),
                            _mm256_castsi256_pd(zero));
}

EM_INLINE __m256d signalling4(__m256d v)
{
    const __m256i quiet = _mm256_set1_epi64x(0x0008000000000000);
    __m256i loud = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_castpd_si256(v), quiet),
                                      _mm256_setzero_si256());
    return _mm256_and_pd(em_unord_f64(v), _mm256_castsi256_pd(loud));
}

static __m256d choose_nan4(__m256d v, __m256d a, __m256d b, bool ieee)
{
    v = _mm256_blendv_pd(v, a, em_unord_f64(b));
    v = _mm256_blendv_pd(v, b, em_unord_f64(a));
    if (ieee) {
        v = _mm256_blendv_pd(v, em_quiet_f64(b), signalling4(b));
        v = _mm256_blendv_pd(v, em_quiet_f64(a), signalling4(a));
    }
    return v;
}

/* -0 is below +0. */
EM_INLINE void each_choice(struct em_rows *r, bool most)
{
    bool ieee = (r->mode & EM_MODE_IEEE) != 0;
    bool flush = (r->mode & EM_MODE_DENORM_F64_F16) != EM_MODE_DENORM_F64_F16;
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m256d a = em_get_f64(r->s[0], i), b = em_get_f64(r->s[1], i);
        if (flush) {
            a = flush4(a);
            b = flush4(b);
        }
        __m256d v = most ? _mm256_and_pd(_mm256_max_pd(a, b), _mm256_max_pd(b, a))
                         : _mm256_or_pd(_mm256_min_pd(a, b), _mm256_min_pd(b, a));
        if (_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_UNORD_Q)) != 0) {
            v = choose_nan4(v, a, b, ieee);
        }
        em_put_f64(r->d, i, v);
    }
}

static void row_min(struct em_rows *r)
{
    each_choice(r, false);
}

static void row_max(struct em_rows *r)
{
    each_choice(r, true);
}

/* clang-format off */
const struct em_valu_row em_valu_f64[] = {
    {EM_v_add_f64, EM_CLASS_F64, row_add},
    {EM_v_mul_f64, EM_CLASS_F64, row_mul},
    {EM_v_fma_f64, EM_CLASS_F64, row_fma},
    {EM_v_fmac_f64, EM_CLASS_F64, row_fma},
    {EM_v_floor_f64, EM_CLASS_F64, row_floor},
    {EM_v_ceil_f64, EM_CLASS_F64, row_ceil},
    {EM_v_trunc_f64, EM_CLASS_F64, row_trunc},
    {EM_v_rndne_f64, EM_CLASS_F64, row_rndne},
    {EM_v_fract_f64, EM_CLASS_F64, row_fract},
    {EM_v_min_f64, EM_CLASS_F64, row_min},
    {EM_v_max_f64, EM_CLASS_F64, row_max},
    {0, 0, NULL},
};
