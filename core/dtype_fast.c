/* AVX2 + F16C conversions. Each function carries its own target attribute, so that the
 * file compiles for the plain architecture and runs nowhere the instructions are
 * missing.
 *
 * f64 to f16 must round once. The value goes to f32 by "round to odd" (towards zero,
 * last bit set when anything was lost): with at least two extra bits the second
 * rounding then gives what one rounding would (Boldo and Melquiond, 2008). */
#include "core/dtype_fast.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define FAST __attribute__((target("avx2,f16c")))

bool wf_dtype_fast_available(void)
{
    /* Every processor with AVX2 has F16C, which not every compiler can be asked for. */
    return __builtin_cpu_supports("avx2") != 0;
}

FAST static __m128i load8(const uint16_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

FAST static __m256 widen_bf16(const uint16_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load8(p)), 16));
}

FAST static void store_f64(double *dst, __m256 v)
{
    _mm256_storeu_pd(dst, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
    _mm256_storeu_pd(dst + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
}

FAST size_t wf_fast_f16_to_f32(const uint16_t *src, float *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(load8(src + i)));
    }
    return i;
}

FAST size_t wf_fast_f16_to_f64(const uint16_t *src, double *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        store_f64(dst + i, _mm256_cvtph_ps(load8(src + i)));
    }
    return i;
}

FAST size_t wf_fast_bf16_to_f32(const uint16_t *src, float *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(dst + i, widen_bf16(src + i));
    }
    return i;
}

FAST size_t wf_fast_bf16_to_f64(const uint16_t *src, double *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        store_f64(dst + i, widen_bf16(src + i));
    }
    return i;
}

/* Gathers the low halves of four 64-bit masks into four 32-bit ones. */
FAST static __m128i narrow_mask(__m256d mask)
{
    const __m256i pick = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(_mm256_castpd_si256(mask), pick));
}

FAST static __m128 round_to_odd(__m256d v)
{
    const __m256d no_sign = _mm256_castsi256_pd(_mm256_set1_epi64x(INT64_MAX));
    const __m128 f = _mm256_cvtpd_ps(v);
    const __m256d back = _mm256_cvtps_pd(f);
    /* Ordered comparisons: a NaN is neither inexact nor too large. */
    const __m128i inexact = narrow_mask(_mm256_cmp_pd(back, v, _CMP_NEQ_OQ));
    const __m128i above = narrow_mask(_mm256_cmp_pd(
        _mm256_and_pd(back, no_sign), _mm256_and_pd(v, no_sign), _CMP_GT_OQ));
    __m128i bits = _mm_castps_si128(f);
    bits = _mm_add_epi32(bits, above); /* one step towards zero: the mask is -1 */
    bits = _mm_or_si128(bits, _mm_and_si128(inexact, _mm_set1_epi32(1)));
    return _mm_castsi128_ps(bits);
}

FAST size_t wf_fast_f64_to_f16(const double *src, uint16_t *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_set_m128(round_to_odd(_mm256_loadu_pd(src + i + 4)),
                                         round_to_odd(_mm256_loadu_pd(src + i)));
        _mm_storeu_si128((__m128i *)(void *)(dst + i),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}

FAST size_t wf_fast_f32_to_f16(const float *src, uint16_t *dst, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(src + i);
        _mm_storeu_si128((__m128i *)(void *)(dst + i),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}

#else

bool wf_dtype_fast_available(void)
{
    return false;
}

#define NO_FAST_PATH(name, from, to)                \
    size_t name(const from *src, to *dst, size_t n) \
    {                                               \
        (void)src;                                  \
        (void)dst;                                  \
        (void)n;                                    \
        return 0;                                   \
    }

NO_FAST_PATH(wf_fast_f16_to_f32, uint16_t, float)
NO_FAST_PATH(wf_fast_f16_to_f64, uint16_t, double)
NO_FAST_PATH(wf_fast_bf16_to_f32, uint16_t, float)
NO_FAST_PATH(wf_fast_bf16_to_f64, uint16_t, double)
NO_FAST_PATH(wf_fast_f64_to_f16, double, uint16_t)
NO_FAST_PATH(wf_fast_f32_to_f16, float, uint16_t)

#endif
