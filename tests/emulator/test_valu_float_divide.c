/* Division as compilers emit it gives the correctly rounded quotient; its steps alone,
 * against the fixed-point reference and by hand. */
#include "tests/emulator/valu_case.h"
#include "tests/emulator/valu_float_case.h"

#include <criterion/criterion.h>
#include <math.h>

static const uint32_t usual = 3 << 4 | 3 << 6 | EM_MODE_IEEE;

/* The operations of one format. */
struct division {
    const struct ref_format *format;
    enum em_opcode scale, rcp, fma, mul, fmas, fixup;
    unsigned refinements; /* of the reciprocal */
    unsigned quotients;   /* of the quotient, before v_div_fmas */
};

static const struct division single = { &ref_f32,
                                        EM_v_div_scale_f32,
                                        EM_v_rcp_f32,
                                        EM_v_fma_f32,
                                        EM_v_mul_f32,
                                        EM_v_div_fmas_f32,
                                        EM_v_div_fixup_f32,
                                        1,
                                        1 };
static const struct division twice = { &ref_f64,
                                       EM_v_div_scale_f64,
                                       EM_v_rcp_f64,
                                       EM_v_fma_f64,
                                       EM_v_mul_f64,
                                       EM_v_div_fmas_f64,
                                       EM_v_div_fixup_f64,
                                       2,
                                       0 };

/* 64 lanes through one operation; `mask` both ways, may be NULL. */
static void apply(enum em_opcode op,
                  const uint64_t *a,
                  const uint64_t *b,
                  const uint64_t *c,
                  uint64_t *mask,
                  uint64_t *ret)
{
    struct float_case run = { .op = op, .mode = usual, .mask = mask ? *mask : 0 };
    memcpy(run.s[0], a, sizeof(run.s[0]));
    memcpy(run.s[1], b, sizeof(run.s[1]));
    memcpy(run.s[2], c, sizeof(run.s[2]));
    float_run(&run);
    memcpy(ret, run.d, sizeof(run.d));
    if (mask) {
        *mask = run.mask;
    }
}

static void negate(const struct ref_format *f, const uint64_t *v, uint64_t *ret)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        ret[i] = v[i] ^ UINT64_C(1) << (f->exponent_bits + f->fraction_bits);
    }
}

static void divide(const struct division *d,
                   const uint64_t n[EM_LANES],
                   const uint64_t den[EM_LANES],
                   uint64_t ret[EM_LANES])
{
    uint64_t scaled[EM_LANES], minus[EM_LANES], num[EM_LANES], rcp[EM_LANES];
    uint64_t error[EM_LANES], q[EM_LANES], one[EM_LANES], ignored = 0, mask = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        one[i] = d->format == &ref_f32 ? bits_of_f32(1) : bits_of_f64(1);
    }
    apply(d->scale, den, den, n, &ignored, scaled);
    apply(d->scale, n, den, n, &mask, num);
    negate(d->format, scaled, minus);
    apply(d->rcp, scaled, one, one, NULL, rcp);
    for (unsigned k = 0; k < d->refinements; k++) {
        apply(d->fma, minus, rcp, one, NULL, error);
        apply(d->fma, error, rcp, rcp, NULL, rcp);
    }
    apply(d->mul, num, rcp, one, NULL, q);
    for (unsigned k = 0; k < d->quotients; k++) {
        apply(d->fma, minus, q, num, NULL, error);
        apply(d->fma, error, rcp, q, NULL, q);
    }
    apply(d->fma, minus, q, num, NULL, error);
    apply(d->fmas, error, rcp, q, &mask, q);
    apply(d->fixup, q, den, n, NULL, ret);
}

static bool same(const struct ref_format *f, uint64_t a, uint64_t b)
{
    return a == b || (ref_is_nan(f, a) && ref_is_nan(f, b));
}

static uint64_t host_quotient(const struct division *d, uint64_t n, uint64_t den)
{
    if (d->format == &ref_f32) {
        return bits_of_f32(f32_of_bits(n) / f32_of_bits(den));
    }
    return bits_of_f64(f64_of_bits(n) / f64_of_bits(den));
}

static void check(const struct division *d,
                  const uint64_t n[EM_LANES],
                  const uint64_t den[EM_LANES])
{
    uint64_t got[EM_LANES];
    divide(d, n, den, got);
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t want = host_quotient(d, n[i], den[i]);
        cr_assert(same(d->format, got[i], want), "%#llx / %#llx = %#llx not %#llx",
                  (unsigned long long)n[i], (unsigned long long)den[i],
                  (unsigned long long)got[i], (unsigned long long)want);
    }
}

