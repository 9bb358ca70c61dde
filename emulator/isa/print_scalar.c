/* Prints SOP1, SOP2, SOPK, SOPC, SOPP and SMEM. */
#include "emulator/isa/print.h"

static const char *const hardware_registers[32] = {
    [1] = "HW_REG_MODE",
    [2] = "HW_REG_STATUS",
    [3] = "HW_REG_TRAPSTS",
    [4] = "HW_REG_HW_ID",
    [5] = "HW_REG_GPR_ALLOC",
    [6] = "HW_REG_LDS_ALLOC",
    [7] = "HW_REG_IB_STS",
    [15] = "HW_REG_SH_MEM_BASES",
    [16] = "HW_REG_TBA_LO",
    [17] = "HW_REG_TBA_HI",
    [18] = "HW_REG_TMA_LO",
    [19] = "HW_REG_TMA_HI",
    [20] = "HW_REG_XCC_ID",
    [21] = "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    [22] = "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    [23] = "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
    [24] = "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
};

static void put_hwreg(struct em_text *t, unsigned value)
{
    const unsigned id = value & 63;
    const unsigned offset = value >> 6 & 31;
    const unsigned width = (value >> 11 & 31) + 1;
    em_put_separator(t);
    if (id < 32 && hardware_registers[id]) {
        em_put(t, "hwreg(%s", hardware_registers[id]);
    } else {
        em_put(t, "hwreg(%u", id);
    }
    if (offset != 0 || width != 32) {
        em_put(t, ", %u, %u", offset, width);
    }
    em_put(t, ")");
}

static void print_sopk(struct em_text *t, const struct em_inst *in)
{
    if (in->op == EM_s_setreg_b32) {
        put_hwreg(t, in->simm16);
        em_put_operand(t, in, in->src[0]);
        return;
    }
    if (in->op == EM_s_setreg_imm32_b32) {
        put_hwreg(t, in->simm16);
        em_put(t, ", ");
        em_put_literal(t, in->literal, EM_B32);
        return;
    }
    em_put_operand(t, in, in->dst.code != EM_NONE ? in->dst : in->src[0]);
    if (in->op == EM_s_getreg_b32) {
        put_hwreg(t, in->simm16);
    } else if (in->op == EM_s_call_b64 || in->op == EM_s_cbranch_i_fork) {
        em_put(t, ", %u", in->simm16);
    } else {
        em_put(t, ", 0x%x", in->simm16);
    }
}

/* vmcnt: bits 3:0 and 15:14; expcnt: 6:4; lgkmcnt: 11:8. Counters at their maximum are
 * left out, but not all of them. */
static void put_waitcnt(struct em_text *t, unsigned value)
{
    const unsigned vm = (value & 15) | (value >> 14 & 3) << 4;
    const unsigned exp = value >> 4 & 7;
    const unsigned lgkm = value >> 8 & 15;
    const bool all = vm == 63 && exp == 7 && lgkm == 15;
    if (vm != 63 || all) {
        em_put(t, " vmcnt(%u)", vm);
    }
    if (exp != 7 || all) {
        em_put(t, " expcnt(%u)", exp);
    }
    if (lgkm != 15 || all) {
        em_put(t, " lgkmcnt(%u)", lgkm);
    }
}

static const char *const messages[16] = {
    [1] = "MSG_INTERRUPT",       [2] = "MSG_GS",
    [3] = "MSG_GS_DONE",         [4] = "MSG_SAVEWAVE",
    [5] = "MSG_STALL_WAVE_GEN",  [6] = "MSG_HALT_WAVES",
    [7] = "MSG_ORDERED_PS_DONE", [8] = "MSG_EARLY_PRIM_DEALLOC",
    [9] = "MSG_GS_ALLOC_REQ",    [10] = "MSG_GET_DOORBELL",
    [15] = "MSG_SYSMSG",
};

static const char *const gs_operations[4] = {
    "GS_OP_NOP",
    "GS_OP_CUT",
    "GS_OP_EMIT",
    "GS_OP_EMIT_CUT",
};

static const char *const system_operations[8] = {
    [1] = "SYSMSG_OP_ECC_ERR_INTERRUPT",
    [2] = "SYSMSG_OP_REG_RD",

    [4] = "SYSMSG_OP_TTRACE_PC",
};

