/* Which lanes of a result count as written: those of which everything that they are
 * made of was written. A half or a byte that is written stands for its whole register:
 * code that fills a register by halves starts with one that nothing wrote. */
#include "emulator/check/shadow.h"
#include "emulator/exec/valu_run.h"

#define ALL UINT64_C(0xffffffffffffffff)

/* Results of two dwords that are not made of all of the sources: compilers leave the
 * other dword of a pair unwritten. */
enum halves {
    HALVES_JOINED,
    HALVES_UPWARDS, /* the low one is made of low ones: sums, products, left shifts */
    HALVES_APART,   /* each is made of its own */
    HALVES_PACKED   /* each is made of those that op_sel, op_sel_hi name */
};

static enum halves halves_of(const struct em_inst *in)
{
    switch (in->op) {
    case EM_v_mad_u64_u32:
    case EM_v_mad_i64_i32:
    case EM_v_lshl_add_u64:
    case EM_v_lshlrev_b64:
        return HALVES_UPWARDS;
    case EM_v_mov_b64:
        return HALVES_APART;
    default:
        return in->dst.type == EM_PF32 || in->dst.type == EM_PB32 ? HALVES_PACKED
                                                                  : HALVES_JOINED;
    }
}

/* Lanes of which the result's dword `half` counts as written. */
static uint64_t half_written(const struct em_wave *w,
                             const struct em_inst *in,
                             unsigned sources,
                             unsigned half)
{
    enum halves halves = halves_of(in);
    uint64_t written = ALL;
    for (unsigned i = 0; i < sources; i++) {
        struct em_operand o = in->src[i];
        if (!em_is_vector(o.code) && o.code >= EM_SCALARS) {
            continue;
        }
        if (halves == HALVES_PACKED && o.type == EM_PB32) {
            if (i != half) {
                continue; /* v_pk_mov_b32 */
            }
            o.code = (uint16_t)(o.code + (in->op_sel >> i & 1));
        } else if (halves == HALVES_PACKED && o.dwords == 2) {
            unsigned sel = half ? in->op_sel_hi : in->op_sel;
            o.code = (uint16_t)(o.code + (sel >> i & 1));
        } else if (halves == HALVES_APART) {
            o.code = (uint16_t)(o.code + half);
        } else if (half == 1) {
            written &= em_shadow_get(w->shadow, o);
            continue;
        }
        o.dwords = 1;
        written &= em_shadow_get(w->shadow, o);
    }
    return written;
}

static void set_halves(const struct em_wave *w,
                       const struct em_inst *in,
                       unsigned sources,
                       uint64_t lanes)
{
    uint64_t written[2] = { half_written(w, in, sources, 0),
                            half_written(w, in, sources, 1) };
    for (unsigned half = 0; half < 2; half++) {
        struct em_operand o = { (uint16_t)(in->dst.code + half), 1, EM_B32 };
        em_shadow_set(w->shadow, o, lanes, written[half]);
    }
}

static uint64_t source_written(const struct em_wave *w,
                               const struct em_inst *in,
                               unsigned i)
{
    uint64_t written = em_shadow_get(w->shadow, in->src[i]);
    if (in->extra == EM_DPP && i == 0) {
        uint64_t valid = em_dpp_lanes(in->dpp_ctrl, em_exec(w));
        written = em_dpp_lanes(in->dpp_ctrl, written) | ~valid;
    }
    return written;
}

/* Vectors of bytes and halves that code fills piece by piece, and that start with
 * registers that nothing wrote: a register put together of two is written where one of
 * them was. Not for a constant mask of v_bfi_b32 (copysign). */
static uint64_t joined_written(const struct em_wave *w, const struct em_inst *in)
{
    uint64_t first = source_written(w, in, 0);
    uint64_t second = source_written(w, in, 1);
    switch (in->op) {
    case EM_v_pack_b32_f16:
        return first | second;
    case EM_v_perm_b32:
        return (first | second) & source_written(w, in, 2);
    default:
        return first & (second | source_written(w, in, 2));
    }
}

static bool joins(const struct em_inst *in)
{
    uint16_t first = in->src[0].code;
    return in->op == EM_v_perm_b32 || in->op == EM_v_pack_b32_f16 ||
           (in->op == EM_v_bfi_b32 && (em_is_vector(first) || first < EM_SCALARS));
}

static uint64_t result_written(const struct em_wave *w,
                               const struct em_inst *in,
                               const struct em_valu_plan *plan)
{
    if (plan->same) {
        return ALL;
    }
    uint64_t written = ALL;
    if (plan->mask_use) {
        written = em_shadow_get_mask(w->shadow, plan->mask_code);
    }
    if (plan->mask_use == EM_MASK_SELECT) {
        uint64_t chosen = em_s64(w, plan->mask_code);
        return written & ((source_written(w, in, 0) & ~chosen) |
                          (source_written(w, in, 1) & chosen));
    }
    if (joins(in)) {
        return joined_written(w, in);
    }
    for (unsigned i = 0; i < plan->sources; i++) {
        written &= source_written(w, in, i);
    }
    return written;
}

/* The first source that has an unwritten lane. */
static enum em_flow report_exec(struct em_wave *w,
                                const struct em_op *op,
                                const struct em_valu_plan *plan,
                                uint64_t lanes)
{
    for (unsigned i = 0; i < plan->sources; i++) {
        if (lanes & ~em_shadow_get(w->shadow, op->in.src[i])) {
            return em_shadow_use(w, op, op->in.src[i], lanes, "EXEC mask");
        }
    }
    return EM_GO;
}

enum em_flow em_valu_shadow(struct em_wave *w, const struct em_op *op, uint64_t lanes)
{
    const struct em_inst *in = &op->in;
    struct em_valu_plan plan = em_valu_plan_of(op);
    uint64_t written = result_written(w, in, &plan);
    bool all = !(lanes & ~written);
    if (in->dst.type == EM_MASK) {
        if (plan.cmpx && !all) {
            return report_exec(w, op, &plan, lanes);
        }
        em_shadow_set_mask(w->shadow, in->dst.code, written | ~lanes);
        return EM_GO;
    }
    if (!all && in->dst.dwords == 2 && in->extra == EM_PLAIN &&
        halves_of(in) != HALVES_JOINED) {
        set_halves(w, in, plan.sources, lanes);
    } else {
        em_shadow_set(w->shadow, in->dst, lanes, written);
    }
    /* Last: the mask may be one of the sources. */
    if (plan.mask_out) {
        em_shadow_set_mask(w->shadow, in->sdst.code, written | ~lanes);
    }
    return EM_GO;
}
