/* Vector arithmetic of 32-bit floats, also of pairs of them, and their rounding to
 * integers. v_min, v_max and the like of f32 flush denormals as MODE says: they are
 * the canonicalising operations of gfx9. */
#include "emulator/exec/valu_float.h"

/* --- one and two sources --- */

typedef __m256 (*unary_fn)(__m256);
typedef __m256 (*binary_fn)(__m256, __m256);

EM_INLINE void each_unary(struct em_rows *r, unary_fn fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i, fn(em_get_f32(r->s[0][0], i)));
    }
}

EM_INLINE __m256 binary8(__m256 a, __m256 b, binary_fn fn)
{
    __m256 v = fn(a, b);
    return __builtin_expect(em_any_nan_f32(v), 0) ? em_nan2_f32(v, a, b) : v;
}

EM_INLINE void each_binary(struct em_rows *r, binary_fn fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 a = em_get_f32(r->s[0][0], i), b = em_get_f32(r->s[1][0], i);
        em_put_f32(r->d[0], i, binary8(a, b, fn));
    }
}

/* Both halves of a lane are read before one is written: registers may overlap. */
EM_INLINE void each_pair(struct em_rows *r, binary_fn fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 low = binary8(em_get_f32(r->s[0][0], i), em_get_f32(r->s[1][0], i), fn);
        __m256 high = binary8(em_get_f32(r->s[0][1], i), em_get_f32(r->s[1][1], i), fn);
        em_put_f32(r->d[0], i, low);
        em_put_f32(r->d[1], i, high);
    }
}

EM_INLINE __m256 add8(__m256 a, __m256 b)
{
    return _mm256_add_ps(a, b);
}

EM_INLINE __m256 sub8(__m256 a, __m256 b)
{
    return _mm256_sub_ps(a, b);
}

EM_INLINE __m256 mul8(__m256 a, __m256 b)
{
    return _mm256_mul_ps(a, b);
}

/* 0 times anything, NaN and infinity too, is +0. */
EM_INLINE __m256 mul_legacy8(__m256 a, __m256 b)
{
    const __m256 zero = _mm256_setzero_ps();
    __m256 is_zero = _mm256_or_ps(_mm256_cmp_ps(a, zero, _CMP_EQ_OQ),
                                  _mm256_cmp_ps(b, zero, _CMP_EQ_OQ));
    return _mm256_andnot_ps(is_zero, _mm256_mul_ps(a, b));
}

static void core_add(struct em_rows *r)
{
    each_binary(r, add8);
}

static void core_sub(struct em_rows *r)
{
    each_binary(r, sub8);
}

static void core_subrev(struct em_rows *r)
{
    struct em_rows swapped = *r;
    swapped.s[0][0] = r->s[1][0];
    swapped.s[1][0] = r->s[0][0];
    each_binary(&swapped, sub8);
}

static void core_mul(struct em_rows *r)
{
    each_binary(r, mul8);
}

static void core_mul_legacy(struct em_rows *r)
{
    each_binary(r, mul_legacy8);
}

static void core_pk_add(struct em_rows *r)
{
    each_pair(r, add8);
}

static void core_pk_mul(struct em_rows *r)
{
    each_pair(r, mul8);
}

EM_INLINE __m256 fma8(const struct em_rows *r, unsigned dword, unsigned i)
{
    return em_fma_f32(em_get_f32(r->s[0][dword], i), em_get_f32(r->s[1][dword], i),
                      em_get_f32(r->s[2][dword], i));
}

static void core_fma(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i, fma8(r, 0, i));
    }
}

static void core_pk_fma(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 low = fma8(r, 0, i), high = fma8(r, 1, i);
        em_put_f32(r->d[0], i, low);
        em_put_f32(r->d[1], i, high);
    }
}

EM_F32_ROW(add)
EM_F32_ROW(sub)
EM_F32_ROW(subrev)
EM_F32_ROW(mul)
EM_F32_ROW(mul_legacy)
EM_F32_ROW(fma)
EM_F32_ROW(pk_add)
EM_F32_ROW(pk_mul)
EM_F32_ROW(pk_fma)

/* --- rounding to integers; exact but for v_fract --- */

EM_INLINE __m256 fract8(__m256 v)
{
    return em_fract_f32(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x3f7fffff)));
}

static void core_floor(struct em_rows *r)
{
    each_unary(r, em_floor_f32);
}

static void core_ceil(struct em_rows *r)
{
    each_unary(r, em_ceil_f32);
}

static void core_trunc(struct em_rows *r)
{
    each_unary(r, em_trunc_f32);
}

static void core_rndne(struct em_rows *r)
{
    each_unary(r, em_rndne_f32);
}

static void core_fract(struct em_rows *r)
{
    each_unary(r, fract8);
}

EM_F32_ROW(floor)
EM_F32_ROW(ceil)
EM_F32_ROW(trunc)
EM_F32_ROW(rndne)
EM_F32_ROW(fract)

