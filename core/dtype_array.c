/* Array conversions and poison. The vector path does the bulk where there is one, the
 * scalar loops the rest; both give the same bits. */
#include "core/dtype.h"

#include "core/dtype_fast.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

_Static_assert(WF_E5M2FNUZ == WF_E4M3FNUZ + 1 && WF_E4M3FN == WF_E4M3FNUZ + 2 &&
                   WF_E5M2 == WF_E4M3FNUZ + 3,
               "the fp8 formats follow each other");

/* Decode tables of the four fp8 formats, in enum order. */
static float fp8_tables[4][256];
static pthread_once_t fp8_tables_once = PTHREAD_ONCE_INIT;

static void make_fp8_tables(void)
{
    for (unsigned f = 0; f < 4; f++) {
        for (unsigned i = 0; i < 256; i++) {
            const enum wf_dtype t = (enum wf_dtype)((unsigned)WF_E4M3FNUZ + f);
            fp8_tables[f][i] = wf_fp8_to_f32(t, (uint8_t)i);
        }
    }
}

static const float *fp8_table(enum wf_dtype t)
{
    (void)pthread_once(&fp8_tables_once, make_fp8_tables);
    return fp8_tables[(unsigned)t - (unsigned)WF_E4M3FNUZ];
}

static void fp8_to_f64(enum wf_dtype t, const uint8_t *src, double *dst, size_t n)
{
    const float *table = fp8_table(t);
    for (size_t i = 0; i < n; i++) {
        dst[i] = (double)table[src[i]];
    }
}

static void fp8_to_f32(enum wf_dtype t, const uint8_t *src, float *dst, size_t n)
{
    const float *table = fp8_table(t);
    for (size_t i = 0; i < n; i++) {
        dst[i] = table[src[i]];
    }
}

static void half_to_f64(enum wf_dtype t, const uint16_t *src, double *dst, size_t n)
{
    size_t i = 0;
    if (wf_dtype_fast_available()) {
        i = t == WF_F16 ? wf_fast_f16_to_f64(src, dst, n)
                        : wf_fast_bf16_to_f64(src, dst, n);
    }
    for (; i < n; i++) {
        dst[i] = (double)(t == WF_F16 ? wf_f16_to_f32(src[i]) : wf_bf16_to_f32(src[i]));
    }
}

static void half_to_f32(enum wf_dtype t, const uint16_t *src, float *dst, size_t n)
{
    size_t i = 0;
    if (wf_dtype_fast_available()) {
        i = t == WF_F16 ? wf_fast_f16_to_f32(src, dst, n)
                        : wf_fast_bf16_to_f32(src, dst, n);
    }
    for (; i < n; i++) {
        dst[i] = t == WF_F16 ? wf_f16_to_f32(src[i]) : wf_bf16_to_f32(src[i]);
    }
}

/* One loop for each plain C type. */
#define CONVERT_LOOP(from, to)           \
    do {                                 \
        const from *s = src;             \
        for (size_t i = 0; i < n; i++) { \
            dst[i] = (to)s[i];           \
        }                                \
    } while (0)

void wf_to_f64(enum wf_dtype t, const void *src, double *dst, size_t n)
{
    switch (t) {
    case WF_F64:
        memcpy(dst, src, n * sizeof *dst);
        break;
    case WF_F32:
        CONVERT_LOOP(float, double);
        break;
    case WF_F16:
    case WF_BF16:
        half_to_f64(t, src, dst, n);
        break;
    case WF_E4M3FNUZ:
    case WF_E5M2FNUZ:
    case WF_E4M3FN:
    case WF_E5M2:
        fp8_to_f64(t, src, dst, n);
        break;
    case WF_I8:
        CONVERT_LOOP(int8_t, double);
        break;
    case WF_I32:
        CONVERT_LOOP(int32_t, double);
        break;
    case WF_I64:
        CONVERT_LOOP(int64_t, double);
        break;
    case WF_U8:
        CONVERT_LOOP(uint8_t, double);
        break;
    case WF_DTYPE_COUNT:
    default:
        break;
    }
}

void wf_to_f32(enum wf_dtype t, const void *src, float *dst, size_t n)
{
    switch (t) {
    case WF_F64:
        CONVERT_LOOP(double, float);
        break;
    case WF_F32:
        memcpy(dst, src, n * sizeof *dst);
        break;
    case WF_F16:
    case WF_BF16:
        half_to_f32(t, src, dst, n);
        break;
    case WF_E4M3FNUZ:
    case WF_E5M2FNUZ:
    case WF_E4M3FN:
    case WF_E5M2:
        fp8_to_f32(t, src, dst, n);
        break;
    case WF_I8:
        CONVERT_LOOP(int8_t, float);
        break;
    case WF_I32:
        CONVERT_LOOP(int32_t, float);
        break;
    case WF_I64:
        CONVERT_LOOP(int64_t, float);
        break;
    case WF_U8:
        CONVERT_LOOP(uint8_t, float);
        break;
    case WF_DTYPE_COUNT:
    default:
        break;
    }
}

