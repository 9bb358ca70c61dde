/* Fields of v_mfma_*, v_smfmac_* and v_accvgpr_*. */
#include "emulator/isa/tables.h"

static bool is_smfmac(enum em_opcode op)
{
    return (op >= EM_v_smfmac_f32_16x16x32_f16 && op <= EM_v_smfmac_i32_32x32x32_i8) ||
           (op >= EM_v_smfmac_f32_16x16x64_bf8_bf8 &&
            op <= EM_v_smfmac_f32_32x32x32_fp8_fp8);
}

bool em_is_mfma(enum em_opcode op)
{
    return op >= EM_v_mfma_f32_16x16x8_xf32 && op <= EM_v_smfmac_f32_32x32x32_fp8_fp8;
}

static bool decode_accvgpr(struct em_words *w, struct em_inst *in, uint32_t high)
{
    const struct em_op_info *info = &em_infos[in->op];
    const uint32_t low = w->words[0];
    const unsigned code = em_bits(high, 8, 0);
    const bool read = in->op == EM_v_accvgpr_read_b32;
    if (em_bits(low, 13, 8) || em_bits(high, 26, 9) || em_bits(high, 31, 29)) {
        return false;
    }
    if (!em_take_vgpr(em_bits(low, 7, 0), !read, info->dst, &in->dst)) {
        return false;
    }
    if (read) {
        return code >= EM_VGPR0 &&
               em_take_vgpr(code - EM_VGPR0, true, info->src[0], &in->src[0]);
    }
    return code != EM_LITERAL && em_take_source(w, in, code, info->src[0], &in->src[0]);
}

static bool take_factor(struct em_inst *in, unsigned i, unsigned code, bool acc)
{
    return code >= EM_VGPR0 &&
           em_take_vgpr(code - EM_VGPR0, acc, em_infos[in->op].src[i], &in->src[i]);
}

/* What is added: registers of the result's kind, or a constant. */
static bool take_addend(struct em_words *w, struct em_inst *in, unsigned code, bool acc)
{
    const enum em_type type = em_infos[in->op].src[2];
    if (code >= EM_VGPR0) {
        return em_take_vgpr(code - EM_VGPR0, acc, type, &in->src[2]);
    }
    const enum em_type one = type == EM_F64 || type == EM_B256 ? EM_F64 : EM_B32;
    return code >= EM_INT_0 && code != EM_LITERAL &&
           em_take_scalar(w, in, code, one, &in->src[2]);
}

bool em_decode_mfma(struct em_words *w, struct em_inst *in)
{
    const uint32_t low = w->words[0];
    const uint32_t high = em_second_word(w, in);
    const bool acc = low >> 15 & 1;
    const unsigned third = em_bits(high, 26, 18);
    if (in->op == EM_v_accvgpr_read_b32 || in->op == EM_v_accvgpr_write_b32) {
        return decode_accvgpr(w, in, high);
    }
    in->cbsz = (uint8_t)em_bits(low, 10, 8);
    in->abid = (uint8_t)em_bits(low, 14, 11);
    in->blgp = (uint8_t)em_bits(high, 31, 29);
    bool ok = em_take_vgpr(em_bits(low, 7, 0), acc, em_infos[in->op].dst, &in->dst);
    ok = ok && take_factor(in, 0, em_bits(high, 8, 0), high >> 27 & 1);
    ok = ok && take_factor(in, 1, em_bits(high, 17, 9), high >> 28 & 1);
    if (!is_smfmac(in->op)) {
        return ok && take_addend(w, in, third, acc);
    }
    in->src[3] = in->dst;
    return ok && in->blgp == 0 && take_factor(in, 2, third, false);
}