/* --- minimum, maximum, median --- */

/* How operands are taken: IEEE mode quiets a signalling NaN and returns it. */
struct choice {
    bool ieee, flush;
};

static struct choice choice_of(const struct em_rows *r)
{
    return (struct choice){
        .ieee = (r->mode & EM_MODE_IEEE) != 0,
        .flush = (r->mode & EM_MODE_DENORM_F32) != EM_MODE_DENORM_F32,
    };
}

EM_INLINE __m256 take8(const uint32_t *row, unsigned i, struct choice c)
{
    __m256i v = em_get8(row, i);
    return _mm256_castsi256_ps(c.flush ? em_flush_f32(v) : v);
}

EM_INLINE __m256 signalling8(__m256 v)
{
    __m256i loud = _mm256_castps_si256(_mm256_xor_ps(
        v, _mm256_castsi256_ps(_mm256_set1_epi32(0x00400000)))); /* sign bit: loud */
    loud = _mm256_slli_epi32(loud, 9);
    return _mm256_and_ps(em_unord_f32(v),
                         _mm256_castsi256_ps(_mm256_srai_epi32(loud, 31)));
}

/* One NaN: the other operand. Both: the second. */
static __m256 choose_nan8(__m256 v, __m256 a, __m256 b, bool ieee)
{
    v = _mm256_blendv_ps(v, a, em_unord_f32(b));
    v = _mm256_blendv_ps(v, b, em_unord_f32(a));
    if (ieee) {
        v = _mm256_blendv_ps(v, em_quiet_f32(b), signalling8(b));
        v = _mm256_blendv_ps(v, em_quiet_f32(a), signalling8(a));
    }
    return v;
}

/* The host's minimum of zeros of both signs is its second operand: hence both orders,
 * joined so that -0 is below +0. */
EM_INLINE __m256 min8(__m256 a, __m256 b, bool ieee)
{
    __m256 v = _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));
    bool nan = _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)) != 0;
    return __builtin_expect(nan, 0) ? choose_nan8(v, a, b, ieee) : v;
}

EM_INLINE __m256 max8(__m256 a, __m256 b, bool ieee)
{
    __m256 v = _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a));
    bool nan = _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)) != 0;
    return __builtin_expect(nan, 0) ? choose_nan8(v, a, b, ieee) : v;
}

EM_INLINE __m256 med8(__m256 a, __m256 b, __m256 c, bool ieee)
{
    __m256 ab = max8(a, b, ieee), most = max8(ab, c, ieee);
    __m256 v =
        _mm256_blendv_ps(ab, max8(a, c, ieee), _mm256_cmp_ps(most, b, _CMP_EQ_OQ));
    v = _mm256_blendv_ps(v, max8(b, c, ieee), _mm256_cmp_ps(most, a, _CMP_EQ_OQ));
    __m256 nan = _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), em_unord_f32(c));
    if (__builtin_expect(_mm256_movemask_ps(nan) != 0, 0)) {
        v = _mm256_blendv_ps(v, min8(min8(a, b, ieee), c, ieee), nan);
    }
    return v;
}

static void row_min(struct em_rows *r)
{
    struct choice c = choice_of(r);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i,
                   min8(take8(r->s[0][0], i, c), take8(r->s[1][0], i, c), c.ieee));
    }
}

static void row_max(struct em_rows *r)
{
    struct choice c = choice_of(r);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i,
                   max8(take8(r->s[0][0], i, c), take8(r->s[1][0], i, c), c.ieee));
    }
}

static void row_min3(struct em_rows *r)
{
    struct choice c = choice_of(r);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 v = min8(take8(r->s[0][0], i, c), take8(r->s[1][0], i, c), c.ieee);
        em_put_f32(r->d[0], i, min8(v, take8(r->s[2][0], i, c), c.ieee));
    }
}

static void row_max3(struct em_rows *r)
{
    struct choice c = choice_of(r);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 v = max8(take8(r->s[0][0], i, c), take8(r->s[1][0], i, c), c.ieee);
        em_put_f32(r->d[0], i, max8(v, take8(r->s[2][0], i, c), c.ieee));
    }
}

static void row_med3(struct em_rows *r)
{
    struct choice c = choice_of(r);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i,
                   med8(take8(r->s[0][0], i, c), take8(r->s[1][0], i, c),
                        take8(r->s[2][0], i, c), c.ieee));
    }
}

/* --- cube maps --- */

/* Faces by the largest coordinate, z before y before x. */
struct cube {
    __m256 x, y, z;
    __m256 z_face, y_face; /* else the x face */
};

