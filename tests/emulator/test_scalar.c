/* Scalar instructions against the reference: every operation that computes, random and
 * edge operands, registers and constants; and which results count as written. */
#include "emulator/check/shadow.h"
#include "emulator/exec/scalar_internal.h"
#include "emulator/launch/group.h"
#include "scalar_reference.h"
#include "tests/emulator/valu_case.h"

#include <criterion/criterion.h>

enum {
    ROUNDS = 2000,
    FIRST = 10, /* registers of the operands */
    SECOND = 20,
    TARGET = 30
};

static unsigned width(const struct em_inst *in, unsigned i)
{
    return em_type_dwords((enum em_type)in->src[i].type);
}

static uint64_t read_dwords(const struct em_wave *w, unsigned code, unsigned dwords)
{
    return dwords == 2 ? em_s64(w, code) : w->s[code];
}

/* An operation of the tables that the reference knows, ready to be given operands. */
static bool scalar_inst(enum em_opcode op, struct em_inst *ret)
{
    static const enum em_encoding encodings[] = { EM_SOP2, EM_SOP1, EM_SOPC, EM_SOPK };
    struct scalar_case c = { 0 };
    struct scalar_result r;
    if (!scalar_reference(op, &c, &r)) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        if (em_number(op, encodings[i]) >= 0) {
            *ret = case_inst(op, encodings[i]);
        }
    }
    if (ret->encoding == EM_SOP2 && em_number(op, EM_SOPK) >= 0) {
        ret->encoding = EM_SOPK;
    }
    return true;
}

static void give_operands(struct em_inst *in)
{
    if (in->dst.type != EM_NO) {
        case_dst(in, TARGET);
    }
    if (in->src[0].type != EM_NO) {
        case_src(in, 0, FIRST);
    }
    if (in->src[1].type != EM_NO) {
        case_src(in, 1, SECOND);
    }
}

/* Equal operands are rare among random ones. */
static void give_values(struct em_wave *w, struct em_inst *in, uint64_t *state)
{
    case_fill(w, 0, state);
    w->s[TARGET + 1] = case_value(state);
    w->scc = (uint32_t)(case_random(state) >> 63);
    in->simm16 = (uint16_t)case_value(state);
    em_set_s64(w, EM_EXEC, case_exec(state));
    if (case_random(state) >> 61 == 0) {
        w->s[SECOND] = w->s[FIRST];
        w->s[SECOND + 1] = w->s[FIRST + 1];
    }
    if (case_random(state) >> 61 == 0) {
        w->s[FIRST] = (uint32_t)(int16_t)in->simm16;
    }
}

static void check_case(struct em_wave *w, const struct em_inst *in)
{
    struct em_op op;
    em_bind(in, &op);
    unsigned target = in->dst.dwords;
    struct scalar_case c = {
        .a = in->src[0].dwords ? read_dwords(w, FIRST, width(in, 0)) : 0,
        .b = in->src[1].dwords ? read_dwords(w, SECOND, width(in, 1)) : 0,
        .old = target ? read_dwords(w, TARGET, target) : 0,
        .exec = em_exec(w),
        .scc = w->scc,
        .constant = in->simm16,
    };
    struct scalar_result want;
    uint32_t before[EM_SCALARS];
    memcpy(before, w->s, sizeof(before));
    cr_assert(scalar_reference((enum em_opcode)in->op, &c, &want));
    cr_assert_eq(op.run(w, &op), EM_GO);
    const char *name = em_op_info((enum em_opcode)in->op)->name;
    if (want.writes) {
        cr_assert_eq(read_dwords(w, TARGET, target), want.d,
                     "%s %llx %llx (old %llx scc %u k %x): %llx, not %llx", name,
                     (unsigned long long)c.a, (unsigned long long)c.b,
                     (unsigned long long)c.old, c.scc, c.constant,
                     (unsigned long long)read_dwords(w, TARGET, target),
                     (unsigned long long)want.d);
    }
    cr_assert_eq(w->scc, want.scc, "%s %llx %llx: SCC", name, (unsigned long long)c.a,
                 (unsigned long long)c.b);
    cr_assert_eq(em_exec(w), want.exec, "%s %llx: EXEC", name, (unsigned long long)c.a);
    memcpy(&before[TARGET], &w->s[TARGET], target * sizeof(before[0]));
    em_set_s64(w, EM_EXEC, 0);
    before[EM_EXEC] = before[EM_EXEC + 1] = 0;
    cr_assert_arr_eq(before, w->s, sizeof(before), "%s changes another register", name);
}

