/* Fields of VOP1, VOP2 and VOPC, with their DPP and SDWA forms. */
#include "emulator/isa/tables.h"

enum {
    SOURCE_SDWA = 249,
    SOURCE_DPP = 250
};

static unsigned sources(const struct em_op_info *info)
{
    unsigned count = 0;
    while (count < 3 && info->src[count] != EM_NO) {
        count++;
    }
    return count;
}

static void take_vcc(struct em_operand *ret)
{
    (void)em_take_scalar_dst(EM_VCC, EM_MASK, ret);
}

/* Second results and masks that these encodings imply. */
static void take_implied(struct em_inst *in)
{
    const unsigned form = em_forms[in->op];
    if (form & EM_FORM_MASK_OUT) {
        take_vcc(&in->sdst);
    }
    if (form & EM_FORM_MASK_IN) {
        take_vcc(&in->src[3]);
    }
    if (form & EM_FORM_READS_DST) {
        in->src[2] = in->dst;
    }
}

static bool take_dst(struct em_inst *in, uint32_t word)
{
    const struct em_op_info *info = &em_infos[in->op];
    const unsigned index = em_bits(word, 24, 17);
    if (in->encoding == EM_VOPC) {
        take_vcc(&in->dst);
        return true;
    }
    if (in->op == EM_v_readfirstlane_b32) {
        return em_take_scalar_dst(index, info->dst, &in->dst);
    }
    if (info->dst == EM_NO) {
        return index == 0;
    }
    return em_take_vgpr(index, in->op == EM_v_accvgpr_mov_b32, info->dst, &in->dst);
}

/* A source's neg, abs and sext bits where the operation may have them. */
static bool take_modifiers(struct em_inst *in, unsigned i, unsigned sext_neg_abs)
{
    const bool floating = em_forms[in->op] >> i & EM_FORM_MOD0;
    if (em_forms[in->op] & EM_FORM_LOOSE) {
        return true;
    }
    if (in->extra == EM_DPP && i == 1 && em_forms[in->op] & EM_FORM_SEXT1) {
        in->sext |= (uint8_t)((sext_neg_abs & 1) << 1);
        return true;
    }
    if (sext_neg_abs & (floating ? 4 : 3)) {
        return false;
    }
    in->neg |= (uint8_t)((sext_neg_abs & 1) << i);
    in->abs |= (uint8_t)((sext_neg_abs >> 1 & 1) << i);
    in->sext |= (uint8_t)((sext_neg_abs >> 2 & 1) << i);
    return true;
}

static bool sdwa_source(struct em_inst *in, unsigned i, unsigned index, unsigned bits)
{
    const enum em_type type = em_infos[in->op].src[i];
    const unsigned select = bits & 7;
    struct em_words none = { .words = NULL };
    in->src_sel[i] = (uint8_t)select;
    if (select > EM_SEL_DWORD ||
        !take_modifiers(in, i, (bits >> 1 & 4) | (bits >> 4 & 3))) {
        return false;
    }
    if (!(bits >> 7)) {
        return em_take_vgpr(index, false, type, &in->src[i]);
    }
    return index != EM_LITERAL && em_take_source(&none, in, index, type, &in->src[i]);
}

bool em_is_fp8_widening(enum em_opcode op)
{
    return op >= EM_v_cvt_f32_fp8 && op <= EM_v_cvt_pk_f32_bf8;
}

static bool is_float(enum em_type type)
{
    return type == EM_F32 || type == EM_F16 || type == EM_PF32;
}

static bool sdwa_destination(struct em_inst *in, uint32_t high)
{
    const unsigned form = em_forms[in->op];
    if (in->encoding == EM_VOPC) {
        return !(high >> 15 & 1) ||
               em_take_scalar_dst(em_bits(high, 14, 8), EM_MASK, &in->dst);
    }
    in->dst_sel = (uint8_t)em_bits(high, 10, 8);
    in->dst_unused = (uint8_t)em_bits(high, 12, 11);
    in->clamp = high >> 13 & 1;
    in->omod = (uint8_t)em_bits(high, 15, 14);
    if (em_is_fp8_widening(in->op)) {
        in->dst_unused = 0; /* ignored: the result is whole registers */
        return in->dst_sel == EM_SEL_DWORD;
    }
    return in->dst_sel <= EM_SEL_DWORD && in->dst_unused <= 2 &&
           (in->omod == 0 || (form & EM_FORM_OMOD && is_float(em_infos[in->op].dst)));
}

