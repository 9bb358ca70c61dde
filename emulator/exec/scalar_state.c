/* Scalar instructions that read or change the wave's state rather than compute: MODE,
 * hardware registers, register indexing, waits, sleep, messages, traps, caches, clocks.
 */
#include "emulator/exec/device.h"
#include "emulator/exec/scalar_internal.h"
#include "emulator/launch/group.h"

#include <limits.h>

/* Hardware registers of s_getreg and s_setreg. */
enum {
    HWREG_MODE = 1,
    HWREG_STATUS = 2,
    HWREG_TRAPSTS = 3,
    HWREG_HW_ID = 4,
    HWREG_GPR_ALLOC = 5,
    HWREG_LDS_ALLOC = 6,
    HWREG_IB_STS = 7,
    HWREG_SH_MEM_BASES = 15,
    HWREG_XCC_ID = 20
};

static enum em_flow run_nothing(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    (void)op;
    return EM_GO;
}

static enum em_flow run_pause(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    (void)op;
    return EM_PAUSED;
}

static enum em_flow run_halt(struct em_wave *w, const struct em_op *op)
{
    if (op->in.simm16 & 1) {
        return em_fault(w, op, EM_FAULT_TRAP, -1, NULL,
                        "s_sethalt stops the wave: nobody would resume it");
    }
    return EM_GO;
}

/* What the ROCm trap handler does: 2 ends the queue, 3 is a breakpoint, passed over
 * without a debugger. */
static enum em_flow run_trap(struct em_wave *w, const struct em_op *op)
{
    unsigned id = op->in.simm16 & 0xff;
    if (id == 3) {
        return EM_GO;
    }
    return em_fault(w, op, EM_FAULT_TRAP, -1, NULL, "s_trap %u%s", id,
                    id == 2 ? " (the program gave up: a trap or a failed assertion)"
                            : "");
}

/* An interrupt tells the host of something that it reads from memory; the others belong
 * to graphics. */
static enum em_flow run_message(struct em_wave *w, const struct em_op *op)
{
    enum {
        MESSAGE_INTERRUPT = 1
    };
    unsigned id = op->in.simm16 & 15;
    if (id == MESSAGE_INTERRUPT && op->in.op == EM_s_sendmsg) {
        return EM_GO;
    }
    return em_fault(w, op, EM_FAULT_NOT_IMPLEMENTED, -1, NULL,
                    "%s with message %u: compute kernels have no such message",
                    em_op_info((enum em_opcode)op->in.op)->name, id);
}

/* vmcnt: bits 3:0 and 15:14; expcnt 6:4; lgkmcnt 11:8. All ones: no wait. */
static enum em_flow run_waitcnt(struct em_wave *w, const struct em_op *op)
{
    if (w->shadow) {
        unsigned vm = (op->in.simm16 & 15U) | (op->in.simm16 >> 10 & 0x30U);
        unsigned lgkm = op->in.simm16 >> 8 & 15U;
        em_shadow_wait(w, vm == 63 ? UINT_MAX : vm, lgkm == 15 ? UINT_MAX : lgkm);
    }
    return EM_GO;
}

/* Vector instructions are passed over from here on; the run loop sees the change when
 * it is told of a jump. */
static enum em_flow run_setvskip(struct em_wave *w, const struct em_op *op)
{
    uint32_t bit = em_src32(w, op, 0) >> (em_src32(w, op, 1) & 31) & 1;
    if (w->shadow &&
        em_shadow_use(w, op, op->in.src[0], ~UINT64_C(0), "skip condition") != EM_GO) {
        return EM_FAULTED;
    }
    w->mode = bit ? w->mode | EM_MODE_VSKIP : w->mode & ~(uint32_t)EM_MODE_VSKIP;
    w->pc = op->next;
    return EM_JUMPED;
}

static void set_index(struct em_wave *w, uint32_t index)
{
    w->s[EM_M0] = (w->s[EM_M0] & ~UINT32_C(0xff)) | (index & 0xff);
}

static void set_index_mode(struct em_wave *w, unsigned mode)
{
    w->s[EM_M0] = (w->s[EM_M0] & ~UINT32_C(0xf000)) | (mode & 15) << 12;
    w->gpr_idx = w->mode & EM_MODE_GPR_IDX ? mode & 15 : 0;
}

static enum em_flow index_written(struct em_wave *w, const struct em_op *op)
{
    if (w->shadow) {
        em_shadow_set_scalar(w->shadow, EM_M0, 1,
                             em_shadow_get(w->shadow, op->in.src[0]) != 0);
    }
    return EM_GO;
}

static enum em_flow run_set_gpr_idx_on(struct em_wave *w, const struct em_op *op)
{
    w->mode |= EM_MODE_GPR_IDX;
    set_index(w, em_src32(w, op, 0));
    set_index_mode(w, op->in.simm16);
    return index_written(w, op);
}