Test(scalar, every_operation_agrees_with_the_reference)
{
    struct em_wave *w = em_wave_create();
    cr_assert(w);
    uint64_t state = 0x5ca1a5;
    for (unsigned i = 0; i < EM_OPCODES; i++) {
        struct em_inst in;
        if (!scalar_inst((enum em_opcode)i, &in)) {
            continue;
        }
        give_operands(&in);
        for (unsigned round = 0; round < ROUNDS; round++) {
            give_values(w, &in, &state);
            check_case(w, &in);
        }
    }
    em_wave_destroy(w);
}

static void expect_reference(const struct em_scalar_row *rows)
{
    for (; rows->run; rows++) {
        struct scalar_case c = { 0 };
        struct scalar_result r;
        const char *name = em_op_info((enum em_opcode)rows->op)->name;
        cr_expect(strncmp(name, "s_movrel", 8) == 0 ||
                      scalar_reference((enum em_opcode)rows->op, &c, &r),
                  "%s", name);
    }
}

Test(scalar, the_reference_knows_all_that_computes)
{
    expect_reference(em_scalar_math);
    expect_reference(em_scalar_bits);
}

/* All but those of state, branches and memory, which have tests of their own. */
Test(scalar, every_encoded_operation_is_implemented)
{
    for (unsigned i = 0; i < EM_OPCODES; i++) {
        const char *name = em_op_info((enum em_opcode)i)->name;
        bool scalar = false;
        for (unsigned e = EM_SOP2; e <= EM_SMEM; e++) {
            scalar = scalar || em_number((enum em_opcode)i, (enum em_encoding)e) >= 0;
        }
        if (!scalar || name[0] != 's' || strncmp(name, "s_rfe", 5) == 0 ||
            strncmp(name, "s_scratch", 9) == 0) {
            continue;
        }
        struct em_inst in = case_inst((enum em_opcode)i, EM_SOP1);
        struct em_op op = { .in = in };
        cr_expect(em_bind_scalar(&op), "%s", name);
    }
}

/* --- operands --- */

static uint32_t constant32(uint16_t code, uint8_t type, uint32_t literal)
{
    struct em_wave *w = em_wave_create();
    struct em_inst in = { .literal = literal };
    struct em_operand o = { .code = code, .dwords = 1, .type = type };
    uint32_t value = em_scalar32(w, &in, o);
    em_wave_destroy(w);
    return value;
}

static uint64_t constant64(uint16_t code, uint8_t type, uint32_t literal)
{
    struct em_wave *w = em_wave_create();
    struct em_inst in = { .literal = literal };
    struct em_operand o = { .code = code, .dwords = 2, .type = type };
    uint64_t value = em_scalar64(w, &in, o);
    em_wave_destroy(w);
    return value;
}

Test(scalar, integers_are_sign_extended)
{
    for (unsigned i = 0; i <= 64; i++) {
        cr_expect_eq(constant32((uint16_t)(128 + i), EM_B32, 0), i);
        cr_expect_eq(constant64((uint16_t)(128 + i), EM_B64, 0), i);
    }
    for (unsigned i = 1; i <= 16; i++) {
        cr_expect_eq(constant32((uint16_t)(192 + i), EM_B32, 0), 0 - i);
        cr_expect_eq(constant64((uint16_t)(192 + i), EM_B64, 0), 0 - (uint64_t)i);
    }
}

Test(scalar, floats_have_the_bits_of_their_type)
{
    static const double values[] = {
        0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532
    };
    static const uint16_t halves[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                       0xc000, 0x4400, 0xc400, 0x3118 };
    for (unsigned i = 0; i < 9; i++) {
        float f = (float)values[i];
        uint32_t bits32;
        uint64_t bits64;
        memcpy(&bits32, &f, 4);
        memcpy(&bits64, &values[i], 8);
        uint16_t code = (uint16_t)(240 + i);
        cr_expect_eq(constant32(code, EM_F32, 0), bits32);
        cr_expect_eq(constant32(code, EM_B32, 0), bits32);
        cr_expect_eq(constant32(code, EM_F16, 0), halves[i]);
        cr_expect_eq(constant64(code, EM_F64, 0), bits64);
        cr_expect_eq(constant64(code, EM_B64, 0), bits64);
    }
}

