/* Changes that the values which can come there do not tell from the instruction.
 *
 * Nothing is run: each rule is an identity (a + b = a | b where no bit is set in both),
 * and its condition holds for the known bits of the sources. */
#include "selftest/generate_values.h"

#include "core/buf.h"
#include "emulator/exec/scalar_internal.h"

#include <string.h>

struct pair {
    const struct gen_state *s;
    const struct em_inst *was, *now;
};

static bool is_one_of(uint16_t op, const uint16_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == op) {
            return true;
        }
    }
    return false;
}
#define IS(op, ...)                                    \
    is_one_of((op), (const uint16_t[]){ __VA_ARGS__ }, \
              sizeof((uint16_t[]){ __VA_ARGS__ }) / sizeof(uint16_t))

static struct gen_bits source(const struct pair *p, unsigned i)
{
    return gen_source(p->s, p->was, i, 0);
}

static bool same_operand(struct em_operand a, struct em_operand b)
{
    return a.code == b.code;
}

static bool same_operands(const struct pair *p)
{
    for (unsigned i = 0; i < 4; i++) {
        if (!same_operand(p->was->src[i], p->now->src[i])) {
            return false;
        }
    }
    return same_operand(p->was->dst, p->now->dst) &&
           same_operand(p->was->sdst, p->now->sdst) &&
           p->was->literal == p->now->literal && p->was->simm16 == p->now->simm16;
}

/* --- the result is a constant, and the same --- */

static bool same_constants(const struct pair *p)
{
    unsigned halves = p->was->dst.dwords;
    if (!same_operand(p->was->dst, p->now->dst) || halves == 0 || halves > 2 ||
        p->now->dst.dwords != halves || p->was->sdst.code != EM_NONE) {
        return false;
    }
    for (unsigned half = 0; half < halves; half++) {
        struct gen_bits a = gen_result(p->s, p->was, half);
        struct gen_bits b = gen_result(p->s, p->now, half);
        if (!gen_is_constant(a) || !gen_is_constant(b) || a.one != b.one) {
            return false;
        }
    }
    return true;
}

/* --- one operation in the place of another --- */

#define SUMS        EM_s_add_u32, EM_s_add_i32, EM_v_add_u32
#define ORS         EM_s_or_b32, EM_v_or_b32, EM_s_xor_b32, EM_v_xor_b32
#define SHIFT_RIGHT EM_s_ashr_i32, EM_s_lshr_b32, EM_v_ashrrev_i32, EM_v_lshrrev_b32

static bool swaps(const struct pair *p, uint16_t a, uint16_t b)
{
    return (p->was->op == a && p->now->op == b) || (p->was->op == b && p->now->op == a);
}

static bool same_operation(const struct pair *p)
{
    uint16_t was = p->was->op;
    uint16_t now = p->now->op;
    if (!same_operands(p) || p->was->clamp != p->now->clamp) {
        return false;
    }
    if (IS(was, SUMS, ORS) && IS(now, SUMS, ORS)) {
        return gen_apart(source(p, 0), source(p, 1));
    }
    if (IS(was, SHIFT_RIGHT) && IS(now, SHIFT_RIGHT)) {
        bool reversed = p->was->encoding >= EM_VOP1;
        return source(p, reversed ? 1 : 0).zero >> 31;
    }
    if (swaps(p, EM_s_add_i32, EM_s_sub_i32) || swaps(p, EM_v_add_u32, EM_v_sub_u32) ||
        swaps(p, EM_s_add_u32, EM_s_sub_u32)) {
        return gen_most(source(p, 1)) == 0;
    }
    if (swaps(p, EM_v_mad_u64_u32, EM_v_mad_i64_i32)) {
        return source(p, 0).zero >> 31 && source(p, 1).zero >> 31;
    }
    if (swaps(p, EM_v_add3_u32, EM_v_or3_b32)) {
        struct gen_bits sum = gen_or(source(p, 0), source(p, 1));
        return gen_apart(source(p, 0), source(p, 1)) && gen_apart(sum, source(p, 2));
    }
    if (swaps(p, EM_s_abs_i32, EM_s_mov_b32)) {
        return source(p, 0).zero >> 31;
    }
    return false;
}

/* --- another constant --- */

