/* Vector integers, bits and comparisons: every operation against the reference of
 * single lanes, with edge values, carries, partial EXEC and overlapping registers; and
 * constants worked out by hand. */
#include "emulator/exec/valu.h"
#include "tests/emulator/valu_case.h"
#include "tests/emulator/valu_int_reference.h"

#include <criterion/criterion.h>

enum {
    ROWS = 12,
    ROUNDS = 24
};

static struct em_wave *wave;

static void make_wave(void)
{
    wave = em_wave_create();
    cr_assert_not_null(wave);
}

static void drop_wave(void)
{
    em_wave_destroy(wave);
}

TestSuite(valu_int, .init = make_wave, .fini = drop_wave);

static bool starts(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static enum em_encoding encoding_of(enum em_opcode op)
{
    const char *name = em_op_info(op)->name;
    bool packed = starts(name, "v_pk_") ||
                  (starts(name, "v_dot") && name[6] != 'c'); /* v_dot2c_ is VOP2 */
    return packed ? EM_VOP3P : EM_VOP3;
}

static bool is_carry(enum em_opcode op, bool in)
{
    switch ((unsigned)op) {
    case EM_v_addc_co_u32:
    case EM_v_subb_co_u32:
    case EM_v_subbrev_co_u32:
        return true;
    case EM_v_cndmask_b32:
        return in;
    case EM_v_add_co_u32:
    case EM_v_sub_co_u32:
    case EM_v_subrev_co_u32:
    case EM_v_mad_u64_u32:
    case EM_v_mad_i64_i32:
        return !in;
    default:
        return false;
    }
}

static bool accumulates(enum em_opcode op)
{
    return op == EM_v_dot2c_i32_i16 || op == EM_v_dot4c_i32_i8 ||
           op == EM_v_dot8c_i32_i4;
}

static unsigned source_count(enum em_opcode op)
{
    const struct em_op_info *info = em_op_info(op);
    unsigned n = info->src[0] == EM_NO ? 0 : info->src[1] == EM_NO ? 1 : 2;
    n += info->src[2] != EM_NO;
    return is_carry(op, true) && n > 2 ? 2 : n;
}

/* A register anywhere in the few that the test uses (so that they overlap), a scalar,
 * or a constant. Only one scalar register: the hardware has one port for them. */
static uint16_t random_source(uint64_t *state, bool vector, bool wide)
{
    uint64_t random = case_random(state);
    if (vector || random % 4 < 2) {
        return vgpr((unsigned)(random >> 8) % (ROWS - wide));
    }
    if (random % 4 == 2) {
        return (uint16_t)(EM_SGPR0 + (random >> 8) % 15 * 2);
    }
    return (uint16_t)(EM_INT_0 + (random >> 8) % 81); /* 0..64, -1..-16 */
}

static struct em_inst random_inst(enum em_opcode op, uint64_t *state)
{
    struct em_inst in = case_inst(op, encoding_of(op));
    bool mask = in.dst.type == EM_MASK;
    bool wide = em_type_dwords((enum em_type)in.dst.type) == 2;
    case_dst(&in, mask ? (uint16_t)(EM_SGPR0 + 32)
                       : vgpr((unsigned)case_random(state) % (ROWS - wide)));
    for (unsigned i = 0; i < source_count(op); i++) {
        bool source_wide = em_type_dwords((enum em_type)in.src[i].type) == 2;
        case_src(&in, i, random_source(state, i > 0 && accumulates(op), source_wide));
    }
    if (is_carry(op, true)) {
        in.src[2].code = EM_NONE;
        case_mask(&in, case_random(state) % 2 ? EM_VCC : EM_SGPR0 + 34);
    }
    if (is_carry(op, false)) {
        case_sdst(&in, case_random(state) % 2 ? EM_VCC : EM_SGPR0 + 36);
    }
    in.clamp = case_random(state) % 3 == 0;
    return in;
}

/* What source i is in a lane before the instruction runs. */
static uint64_t lane_source(const struct em_wave *w,
                            const struct em_inst *in,
                            unsigned i,
                            unsigned lane)
{
    struct em_operand o = in->src[i];
    bool accumulator = i == 2 && accumulates((enum em_opcode)in->op);
    if (accumulator) {
        o = in->dst;
    }
    if (o.code == EM_NONE) {
        return 0;
    }
    uint64_t value;
    if (em_is_vector(o.code)) {
        unsigned row = o.code - EM_VGPR0;
        value = o.dwords == 2 ? case_pair(w, row, lane) : w->v[row * EM_LANES + lane];
    } else if (o.code < EM_SCALARS) {
        value = w->s[o.code] | (o.dwords == 2 ? (uint64_t)w->s[o.code + 1] << 32 : 0);
    } else {
        int32_t n =
            o.code <= EM_INT_0 + 64 ? o.code - EM_INT_0 : EM_INT_0 + 64 - o.code;
        bool pair = o.type == EM_PB32 || o.type == EM_PF32;
        uint64_t low = (uint32_t)n;
        value = o.dwords != 2 ? low : pair ? low | low << 32 : (uint64_t)(int64_t)n;
    }
    return in->op == EM_v_pk_mov_b32 ? value & 0xffffffff : value;
}

/* The bits of the destination that are not the instruction's. */
static uint64_t kept_bits(const struct em_inst *in)
{
    switch (in->op) {
    case EM_v_mad_u16:
    case EM_v_mad_i16:
    case EM_v_min3_i16:
    case EM_v_max3_i16:
    case EM_v_med3_i16:
    case EM_v_min3_u16:
    case EM_v_max3_u16:
    case EM_v_med3_u16:
    case EM_v_add_i16:
    case EM_v_sub_i16:
        return 0xffff0000;
    default:
        return 0;
    }
}

struct expected {
    uint64_t d[EM_LANES];
    uint64_t mask;
};

static void expect(const struct em_wave *w,
                   const struct em_inst *in,
                   struct expected *ret)
{
    uint64_t exec = em_exec(w);
    uint64_t carry = in->src[3].code == EM_NONE ? 0 : em_s64(w, in->src[3].code);
    ret->mask = 0;
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        struct lane_in x = { .mask = carry >> lane & 1,
                             .clamp = in->clamp,
                             .flush_f32 = !(w->mode & 0x10),
                             .flush_f64_f16 = !(w->mode & 0x40),
                             .lane = lane };
        for (unsigned i = 0; i < 3; i++) {
            x.s[i] = lane_source(w, in, i, lane);
        }
        struct lane_out out;
        cr_assert(reference_lane((enum em_opcode)in->op, &x, &out));
        ret->mask |= (uint64_t)out.mask << lane;
        if (!em_is_vector(in->dst.code)) {
            continue;
        }
        unsigned row = in->dst.code - EM_VGPR0;
        uint64_t old =
            in->dst.dwords == 2 ? case_pair(w, row, lane) : w->v[row * EM_LANES + lane];
        uint64_t kept = kept_bits(in);
        ret->d[lane] = exec >> lane & 1 ? (out.d & ~kept) | (old & kept) : old;
    }
    ret->mask &= exec;
}

