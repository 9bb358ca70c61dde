/* Which lanes of a result count as written: those of which everything that they are
 * made of was written. A half or a byte that is written stands for its whole register:
 * code that fills a register by halves starts with one that nothing wrote. */
#include "emulator/check/shadow.h"
#include "emulator/exec/valu_run.h"

#define ALL UINT64_C(0xffffffffffffffff)

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

static uint64_t result_written(const struct em_wave *w,
                               const struct em_inst *in,
                               const struct em_valu_plan *plan)
{
    if (plan->same) {
        return ALL;
    }
    uint64_t written = ALL;
    if (plan->mask_use) {
        struct em_operand mask = { plan->mask_code, 2, EM_MASK };
        written = em_shadow_get(w->shadow, mask);
    }
    if (plan->mask_use == EM_MASK_SELECT) {
        uint64_t chosen = em_s64(w, plan->mask_code);
        return written & ((source_written(w, in, 0) & ~chosen) |
                          (source_written(w, in, 1) & chosen));
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
    if (plan.mask_out) {
        em_shadow_set_scalar(w->shadow, in->sdst.code, 2, all);
    }
    if (in->dst.type == EM_MASK) {
        if (plan.cmpx && !all) {
            return report_exec(w, op, &plan, lanes);
        }
        em_shadow_set_scalar(w->shadow, in->dst.code, 2, all);
        return EM_GO;
    }
    em_shadow_set(w->shadow, in->dst, lanes, written);
    return EM_GO;
}
