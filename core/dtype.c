/* Names, limits and one-element conversions of the element types.
 *
 * Encoding to a small float starts from a double (every source fits one exactly) and
 * rounds once: the significand is cut at the target's last place, which is fixed below
 * the smallest normal number, so subnormals need no case of their own. A code and its
 * successor are neighbours in value, therefore a carry out of the mantissa is right by
 * itself and overflow is seen as a code beyond the largest finite one. */
#include "core/dtype.h"

#include <math.h>
#include <string.h>

struct small_float {
    int mantissa_bits;
    int emin;          /* exponent of the smallest normal number */
    uint32_t max_code; /* largest finite magnitude */
    uint32_t
        inf_code; /* of overflow when not saturating; a NaN where there is no inf */
    uint32_t nan_code;
    uint32_t sign_bit;
    bool fnuz; /* one zero and one NaN, both without a sign */
};

static const struct small_float F16_FORMAT = { 10,     -14,    0x7bff, 0x7c00,
                                               0x7e00, 0x8000, false };
static const struct small_float BF16_FORMAT = { 7,      -126,   0x7f7f, 0x7f80,
                                                0x7fc0, 0x8000, false };
static const struct small_float E4M3FNUZ_FORMAT = {
    3, -7, 0x7f, 0x80, 0x80, 0x80, true
};
static const struct small_float E5M2FNUZ_FORMAT = {
    2, -15, 0x7f, 0x80, 0x80, 0x80, true
};
static const struct small_float E4M3FN_FORMAT = {
    3, -6, 0x7e, 0x7f, 0x7f, 0x80, false
};
static const struct small_float E5M2_FORMAT = { 2, -14, 0x7b, 0x7c, 0x7f, 0x80, false };

static const struct {
    const char *name;
    size_t bytes;
    int roundoff_exponent;
    double max;
} TYPES[] = {
#define X(name, text, bytes, p, max) { text, bytes, p, max },
    WF_DTYPE_LIST(X)
#undef X
};

const char *wf_dtype_name(enum wf_dtype t)
{
    return t < WF_DTYPE_COUNT ? TYPES[t].name : "?";
}

bool wf_dtype_parse(const char *text, enum wf_dtype *ret)
{
    for (unsigned i = 0; i < WF_DTYPE_COUNT; i++) {
        if (strcmp(text, TYPES[i].name) == 0) {
            *ret = (enum wf_dtype)i;
            return true;
        }
    }
    return false;
}

size_t wf_dtype_bytes(enum wf_dtype t)
{
    return t < WF_DTYPE_COUNT ? TYPES[t].bytes : 0;
}

bool wf_dtype_is_float(enum wf_dtype t)
{
    return t < WF_DTYPE_COUNT && TYPES[t].roundoff_exponent != 0;
}

bool wf_dtype_is_fp8(enum wf_dtype t)
{
    return wf_dtype_is_float(t) && wf_dtype_bytes(t) == 1;
}

double wf_dtype_unit_roundoff(enum wf_dtype t)
{
    return wf_dtype_is_float(t) ? ldexp(1.0, -TYPES[t].roundoff_exponent) : 0.0;
}

double wf_dtype_max(enum wf_dtype t)
{
    return t < WF_DTYPE_COUNT ? TYPES[t].max : 0.0;
}

static const struct small_float *format_of(enum wf_dtype t)
{
    switch (t) {
    case WF_F16:
        return &F16_FORMAT;
    case WF_BF16:
        return &BF16_FORMAT;
    case WF_E4M3FNUZ:
        return &E4M3FNUZ_FORMAT;
    case WF_E5M2FNUZ:
        return &E5M2FNUZ_FORMAT;
    case WF_E4M3FN:
        return &E4M3FN_FORMAT;
    case WF_E5M2:
        return &E5M2_FORMAT;
    case WF_F64:
    case WF_F32:
    case WF_I8:
    case WF_I32:
    case WF_I64:
    case WF_U8:
    case WF_DTYPE_COUNT:
    default:
        return NULL;
    }
}

double wf_dtype_underflow(enum wf_dtype t)
{
    if (t == WF_F64) {
        return 0x1p-1074; /* half of it is no double */
    }
    if (t == WF_F32) {
        return 0x1p-150;
    }
    const struct small_float *f = format_of(t);
    return f != NULL ? ldexp(1.0, f->emin - f->mantissa_bits - 1) : 0.0;
}