static void check(const struct em_wave *w,
                  const struct em_inst *in,
                  const struct expected *expected,
                  uint64_t exec)
{
    const char *name = em_op_info((enum em_opcode)in->op)->name;
    for (unsigned lane = 0; lane < EM_LANES && em_is_vector(in->dst.code); lane++) {
        unsigned row = in->dst.code - EM_VGPR0;
        uint64_t got =
            in->dst.dwords == 2 ? case_pair(w, row, lane) : w->v[row * EM_LANES + lane];
        cr_assert_eq(got, expected->d[lane],
                     "%s lane %u (EXEC %016lx, clamp %d, operands %u <- %u %u %u): "
                     "%016lx, not %016lx",
                     name, lane, (unsigned long)exec, in->clamp, in->dst.code,
                     in->src[0].code, in->src[1].code, in->src[2].code,
                     (unsigned long)got, (unsigned long)expected->d[lane]);
    }
    uint16_t mask = in->dst.type == EM_MASK ? in->dst.code : in->sdst.code;
    if (mask != EM_NONE) {
        cr_assert_eq(em_s64(w, mask), expected->mask, "%s mask: %016lx, not %016lx",
                     name, (unsigned long)em_s64(w, mask),
                     (unsigned long)expected->mask);
    }
    bool cmpx = starts(name, "v_cmpx_");
    cr_assert_eq(em_exec(w), cmpx ? expected->mask : exec, "%s: EXEC", name);
}

