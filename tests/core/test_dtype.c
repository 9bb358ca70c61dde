/* Element types against independent formulas: every code of every small format is
 * decoded with ldexp, and encoding is checked on, at and beside every midpoint. */
#include "core/dtype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct format {
    enum wf_dtype type;
    int exponent_bits, mantissa_bits, bias;
    bool fnuz, ieee; /* ieee: the top exponent is inf and NaN */
};

static const struct format FORMATS[] = {
    { WF_F16, 5, 10, 15, false, true },    { WF_BF16, 8, 7, 127, false, true },
    { WF_E4M3FNUZ, 4, 3, 8, true, false }, { WF_E5M2FNUZ, 5, 2, 16, true, false },
    { WF_E4M3FN, 4, 3, 7, false, false },  { WF_E5M2, 5, 2, 15, false, true },
};

static unsigned code_count(const struct format *f)
{
    return 1U << (1 + f->exponent_bits + f->mantissa_bits);
}

/* The textbook value of a code. */
static double value_of(const struct format *f, unsigned code)
{
    const unsigned half = code_count(f) / 2;
    const int e = (int)((code % half) >> f->mantissa_bits);
    const int m = (int)(code & ((1U << f->mantissa_bits) - 1));
    const double sign = code >= half ? -1.0 : 1.0;
    const int top = (1 << f->exponent_bits) - 1;
    if (f->fnuz && code == half) {
        return NAN;
    }
    if (f->ieee && e == top) {
        return m == 0 ? sign * INFINITY : NAN;
    }
    if (f->type == WF_E4M3FN && e == top && m == 7) {
        return NAN;
    }
    if (e == 0) {
        return sign * ldexp(m, 1 - f->bias - f->mantissa_bits);
    }
    return sign * ldexp(1.0 + ldexp(m, -f->mantissa_bits), e - f->bias);
}

static double decode(enum wf_dtype t, unsigned code)
{
    if (t == WF_F16) {
        return (double)wf_f16_to_f32((uint16_t)code);
    }
    if (t == WF_BF16) {
        return (double)wf_bf16_to_f32((uint16_t)code);
    }
    return (double)wf_fp8_to_f32(t, (uint8_t)code);
}

static unsigned encode(enum wf_dtype t, double v, bool saturate)
{
    if (t == WF_F16) {
        return wf_f64_to_f16(v);
    }
    if (t == WF_BF16) {
        return wf_f64_to_bf16(v);
    }
    return wf_f64_to_fp8(t, v, saturate);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

Test(dtype, every_code_decodes_to_its_textbook_value)
{
    for (size_t k = 0; k < sizeof FORMATS / sizeof *FORMATS; k++) {
        const struct format *f = &FORMATS[k];
        for (unsigned c = 0; c < code_count(f); c++) {
            cr_assert(same(decode(f->type, c), value_of(f, c)),
                      "%s code %#x: %g not %g", wf_dtype_name(f->type), c,
                      decode(f->type, c), value_of(f, c));
        }
    }
}

Test(dtype, every_finite_code_survives_a_round_trip)
{
    for (size_t k = 0; k < sizeof FORMATS / sizeof *FORMATS; k++) {
        const struct format *f = &FORMATS[k];
        for (unsigned c = 0; c < code_count(f); c++) {
            const double v = value_of(f, c);
            if (isnan(v)) {
                cr_assert(isnan(decode(f->type, encode(f->type, v, true))));
                continue;
            }
            cr_assert_eq(encode(f->type, v, false), c, "%s %#x", wf_dtype_name(f->type),
                         c);
        }
    }
}

/* Nearest finite value by looking at all of them; ties to the even code. */
static unsigned slow_encode(const struct format *f, double v)
{
    unsigned best = 0;
    double distance = INFINITY;
    const unsigned half = code_count(f) / 2;
    for (unsigned m = 0; m < half; m++) {
        const double d = fabs(value_of(f, m) - fabs(v));
        if (isfinite(d) && (d < distance || (d == distance && m % 2 == 0))) {
            distance = d;
            best = m;
        }
    }
    return signbit(v) && !(f->fnuz && best == 0) ? best | half : best;
}

static void check_near(const struct format *f, double v)
{
    const double points[] = { v, nextafter(v, -INFINITY), nextafter(v, INFINITY), -v,
                              -nextafter(v, INFINITY) };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        cr_assert_eq(encode(f->type, points[i], true), slow_encode(f, points[i]),
                     "%s of %a: %#x not %#x", wf_dtype_name(f->type), points[i],
                     encode(f->type, points[i], true), slow_encode(f, points[i]));
    }
}

