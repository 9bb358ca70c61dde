#include "tests/emulator/valu_float_reference.h"

#include <math.h>
#include <string.h>

const struct ref_format ref_f16 = { 5, 10 };
const struct ref_format ref_f32 = { 8, 23 };
const struct ref_format ref_f64 = { 11, 52 };
const struct ref_format ref_fp8 = { 4, 3 };
const struct ref_format ref_bf8 = { 5, 2 };

static uint64_t sign_of(const struct ref_format *f)
{
    return UINT64_C(1) << (f->exponent_bits + f->fraction_bits);
}

static uint64_t field_mask(const struct ref_format *f)
{
    return (UINT64_C(1) << f->exponent_bits) - 1;
}

static uint64_t field_of(const struct ref_format *f, uint64_t bits)
{
    return bits >> f->fraction_bits & field_mask(f);
}

static uint64_t fraction_of(const struct ref_format *f, uint64_t bits)
{
    return bits & ((UINT64_C(1) << f->fraction_bits) - 1);
}

static int bias_of(const struct ref_format *f)
{
    return (1 << (f->exponent_bits - 1)) - 1;
}

bool ref_is_nan(const struct ref_format *f, uint64_t bits)
{
    return field_of(f, bits) == field_mask(f) && fraction_of(f, bits) != 0;
}

bool ref_is_inf(const struct ref_format *f, uint64_t bits)
{
    return field_of(f, bits) == field_mask(f) && fraction_of(f, bits) == 0;
}

bool ref_is_zero(const struct ref_format *f, uint64_t bits)
{
    return (bits & (sign_of(f) - 1)) == 0;
}

bool ref_is_negative(const struct ref_format *f, uint64_t bits)
{
    return (bits & sign_of(f)) != 0;
}

uint64_t ref_infinity(const struct ref_format *f, bool negative)
{
    return (negative ? sign_of(f) : 0) | field_mask(f) << f->fraction_bits;
}

uint64_t ref_default_nan(const struct ref_format *f)
{
    return ref_quiet(f, ref_infinity(f, true));
}

uint64_t ref_quiet(const struct ref_format *f, uint64_t nan)
{
    return nan | UINT64_C(1) << (f->fraction_bits - 1);
}

static bool is_signalling(const struct ref_format *f, uint64_t bits)
{
    return ref_is_nan(f, bits) && ref_quiet(f, bits) != bits;
}

uint64_t ref_source(const struct ref_format *f, uint64_t bits, struct ref_mode m)
{
    return m.keep_sources || field_of(f, bits) != 0 ? bits : bits & sign_of(f);
}

/* --- fixed point --- */

static void put(struct ref_big *v, uint64_t significand, int lowest)
{
    int at = REF_POINT + lowest, limb = at / 64, shift = at % 64;
    v->limb[limb] |= significand << shift;
    if (shift != 0) {
        v->limb[limb + 1] |= significand >> (64 - shift);
    }
}

/* value = significand * 2^*ret */
static uint64_t significand_of(const struct ref_format *f, uint64_t bits, int *ret)
{
    uint64_t field = field_of(f, bits), one = UINT64_C(1) << f->fraction_bits;
    *ret = (field == 0 ? 1 : (int)field) - bias_of(f) - f->fraction_bits;
    return fraction_of(f, bits) | (field == 0 ? 0 : one);
}

struct ref_big ref_value(const struct ref_format *f, uint64_t finite)
{
    struct ref_big v = { .negative = ref_is_negative(f, finite) };
    int lowest;
    uint64_t significand = significand_of(f, finite, &lowest);
    put(&v, significand, lowest);
    return v;
}

struct ref_big ref_integer(int64_t value)
{
    struct ref_big v = { .negative = value < 0 };
    put(&v, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 0);
    return v;
}

struct ref_big ref_long_double(long double value)
{
    struct ref_big v = { .negative = value < 0 };
    int exponent;
    long double fraction = frexpl(fabsl(value), &exponent);
    put(&v, (uint64_t)ldexpl(fraction, 64), exponent - 64);
    return v;
}

