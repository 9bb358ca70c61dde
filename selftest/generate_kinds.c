/* Enumerates what can be changed in an instruction. A change is made in the decoded
 * instruction, encoded, and decoded again: it is kept only where that gives what was
 * meant, in no more dwords than before. */
#include "selftest/generate_kinds.h"

#include "emulator/exec/mfma.h"
#include "emulator/isa/encode.h"
#include "selftest/generate_ops.h"

#include <string.h>

#define NOP UINT32_C(0xbf800000)

static uint16_t wait_of(uint16_t simm, unsigned vm, unsigned lgkm)
{
    return (uint16_t)((simm & 0x30F0U) | (vm & 15U) | (vm >> 4) << 14 | lgkm << 8);
}

/* One instruction and what is to be told of it. */
struct site {
    const struct em_code *code;
    const struct em_op *op;
    const struct gen_limits *limits;
    gen_emit_fn emit;
    void *ctx;
};

/* Bytes that comparing must not look at: decoders leave none, but padding is. */
static bool same(const struct em_inst *a, const struct em_inst *b)
{
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    return memcmp(a, b, sizeof(*a)) == 0;
}

static void take_type(struct em_operand *to, const struct em_operand *from)
{
    to->dwords = from->dwords;
    to->type = from->type;
}

/* Another operation may take its operands for something else; the registers stay. */
static void take_types(struct em_inst *to, const struct em_inst *from)
{
    if (to->op != from->op) {
        return;
    }
    take_type(&to->dst, &from->dst);
    take_type(&to->sdst, &from->sdst);
    for (unsigned i = 0; i < 4; i++) {
        take_type(&to->src[i], &from->src[i]);
    }
}

static void give(const struct site *s, enum gen_kind kind, const struct em_inst *in)
{
    struct gen_change c = { .at = s->op->index, .kind = (uint8_t)kind };
    struct em_inst again;
    uint32_t words[2] = { 0, NOP };
    size_t count = 0;
    unsigned room = s->op->in.bytes / 4;
    if (!em_encode(in, words, &count) || count > room || same(in, &s->op->in)) {
        return;
    }
    if (em_decode(words, count, &again) != EM_DECODED) {
        return;
    }
    struct em_inst meant = *in;
    meant.bytes = again.bytes;
    take_types(&meant, &again);
    if (!same(&again, &meant)) {
        return;
    }
    c.words = (uint8_t)room;
    c.word[0] = words[0];
    c.word[1] = count == 2 ? words[1] : NOP;
    s->emit(s->ctx, &c);
}

static void give_nothing(const struct site *s, enum gen_kind kind)
{
    struct gen_change c = { .at = s->op->index,
                            .kind = (uint8_t)kind,
                            .words = (uint8_t)(s->op->in.bytes / 4),
                            .word = { NOP, NOP, NOP, NOP } };
    s->emit(s->ctx, &c);
}

/* --- waits and barriers --- */

static void change_wait(const struct site *s)
{
    const struct em_inst *in = &s->op->in;
    unsigned vm = gen_wait_vm(in->simm16);
    unsigned lgkm = gen_wait_lgkm(in->simm16);
    give_nothing(s, GEN_WAIT_DROPPED);
    struct em_inst m = *in;
    if (vm < 63) {
        m.simm16 = wait_of(in->simm16, vm + 1, lgkm);
        give(s, GEN_WAIT_WEAKENED, &m);
    }
    if (lgkm < 15) {
        m.simm16 = wait_of(in->simm16, vm, lgkm + 1);
        give(s, GEN_WAIT_WEAKENED, &m);
    }
    if (vm < 63 && lgkm < 15) {
        m.simm16 = wait_of(in->simm16, 63, lgkm);
        give(s, GEN_WAIT_WEAKENED, &m);
        m.simm16 = wait_of(in->simm16, vm, 15);
        give(s, GEN_WAIT_WEAKENED, &m);
    }
}

/* --- constants --- */

static bool is_float(uint8_t type)
{
    return type == EM_F16 || type == EM_F32 || type == EM_F64 || type == EM_PF16 ||
           type == EM_PF32;
}

