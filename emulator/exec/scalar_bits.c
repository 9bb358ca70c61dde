/* Scalar operations of one operand: moves, bits, EXEC saved and replaced, indexed
 * moves. */
#include "emulator/exec/scalar_internal.h"

enum {
    SCC_OUT = EM_WRITES_SCC,
    SCC_IN = EM_READS_SCC
};

/* BODY computes d (and scc) of a; old is what the destination holds. */
#define UNARY(name, D, A, BODY)                                               \
    static enum em_flow run_##name(struct em_wave *w, const struct em_op *op) \
    {                                                                         \
        const uint##A##_t a = em_src##A(w, op, 0);                            \
        uint32_t scc = w->scc;                                                \
        uint##D##_t d;                                                        \
        BODY;                                                                 \
        w->scc = scc;                                                         \
        em_dst##D(w, op, d);                                                  \
        return em_scalar_done(w, op);                                         \
    }

/* The destination is changed, not replaced. */
#define CHANGE(name, D, A, BODY)                                              \
    static enum em_flow run_##name(struct em_wave *w, const struct em_op *op) \
    {                                                                         \
        const uint##A##_t a = em_src##A(w, op, 0);                            \
        uint##D##_t d;                                                        \
        memcpy(&d, &w->s[op->in.dst.code], sizeof(d));                        \
        BODY;                                                                 \
        em_dst##D(w, op, d);                                                  \
        return em_scalar_done(w, op);                                         \
    }

/* EXEC becomes a function of the source and of EXEC, which the destination keeps. */
#define SAVEEXEC(name, EXPRESSION)                                            \
    static enum em_flow run_##name(struct em_wave *w, const struct em_op *op) \
    {                                                                         \
        if (use_mask(w, op) != EM_GO) {                                       \
            return EM_FAULTED;                                                \
        }                                                                     \
        const uint64_t a = em_src64(w, op, 0);                                \
        const uint64_t exec = em_exec(w);                                     \
        const uint64_t next = (EXPRESSION);                                   \
        em_dst64(w, op, exec);                                                \
        em_set_s64(w, EM_EXEC, next);                                         \
        w->scc = next != 0;                                                   \
        return saved(w, op);                                                  \
    }

/* What the destination gets is EXEC, always written; EXEC gets the source. */
static enum em_flow saved(struct em_wave *w, const struct em_op *op)
{
    if (!w->shadow) {
        return EM_GO;
    }
    em_shadow_set_scalar(w->shadow, op->in.dst.code, 2, true);
    w->shadow->scc = true;
    return EM_GO;
}

static enum em_flow use_mask(struct em_wave *w, const struct em_op *op)
{
    return w->shadow ? em_shadow_use(w, op, op->in.src[0], ~UINT64_C(0), "EXEC")
                     : EM_GO;
}

/* Each group of four bits: all ones where any is set. */
static uint64_t whole_quads(uint64_t x)
{
    uint64_t any = (x | x >> 1 | x >> 2 | x >> 3) & 0x1111111111111111;
    return any * 15;
}

/* A bit for each group of four. */
static uint64_t quad_mask(uint64_t x)
{
    uint64_t any = (x | x >> 1 | x >> 2 | x >> 3) & 0x1111111111111111;
    uint64_t ret = 0;
    for (unsigned i = 0; i < 16; i++) {
        ret |= (any >> (4 * i) & 1) << i;
    }
    return ret;
}

static uint64_t reverse(uint64_t x, unsigned bits)
{
    uint64_t ret = 0;
    for (unsigned i = 0; i < bits; i++) {
        ret |= (x >> i & 1) << (bits - 1 - i);
    }
    return ret;
}

static uint64_t each_bit_twice(uint32_t x)
{
    uint64_t ret = 0;
    for (unsigned i = 0; i < 32; i++) {
        ret |= (uint64_t)(x >> i & 1) * 3 << (2 * i);
    }
    return ret;
}

/* Searches give -1 where there is nothing to find. */
static uint32_t lowest_one(uint64_t x)
{
    return x ? (uint32_t)__builtin_ctzll(x) : UINT32_MAX;
}

static uint32_t leading_zeros(uint64_t x, unsigned bits)
{
    return x ? (uint32_t)__builtin_clzll(x) - (64 - bits) : UINT32_MAX;
}

static uint32_t ones(uint64_t x)
{
    return (uint32_t)__builtin_popcountll(x);
}

static uint64_t sign_flipped(int64_t x)
{
    return (uint64_t)(x < 0 ? ~x : x);
}

