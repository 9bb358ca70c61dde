/* Fields of VOP3 and VOP3P, MFMA apart. */
#include "emulator/isa/tables.h"

bool em_four_selects(enum em_opcode op)
{
    return op == EM_v_cvt_sr_fp8_f32 || op == EM_v_cvt_sr_bf8_f32;
}

/* Sources whose neg and abs bits mean something, or are ignored. */
static bool take_neg_abs(struct em_inst *in, unsigned neg, unsigned abs, unsigned count)
{
    const unsigned form = em_forms[in->op];
    const unsigned mods = form & (EM_FORM_MOD0 | EM_FORM_MOD1 | EM_FORM_MOD2);
    const unsigned sext =
        (form & EM_FORM_SEXT1 ? 2 : 0) | (form & EM_FORM_SEXT2 ? 4 : 0);
    unsigned ignored = sext;
    if (form & EM_FORM_LOOSE) {
        /* v_cvt_sr_*'s op_sel has four places, and so three sources have the bits */
        ignored |= em_four_selects(in->op) ? 7 : (1U << count) - 1;
    }
    if ((neg & ~(mods | ignored)) || (abs & ~(mods | ignored))) {
        return false;
    }
    in->neg = (uint8_t)(neg & mods);
    in->abs = (uint8_t)(abs & mods);
    in->sext = (uint8_t)(neg & sext);
    return true;
}

static bool take_op_sel(struct em_inst *in, unsigned bits, unsigned count)
{
    if (!(em_forms[in->op] & EM_FORM_SEL)) {
        return true; /* ignored */
    }
    in->op_sel = (uint8_t)bits;
    return count == 3 || !(bits & 4) || em_four_selects(in->op);
}

static bool take_vop3_dst(struct em_inst *in, unsigned code)
{
    const enum em_type type = em_infos[in->op].dst;
    if (type == EM_NO) {
        return code == 0;
    }
    if (type == EM_MASK || in->op == EM_v_readlane_b32) {
        return em_take_scalar_dst(code, type, &in->dst);
    }
    return em_take_vgpr(code, false, type, &in->dst);
}

/* Up to three sources; those that there are not have their bits 0. */
static bool take_vop3_sources(struct em_words *w, struct em_inst *in, uint32_t high)
{
    const struct em_op_info *info = &em_infos[in->op];
    for (unsigned i = 0; i < 3; i++) {
        const unsigned code = em_bits(high, 9 * i + 8, 9 * i);
        const bool mask =
            i == 2 && em_forms[in->op] & EM_FORM_MASK_IN && info->src[2] == EM_NO;
        bool ok = code == 0;
        if (mask) {
            ok = code < EM_EXEC && em_take_scalar_dst(code, EM_MASK, &in->src[3]);
        } else if (info->src[i] != EM_NO) {
            ok = em_take_source(w, in, code, info->src[i], &in->src[i]);
        }
        if (!ok || code == EM_LITERAL) {
            return false;
        }
    }
    return true;
}

static unsigned source_count(enum em_opcode op)
{
    const struct em_op_info *info = &em_infos[op];
    unsigned count = 0;
    while (count < 3 && info->src[count] != EM_NO) {
        count++;
    }
    return count;
}

/* v_readlane's and v_writelane's lane and value are scalars, their vector a vector. */
static bool lanes_are_right(const struct em_inst *in)
{
    if (in->op == EM_v_readlane_b32) {
        return em_is_vector(in->src[0].code) && !em_is_vector(in->src[1].code);
    }
    if (in->op == EM_v_writelane_b32) {
        return !em_is_vector(in->src[0].code) && !em_is_vector(in->src[1].code) &&
               in->src[0].code != EM_LDS_DIRECT && in->src[1].code != EM_LDS_DIRECT;
    }
    /* sources of more than 64 bits are vectors */
    return in->src[2].dwords < 4 || em_is_vector(in->src[2].code);
}

static bool take_vop3_second(struct em_inst *in, uint32_t low)
{
    const unsigned form = em_forms[in->op];
    if (form & EM_FORM_READS_DST) {
        in->src[2] = in->dst;
    }
    if (form & EM_FORM_MASK_IN && em_infos[in->op].src[2] != EM_NO) {
        (void)em_take_scalar_dst(EM_VCC, EM_MASK, &in->src[3]);
    }
    if (form & EM_FORM_MASK_OUT) {
        return em_take_scalar_dst(em_bits(low, 14, 8), EM_MASK, &in->sdst);
    }
    return true;
}

bool em_decode_vop3(struct em_words *w, struct em_inst *in)
{
    const unsigned form = em_forms[in->op];
    const uint32_t low = w->words[0];
    const uint32_t high = em_second_word(w, in);
    const unsigned count = source_count(in->op);
    const bool second = form & EM_FORM_MASK_OUT;
    in->clamp = low >> 15 & 1;
    in->omod = (uint8_t)em_bits(high, 28, 27);
    bool ok = take_vop3_dst(in, em_bits(low, 7, 0)) && take_vop3_sources(w, in, high);
    ok = ok && take_neg_abs(in, em_bits(high, 31, 29), second ? 0 : em_bits(low, 10, 8),
                            count);
    ok = ok && (second || take_op_sel(in, em_bits(low, 14, 11), count));
    ok = ok && (!in->clamp || form & EM_FORM_CLAMP);
    ok = ok && (!in->omod || form & EM_FORM_OMOD);
    return ok && take_vop3_second(in, low) && lanes_are_right(in);
}

bool em_decode_vop3p(struct em_words *w, struct em_inst *in)
{
    if (em_is_mfma(in->op)) {
        return em_decode_mfma(w, in);
    }
    const uint32_t low = w->words[0];
    const uint32_t high = em_second_word(w, in);
    const unsigned count = source_count(in->op);
    const unsigned used = (1U << count) - 1;
    const unsigned neg = em_bits(high, 31, 29);
    const unsigned neg_hi = em_bits(low, 10, 8);
    in->clamp = low >> 15 & 1;
    in->op_sel = (uint8_t)em_bits(low, 13, 11);
    in->op_sel_hi = (uint8_t)((em_bits(high, 28, 27) | (low >> 14 & 1) << 2) & used);
    in->neg = (uint8_t)neg;
    if (em_is_mix(in->op)) {
        in->abs = (uint8_t)neg_hi;
    } else {
        in->neg_hi = (uint8_t)neg_hi;
    }
    if ((neg | neg_hi | in->op_sel) & ~used) {
        return false;
    }
    return take_vop3_dst(in, em_bits(low, 7, 0)) && take_vop3_sources(w, in, high);
}