/* The names of a graphics message, or false. */
static bool put_gs_message(struct em_text *t, unsigned value)
{
    const unsigned id = value & 15;
    const unsigned op = value >> 4 & 7;
    const unsigned stream = value >> 8 & 3;
    if (op > 3 || (op == 0 && (id == 2 || stream != 0))) {
        return false;
    }
    em_put(t, "sendmsg(%s, %s", messages[id], gs_operations[op]);
    if (op != 0) {
        em_put(t, ", %u", stream);
    }
    em_put(t, ")");
    return true;
}

static void put_message(struct em_text *t, unsigned value)
{
    const unsigned id = value & 15;
    const unsigned op = value >> 4 & 7;
    const unsigned stream = value >> 8 & 3;
    em_put(t, " ");
    if ((id == 2 || id == 3) && put_gs_message(t, value)) {
        return;
    }
    if (id == 15 && system_operations[op] && stream == 0) {
        em_put(t, "sendmsg(MSG_SYSMSG, %s)", system_operations[op]);
    } else if (messages[id] && id != 2 && id != 3 && id != 15 && op == 0 &&
               stream == 0) {
        em_put(t, "sendmsg(%s)", messages[id]);
    } else if (value & ~0x37fU) {
        em_put(t, "%u", value);
    } else {
        em_put(t, "sendmsg(%u, %u, %u)", id, op, stream);
    }
}

/* The names of s_set_gpr_idx's mode bits. */
static void put_gpr_idx(struct em_text *t, unsigned value)
{
    static const char *const names[] = { "SRC0", "SRC1", "SRC2", "DST" };
    if (value > 15) {
        em_put(t, "0x%x", value);
        return;
    }
    const char *between = "";
    em_put(t, "gpr_idx(");
    for (unsigned i = 0; i < 4; i++) {
        if (value >> i & 1) {
            em_put(t, "%s%s", between, names[i]);
            between = ",";
        }
    }
    em_put(t, ")");
}

static void print_sopp(struct em_text *t, const struct em_inst *in)
{
    switch (in->op) {
    case EM_s_waitcnt:
        put_waitcnt(t, in->simm16);
        break;
    case EM_s_sendmsg:
    case EM_s_sendmsghalt:
        put_message(t, in->simm16);
        break;
    case EM_s_set_gpr_idx_mode:
        em_put(t, " ");
        put_gpr_idx(t, in->simm16);
        break;
    case EM_s_wakeup:
    case EM_s_barrier:
    case EM_s_icache_inv:
    case EM_s_ttracedata:
    case EM_s_set_gpr_idx_off:
    case EM_s_endpgm_saved:
    case EM_s_endpgm_ordered_ps_done:
        break;
    case EM_s_endpgm:
        if (in->simm16) {
            em_put(t, " %u", in->simm16);
        }
        break;
    default:
        em_put(t, em_is_branch(in->op) || in->simm16 <= 64 ? " %u" : " 0x%x",
               (unsigned)in->simm16);
        break;
    }
}

void em_print_scalar(struct em_text *t, const struct em_inst *in)
{
    if (in->encoding == EM_SOPK) {
        print_sopk(t, in);
        return;
    }
    if (in->encoding == EM_SOPP) {
        print_sopp(t, in);
        return;
    }
    em_put_operand(t, in, in->dst);
    em_put_operand(t, in, in->src[0]);
    em_put_operand(t, in, in->src[1]);
    if (in->op == EM_s_set_gpr_idx_on) {
        em_put(t, ", ");
        put_gpr_idx(t, in->simm16);
    }
}

void em_print_smem(struct em_text *t, const struct em_inst *in)
{
    const bool has_data = in->src[2].code != EM_NONE;
    const bool has_address = in->src[0].code != EM_NONE;
    if (in->op == EM_s_atc_probe || in->op == EM_s_atc_probe_buffer) {
        em_put_separator(t);
        em_put(t, in->simm16 <= 64 ? "%u" : "0x%x", (unsigned)in->simm16);
    }
    em_put_operand(t, in, has_data ? in->src[2] : in->dst);
    em_put_operand(t, in, in->src[0]);
    if (!has_address) {
        return;
    }
    em_put_operand(t, in, in->src[1]);
    if (in->src[1].code == EM_NONE || in->offen) {
        const uint32_t bits = (uint32_t)in->offset;
        em_put(t, "%s%s0x%x", in->offen ? " offset:" : ", ", in->offset < 0 ? "-" : "",
               in->offset < 0 ? 0U - bits : bits);
    }
    if (in->sc0) {
        em_put(t, " glc");
    }
}
