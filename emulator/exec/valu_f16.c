/* Vector arithmetic of 16-bit floats: single, packed, mixed with f32, and dot products.
 * Sums, products and quotients of two f16 may be rounded to f32 and then to f16, since
 * 24 >= 2 * 11 + 2 bits; a fused multiply-add is rounded to odd in between. */
#include "emulator/exec/valu_float.h"

EM_INLINE __m256i high_half(__m256i v)
{
    return _mm256_srli_epi32(v, 16);
}

EM_INLINE __m256i join_halves(__m256i low, __m256i high)
{
    return _mm256_or_si256(low, _mm256_slli_epi32(high, 16));
}

/* --- sum, product --- */

typedef __m256 (*binary_fn)(__m256, __m256);
typedef __m256 (*unary_fn)(__m256);

EM_INLINE __m256i binary8(__m256i a, __m256i b, binary_fn fn)
{
    __m256 wide_a = em_widen_f16(a), wide_b = em_widen_f16(b);
    __m256 v = fn(wide_a, wide_b);
    if (__builtin_expect(em_any_nan_f32(v), 0)) {
        v = em_nan2_f32(v, wide_a, wide_b);
    }
    return em_narrow_f16(v);
}

EM_INLINE void each_binary(struct em_rows *r, bool packed, binary_fn fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i a = em_get8(r->s[0][0], i), b = em_get8(r->s[1][0], i);
        __m256i v = binary8(a, b, fn);
        if (packed) {
            v = join_halves(v, binary8(high_half(a), high_half(b), fn));
        }
        em_put8(r->d[0], i, v);
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

static void core_add(struct em_rows *r)
{
    each_binary(r, false, add8);
}

static void core_sub(struct em_rows *r)
{
    each_binary(r, false, sub8);
}

static void core_subrev(struct em_rows *r)
{
    struct em_rows swapped = *r;
    swapped.s[0][0] = r->s[1][0];
    swapped.s[1][0] = r->s[0][0];
    each_binary(&swapped, false, sub8);
}

static void core_mul(struct em_rows *r)
{
    each_binary(r, false, mul8);
}

static void core_pk_add(struct em_rows *r)
{
    each_binary(r, true, add8);
}

static void core_pk_mul(struct em_rows *r)
{
    each_binary(r, true, mul8);
}

EM_F16_ROW(add)
EM_F16_ROW(sub)
EM_F16_ROW(subrev)
EM_F16_ROW(mul)
EM_PF16_ROW(pk_add)
EM_PF16_ROW(pk_mul)

/* --- fused multiply-add --- */

/* a * b + c of widened f16, so that rounding it to f16 is one rounding: to odd where
 * the host rounds to nearest, in the direction itself otherwise. The product is exact.
 */
EM_INLINE __m256 fma_for_f16(__m256 a, __m256 b, __m256 c, bool nearest)
{
    __m256 v = em_fma_f32(a, b, c);
    if (!nearest) {
        return v;
    }
    __m256 product = _mm256_mul_ps(a, b);
    __m256 part = _mm256_sub_ps(v, product);
    __m256 error = _mm256_add_ps(_mm256_sub_ps(product, _mm256_sub_ps(v, part)),
                                 _mm256_sub_ps(c, part));
    __m256i inexact = _mm256_castps_si256(
        _mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_NEQ_OQ)); /* not where NaN */
    __m256i bits = _mm256_castps_si256(v);
    __m256i odd = _mm256_slli_epi32(bits, 31);
    __m256i move = _mm256_andnot_si256(_mm256_srai_epi32(odd, 31), inexact);
    /* Away from zero where the error has the sum's sign, else towards it. */
    __m256i toward =
        _mm256_srai_epi32(_mm256_xor_si256(bits, _mm256_castps_si256(error)), 31);
    __m256i step = _mm256_or_si256(toward, _mm256_set1_epi32(1));
    return _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_and_si256(step, move)));
}

EM_INLINE __m256i fma8(__m256i a, __m256i b, __m256i c, bool nearest)
{
    return em_narrow_f16(
        fma_for_f16(em_widen_f16(a), em_widen_f16(b), em_widen_f16(c), nearest));
}

EM_INLINE void each_fma(struct em_rows *r, bool packed)
{
    bool nearest = (r->mode & EM_MODE_ROUND_F64_F16) == 0;
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i a = em_get8(r->s[0][0], i), b = em_get8(r->s[1][0], i);
        __m256i c = em_get8(r->s[2][0], i), v = fma8(a, b, c, nearest);
        if (packed) {
            v = join_halves(v, fma8(high_half(a), high_half(b), high_half(c), nearest));
        }
        em_put8(r->d[0], i, v);
    }
}