static enum em_flow run_set_gpr_idx_off(struct em_wave *w, const struct em_op *op)
{
    (void)op;
    w->mode &= ~(uint32_t)EM_MODE_GPR_IDX;
    w->gpr_idx = 0;
    return EM_GO;
}

static enum em_flow run_set_gpr_idx_mode(struct em_wave *w, const struct em_op *op)
{
    set_index_mode(w, op->in.simm16);
    return EM_GO;
}

static enum em_flow run_set_gpr_idx_idx(struct em_wave *w, const struct em_op *op)
{
    set_index(w, em_src32(w, op, 0));
    return index_written(w, op);
}

static uint32_t status_bits(const struct em_wave *w)
{
    uint32_t in_group = w->group && w->group->waves > 1;
    return w->scc | (uint32_t)(em_exec(w) == 0) << 9 |
           (uint32_t)(em_s64(w, EM_VCC) == 0) << 10 | in_group << 11 | 1U << 16;
}

/* Workgroups are dealt out to the XCDs in turn. */
static uint32_t xcc_of(const struct em_wave *w)
{
    return w->group ? (uint32_t)(w->group->index % EM_DEVICE_XCCS) : 0;
}

/* Wave slot, SIMD, CU and shader engine, as if the machine were otherwise empty. */
static uint32_t hw_id(const struct em_wave *w)
{
    uint64_t slot = w->group ? w->group->index / EM_DEVICE_XCCS : 0;
    uint32_t cu = (uint32_t)(slot % 10), engine = (uint32_t)(slot / 10 % 4);
    return (w->id / 4 & 15) | (w->id & 3) << 4 | cu << 8 | engine << 13;
}

static uint32_t gpr_alloc(const struct em_wave *w)
{
    uint32_t all = w->vgprs < 256 ? w->vgprs : 256U + w->agprs;
    uint32_t vgprs = (all + 7) / 8;
    uint32_t sgprs = (w->sgprs + 15U) / 16;
    return ((vgprs ? vgprs - 1 : 0) & 63) << 8 | ((sgprs ? sgprs - 1 : 0) & 15) << 24;
}

static uint32_t lds_alloc(const struct em_wave *w)
{
    return w->group ? (w->group->lds_bytes + 511) / 512 << 12 : 0;
}

static bool read_register(const struct em_wave *w, unsigned id, uint32_t *ret)
{
    switch (id) {
    case HWREG_MODE:
        *ret = w->mode;
        return true;
    case HWREG_STATUS:
        *ret = status_bits(w);
        return true;
    case HWREG_TRAPSTS:
        *ret = w->trap_status;
        return true;
    case HWREG_HW_ID:
        *ret = hw_id(w);
        return true;
    case HWREG_GPR_ALLOC:
        *ret = gpr_alloc(w);
        return true;
    case HWREG_LDS_ALLOC:
        *ret = lds_alloc(w);
        return true;
    case HWREG_IB_STS:
        *ret = 0;
        return true;
    case HWREG_SH_MEM_BASES: /* the apertures' top 16 bits: private, then shared */
        *ret = 2 | 1U << 16;
        return true;
    case HWREG_XCC_ID:
        *ret = xcc_of(w);
        return true;
    default:
        return false;
    }
}

/* id | offset << 6 | (width - 1) << 11 */
static uint32_t field_mask(unsigned simm16)
{
    unsigned width = (simm16 >> 11 & 31) + 1;
    return width == 32 ? UINT32_MAX : (UINT32_C(1) << width) - 1;
}

static enum em_flow unknown_register(struct em_wave *w, const struct em_op *op)
{
    return em_fault(w, op, EM_FAULT_NOT_IMPLEMENTED, -1, NULL,
                    "%s of hardware register %u",
                    em_op_info((enum em_opcode)op->in.op)->name, op->in.simm16 & 63U);
}

static enum em_flow run_getreg(struct em_wave *w, const struct em_op *op)
{
    unsigned simm16 = op->in.simm16;
    uint32_t value;
    if (!read_register(w, simm16 & 63, &value)) {
        return unknown_register(w, op);
    }
    em_dst32(w, op, value >> (simm16 >> 6 & 31) & field_mask(simm16));
    if (w->shadow) {
        em_shadow_set_scalar(w->shadow, op->in.dst.code, 1, true);
    }
    return EM_GO;
}

