/* The steps of division: v_div_scale brings numerator and denominator where the
 * reciprocal and its refinement neither overflow nor underflow, v_div_fmas takes the
 * last step of the refinement and scales back, v_div_fixup puts in what the steps
 * cannot give.
 *
 * The manual's text of v_div_scale is known to differ from the hardware; followed is
 * what the hardware does: decisions by biased exponents, and a direction of scaling
 * back that v_div_fmas takes from its addend's exponent. */
#include "emulator/exec/valu_float.h"

#include <math.h>

/* A format's numbers; bits are kept in 64. */
struct format {
    unsigned fraction;
    int bias;
    int far;        /* difference of exponents that asks for scaling back */
    int scale;      /* power of two that is scaled by */
    int small;      /* largest biased exponent of a numerator that is scaled up */
    unsigned round; /* shift of the rounding field in MODE */
    unsigned denormal;
};

static const struct format f32_format = { 23, 127, 96, 64, 24, 0, 4 };
static const struct format f64_format = { 52, 1023, 768, 128, 53, 2, 6 };
static const struct format f16_format = { 10, 15, 0, 0, 0, 2, 6 };

EM_INLINE uint64_t sign_bit(const struct format *f)
{
    return (uint64_t)(f->bias + 1) << (f->fraction + 1);
}

EM_INLINE uint64_t infinity(const struct format *f)
{
    return (uint64_t)(2 * f->bias + 1) << f->fraction;
}

EM_INLINE uint64_t quiet_bit(const struct format *f)
{
    return UINT64_C(1) << (f->fraction - 1);
}

EM_INLINE uint64_t magnitude(const struct format *f, uint64_t bits)
{
    return bits & (sign_bit(f) - 1);
}

EM_INLINE int exponent(const struct format *f, uint64_t bits)
{
    return (int)(magnitude(f, bits) >> f->fraction);
}

EM_INLINE uint64_t take(const struct format *f, uint64_t bits, uint32_t mode)
{
    bool keep = (mode >> f->denormal & 1) != 0;
    return keep || exponent(f, bits) != 0 ? bits : bits & sign_bit(f);
}

/* --- v_div_scale --- */

struct scaling {
    int power;
    bool back; /* v_div_fmas is to scale the quotient */
};

static struct scaling scaling_of(const struct format *f,
                                 uint64_t value,
                                 uint64_t denominator,
                                 uint64_t numerator)
{
    int d = exponent(f, denominator), n = exponent(f, numerator), apart = n - d;
    bool of_denominator = value == denominator;
    if (apart >= f->far) {
        return (struct scaling){ of_denominator ? f->scale : 0, true };
    }
    if (d == 0) {
        return (struct scaling){ f->scale, false };
    }
    if (d >= 2 * f->bias - 1) {
        bool back = apart <= -f->far;
        return (struct scaling){ back && !of_denominator ? 0 : -f->scale, back };
    }
    if (apart <= -f->far) {
        return (struct scaling){ of_denominator ? 0 : f->scale, true };
    }
    return (struct scaling){ n <= f->small ? f->scale : 0, false };
}

/* Whether the result is no scaled value: then it is in *ret. */
EM_INLINE bool scale_special(const struct format *f, const uint64_t s[3], uint64_t *ret)
{
    if (magnitude(f, s[1]) == 0 || magnitude(f, s[2]) == 0) {
        *ret = sign_bit(f) | infinity(f) | quiet_bit(f);
        return true;
    }
    if (magnitude(f, s[0]) >= infinity(f)) {
        bool nan = magnitude(f, s[0]) > infinity(f);
        *ret = s[0] | (nan ? quiet_bit(f) : 0);
        return true;
    }
    return false;
}

static void core_scale_f32(struct em_rows *r)
{
    r->mask_out = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t s[3], special;
        for (unsigned k = 0; k < 3; k++) {
            s[k] = take(&f32_format, r->s[k][0][i], r->mode);
        }
        struct scaling by = scaling_of(&f32_format, s[0], s[1], s[2]);
        r->mask_out |= (uint64_t)by.back << i;
        if (scale_special(&f32_format, s, &special)) {
            r->d[0][i] = (uint32_t)special;
            continue;
        }
        double scaled = (double)em_f32_of((uint32_t)s[0]);
        scaled *= by.power == 0 ? 1 : (by.power > 0 ? 0x1p64 : 0x1p-64);
        r->d[0][i] = em_bits_f32((float)scaled);
    }
}

