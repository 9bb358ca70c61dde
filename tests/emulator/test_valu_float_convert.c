/* Conversions: f16 and the 8-bit floats exhaustively, everything else at its edges and
 * at random, against the fixed-point reference, or a search for the nearest value. */
#include "tests/emulator/valu_case.h"
#include "tests/emulator/valu_float_case.h"

#include <criterion/criterion.h>
#include <math.h>

static const uint32_t usual = 3 << 4 | 3 << 6 | EM_MODE_IEEE;

/* What a lane's source is to become; bits beyond `mask` do not matter. */
struct want {
    enum em_opcode op;
    const struct ref_format *from, *to; /* NULL: integers */
    uint64_t (*integer)(const struct want *w, uint64_t source, struct ref_mode m);
    int round;
    int64_t least, most;
    uint32_t mask;
};

static uint64_t clamped(const struct want *w, int64_t n)
{
    n = n < w->least ? w->least : n;
    return (uint64_t)(n > w->most ? w->most : n) & w->mask;
}

static uint64_t from_float(const struct want *w, uint64_t source, struct ref_mode m)
{
    source = ref_source(w->from, source, m);
    if (ref_is_nan(w->from, source)) {
        return 0;
    }
    if (ref_is_inf(w->from, source)) {
        return clamped(w, ref_is_negative(w->from, source) ? INT64_MIN : INT64_MAX);
    }
    struct ref_big v = ref_value(w->from, source);
    return clamped(w, ref_to_integer(&v, w->round));
}

/* The floor of x + 1/2. */
static uint64_t from_float_rpi(const struct want *w, uint64_t source, struct ref_mode m)
{
    source = ref_source(w->from, source, m);
    if (ref_is_nan(w->from, source) || ref_is_inf(w->from, source)) {
        return from_float(w, source, m);
    }
    struct ref_big v = ref_value(w->from, source);
    struct ref_big half = ref_value(&ref_f32, bits_of_f32(0.5F));
    v = ref_plus(&v, &half);
    return clamped(w, ref_to_integer(&v, 2));
}

static uint64_t to_float(const struct want *w, uint64_t source, struct ref_mode m)
{
    (void)m;
    int64_t n = w->most == INT16_MAX   ? (int16_t)source
                : w->most == INT32_MAX ? (int32_t)source
                                       : (int64_t)(source & w->mask);
    struct ref_big v = ref_integer(n);
    return ref_round(w->to, &v, m, false);
}

static uint64_t expected(const struct want *w, uint64_t source, uint32_t mode)
{
    if (w->from && w->to) {
        struct ref_mode m = float_ref_mode(w->to, mode);
        m.keep_sources = float_ref_mode(w->from, mode).keep_sources;
        return ref_convert(w->from, w->to, source, m);
    }
    return w->integer(w, source, float_ref_mode(w->from ? w->from : w->to, mode));
}

static void check(const struct want *w, struct float_case *c)
{
    c->op = w->op;
    float_run(c);
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t source = c->s[0][i];
        source = w->from == &ref_f16 ? source & 0xffff : source;
        uint64_t want = expected(w, source, c->mode);
        cr_assert_eq(c->d[i], want, "%s mode %#x: %#llx -> %#llx not %#llx",
                     em_op_info(w->op)->name, c->mode, (unsigned long long)c->s[0][i],
                     (unsigned long long)c->d[i], (unsigned long long)want);
    }
}