static enum em_flow write_register(struct em_wave *w,
                                   const struct em_op *op,
                                   uint32_t value)
{
    unsigned simm16 = op->in.simm16, shift = simm16 >> 6 & 31;
    uint32_t mask = field_mask(simm16) << shift;
    switch (simm16 & 63) {
    case HWREG_MODE:
        w->mode = (w->mode & ~mask) | (value << shift & mask);
        w->gpr_idx = w->mode & EM_MODE_GPR_IDX ? w->s[EM_M0] >> 12 & 15 : 0;
        w->pc = op->next;
        return EM_JUMPED; /* skipping may have begun */
    case HWREG_TRAPSTS:
        w->trap_status = (w->trap_status & ~mask) | (value << shift & mask);
        return EM_GO;
    case HWREG_STATUS: /* only the trap handler may */
    case HWREG_IB_STS:
        return EM_GO;
    default:
        return unknown_register(w, op);
    }
}

static enum em_flow run_setreg(struct em_wave *w, const struct em_op *op)
{
    struct em_operand from = op->in.src[0].code != EM_NONE ? op->in.src[0] : op->in.dst;
    if (w->shadow &&
        em_shadow_use(w, op, from, ~UINT64_C(0), "hardware register") != EM_GO) {
        return EM_FAULTED;
    }
    return write_register(w, op, em_scalar32(w, &op->in, from));
}

static enum em_flow run_setreg_imm32(struct em_wave *w, const struct em_op *op)
{
    return write_register(w, op, op->in.literal);
}

/* Clocks are modelled so that they are the same in every run: four cycles of the shader
 * for each instruction of the wave; the constant clock, of 100 MHz, has one for 21 of
 * these. */
static enum em_flow run_memtime(struct em_wave *w, const struct em_op *op)
{
    uint64_t cycles = w->instructions * 4;
    em_dst64(w, op, op->in.op == EM_s_memtime ? cycles : cycles / 21);
    if (w->shadow) {
        struct em_span span = { .first = op->in.dst.code, .count = 2 };
        em_shadow_set_scalar(w->shadow, op->in.dst.code, 2, true);
        em_shadow_issue(w, op, EM_LGKM_SMEM, span, 0, 0);
    }
    return EM_GO;
}

#define ROW(name, class, run) { EM_##name, 0, class, run },
/* clang-format off */
const struct em_scalar_row em_scalar_state[] = {
    ROW(s_nop, EM_CLASS_OTHER, run_nothing)
    ROW(s_setprio, EM_CLASS_OTHER, run_nothing)
    ROW(s_icache_inv, EM_CLASS_OTHER, run_nothing)
    ROW(s_incperflevel, EM_CLASS_OTHER, run_nothing)
    ROW(s_decperflevel, EM_CLASS_OTHER, run_nothing)
    ROW(s_ttracedata, EM_CLASS_OTHER, run_nothing)
    ROW(s_dcache_inv, EM_CLASS_SMEM, run_nothing)
    ROW(s_dcache_wb, EM_CLASS_SMEM, run_nothing)
    ROW(s_dcache_inv_vol, EM_CLASS_SMEM, run_nothing)
    ROW(s_dcache_wb_vol, EM_CLASS_SMEM, run_nothing)
    ROW(s_dcache_discard, EM_CLASS_SMEM, run_nothing)
    ROW(s_dcache_discard_x2, EM_CLASS_SMEM, run_nothing)
    ROW(s_wakeup, EM_CLASS_OTHER, run_nothing)
    ROW(s_sleep, EM_CLASS_WAIT, run_pause)
    ROW(s_waitcnt, EM_CLASS_WAIT, run_waitcnt)
    ROW(s_sethalt, EM_CLASS_OTHER, run_halt)
    ROW(s_trap, EM_CLASS_OTHER, run_trap)
    ROW(s_sendmsg, EM_CLASS_OTHER, run_message)
    ROW(s_sendmsghalt, EM_CLASS_OTHER, run_message)
    ROW(s_setvskip, EM_CLASS_SALU, run_setvskip)
    ROW(s_set_gpr_idx_on, EM_CLASS_SALU, run_set_gpr_idx_on)
    ROW(s_set_gpr_idx_off, EM_CLASS_SALU, run_set_gpr_idx_off)
    ROW(s_set_gpr_idx_mode, EM_CLASS_SALU, run_set_gpr_idx_mode)
    ROW(s_set_gpr_idx_idx, EM_CLASS_SALU, run_set_gpr_idx_idx)
    ROW(s_getreg_b32, EM_CLASS_SALU, run_getreg)
    ROW(s_setreg_b32, EM_CLASS_SALU, run_setreg)
    ROW(s_setreg_imm32_b32, EM_CLASS_SALU, run_setreg_imm32)
    ROW(s_memtime, EM_CLASS_SMEM, run_memtime)
    ROW(s_memrealtime, EM_CLASS_SMEM, run_memtime)
    { 0, 0, 0, NULL }
};
/* clang-format on */
