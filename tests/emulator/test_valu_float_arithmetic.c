/* Floating-point sums, products, fused and unfused multiply-adds, minima and maxima of
 * all formats: every operation against the fixed-point reference, edge values crossed,
 * under the rounding modes and the ways of flushing denormals. */
#include "tests/emulator/valu_case.h"
#include "tests/emulator/valu_float_case.h"

#include <criterion/criterion.h>

enum kind {
    ADD,
    SUB,
    SUBREV,
    MUL,
    MUL_LEGACY,
    FMA,
    MAD, /* unfused, without denormals */
    MIN,
    MAX,
    MIN3,
    MAX3,
    MED3
};

/* An operation; `elements` of its format in a lane. */
struct row {
    enum em_opcode op;
    const struct ref_format *format;
    enum kind kind;
    unsigned elements;
};

static const struct row rows[] = {
    { EM_v_add_f32, &ref_f32, ADD, 1 },
    { EM_v_sub_f32, &ref_f32, SUB, 1 },
    { EM_v_subrev_f32, &ref_f32, SUBREV, 1 },
    { EM_v_mul_f32, &ref_f32, MUL, 1 },
    { EM_v_mul_legacy_f32, &ref_f32, MUL_LEGACY, 1 },
    { EM_v_fma_f32, &ref_f32, FMA, 1 },
    { EM_v_fmac_f32, &ref_f32, FMA, 1 },
    { EM_v_fmamk_f32, &ref_f32, FMA, 1 },
    { EM_v_fmaak_f32, &ref_f32, FMA, 1 },
    { EM_v_pk_add_f32, &ref_f32, ADD, 2 },
    { EM_v_pk_mul_f32, &ref_f32, MUL, 2 },
    { EM_v_pk_fma_f32, &ref_f32, FMA, 2 },
    { EM_v_min_f32, &ref_f32, MIN, 1 },
    { EM_v_max_f32, &ref_f32, MAX, 1 },
    { EM_v_min3_f32, &ref_f32, MIN3, 1 },
    { EM_v_max3_f32, &ref_f32, MAX3, 1 },
    { EM_v_med3_f32, &ref_f32, MED3, 1 },
    { EM_v_add_f16, &ref_f16, ADD, 1 },
    { EM_v_sub_f16, &ref_f16, SUB, 1 },
    { EM_v_subrev_f16, &ref_f16, SUBREV, 1 },
    { EM_v_mul_f16, &ref_f16, MUL, 1 },
    { EM_v_fma_f16, &ref_f16, FMA, 1 },
    { EM_v_fma_legacy_f16, &ref_f16, FMA, 1 },
    { EM_v_mac_f16, &ref_f16, MAD, 1 },
    { EM_v_madmk_f16, &ref_f16, MAD, 1 },
    { EM_v_madak_f16, &ref_f16, MAD, 1 },
    { EM_v_mad_f16, &ref_f16, MAD, 1 },
    { EM_v_mad_legacy_f16, &ref_f16, MAD, 1 },
    { EM_v_pk_add_f16, &ref_f16, ADD, 2 },
    { EM_v_pk_mul_f16, &ref_f16, MUL, 2 },
    { EM_v_pk_fma_f16, &ref_f16, FMA, 2 },
    { EM_v_pk_fmac_f16, &ref_f16, FMA, 2 },
    { EM_v_pk_min_f16, &ref_f16, MIN, 2 },
    { EM_v_pk_max_f16, &ref_f16, MAX, 2 },
    { EM_v_min_f16, &ref_f16, MIN, 1 },
    { EM_v_max_f16, &ref_f16, MAX, 1 },
    { EM_v_min3_f16, &ref_f16, MIN3, 1 },
    { EM_v_max3_f16, &ref_f16, MAX3, 1 },
    { EM_v_med3_f16, &ref_f16, MED3, 1 },
    { EM_v_add_f64, &ref_f64, ADD, 1 },
    { EM_v_mul_f64, &ref_f64, MUL, 1 },
    { EM_v_fma_f64, &ref_f64, FMA, 1 },
    { EM_v_fmac_f64, &ref_f64, FMA, 1 },
    { EM_v_min_f64, &ref_f64, MIN, 1 },
    { EM_v_max_f64, &ref_f64, MAX, 1 },
};