static void run_rounds(enum em_opcode op, uint64_t *state)
{
    static const uint32_t modes[] = { 0xf0, 0xf0, 0x00, 0x30, 0xc0 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        case_fill(wave, ROWS, state);
        em_set_s64(wave, 34, case_random(state));
        uint64_t exec = case_exec(state);
        em_set_s64(wave, EM_EXEC, exec);
        wave->mode = modes[round % 5];
        struct em_op bound = { .in = random_inst(op, state) };
        struct expected expected;
        expect(wave, &bound.in, &expected);
        cr_assert(em_bind_valu(&bound), "%s is not implemented", em_op_info(op)->name);
        cr_assert_eq(bound.class, EM_CLASS_VALU);
        cr_assert_eq(bound.run(wave, &bound), EM_GO);
        check(wave, &bound.in, &expected, exec);
    }
}

static void run_table(const struct em_valu_row *rows)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    for (const struct em_valu_row *row = rows; row->fn; row++) {
        run_rounds((enum em_opcode)row->op, &state);
    }
}

Test(valu_int, integers_and_bits_equal_the_reference)
{
    run_table(em_valu_int);
}

Test(valu_int, integers_of_64_bits_equal_the_reference)
{
    run_table(em_valu_int64);
}

Test(valu_int, short_and_packed_integers_equal_the_reference)
{
    run_table(em_valu_int16);
}

Test(valu_int, comparisons_equal_the_reference)
{
    run_table(em_valu_compare);
}

/* Every operation that the reference knows is implemented, and none twice. */
Test(valu_int, tables_hold_all_integer_operations)
{
    static const struct em_valu_row *const tables[] = { em_valu_int, em_valu_int64,
                                                        em_valu_int16,
                                                        em_valu_compare };
    for (unsigned op = 0; op < EM_OPCODES; op++) {
        const char *name = em_op_info((enum em_opcode)op)->name;
        struct lane_in in = { .lane = 0 };
        struct lane_out out;
        unsigned rows = 0;
        for (unsigned t = 0; t < 4; t++) {
            for (const struct em_valu_row *row = tables[t]; row->fn; row++) {
                rows += row->op == op;
            }
        }
        bool known =
            starts(name, "v_") && reference_lane((enum em_opcode)op, &in, &out);
        cr_assert_eq(rows, known, "%s: %u rows", name, rows);
    }
}

/* One instruction on lane 0: sources in v0 (and v1), v2 (v3), v4 (v5); result in v6. */
static uint64_t one(enum em_opcode op, uint64_t x, uint64_t y, uint64_t z, bool clamp)
{
    struct em_op bound = { .in = case_inst(op, encoding_of(op)) };
    uint64_t values[3] = { x, y, z };
    case_dst(&bound.in, vgpr(6));
    for (unsigned i = 0; i < source_count(op); i++) {
        case_src(&bound.in, i, vgpr(2 * i));
        wave->v[(2 * i) * EM_LANES] = (uint32_t)values[i];
        wave->v[(2 * i + 1) * EM_LANES] = (uint32_t)(values[i] >> 32);
    }
    if (is_carry(op, true)) {
        case_mask(&bound.in, EM_VCC);
    }
    if (is_carry(op, false)) {
        case_sdst(&bound.in, EM_VCC);
    }
    bound.in.clamp = clamp;
    cr_assert(em_bind_valu(&bound));
    cr_assert_eq(bound.run(wave, &bound), EM_GO);
    return bound.in.dst.dwords == 2 ? case_pair(wave, 6, 0) : wave->v[6 * EM_LANES];
}