static void core_fma(struct em_rows *r)
{
    each_fma(r, false);
}

static void core_pk_fma(struct em_rows *r)
{
    each_fma(r, true);
}

EM_F16_ROW(fma)
EM_PF16_ROW(pk_fma)

/* The multiply-adds that are not fused: two roundings, and no denormals whatever MODE
 * says. */
static void core_mad(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i a = em_flush_f16(em_get8(r->s[0][0], i));
        __m256i b = em_flush_f16(em_get8(r->s[1][0], i));
        __m256i c = em_flush_f16(em_get8(r->s[2][0], i));
        __m256i product = em_flush_f16(binary8(a, b, mul8));
        em_put8(r->d[0], i, em_flush_f16(binary8(product, c, add8)));
    }
}

EM_F16_ROW(mad)

/* --- rounding to integers --- */

EM_INLINE void each_unary(struct em_rows *r, unary_fn fn)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 v = fn(em_widen_f16(em_get8(r->s[0][0], i)));
        em_put8(r->d[0], i, em_narrow_f16(v));
    }
}

EM_INLINE __m256 fract8(__m256 v)
{
    return em_fract_f32(v, _mm256_set1_ps(0x1.ffcp-1F));
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

EM_F16_ROW(floor)
EM_F16_ROW(ceil)
EM_F16_ROW(trunc)
EM_F16_ROW(rndne)
EM_F16_ROW(fract)

/* --- minimum, maximum, median, on the bits --- */

struct choice {
    bool ieee, flush;
};

static struct choice choice_of(const struct em_rows *r)
{
    return (struct choice){
        .ieee = (r->mode & EM_MODE_IEEE) != 0,
        .flush = (r->mode & EM_MODE_DENORM_F64_F16) != EM_MODE_DENORM_F64_F16,
    };
}

EM_INLINE __m256i take8(const uint32_t *row, unsigned i, struct choice c)
{
    __m256i v = em_get8(row, i);
    return c.flush ? em_flush_f16(v) : v;
}

EM_INLINE __m256i nan16(__m256i v)
{
    __m256i magnitude = _mm256_and_si256(v, _mm256_set1_epi16(0x7fff));
    return _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7c00));
}

EM_INLINE __m256i signalling16(__m256i v)
{
    __m256i quiet = _mm256_and_si256(v, _mm256_set1_epi16(0x0200));
    __m256i loud = _mm256_cmpeq_epi16(quiet, _mm256_setzero_si256());
    return _mm256_and_si256(nan16(v), loud);
}

EM_INLINE __m256i quiet16(__m256i v)
{
    return _mm256_or_si256(v, _mm256_set1_epi16(0x0200));
}

/* Integers in the order of the floats, -0 below +0, and back. */
EM_INLINE __m256i order16(__m256i v)
{
    __m256i sign = _mm256_srai_epi16(v, 15);
    return _mm256_xor_si256(v, _mm256_srli_epi16(sign, 1));
}

EM_INLINE __m256i choose_nan16(__m256i v, __m256i a, __m256i b, bool ieee)
{
    v = _mm256_blendv_epi8(v, a, nan16(b));
    v = _mm256_blendv_epi8(v, b, nan16(a));
    if (ieee) {
        v = _mm256_blendv_epi8(v, quiet16(b), signalling16(b));
        v = _mm256_blendv_epi8(v, quiet16(a), signalling16(a));
    }
    return v;
}

EM_INLINE __m256i min16(__m256i a, __m256i b, bool ieee)
{
    __m256i v = order16(_mm256_min_epi16(order16(a), order16(b)));
    return choose_nan16(v, a, b, ieee);
}

EM_INLINE __m256i max16(__m256i a, __m256i b, bool ieee)
{
    __m256i v = order16(_mm256_max_epi16(order16(a), order16(b)));
    return choose_nan16(v, a, b, ieee);
}

/* Equal as floats, but for NaN. */
EM_INLINE __m256i equal16(__m256i a, __m256i b)
{
    __m256i either = _mm256_slli_epi16(_mm256_or_si256(a, b), 1);
    __m256i zeros = _mm256_cmpeq_epi16(either, _mm256_setzero_si256());
    return _mm256_or_si256(zeros, _mm256_cmpeq_epi16(a, b));
}