static uint64_t negated(const struct ref_format *f, uint64_t bits)
{
    return bits ^ UINT64_C(1) << (f->exponent_bits + f->fraction_bits);
}

/* a - b: the NaN of b keeps its sign. */
static uint64_t expected_sub(const struct ref_format *f,
                             uint64_t a,
                             uint64_t b,
                             struct ref_mode m)
{
    return ref_add(f, a, ref_is_nan(f, b) ? b : negated(f, b), m);
}

static uint64_t expected_med3(const struct ref_format *f,
                              const uint64_t s[3],
                              struct ref_mode m)
{
    if (ref_is_nan(f, s[0]) || ref_is_nan(f, s[1]) || ref_is_nan(f, s[2])) {
        return ref_min(f, ref_min(f, s[0], s[1], m), s[2], m);
    }
    /* The greater of the lesser of each two, whose zeros are those of the greatest
     * without one that equals it. */
    uint64_t most = ref_max(f, ref_max(f, s[0], s[1], m), s[2], m);
    for (unsigned k = 0; k < 2; k++) {
        struct ref_mode all = m;
        all.keep_sources = m.keep_sources && m.keep_results;
        uint64_t taken = ref_source(f, s[k], all);
        bool zeros = ref_is_zero(f, taken) && ref_is_zero(f, most);
        if (taken == most || zeros) {
            return ref_max(f, s[k == 0 ? 1 : 0], s[2], m);
        }
    }
    return ref_max(f, s[0], s[1], m);
}

static uint64_t expected_mad(const struct ref_format *f,
                             const uint64_t s[3],
                             struct ref_mode m)
{
    m.keep_sources = false;
    m.keep_results = false;
    struct ref_mode first = m;
    first.overflow_clamps = false;
    uint64_t product = ref_mul(f, s[0], s[1], first);
    uint64_t v = ref_add(f, product, s[2], m);
    /* A product that overflows is an overflow of the whole. */
    bool source_inf = ref_is_inf(f, s[0]) || ref_is_inf(f, s[1]) || ref_is_inf(f, s[2]);
    bool clamp = m.overflow_clamps && ref_is_inf(f, v) && !source_inf;
    return clamp ? v - 1 : v;
}

static uint64_t expected(const struct row *row, const uint64_t s[3], struct ref_mode m)
{
    const struct ref_format *f = row->format;
    uint64_t a = s[0], b = s[1], c = s[2];
    switch (row->kind) {
    case ADD:
        return ref_add(f, a, b, m);
    case SUB:
        return expected_sub(f, a, b, m);
    case SUBREV:
        return expected_sub(f, b, a, m);
    case MUL:
        return ref_mul(f, a, b, m);
    case MUL_LEGACY:
        return ref_is_zero(f, ref_source(f, a, m)) ||
                       ref_is_zero(f, ref_source(f, b, m))
                   ? 0
                   : ref_mul(f, a, b, m);
    case FMA:
        return ref_fma(f, s, 0, m);
    case MAD:
        return expected_mad(f, s, m);
    case MIN:
        return ref_min(f, a, b, m);
    case MAX:
        return ref_max(f, a, b, m);
    case MIN3:
        return ref_min(f, ref_min(f, a, b, m), c, m);
    case MAX3:
        return ref_max(f, ref_max(f, a, b, m), c, m);
    case MED3:
        return expected_med3(f, s, m);
    default:
        cr_assert_fail("no such kind");
        return 0;
    }
}

static unsigned width_of(const struct ref_format *f)
{
    return (unsigned)(1 + f->exponent_bits + f->fraction_bits);
}

