/* Transcendental functions against long double, those of f16 exhaustively; exponents,
 * mantissas, rounding to integers, cube maps, mixed precision and dot products against
 * the fixed-point reference. */
#include "tests/emulator/valu_case.h"
#include "tests/emulator/valu_float_case.h"

#include <criterion/criterion.h>
#include <math.h>

static const uint32_t usual = 3 << 4 | 3 << 6 | EM_MODE_IEEE;
static const long double two_pi = 6.283185307179586476925286766559005768L;

/* --- transcendental --- */

static long double rcp(long double x)
{
    return 1 / x;
}

static long double rsq(long double x)
{
    return 1 / sqrtl(x);
}

/* Exact where the result is: of quarters and twelfths of a turn nothing else is. */
static long double sin_turns(long double x)
{
    long double turn = x - rintl(x);
    return fabsl(turn) == 0.5L ? 0 : sinl(turn * two_pi);
}

static long double cos_turns(long double x)
{
    long double turn = fabsl(x - rintl(x));
    return turn == 0.25L ? 0 : cosl(turn * two_pi);
}

struct function {
    enum em_opcode op;
    const struct ref_format *format;
    long double (*exact)(long double);
    bool turns;
    float beyond; /* of turns */
};

static const struct function functions[] = {
    { EM_v_exp_f32, &ref_f32, exp2l, false, 0 },
    { EM_v_exp_legacy_f32, &ref_f32, exp2l, false, 0 },
    { EM_v_log_f32, &ref_f32, log2l, false, 0 },
    { EM_v_log_legacy_f32, &ref_f32, log2l, false, 0 },
    { EM_v_rcp_f32, &ref_f32, rcp, false, 0 },
    { EM_v_rcp_iflag_f32, &ref_f32, rcp, false, 0 },
    { EM_v_rsq_f32, &ref_f32, rsq, false, 0 },
    { EM_v_sqrt_f32, &ref_f32, sqrtl, false, 0 },
    { EM_v_sin_f32, &ref_f32, sin_turns, true, 0 },
    { EM_v_cos_f32, &ref_f32, cos_turns, true, 1 },
    { EM_v_exp_f16, &ref_f16, exp2l, false, 0 },
    { EM_v_log_f16, &ref_f16, log2l, false, 0 },
    { EM_v_rcp_f16, &ref_f16, rcp, false, 0 },
    { EM_v_rsq_f16, &ref_f16, rsq, false, 0 },
    { EM_v_sqrt_f16, &ref_f16, sqrtl, false, 0 },
    { EM_v_sin_f16, &ref_f16, sin_turns, true, 0 },
    { EM_v_cos_f16, &ref_f16, cos_turns, true, 1 },
};

static long double value_of(const struct ref_format *f, uint64_t bits)
{
    struct ref_mode exact = { .keep_sources = true, .keep_results = true };
    return (long double)f64_of_bits(ref_convert(f, &ref_f64, bits, exact));
}

/* f32 has no denormals here whatever MODE says; rounding is to nearest. */
static uint64_t expected(const struct function *fn, uint64_t source, uint32_t mode)
{
    const struct ref_format *f = fn->format;
    struct ref_mode m = float_ref_mode(f, mode);
    m.round = 0;
    if (f == &ref_f32) {
        m.keep_sources = false;
        m.keep_results = false;
    }
    source = ref_source(f, source, m);
    if (ref_is_nan(f, source)) {
        return ref_quiet(f, source);
    }
    long double x = value_of(f, source);
    if (fn->turns && (ref_is_zero(f, source) || fabsl(x) > 256)) {
        bool zero = ref_is_zero(f, source);
        uint64_t value = bits_of_f32(zero ? 1 - (1 - fn->beyond) : fn->beyond);
        return ref_is_inf(f, source)     ? ref_default_nan(f)
               : zero && fn->beyond == 0 ? source
                                         : ref_convert(&ref_f32, f, value, m);
    }
    long double y = fn->exact(x);
    if (isnan(y)) {
        return ref_default_nan(f);
    }
    bool overflow = isinf(y) || fabsl(y) > 0x1p1000L;
    if (overflow) {
        bool finite = m.overflow_clamps && !isinf(x) && x > 0 && fn->exact == exp2l;
        return ref_infinity(f, signbit(y)) - (finite ? 1 : 0);
    }
    if (fabsl(y) < 0x1p-1000L) {
        return signbit(y) ? ref_round(f, &(struct ref_big){ 0 }, m, true) : 0;
    }
    m.overflow_clamps = m.overflow_clamps && fn->exact == exp2l;
    struct ref_big v = ref_long_double(y);
    return ref_round(f, &v, m, false);
}

