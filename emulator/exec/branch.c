/* Branches, calls, the fork stack, barriers and the end of a wave. */
#include "emulator/exec/code.h"
#include "emulator/exec/scalar_internal.h"

#include <inttypes.h>

static const struct em_operand vcc = { .code = EM_VCC, .dwords = 2, .type = EM_B64 };

static enum em_flow jump_to_index(struct em_wave *w, const struct em_op *op, int64_t i)
{
    if (i < 0 || (uint64_t)i > em_code_count(w->code)) {
        return em_fault(w, op, EM_FAULT_BAD_JUMP, -1, NULL,
                        "branch %" PRId64
                        " dwords from the start of %zu dwords of code",
                        i, em_code_count(w->code));
    }
    w->pc = (uint32_t)i;
    return EM_JUMPED;
}

static enum em_flow jump_relative(struct em_wave *w, const struct em_op *op)
{
    return jump_to_index(w, op, (int64_t)op->next + op->in.offset);
}

static enum em_flow jump_to_address(struct em_wave *w,
                                    const struct em_op *op,
                                    uint64_t address)
{
    uint32_t index;
    if (!em_code_index(w->code, address, &index)) {
        return em_fault(
            w, op, EM_FAULT_BAD_JUMP, -1, &address,
            "jump to 0x%" PRIx64 ", which is no code of this kernel's object", address);
    }
    w->pc = index;
    return EM_JUMPED;
}

static enum em_flow run_branch(struct em_wave *w, const struct em_op *op)
{
    return jump_relative(w, op);
}

static enum em_flow branch_scc(struct em_wave *w, const struct em_op *op, uint32_t when)
{
    if (w->shadow && !w->shadow->scc) {
        static const struct em_operand scc = { .code = EM_SCC, .dwords = 1 };
        return em_shadow_use(w, op, scc, ~UINT64_C(0), "branch condition");
    }
    return w->scc == when ? jump_relative(w, op) : EM_GO;
}

static enum em_flow run_cbranch_scc0(struct em_wave *w, const struct em_op *op)
{
    return branch_scc(w, op, 0);
}

static enum em_flow run_cbranch_scc1(struct em_wave *w, const struct em_op *op)
{
    return branch_scc(w, op, 1);
}

static enum em_flow branch_vcc(struct em_wave *w,
                               const struct em_op *op,
                               bool when_zero)
{
    if (w->shadow &&
        em_shadow_use(w, op, vcc, ~UINT64_C(0), "branch condition") != EM_GO) {
        return EM_FAULTED;
    }
    return (em_s64(w, EM_VCC) == 0) == when_zero ? jump_relative(w, op) : EM_GO;
}

static enum em_flow run_cbranch_vccz(struct em_wave *w, const struct em_op *op)
{
    return branch_vcc(w, op, true);
}

static enum em_flow run_cbranch_vccnz(struct em_wave *w, const struct em_op *op)
{
    return branch_vcc(w, op, false);
}

static enum em_flow run_cbranch_execz(struct em_wave *w, const struct em_op *op)
{
    return em_exec(w) == 0 ? jump_relative(w, op) : EM_GO;
}

static enum em_flow run_cbranch_execnz(struct em_wave *w, const struct em_op *op)
{
    return em_exec(w) != 0 ? jump_relative(w, op) : EM_GO;
}

/* No debugger is attached: its conditions are false. */
static enum em_flow run_never(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    (void)op;
    return EM_GO;
}

static uint64_t next_address(const struct em_wave *w, const struct em_op *op)
{
    return em_code_address(w->code, op->next);
}

static enum em_flow run_getpc(struct em_wave *w, const struct em_op *op)
{
    em_dst64(w, op, next_address(w, op));
    return em_scalar_done(w, op);
}

static enum em_flow use_target(struct em_wave *w,
                               const struct em_op *op,
                               struct em_operand target)
{
    return w->shadow ? em_shadow_use(w, op, target, ~UINT64_C(0), "jump target")
                     : EM_GO;
}

static enum em_flow run_setpc(struct em_wave *w, const struct em_op *op)
{
    if (use_target(w, op, op->in.src[0]) != EM_GO) {
        return EM_FAULTED;
    }
    return jump_to_address(w, op, em_src64(w, op, 0));
}

static enum em_flow run_swappc(struct em_wave *w, const struct em_op *op)
{
    if (use_target(w, op, op->in.src[0]) != EM_GO) {
        return EM_FAULTED;
    }
    uint64_t target = em_src64(w, op, 0);
    em_dst64(w, op, next_address(w, op));
    if (w->shadow) {
        em_shadow_set_scalar(w->shadow, op->in.dst.code, 2, true);
    }
    return jump_to_address(w, op, target);
}

static enum em_flow run_call(struct em_wave *w, const struct em_op *op)
{
    em_dst64(w, op, next_address(w, op));
    if (w->shadow) {
        em_shadow_set_scalar(w->shadow, op->in.dst.code, 2, true);
    }
    return jump_relative(w, op);
}

/* The side with fewer lanes runs first; the other one waits in four SGPRs: its EXEC,
 * then where it goes on. */