static const struct want conversions[] = {
    { .op = EM_v_cvt_f16_f32, .from = &ref_f32, .to = &ref_f16 },
    { .op = EM_v_cvt_f32_f16, .from = &ref_f16, .to = &ref_f32 },
    { .op = EM_v_cvt_f32_f64, .from = &ref_f64, .to = &ref_f32 },
    { .op = EM_v_cvt_f64_f32, .from = &ref_f32, .to = &ref_f64 },
    { EM_v_cvt_i32_f32, &ref_f32, NULL, from_float, 3, INT32_MIN, INT32_MAX, ~0U },
    { EM_v_cvt_u32_f32, &ref_f32, NULL, from_float, 3, 0, UINT32_MAX, ~0U },
    { EM_v_cvt_flr_i32_f32, &ref_f32, NULL, from_float, 2, INT32_MIN, INT32_MAX, ~0U },
    { EM_v_cvt_rpi_i32_f32, &ref_f32, NULL, from_float_rpi, 2, INT32_MIN, INT32_MAX,
      ~0U },
    { EM_v_cvt_i32_f64, &ref_f64, NULL, from_float, 3, INT32_MIN, INT32_MAX, ~0U },
    { EM_v_cvt_u32_f64, &ref_f64, NULL, from_float, 3, 0, UINT32_MAX, ~0U },
    { EM_v_cvt_i16_f16, &ref_f16, NULL, from_float, 3, INT16_MIN, INT16_MAX, 0xffff },
    { EM_v_cvt_u16_f16, &ref_f16, NULL, from_float, 3, 0, UINT16_MAX, 0xffff },
    { EM_v_cvt_f32_i32, NULL, &ref_f32, to_float, 0, INT32_MIN, INT32_MAX, ~0U },
    { EM_v_cvt_f32_u32, NULL, &ref_f32, to_float, 0, 0, UINT32_MAX, ~0U },
    { EM_v_cvt_f64_i32, NULL, &ref_f64, to_float, 0, INT32_MIN, INT32_MAX, ~0U },
    { EM_v_cvt_f64_u32, NULL, &ref_f64, to_float, 0, 0, UINT32_MAX, ~0U },
    { EM_v_cvt_f16_i16, NULL, &ref_f16, to_float, 0, INT16_MIN, INT16_MAX, 0xffff },
    { EM_v_cvt_f16_u16, NULL, &ref_f16, to_float, 0, 0, UINT16_MAX, 0xffff },
};

static const uint32_t modes[] = {
    3 << 4 | 3 << 6,
    0,
    1 | 1 << 2 | 3 << 4 | 1 << 6,
    2 | 2 << 2 | 1 << 4 | 3 << 6,
    3 | 3 << 2 | 2 << 4 | 2 << 6,
    1 | 2 << 2 | 3 << 4 | 3 << 6 | EM_MODE_FP16_OVFL,
    3 << 4 | 3 << 6 | EM_MODE_FP16_OVFL,
};

enum {
    MODES = sizeof(modes) / sizeof(modes[0])
};

static uint64_t random_of(const struct want *w, uint64_t *state)
{
    if (!w->from) {
        return case_value(state);
    }
    uint64_t v = float_random(w->from, state);
    /* Exponents of the other type's limits, too. */
    uint64_t far = case_random(state) % 32;
    uint64_t one = UINT64_C(1) << w->from->fraction_bits;
    return w->from != &ref_f16 && (case_random(state) & 1) ? v + far * one : v;
}

Test(valu_float_convert, edges_and_random)
{
    for (unsigned n = 0; n < sizeof(conversions) / sizeof(conversions[0]); n++) {
        const struct want *w = &conversions[n];
        uint64_t state = 1 + n, edges[CASE_EDGES];
        float_edges(w->from ? w->from : w->to, edges);
        for (unsigned k = 0; k < MODES * 20; k++) {
            struct float_case c = { .mode = modes[k % MODES] };
            for (unsigned i = 0; i < EM_LANES; i++) {
                bool edge = k < MODES && i < CASE_EDGES;
                c.s[0][i] = edge ? edges[i] : random_of(w, &state);
            }
            check(w, &c);
        }
    }
}

static void check_all_16(enum em_opcode op)
{
    for (unsigned n = 0; n < sizeof(conversions) / sizeof(conversions[0]); n++) {
        if (conversions[n].op != op) {
            continue;
        }
        for (unsigned first = 0; first < 0x10000 * MODES; first += EM_LANES) {
            struct float_case c = { .mode = modes[first / 0x10000] };
            for (unsigned i = 0; i < EM_LANES; i++) {
                c.s[0][i] = ((first + i) & 0xffff) | 0xa5000000; /* noise above */
            }
            check(&conversions[n], &c);
        }
    }
}

Test(valu_float_convert, all_f16_to_f32)
{
    check_all_16(EM_v_cvt_f32_f16);
}