struct ref_big ref_times(const struct ref_format *f, uint64_t a, uint64_t b)
{
    struct ref_big v = { .negative = ref_is_negative(f, a) != ref_is_negative(f, b) };
    int lowest_a, lowest_b;
    uint64_t x = significand_of(f, a, &lowest_a), y = significand_of(f, b, &lowest_b);
    int lowest = lowest_a + lowest_b;
    /* Halves of at most 27 and 32 bits: each partial product fits. */
    struct ref_big part = { .negative = v.negative };
    put(&v, (x & UINT32_MAX) * (y & UINT32_MAX), lowest);
    put(&part, (x >> 32) * (y & UINT32_MAX), lowest + 32);
    v = ref_plus(&v, &part);
    part = (struct ref_big){ .negative = v.negative };
    put(&part, (x & UINT32_MAX) * (y >> 32), lowest + 32);
    v = ref_plus(&v, &part);
    part = (struct ref_big){ .negative = v.negative };
    put(&part, (x >> 32) * (y >> 32), lowest + 64);
    return ref_plus(&v, &part);
}

static int compare(const struct ref_big *a, const struct ref_big *b)
{
    for (int k = REF_LIMBS; k-- > 0;) {
        if (a->limb[k] != b->limb[k]) {
            return a->limb[k] < b->limb[k] ? -1 : 1;
        }
    }
    return 0;
}

static void add_magnitude(struct ref_big *a, const struct ref_big *b)
{
    unsigned carry = 0;
    for (int k = 0; k < REF_LIMBS; k++) {
        uint64_t sum = a->limb[k] + b->limb[k], all = sum + carry;
        carry = (sum < a->limb[k]) | (all < sum);
        a->limb[k] = all;
    }
}

static void take_magnitude(struct ref_big *a, const struct ref_big *b)
{
    unsigned borrow = 0;
    for (int k = 0; k < REF_LIMBS; k++) {
        uint64_t rest = a->limb[k] - b->limb[k], all = rest - borrow;
        borrow = (a->limb[k] < b->limb[k]) | (rest < borrow);
        a->limb[k] = all;
    }
}

struct ref_big ref_plus(const struct ref_big *a, const struct ref_big *b)
{
    struct ref_big v = *a;
    if (a->negative == b->negative) {
        add_magnitude(&v, b);
    } else if (compare(a, b) >= 0) {
        take_magnitude(&v, b);
    } else {
        v = *b;
        take_magnitude(&v, a);
    }
    return v;
}

bool ref_big_is_zero(const struct ref_big *v)
{
    for (int k = 0; k < REF_LIMBS; k++) {
        if (v->limb[k] != 0) {
            return false;
        }
    }
    return true;
}

static int bit(const struct ref_big *v, int at)
{
    return at < 0 ? 0 : (int)(v->limb[at / 64] >> at % 64 & 1);
}

static int top_bit(const struct ref_big *v)
{
    int k = REF_LIMBS - 1;
    while (v->limb[k] == 0) {
        k--;
    }
    return k * 64 + 63 - __builtin_clzll(v->limb[k]);
}

struct ref_big ref_shifted(const struct ref_big *v, int power)
{
    struct ref_big moved = { .negative = v->negative };
    if (ref_big_is_zero(v)) {
        return moved;
    }
    for (int at = top_bit(v); at >= 0; at--) {
        if (bit(v, at)) {
            moved.limb[(at + power) / 64] |= UINT64_C(1) << (at + power) % 64;
        }
    }
    return moved;
}

/* Whether bits below `at` are set. */
static bool any_below(const struct ref_big *v, int at)
{
    for (int k = 0; k < at / 64; k++) {
        if (v->limb[k] != 0) {
            return true;
        }
    }
    return at % 64 != 0 && v->limb[at / 64] << (64 - at % 64) != 0;
}

/* The integer above bit `at`, rounded; at most 63 bits. */
static uint64_t cut(const struct ref_big *v, int at, int round)
{
    uint64_t kept = v->limb[at / 64] >> at % 64;
    if (at % 64 != 0 && at / 64 + 1 < REF_LIMBS) {
        kept |= v->limb[at / 64 + 1] << (64 - at % 64);
    }
    bool half = bit(v, at - 1) != 0, rest = any_below(v, at - 1 < 0 ? 0 : at - 1);
    bool up = round == 0   ? half && (rest || (kept & 1))
              : round == 1 ? !v->negative && (half || rest)
              : round == 2 ? v->negative && (half || rest)
                           : false;
    return kept + up;
}