/* Bits of a literal. Of a number: its sign, exponent and first digits; what a lower
 * digit changes lies inside an op's own rounding. */
static void change_literal(const struct site *s, uint8_t type)
{
    static const uint8_t infinity[] = { 30, 31 };
    static const uint8_t number[] = { 21, 22, 23, 24, 30, 31 };
    static const uint8_t bits[] = { 0, 1, 2, 3, 4, 6, 8, 11, 12, 13, 15, 16, 24, 31 };
    const uint8_t *at = is_float(type) ? number : bits;
    size_t n = is_float(type) ? sizeof(number) : sizeof(bits);
    if ((s->op->in.literal & UINT32_C(0x7fffffff)) == UINT32_C(0x7f800000)) {
        at = infinity; /* any other bit makes a NaN of it, which a maximum ignores */
        n = sizeof(infinity);
    }
    for (size_t i = 0; i < n; i++) {
        struct em_inst m = s->op->in;
        m.literal ^= UINT32_C(1) << at[i];
        give(s, GEN_IMMEDIATE, &m);
    }
}

enum {
    INT_MINUS_1 = EM_INT_0 + 65,
    FLOAT_ONE = EM_FLOAT_HALF + 2
};

/* 0 and -1 in a pair: no lane, all lanes. */
static bool is_mask(const struct em_inst *in)
{
    return in->op == EM_s_mov_b64 || in->op == EM_s_cselect_b64;
}

/* Whether the register holds a number or a whole one is not said. */
static bool copies_to_lanes(const struct em_inst *in)
{
    return in->op == EM_v_mov_b32 || in->op == EM_v_cndmask_b32 ||
           in->op == EM_v_accvgpr_write_b32;
}

static void change_inline(const struct site *s, unsigned source)
{
    static const int step[] = { 1, -1, 2, 4, 16 };
    unsigned code = s->op->in.src[source].code;
    bool number = code >= EM_FLOAT_HALF;
    bool zero = code == EM_INT_0;
    struct em_inst other = s->op->in;
    if (is_mask(&s->op->in) && (zero || code == INT_MINUS_1)) {
        other.src[source].code = zero ? INT_MINUS_1 : EM_INT_0;
        give(s, GEN_IMMEDIATE, &other);
        return;
    }
    if (!number && (is_float(s->op->in.src[source].type) ||
                    (zero && copies_to_lanes(&s->op->in)))) {
        other.src[source].code = FLOAT_ONE; /* 1 as bits: the least denormal */
        give(s, GEN_IMMEDIATE, &other);
        other.src[source].code = INT_MINUS_1; /* a NaN; -1 in a whole number */
        give(s, GEN_IMMEDIATE, &other);
        return;
    }
    for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
        struct em_inst m = s->op->in;
        int to = (int)code + step[i];
        bool stays = number ? to >= EM_FLOAT_HALF && to <= EM_FLOAT_INV_2PI
                            : to >= EM_INT_0 && to <= EM_INT_0 + 80;
        m.src[source].code = (uint16_t)to;
        if (stays) {
            give(s, GEN_IMMEDIATE, &m);
        }
    }
}

static void change_constants(const struct site *s)
{
    const struct em_inst *in = &s->op->in;
    bool once = false;
    for (unsigned i = 0; i < 4; i++) {
        unsigned code = in->src[i].code;
        if (code == EM_LITERAL && !once) {
            change_literal(s, in->src[i].type);
            once = true;
        }
        if (code >= EM_INT_0 && code <= EM_FLOAT_INV_2PI && code != EM_SHARED_BASE) {
            change_inline(s, i);
        }
    }
    if (in->encoding == EM_SOPK) {
        static const uint16_t bit[] = { 1, 2, 4, 16, 64, 256, 1024, 4096, 0x8000 };
        for (size_t i = 0; i < sizeof(bit) / sizeof(bit[0]); i++) {
            struct em_inst m = *in;
            m.simm16 ^= bit[i];
            give(s, GEN_IMMEDIATE, &m);
        }
    }
}

static bool is_memory(const struct em_inst *in)
{
    return in->encoding == EM_SMEM || in->encoding >= EM_DS;
}