Test(valu_float_convert, all_f16_to_integers)
{
    check_all_16(EM_v_cvt_i16_f16);
    check_all_16(EM_v_cvt_u16_f16);
}

Test(valu_float_convert, all_integers_to_f16)
{
    check_all_16(EM_v_cvt_f16_i16);
    check_all_16(EM_v_cvt_f16_u16);
}

/* Every f16, the middles between two, and the f32 next to those. */
Test(valu_float_convert, f32_to_f16_around_every_middle)
{
    for (unsigned n = 0; n < MODES; n++) {
        struct float_case c = { .mode = modes[n] };
        unsigned lane = 0;
        for (uint32_t h = 0; h < 0x7c00; h++) {
            struct ref_mode exact = { .keep_sources = true, .keep_results = true };
            uint64_t low = ref_convert(&ref_f16, &ref_f32, h, exact);
            uint64_t high = ref_convert(&ref_f16, &ref_f32, h + 1, exact);
            high = h == 0x7bff ? bits_of_f32(65536) : high;
            uint64_t middle = bits_of_f32((f32_of_bits(low) + f32_of_bits(high)) / 2);
            const uint64_t near[4] = { low, middle - 1, middle, middle + 1 };
            for (unsigned k = 0; k < 8; k++) {
                c.s[0][lane++] = near[k / 2] | (k & 1 ? 0x80000000 : 0);
            }
            if (lane == EM_LANES) {
                check(&conversions[0], &c);
                lane = 0;
            }
        }
    }
}

Test(valu_float_convert, pkrtz_cuts)
{
    uint64_t state = 5;
    for (unsigned n = 0; n < 400; n++) {
        struct float_case c = { .op = EM_v_cvt_pkrtz_f16_f32,
                                .mode = modes[n % MODES] };
        for (unsigned i = 0; i < EM_LANES; i++) {
            c.s[0][i] = float_random(&ref_f32, &state);
            c.s[1][i] = float_random(&ref_f32, &state);
        }
        float_run(&c);
        struct ref_mode m = float_ref_mode(&ref_f16, c.mode);
        m.round = 3;
        m.keep_sources = float_ref_mode(&ref_f32, c.mode).keep_sources;
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t want = ref_convert(&ref_f32, &ref_f16, c.s[0][i], m) |
                            ref_convert(&ref_f32, &ref_f16, c.s[1][i], m) << 16;
            cr_assert_eq(c.d[i], want, "%#llx %#llx", (unsigned long long)c.s[0][i],
                         (unsigned long long)c.s[1][i]);
        }
    }
}

static uint64_t one_lane(enum em_opcode op,
                         uint32_t mode,
                         uint64_t a,
                         uint64_t b,
                         uint64_t z)
{
    struct float_case c = { .op = op, .mode = mode };
    for (unsigned i = 0; i < EM_LANES; i++) {
        c.s[0][i] = a;
        c.s[1][i] = b;
        c.s[2][i] = z;
    }
    float_run(&c);
    cr_assert_eq(c.d[0], c.d[63]);
    return c.d[31];
}

Test(valu_float_convert, nibbles_and_bytes_by_hand)
{
    for (unsigned n = 0; n < 16; n++) {
        float want = (float)(n < 8 ? (int)n : (int)n - 16) / 16;
        cr_assert_eq(one_lane(EM_v_cvt_off_f32_i4, usual, n | 0xabcdef0, 0, 0),
                     bits_of_f32(want));
    }
    const uint64_t v = 0xff8001fe;
    cr_expect_eq(one_lane(EM_v_cvt_f32_ubyte0, usual, v, 0, 0), bits_of_f32(254));
    cr_expect_eq(one_lane(EM_v_cvt_f32_ubyte1, usual, v, 0, 0), bits_of_f32(1));
    cr_expect_eq(one_lane(EM_v_cvt_f32_ubyte2, usual, v, 0, 0), bits_of_f32(128));
    cr_expect_eq(one_lane(EM_v_cvt_f32_ubyte3, usual, v, 0, 0), bits_of_f32(255));
}