static void check_many(const struct division *d, unsigned batches)
{
    uint64_t edges[CASE_EDGES], n[EM_LANES], den[EM_LANES], state = 11;
    float_edges(d->format, edges);
    for (unsigned k = 0; k < CASE_EDGES * CASE_EDGES; k++) {
        n[k % EM_LANES] = edges[k / CASE_EDGES];
        den[k % EM_LANES] = edges[k % CASE_EDGES];
        if (k % EM_LANES == EM_LANES - 1) {
            check(d, n, den);
        }
    }
    unsigned width =
        (unsigned)(1 + d->format->exponent_bits + d->format->fraction_bits);
    uint64_t all = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
    for (unsigned k = 0; k < batches; k++) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            /* Any bits, and values near one another. */
            n[i] = k & 1 ? case_random(&state) & all : float_random(d->format, &state);
            den[i] =
                k & 2 ? case_random(&state) & all : float_random(d->format, &state);
        }
        check(d, n, den);
    }
}

Test(valu_float_divide, f32_quotients_are_rounded_correctly)
{
    check_many(&single, 8000);
}

Test(valu_float_divide, f64_quotients_are_rounded_correctly)
{
    check_many(&twice, 4000);
}

/* Quotients that are denormal: numerators far below their denominators. */
static void check_denormal(const struct division *d, unsigned batches)
{
    uint64_t n[EM_LANES], den[EM_LANES], state = 12;
    uint64_t one = UINT64_C(1) << d->format->fraction_bits;
    uint64_t fields = (UINT64_C(1) << d->format->exponent_bits) - 1;
    for (unsigned k = 0; k < batches; k++) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t low = case_random(&state) % (fields / 2);
            uint64_t high = low + fields / 2 + case_random(&state) % 60;
            high = high >= fields ? fields - 1 : high;
            n[i] = low * one | (case_random(&state) & (one - 1));
            den[i] = high * one | (case_random(&state) & (one - 1));
        }
        check(d, n, den);
    }
}

Test(valu_float_divide, denormal_quotients_are_rounded_once)
{
    check_denormal(&single, 3000);
    check_denormal(&twice, 3000);
}

/* --- steps --- */

static void check_fmas(const struct division *d, uint32_t mode)
{
    const struct ref_format *f = d->format;
    struct ref_mode m = float_ref_mode(f, mode);
    m.keep_sources = true;
    uint64_t state = mode + 13, bias = ref_infinity(f, false) >> (f->fraction_bits + 1);
    for (unsigned n = 0; n < 200; n++) {
        struct float_case c = { .op = d->fmas, .mode = mode };
        for (unsigned i = 0; i < EM_LANES; i++) {
            for (unsigned k = 0; k < 3; k++) {
                c.s[k][i] = float_random(f, &state);
            }
        }
        c.mask = case_random(&state);
        uint64_t mask = c.mask;
        float_run(&c);
        for (unsigned i = 0; i < EM_LANES; i++) {
            const uint64_t s[3] = { c.s[0][i], c.s[1][i], c.s[2][i] };
            uint64_t field = s[2] >> f->fraction_bits & (2 * bias + 1);
            int power = f == &ref_f32 ? 64 : 128;
            power = !(mask >> i & 1) ? 0 : (field > bias ? power : -power);
            uint64_t want = ref_fma(f, s, power, m);
            cr_assert_eq(c.d[i], want,
                         "%s mode %#x: %#llx %#llx %#llx -> %#llx not %#llx",
                         em_op_info(d->fmas)->name, mode, (unsigned long long)s[0],
                         (unsigned long long)s[1], (unsigned long long)s[2],
                         (unsigned long long)c.d[i], (unsigned long long)want);
        }
    }
}

Test(valu_float_divide, fmas_rounds_once_and_scales_by_its_addend)
{
    static const unsigned denormals[4] = { 3, 0, 1, 2 };
    for (unsigned round = 0; round < 4; round++) {
        unsigned keep = denormals[round];
        check_fmas(&single, float_mode(round, round, keep, keep));
        check_fmas(&twice, float_mode(round, round, keep, keep));
    }
}

struct step {
    uint64_t s[3], result;
    bool mask;
    uint32_t mode;
};