EM_INLINE __m256i med16(__m256i a, __m256i b, __m256i c, bool ieee)
{
    __m256i ab = max16(a, b, ieee), most = max16(ab, c, ieee);
    __m256i v = _mm256_blendv_epi8(ab, max16(a, c, ieee), equal16(most, b));
    v = _mm256_blendv_epi8(v, max16(b, c, ieee), equal16(most, a));
    __m256i nan = _mm256_or_si256(_mm256_or_si256(nan16(a), nan16(b)), nan16(c));
    return _mm256_blendv_epi8(v, min16(min16(a, b, ieee), c, ieee), nan);
}

typedef __m256i (*choose_fn)(__m256i, __m256i, bool);

EM_INLINE void each_choice(struct em_rows *r, unsigned sources, int mask, choose_fn fn)
{
    struct choice c = choice_of(r);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i v = fn(take8(r->s[0][0], i, c), take8(r->s[1][0], i, c), c.ieee);
        if (sources == 3) {
            v = fn(v, take8(r->s[2][0], i, c), c.ieee);
        }
        em_put8(r->d[0], i, _mm256_and_si256(v, _mm256_set1_epi32(mask)));
    }
}

static void row_min(struct em_rows *r)
{
    each_choice(r, 2, 0xffff, min16);
}

static void row_max(struct em_rows *r)
{
    each_choice(r, 2, 0xffff, max16);
}

static void row_pk_min(struct em_rows *r)
{
    each_choice(r, 2, -1, min16);
}

static void row_pk_max(struct em_rows *r)
{
    each_choice(r, 2, -1, max16);
}

static void row_min3(struct em_rows *r)
{
    each_choice(r, 3, 0xffff, min16);
}

static void row_max3(struct em_rows *r)
{
    each_choice(r, 3, 0xffff, max16);
}

static void row_med3(struct em_rows *r)
{
    struct choice c = choice_of(r);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i v = med16(take8(r->s[0][0], i, c), take8(r->s[1][0], i, c),
                          take8(r->s[2][0], i, c), c.ieee);
        em_put8(r->d[0], i, _mm256_and_si256(v, _mm256_set1_epi32(0xffff)));
    }
}

/* Packs; denormals are flushed as MODE says, and NaN quieted. */
static void row_pack(struct em_rows *r)
{
    const __m256i low = _mm256_set1_epi32(0xffff);
    bool flush = (r->mode >> 6 & 1) == 0;
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i v = join_halves(_mm256_and_si256(em_get8(r->s[0][0], i), low),
                                em_get8(r->s[1][0], i));
        v = flush ? em_flush_f16(v) : v;
        em_put8(r->d[0], i, _mm256_blendv_epi8(v, quiet16(v), nan16(v)));
    }
}

/* --- mixed with f32 --- */

/* Sources that were f16 (those that op_sel_hi selects) come as f32: their denormals are
 * flushed as f16's MODE says. */
struct mixed {
    _Alignas(64) uint32_t rows[3][EM_LANES];
};

static void flush_mixed(struct em_rows *r, struct mixed *m)
{
    const __m256 smallest = _mm256_set1_ps(0x1p-14F), sign = _mm256_set1_ps(-0.0F);
    for (unsigned s = 0; s < 3; s++) {
        if (!(r->in->op_sel_hi >> s & 1)) {
            continue;
        }
        for (unsigned i = 0; i < EM_LANES; i += 8) {
            __m256 v = em_get_f32(r->s[s][0], i);
            __m256 tiny =
                _mm256_cmp_ps(_mm256_andnot_ps(sign, v), smallest, _CMP_LT_OQ);
            v = _mm256_blendv_ps(v, _mm256_and_ps(v, sign), tiny);
            em_put_f32(m->rows[s], i, v);
        }
        r->s[s][0] = m->rows[s];
    }
}

static void core_mix(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i,
                   em_fma_f32(em_get_f32(r->s[0][0], i), em_get_f32(r->s[1][0], i),
                              em_get_f32(r->s[2][0], i)));
    }
}

EM_F32_ROW(mix)

static void core_narrow(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put8(r->d[0], i, em_narrow_f16(em_get_f32(r->s[0][0], i)));
    }
}

EM_FLOAT_ROW(narrow, .round = EM_FORMAT_F16, .src = EM_FORMAT_F32, .dst = EM_FORMAT_F16)