EM_INLINE struct cube cube_of(const struct em_rows *r, unsigned i)
{
    const __m256 sign = _mm256_set1_ps(-0.0F);
    struct cube c = { .x = em_get_f32(r->s[0][0], i),
                      .y = em_get_f32(r->s[1][0], i),
                      .z = em_get_f32(r->s[2][0], i) };
    __m256 x = _mm256_andnot_ps(sign, c.x), y = _mm256_andnot_ps(sign, c.y);
    __m256 z = _mm256_andnot_ps(sign, c.z);
    c.z_face =
        _mm256_and_ps(_mm256_cmp_ps(z, x, _CMP_GE_OQ), _mm256_cmp_ps(z, y, _CMP_GE_OQ));
    c.y_face = _mm256_cmp_ps(y, x, _CMP_GE_OQ);
    return c;
}

EM_INLINE __m256 by_face(const struct cube *c, __m256 x, __m256 y, __m256 z)
{
    return _mm256_blendv_ps(_mm256_blendv_ps(x, y, c->y_face), z, c->z_face);
}

EM_INLINE __m256 negative8(__m256 v)
{
    return _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ);
}

EM_INLINE __m256 negate8(__m256 v)
{
    return _mm256_xor_ps(v, _mm256_set1_ps(-0.0F));
}

/* The number of the face whose coordinate is v: even, or odd where it is negative. */
EM_INLINE __m256 face8(__m256 v, float even)
{
    return _mm256_add_ps(_mm256_set1_ps(even),
                         _mm256_and_ps(negative8(v), _mm256_set1_ps(1)));
}

static void core_cubeid(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct cube c = cube_of(r, i);
        em_put_f32(r->d[0], i,
                   by_face(&c, face8(c.x, 0), face8(c.y, 2), face8(c.z, 4)));
    }
}

static void core_cubesc(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct cube c = cube_of(r, i);
        __m256 of_x = _mm256_blendv_ps(negate8(c.z), c.z, negative8(c.x));
        __m256 of_z = _mm256_blendv_ps(c.x, negate8(c.x), negative8(c.z));
        em_put_f32(r->d[0], i, by_face(&c, of_x, c.x, of_z));
    }
}

static void core_cubetc(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct cube c = cube_of(r, i);
        __m256 of_y = _mm256_blendv_ps(c.z, negate8(c.z), negative8(c.y));
        em_put_f32(r->d[0], i, by_face(&c, negate8(c.y), of_y, negate8(c.y)));
    }
}

static void core_cubema(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct cube c = cube_of(r, i);
        __m256 major = by_face(&c, c.x, c.y, c.z);
        em_put_f32(r->d[0], i, _mm256_mul_ps(major, _mm256_set1_ps(2)));
    }
}

EM_F32_ROW(cubeid)
EM_F32_ROW(cubesc)
EM_F32_ROW(cubetc)
EM_F32_ROW(cubema)

/* clang-format off */
const struct em_valu_row em_valu_f32[] = {
    {EM_v_add_f32, EM_CLASS_VALU, row_add},
    {EM_v_sub_f32, EM_CLASS_VALU, row_sub},
    {EM_v_subrev_f32, EM_CLASS_VALU, row_subrev},
    {EM_v_mul_f32, EM_CLASS_VALU, row_mul},
    {EM_v_mul_legacy_f32, EM_CLASS_VALU, row_mul_legacy},
    {EM_v_fma_f32, EM_CLASS_VALU, row_fma},
    {EM_v_fmac_f32, EM_CLASS_VALU, row_fma},
    {EM_v_fmamk_f32, EM_CLASS_VALU, row_fma},
    {EM_v_fmaak_f32, EM_CLASS_VALU, row_fma},
    {EM_v_pk_add_f32, EM_CLASS_VALU, row_pk_add},
    {EM_v_pk_mul_f32, EM_CLASS_VALU, row_pk_mul},
    {EM_v_pk_fma_f32, EM_CLASS_VALU, row_pk_fma},
    {EM_v_floor_f32, EM_CLASS_VALU, row_floor},
    {EM_v_ceil_f32, EM_CLASS_VALU, row_ceil},
    {EM_v_trunc_f32, EM_CLASS_VALU, row_trunc},
    {EM_v_rndne_f32, EM_CLASS_VALU, row_rndne},
    {EM_v_fract_f32, EM_CLASS_VALU, row_fract},
    {EM_v_min_f32, EM_CLASS_VALU, row_min},
    {EM_v_max_f32, EM_CLASS_VALU, row_max},
    {EM_v_min3_f32, EM_CLASS_VALU, row_min3},
    {EM_v_max3_f32, EM_CLASS_VALU, row_max3},
    {EM_v_med3_f32, EM_CLASS_VALU, row_med3},
    {EM_v_cubeid_f32, EM_CLASS_VALU, row_cubeid},
    {EM_v_cubesc_f32, EM_CLASS_VALU, row_cubesc},
    {EM_v_cubetc_f32, EM_CLASS_VALU, row_cubetc},
    {EM_v_cubema_f32, EM_CLASS_VALU, row_cubema},
    {0, 0, NULL},
};