static uint64_t pk_u8(float value, uint64_t byte, uint64_t old, uint32_t round)
{
    return one_lane(EM_v_cvt_pk_u8_f32, usual | round, bits_of_f32(value), byte, old);
}

Test(valu_float_convert, pk_u8_rounds_by_mode_and_replaces_a_byte)
{
    cr_expect_eq(pk_u8(1, 0, 0xaabbccdd, 0), 0xaabbcc01);
    cr_expect_eq(pk_u8(2.5F, 1, 0xaabbccdd, 0), 0xaabb02dd);
    cr_expect_eq(pk_u8(2.5F, 2, 0xaabbccdd, 1), 0xaa03ccdd);
    cr_expect_eq(pk_u8(2.5F, 7, 0xaabbccdd, 3), 0x02bbccdd);
    cr_expect_eq(pk_u8(1000, 0, 0, 0), 255);
    cr_expect_eq(pk_u8(INFINITY, 0, 0, 0), 255);
    cr_expect_eq(pk_u8(-3, 0, 0x11, 0), 0);
    cr_expect_eq(pk_u8(NAN, 0, 0x11, 0), 0);
    cr_expect_eq(
        one_lane(EM_v_cvt_pkaccum_u8_f32, usual, bits_of_f32(77.5F), 1, 0xaabbccdd),
        0xaabb4edd);
}

/* --- normalised integers --- */

static uint64_t norm(const struct ref_format *f, uint64_t bits, bool is_signed)
{
    const int64_t most = is_signed ? 32767 : 65535;
    if (ref_is_nan(f, bits)) {
        return 0;
    }
    double v =
        f == &ref_f32
            ? (double)f32_of_bits(bits)
            : (double)f32_of_bits(ref_convert(
                  f, &ref_f32, bits,
                  (struct ref_mode){ .keep_sources = true, .keep_results = true }));
    if (!(fabs(v) < 1)) {
        return (uint64_t)(v > 0 ? most : (is_signed ? -most : 0)) & 0xffff;
    }
    struct ref_big exact = ref_value(&ref_f64, bits_of_f64(v * (double)most));
    int64_t n = ref_to_integer(&exact, 0);
    return (uint64_t)(n < 0 && !is_signed ? 0 : n) & 0xffff;
}

Test(valu_float_convert, normalised)
{
    uint64_t state = 6;
    for (unsigned n = 0; n < 2048; n++) {
        struct float_case c = { .mode = usual };
        for (unsigned i = 0; i < EM_LANES; i++) {
            c.s[0][i] = (n * EM_LANES + i) & 0xffff; /* every f16 */
            c.s[1][i] = float_random(&ref_f32, &state);
        }
        for (unsigned is_signed = 0; is_signed < 2; is_signed++) {
            struct float_case f32 = c, f16 = c, one = c;
            f32.op = is_signed ? EM_v_cvt_pknorm_i16_f32 : EM_v_cvt_pknorm_u16_f32;
            f16.op = is_signed ? EM_v_cvt_pknorm_i16_f16 : EM_v_cvt_pknorm_u16_f16;
            one.op = is_signed ? EM_v_cvt_norm_i16_f16 : EM_v_cvt_norm_u16_f16;
            memcpy(f32.s[0], c.s[1], sizeof(c.s[1]));
            memcpy(f16.s[1], c.s[0], sizeof(c.s[0]));
            float_run(&f32);
            float_run(&f16);
            float_run(&one);
            for (unsigned i = 0; i < EM_LANES; i++) {
                uint64_t half = norm(&ref_f16, c.s[0][i], is_signed);
                uint64_t single = norm(&ref_f32, c.s[1][i], is_signed);
                cr_assert_eq(one.d[i], half, "%#llx", (unsigned long long)c.s[0][i]);
                cr_assert_eq(f16.d[i], half | half << 16);
                cr_assert_eq(f32.d[i], single | single << 16, "%#llx",
                             (unsigned long long)c.s[1][i]);
            }
        }
    }
}

/* --- 8-bit floats --- */

