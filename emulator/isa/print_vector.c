/* Prints VOP1, VOP2, VOPC, VOP3 and VOP3P. */
#include "emulator/isa/print.h"

/* The mnemonic's ending where the operation has both a short and a long encoding. */
static void put_suffix(struct em_text *t, const struct em_inst *in)
{
    const bool is_short = em_number(in->op, EM_VOP1) >= 0 ||
                          em_number(in->op, EM_VOP2) >= 0 ||
                          em_number(in->op, EM_VOPC) >= 0;
    const bool is_long = em_number(in->op, EM_VOP3) >= 0 || in->op == EM_v_pk_fmac_f16;
    if (in->extra == EM_SDWA) {
        em_put(t, "_sdwa");
    } else if (in->extra == EM_DPP) {
        em_put(t, "_dpp");
    } else if (is_short && is_long && in->op != EM_v_nop && in->op != EM_v_clrexcp) {
        em_put(t, in->encoding == EM_VOP3 ? "_e64" : "_e32");
    }
}

static bool is_number(unsigned code)
{
    return (code >= EM_INT_0 && code <= EM_INT_0 + 80) ||
           (code >= EM_FLOAT_HALF && code <= EM_FLOAT_INV_2PI);
}

static void put_source(struct em_text *t, const struct em_inst *in, unsigned i)
{
    const bool neg = in->neg >> i & 1;
    const bool abs = in->abs >> i & 1;
    const bool sext = in->sext >> i & 1;
    if (in->src[i].code == EM_NONE) {
        return;
    }
    em_put_separator(t);
    const bool constant = is_number(in->src[i].code);
    if (neg) {
        em_put(t, constant && !abs ? "neg(" : "-");
    }
    em_put(t, "%s%s", sext ? "sext(" : "", abs ? "|" : "");
    em_put_value(t, in, in->src[i]);
    em_put(t, "%s%s", abs ? "|" : "", sext ? ")" : "");
    if (neg && constant && !abs) {
        em_put(t, ")");
    }
}

static void put_bits(struct em_text *t, const char *name, unsigned bits, unsigned count)
{
    em_put(t, " %s:[", name);
    for (unsigned i = 0; i < count; i++) {
        em_put(t, i ? ",%u" : "%u", bits >> i & 1);
    }
    em_put(t, "]");
}

static void put_output_modifiers(struct em_text *t, const struct em_inst *in)
{
    static const char *const scales[] = { "", " mul:2", " mul:4", " div:2" };
    if (in->clamp) {
        em_put(t, " clamp");
    }
    em_put(t, "%s", scales[in->omod & 3]);
}

static void put_dpp(struct em_text *t, const struct em_inst *in)
{
    const unsigned ctrl = in->dpp_ctrl;
    static const char *const shifts[] = { NULL, "row_shl", "row_shr", "row_ror" };
    static const char *const waves[] = { "wave_shl:1", "wave_rol:1", "wave_shr:1",
                                         "wave_ror:1" };
    if (ctrl < 0x100) {
        em_put(t, " quad_perm:[%u,%u,%u,%u]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3,
               ctrl >> 6 & 3);
    } else if (ctrl < 0x130 && (ctrl & 15) != 0) {
        em_put(t, " %s:%u", shifts[(ctrl >> 4) - 0xf], ctrl & 15);
    } else if (ctrl >= 0x130 && ctrl < 0x140 && (ctrl & 3) == 0) {
        em_put(t, " %s", waves[ctrl >> 2 & 3]);
    } else if (ctrl == 0x140) {
        em_put(t, " row_mirror");
    } else if (ctrl == 0x141) {
        em_put(t, " row_half_mirror");
    } else if (ctrl == 0x142 || ctrl == 0x143) {
        em_put(t, " row_bcast:%u", ctrl == 0x142 ? 15U : 31U);
    } else if (ctrl >= 0x150 && ctrl <= 0x15f) {
        em_put(t, " row_newbcast:%u", ctrl & 15);
    }
    em_put(t, " row_mask:0x%x bank_mask:0x%x%s", in->row_mask, in->bank_mask,
           in->bound_ctrl ? " bound_ctrl:1" : "");
}

