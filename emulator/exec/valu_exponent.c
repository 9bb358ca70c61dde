/* Exponents and mantissas: v_frexp_*, v_ldexp_*, and v_trig_preop_f64, which is a piece
 * of 2/pi chosen by an exponent. */
#include "emulator/exec/valu_float.h"

#include <math.h>

/* A float's bits taken apart; the format by its fraction's bits and largest exponent.
 */
struct parts {
    uint64_t sign, fraction;
    int exponent; /* value = 0.1fraction * 2^exponent where it is finite and not 0 */
    bool zero, nan, finite;
};

EM_INLINE struct parts take_apart(uint64_t bits, unsigned fraction_bits, int most)
{
    uint64_t one = UINT64_C(1) << fraction_bits, fraction = bits & (one - 1);
    int field = (int)(bits >> fraction_bits) & most;
    struct parts p = { .sign = bits & ((uint64_t)(most + 1) << fraction_bits),
                       .fraction = fraction,
                       .exponent = field - most / 2 + 1,
                       .zero = field == 0 && fraction == 0,
                       .nan = field == most && fraction != 0,
                       .finite = field != most };
    if (field == 0 && fraction != 0) {
        int up = __builtin_clzll(fraction) - (63 - (int)fraction_bits);
        p.fraction = fraction << up & (one - 1);
        p.exponent = 1 - most / 2 + 1 - up;
    }
    return p;
}

EM_INLINE uint64_t mantissa_of(uint64_t bits, unsigned fraction_bits, int most)
{
    struct parts p = take_apart(bits, fraction_bits, most);
    if (!p.finite) {
        return bits | (p.nan ? UINT64_C(1) << (fraction_bits - 1) : 0);
    }
    uint64_t half = (uint64_t)(most / 2 - 1) << fraction_bits; /* 0.5 */
    return p.sign | (p.zero ? 0 : half | p.fraction);
}

EM_INLINE int exponent_of(uint64_t bits, unsigned fraction_bits, int most)
{
    struct parts p = take_apart(bits, fraction_bits, most);
    return p.finite && !p.zero ? p.exponent : 0;
}

/* Denormal sources are zeros where MODE flushes them. */
EM_INLINE uint32_t take_f32(const struct em_rows *r, unsigned i)
{
    uint32_t v = r->s[0][0][i];
    bool flush = !(r->mode >> 4 & 1) && (v & 0x7f800000) == 0;
    return flush ? v & 0x80000000 : v;
}

EM_INLINE uint32_t take_f16(const struct em_rows *r, unsigned i)
{
    uint32_t v = r->s[0][0][i] & 0xffff;
    bool flush = !(r->mode >> 6 & 1) && (v & 0x7c00) == 0;
    return flush ? v & 0x8000 : v;
}

EM_INLINE uint64_t take_f64(const struct em_rows *r, unsigned i)
{
    uint64_t v = em_lane64(r->s[0], i);
    bool flush = !(r->mode >> 6 & 1) && (v >> 52 & 0x7ff) == 0;
    return flush ? v & UINT64_C(0x8000000000000000) : v;
}

void em_row_frexp_exp_f16(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        r->d[0][i] = (uint32_t)exponent_of(take_f16(r, i), 10, 0x1f) & 0xffff;
    }
}

void em_row_frexp_exp_f32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        r->d[0][i] = (uint32_t)exponent_of(take_f32(r, i), 23, 0xff);
    }
}

void em_row_frexp_exp_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        r->d[0][i] = (uint32_t)exponent_of(take_f64(r, i), 52, 0x7ff);
    }
}

void em_row_frexp_mant_f16(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        r->d[0][i] = (uint32_t)mantissa_of(take_f16(r, i), 10, 0x1f);
    }
}

void em_row_frexp_mant_f32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        r->d[0][i] = (uint32_t)mantissa_of(take_f32(r, i), 23, 0xff);
    }
}

void em_row_frexp_mant_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        em_set_lane64(r->d, i, mantissa_of(take_f64(r, i), 52, 0x7ff));
    }
}

/* --- v_ldexp: one rounding --- */

/* 2^e of four lanes, e within -1022..1023. */
EM_INLINE __m256d power4(__m128i e)
{
    __m256i wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(e), _mm256_set1_epi64x(1023));
    return _mm256_castsi256_pd(_mm256_slli_epi64(wide, 52));
}

/* In f64 the scaled value is exact: the exponents that matter are within +-300. */
static void core_ldexp_f32(struct em_rows *r)
{
    const __m128i least = _mm_set1_epi32(-300), most = _mm_set1_epi32(300);
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        __m128 v = _mm_load_ps((const float *)(const void *)(r->s[0][0] + i));
        __m128i e = _mm_load_si128((const __m128i *)(const void *)(r->s[1][0] + i));
        e = _mm_max_epi32(_mm_min_epi32(e, most), least);
        __m256d scaled = _mm256_mul_pd(_mm256_cvtps_pd(v), power4(e));
        _mm_store_ps((float *)(void *)(r->d[0] + i), _mm256_cvtpd_ps(scaled));
    }
}