static uint64_t element(const struct row *row, uint64_t lane, unsigned e)
{
    unsigned width = width_of(row->format);
    return width == 64 ? lane : lane >> width * e & ((UINT64_C(1) << width) - 1);
}

static void check(const struct row *row, struct float_case *c)
{
    struct ref_mode m = float_ref_mode(row->format, c->mode);
    c->op = row->op;
    float_run(c);
    for (unsigned i = 0; i < EM_LANES; i++) {
        for (unsigned e = 0; e < row->elements; e++) {
            const uint64_t s[3] = { element(row, c->s[0][i], e),
                                    element(row, c->s[1][i], e),
                                    element(row, c->s[2][i], e) };
            uint64_t want = expected(row, s, m), got = element(row, c->d[i], e);
            cr_assert_eq(got, want, "%s mode %#x: %#llx %#llx %#llx -> %#llx not %#llx",
                         em_op_info(row->op)->name, c->mode, (unsigned long long)s[0],
                         (unsigned long long)s[1], (unsigned long long)s[2],
                         (unsigned long long)got, (unsigned long long)want);
        }
        bool short_result = row->format == &ref_f16 && row->elements == 1;
        cr_assert(!short_result || c->d[i] >> 16 == 0, "%s: bits above the result",
                  em_op_info(row->op)->name);
    }
}

/* What is above a single 16-bit source is noise. */
static uint64_t lane_of(const struct row *row, uint64_t low, uint64_t high)
{
    unsigned width = width_of(row->format);
    return width == 64 ? low : low | high << width;
}

static void check_edges(const struct row *row, uint32_t mode)
{
    uint64_t edges[CASE_EDGES];
    float_edges(row->format, edges);
    struct float_case c = { .mode = mode };
    for (unsigned first = 0; first < CASE_EDGES * CASE_EDGES; first += EM_LANES) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            unsigned n = first + i;
            uint64_t a = edges[n / CASE_EDGES], b = edges[n % CASE_EDGES];
            uint64_t z = edges[(n * 7 + n / CASE_EDGES) % CASE_EDGES];
            c.s[0][i] = lane_of(row, a, b);
            c.s[1][i] = lane_of(row, b, z);
            c.s[2][i] = lane_of(row, z, a);
        }
        check(row, &c);
    }
}

/* Now and then a tiny addend, which decides ties. */
static uint64_t random_source(const struct row *row, unsigned k, uint64_t *state)
{
    const struct ref_format *f = row->format;
    uint64_t v = float_random(f, state), one = UINT64_C(1) << f->fraction_bits;
    bool tiny = k == 2 && case_random(state) % 2 == 0;
    return tiny ? v & (one << f->exponent_bits | (2 * one - 1)) : v;
}

static void check_random(const struct row *row, uint32_t mode, unsigned batches)
{
    uint64_t state = mode + 0x9e3779b97f4a7c15;
    struct float_case c = { .mode = mode };
    for (unsigned n = 0; n < batches; n++) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            for (unsigned k = 0; k < 3; k++) {
                uint64_t low = random_source(row, k, &state);
                c.s[k][i] = lane_of(row, low, random_source(row, k, &state));
            }
        }
        check(row, &c);
    }
}

static void check_all(uint32_t mode, unsigned batches)
{
    for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
        check_edges(&rows[n], mode);
        check_random(&rows[n], mode, batches);
    }
}

Test(valu_float_arithmetic, nearest_with_denormals)
{
    check_all(float_mode(0, 0, 3, 3), 40);
}

Test(valu_float_arithmetic, nearest_without_denormals)
{
    check_all(float_mode(0, 0, 0, 0), 8);
}

Test(valu_float_arithmetic, upwards)
{
    check_all(float_mode(1, 1, 3, 3), 8);
    check_all(float_mode(1, 1, 0, 1), 2);
}