static bool same_mask(const struct pair *p)
{
    unsigned changed = 2;
    for (unsigned i = 0; i < 2; i++) {
        bool here =
            !same_operand(p->was->src[i], p->now->src[i]) ||
            (p->was->src[i].code == EM_LITERAL && p->was->literal != p->now->literal);
        if (here && changed < 2) {
            return false;
        }
        changed = here ? i : changed;
    }
    if (changed == 2 || p->was->op != p->now->op || p->was->dst.dwords != 1) {
        return false;
    }
    struct gen_bits a = gen_source(p->s, p->was, changed, 0);
    struct gen_bits b = gen_source(p->s, p->now, changed, 0);
    struct gen_bits other = gen_source(p->s, p->was, 1 - changed, 0);
    if (!gen_is_constant(a) || !gen_is_constant(b) ||
        !same_operand(p->was->dst, p->now->dst)) {
        return false;
    }
    uint32_t differ = a.one ^ b.one;
    if (IS(p->was->op, EM_s_and_b32, EM_v_and_b32)) {
        return (differ & ~other.zero) == 0;
    }
    return IS(p->was->op, EM_s_or_b32, EM_v_or_b32) && (differ & ~other.one) == 0;
}

/* --- how far a shift goes --- */

/* Bits of the constant that the shift looks at; 0: no shift. */
static uint32_t shift_bits(uint16_t op, unsigned i)
{
    if (IS(op, EM_s_lshl_b32, EM_s_lshr_b32, EM_s_ashr_i32)) {
        return i == 1 ? 31 : 0;
    }
    if (IS(op, EM_v_lshlrev_b32, EM_v_lshrrev_b32, EM_v_ashrrev_i32)) {
        return i == 0 ? 31 : 0;
    }
    if (IS(op, EM_s_lshl_b64, EM_s_lshr_b64, EM_s_ashr_i64)) {
        return i == 1 ? 63 : 0;
    }
    if (IS(op, EM_v_lshlrev_b64, EM_v_lshrrev_b64)) {
        return i == 0 ? 63 : 0;
    }
    if (IS(op, EM_v_lshl_add_u32, EM_v_lshl_or_b32)) {
        return i == 1 ? 31 : 0;
    }
    return op == EM_v_lshl_add_u64 && i == 1 ? 7 : 0;
}

/* Where a bit field begins and how long it is: the other bits are not looked at. */
static uint32_t field_bits(uint16_t op)
{
    if (IS(op, EM_s_bfe_u32, EM_s_bfe_i32)) {
        return UINT32_C(0x7f001f);
    }
    return IS(op, EM_s_bfe_u64, EM_s_bfe_i64) ? UINT32_C(0x7f003f) : 0;
}

static bool same_field(const struct pair *p)
{
    struct em_inst now = *p->now;
    uint32_t bits = field_bits(now.op);
    if (p->was->src[1].code != EM_LITERAL || p->was->src[0].code == EM_LITERAL ||
        bits == 0 || ((now.literal ^ p->was->literal) & bits) != 0) {
        return false;
    }
    now.literal = p->was->literal;
    /* decoders leave no padding unset */
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    return memcmp(&now, p->was, sizeof(now)) == 0;
}

static bool same_shift(const struct pair *p)
{
    struct em_inst now = *p->now;
    for (unsigned i = 0; i < 2 && p->was->op == now.op; i++) {
        uint32_t bits = shift_bits(now.op, i);
        struct gen_bits a = gen_source(p->s, p->was, i, 0);
        struct gen_bits b = gen_source(p->s, p->now, i, 0);
        if (bits && gen_is_constant(a) && gen_is_constant(b) &&
            ((a.one ^ b.one) & bits) == 0) {
            now.src[i] = p->was->src[i];
            now.literal = p->was->literal;
            /* decoders leave no padding unset */
            /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
            return memcmp(&now, p->was, sizeof(now)) == 0;
        }
    }
    return false;
}

/* --- compares --- */

enum {
    LESS = 1,
    EQUAL = 2,
    GREATER = 4
};

