/* Number formats and mathematics in double for the naive kernels: what they are
 * compared with is computed in double on the host, so they compute in double as well.
 * Plain arithmetic only, so that one source is right on every device.
 *
 * Types by number, as the entries pass them:
 *   0 f64  1 f32  2 f16  3 bf16  4 e4m3fnuz  5 e5m2fnuz  6 e4m3fn  7 e5m2  8 i8  9 i32
 */
#ifndef WF_KERNELS_DEVICE_WF_NAIVE_H
#define WF_KERNELS_DEVICE_WF_NAIVE_H

#include "kernels/device/wf_device.h"

enum wf_naive_type {
    WF_NAIVE_F64,
    WF_NAIVE_F32,
    WF_NAIVE_F16,
    WF_NAIVE_BF16,
    WF_NAIVE_E4M3FNUZ,
    WF_NAIVE_E5M2FNUZ,
    WF_NAIVE_E4M3FN,
    WF_NAIVE_E5M2,
    WF_NAIVE_I8,
    WF_NAIVE_I32
};

WF_DEVICE double wf_double_of(wf_u64 bits)
{
    union {
        wf_u64 u;
        double d;
    } v;
    v.u = bits;
    return v.d;
}

WF_DEVICE wf_u64 wf_bits_of(double d)
{
    union {
        double d;
        wf_u64 u;
    } v;
    v.d = d;
    return v.u;
}

/* 2^e for normal results. */
WF_DEVICE double wf_power_of_two(int e)
{
    return wf_double_of((wf_u64)(e + 1023) << 52);
}

WF_DEVICE double wf_magnitude(double v)
{
    return v < 0 ? -v : v;
}

WF_DEVICE double wf_nan()
{
    return wf_double_of(0x7ff8000000000000ull);
}

WF_DEVICE double wf_infinity()
{
    return wf_double_of(0x7ff0000000000000ull);
}

/* --- 8-bit floats --- */

struct wf_small_float {
    int mantissa; /* bits */
    int bias;
    bool fnuz;     /* 0x80 is NaN, no infinity, no negative zero */
    bool infinity; /* e5m2: as IEEE has it */
    double max;
};

WF_DEVICE wf_small_float wf_small_float_of(int type)
{
    wf_small_float f;
    f.mantissa = type == WF_NAIVE_E4M3FNUZ || type == WF_NAIVE_E4M3FN ? 3 : 2;
    f.fnuz = type == WF_NAIVE_E4M3FNUZ || type == WF_NAIVE_E5M2FNUZ;
    f.infinity = type == WF_NAIVE_E5M2;
    f.bias = (f.mantissa == 3 ? 7 : 15) + (f.fnuz ? 1 : 0);
    f.max = f.mantissa == 2 ? 57344.0 : f.fnuz ? 240.0 : 448.0;
    return f;
}

WF_DEVICE double wf_decode_small(unsigned bits, int type)
{
    const wf_small_float f = wf_small_float_of(type);
    const unsigned magnitude = bits & 0x7fu;
    const int exponent = (int)(magnitude >> f.mantissa);
    const int fraction = (int)(magnitude & ((1u << f.mantissa) - 1));
    double v = 0.0;
    if (f.fnuz && bits == 0x80u) {
        return wf_nan();
    }
    if (f.infinity && exponent == 31) {
        v = fraction ? wf_nan() : wf_infinity();
    } else if (!f.fnuz && !f.infinity && magnitude == 0x7fu) {
        v = wf_nan();
    } else if (exponent == 0) {
        v = (double)fraction * wf_power_of_two(1 - f.bias - f.mantissa);
    } else {
        v = (double)(fraction + (1 << f.mantissa)) *
            wf_power_of_two(exponent - f.bias - f.mantissa);
    }
    return bits & 0x80u ? -v : v;
}

/* To nearest even on the grid of a type with `mantissa` bits whose smallest normal is
 * 2^lowest; |v| below 2^900. */
WF_DEVICE double wf_round_to_grid(double v, int mantissa, int lowest)
{
    int exponent = (int)(wf_bits_of(v) >> 52 & 0x7ff) - 1023;
    exponent = exponent < lowest ? lowest : exponent;
    /* Adding 1.5 * 2^52 leaves no bit for a fraction. */
    const double shift = 6755399441055744.0;
    const double scaled = v * wf_power_of_two(mantissa - exponent);
    return (scaled + shift - shift) * wf_power_of_two(exponent - mantissa);
}

/* Of a value that is on the grid already. */
WF_DEVICE unsigned char wf_encode_small(double v, int type)
{
    const wf_small_float f = wf_small_float_of(type);
    const unsigned sign = v < 0 ? 0x80u : 0u;
    const double size = wf_magnitude(v);
    const int lowest = 1 - f.bias;
    if (size == 0.0) {
        return 0;
    }
    const int exponent = (int)(wf_bits_of(size) >> 52) - 1023;
    if (exponent < lowest) {
        return (unsigned char)(sign |
                               (unsigned)(size * wf_power_of_two(f.mantissa - lowest)));
    }
    const unsigned whole = (unsigned)(size * wf_power_of_two(f.mantissa - exponent));
    return (unsigned char)(sign | ((unsigned)(exponent + f.bias) << f.mantissa) +
                                      (whole - (1u << f.mantissa)));
}