static void check(const struct function *fn, struct float_case *c)
{
    c->op = fn->op;
    float_run(c);
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t source = fn->format == &ref_f16 ? c->s[0][i] & 0xffff : c->s[0][i];
        uint64_t want = expected(fn, source, c->mode);
        cr_assert_eq(c->d[i], want, "%s mode %#x: %#llx -> %#llx not %#llx",
                     em_op_info(fn->op)->name, c->mode, (unsigned long long)source,
                     (unsigned long long)c->d[i], (unsigned long long)want);
    }
}

Test(valu_float_special, f32_functions_are_rounded_correctly)
{
    uint64_t state = 21, edges[CASE_EDGES];
    float_edges(&ref_f32, edges);
    for (unsigned n = 0; functions[n].format == &ref_f32; n++) {
        for (unsigned k = 0; k < 1000; k++) {
            struct float_case c = { .mode = k & 1 ? usual : 3 | 1 << 4 };
            for (unsigned i = 0; i < EM_LANES; i++) {
                bool edge = k < 2 && i < CASE_EDGES;
                bool any = k % 4 == 3;
                c.s[0][i] = edge  ? edges[i]
                            : any ? case_random(&state) & UINT32_MAX
                                  : float_random(&ref_f32, &state);
            }
            check(&functions[n], &c);
        }
    }
}

/* Results within 2^-43 of the middle of two f32, on both sides: an approximation that
 * is worse than that gives the other one. */
Test(valu_float_special, f32_functions_near_middles)
{
    static const struct {
        enum em_opcode op;
        uint32_t s[8];
    } hard[] = {
        { EM_v_exp_f32,
          { 0x3eef3013, 0x3efd2a8a, 0x3f03b78c, 0x3f05f315, 0x3f07bca6, 0x3f1c0ec0,
            0x3f36bf1f, 0x3f89e147 } },
        { EM_v_log_f32,
          { 0x4248de27, 0x45f69239, 0x4674964d, 0x4b8b0ee0, 0x3f3a078f, 0x3f4a392a,
            0x4f3aeb64, 0x54605b16 } },
        { EM_v_sin_f32,
          { 0x3dcbd7cd, 0x3dde5091, 0x3debc055, 0x3df80a62, 0x3e0fc219, 0x3e269aa8,
            0x3e2776b4, 0x3e5d5bdc } },
        { EM_v_cos_f32,
          { 0x3dc92cbb, 0x3dd018b7, 0x3de07bce, 0x3e03facf, 0x3e2d3598, 0x3e2e430e,
            0x3e3c0ace, 0x3e664e2c } },
    };
    for (unsigned n = 0; n < sizeof(hard) / sizeof(hard[0]); n++) {
        unsigned which = 0;
        while (functions[which].op != hard[n].op) {
            which++;
        }
        struct float_case c = { .mode = usual };
        for (unsigned i = 0; i < EM_LANES; i++) {
            c.s[0][i] = hard[n].s[i % 8];
        }
        check(&functions[which], &c);
    }
}

Test(valu_float_special, f16_functions_exhaustively)
{
    static const uint32_t modes[] = { 3 << 6, 0, 3 << 6 | EM_MODE_FP16_OVFL,
                                      1 << 2 | 2 << 6 };
    for (unsigned n = 0; n < sizeof(functions) / sizeof(functions[0]); n++) {
        if (functions[n].format != &ref_f16) {
            continue;
        }
        for (unsigned first = 0; first < 4 * 0x10000; first += EM_LANES) {
            struct float_case c = { .mode = modes[first >> 16] };
            for (unsigned i = 0; i < EM_LANES; i++) {
                c.s[0][i] = ((first + i) & 0xffff) | 0x7e000000;
            }
            check(&functions[n], &c);
        }
    }
}

static uint64_t one_lane(enum em_opcode op, uint32_t mode, const uint64_t s[3])
{
    struct float_case c = { .op = op, .mode = mode };
    for (unsigned i = 0; i < EM_LANES; i++) {
        for (unsigned k = 0; k < 3; k++) {
            c.s[k][i] = s[k];
        }
    }
    float_run(&c);
    cr_assert_eq(c.d[0], c.d[63]);
    return c.d[9];
}