static void put_sdwa(struct em_text *t, const struct em_inst *in)
{
    static const char *const selects[] = { "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                           "WORD_0", "WORD_1", "DWORD",  "?" };
    static const char *const unused[] = { "UNUSED_PAD", "UNUSED_SEXT",
                                          "UNUSED_PRESERVE", "?" };
    if (in->encoding != EM_VOPC && !em_is_fp8_widening(in->op)) {
        em_put(t, " dst_sel:%s dst_unused:%s", selects[in->dst_sel & 7],
               unused[in->dst_unused & 3]);
    }
    em_put(t, " src0_sel:%s", selects[in->src_sel[0] & 7]);
    if (in->encoding != EM_VOP1) {
        em_put(t, " src1_sel:%s", selects[in->src_sel[1] & 7]);
    }
}

static unsigned printed_sources(const struct em_inst *in)
{
    unsigned count = 0;
    while (count < 3 && em_infos[in->op].src[count] != EM_NO) {
        count++;
    }
    return in->op == EM_v_swap_b32 ? 1 : count;
}

static void put_op_sel(struct em_text *t, const struct em_inst *in, unsigned count)
{
    if (in->op_sel == 0 || in->encoding != EM_VOP3) {
        return;
    }
    if (count == 3 || em_four_selects(in->op)) {
        put_bits(t, "op_sel", in->op_sel, 4);
    } else {
        put_bits(t, "op_sel", (in->op_sel & 3U) | (in->op_sel >> 1 & 4U), 3);
    }
}

void em_print_vop(struct em_text *t, const struct em_inst *in)
{
    const unsigned form = em_forms[in->op];
    const unsigned count = printed_sources(in);
    put_suffix(t, in);
    em_put_operand(t, in, in->dst);
    if (form & EM_FORM_MASK_OUT) {
        em_put_operand(t, in, in->sdst);
    }
    for (unsigned i = 0; i < count; i++) {
        if (in->src[i].code == EM_LITERAL && count == 3) { /* v_fmamk, v_fmaak */
            em_put_separator(t);
            if (i == 0) {
                em_put_value(t, in, in->src[i]);
            } else {
                em_put(t, "0x%x", in->literal);
            }
        } else {
            put_source(t, in, i);
        }
    }
    if (form & EM_FORM_MASK_IN && count < 3) {
        em_put_operand(t, in, in->src[3]);
    }
    put_op_sel(t, in, count);
    put_output_modifiers(t, in);
    if (in->extra == EM_DPP) {
        put_dpp(t, in);
    } else if (in->extra == EM_SDWA) {
        put_sdwa(t, in);
    }
}

static void print_mfma(struct em_text *t, const struct em_inst *in)
{
    em_put_operand(t, in, in->dst);
    for (unsigned i = 0; i < 3; i++) {
        em_put_operand(t, in, in->src[i]);
    }
    if (in->cbsz) {
        em_put(t, " cbsz:%u", in->cbsz);
    }
    if (in->abid) {
        em_put(t, " abid:%u", in->abid);
    }
    if (in->blgp &&
        (in->op == EM_v_mfma_f64_16x16x4_f64 || in->op == EM_v_mfma_f64_4x4x4_4b_f64)) {
        put_bits(t, "neg", in->blgp, 3);
    } else if (in->blgp) {
        em_put(t, " blgp:%u", in->blgp);
    }
}

static void print_mix(struct em_text *t, const struct em_inst *in)
{
    em_put_operand(t, in, in->dst);
    for (unsigned i = 0; i < 3; i++) {
        put_source(t, in, i);
    }
    if (in->op_sel) {
        put_bits(t, "op_sel", in->op_sel, 3);
    }
    if (in->op_sel_hi) {
        put_bits(t, "op_sel_hi", in->op_sel_hi, 3);
    }
    em_put(t, "%s", in->clamp ? " clamp" : "");
}

void em_print_vop3p(struct em_text *t, const struct em_inst *in)
{
    const unsigned count = printed_sources(in);
    const unsigned all = (1U << count) - 1;
    if (em_is_mfma(in->op)) {
        print_mfma(t, in);
        return;
    }
    if (em_is_mix(in->op)) {
        print_mix(t, in);
        return;
    }
    em_put_operand(t, in, in->dst);
    for (unsigned i = 0; i < count; i++) {
        em_put_operand(t, in, in->src[i]);
    }
    if (in->op_sel) {
        put_bits(t, "op_sel", in->op_sel, count);
    }
    if ((in->op_sel_hi & all) != all) {
        put_bits(t, "op_sel_hi", in->op_sel_hi, count);
    }
    if (in->neg) {
        put_bits(t, "neg_lo", in->neg, count);
    }
    if (in->neg_hi) {
        put_bits(t, "neg_hi", in->neg_hi, count);
    }
    em_put(t, "%s", in->clamp ? " clamp" : "");
}