static bool decode_sdwa(struct em_inst *in, uint32_t low, uint32_t high)
{
    const unsigned count = sources(&em_infos[in->op]);
    if (!(em_forms[in->op] & EM_FORM_SDWA)) {
        return false;
    }
    in->extra = EM_SDWA;
    if (!take_dst(in, low) || !sdwa_destination(in, high)) {
        return false;
    }
    if (!sdwa_source(in, 0, em_bits(high, 7, 0), em_bits(high, 23, 16))) {
        return false;
    }
    const unsigned bits1 = em_bits(high, 31, 24);
    if (count < 2) {
        return bits1 == 0;
    }
    return sdwa_source(in, 1, em_bits(low, 16, 9), bits1);
}

static bool is_control(unsigned ctrl, bool wide)
{
    if (ctrl >= 0x150 && ctrl <= 0x15f) {
        return true; /* row_newbcast */
    }
    if (wide) {
        return false;
    }
    if (ctrl >= 0x130 && ctrl < 0x140) {
        return (ctrl & 3) == 0; /* wave shifts and rotations */
    }
    return ctrl < 0x100 || (ctrl < 0x130 && (ctrl & 15) != 0) ||
           (ctrl >= 0x140 && ctrl <= 0x143);
}

static bool is_wide(const struct em_op_info *info)
{
    return em_type_dwords(info->dst) == 2 || em_type_dwords(info->src[0]) == 2;
}

static bool decode_dpp(struct em_inst *in, uint32_t low, uint32_t high)
{
    const struct em_op_info *info = &em_infos[in->op];
    const bool two = sources(info) > 1;
    in->extra = EM_DPP;
    if (!(em_forms[in->op] & EM_FORM_DPP) || !take_dst(in, low) ||
        !is_control(em_bits(high, 16, 8), is_wide(info))) {
        return false;
    }
    in->dpp_ctrl = (uint16_t)em_bits(high, 16, 8);
    in->bound_ctrl = high >> 19 & 1;
    in->bank_mask = (uint8_t)em_bits(high, 27, 24);
    in->row_mask = (uint8_t)em_bits(high, 31, 28);
    if (!em_take_vgpr(em_bits(high, 7, 0), false, info->src[0], &in->src[0]) ||
        !take_modifiers(in, 0, em_bits(high, 21, 20))) {
        return false;
    }
    if (!two) {
        return em_bits(high, 23, 22) == 0;
    }
    return em_take_vgpr(em_bits(low, 16, 9), false, info->src[1], &in->src[1]) &&
           take_modifiers(in, 1, em_bits(high, 23, 22));
}

/* v_fmamk: source 1 is the literal, then the VGPR; v_fmaak: the literal is last. */
static bool decode_with_literal(struct em_words *w, struct em_inst *in, uint32_t word)
{
    const struct em_op_info *info = &em_infos[in->op];
    const bool middle = in->op == EM_v_fmamk_f32 || in->op == EM_v_madmk_f16;
    const struct em_operand literal = { EM_LITERAL, 1, info->src[0] };
    in->literal = em_second_word(w, in);
    in->src[middle ? 1 : 2] = literal;
    return em_take_vgpr(em_bits(word, 16, 9), false, info->src[1],
                        &in->src[middle ? 2 : 1]) &&
           em_take_source(w, in, em_bits(word, 8, 0), info->src[0], &in->src[0]);
}

static bool decode_plain(struct em_words *w, struct em_inst *in, uint32_t word)
{
    const struct em_op_info *info = &em_infos[in->op];
    const unsigned code = em_bits(word, 8, 0);
    const unsigned count = sources(info);
    if (count == 3) {
        return decode_with_literal(w, in, word);
    }
    if (count == 0) {
        return in->op == EM_v_clrexcp || (code != SOURCE_SDWA && code != SOURCE_DPP);
    }
    if (in->op == EM_v_accvgpr_mov_b32) {
        return code >= EM_VGPR0 &&
               em_take_vgpr(code - EM_VGPR0, true, info->src[0], &in->src[0]);
    }
    if (!em_take_source(w, in, code, info->src[0], &in->src[0])) {
        return false;
    }
    if (in->op == EM_v_readfirstlane_b32) {
        return em_is_vector(in->src[0].code);
    }
    if (in->op == EM_v_swap_b32) {
        in->src[1] = in->dst;
        in->sdst = in->src[0];
        return code >= EM_VGPR0;
    }
    return count < 2 ||
           em_take_vgpr(em_bits(word, 16, 9), false, info->src[1], &in->src[1]);
}

bool em_decode_vop(struct em_words *w, struct em_inst *in)
{
    const uint32_t word = w->words[0];
    const unsigned code = em_bits(word, 8, 0);
    bool ok = false;
    if (code == SOURCE_SDWA && sources(&em_infos[in->op]) != 0) {
        ok = decode_sdwa(in, word, em_second_word(w, in));
    } else if (code == SOURCE_DPP && sources(&em_infos[in->op]) != 0) {
        ok = decode_dpp(in, word, em_second_word(w, in));
    } else {
        ok = take_dst(in, word) && decode_plain(w, in, word);
    }
    take_implied(in);
    return ok;
}