static uint64_t of_one(enum em_opcode op, uint64_t source)
{
    return one_lane(op, usual, (uint64_t[3]){ source, 0, 0 });
}

Test(valu_float_special, functions_by_hand)
{
    cr_expect_eq(of_one(EM_v_exp_f32, bits_of_f32(-127)), 0); /* denormal */
    cr_expect_eq(of_one(EM_v_exp_f32, bits_of_f32(-126)), 0x00800000);
    cr_expect_eq(of_one(EM_v_exp_f32, bits_of_f32(128)), 0x7f800000);
    cr_expect_eq(of_one(EM_v_log_f32, bits_of_f32(8)), bits_of_f32(3));
    cr_expect_eq(of_one(EM_v_log_f32, 1), 0xff800000); /* of a denormal */
    cr_expect_eq(of_one(EM_v_log_f32, bits_of_f32(-1)), 0xffc00000);
    cr_expect_eq(of_one(EM_v_rcp_f32, bits_of_f32(3)), 0x3eaaaaab);
    cr_expect_eq(of_one(EM_v_rcp_f32, 0x80000000), 0xff800000);
    cr_expect_eq(of_one(EM_v_rsq_f32, bits_of_f32(0.25F)), bits_of_f32(2));
    cr_expect_eq(of_one(EM_v_rsq_f32, 0x80000000), 0xff800000);
    cr_expect_eq(of_one(EM_v_sqrt_f32, bits_of_f32(2)), 0x3fb504f3);
    cr_expect_eq(of_one(EM_v_sqrt_f32, 0x80000000), 0x80000000);
    cr_expect_eq(of_one(EM_v_sin_f32, bits_of_f32(0.25F)), bits_of_f32(1));
    cr_expect_eq(of_one(EM_v_sin_f32, bits_of_f32(255.75F)), bits_of_f32(-1));
    cr_expect_eq(of_one(EM_v_sin_f32, bits_of_f32(257.25F)), 0);
    cr_expect_eq(of_one(EM_v_cos_f32, bits_of_f32(0.5F)), bits_of_f32(-1));
    cr_expect_eq(of_one(EM_v_cos_f32, bits_of_f32(300)), bits_of_f32(1));
    cr_expect_eq(of_one(EM_v_rcp_f64, bits_of_f64(3)), bits_of_f64(1.0 / 3));
    cr_expect_eq(of_one(EM_v_sqrt_f64, bits_of_f64(-1)), 0xfff8000000000000);
}

/* Of two neighbours neither is nearer. */
Test(valu_float_special, f64_reciprocals_and_roots)
{
    uint64_t state = 22;
    for (unsigned n = 0; n < 300; n++) {
        struct float_case c = { .mode = usual };
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t v = float_random(&ref_f64, &state);
            c.s[0][i] = isfinite(f64_of_bits(v)) && f64_of_bits(v) != 0 ? v : 1;
        }
        struct float_case reciprocal = c, root = c, both = c;
        reciprocal.op = EM_v_rcp_f64;
        root.op = EM_v_sqrt_f64;
        both.op = EM_v_rsq_f64;
        float_run(&reciprocal);
        float_run(&root);
        float_run(&both);
        for (unsigned i = 0; i < EM_LANES; i++) {
            double x = f64_of_bits(c.s[0][i]);
            cr_assert_eq(reciprocal.d[i], bits_of_f64(1 / x));
            if (x < 0) {
                cr_assert_eq(root.d[i], 0xfff8000000000000);
                cr_assert_eq(both.d[i], 0xfff8000000000000);
                continue;
            }
            cr_assert_eq(root.d[i], bits_of_f64(sqrt(x)));
            double y = f64_of_bits(both.d[i]);
            long double unit = (long double)(nextafter(y, INFINITY) - y);
            long double error = fabsl((long double)y - rsq((long double)x));
            cr_assert(error <= 0.501L * unit, "%a", x);
        }
    }
}

/* --- rounding to integers --- */

struct rounding {
    enum em_opcode op;
    const struct ref_format *format;
    int round; /* -1: the fraction */
};