static void core_scale_f64(struct em_rows *r)
{
    r->mask_out = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t s[3], special;
        for (unsigned k = 0; k < 3; k++) {
            s[k] = take(&f64_format, em_lane64(r->s[k], i), r->mode);
        }
        struct scaling by = scaling_of(&f64_format, s[0], s[1], s[2]);
        r->mask_out |= (uint64_t)by.back << i;
        if (scale_special(&f64_format, s, &special)) {
            em_set_lane64(r->d, i, special);
            continue;
        }
        double scaled = em_f64_of(s[0]);
        scaled *= by.power == 0 ? 1 : (by.power > 0 ? 0x1p128 : 0x1p-128);
        em_set_lane64(r->d, i, em_bits_f64(scaled));
    }
}

EM_F32_ROW(scale_f32)
EM_F64_ROW(scale_f64)

void em_row_div_scale_f32(struct em_rows *r)
{
    row_scale_f32(r);
}

void em_row_div_scale_f64(struct em_rows *r)
{
    row_scale_f64(r);
}

/* --- v_div_fmas: one rounding, of the scaled sum. Its sources keep their denormals ---
 */

/* The neighbour of `sum`, rounded to nearest with this error, whose last bit is odd. */
EM_INLINE double to_odd(double sum, double error)
{
    uint64_t bits = em_bits_f64(sum);
    if (error == 0 || bits & 1) {
        return sum;
    }
    bool away = (error < 0) == (sum < 0);
    return em_f64_of(away ? bits + 1 : bits - 1);
}

EM_INLINE double sum_error(double a, double b, double sum)
{
    double part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* The product of two f32 is exact in f64. */
static float fmas_f32(float a, float b, float c, bool nearest)
{
    double product = (double)a * (double)b, sum = product + (double)c;
    if (nearest) {
        sum = to_odd(sum, sum_error(product, (double)c, sum));
    }
    bool up = exponent(&f32_format, em_bits_f32(c)) > f32_format.bias;
    return (float)(sum * (up ? 0x1p64 : 0x1p-64));
}

static long double sum_error_l(long double a, long double b, long double sum)
{
    long double part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* a * b + c to odd in the 64 bits of a long double, of values far from overflow: what
 * is rounded from it to at most 62 bits has been rounded once. */
static long double exact_fma(double a, double b, double c)
{
    double product = a * b, low = fma(a, b, -product);
    long double high = (long double)product + (long double)c;
    long double rest = sum_error_l((long double)product, (long double)c, high);
    long double both = rest + (long double)low, sum = high + both;
    long double error = sum_error_l(high, both, sum);
    if (error == 0) {
        error = sum_error_l(rest, (long double)low, both);
    }
    uint64_t mantissa;
    memcpy(&mantissa, &sum, sizeof(mantissa));
    if (error == 0 || mantissa & 1) {
        return sum;
    }
    return nextafterl(sum, error > 0 ? HUGE_VALL : -HUGE_VALL);
}

static double fmas_f64(double a, double b, double c, bool nearest, bool flush)
{
    double sum = fma(a, b, c);
    if (exponent(&f64_format, em_bits_f64(c)) > f64_format.bias) {
        return sum * 0x1p128;
    }
    if (fabs(sum) > 0x1p900) {
        /* An overflow that the scaling takes back; c, below 2, only decides a tie. */
        bool large_a = fabs(a) > fabs(b);
        return fma(large_a ? a * 0x1p-128 : a, large_a ? b : b * 0x1p-128, c);
    }
    if (nearest && fabs(sum) < 0x1p-890) {
        /* The scaled sum is denormal, and sum has been rounded to bits that it has not.
         */
        if (fabs(sum) < (flush ? 0x1p-894 : 0x1p-960)) {
            return copysign(0, sum);
        }
        return (double)(exact_fma(a, b, c) * 0x1p-128L);
    }
    return sum * 0x1p-128;
}

static void core_fma_f32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_put_f32(r->d[0], i,
                   em_fma_f32(em_get_f32(r->s[0][0], i), em_get_f32(r->s[1][0], i),
                              em_get_f32(r->s[2][0], i)));
    }
}

static void core_fmas_f32(struct em_rows *r)
{
    bool nearest = (r->mode & EM_MODE_ROUND_F32) == 0;
    _Alignas(64) uint32_t result[EM_LANES];
    struct em_rows plain = *r;
    plain.d[0] = result;
    core_fma_f32(&plain);
    for (uint64_t left = r->mask_in; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        float a = em_f32_of(r->s[0][0][i]), b = em_f32_of(r->s[1][0][i]);
        float c = em_f32_of(r->s[2][0][i]);
        if (isfinite(a) && isfinite(b) && isfinite(c)) {
            result[i] = em_bits_f32(fmas_f32(a, b, c, nearest));
        }
    }
    memcpy(r->d[0], result, sizeof(result));
}