Test(dtype, fp8_rounding_equals_a_search_at_and_beside_every_midpoint)
{
    for (size_t k = 2; k < sizeof FORMATS / sizeof *FORMATS; k++) {
        const struct format *f = &FORMATS[k];
        for (unsigned c = 0; c + 1 < code_count(f) / 2; c++) {
            const double a = value_of(f, c), b = value_of(f, c + 1);
            if (!isfinite(a) || !isfinite(b)) {
                break;
            }
            check_near(f, a);
            check_near(f, (a + b) / 2);
            check_near(f, b);
        }
        check_near(f, 1e9);
        check_near(f, 1e-300);
    }
}

/* As the fp8 test, with the two neighbours known instead of searched. */
static void check_midpoint(const struct format *f, unsigned c)
{
    const double a = value_of(f, c);
    const double b = value_of(f, c + 1);
    /* The step beyond the largest number is where infinity begins. */
    const double up = isinf(b) ? a + (a - value_of(f, c - 1)) : b;
    const double mid = (a + up) / 2;
    const unsigned even = c % 2 == 0 ? c : c + 1;
    const unsigned sign = code_count(f) / 2;
    cr_assert_eq(encode(f->type, mid, false), even, "%s mid above %#x",
                 wf_dtype_name(f->type), c);
    cr_assert_eq(encode(f->type, nextafter(mid, 0), false), c);
    cr_assert_eq(encode(f->type, nextafter(mid, INFINITY), false), c + 1);
    cr_assert_eq(encode(f->type, -mid, false), even | sign);
    cr_assert_eq(encode(f->type, -nextafter(mid, 0), false), c | sign);
}

Test(dtype, f16_and_bf16_round_to_even_at_every_midpoint_up_to_infinity)
{
    for (unsigned c = 0; c < 0x7c00; c++) {
        check_midpoint(&FORMATS[0], c);
    }
    for (unsigned c = 0; c < 0x7f80; c++) {
        check_midpoint(&FORMATS[1], c);
    }
}

Test(dtype, double_is_rounded_once_not_twice)
{
    /* Just above a midpoint of f16 by less than f32 resolves: through f32 it would
     * become the midpoint and go to even. */
    const double v = 1.0 + 0x1p-11 + 0x1p-40;
    cr_assert_eq(wf_f64_to_f16(v), 0x3c01);
    const double w = 1.0 + 0x1p-8 + 0x1p-40;
    cr_assert_eq(wf_f64_to_bf16(w), 0x3f81);
    double many[8] = { v, v, v, v, v, v, v, v };
    uint16_t out[8];
    wf_from_f64(WF_F16, many, out, 8);
    cr_assert_eq(out[7], 0x3c01);
}