Test(scalar, literals_extend_as_their_type_says)
{
    cr_expect_eq(constant32(EM_LITERAL, EM_B32, 0x89abcdef), 0x89abcdef);
    cr_expect_eq(constant64(EM_LITERAL, EM_B64, 0x89abcdef), 0x89abcdef);
    cr_expect_eq(constant64(EM_LITERAL, EM_I64, 0x89abcdef), 0xffffffff89abcdef);
    cr_expect_eq(constant64(EM_LITERAL, EM_F64, 0x3ff00000), 0x3ff0000000000000);
}

Test(scalar, apertures_are_in_the_high_dword)
{
    cr_expect_eq(constant64(EM_SHARED_BASE, EM_B64, 0), 0x0001000000000000);
    cr_expect_eq(constant64(EM_SHARED_LIMIT, EM_B64, 0), 0x00010000ffffffff);
    cr_expect_eq(constant64(EM_PRIVATE_BASE, EM_B64, 0), 0x0002000000000000);
    cr_expect_eq(constant64(EM_PRIVATE_LIMIT, EM_B64, 0), 0x00020000ffffffff);
}

Test(scalar, conditions_read_as_bits)
{
    struct em_wave *w = em_wave_create();
    struct em_inst in = { 0 };
    struct em_operand vccz = { EM_VCCZ, 1, EM_B32 }, execz = { EM_EXECZ, 1, EM_B32 };
    struct em_operand scc = { EM_SCC, 1, EM_B32 };
    em_set_s64(w, EM_VCC, 0);
    cr_expect_eq(em_scalar32(w, &in, vccz), 1);
    em_set_s64(w, EM_VCC, UINT64_C(1) << 63);
    cr_expect_eq(em_scalar32(w, &in, vccz), 0);
    cr_expect_eq(em_scalar32(w, &in, execz), 0);
    em_set_s64(w, EM_EXEC, 0);
    cr_expect_eq(em_scalar32(w, &in, execz), 1);
    w->scc = 1;
    cr_expect_eq(em_scalar32(w, &in, scc), 1);
    /* As a source of an instruction, too. */
    struct em_inst mov = case_inst(EM_s_mov_b32, EM_SOP1);
    case_dst(&mov, TARGET);
    case_src(&mov, 0, EM_SCC);
    struct em_op op;
    em_bind(&mov, &op);
    cr_expect_eq(op.run(w, &op), EM_GO);
    cr_expect_eq(w->s[TARGET], 1);
    em_wave_destroy(w);
}

Test(scalar, trap_registers_read_0_and_keep_nothing)
{
    struct em_wave *w = em_wave_create();
    struct em_inst mov = case_inst(EM_s_mov_b32, EM_SOP1);
    case_dst(&mov, EM_TTMP0 + 3);
    case_src(&mov, 0, EM_INT_0 + 5);
    struct em_op op;
    em_bind(&mov, &op);
    cr_expect_eq(op.run(w, &op), EM_GO);
    cr_expect_eq(w->s[EM_TTMP0 + 3], 0);
    em_wave_destroy(w);
}

/* --- written or not --- */

struct shadowed {
    struct em_wave *w;
    struct em_group group;
};

static void shadowed_init(struct shadowed *s)
{
    memset(s, 0, sizeof(*s));
    s->w = em_wave_create();
    s->w->shadow = em_shadow_create();
    s->w->group = &s->group;
    em_shadow_set_scalar(s->w->shadow, EM_EXEC, 2, true);
}

static void shadowed_fini(struct shadowed *s)
{
    em_shadow_destroy(s->w->shadow);
    em_wave_destroy(s->w);
}

static enum em_flow run_on(struct em_wave *w,
                           enum em_opcode opcode,
                           uint16_t dst,
                           uint16_t a,
                           uint16_t b)
{
    const struct em_op_info *info = em_op_info(opcode);
    struct em_inst in = case_inst(opcode, info->src[1] == EM_NO ? EM_SOP1 : EM_SOP2);
    if (info->dst != EM_NO) {
        case_dst(&in, dst);
    }
    case_src(&in, 0, a);
    if (info->src[1] != EM_NO) {
        case_src(&in, 1, b);
    }
    struct em_op op;
    em_bind(&in, &op);
    return op.run(w, &op);
}

