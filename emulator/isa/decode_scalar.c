/* Fields of SOP1, SOP2, SOPK, SOPC, SOPP and SMEM. */
#include "emulator/isa/tables.h"

static bool has_destination(const struct em_op_info *info)
{
    return info->dst != EM_NO;
}

/* Jumps to an address in registers, and moves from a register found by M0. */
static bool reads_registers_only(enum em_opcode op)
{
    return op == EM_s_setpc_b64 || op == EM_s_rfe_b64 || op == EM_s_cbranch_join ||
           op == EM_s_movrels_b32 || op == EM_s_movrels_b64;
}

static bool decode_sop(struct em_words *w, struct em_inst *in)
{
    const struct em_op_info *info = &em_infos[in->op];
    const uint32_t word = w->words[0];
    bool ok = true;
    if (has_destination(info)) {
        ok = em_take_scalar_dst(em_bits(word, 22, 16), info->dst, &in->dst);
    }
    if (info->src[0] != EM_NO) {
        ok =
            em_take_scalar(w, in, em_bits(word, 7, 0), info->src[0], &in->src[0]) && ok;
    }
    if (reads_registers_only(in->op)) {
        ok = ok && in->src[0].code < EM_INT_0;
    }
    if (in->op == EM_s_set_gpr_idx_on) {
        in->simm16 = (uint16_t)em_bits(word, 15, 8);
    } else if (info->src[1] != EM_NO) {
        ok = em_take_scalar(w, in, em_bits(word, 15, 8), info->src[1], &in->src[1]) &&
             ok;
    }
    return ok;
}

static bool decode_sopk(struct em_words *w, struct em_inst *in)
{
    const struct em_op_info *info = &em_infos[in->op];
    const uint32_t word = w->words[0];
    bool ok = true;
    in->simm16 = (uint16_t)word;
    if (info->dst != EM_NO) {
        ok = em_take_scalar_dst(em_bits(word, 22, 16), info->dst, &in->dst);
    }
    if (info->src[0] != EM_NO) {
        ok = em_take_scalar_dst(em_bits(word, 22, 16), info->src[0], &in->src[0]) && ok;
    }
    if (in->op == EM_s_setreg_imm32_b32) {
        in->literal = em_second_word(w, in);
    }
    if (in->op == EM_s_call_b64 || in->op == EM_s_cbranch_i_fork) {
        in->offset = (int16_t)in->simm16;
    }
    return ok;
}

/* Those whose 16 bits are 0. */
static bool has_no_immediate(enum em_opcode op)
{
    return op == EM_s_wakeup || op == EM_s_barrier || op == EM_s_icache_inv ||
           op == EM_s_ttracedata || op == EM_s_set_gpr_idx_off ||
           op == EM_s_endpgm_saved || op == EM_s_endpgm_ordered_ps_done;
}

static bool decode_sopp(struct em_words *w, struct em_inst *in)
{
    in->simm16 = (uint16_t)w->words[0];
    if (em_is_branch(in->op)) {
        in->offset = (int16_t)in->simm16;
    }
    return in->simm16 == 0 || !has_no_immediate(in->op);
}

bool em_decode_scalar(struct em_words *w, struct em_inst *in)
{
    switch (in->encoding) {
    case EM_SOPK:
        return decode_sopk(w, in);
    case EM_SOPP:
        return decode_sopp(w, in);
    default:
        return decode_sop(w, in);
    }
}

/* The offset is an immediate, an SGPR, or both. */
static bool decode_smem_offset(uint32_t low, uint32_t high, struct em_inst *in)
{
    const bool immediate = low >> 17 & 1;
    const bool scalar = low >> 14 & 1;
    in->offen = immediate && scalar;
    if (immediate) {
        in->offset = (int32_t)(high << 11) >> 11;
    }
    if (!scalar && immediate) {
        return true;
    }
    const unsigned code = scalar ? em_bits(high, 31, 25) : em_bits(high, 6, 0);
    return em_take_scalar_dst(code, EM_B32, &in->src[1]);
}

bool em_decode_smem(struct em_words *w, struct em_inst *in)
{
    const struct em_op_info *info = &em_infos[in->op];
    const uint32_t low = w->words[0];
    const uint32_t high = em_second_word(w, in);
    unsigned data = em_bits(low, 12, 6);
    const bool has_data = info->dst != EM_NO || info->src[2] != EM_NO;
    bool ok = !has_data || data < EM_M0; /* neither M0 nor EXEC */
    in->sc0 = low >> 16 & 1 && info->src[1] != EM_NO && (info->dst || info->src[2]);
    if (info->src[2] != EM_NO) {
        ok = em_take_scalar_dst(data, info->src[2], &in->src[2]) && ok;
        data = in->src[2].code; /* what returns begins where the data does */
    }
    if (info->dst != EM_NO && (info->src[2] == EM_NO || in->sc0)) {
        ok = em_take_scalar_dst(data, info->dst, &in->dst) && ok;
    }
    if (info->src[0] != EM_NO) {
        ok = em_take_scalar_dst(em_bits(low, 5, 0) << 1, info->src[0], &in->src[0]) &&
             ok;
        ok = decode_smem_offset(low, high, in) && ok;
    } else {
        ok = ok && !(low >> 17 & 1);
    }
    if (in->op == EM_s_atc_probe || in->op == EM_s_atc_probe_buffer) {
        in->simm16 = (uint16_t)data;
    }
    return ok;
}