static const struct rounding roundings[] = {
    { EM_v_floor_f16, &ref_f16, 2 },  { EM_v_floor_f32, &ref_f32, 2 },
    { EM_v_floor_f64, &ref_f64, 2 },  { EM_v_ceil_f16, &ref_f16, 1 },
    { EM_v_ceil_f32, &ref_f32, 1 },   { EM_v_ceil_f64, &ref_f64, 1 },
    { EM_v_trunc_f16, &ref_f16, 3 },  { EM_v_trunc_f32, &ref_f32, 3 },
    { EM_v_trunc_f64, &ref_f64, 3 },  { EM_v_rndne_f16, &ref_f16, 0 },
    { EM_v_rndne_f32, &ref_f32, 0 },  { EM_v_rndne_f64, &ref_f64, 0 },
    { EM_v_fract_f16, &ref_f16, -1 }, { EM_v_fract_f32, &ref_f32, -1 },
    { EM_v_fract_f64, &ref_f64, -1 },
};

static uint64_t rounded(const struct rounding *row, uint64_t s, uint32_t mode)
{
    const struct ref_format *f = row->format;
    struct ref_mode m = float_ref_mode(f, mode);
    s = ref_source(f, s, m);
    if (ref_is_nan(f, s)) {
        return ref_quiet(f, s);
    }
    bool fraction = row->round < 0;
    if (ref_is_inf(f, s)) {
        return fraction ? ref_default_nan(f) : s;
    }
    struct ref_big v = ref_value(f, s);
    bool whole = fabsl(value_of(f, s)) >= 0x1p53L;
    int64_t n = whole ? 0 : ref_to_integer(&v, fraction ? 2 : row->round);
    if (!fraction) {
        struct ref_big back = ref_integer(n);
        return whole ? s : ref_round(f, &back, m, ref_is_negative(f, s));
    }
    struct ref_big minus = ref_integer(-n), rest = ref_plus(&v, &minus);
    rest = whole ? (struct ref_big){ 0 } : rest;
    uint64_t got = ref_round(f, &rest, m, m.round == 2);
    uint64_t one = (ref_infinity(f, false) >> (f->fraction_bits + 1))
                   << f->fraction_bits;
    return got == one ? one - 1 : got;
}

Test(valu_float_special, rounding_to_integers)
{
    static const uint32_t modes[] = { 3 << 4 | 3 << 6, 0, 1 | 1 << 2 | 3 << 4 | 3 << 6,
                                      3 | 3 << 2 | 1 << 4 | 1 << 6 };
    uint64_t state = 23, edges[CASE_EDGES];
    for (unsigned n = 0; n < sizeof(roundings) / sizeof(roundings[0]); n++) {
        const struct rounding *row = &roundings[n];
        float_edges(row->format, edges);
        for (unsigned k = 0; k < 200; k++) {
            struct float_case c = { .op = row->op, .mode = modes[k % 4] };
            for (unsigned i = 0; i < EM_LANES; i++) {
                bool edge = k < 4 && i < CASE_EDGES;
                c.s[0][i] = edge ? edges[i] : float_random(row->format, &state);
            }
            float_run(&c);
            for (unsigned i = 0; i < EM_LANES; i++) {
                uint64_t want = rounded(row, c.s[0][i], c.mode);
                cr_assert_eq(c.d[i], want, "%s mode %#x: %#llx -> %#llx not %#llx",
                             em_op_info(row->op)->name, c.mode,
                             (unsigned long long)c.s[0][i], (unsigned long long)c.d[i],
                             (unsigned long long)want);
            }
        }
    }
}

/* --- exponents and mantissas --- */

struct exponent_ops {
    const struct ref_format *format;
    enum em_opcode exponent, mantissa, ldexp;
};

static const struct exponent_ops exponents[] = {
    { &ref_f16, EM_v_frexp_exp_i16_f16, EM_v_frexp_mant_f16, EM_v_ldexp_f16 },
    { &ref_f32, EM_v_frexp_exp_i32_f32, EM_v_frexp_mant_f32, EM_v_ldexp_f32 },
    { &ref_f64, EM_v_frexp_exp_i32_f64, EM_v_frexp_mant_f64, EM_v_ldexp_f64 },
};