Test(dtype, fp8_overflow_with_and_without_saturation)
{
    const struct {
        enum wf_dtype t;
        double v;
        double saturated;
        double plain; /* NaN and inf as they are */
    } rows[] = {
        { WF_E4M3FN, 448, 448, 448 },          { WF_E4M3FN, 464, 448, 448 },
        { WF_E4M3FN, 465, 448, NAN },          { WF_E4M3FN, 480, 448, NAN },
        { WF_E4M3FN, 1e9, 448, NAN },          { WF_E4M3FNUZ, 240, 240, 240 },
        { WF_E4M3FNUZ, 247, 240, 240 },        { WF_E4M3FNUZ, 248, 240, NAN },
        { WF_E4M3FNUZ, 249, 240, NAN },        { WF_E5M2, 57344, 57344, 57344 },
        { WF_E5M2, 61439, 57344, 57344 },      { WF_E5M2, 61440, 57344, INFINITY },
        { WF_E5M2, -1e9, -57344, -INFINITY },  { WF_E5M2FNUZ, 61439, 57344, 57344 },
        { WF_E5M2FNUZ, 61440, 57344, NAN },    { WF_E4M3FN, INFINITY, 448, NAN },
        { WF_E4M3FNUZ, -INFINITY, -240, NAN }, { WF_E4M3FNUZ, -0.0, 0.0, 0.0 },
        { WF_E4M3FN, -0.0, -0.0, -0.0 },       { WF_E4M3FNUZ, -1e-9, 0.0, 0.0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double s = decode(rows[i].t, encode(rows[i].t, rows[i].v, true));
        const double p = decode(rows[i].t, encode(rows[i].t, rows[i].v, false));
        cr_assert(same(s, rows[i].saturated), "row %zu: saturated %g", i, s);
        cr_assert(same(p, rows[i].plain), "row %zu: plain %g", i, p);
    }
}

Test(dtype, ocp_codes_are_exactly_twice_the_fnuz_ones)
{
    int e4m3 = 0, e5m2 = 0;
    for (unsigned c = 0; c < 256; c++) {
        const double ocp4 = decode(WF_E4M3FN, c), fnuz4 = decode(WF_E4M3FNUZ, c);
        const double ocp5 = decode(WF_E5M2, c), fnuz5 = decode(WF_E5M2FNUZ, c);
        if (isfinite(ocp4) && isfinite(fnuz4)) {
            e4m3++;
            cr_assert_eq(ocp4, 2 * fnuz4);
        }
        if (isfinite(ocp5) && isfinite(fnuz5)) {
            e5m2++;
            cr_assert_eq(ocp5, 2 * fnuz5);
        }
    }
    cr_assert_eq(e4m3, 253);
    cr_assert_eq(e5m2, 247);
    cr_assert(isnan(decode(WF_E4M3FNUZ, 0x80)));
    cr_assert_eq(decode(WF_E4M3FNUZ, 0x7f), 240);
    cr_assert_eq(decode(WF_E5M2FNUZ, 0x7c), 32768);
}

Test(dtype, nan_payloads_stay_nan_in_every_float)
{
    const uint32_t bits[] = { 0x7fd8c09a, 0x7fbe4f1b, 0xffa5eead, 0x7f800001 };
    for (size_t i = 0; i < 4; i++) {
        float v;
        memcpy(&v, &bits[i], sizeof v);
        cr_assert(isnan(wf_bf16_to_f32(wf_f32_to_bf16(v))));
        cr_assert(isnan(wf_f16_to_f32(wf_f32_to_f16(v))));
        cr_assert(isnan(wf_bf16_to_f32(wf_f64_to_bf16((double)v))));
        for (int saturate = 0; saturate < 2; saturate++) {
            for (size_t k = 2; k < 6; k++) {
                const unsigned c = encode(FORMATS[k].type, (double)v, saturate != 0);
                cr_assert(isnan(decode(FORMATS[k].type, c)));
            }
        }
    }
}

Test(dtype, f32_to_bf16_equals_the_one_through_double)
{
    uint32_t state = 12345;
    for (int i = 0; i < 200000; i++) {
        state = state * 1664525U + 1013904223U;
        float v;
        memcpy(&v, &state, sizeof v);
        if (!isnan(v)) {
            cr_assert_eq(wf_f32_to_bf16(v), wf_f64_to_bf16((double)v));
        }
    }
}

/* Arrays long enough for the vector path, of an odd length for its tail. */
Test(dtype, arrays_decode_the_bits_of_single_elements)
{
    enum {
        N = 65536 + 5
    };
    uint16_t *src = malloc(N * sizeof *src);
    double *d = malloc(N * sizeof *d);
    float *s = malloc(N * sizeof *s);
    for (size_t i = 0; i < N; i++) {
        src[i] = (uint16_t)i;
    }
    for (size_t k = 0; k < 6; k++) {
        const enum wf_dtype t = FORMATS[k].type;
        const bool wide = wf_dtype_bytes(t) == 2;
        wf_to_f64(t, src, d, N);
        wf_to_f32(t, src, s, N);
        for (size_t i = 0; i < N; i++) {
            const unsigned c = wide ? src[i] : ((const uint8_t *)src)[i];
            const float want = t == WF_F16    ? wf_f16_to_f32((uint16_t)c)
                               : t == WF_BF16 ? wf_bf16_to_f32((uint16_t)c)
                                              : wf_fp8_to_f32(t, (uint8_t)c);
            if (t == WF_BF16 && isnan(want)) {
                cr_assert(isnan(s[i]) && isnan(d[i]));
                continue;
            }
            const double wide_want = (double)want;
            cr_assert(memcmp(&s[i], &want, 4) == 0, "%s %#x", wf_dtype_name(t), c);
            cr_assert(isnan(want) ? isnan(d[i]) : memcmp(&d[i], &wide_want, 8) == 0);
        }
    }
    free(src);
    free(d);
    free(s);
}

/* Doubles of every magnitude, many of them at f16 midpoints plus or minus a little. */
static double awkward(uint64_t i)
{
    uint64_t z = i * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z ^= z >> 31;
    const double mid = (double)wf_f16_to_f32((uint16_t)z) * (1.0 + 0x1p-12);
    double v;
    switch (i % 4) {
    case 0:
        return mid;
    case 1:
        return mid * (1.0 + (double)(int64_t)(z >> 60) * 0x1p-50);
    case 2:
        return ((double)(z >> 11) * 0x1p-53 - 0.5) * ldexp(1.0, (int)(z % 50) - 30);
    default:
        memcpy(&v, &z, sizeof v);
        return v;
    }
}

Test(dtype, arrays_encode_the_bits_of_single_elements)
{
    enum {
        N = 200003
    };
    double *d = malloc(N * sizeof *d);
    float *s = malloc(N * sizeof *s);
    uint16_t *out = malloc(N * sizeof *out);
    for (size_t i = 0; i < N; i++) {
        d[i] = awkward(i);
        s[i] = (float)d[i];
    }
    wf_from_f64(WF_F16, d, out, N);
    for (size_t i = 0; i < N; i++) {
        cr_assert_eq(out[i], wf_f64_to_f16(d[i]), "%a: %#x not %#x", d[i], out[i],
                     wf_f64_to_f16(d[i]));
    }
    wf_from_f32(WF_F16, s, out, N);
    for (size_t i = 0; i < N; i++) {
        cr_assert_eq(out[i], wf_f32_to_f16(s[i]), "%a", (double)s[i]);
    }
    wf_from_f64(WF_BF16, d, out, N);
    for (size_t i = 0; i < N; i++) {
        cr_assert_eq(out[i], wf_f64_to_bf16(d[i]));
    }
    free(d);
    free(s);
    free(out);
}

Test(dtype, integers_round_to_even_and_saturate)
{
    const double src[] = { 0.5,  1.5,   -2.5, 126.6,  127.5,
                           1e30, -1e30, NAN,  -128.5, -INFINITY };
    const int8_t want8[] = { 0, 2, -2, 127, 127, 127, -128, 0, -128, -128 };
    int8_t got8[10];
    int32_t got32[10];
    int64_t got64[10];
    uint8_t gotu[10];
    wf_from_f64(WF_I8, src, got8, 10);
    wf_from_f64(WF_I32, src, got32, 10);
    wf_from_f64(WF_I64, src, got64, 10);
    wf_from_f64(WF_U8, src, gotu, 10);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(got8[i], want8[i], "%d: %d", i, got8[i]);
    }
    cr_assert(got32[5] == INT32_MAX && got32[6] == INT32_MIN && got32[3] == 127);
    cr_assert(got64[5] == INT64_MAX && got64[6] == INT64_MIN && got64[2] == -2);
    cr_assert(gotu[5] == 255 && gotu[6] == 0 && gotu[4] == 128);
}