static bool written(const struct em_wave *w, uint16_t code)
{
    struct em_operand o = { .code = code, .dwords = 1, .type = EM_B32 };
    return em_shadow_get(w->shadow, o) != 0;
}

Test(scalar, results_are_written_where_all_sources_were)
{
    struct shadowed s;
    shadowed_init(&s);
    em_shadow_set_scalar(s.w->shadow, 1, 1, true);
    cr_expect_eq(run_on(s.w, EM_s_add_u32, 10, 1, EM_INT_0 + 1), EM_GO);
    cr_expect(written(s.w, 10));
    cr_expect(s.w->shadow->scc);
    cr_expect_eq(run_on(s.w, EM_s_add_u32, 11, 1, 2), EM_GO);
    cr_expect_not(written(s.w, 11));
    cr_expect_not(s.w->shadow->scc);
    /* s_addc reads the SCC that was made of nothing. */
    cr_expect_eq(run_on(s.w, EM_s_addc_u32, 10, 1, 1), EM_GO);
    cr_expect_not(written(s.w, 10));
    cr_expect_eq(run_on(s.w, EM_s_mov_b32, 10, EM_INT_0, 0), EM_GO);
    cr_expect(written(s.w, 10));
    shadowed_fini(&s);
}

Test(scalar, lane_masks_may_be_merged_with_an_undefined_one)
{
    struct shadowed s;
    shadowed_init(&s);
    em_shadow_set_scalar(s.w->shadow, 2, 2, true);
    cr_expect_eq(run_on(s.w, EM_s_or_b64, 10, 2, 4), EM_GO);
    cr_expect(written(s.w, 10));
    cr_expect_eq(run_on(s.w, EM_s_and_b64, 10, 2, 4), EM_GO);
    cr_expect_not(written(s.w, 10));
    /* EXEC is a written one too. */
    cr_expect_eq(run_on(s.w, EM_s_or_b64, 10, 4, EM_EXEC), EM_GO);
    cr_expect(written(s.w, 10));
    cr_expect_eq(run_on(s.w, EM_s_andn2_b64, 12, 4, EM_EXEC), EM_GO);
    cr_expect_not(written(s.w, 12));
    cr_expect_eq(run_on(s.w, EM_s_or_b64, 12, EM_EXEC, 12), EM_GO);
    cr_expect(written(s.w, 12));
    shadowed_fini(&s);
}

Test(scalar, exec_made_of_an_unwritten_value_is_a_fault)
{
    struct shadowed s;
    shadowed_init(&s);
    cr_expect_eq(run_on(s.w, EM_s_and_saveexec_b64, 10, 4, 0), EM_FAULTED);
    cr_expect_eq(s.group.fault.kind, EM_FAULT_UNINITIALISED);
    shadowed_fini(&s);
    shadowed_init(&s);
    cr_expect_eq(run_on(s.w, EM_s_mov_b64, EM_EXEC, 4, 0), EM_FAULTED);
    cr_expect_eq(s.group.fault.kind, EM_FAULT_UNINITIALISED);
    shadowed_fini(&s);
    shadowed_init(&s);
    em_shadow_set_scalar(s.w->shadow, 4, 2, true);
    cr_expect_eq(run_on(s.w, EM_s_mov_b64, EM_EXEC, 4, 0), EM_GO);
    shadowed_fini(&s);
}

/* --- registers by index --- */

Test(scalar, movrel_adds_m0)
{
    struct em_wave *w = em_wave_create();
    struct em_group group = { 0 };
    w->group = &group;
    w->s[EM_M0] = 5;
    w->s[25] = 77;
    cr_expect_eq(run_on(w, EM_s_movrels_b32, 3, 20, 0), EM_GO);
    cr_expect_eq(w->s[3], 77);
    cr_expect_eq(run_on(w, EM_s_movreld_b32, 40, 3, 0), EM_GO);
    cr_expect_eq(w->s[45], 77);
    w->sgprs = 32;
    cr_expect_eq(run_on(w, EM_s_movrels_b32, 3, 27, 0), EM_FAULTED);
    cr_expect_eq(group.fault.kind, EM_FAULT_BAD_REGISTER);
    em_wave_destroy(w);
}