Test(valu_int, perm_takes_bytes_signs_and_constants)
{
    /* Bytes 7..0: 11 22 33 84 | 55 66 87 78. */
    uint64_t x = 0x11223384;
    uint64_t y = 0x55668778;
    cr_assert_eq(one(EM_v_perm_b32, x, y, 0x07060504, false), 0x11223384);
    cr_assert_eq(one(EM_v_perm_b32, x, y, 0x00010203, false), 0x78876655);
    cr_assert_eq(one(EM_v_perm_b32, x, y, 0x0b0a0908, false), 0x000000ff);
    cr_assert_eq(one(EM_v_perm_b32, x, y, 0x0c0dff04, false), 0x00ffff84);
    cr_assert_eq(one(EM_v_perm_b32, 0x80008000, 0x80008000, 0x0b0a0908, false),
                 0xffffffff);
}

Test(valu_int, sums_of_absolute_differences)
{
    /* |01-05| + |ff-00| + |80-7f| + |10-20| = 4 + 255 + 1 + 16 = 276. */
    cr_assert_eq(one(EM_v_sad_u8, 0x01ff8010, 0x05007f20, 1000, false), 1276);
    cr_assert_eq(one(EM_v_sad_hi_u8, 0x01ff8010, 0x05007f20, 7, false),
                 (276 << 16) + 7);
    /* The byte whose reference is 0 is left out: 4 + 1 + 16. */
    cr_assert_eq(one(EM_v_msad_u8, 0x01ff8010, 0x05007f20, 0, false), 21);
    cr_assert_eq(one(EM_v_sad_u16, 0x00010010, 0x00050000, 0, false), 4 + 16);
    cr_assert_eq(one(EM_v_sad_u32, 1, 0xffffffff, 0, false), 0xfffffffe);
    cr_assert_eq(one(EM_v_sad_u32, 1, 0xffffffff, 5, true), 0xffffffff);
    cr_assert_eq(one(EM_v_sad_u32, 1, 0xffffffff, 5, false), 3);
    /* Windows 03020100, 04030201, 05040302, 06050403 against zeros. */
    cr_assert_eq(one(EM_v_qsad_pk_u16_u8, 0x0706050403020100, 0, 0, false),
                 UINT64_C(0x0012000e000a0006));
    cr_assert_eq(one(EM_v_mqsad_pk_u16_u8, 0x0706050403020100, 0x01000000,
                     0xfffffffffffffffe, false),
                 UINT64_C(0x0004000300020000));
    cr_assert_eq(one(EM_v_mqsad_pk_u16_u8, 0x0706050403020100, 0x01000000,
                     0xfffffffffffffffe, true),
                 UINT64_C(0xffffffffffffffff) - 0);
}

Test(valu_int, shift_counts_are_taken_modulo_the_width)
{
    cr_assert_eq(one(EM_v_lshlrev_b32, 33, 1, 0, false), 2);
    cr_assert_eq(one(EM_v_lshrrev_b32, 63, 0x80000000, 0, false), 1);
    cr_assert_eq(one(EM_v_ashrrev_i32, 64, 0x80000000, 0, false), 0x80000000);
    cr_assert_eq(one(EM_v_lshlrev_b64, 65, 1, 0, false), 2);
    cr_assert_eq(one(EM_v_ashrrev_i64, 63, UINT64_C(1) << 63, 0, false), UINT64_MAX);
    cr_assert_eq(one(EM_v_lshlrev_b16, 17, 0xffff0001, 0, false), 2);
    cr_assert_eq(one(EM_v_bfe_i32, 0x00000080, 4, 4, false), 0xfffffff8);
    cr_assert_eq(one(EM_v_bfe_i32, 0x80000000, 28, 8, false), 0xfffffff8);
    cr_assert_eq(one(EM_v_bfe_u32, 0xffffffff, 0, 32, false), 0);
    cr_assert_eq(one(EM_v_bfm_b32, 4, 30, 0, false), 0xc0000000);
    cr_assert_eq(one(EM_v_lshl_add_u64, UINT64_C(0x8000000000000001), 4, 1, false),
                 0x11);
}