Test(dtype, poison_is_a_nan_pattern_and_recognised_exactly)
{
    for (unsigned t = 0; t < WF_DTYPE_COUNT; t++) {
        const enum wf_dtype type = (enum wf_dtype)t;
        const size_t bytes = wf_dtype_bytes(type);
        unsigned char buf[3 * 8];
        double v[3];
        memset(buf, 0, sizeof buf);
        wf_poison(type, buf, 3);
        cr_assert(wf_is_poison(type, buf + 2 * bytes));
        wf_to_f64(type, buf, v, 3);
        cr_assert_eq(isnan(v[1]) != 0, wf_dtype_is_float(type), "%s",
                     wf_dtype_name(type));
        buf[0] ^= 1;
        cr_assert_not(wf_is_poison(type, buf));
    }
    uint16_t h;
    wf_poison(WF_F16, &h, 1);
    cr_assert_eq(h, 0x7e5a);
}

Test(dtype, names_parse_exactly_and_limits_agree_with_the_codes)
{
    enum wf_dtype t;
    cr_assert(wf_dtype_parse("e4m3fnuz", &t) && t == WF_E4M3FNUZ);
    cr_assert_not(wf_dtype_parse("F16", &t));
    cr_assert_not(wf_dtype_parse("fp8", &t));
    cr_assert_not(wf_dtype_parse("f16 ", &t));
    for (size_t k = 0; k < sizeof FORMATS / sizeof *FORMATS; k++) {
        const struct format *f = &FORMATS[k];
        double max = 0;
        for (unsigned c = 0; c < code_count(f) / 2; c++) {
            const double v = value_of(f, c);
            max = isfinite(v) && v > max ? v : max;
        }
        cr_assert_eq(wf_dtype_max(f->type), max);
        cr_assert_eq(wf_dtype_unit_roundoff(f->type), ldexp(1, -f->mantissa_bits - 1));
        cr_assert_eq(wf_dtype_underflow(f->type), value_of(f, 1) / 2);
    }
    cr_assert_eq(wf_dtype_unit_roundoff(WF_I32), 0);
}