UNARY(s_mov_b32, 32, 32, d = a)
UNARY(s_mov_b64, 64, 64, d = a)
CHANGE(s_cmov_b32, 32, 32, d = w->scc ? a : d)
CHANGE(s_cmov_b64, 64, 64, d = w->scc ? a : d)
UNARY(s_not_b32, 32, 32, d = ~a; scc = d != 0)
UNARY(s_not_b64, 64, 64, d = ~a; scc = d != 0)
UNARY(s_wqm_b32, 32, 32, d = (uint32_t)whole_quads(a); scc = d != 0)
UNARY(s_wqm_b64, 64, 64, d = whole_quads(a); scc = d != 0)
UNARY(s_brev_b32, 32, 32, d = (uint32_t)reverse(a, 32))
UNARY(s_brev_b64, 64, 64, d = reverse(a, 64))
UNARY(s_bcnt0_i32_b32, 32, 32, d = 32 - ones(a); scc = d != 0)
UNARY(s_bcnt0_i32_b64, 32, 64, d = 64 - ones(a); scc = d != 0)
UNARY(s_bcnt1_i32_b32, 32, 32, d = ones(a); scc = d != 0)
UNARY(s_bcnt1_i32_b64, 32, 64, d = ones(a); scc = d != 0)
UNARY(s_ff0_i32_b32, 32, 32, d = lowest_one((uint32_t)~a))
UNARY(s_ff0_i32_b64, 32, 64, d = lowest_one(~a))
UNARY(s_ff1_i32_b32, 32, 32, d = lowest_one(a))
UNARY(s_ff1_i32_b64, 32, 64, d = lowest_one(a))
UNARY(s_flbit_i32_b32, 32, 32, d = leading_zeros(a, 32))
UNARY(s_flbit_i32_b64, 32, 64, d = leading_zeros(a, 64))
UNARY(s_flbit_i32, 32, 32, d = leading_zeros(sign_flipped((int32_t)a), 32))
UNARY(s_flbit_i32_i64, 32, 64, d = leading_zeros(sign_flipped((int64_t)a), 64))
UNARY(s_sext_i32_i8, 32, 32, d = (uint32_t)(int8_t)a)
UNARY(s_sext_i32_i16, 32, 32, d = (uint32_t)(int16_t)a)
CHANGE(s_bitset0_b32, 32, 32, d &= ~(UINT32_C(1) << (a & 31)))
CHANGE(s_bitset0_b64, 64, 32, d &= ~(UINT64_C(1) << (a & 63)))
CHANGE(s_bitset1_b32, 32, 32, d |= UINT32_C(1) << (a & 31))
CHANGE(s_bitset1_b64, 64, 32, d |= UINT64_C(1) << (a & 63))
UNARY(s_quadmask_b32, 32, 32, d = (uint32_t)quad_mask(a); scc = d != 0)
UNARY(s_quadmask_b64, 64, 64, d = quad_mask(a); scc = d != 0)
UNARY(s_abs_i32, 32, 32, d = (int32_t)a < 0 ? 0 - a : a; scc = d != 0)
UNARY(s_bitreplicate_b64_b32, 64, 32, d = each_bit_twice(a))

SAVEEXEC(s_and_saveexec_b64, a &exec)
SAVEEXEC(s_or_saveexec_b64, a | exec)
SAVEEXEC(s_xor_saveexec_b64, a ^ exec)
SAVEEXEC(s_andn2_saveexec_b64, a & ~exec)
SAVEEXEC(s_orn2_saveexec_b64, a | ~exec)
SAVEEXEC(s_nand_saveexec_b64, ~(a &exec))
SAVEEXEC(s_nor_saveexec_b64, ~(a | exec))
SAVEEXEC(s_xnor_saveexec_b64, ~(a ^ exec))
SAVEEXEC(s_andn1_saveexec_b64, ~a &exec)
SAVEEXEC(s_orn1_saveexec_b64, ~a | exec)

/* As saveexec, but the destination gets the new EXEC. */
static enum em_flow write_exec(struct em_wave *w, const struct em_op *op, uint64_t next)
{
    if (use_mask(w, op) != EM_GO) {
        return EM_FAULTED;
    }
    em_set_s64(w, EM_EXEC, next);
    em_dst64(w, op, next);
    w->scc = next != 0;
    return saved(w, op);
}

static enum em_flow run_s_andn1_wrexec_b64(struct em_wave *w, const struct em_op *op)
{
    return write_exec(w, op, ~em_src64(w, op, 0) & em_exec(w));
}

static enum em_flow run_s_andn2_wrexec_b64(struct em_wave *w, const struct em_op *op)
{
    return write_exec(w, op, em_src64(w, op, 0) & ~em_exec(w));
}

/* The register M0 behind `code`; false (and the fault) where the kernel has none there.
 */