static void change_offset(const struct site *s)
{
    static const uint16_t bit[] = { 1, 2, 4, 8, 16, 32, 64, 256, 1024, 2048 };
    const struct em_inst *in = &s->op->in;
    for (size_t i = 0; i < sizeof(bit) / sizeof(bit[0]); i++) {
        struct em_inst m = *in;
        if (in->encoding == EM_SMEM && bit[i] < 4) {
            continue; /* the device ignores these bits */
        }
        m.offset ^= bit[i];
        give(s, GEN_OFFSET, &m);
    }
}

/* --- registers --- */

static unsigned end_of_file(const struct gen_limits *l, unsigned code)
{
    if (code >= EM_AGPR0) {
        return EM_AGPR0 + l->agprs;
    }
    return code >= EM_VGPR0 ? EM_VGPR0 + l->vgprs : l->sgprs;
}

static unsigned start_of_file(unsigned code)
{
    return code >= EM_AGPR0 ? EM_AGPR0 : code >= EM_VGPR0 ? EM_VGPR0 : EM_SGPR0;
}

static bool can_move(const struct site *s, struct em_operand o, int by)
{
    bool general = o.code < EM_FLAT_SCRATCH || em_is_vector(o.code);
    int to = (int)o.code + by;
    return general && o.dwords > 0 && to >= (int)start_of_file(o.code) &&
           (unsigned)to + o.dwords <= end_of_file(s->limits, o.code);
}

static bool is_buffer(const struct em_inst *in)
{
    return in->encoding == EM_MUBUF || in->encoding == EM_MTBUF;
}

/* By one, by the operand's alignment, and by its own size. */
static void move_operand(const struct site *s, struct em_inst *m, struct em_operand *o)
{
    bool descriptor = is_buffer(m) && o >= &m->src[2];
    const struct em_operand was = *o;
    const int steps[] = { 1, -1, 2, -2, was.dwords, -was.dwords };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        bool again = i >= 2 &&
                     (steps[i] == steps[i - 2] || (i >= 4 && steps[i] == steps[i - 4]));
        o->code = (uint16_t)(was.code + steps[i]);
        if (!again && can_move(s, was, steps[i])) {
            give(s, descriptor ? GEN_DESCRIPTOR : GEN_REGISTER, m);
        }
    }
    *o = was;
}

static void change_registers(const struct site *s)
{
    struct em_inst m = s->op->in;
    for (unsigned i = 0; i < 4; i++) {
        move_operand(s, &m, &m.src[i]);
    }
    move_operand(s, &m, &m.dst);
    move_operand(s, &m, &m.sdst);
}

/* The order says which of 0 and -0, or of two NaN, is taken. */
static bool chooses_number(const struct em_inst *in)
{
    return in->op == EM_v_max_f32 || in->op == EM_v_min_f32 ||
           in->op == EM_v_max3_f32 || in->op == EM_v_min3_f32;
}

static void exchange_operands(const struct site *s)
{
    struct em_inst m = s->op->in;
    struct em_operand first = m.src[0];
    if (is_memory(&m) || m.src[1].code == EM_NONE || m.encoding == EM_SOPK ||
        chooses_number(&m)) {
        return;
    }
    m.src[0] = m.src[1];
    m.src[1] = first;
    uint8_t type = m.src[0].type;
    m.src[0].type = m.src[1].type;
    m.src[1].type = type;
    give(s, GEN_EXCHANGED, &m);
}

/* --- operations --- */

static void change_operation(const struct site *s)
{
    uint16_t to[GEN_OTHERS_MAX];
    size_t n = gen_other_operations(s->op->in.op, to);
    for (size_t i = 0; i < n; i++) {
        struct em_inst m = s->op->in;
        m.op = to[i];
        give(s, GEN_OPCODE, &m);
    }
    n = gen_other_conditions(s->op->in.op, to);
    for (size_t i = 0; i < n; i++) {
        struct em_inst m = s->op->in;
        m.op = to[i];
        give(s, GEN_CONDITION, &m);
    }
    n = gen_other_exec(s->op->in.op, to);
    for (size_t i = 0; i < n; i++) {
        struct em_inst m = s->op->in;
        m.op = to[i];
        give(s, GEN_EXEC, &m);
    }
}