static enum em_flow fork_wave(struct em_wave *w,
                              const struct em_op *op,
                              uint64_t mask,
                              uint64_t target)
{
    uint64_t pass = mask & em_exec(w);
    uint64_t fail = ~mask & em_exec(w);
    if (fail == 0) {
        return jump_to_address(w, op, target);
    }
    if (pass == 0) {
        return EM_GO;
    }
    bool fail_first = __builtin_popcountll(fail) < __builtin_popcountll(pass);
    unsigned slot = w->fork_depth * 4;
    if (w->fork_depth >= 7 || slot + 4 > w->sgprs) {
        return em_fault(w, op, EM_FAULT_BAD_REGISTER, -1, NULL,
                        "the stack of s_cbranch_*_fork is full");
    }
    em_set_s64(w, slot, fail_first ? pass : fail);
    em_set_s64(w, slot + 2, fail_first ? target : next_address(w, op));
    if (w->shadow) {
        em_shadow_set_scalar(w->shadow, slot, 4, true);
    }
    w->fork_depth++;
    em_set_s64(w, EM_EXEC, fail_first ? fail : pass);
    return fail_first ? EM_GO : jump_to_address(w, op, target);
}

static enum em_flow run_cbranch_g_fork(struct em_wave *w, const struct em_op *op)
{
    if (use_target(w, op, op->in.src[0]) != EM_GO ||
        use_target(w, op, op->in.src[1]) != EM_GO) {
        return EM_FAULTED;
    }
    return fork_wave(w, op, em_src64(w, op, 0), em_src64(w, op, 1));
}

static enum em_flow run_cbranch_i_fork(struct em_wave *w, const struct em_op *op)
{
    struct em_operand mask = op->in.dst.code != EM_NONE ? op->in.dst : op->in.src[0];
    if (use_target(w, op, mask) != EM_GO) {
        return EM_FAULTED;
    }
    uint64_t target = next_address(w, op) + (uint64_t)((int64_t)op->in.offset * 4);
    return fork_wave(w, op, em_scalar64(w, &op->in, mask), target);
}

static enum em_flow run_cbranch_join(struct em_wave *w, const struct em_op *op)
{
    uint32_t depth = em_src32(w, op, 0);
    if (w->fork_depth == depth) {
        return EM_GO;
    }
    if (w->fork_depth == 0) {
        return em_fault(w, op, EM_FAULT_BAD_JUMP, -1, NULL,
                        "s_cbranch_join to depth %u of an empty stack", depth);
    }
    w->fork_depth--;
    unsigned slot = w->fork_depth * 4;
    em_set_s64(w, EM_EXEC, em_s64(w, slot));
    return jump_to_address(w, op, em_s64(w, slot + 2));
}

static enum em_flow run_barrier(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    (void)op;
    return EM_BARRIER;
}

static enum em_flow run_endpgm(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    (void)op;
    return EM_DONE;
}

/* Bit 0: this wave is to end. */
static enum em_flow run_setkill(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    return op->in.simm16 & 1 ? EM_DONE : EM_GO;
}

const struct em_scalar_row em_scalar_branch[] = {
    { EM_s_branch, 0, EM_CLASS_BRANCH, run_branch },
    { EM_s_cbranch_scc0, 0, EM_CLASS_BRANCH, run_cbranch_scc0 },
    { EM_s_cbranch_scc1, 0, EM_CLASS_BRANCH, run_cbranch_scc1 },
    { EM_s_cbranch_vccz, 0, EM_CLASS_BRANCH, run_cbranch_vccz },
    { EM_s_cbranch_vccnz, 0, EM_CLASS_BRANCH, run_cbranch_vccnz },
    { EM_s_cbranch_execz, 0, EM_CLASS_BRANCH, run_cbranch_execz },
    { EM_s_cbranch_execnz, 0, EM_CLASS_BRANCH, run_cbranch_execnz },
    { EM_s_cbranch_cdbgsys, 0, EM_CLASS_BRANCH, run_never },
    { EM_s_cbranch_cdbguser, 0, EM_CLASS_BRANCH, run_never },
    { EM_s_cbranch_cdbgsys_or_user, 0, EM_CLASS_BRANCH, run_never },
    { EM_s_cbranch_cdbgsys_and_user, 0, EM_CLASS_BRANCH, run_never },
    { EM_s_getpc_b64, 0, EM_CLASS_SALU, run_getpc },
    { EM_s_setpc_b64, 0, EM_CLASS_BRANCH, run_setpc },
    { EM_s_swappc_b64, 0, EM_CLASS_BRANCH, run_swappc },
    { EM_s_call_b64, 0, EM_CLASS_BRANCH, run_call },
    { EM_s_cbranch_g_fork, 0, EM_CLASS_BRANCH, run_cbranch_g_fork },
    { EM_s_cbranch_i_fork, 0, EM_CLASS_BRANCH, run_cbranch_i_fork },
    { EM_s_cbranch_join, 0, EM_CLASS_BRANCH, run_cbranch_join },
    { EM_s_barrier, 0, EM_CLASS_BARRIER, run_barrier },
    { EM_s_endpgm, 0, EM_CLASS_OTHER, run_endpgm },
    { EM_s_endpgm_saved, 0, EM_CLASS_OTHER, run_endpgm },
    { EM_s_endpgm_ordered_ps_done, 0, EM_CLASS_OTHER, run_endpgm },
    { EM_s_setkill, 0, EM_CLASS_OTHER, run_setkill },
    { 0, 0, 0, NULL }
};