/* 3 x 2^64 - 1 minus its predecessor, dword by dword through VCC. */
Test(valu_int, carries_run_through_vcc)
{
    static const uint32_t a[3] = { 0xffffffff, 0xffffffff, 2 };
    static const uint32_t b[3] = { 1, 0, 0 };
    static const uint32_t sum[3] = { 0, 0, 3 };
    em_set_s64(wave, EM_VCC, 0);
    for (unsigned i = 0; i < 3; i++) {
        enum em_opcode op = i == 0 ? EM_v_add_co_u32 : EM_v_addc_co_u32;
        cr_assert_eq(one(op, a[i], b[i], 0, false), sum[i]);
        cr_assert_eq(em_s64(wave, EM_VCC) & 1, i < 2);
    }
    for (unsigned i = 0; i < 3; i++) {
        enum em_opcode op = i == 0 ? EM_v_sub_co_u32 : EM_v_subb_co_u32;
        cr_assert_eq(one(op, sum[i], b[i], 0, false), a[i]);
        cr_assert_eq(em_s64(wave, EM_VCC) & 1, i < 2);
    }
    em_set_s64(wave, EM_VCC, 1);
    cr_assert_eq(one(EM_v_subbrev_co_u32, 5, 5, 0, false), 0xffffffff);
    cr_assert_eq(em_s64(wave, EM_VCC) & 1, 1);
    cr_assert_eq(one(EM_v_mad_u64_u32, 0xffffffff, 0xffffffff, UINT64_MAX, false),
                 UINT64_C(0xfffffffe00000000));
    cr_assert_eq(em_s64(wave, EM_VCC) & 1, 1);
}

Test(valu_int, clamp_saturates)
{
    cr_assert_eq(one(EM_v_add_u32, 0xffffffff, 2, 0, true), 0xffffffff);
    cr_assert_eq(one(EM_v_sub_u32, 1, 2, 0, true), 0);
    cr_assert_eq(one(EM_v_add_i32, 0x7fffffff, 1, 0, true), 0x7fffffff);
    cr_assert_eq(one(EM_v_sub_i32, 0x80000000, 1, 0, true), 0x80000000);
    cr_assert_eq(one(EM_v_pk_add_u16, 0xffff0001, 0x00010001, 0, true), 0xffff0002);
    cr_assert_eq(one(EM_v_pk_sub_i16, 0x80000001, 0x00010002, 0, true), 0x8000ffff);
    cr_assert_eq(one(EM_v_dot4_i32_i8, 0x80808080, 0x80808080, 0x7fffffff, true),
                 0x7fffffff);
    cr_assert_eq(one(EM_v_dot4_i32_i8, 0x80808080, 0x80808080, 0x7fffffff, false),
                 0x8000ffff);
    cr_assert_eq(one(EM_v_mad_legacy_u16, 0x100, 0x100, 1, true), 0xffff);
}

Test(valu_int, class_tells_all_ten_classes_apart)
{
    static const uint32_t singles[10] = { 0x7f800001, 0xffc00000, 0xff800000,
                                          0xc0000000, 0x80000001, 0x80000000,
                                          0,          1,          0x3f800000,
                                          0x7f800000 };
    static const uint32_t halves[10] = { 0x7c01, 0xfe00, 0xfc00, 0xc000, 0x8001,
                                         0x8000, 0,      1,      0x3c00, 0x7c00 };
    struct em_op bound[2];
    for (unsigned n = 0; n < 20; n++) {
        for (unsigned lane = 0; lane < 10; lane++) {
            wave->v[lane] = n < 10 ? singles[lane] : halves[lane];
        }
        wave->s[0] = UINT32_C(1) << (n % 10);
        struct em_op *b = &bound[n < 10];
        memset(b, 0, sizeof(*b));
        b->in = case_inst(n < 10 ? EM_v_cmp_class_f32 : EM_v_cmp_class_f16, EM_VOP3);
        case_dst(&b->in, EM_VCC);
        case_src(&b->in, 0, vgpr(0));
        case_src(&b->in, 1, EM_SGPR0);
        cr_assert(em_bind_valu(b));
        cr_assert_eq(b->run(wave, b), EM_GO);
        cr_assert_eq(em_s64(wave, EM_VCC) & 0x3ff, UINT64_C(1) << (n % 10));
    }
}