/* A branch on EXEC saves time: where EXEC is 0, vector instructions do nothing. Only
 * one that decides whether a loop goes on decides more. */
static bool only_saves_time(const struct em_inst *in)
{
    return in->op == EM_s_cbranch_execnz && in->offset >= 0;
}

static void change_branch(const struct site *s)
{
    uint16_t to[GEN_OTHERS_MAX];
    size_t n = gen_other_branches(s->op->in.op, to);
    if (only_saves_time(&s->op->in)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct em_inst m = s->op->in;
        m.op = to[i];
        give(s, GEN_BRANCH, &m);
    }
    if (n > 0 && s->op->in.op != EM_s_cbranch_execz) {
        give_nothing(s, GEN_BRANCH);
    }
}

/* Lanes that come back and are at once masked again: mostly with a mask that is part of
 * the one before (the next row of a tile), which makes the way back no different. */
static bool narrows_again(const struct site *s)
{
    const struct em_op *next = em_code_at(s->code, s->op->next);
    for (unsigned i = 0; i < 64 && next->class != EM_CLASS_BRANCH; i++) {
        if (next->in.op == EM_s_and_saveexec_b64) {
            return true;
        }
        next = em_code_at(s->code, next->next);
    }
    return false;
}

static bool writes_exec(const struct em_inst *in)
{
    return in->encoding <= EM_SOP1 && in->dst.code == EM_EXEC;
}

/* What writes EXEC is left out. */
static void change_exec(const struct site *s)
{
    const struct em_inst *in = &s->op->in;
    if (writes_exec(in) && !narrows_again(s)) {
        give_nothing(s, GEN_EXEC);
    }
}

/* --- memory, matrices, modifiers --- */

static void drop_memory(const struct site *s)
{
    const struct em_inst *in = &s->op->in;
    const char *name = em_op_info((enum em_opcode)in->op)->name;
    if (strstr(name, "store") || strstr(name, "ds_write")) {
        give_nothing(s, GEN_STORE_DROPPED);
    } else if (strstr(name, "load") || strstr(name, "ds_read")) {
        give_nothing(s, GEN_LOAD_DROPPED);
    }
}

/* The product is computed twice: the next instruction, if it is as long and a product
 * too, becomes the same one. */
static void double_matrix(const struct site *s)
{
    const struct em_op *next = em_code_at(s->code, s->op->next);
    for (unsigned i = 0; i < 6 && next->class != EM_CLASS_BRANCH; i++) {
        if (next->in.op == s->op->in.op && !same(&next->in, &s->op->in)) {
            struct site there = *s;
            there.op = next;
            give(&there, GEN_MATRIX_DOUBLED, &s->op->in);
            return;
        }
        next = em_code_at(s->code, next->next);
    }
}

static bool is_matrix(const struct em_inst *in)
{
    return strncmp(em_op_info((enum em_opcode)in->op)->name, "v_mfma", 6) == 0;
}

static bool takes_blgp(const struct site *s)
{
    size_t n;
    const struct em_mfma_shape *shape = em_mfma_shapes(&n);
    for (size_t i = 0; i < n; i++) {
        if (shape[i].op == s->op->in.op) {
            return shape[i].flags & (EM_MFMA_BLGP | EM_MFMA_NEG);
        }
    }
    return false;
}

static void change_matrix(const struct site *s)
{
    give_nothing(s, GEN_MATRIX_DROPPED);
    double_matrix(s);
    for (unsigned i = 0; i < 3 && takes_blgp(s); i++) {
        struct em_inst m = s->op->in;
        m.blgp ^= (uint8_t)(1U << i);
        give(s, GEN_MODIFIER, &m);
    }
}

/* Of 0, and of what is compared with 0 for being equal. */
static bool sign_is_nothing(const struct site *s, unsigned i)
{
    const struct em_inst *in = &s->op->in;
    bool zero[2] = { in->src[0].code == EM_INT_0, in->src[1].code == EM_INT_0 };
    bool equal = in->op == EM_v_cmp_eq_f32 || in->op == EM_v_cmp_neq_f32;
    return in->src[i].code == EM_INT_0 || (equal && (zero[0] || zero[1]));
}