/* --- elements --- */

WF_DEVICE double wf_naive_load(const void *base, wf_i64 at, int type)
{
    switch (type) {
    case WF_NAIVE_F64:
        return ((const double *)base)[at];
    case WF_NAIVE_F32:
        return (double)((const float *)base)[at];
    case WF_NAIVE_F16:
        return (double)wf_h2f(((const wf_half *)base)[at]);
    case WF_NAIVE_BF16:
        return (double)wf_float_from_bits((unsigned)((const wf_half *)base)[at] << 16);
    case WF_NAIVE_I8:
        return (double)((const signed char *)base)[at];
    case WF_NAIVE_I32:
        return (double)((const int *)base)[at];
    default:
        return wf_decode_small(((const unsigned char *)base)[at], type);
    }
}

WF_DEVICE unsigned wf_float_bits(float v)
{
    union {
        float f;
        unsigned u;
    } bits;
    bits.f = v;
    return bits.u;
}

/* f32, f16 and bf16 overflow to infinity, 8-bit floats to their largest value; no value
 * is NaN here unless an input is. */
WF_DEVICE void wf_naive_store(void *base, wf_i64 at, double v, int type)
{
    switch (type) {
    case WF_NAIVE_F64:
        ((double *)base)[at] = v;
        return;
    case WF_NAIVE_F32:
        ((float *)base)[at] = (float)v;
        return;
    case WF_NAIVE_I32:
        ((int *)base)[at] = (int)v;
        return;
    case WF_NAIVE_F16:
        if (wf_magnitude(v) < 131072.0) {
            v = wf_round_to_grid(v, 10, -14);
        }
        ((wf_half *)base)[at] = wf_f2h((float)v);
        return;
    case WF_NAIVE_BF16:
        if (wf_magnitude(v) < wf_power_of_two(129)) {
            v = wf_round_to_grid(v, 7, -126);
        }
        ((wf_half *)base)[at] = (wf_half)(wf_float_bits((float)v) >> 16);
        return;
    default:
        const wf_small_float f = wf_small_float_of(type);
        if (v != v) {
            ((unsigned char *)base)[at] = f.fnuz ? 0x80 : 0x7f;
            return;
        }
        if (wf_magnitude(v) < 2.0 * f.max) {
            v = wf_round_to_grid(v, f.mantissa, 1 - f.bias);
        }
        v = v > f.max ? f.max : v < -f.max ? -f.max : v;
        ((unsigned char *)base)[at] = wf_encode_small(v, type);
        return;
    }
}

/* --- mathematics --- */

/* Newton from half the exponent: seven steps reach double from any start. v >= 0. */
WF_DEVICE double wf_naive_sqrt(double v)
{
    if (!(v > 0.0)) {
        return 0.0;
    }
    double r = wf_double_of((wf_bits_of(v) >> 1) + 0x1ff8000000000000ull);
    for (int i = 0; i < 7; i++) {
        r = 0.5 * (r + v / r);
    }
    return r;
}

/* e^v for v <= 0: v = n ln 2 + r, |r| <= ln 2 / 2, and 14 terms of the series. */
WF_DEVICE double wf_naive_exp(double v)
{
    const double shift = 6755399441055744.0;
    if (!(v > -708.0)) {
        return v != v ? v : 0.0;
    }
    const double n = v * 1.4426950408889634 + shift - shift;
    const double r = (v - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double sum = 1.0;
    for (int i = 14; i >= 1; i--) {
        sum = 1.0 + sum * r / (double)i;
    }
    return sum * wf_power_of_two((int)n);
}

/* Natural logarithm, v > 0: of the mantissa in [sqrt 1/2, sqrt 2) by the series of
 * 2 atanh((m - 1) / (m + 1)). */
WF_DEVICE double wf_naive_log(double v)
{
    int exponent = (int)(wf_bits_of(v) >> 52) - 1023;
    double m =
        wf_double_of((wf_bits_of(v) & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    const double z = (m - 1.0) / (m + 1.0);
    double sum = 0.0;
    for (int i = 27; i >= 1; i -= 2) {
        sum = sum * z * z + 1.0 / (double)i;
    }
    return (double)exponent * 0.69314718055994530942 + 2.0 * z * sum;
}

WF_DEVICE double wf_naive_tanh(double v)
{
    const double e = wf_naive_exp(-2.0 * wf_magnitude(v));
    const double t = (1.0 - e) / (1.0 + e);
    return v < 0 ? -t : t;
}

#endif