static void check_frexp(const struct exponent_ops *ops, const struct float_case *c)
{
    const struct ref_format *f = ops->format;
    struct ref_mode m = float_ref_mode(f, c->mode);
    struct float_case exponent = *c, mantissa = *c;
    exponent.op = ops->exponent;
    mantissa.op = ops->mantissa;
    float_run(&exponent);
    float_run(&mantissa);
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t s = ref_source(f, c->s[0][i], m);
        int e = 0;
        struct ref_mode exact = { .keep_sources = true, .keep_results = true };
        uint64_t want = ref_is_nan(f, s) ? ref_quiet(f, s) : s;
        if (!ref_is_nan(f, s) && !ref_is_inf(f, s)) {
            double fraction = frexp((double)value_of(f, s), &e);
            want = ref_convert(&ref_f64, f, bits_of_f64(fraction), exact);
        }
        uint64_t bits = f == &ref_f16 ? (uint64_t)e & 0xffff : (uint64_t)e & UINT32_MAX;
        cr_assert_eq(mantissa.d[i], want, "%#llx", (unsigned long long)c->s[0][i]);
        cr_assert_eq(exponent.d[i], bits, "%#llx", (unsigned long long)c->s[0][i]);
    }
}

static void check_ldexp(const struct exponent_ops *ops, struct float_case *c)
{
    const struct ref_format *f = ops->format;
    struct ref_mode m = float_ref_mode(f, c->mode);
    c->op = ops->ldexp;
    float_run(c);
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t s = ref_source(f, c->s[0][i], m), want = s;
        int e = f == &ref_f16 ? (int16_t)c->s[1][i] : (int32_t)c->s[1][i];
        if (ref_is_nan(f, s)) {
            want = ref_quiet(f, s);
        } else if (!ref_is_inf(f, s)) {
            /* Within what the reference holds, and beyond what the formats do. */
            int top;
            (void)frexpl(value_of(f, s), &top);
            e = e > 1100 - top ? 1100 - top : (e < -1100 - top ? -1100 - top : e);
            struct ref_big v = ref_value(f, s);
            v = ref_shifted(&v, e);
            want = ref_round(f, &v, m, v.negative);
        }
        cr_assert_eq(c->d[i], want, "%s mode %#x: %#llx %d -> %#llx not %#llx",
                     em_op_info(c->op)->name, c->mode, (unsigned long long)c->s[0][i],
                     e, (unsigned long long)c->d[i], (unsigned long long)want);
    }
}

Test(valu_float_special, exponents_and_mantissas)
{
    static const uint32_t modes[] = {
        3 << 4 | 3 << 6,
        0,
        1 | 1 << 2 | 3 << 4 | 3 << 6,
        2 | 2 << 2 | 2 << 4 | 1 << 6,
        3 | 3 << 2 | 3 << 4 | 3 << 6 | EM_MODE_FP16_OVFL,
    };
    uint64_t state = 24, edges[CASE_EDGES];
    for (unsigned n = 0; n < 3; n++) {
        const struct exponent_ops *ops = &exponents[n];
        float_edges(ops->format, edges);
        unsigned reach = ops->format == &ref_f64 ? 2200 : 320;
        for (unsigned k = 0; k < 200; k++) {
            struct float_case c = { .mode = modes[k % 5] };
            for (unsigned i = 0; i < EM_LANES; i++) {
                bool edge = k < 50 && i < CASE_EDGES;
                c.s[0][i] = edge ? edges[i] : float_random(ops->format, &state);
                uint32_t e = (uint32_t)(case_random(&state) % (2 * reach)) - reach;
                e = k % 3 == 0 ? case_value(&state) : e;
                e = k % 3 == 1 ? (e & 63) - 32 : e;
                c.s[1][i] = e;
            }
            check_frexp(ops, &c);
            check_ldexp(ops, &c);
        }
    }
}