/* Steps that choose scales and special cases of a quotient: signs go in and out again.
 */
static bool is_division_step(const struct em_inst *in)
{
    return in->op == EM_v_div_scale_f32 || in->op == EM_v_div_fmas_f32 ||
           in->op == EM_v_div_fixup_f32;
}

/* Modifiers are arithmetic of floating point; of whole numbers they say what happens at
 * an overflow, or nothing. */
static void change_modifiers(const struct site *s)
{
    if (is_division_step(&s->op->in)) {
        return;
    }
    if (!is_float(s->op->in.dst.type) && !is_float(s->op->in.src[0].type)) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        struct em_inst m = s->op->in;
        if (m.src[i].code == EM_NONE) {
            break;
        }
        if (sign_is_nothing(s, i)) {
            continue;
        }
        m.neg ^= (uint8_t)(1U << i);
        give(s, GEN_MODIFIER, &m);
        m = s->op->in;
        m.abs ^= (uint8_t)(1U << i);
        if (m.src[i].code < EM_INT_0 || em_is_vector(m.src[i].code)) {
            give(s, GEN_MODIFIER, &m); /* constants are written as they are meant */
        }
        m = s->op->in;
        m.op_sel ^= (uint8_t)(1U << i);
        give(s, GEN_LANES, &m);
        m = s->op->in;
        m.op_sel_hi ^= (uint8_t)(1U << i);
        give(s, GEN_LANES, &m);
    }
    if (s->op->in.dst.type == EM_MASK) {
        return; /* clamp: whether NaN raises an exception */
    }
    struct em_inst m = s->op->in;
    m.clamp = !m.clamp;
    give(s, GEN_MODIFIER, &m);
}

static void change_parts(const struct site *s)
{
    static const uint16_t bit[] = { 1, 2, 4, 8 };
    for (size_t i = 0; i < 4; i++) {
        struct em_inst m = s->op->in;
        m.dpp_ctrl ^= bit[i];
        give(s, GEN_LANES, &m);
        m = s->op->in;
        m.row_mask ^= (uint8_t)bit[i];
        give(s, GEN_LANES, &m);
        m = s->op->in;
        m.dst_sel ^= (uint8_t)bit[i];
        give(s, GEN_LANES, &m);
        m = s->op->in;
        m.src_sel[0] ^= (uint8_t)bit[i];
        give(s, GEN_LANES, &m);
        m = s->op->in;
        m.src_sel[1] ^= (uint8_t)bit[i];
        give(s, GEN_LANES, &m);
    }
}

static void change_memory(const struct site *s)
{
    change_offset(s);
    drop_memory(s);
    if (is_buffer(&s->op->in)) {
        struct em_inst m = s->op->in;
        m.offen = !m.offen;
        m.src[0].code = m.offen ? m.src[0].code : EM_NONE;
        give(s, GEN_DESCRIPTOR, &m);
    }
}

static void change_any(const struct site *s)
{
    if (writes_exec(&s->op->in)) {
        change_exec(s);
        return;
    }
    change_constants(s);
    change_registers(s);
    exchange_operands(s);
    change_operation(s);
    change_branch(s);
    change_exec(s);
}

void gen_enumerate(const struct em_code *code,
                   uint32_t at,
                   const struct gen_limits *limits,
                   gen_emit_fn emit,
                   void *ctx)
{
    struct site s = { .code = code,
                      .op = em_code_at(code, at),
                      .limits = limits,
                      .emit = emit,
                      .ctx = ctx };
    const struct em_inst *in = &s.op->in;
    if (gen_is_hint(in) || in->op == EM_s_endpgm) {
        return;
    }
    if (in->op == EM_s_waitcnt) {
        change_wait(&s);
        return;
    }
    if (in->op == EM_s_barrier) {
        give_nothing(&s, GEN_BARRIER_DROPPED);
        return;
    }
    change_any(&s);
    if (is_memory(in)) {
        change_memory(&s);
    } else if (is_matrix(in)) {
        change_matrix(&s);
    } else if (in->encoding >= EM_VOP1) {
        change_modifiers(&s);
        if (in->extra != EM_PLAIN) {
            change_parts(&s);
        }
    }
}