int64_t ref_to_integer(const struct ref_big *v, int round)
{
    if (ref_big_is_zero(v)) {
        return 0;
    }
    if (top_bit(v) >= REF_POINT + 62) {
        return v->negative ? INT64_MIN : INT64_MAX;
    }
    int64_t n = (int64_t)cut(v, REF_POINT, round);
    return v->negative ? -n : n;
}

static bool is_tiny(const struct ref_format *f, const struct ref_big *v, int round)
{
    int least = REF_POINT + 1 - bias_of(f), top = top_bit(v);
    if (f->fraction_bits == 10) {
        return top < least &&
               cut(v, least - f->fraction_bits, round) >> f->fraction_bits == 0;
    }
    /* Rounded to full precision with any exponent. */
    return top < least &&
           (top < least - 1 ||
            cut(v, top - f->fraction_bits, round) >> (f->fraction_bits + 1) == 0);
}

uint64_t ref_round(const struct ref_format *f,
                   const struct ref_big *v,
                   struct ref_mode m,
                   bool negative_zero)
{
    if (ref_big_is_zero(v)) {
        return negative_zero ? sign_of(f) : 0;
    }
    uint64_t sign = v->negative ? sign_of(f) : 0;
    int least = REF_POINT + 1 - bias_of(f), top = top_bit(v);
    if (!m.keep_results && is_tiny(f, v, m.round)) {
        return sign;
    }
    int exponent = top < least ? least : top;
    uint64_t kept = cut(v, exponent - f->fraction_bits, m.round);
    if (kept >> (f->fraction_bits + 1) != 0) {
        kept >>= 1;
        exponent++;
    }
    bool normal = kept >> f->fraction_bits != 0;
    int field = normal ? exponent - REF_POINT + bias_of(f) : 0;
    if (field >= (int)field_mask(f)) {
        bool inf = m.round == 0 || m.round == (v->negative ? 2 : 1);
        inf = inf && !m.overflow_clamps;
        return sign | (ref_infinity(f, false) - !inf);
    }
    return sign | (uint64_t)field << f->fraction_bits | fraction_of(f, kept);
}

/* --- operations --- */

static bool zero_sign(bool a, bool b, int round)
{
    return a == b ? a : round == 2;
}

uint64_t ref_add(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m)
{
    a = ref_source(f, a, m);
    b = ref_source(f, b, m);
    if (ref_is_nan(f, a) || ref_is_nan(f, b)) {
        return ref_quiet(f, ref_is_nan(f, a) ? a : b);
    }
    if (ref_is_inf(f, a) || ref_is_inf(f, b)) {
        if (ref_is_inf(f, a) && ref_is_inf(f, b) && a != b) {
            return ref_default_nan(f);
        }
        return ref_is_inf(f, a) ? a : b;
    }
    struct ref_big x = ref_value(f, a), y = ref_value(f, b), sum = ref_plus(&x, &y);
    return ref_round(f, &sum, m, zero_sign(x.negative, y.negative, m.round));
}

uint64_t ref_mul(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m)
{
    a = ref_source(f, a, m);
    b = ref_source(f, b, m);
    if (ref_is_nan(f, a) || ref_is_nan(f, b)) {
        return ref_quiet(f, ref_is_nan(f, a) ? a : b);
    }
    bool negative = ref_is_negative(f, a) != ref_is_negative(f, b);
    if (ref_is_inf(f, a) || ref_is_inf(f, b)) {
        bool zero = ref_is_zero(f, a) || ref_is_zero(f, b);
        return zero ? ref_default_nan(f) : ref_infinity(f, negative);
    }
    struct ref_big v = ref_times(f, a, b);
    return ref_round(f, &v, m, negative);
}

