/* Bulk Philox and the normal transform, in a plain and an AVX2 compilation of the same
 * text. Both give the same bits: the integer part is exact, and the floating part uses
 * only +, -, *, / and sqrt (correctly rounded by IEEE 754) in one fixed order, compiled
 * with -ffp-contract=off so that no multiply-add is fused.
 *
 * log: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh s, s = (m-1)/(m+1),
 * |s| < 0.1716, odd Taylor series to s^21 (error below 2^-56). sin and cos: the angle
 * is cut to a quadrant and x in [-pi/4, pi/4), Taylor series to x^15 and x^16. */
#include "core/rng_block.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2_PATH 1
#else
#define HAVE_AVX2_PATH 0
#endif

#define INLINE static inline __attribute__((always_inline))

#define M0 UINT64_C(0xD2511F53)
#define M1 UINT64_C(0xCD9E8D57)
#define W0 0x9E3779B9U
#define W1 0xBB67AE85U

INLINE double of_bits(uint64_t b)
{
    double v;
    memcpy(&v, &b, sizeof v);
    return v;
}

INLINE uint64_t bits_of(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

/* ln x for x in (0, 1], normal numbers only. */
INLINE double natural_log(double x)
{
    /* Adding this moves the cut between exponents to sqrt(2). */
    const uint64_t offset = UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd);
    const uint64_t b = bits_of(x) + offset;
    /* b >> 52 is the biased exponent; 2^52 + it, as a double, minus 2^52 + 1023. */
    const double e =
        of_bits(UINT64_C(0x4330000000000000) | b >> 52) - 4503599627371519.0;
    const double m =
        of_bits((b & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double p = 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    p = p * z + 2.0;
    return e * 0.6931471805599453094 + s * p;
}

INLINE double sine(double x)
{
    const double z = x * x;
    double p = -1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return x + x * z * p;
}

INLINE double cosine(double x)
{
    const double z = x * x;
    double p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    p = p * z - 0.5;
    return 1.0 + z * p;
}

INLINE void normal_pair(uint64_t even, uint64_t odd, double *ret_cos, double *ret_sin)
{
    const uint64_t one = UINT64_C(0x3ff0000000000000);
    /* 52 bits each: u in (0, 1], t in [0, 1). */
    const double u = 2.0 - of_bits(one | even >> 12);
    const double t = of_bits(one | (odd << 2) >> 12) - 1.0;
    const double r = sqrt(-2.0 * natural_log(u));
    const double x = (t - 0.5) * 1.5707963267948966192;
    const double c = cosine(x);
    const double s = sine(x);
    /* Quadrant q turns (c, s) by q * 90 degrees: swap for odd q, then the signs. */
    const uint64_t swap = 0 - (odd >> 62 & 1);
    const uint64_t bc = bits_of(c), bs = bits_of(s);
    const uint64_t sign_c = ((odd >> 62 ^ odd >> 63) & 1) << 63;
    const uint64_t sign_s = (odd >> 63) << 63;
    *ret_cos = r * of_bits(((bc & ~swap) | (bs & swap)) ^ sign_c);
    *ret_sin = r * of_bits(((bs & ~swap) | (bc & swap)) ^ sign_s);
}

INLINE void normal_loop(const uint64_t *even,
                        const uint64_t *odd,
                        double *restrict ret_cos,
                        double *restrict ret_sin)
{
    for (int b = 0; b < WF_RNG_BATCH; b++) {
        normal_pair(even[b], odd[b], &ret_cos[b], &ret_sin[b]);
    }
}

/* Each 32-bit word sits in the low half of a 64-bit lane. */
static void philox_plain(uint64_t seed,
                         uint64_t stream,
                         uint64_t block,
                         uint64_t *even,
                         uint64_t *odd)
{
    for (uint64_t b = 0; b < WF_RNG_BATCH; b++) {
        uint64_t c0 = (uint32_t)(block + b), c1 = (block + b) >> 32;
        uint64_t c2 = (uint32_t)stream, c3 = stream >> 32;
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
            const uint64_t p0 = M0 * c0, p1 = M1 * c2;
            c0 = p1 >> 32 ^ c1 ^ k0;
            c1 = (uint32_t)p1;
            c2 = p0 >> 32 ^ c3 ^ k1;
            c3 = (uint32_t)p0;
        }
        even[b] = c1 << 32 | c0;
        odd[b] = c3 << 32 | c2;
    }
}

#if HAVE_AVX2_PATH

#define AVX2 __attribute__((target("avx2")))

AVX2 static __m256i lanes(uint64_t v)
{
    return _mm256_set1_epi64x((long long)v);
}

AVX2 static __m256i xor3(__m256i a, __m256i b, __m256i c)
{
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

/* Four blocks at a time. The high halves of the lanes of c1 and c3 hold rubbish that
 * mul_epu32 and the shifts ignore; it is cleared at the end. */
AVX2 static void philox_avx2(uint64_t seed,
                             uint64_t stream,
                             uint64_t block,
                             uint64_t *even,
                             uint64_t *odd)
{
    const __m256i low = lanes(UINT32_MAX), m0 = lanes(M0), m1 = lanes(M1);
    for (uint64_t b = 0; b < WF_RNG_BATCH; b += 4) {
        const __m256i at =
            _mm256_add_epi64(lanes(block + b), _mm256_setr_epi64x(0, 1, 2, 3));
        __m256i c0 = at, c1 = _mm256_srli_epi64(at, 32);
        __m256i c2 = lanes(stream), c3 = lanes(stream >> 32);
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
            const __m256i p0 = _mm256_mul_epu32(m0, c0);
            const __m256i p1 = _mm256_mul_epu32(m1, c2);
            c0 = xor3(_mm256_srli_epi64(p1, 32), c1, lanes(k0));
            c1 = p1;
            c2 = xor3(_mm256_srli_epi64(p0, 32), c3, lanes(k1));
            c3 = p0;
        }
        c0 = _mm256_or_si256(_mm256_and_si256(c0, low), _mm256_slli_epi64(c1, 32));
        c2 = _mm256_or_si256(_mm256_and_si256(c2, low), _mm256_slli_epi64(c3, 32));
        _mm256_storeu_si256((__m256i *)(void *)(even + b), c0);
        _mm256_storeu_si256((__m256i *)(void *)(odd + b), c2);
    }
}

AVX2 static void normal_avx2(const uint64_t *even,
                             const uint64_t *odd,
                             double *ret_cos,
                             double *ret_sin)
{
    normal_loop(even, odd, ret_cos, ret_sin);
}

#endif

void wf_philox_batch(uint64_t seed,
                     uint64_t stream,
                     uint64_t block,
                     uint64_t even[WF_RNG_BATCH],
                     uint64_t odd[WF_RNG_BATCH])
{
#if HAVE_AVX2_PATH
    if (__builtin_cpu_supports("avx2")) {
        philox_avx2(seed, stream, block, even, odd);
        return;
    }
#endif
    philox_plain(seed, stream, block, even, odd);
}

void wf_normal_batch(const uint64_t even[WF_RNG_BATCH],
                     const uint64_t odd[WF_RNG_BATCH],
                     double ret_cos[WF_RNG_BATCH],
                     double ret_sin[WF_RNG_BATCH])
{
#if HAVE_AVX2_PATH
    if (__builtin_cpu_supports("avx2")) {
        normal_avx2(even, odd, ret_cos, ret_sin);
        return;
    }
#endif
    normal_loop(even, odd, ret_cos, ret_sin);
}