static uint64_t f64_bits(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

static uint32_t f32_bits(float v)
{
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

static float f32_of_bits(uint32_t b)
{
    float v;
    memcpy(&v, &b, sizeof v);
    return v;
}

/* sig * 2^-shift, to nearest, ties to even; 1 <= shift. */
static uint64_t round_shift(uint64_t sig, int shift)
{
    if (shift > 60) {
        return 0; /* sig < 2^53: below half of the last place */
    }
    const uint64_t half = UINT64_C(1) << (shift - 1);
    const uint64_t kept = sig >> shift;
    const uint64_t rest = sig & ((half << 1) - 1);
    return kept + (rest > half || (rest == half && (kept & 1) != 0));
}

static uint32_t encode(const struct small_float *f, double v, bool saturate)
{
    const uint64_t bits = f64_bits(v);
    const uint32_t sign = bits >> 63 != 0 ? f->sign_bit : 0;
    const int biased = (int)(bits >> 52 & 0x7ff);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint64_t code;

    if (biased == 0x7ff) {
        if (fraction != 0) {
            return f->fnuz ? f->nan_code : f->nan_code | sign;
        }
        code = UINT64_MAX;
    } else if (biased == 0) {
        code = 0; /* zero, or a double subnormal: far below every format here */
    } else {
        const int exponent = biased - 1023;
        const int base = exponent > f->emin ? exponent : f->emin;
        const int shift = 52 - f->mantissa_bits + (base - exponent);
        code = round_shift(fraction | UINT64_C(1) << 52, shift) +
               ((uint64_t)(base - f->emin) << f->mantissa_bits);
    }
    if (code > f->max_code) {
        if (!saturate) {
            return f->fnuz ? f->inf_code : f->inf_code | sign;
        }
        code = f->max_code;
    }
    return code == 0 && f->fnuz ? 0 : (uint32_t)code | sign;
}

/* The payload's upper bits are kept and the quiet bit is set, as F16C does. */
static uint16_t f16_nan(uint64_t sign, uint64_t payload10)
{
    return (uint16_t)(sign << 15 | 0x7e00 | payload10);
}

uint16_t wf_f64_to_f16(double v)
{
    if (isnan(v)) {
        const uint64_t b = f64_bits(v);
        return f16_nan(b >> 63, b >> 42 & 0x3ff);
    }
    return (uint16_t)encode(&F16_FORMAT, v, false);
}

uint16_t wf_f32_to_f16(float v)
{
    return wf_f64_to_f16((double)v);
}

float wf_f16_to_f32(uint16_t v)
{
    const uint32_t sign = (uint32_t)(v & 0x8000) << 16;
    const uint32_t exponent = v >> 10 & 0x1f;
    const uint32_t mantissa = v & 0x3ff;
    if (exponent == 0x1f) {
        const uint32_t quiet = mantissa != 0 ? 0x400000 : 0;
        return f32_of_bits(sign | 0x7f800000 | mantissa << 13 | quiet);
    }
    if (exponent == 0) {
        const float m = (float)mantissa * 0x1p-24F;
        return sign != 0 ? -m : m;
    }
    return f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

float wf_bf16_to_f32(uint16_t v)
{
    return f32_of_bits((uint32_t)v << 16);
}

uint16_t wf_f32_to_bf16(float v)
{
    const uint32_t b = f32_bits(v);
    if (isnan(v)) {
        return (uint16_t)(b >> 16 | 0x40);
    }
    return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

uint16_t wf_f64_to_bf16(double v)
{
    if (isnan(v)) {
        const uint64_t b = f64_bits(v);
        return (uint16_t)((b >> 63) << 15 | 0x7fc0 | (b >> 45 & 0x7f));
    }
    return (uint16_t)encode(&BF16_FORMAT, v, false);
}

static bool fp8_is_nan(const struct small_float *f, uint32_t magnitude, uint32_t v)
{
    const bool has_inf = f->inf_code != f->nan_code;
    if (f->fnuz) {
        return v == 0x80;
    }
    return magnitude > f->max_code && !(has_inf && magnitude == f->inf_code);
}

float wf_fp8_to_f32(enum wf_dtype t, uint8_t v)
{
    const struct small_float *f = format_of(t);
    if (f == NULL || f->sign_bit != 0x80) {
        return f32_of_bits(0x7fc00000);
    }
    const uint32_t magnitude = v & 0x7f;
    const uint32_t sign = (uint32_t)(v & 0x80) << 24;
    if (fp8_is_nan(f, magnitude, v)) {
        return f32_of_bits(0x7fc00000 | (f->fnuz ? 0 : sign));
    }
    if (magnitude > f->max_code) {
        return f32_of_bits(0x7f800000 | sign);
    }
    const uint32_t exponent = magnitude >> f->mantissa_bits;
    const uint32_t mantissa = magnitude & ((1U << f->mantissa_bits) - 1);
    const uint32_t hidden = exponent != 0 ? 1U << f->mantissa_bits : 0;
    const int scale =
        f->emin - f->mantissa_bits + (exponent != 0 ? (int)exponent - 1 : 0);
    const float m =
        (float)(mantissa | hidden) * f32_of_bits((uint32_t)(scale + 127) << 23);
    return sign != 0 ? -m : m;
}

uint8_t wf_f64_to_fp8(enum wf_dtype t, double v, bool saturate)
{
    const struct small_float *f = format_of(t);
    if (f == NULL || f->sign_bit != 0x80) {
        return 0x80;
    }
    return (uint8_t)encode(f, v, saturate);
}