/* Pieces of 2/pi: of x they leave x / (pi / 2), but for multiples of 4. */
Test(valu_float_special, trig_preop_reduces_large_arguments)
{
    cr_expect_eq(
        one_lane(EM_v_trig_preop_f64, usual, (uint64_t[3]){ bits_of_f64(1), 0, 0 }),
        0x3fe45f306dc9c882); /* 2/pi, cut */
    static const double arguments[] = { 3,          1000003,     5e15,
                                        7 * 0x1p60, 5 * 0x1p200, 3 * 0x1p500,
                                        9 * 0x1p880 };
    for (unsigned n = 0; n < sizeof(arguments) / sizeof(arguments[0]); n++) {
        double x = arguments[n];
        long double quarters = 0;
        for (unsigned k = 0; k < 4; k++) {
            double piece = f64_of_bits(one_lane(EM_v_trig_preop_f64, usual,
                                                (uint64_t[3]){ bits_of_f64(x), k, 0 }));
            /* Exact: the significant bits are few, or the product is cut in two. */
            double high = f64_of_bits(bits_of_f64(piece) & ~UINT64_C(0x7ffffff));
            quarters += fmodl((long double)x * (long double)high, 4);
            quarters += fmodl((long double)x * (long double)(piece - high), 4);
        }
        long double angle = fmodl(quarters, 4) * two_pi / 4;
        cr_expect_float_eq((double)sinl(angle), sin(x), 1e-13, "%a", x);
    }
    /* Scaled by 2^128 where the value is beyond 2^944. */
    double last = f64_of_bits(one_lane(EM_v_trig_preop_f64, usual,
                                       (uint64_t[3]){ bits_of_f64(0x1p945), 0, 0 }));
    double before = f64_of_bits(one_lane(EM_v_trig_preop_f64, usual,
                                         (uint64_t[3]){ bits_of_f64(0x1p944), 0, 0 }));
    cr_expect(last > before * 0x1p120 && last < 0x1p-700);
    cr_expect_eq(
        one_lane(EM_v_trig_preop_f64, usual, (uint64_t[3]){ bits_of_f64(1), 31, 0 }),
        0);
}

/* --- cube maps --- */

struct face {
    float id, sc, tc, ma;
};

static struct face face_of(float x, float y, float z)
{
    if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y)) {
        return z < 0 ? (struct face){ 5, -x, -y, 2 * z }
                     : (struct face){ 4, x, -y, 2 * z };
    }
    if (fabsf(y) >= fabsf(x)) {
        return y < 0 ? (struct face){ 3, x, -z, 2 * y }
                     : (struct face){ 2, x, z, 2 * y };
    }
    return x < 0 ? (struct face){ 1, z, -y, 2 * x } : (struct face){ 0, -z, -y, 2 * x };
}

Test(valu_float_special, cube_maps)
{
    static const float values[] = {
        0, -0.0F, 1, -1, 2.5F, -2.5F, 0x1p127F, -0x1p-126F
    };
    for (unsigned n = 0; n < 512; n += EM_LANES) {
        struct float_case c = { .mode = usual };
        for (unsigned i = 0; i < EM_LANES; i++) {
            for (unsigned k = 0; k < 3; k++) {
                c.s[k][i] = bits_of_f32(values[(n + i) >> (3 * k) & 7]);
            }
        }
        struct float_case id = c, sc = c, tc = c, ma = c;
        id.op = EM_v_cubeid_f32;
        sc.op = EM_v_cubesc_f32;
        tc.op = EM_v_cubetc_f32;
        ma.op = EM_v_cubema_f32;
        float_run(&id);
        float_run(&sc);
        float_run(&tc);
        float_run(&ma);
        for (unsigned i = 0; i < EM_LANES; i++) {
            struct face want = face_of(f32_of_bits(c.s[0][i]), f32_of_bits(c.s[1][i]),
                                       f32_of_bits(c.s[2][i]));
            cr_assert_eq(id.d[i], bits_of_f32(want.id));
            cr_assert_eq(sc.d[i], bits_of_f32(want.sc));
            cr_assert_eq(tc.d[i], bits_of_f32(want.tc));
            cr_assert_eq(ma.d[i], bits_of_f32(want.ma));
        }
    }
}

/* --- mixed precision, dot products, packing --- */

static const uint32_t mixed_modes[] = {
    3 << 4 | 3 << 6,
    0,
    1 | 2 << 2 | 3 << 4 | 1 << 6,
    2 | 0 << 2 | 1 << 4 | 2 << 6,
    3 << 4 | 3 << 6 | EM_MODE_FP16_OVFL,
};