/* a * b + c with the NaN that it gives. */
static uint64_t fma_bits(const uint64_t s[3])
{
    double a = em_f64_of(s[0]), b = em_f64_of(s[1]), c = em_f64_of(s[2]);
    double v = fma(a, b, c);
    if (!isnan(v)) {
        return em_bits_f64(v);
    }
    uint64_t quiet = quiet_bit(&f64_format);
    if (isnan(a) || isnan(b)) {
        return (isnan(a) ? s[0] : s[1]) | quiet;
    }
    bool of_c = isnan(c) && !isnan(a * b);
    return of_c ? s[2] | quiet : UINT64_C(0xfff8000000000000);
}

static void core_fmas_f64(struct em_rows *r)
{
    bool nearest = (r->mode & EM_MODE_ROUND_F64_F16) == 0;
    bool flush = !(r->mode >> 6 & 2);
    for (unsigned i = 0; i < EM_LANES; i++) {
        const uint64_t s[3] = { em_lane64(r->s[0], i), em_lane64(r->s[1], i),
                                em_lane64(r->s[2], i) };
        double a = em_f64_of(s[0]), b = em_f64_of(s[1]), c = em_f64_of(s[2]);
        bool scaled =
            (r->mask_in >> i & 1) && isfinite(a) && isfinite(b) && isfinite(c);
        em_set_lane64(r->d, i,
                      scaled ? em_bits_f64(fmas_f64(a, b, c, nearest, flush))
                             : fma_bits(s));
    }
}

EM_FLOAT_ROW(fmas_f32, .round = EM_FORMAT_F32, .dst = EM_FORMAT_F32)
EM_FLOAT_ROW(fmas_f64, .round = EM_FORMAT_F64, .dst = EM_FORMAT_F64)

void em_row_div_fmas_f32(struct em_rows *r)
{
    row_fmas_f32(r);
}

void em_row_div_fmas_f64(struct em_rows *r)
{
    row_fmas_f64(r);
}

/* --- v_div_fixup: of the quotient, the denominator and the numerator --- */

EM_INLINE bool rounds_away(uint32_t rounding, bool negative, bool nearest)
{
    return rounding == 0 ? nearest : rounding == (negative ? 2U : 1U);
}

EM_INLINE uint64_t fixup_finite(const struct format *f,
                                uint64_t quotient,
                                int apart,
                                uint64_t sign,
                                uint32_t mode)
{
    uint32_t rounding = mode >> f->round & 3;
    if (f->far != 0 && apart < -(f->bias + (int)f->fraction)) {
        bool keep = (mode >> f->denormal & 2) != 0;
        return sign | (keep && rounds_away(rounding, sign != 0, false) ? 1 : 0);
    }
    if (magnitude(f, quotient) >= infinity(f)) {
        return sign | (infinity(f) - !rounds_away(rounding, sign != 0, true));
    }
    return sign | magnitude(f, quotient);
}

EM_INLINE uint64_t fixup(const struct format *f, const uint64_t s[3], uint32_t mode)
{
    uint64_t denominator = take(f, s[1], mode), numerator = take(f, s[2], mode);
    uint64_t d = magnitude(f, denominator), n = magnitude(f, numerator);
    uint64_t sign = (denominator ^ numerator) & sign_bit(f), inf = infinity(f);
    if (n > inf) {
        return numerator | quiet_bit(f);
    }
    if (d > inf) {
        return denominator | quiet_bit(f);
    }
    if ((d == 0 && n == 0) || (d == inf && n == inf)) {
        return sign_bit(f) | inf | quiet_bit(f);
    }
    if (d == 0 || n == inf) {
        return sign | inf;
    }
    if (n == 0 || d == inf) {
        return sign;
    }
    return fixup_finite(f, s[0], exponent(f, n) - exponent(f, d), sign, mode);
}

EM_INLINE void each_fixup(struct em_rows *r, const struct format *f, uint32_t mask)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        const uint64_t s[3] = { r->s[0][0][i] & mask, r->s[1][0][i] & mask,
                                r->s[2][0][i] & mask };
        r->d[0][i] = (uint32_t)fixup(f, s, r->mode);
    }
}

void em_row_div_fixup_f16(struct em_rows *r)
{
    each_fixup(r, &f16_format, 0xffff);
}

void em_row_div_fixup_f32(struct em_rows *r)
{
    each_fixup(r, &f32_format, UINT32_MAX);
}

void em_row_div_fixup_f64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        const uint64_t s[3] = { em_lane64(r->s[0], i), em_lane64(r->s[1], i),
                                em_lane64(r->s[2], i) };
        em_set_lane64(r->d, i, fixup(&f64_format, s, r->mode));
    }
}