/* In f32, of exponents within +-64. */
static void core_ldexp_f16(struct em_rows *r)
{
    const __m256i least = _mm256_set1_epi32(-64), most = _mm256_set1_epi32(64);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 v = em_widen_f16(em_get8(r->s[0][0], i));
        __m256i e = _mm256_slli_epi32(em_get8(r->s[1][0], i), 16);
        e = _mm256_srai_epi32(e, 16);
        e = _mm256_max_epi32(_mm256_min_epi32(e, most), least);
        e = _mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23);
        v = _mm256_mul_ps(v, _mm256_castsi256_ps(e));
        em_put8(r->d[0], i, em_narrow_f16(v));
    }
}

/* Finite and not 0, times 2^e. No step but the last is rounded, or denormal: the host
 * may be flushing those. */
static double scale_f64(uint64_t bits, int e)
{
    struct parts p = take_apart(bits, 52, 0x7ff);
    double one = em_f64_of(p.sign | (uint64_t)1023 << 52 | p.fraction);
    int exponent = p.exponent - 1 + e;
    if (exponent > 1023) {
        return one * 0x1p1023 * 2;
    }
    if (exponent >= -1022) {
        return one * ldexp(1, exponent);
    }
    return one * 0x1p-1000 * ldexp(1, (exponent < -1100 ? -1100 : exponent) + 1000);
}

static void core_ldexp_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        double v = em_f64_of(em_lane64(r->s[0], i));
        int e = (int)r->s[1][0][i];
        e = e > 3000 ? 3000 : (e < -3000 ? -3000 : e);
        if (isnan(v)) {
            em_set_lane64(r->d, i, em_bits_f64(v) | UINT64_C(0x0008000000000000));
        } else if (v == 0) { /* a denormal, too, where those are flushed */
            em_set_lane64(r->d, i, em_bits_f64(v) & UINT64_C(0x8000000000000000));
        } else if (isinf(v)) {
            em_set_lane64(r->d, i, em_bits_f64(v));
        } else {
            em_set_lane64(r->d, i, em_bits_f64(scale_f64(em_bits_f64(v), e)));
        }
    }
}

EM_FLOAT_ROW(ldexp_f16,
             .round = EM_FORMAT_F16,
             .src = EM_FORMAT_F16,
             .dst = EM_FORMAT_F16,
             .integers = 2)
EM_F32_ROW(ldexp_f32)
EM_F64_ROW(ldexp_f64)

void em_row_ldexp_f16(struct em_rows *r)
{
    row_ldexp_f16(r);
}

void em_row_ldexp_f32(struct em_rows *r)
{
    row_ldexp_f32(r);
}

void em_row_ldexp_f64(struct em_rows *r)
{
    row_ldexp_f64(r);
}

/* --- v_trig_preop_f64 --- */

/* The first 1201 bits of 2/pi behind the point. */
static const uint32_t two_over_pi[38] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
    0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
    0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
    0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
    0x1f8d5d08, 0x56033046, 0xfc7b0000,
};

EM_INLINE uint64_t word_of_two_over_pi(unsigned k)
{
    return k < 38 ? two_over_pi[k] : 0;
}

/* 53 bits from position `shift` on; zeros behind the last one. */
static uint64_t bits_of_two_over_pi(unsigned shift)
{
    unsigned k = shift / 32, within = shift % 32;
    uint64_t high = word_of_two_over_pi(k) << 32 | word_of_two_over_pi(k + 1);
    uint64_t low = word_of_two_over_pi(k + 2) << within >> 32;
    return (high << within | low) >> 11;
}

/* Piece `segment` of 2/pi, cut where it is denormal; pieces of no use for so large a
 * value are left out, and those of the largest values are scaled up, as v_ldexp is to
 * scale the value down.
 */
static double trig_preop(uint64_t value, uint32_t segment)
{
    int exponent = (int)(value >> 52 & 0x7ff);
    int shift = (int)(segment & 31) * 53;
    shift += exponent > 1077 ? exponent - 1077 : 0;
    uint64_t bits = bits_of_two_over_pi((unsigned)shift);
    int power = -53 - shift + (exponent >= 1968 ? 128 : 0);
    if (power < -1074) {
        bits = -1074 - power > 52 ? 0 : bits >> (-1074 - power);
        power = -1074;
    }
    return bits == 0 ? 0 : ldexp((double)bits, power);
}

void em_row_trig_preop_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        double v = trig_preop(em_lane64(r->s[0], i), r->s[1][0][i]);
        em_set_lane64(r->d, i, em_bits_f64(v));
    }
}