/* By the definition: no infinity, no -0, a bias one above the usual one. */
static double value_of_8(unsigned code, bool bf8)
{
    unsigned mantissa_bits = bf8 ? 2 : 3;
    int bias = bf8 ? 16 : 8, field = (int)(code & 0x7f) >> mantissa_bits;
    double mantissa = code & ((1U << mantissa_bits) - 1);
    double one = 1U << mantissa_bits;
    double v =
        field == 0 ? ldexp(mantissa, 1 - bias) : ldexp(one + mantissa, field - bias);
    v /= one;
    return code & 0x80 ? -v : v;
}

Test(valu_float_convert, fp8_by_hand)
{
    /* The other bias would give 2 and 480. */
    cr_expect_eq(one_lane(EM_v_cvt_f32_fp8, usual, 0x40, 0, 0), bits_of_f32(1));
    cr_expect_eq(one_lane(EM_v_cvt_f32_fp8, usual, 0x7f, 0, 0), bits_of_f32(240));
    cr_expect_eq(one_lane(EM_v_cvt_f32_fp8, usual, 0x01, 0, 0), bits_of_f32(0x1p-10F));
    cr_expect_eq(one_lane(EM_v_cvt_f32_bf8, usual, 0x40, 0, 0), bits_of_f32(1));
    cr_expect_eq(one_lane(EM_v_cvt_f32_bf8, usual, 0x7f, 0, 0), bits_of_f32(57344));
    cr_expect_eq(one_lane(EM_v_cvt_f32_bf8, usual, 0x01, 0, 0), bits_of_f32(0x1p-17F));
    cr_expect_eq(one_lane(EM_v_cvt_f32_fp8, usual, 0x80, 0, 0), 0xffc00000);
    cr_expect_eq(
        one_lane(EM_v_cvt_pk_fp8_f32, usual, bits_of_f32(1), bits_of_f32(-240), 0),
        0xff40);
    cr_expect_eq(
        one_lane(EM_v_cvt_pk_bf8_f32, usual, bits_of_f32(1), bits_of_f32(-57344), 0),
        0xff40);
}

Test(valu_float_convert, fp8_all_codes)
{
    for (unsigned n = 0; n < 256 / EM_LANES * 2; n++) {
        bool bf8 = n & 1;
        struct float_case c = { .op = bf8 ? EM_v_cvt_f32_bf8 : EM_v_cvt_f32_fp8,
                                .mode = usual };
        for (unsigned i = 0; i < EM_LANES; i++) {
            unsigned code = n / 2 * EM_LANES + i;
            c.s[0][i] = code | (code ^ 0x35) << 8 | 0xcc110000;
        }
        struct float_case pair = c;
        pair.op = bf8 ? EM_v_cvt_pk_f32_bf8 : EM_v_cvt_pk_f32_fp8;
        float_run(&c);
        float_run(&pair);
        for (unsigned i = 0; i < EM_LANES; i++) {
            unsigned low = c.s[0][i] & 0xff, high = low ^ 0x35;
            uint64_t first = bits_of_f32((float)value_of_8(low, bf8));
            uint64_t second = bits_of_f32((float)value_of_8(high, bf8));
            first = low == 0x80 ? 0xffc00000 : first;
            second = high == 0x80 ? 0xffc00000 : second;
            cr_assert_eq(c.d[i], first, "code %#x", low);
            cr_assert_eq(pair.d[i], first | second << 32, "codes %#x %#x", low, high);
        }
    }
}

/* The code whose value is nearest, of two the even one; what is nearer to the value
 * that would follow the largest is beyond. */
static unsigned nearest_8(uint64_t bits, bool bf8, bool saturate)
{
    double v = (double)f32_of_bits(bits), size = fabs(v);
    unsigned sign = bits >> 24 & 0x80, best = 0;
    if (!isfinite(v)) {
        return 0x80;
    }
    for (unsigned code = 1; code <= 0x80; code++) {
        double value = code == 0x80 ? (bf8 ? 65536 : 256) : value_of_8(code, bf8);
        double before = code == 1 ? 0 : value_of_8(code - 1, bf8);
        double apart = (value - size) - (size - before);
        if (apart < 0 || (apart == 0 && code % 2 == 0)) {
            best = code;
        }
    }
    if (best == 0x80) {
        return saturate ? sign | 0x7f : 0x80;
    }
    return best == 0 ? 0 : sign | best;
}