Test(valu_float_special, mixed_multiply_adds)
{
    uint64_t state = 25;
    struct ref_mode exact = { .keep_sources = true, .keep_results = true };
    for (unsigned n = 0; n < 600; n++) {
        uint32_t mode = mixed_modes[n % 5];
        struct float_case c = { .mode = mode, .op_sel_hi = (uint8_t)(n / 5 % 8) };
        uint64_t want[EM_LANES];
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t s[3];
            for (unsigned k = 0; k < 3; k++) {
                bool half = c.op_sel_hi >> k & 1;
                const struct ref_format *f = half ? &ref_f16 : &ref_f32;
                uint64_t v = float_random(f, &state);
                s[k] = ref_source(f, v, float_ref_mode(f, mode));
                s[k] = half ? ref_convert(f, &ref_f32, s[k], exact) : s[k];
                c.s[k][i] = half ? ref_convert(f, &ref_f32, v, exact) : v;
            }
            want[i] = ref_fma(&ref_f32, s, 0, float_ref_mode(&ref_f32, mode));
        }
        struct float_case single = c, low = c, high = c;
        single.op = EM_v_fma_mix_f32;
        low.op = EM_v_fma_mixlo_f16;
        high.op = EM_v_fma_mixhi_f16;
        float_run(&single);
        float_run(&low);
        float_run(&high);
        struct ref_mode narrow = float_ref_mode(&ref_f16, mode);
        narrow.keep_sources = float_ref_mode(&ref_f32, mode).keep_sources;
        for (unsigned i = 0; i < EM_LANES; i++) {
            cr_assert_eq(single.d[i], want[i], "%u %u", n, i);
            uint64_t half = ref_convert(&ref_f32, &ref_f16, want[i], narrow);
            cr_assert_eq(low.d[i], half, "%u %u", n, i);
            cr_assert_eq(high.d[i], half);
        }
    }
}

Test(valu_float_special, dot_products)
{
    uint64_t state = 26;
    struct ref_mode exact = { .keep_sources = true, .keep_results = true };
    for (unsigned n = 0; n < 200; n++) {
        uint32_t mode = mixed_modes[n % 5];
        struct float_case c = { .op = n & 1 ? EM_v_dot2_f32_f16 : EM_v_dot2c_f32_f16,
                                .mode = mode };
        for (unsigned i = 0; i < EM_LANES; i++) {
            for (unsigned k = 0; k < 2; k++) {
                c.s[k][i] = float_random(&ref_f16, &state);
                c.s[k][i] |= float_random(&ref_f16, &state) << 16;
            }
            c.s[2][i] = float_random(&ref_f32, &state);
        }
        float_run(&c);
        struct ref_mode half = float_ref_mode(&ref_f16, mode);
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t sum = c.s[2][i];
            for (unsigned e = 0; e < 2; e++) {
                uint64_t s[3] = { 0, 0, sum };
                for (unsigned k = 0; k < 2; k++) {
                    uint64_t v = c.s[k][i] >> 16 * e & 0xffff;
                    v = ref_source(&ref_f16, v, half);
                    s[k] = ref_convert(&ref_f16, &ref_f32, v, exact);
                }
                sum = ref_fma(&ref_f32, s, 0, float_ref_mode(&ref_f32, mode));
            }
            cr_assert_eq(c.d[i], sum, "%u %u: %#llx not %#llx", n, i,
                         (unsigned long long)c.d[i], (unsigned long long)sum);
        }
    }
}

Test(valu_float_special, packing)
{
    const uint64_t s[3] = { 0xffff7c01, 0xffff0001, 0 };
    cr_expect_eq(one_lane(EM_v_pack_b32_f16, usual, s), 0x00017e01);
    cr_expect_eq(one_lane(EM_v_pack_b32_f16, 0, s), 0x00007e01);
}

/* Every operation of f16, f32 and f64 has a row. */
Test(valu_float_special, no_operation_is_missing)
{
    static const struct em_valu_row *const tables[] = { em_valu_f32, em_valu_f16,
                                                        em_valu_f64, em_valu_convert,
                                                        em_valu_special };
    unsigned missing = 0;
    for (unsigned op = 0; op < EM_OPCODES; op++) {
        const char *name = em_op_info((enum em_opcode)op)->name;
        bool vector = name[0] == 'v' && !strstr(name, "v_cmp") &&
                      !strstr(name, "mfma") && !strstr(name, "smfmac");
        bool is_float = strstr(name, "_f16") || strstr(name, "_f32") ||
                        strstr(name, "_f64") || strstr(name, "p8_f32");
        bool found = false;
        for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
            for (const struct em_valu_row *row = tables[t]; row->fn; row++) {
                cr_assert(row->op != op || !found, "%s twice", name);
                found = found || row->op == op;
            }
        }
        if (vector && is_float && !found) {
            cr_log_error("%s has no row", name);
            missing++;
        }
    }
    cr_assert_eq(missing, 0);
}