static void row_fma_mix(struct em_rows *r)
{
    struct mixed m;
    struct em_rows run = *r;
    if (!(r->mode >> 6 & 1)) {
        flush_mixed(&run, &m);
    }
    row_mix(&run);
}

/* Rounded to f32 and then to f16: a conversion behind the operation. */
static void row_fma_mix16(struct em_rows *r)
{
    _Alignas(64) uint32_t sum[EM_LANES];
    struct em_rows first = *r, second = *r;
    first.d[0] = sum;
    row_fma_mix(&first);
    memset(second.s, 0, sizeof(second.s));
    second.s[0][0] = sum;
    row_narrow(&second);
}

/* --- dot products: the low halves' product first; products are exact --- */

static void core_dot2(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i a = em_get8(r->s[0][0], i), b = em_get8(r->s[1][0], i);
        __m256 v =
            em_fma_f32(em_widen_f16(a), em_widen_f16(b), em_get_f32(r->s[2][0], i));
        v = em_fma_f32(em_widen_f16(high_half(a)), em_widen_f16(high_half(b)), v);
        em_put_f32(r->d[0], i, v);
    }
}

EM_F32_ROW(dot2)

static void row_dot2_f32(struct em_rows *r)
{
    struct mixed m;
    struct em_rows run = *r;
    if (!(r->mode >> 6 & 1)) {
        for (unsigned s = 0; s < 2; s++) {
            for (unsigned i = 0; i < EM_LANES; i += 8) {
                em_put8(m.rows[s], i, em_flush_f16(em_get8(r->s[s][0], i)));
            }
            run.s[s][0] = m.rows[s];
        }
    }
    row_dot2(&run);
}

/* clang-format off */
const struct em_valu_row em_valu_f16[] = {
    {EM_v_add_f16, EM_CLASS_VALU, row_add},
    {EM_v_sub_f16, EM_CLASS_VALU, row_sub},
    {EM_v_subrev_f16, EM_CLASS_VALU, row_subrev},
    {EM_v_mul_f16, EM_CLASS_VALU, row_mul},
    {EM_v_pk_add_f16, EM_CLASS_VALU, row_pk_add},
    {EM_v_pk_mul_f16, EM_CLASS_VALU, row_pk_mul},
    {EM_v_fma_f16, EM_CLASS_VALU, row_fma},
    {EM_v_fma_legacy_f16, EM_CLASS_VALU, row_fma},
    {EM_v_pk_fma_f16, EM_CLASS_VALU, row_pk_fma},
    {EM_v_pk_fmac_f16, EM_CLASS_VALU, row_pk_fma},
    {EM_v_mac_f16, EM_CLASS_VALU, row_mad},
    {EM_v_madmk_f16, EM_CLASS_VALU, row_mad},
    {EM_v_madak_f16, EM_CLASS_VALU, row_mad},
    {EM_v_mad_f16, EM_CLASS_VALU, row_mad},
    {EM_v_mad_legacy_f16, EM_CLASS_VALU, row_mad},
    {EM_v_floor_f16, EM_CLASS_VALU, row_floor},
    {EM_v_ceil_f16, EM_CLASS_VALU, row_ceil},
    {EM_v_trunc_f16, EM_CLASS_VALU, row_trunc},
    {EM_v_rndne_f16, EM_CLASS_VALU, row_rndne},
    {EM_v_fract_f16, EM_CLASS_VALU, row_fract},
    {EM_v_min_f16, EM_CLASS_VALU, row_min},
    {EM_v_max_f16, EM_CLASS_VALU, row_max},
    {EM_v_pk_min_f16, EM_CLASS_VALU, row_pk_min},
    {EM_v_pk_max_f16, EM_CLASS_VALU, row_pk_max},
    {EM_v_min3_f16, EM_CLASS_VALU, row_min3},
    {EM_v_max3_f16, EM_CLASS_VALU, row_max3},
    {EM_v_med3_f16, EM_CLASS_VALU, row_med3},
    {EM_v_pack_b32_f16, EM_CLASS_VALU, row_pack},
    {EM_v_fma_mix_f32, EM_CLASS_VALU, row_fma_mix},
    {EM_v_fma_mixlo_f16, EM_CLASS_VALU, row_fma_mix16},
    {EM_v_fma_mixhi_f16, EM_CLASS_VALU, row_fma_mix16},
    {EM_v_dot2_f32_f16, EM_CLASS_VALU, row_dot2_f32},
    {EM_v_dot2c_f32_f16, EM_CLASS_VALU, row_dot2_f32},
    {0, 0, NULL},
};