static uint64_t pair_of(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* In which order the two sources can be. Signed numbers only where both are not
 * negative, so that the order is the unsigned one. */
static unsigned orders(const struct pair *p, bool is_signed)
{
    uint64_t least[2];
    uint64_t most[2];
    bool wide = p->was->src[0].dwords == 2;
    for (unsigned i = 0; i < 2; i++) {
        struct gen_bits low = gen_source(p->s, p->was, i, 0);
        struct gen_bits high = wide ? gen_source(p->s, p->was, i, 1) : gen_constant(0);
        if (is_signed && !((wide ? high.zero : low.zero) >> 31)) {
            return LESS | EQUAL | GREATER;
        }
        least[i] = pair_of(gen_least(low), gen_least(high));
        most[i] = pair_of(gen_most(low), gen_most(high));
    }
    unsigned r = least[0] < most[1] ? LESS : 0;
    r |= most[0] > least[1] ? GREATER : 0;
    r |= least[0] <= most[1] && least[1] <= most[0] ? EQUAL : 0;
    return r;
}

/* "v_cmp_lt_u32", "s_cmpk_lg_i32": for which orders it is true; false: no compare of
 * whole numbers. */
static bool condition_of(uint16_t op, unsigned *ret, char *ret_type)
{
    static const struct {
        const char *name;
        unsigned orders;
    } conditions[] = { { "lt_", LESS },          { "le_", LESS | EQUAL },
                       { "gt_", GREATER },       { "ge_", GREATER | EQUAL },
                       { "eq_", EQUAL },         { "ne_", LESS | GREATER },
                       { "lg_", LESS | GREATER } };
    const char *name = em_op_info((enum em_opcode)op)->name;
    const char *at = strstr(name, "_cmp_");
    for (size_t i = 0; at && i < 7; i++) {
        if (strncmp(at + 5, conditions[i].name, 3) == 0) {
            *ret = conditions[i].orders;
            *ret_type = at[8];
            return *ret_type == 'i' || *ret_type == 'u';
        }
    }
    return false;
}

static bool same_condition(const struct pair *p)
{
    unsigned was;
    unsigned now;
    char type[2];
    if (!same_operands(p) || !condition_of(p->was->op, &was, &type[0]) ||
        !condition_of(p->now->op, &now, &type[1])) {
        return false;
    }
    /* equal or not is the same for both kinds */
    bool is_signed = type[0] == 'i' || type[1] == 'i';
    unsigned possible = orders(p, is_signed);
    return (was & possible) == (now & possible) && possible != 0 &&
           (type[0] == type[1] || possible != (LESS | EQUAL | GREATER));
}

/* --- bits that the operation does not look at --- */

/* v_fma_mix*: op_sel chooses a half where op_sel_hi says that the source is one of 16
 * bits; it is not looked at where the source is a whole register. */
static bool same_mix(const struct pair *p)
{
    struct em_inst now = *p->now;
    if (!IS(p->was->op, EM_v_fma_mix_f32, EM_v_fma_mixlo_f16, EM_v_fma_mixhi_f16)) {
        return false;
    }
    uint8_t free_bits = (uint8_t)(~now.op_sel_hi & 7);
    now.op_sel = (uint8_t)((now.op_sel & ~free_bits) | (p->was->op_sel & free_bits));
    /* decoders leave no padding unset */
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    return memcmp(&now, p->was, sizeof(now)) == 0;
}

/* The absolute value of what is not negative. */
static bool same_absolute(const struct pair *p)
{
    struct em_inst now = *p->now;
    struct em_inst plain = *p->was;
    plain.neg = plain.abs = 0;
    if (now.abs == p->was->abs) {
        return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        bool differs = (now.abs ^ p->was->abs) >> i & 1;
        if (differs && (p->was->src[i].dwords != 1 ||
                        !(gen_source(p->s, &plain, i, 0).zero >> 31))) {
            return false;
        }
    }
    now.abs = p->was->abs;
    /* decoders leave no padding unset */
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    return memcmp(&now, p->was, sizeof(now)) == 0;
}

/* A carry and "not zero" in SCC are not the same; the result of one operation is. */
static bool flag_differs(const struct em_inst *was,
                         const struct em_op *now,
                         const struct gen_node *n)
{
    bool written = gen_set_has(&n->use.written, EM_SCC) || (now->flags & EM_WRITES_SCC);
    bool logic[2] = {
        IS(was->op, EM_s_add_u32, EM_s_add_i32, EM_s_sub_u32, EM_s_sub_i32),
        IS(now->in.op, EM_s_add_u32, EM_s_add_i32, EM_s_sub_u32, EM_s_sub_i32)
    };
    bool scalar = was->encoding <= EM_SOPC;
    return scalar && written && (logic[0] || logic[1]) && gen_set_has(&n->live, EM_SCC);
}

bool gen_values_same(struct gen_values *v, size_t node, const struct em_op *now)
{
    const struct gen_node *n = gen_values_node(v, node);
    if (now->in.encoding == EM_SOPP && now->in.op != EM_s_nop) {
        return false;
    }
    struct pair p = { .s = gen_values_at(v, node), .was = &n->op->in, .now = &now->in };
    if (flag_differs(p.was, now, n)) {
        return false;
    }
    return same_constants(&p) || same_operation(&p) || same_mask(&p) ||
           same_condition(&p) || same_mix(&p) || same_shift(&p) || same_field(&p) ||
           same_absolute(&p);
}