/* To nearest, ties to even, clamped to [lo, hi); NaN becomes 0. */
static int64_t to_integer(double v, double lo, double hi, int64_t min, int64_t max)
{
    if (isnan(v)) {
        return 0;
    }
    const double r = nearbyint(v);
    if (r <= lo) {
        return min;
    }
    return r >= hi ? max : (int64_t)r;
}

static void integers_from_f64(enum wf_dtype t, const double *src, void *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (t == WF_I8) {
            ((int8_t *)dst)[i] =
                (int8_t)to_integer(src[i], INT8_MIN, INT8_MAX, INT8_MIN, INT8_MAX);
        } else if (t == WF_U8) {
            ((uint8_t *)dst)[i] =
                (uint8_t)to_integer(src[i], 0, UINT8_MAX, 0, UINT8_MAX);
        } else if (t == WF_I32) {
            ((int32_t *)dst)[i] =
                (int32_t)to_integer(src[i], INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX);
        } else {
            ((int64_t *)dst)[i] =
                to_integer(src[i], -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
        }
    }
}

/* Through f32 by rounding to odd (see dtype_fast.c), then to bf16 by nearest even. */
static uint16_t bf16_by_odd(double v)
{
    const float near = (float)v;
    const double back = (double)near;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (!(back == v) && !isnan(v)) {
        bits -= fabs(back) > fabs(v);
        bits |= 1;
    }
    const uint32_t nan = isnan(v) ? bits >> 16 | 0x40 : 0;
    return (uint16_t)(nan != 0 ? nan : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void half_from_f64(enum wf_dtype t, const double *src, uint16_t *dst, size_t n)
{
    size_t i = 0;
    if (t == WF_F16 && wf_dtype_fast_available()) {
        i = wf_fast_f64_to_f16(src, dst, n);
    }
    for (; i < n; i++) {
        dst[i] = t == WF_F16 ? wf_f64_to_f16(src[i]) : bf16_by_odd(src[i]);
    }
}

void wf_from_f64(enum wf_dtype t, const double *src, void *dst, size_t n)
{
    if (t == WF_F64) {
        memcpy(dst, src, n * sizeof *src);
    } else if (t == WF_F32) {
        for (size_t i = 0; i < n; i++) {
            ((float *)dst)[i] = (float)src[i];
        }
    } else if (t == WF_F16 || t == WF_BF16) {
        half_from_f64(t, src, dst, n);
    } else if (wf_dtype_is_fp8(t)) {
        for (size_t i = 0; i < n; i++) {
            ((uint8_t *)dst)[i] = wf_f64_to_fp8(t, src[i], true);
        }
    } else {
        integers_from_f64(t, src, dst, n);
    }
}

void wf_from_f32(enum wf_dtype t, const float *src, void *dst, size_t n)
{
    size_t i = 0;
    if (t == WF_F32) {
        memcpy(dst, src, n * sizeof *src);
        return;
    }
    if (t == WF_F16) {
        i = wf_dtype_fast_available() ? wf_fast_f32_to_f16(src, dst, n) : 0;
        for (; i < n; i++) {
            ((uint16_t *)dst)[i] = wf_f32_to_f16(src[i]);
        }
        return;
    }
    if (t == WF_BF16) {
        for (; i < n; i++) {
            ((uint16_t *)dst)[i] = wf_f32_to_bf16(src[i]);
        }
        return;
    }
    for (double block[256]; i < n;) {
        const size_t m = n - i < 256 ? n - i : 256;
        for (size_t j = 0; j < m; j++) {
            block[j] = (double)src[i + j];
        }
        wf_from_f64(t, block, (char *)dst + i * wf_dtype_bytes(t), m);
        i += m;
    }
}

static uint64_t poison_bits(enum wf_dtype t)
{
    switch (t) {
    case WF_F64:
        return UINT64_C(0x7ff80000dead0000);
    case WF_F32:
        return 0x7fc0dead;
    case WF_F16:
        return 0x7e5a;
    case WF_BF16:
        return 0x7fd5;
    case WF_E4M3FNUZ:
    case WF_E5M2FNUZ:
        return 0x80;
    case WF_E4M3FN:
        return 0x7f;
    case WF_E5M2:
        return 0x7d;
    case WF_I8:
    case WF_U8:
        return 0x5a;
    case WF_I32:
        return 0x5a5a5a5a;
    case WF_I64:
    case WF_DTYPE_COUNT:
    default:
        return UINT64_C(0x5a5a5a5a5a5a5a5a);
    }
}

void wf_poison(enum wf_dtype t, void *dst, size_t n)
{
    const uint64_t bits = poison_bits(t);
    if (wf_dtype_bytes(t) == 1) {
        memset(dst, (int)bits, n);
    } else if (wf_dtype_bytes(t) == 2) {
        for (size_t i = 0; i < n; i++) {
            ((uint16_t *)dst)[i] = (uint16_t)bits;
        }
    } else if (wf_dtype_bytes(t) == 4) {
        for (size_t i = 0; i < n; i++) {
            ((uint32_t *)dst)[i] = (uint32_t)bits;
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            ((uint64_t *)dst)[i] = bits;
        }
    }
}

bool wf_is_poison(enum wf_dtype t, const void *src)
{
    const uint64_t bits = poison_bits(t);
    return memcmp(src, &bits, wf_dtype_bytes(t)) == 0;
}