static uint64_t fma_special(const struct ref_format *f, const uint64_t s[3])
{
    if (ref_is_nan(f, s[0]) || ref_is_nan(f, s[1])) {
        return ref_quiet(f, ref_is_nan(f, s[0]) ? s[0] : s[1]);
    }
    bool negative = ref_is_negative(f, s[0]) != ref_is_negative(f, s[1]);
    bool inf = ref_is_inf(f, s[0]) || ref_is_inf(f, s[1]);
    if (inf && (ref_is_zero(f, s[0]) || ref_is_zero(f, s[1]))) {
        return ref_default_nan(f);
    }
    if (ref_is_nan(f, s[2])) {
        return ref_quiet(f, s[2]);
    }
    if (!inf) {
        return s[2];
    }
    bool opposite = ref_is_inf(f, s[2]) && ref_is_negative(f, s[2]) != negative;
    return opposite ? ref_default_nan(f) : ref_infinity(f, negative);
}

uint64_t ref_fma(const struct ref_format *f,
                 const uint64_t sources[3],
                 int power,
                 struct ref_mode m)
{
    uint64_t s[3];
    bool finite = true;
    for (int k = 0; k < 3; k++) {
        s[k] = ref_source(f, sources[k], m);
        finite = finite && field_of(f, s[k]) != field_mask(f);
    }
    if (!finite) {
        return fma_special(f, s);
    }
    struct ref_big product = ref_times(f, s[0], s[1]), c = ref_value(f, s[2]);
    struct ref_big sum = ref_plus(&product, &c);
    if (power != 0) {
        sum = ref_shifted(&sum, power);
    }
    return ref_round(f, &sum, m, zero_sign(product.negative, c.negative, m.round));
}

/* By the rules as they are written: one of NaN, then zeros, then the order. */
static bool choose_special(const struct ref_format *f,
                           const uint64_t s[2],
                           struct ref_mode m,
                           uint64_t *ret)
{
    for (int k = 0; k < 2; k++) {
        if (m.ieee && is_signalling(f, s[k])) {
            *ret = ref_quiet(f, s[k]);
            return true;
        }
    }
    if (ref_is_nan(f, s[0])) {
        *ret = s[1];
        return true;
    }
    *ret = s[0];
    return ref_is_nan(f, s[1]);
}

/* -1, 0, 1; zeros apart by their signs. */
static int order(const struct ref_format *f, uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)(a & (sign_of(f) - 1)), y = (int64_t)(b & (sign_of(f) - 1));
    x = ref_is_negative(f, a) ? -x - 1 : x;
    y = ref_is_negative(f, b) ? -y - 1 : y;
    return (x > y) - (x < y);
}

static uint64_t choose(const struct ref_format *f,
                       uint64_t a,
                       uint64_t b,
                       struct ref_mode m,
                       int wanted)
{
    bool flush = !m.keep_sources || !m.keep_results;
    m.keep_sources = !flush;
    const uint64_t s[2] = { ref_source(f, a, m), ref_source(f, b, m) };
    uint64_t special;
    if (choose_special(f, s, m, &special)) {
        return special;
    }
    return order(f, s[0], s[1]) == wanted ? s[0] : s[1];
}

uint64_t ref_min(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m)
{
    return choose(f, a, b, m, -1);
}

uint64_t ref_max(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m)
{
    return choose(f, a, b, m, 1);
}

/* The payload's leading bits are kept. */
static uint64_t convert_nan(const struct ref_format *from,
                            const struct ref_format *to,
                            uint64_t bits)
{
    int wider = to->fraction_bits - from->fraction_bits;
    uint64_t fraction = fraction_of(from, bits);
    fraction = wider >= 0 ? fraction << wider : fraction >> -wider;
    return ref_quiet(to, ref_infinity(to, ref_is_negative(from, bits)) | fraction);
}

uint64_t ref_convert(const struct ref_format *from,
                     const struct ref_format *to,
                     uint64_t bits,
                     struct ref_mode m)
{
    bits = ref_source(from, bits, m);
    bool negative = ref_is_negative(from, bits);
    if (ref_is_nan(from, bits)) {
        return convert_nan(from, to, bits);
    }
    if (ref_is_inf(from, bits)) {
        return ref_infinity(to, negative);
    }
    struct ref_big v = ref_value(from, bits);
    return ref_round(to, &v, m, negative);
}