static bool indexed(struct em_wave *w,
                    const struct em_op *op,
                    struct em_operand o,
                    struct em_operand *ret)
{
    static const struct em_operand m0 = { .code = EM_M0, .dwords = 1 };
    if (w->shadow &&
        em_shadow_use(w, op, m0, ~UINT64_C(0), "register index") != EM_GO) {
        return false;
    }
    uint64_t code = (uint64_t)o.code + w->s[EM_M0];
    if (code + o.dwords > w->sgprs) {
        (void)em_fault(w, op, EM_FAULT_BAD_REGISTER, -1, NULL,
                       "s%u + M0 (%u): the kernel allocates %u SGPRs", o.code,
                       w->s[EM_M0], w->sgprs);
        return false;
    }
    *ret = o;
    ret->code = (uint16_t)code;
    return true;
}

static enum em_flow move_indexed(struct em_wave *w,
                                 struct em_operand to,
                                 struct em_operand from)
{
    for (unsigned i = 0; i < to.dwords; i++) {
        w->s[to.code + i] = w->s[from.code + i];
    }
    if (w->shadow) {
        em_shadow_set_scalar(w->shadow, to.code, to.dwords,
                             em_shadow_get(w->shadow, from) != 0);
    }
    return EM_GO;
}

static enum em_flow run_movrels(struct em_wave *w, const struct em_op *op)
{
    struct em_operand from;
    if (!indexed(w, op, op->in.src[0], &from)) {
        return EM_FAULTED;
    }
    return move_indexed(w, op->in.dst, from);
}

static enum em_flow run_movreld(struct em_wave *w, const struct em_op *op)
{
    struct em_operand to;
    if (!indexed(w, op, op->in.dst, &to)) {
        return EM_FAULTED;
    }
    uint64_t value = op->in.dst.dwords == 2 ? em_src64(w, op, 0) : em_src32(w, op, 0);
    memcpy(&w->s[to.code], &value, to.dwords * sizeof(w->s[0]));
    if (w->shadow) {
        em_shadow_set_scalar(w->shadow, to.code, to.dwords,
                             em_shadow_get(w->shadow, op->in.src[0]) != 0);
    }
    return EM_GO;
}

#define ROW(name, flags) { EM_##name, flags, EM_CLASS_SALU, run_##name },
/* clang-format off */
const struct em_scalar_row em_scalar_bits[] = {
    ROW(s_mov_b32, 0) ROW(s_mov_b64, 0)
    ROW(s_cmov_b32, SCC_IN) ROW(s_cmov_b64, SCC_IN)
    ROW(s_not_b32, SCC_OUT) ROW(s_not_b64, SCC_OUT)
    ROW(s_wqm_b32, SCC_OUT) ROW(s_wqm_b64, SCC_OUT)
    ROW(s_brev_b32, 0) ROW(s_brev_b64, 0)
    ROW(s_bcnt0_i32_b32, SCC_OUT) ROW(s_bcnt0_i32_b64, SCC_OUT)
    ROW(s_bcnt1_i32_b32, SCC_OUT) ROW(s_bcnt1_i32_b64, SCC_OUT)
    ROW(s_ff0_i32_b32, 0) ROW(s_ff0_i32_b64, 0)
    ROW(s_ff1_i32_b32, 0) ROW(s_ff1_i32_b64, 0)
    ROW(s_flbit_i32_b32, 0) ROW(s_flbit_i32_b64, 0)
    ROW(s_flbit_i32, 0) ROW(s_flbit_i32_i64, 0)
    ROW(s_sext_i32_i8, 0) ROW(s_sext_i32_i16, 0)
    ROW(s_bitset0_b32, 0) ROW(s_bitset0_b64, 0)
    ROW(s_bitset1_b32, 0) ROW(s_bitset1_b64, 0)
    ROW(s_quadmask_b32, SCC_OUT) ROW(s_quadmask_b64, SCC_OUT)
    ROW(s_abs_i32, SCC_OUT) ROW(s_bitreplicate_b64_b32, 0)
    ROW(s_and_saveexec_b64, 0) ROW(s_or_saveexec_b64, 0)
    ROW(s_xor_saveexec_b64, 0) ROW(s_andn2_saveexec_b64, 0)
    ROW(s_orn2_saveexec_b64, 0) ROW(s_nand_saveexec_b64, 0)
    ROW(s_nor_saveexec_b64, 0) ROW(s_xnor_saveexec_b64, 0)
    ROW(s_andn1_saveexec_b64, 0) ROW(s_orn1_saveexec_b64, 0)
    ROW(s_andn1_wrexec_b64, 0) ROW(s_andn2_wrexec_b64, 0)
    { EM_s_movrels_b32, 0, EM_CLASS_SALU, run_movrels },
    { EM_s_movrels_b64, 0, EM_CLASS_SALU, run_movrels },
    { EM_s_movreld_b32, 0, EM_CLASS_SALU, run_movreld },
    { EM_s_movreld_b64, 0, EM_CLASS_SALU, run_movreld },
    { 0, 0, 0, NULL }
};
/* clang-format on */