static void check_step(enum em_opcode op, const struct step *step)
{
    struct float_case c = { .op = op, .mode = step->mode ? step->mode : usual };
    for (unsigned i = 0; i < EM_LANES; i++) {
        for (unsigned k = 0; k < 3; k++) {
            c.s[k][i] = step->s[k];
        }
    }
    float_run(&c);
    cr_expect_eq(c.d[5], step->result, "%s %#llx %#llx %#llx -> %#llx not %#llx",
                 em_op_info(op)->name, (unsigned long long)step->s[0],
                 (unsigned long long)step->s[1], (unsigned long long)step->s[2],
                 (unsigned long long)c.d[5], (unsigned long long)step->result);
    cr_expect_eq(c.mask, step->mask ? ~UINT64_C(0) : 0);
}

/* Source 0 is the denominator (source 1) or the numerator (source 2). */
Test(valu_float_divide, scale_by_hand)
{
    const uint64_t one = 0x3f800000, big = 0x7e800000 /* 2^126 */;
    const uint64_t tiny = 0x0e000000 /* 2^-99 */, denormal = 0x00000001;
    const struct step steps[] = {
        { { one, one, 0x40400000 }, one, false, 0 },
        { { one, one, 0 }, 0xffc00000, true, 0 },
        { { 0, 0, one }, 0xffc00000, true, 0 },
        /* Far apart, the quotient large: the denominator up, the result scaled back. */
        { { tiny, tiny, one }, 0x2e000000, true, 0 },
        { { one, tiny, one }, one, true, 0 },
        /* The quotient small: the numerator up. */
        { { tiny, one, tiny }, 0x2e000000, true, 0 },
        { { one, one, tiny }, one, true, 0 },
        /* A reciprocal that is denormal: both down. */
        { { big, big, big + 1 }, 0x5e800000, false, 0 },
        { { big + 1, big, big + 1 }, 0x5e800001, false, 0 },
        /* A denormal denominator, both up; none where those are flushed. */
        { { denormal, denormal, denormal }, 0x15000000, false, 0 },
        { { denormal, denormal, one }, 0x15000000, true, 0 },
        { { denormal, denormal, one }, 0xffc00000, true, float_mode(0, 0, 0, 0) },
        /* NaN and infinities stay. */
        { { 0x7f800001, 0x7f800001, one }, 0x7fc00001, true, 0 },
    };
    for (unsigned n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
        check_step(EM_v_div_scale_f32, &steps[n]);
    }
}

/* Quotient, denominator, numerator. */
Test(valu_float_divide, fixup_by_hand)
{
    const uint64_t one = 0x3f800000, inf = 0x7f800000, sign = 0x80000000;
    const struct step steps[] = {
        { { one, one | sign, one }, one | sign, false, 0 },
        { { one | sign, one, one }, one, false, 0 },
        { { one, 0, 0 }, 0xffc00000, false, 0 },
        { { one, inf, inf }, 0xffc00000, false, 0 },
        { { one, 0, one | sign }, inf | sign, false, 0 },
        { { one, inf, one }, 0, false, 0 },
        { { one, one, sign }, sign, false, 0 },
        { { one, 0x7f800005, 0x7f800007 }, 0x7fc00007, false, 0 },
        { { one, 0x7f800005, one }, 0x7fc00005, false, 0 },
        { { 0x7fc00000, one, one }, inf, false, 0 },
        { { inf, one, one }, 0x7f7fffff, false, float_mode(3, 3, 3, 3) },
        /* 2^-126 / 2^100: too small for any denormal. */
        { { one, 0x71800000, 0x00800000 }, 0, false, 0 },
        { { one, 0x71800000, 0x00800000 }, 1, false, float_mode(1, 1, 3, 3) },
        { { one, 0x71800000, 0x00800000 }, 0, false, float_mode(1, 1, 1, 1) },
    };
    for (unsigned n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
        check_step(EM_v_div_fixup_f32, &steps[n]);
    }
    const struct step half[] = {
        { { 0x3c00, 0xbc00, 0x3c00 }, 0xbc00, false, 0 },
        { { 0x3c00, 0, 0 }, 0xfe00, false, 0 },
        { { 0x3c00, 0x1230000, 0x3c00 }, 0x7c00, false, 0 }, /* noise above */
        { { 0x3c00, 0x3c00, 0x7c01 }, 0x7e01, false, 0 },
        { { 0x3c00, 0x0001, 0x3c00 }, 0x7c00, false, float_mode(0, 0, 3, 2) },
    };
    for (unsigned n = 0; n < sizeof(half) / sizeof(half[0]); n++) {
        check_step(EM_v_div_fixup_f16, &half[n]);
        check_step(EM_v_div_fixup_legacy_f16, &half[n]);
    }
}