Test(valu_float_arithmetic, downwards_with_sources_denormals)
{
    check_all(float_mode(2, 2, 1, 1), 8);
}

Test(valu_float_arithmetic, towards_zero_with_results_denormals)
{
    check_all(float_mode(3, 3, 2, 2), 8);
}

Test(valu_float_arithmetic, formats_have_their_own_modes)
{
    check_all(float_mode(1, 2, 3, 0), 2);
    check_all(float_mode(2, 0, 0, 3), 2);
}

Test(valu_float_arithmetic, without_ieee_signalling_nan_of_minima_stay)
{
    check_all(float_mode(0, 0, 3, 3) & ~(uint32_t)EM_MODE_IEEE, 2);
}

Test(valu_float_arithmetic, overflows_of_f16_clamp)
{
    check_all(float_mode(0, 0, 3, 3) | EM_MODE_FP16_OVFL, 8);
    check_all(float_mode(1, 1, 3, 3) | EM_MODE_FP16_OVFL, 2);
}

/* By hand: what a reference with the same misunderstanding would not catch. */
static uint64_t one_lane(enum em_opcode op, uint64_t a, uint64_t b, uint64_t z)
{
    struct float_case c = { .op = op, .mode = float_mode(0, 0, 3, 3) };
    for (unsigned i = 0; i < EM_LANES; i++) {
        c.s[0][i] = a;
        c.s[1][i] = b;
        c.s[2][i] = z;
    }
    float_run(&c);
    cr_assert_eq(c.d[0], c.d[63]);
    return c.d[17];
}

Test(valu_float_arithmetic, by_hand)
{
    const uint64_t one = 0x3f800000, inf = 0x7f800000;
    cr_expect_eq(one_lane(EM_v_add_f32, one, 0x33800000, 0), one); /* a tie, to even */
    cr_expect_eq(one_lane(EM_v_add_f32, one, 0x33800001, 0), 0x3f800001);
    cr_expect_eq(one_lane(EM_v_sub_f32, inf, inf, 0), 0xffc00000);
    cr_expect_eq(one_lane(EM_v_subrev_f32, one, 0x40400000, 0), 0x40000000); /* 3 - 1 */
    cr_expect_eq(one_lane(EM_v_add_f32, 0x7f800001, 0x7fc12345, 0), 0x7fc00001);
    cr_expect_eq(one_lane(EM_v_max_f32, 0x7fc00001, one, 0), one);
    cr_expect_eq(one_lane(EM_v_max_f32, 0x7f800001, one, 0), 0x7fc00001);
    cr_expect_eq(one_lane(EM_v_min_f32, 0, 0x80000000, 0), 0x80000000);
    cr_expect_eq(one_lane(EM_v_max_f32, 0x80000000, 0, 0), 0);
    cr_expect_eq(one_lane(EM_v_med3_f32, 0x40000000, one, 0x40400000), 0x40000000);
    cr_expect_eq(one_lane(EM_v_mul_legacy_f32, 0x80000000, 0x7fc00000, 0), 0);
    /* 1 + 2^-11 + 2^-24: one rounding is up, two are to even. */
    cr_expect_eq(one_lane(EM_v_fma_f16, 0x1000, 0x1000, 0x3c00), 0x3c00);
    cr_expect_eq(one_lane(EM_v_fma_f16, 0x3c01, 0x3c01, 0x0001), 0x3c02);
    cr_expect_eq(one_lane(EM_v_fma_f16, 0x3c20, 0x3c10, 0x0001), 0x3c31);
    cr_expect_eq(one_lane(EM_v_pk_fma_f16, 0x3c004000, 0x40004200, 0x3c003c00),
                 0x42004700); /* 1 * 2 + 1, 2 * 3 + 1 */
    cr_expect_eq(one_lane(EM_v_fma_f64, 0x3ff0000000000001, 0x3ff0000000000001,
                          0xbff0000000000002),
                 0x3970000000000000); /* 2^-104 */
}