static uint64_t source_8(unsigned n, bool bf8, uint64_t *state)
{
    uint64_t sign = n & 1 ? 0x80000000 : 0;
    unsigned code = n / 8 % 0x80;
    double low = value_of_8(code, bf8);
    double high = code == 0x7f ? (bf8 ? 65536 : 256) : value_of_8(code + 1, bf8);
    uint64_t middle = bits_of_f32((float)((low + high) / 2));
    switch (n / 2 % 4) {
    case 0:
        return sign | middle;
    case 1:
        return sign | (middle + 1);
    case 2:
        return sign | (middle - 1);
    default:
        return n < 1024 ? sign | bits_of_f32((float)low)
                        : float_random(&ref_f32, state);
    }
}

Test(valu_float_convert, f32_to_fp8_around_every_middle)
{
    uint64_t state = 7;
    for (unsigned n = 0; n < 4096 * 4; n += EM_LANES) {
        bool bf8 = n / 4096 & 1, saturate = n / 8192 & 1;
        struct float_case c = { .op = bf8 ? EM_v_cvt_pk_bf8_f32 : EM_v_cvt_pk_fp8_f32,
                                .mode = usual | (saturate ? EM_MODE_FP16_OVFL : 0) };
        for (unsigned i = 0; i < EM_LANES; i++) {
            c.s[0][i] = source_8((n + i) % 4096, bf8, &state);
            c.s[1][i] = float_random(&ref_f32, &state);
        }
        float_run(&c);
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t want = nearest_8(c.s[0][i], bf8, saturate) |
                            nearest_8(c.s[1][i], bf8, saturate) << 8;
            cr_assert_eq(c.d[i], want, "%#llx %#llx -> %#llx not %#llx",
                         (unsigned long long)c.s[0][i], (unsigned long long)c.s[1][i],
                         (unsigned long long)c.d[i], (unsigned long long)want);
        }
    }
}

/* In units of the last place over 2^20 or 2^21: those of the value, less what does not
 * fit, and the seed's; then whole places. */
static unsigned stochastic_8(uint64_t bits, uint32_t seed, bool bf8, bool saturate)
{
    double size = fabs((double)f32_of_bits(bits)), v = 0;
    unsigned sign = bits >> 24 & 0x80;
    if (!isfinite(size)) {
        return 0x80;
    }
    int exponent = size == 0 ? -200 : ilogb(size), least = bf8 ? -15 : -7;
    int place = (exponent < least ? least : exponent) - (bf8 ? 2 : 3);
    int dropped = bf8 ? 21 : 20;
    double units = floor(ldexp(size, dropped - place));
    v = floor(ldexp(units + (seed >> (32 - dropped)), -dropped));
    v = ldexp(v, place);
    for (unsigned code = 0; code < 0x80; code++) {
        if (value_of_8(code, bf8) == v) {
            return code == 0 ? 0 : sign | code;
        }
    }
    return saturate ? sign | 0x7f : 0x80;
}

Test(valu_float_convert, f32_to_fp8_with_a_seed)
{
    uint64_t state = 8;
    for (unsigned n = 0; n < 1600; n++) {
        bool bf8 = n & 1, saturate = n & 2;
        struct float_case c = { .op = bf8 ? EM_v_cvt_sr_bf8_f32 : EM_v_cvt_sr_fp8_f32,
                                .mode = usual | (saturate ? EM_MODE_FP16_OVFL : 0) };
        for (unsigned i = 0; i < EM_LANES; i++) {
            c.s[0][i] = source_8((n * EM_LANES + i) % 4096, bf8, &state);
            c.s[1][i] = case_value(&state);
        }
        float_run(&c);
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t want = stochastic_8(c.s[0][i], (uint32_t)c.s[1][i], bf8, saturate);
            cr_assert_eq(c.d[i], want, "%#llx seed %#llx -> %#llx not %#llx",
                         (unsigned long long)c.s[0][i], (unsigned long long)c.s[1][i],
                         (unsigned long long)c.d[i], (unsigned long long)want);
        }
    }
}
