/* Puts the fields of an instruction where em_decode takes them from. */
#include "emulator/isa/encode.h"

#include "emulator/isa/tables.h"

enum {
    SOURCE_SDWA = 249,
    SOURCE_DPP = 250
};

/* The 9 bits of a source; of a register its number. 0 where there is none. */
static uint32_t source(struct em_operand operand)
{
    if (operand.code == EM_NONE) {
        return 0;
    }
    return operand.code >= EM_AGPR0 ? operand.code - 256U : operand.code;
}

static uint32_t vgpr(struct em_operand operand)
{
    return source(operand) & 255;
}

static bool is_acc(struct em_operand operand)
{
    return operand.code >= EM_AGPR0 && operand.code != EM_NONE;
}

static uint32_t scalar(struct em_operand operand)
{
    return source(operand) & 127;
}

static void put_literal(const struct em_inst *in, uint32_t *words, size_t *count)
{
    for (unsigned i = 0; i < 4; i++) {
        if (in->src[i].code == EM_LITERAL) {
            words[1] = in->literal;
            *count = 2;
        }
    }
}

static void encode_scalar(const struct em_inst *in,
                          uint32_t op,
                          uint32_t *words,
                          size_t *count)
{
    const uint32_t dst = scalar(in->dst) << 16;
    const uint32_t s0 = source(in->src[0]) & 255;
    const uint32_t s1 =
        in->op == EM_s_set_gpr_idx_on ? in->simm16 : source(in->src[1]) & 255;
    switch (in->encoding) {
    case EM_SOP2:
        words[0] = 0x80000000 | op << 23 | dst | s1 << 8 | s0;
        break;
    case EM_SOP1:
        words[0] = 0xbe800000 | dst | op << 8 | s0;
        break;
    case EM_SOPC:
        words[0] = 0xbf000000 | op << 16 | s1 << 8 | s0;
        break;
    case EM_SOPK:
        words[0] = 0xb0000000 | op << 23 |
                   (in->dst.code != EM_NONE ? dst : scalar(in->src[0]) << 16) |
                   in->simm16;
        if (in->op == EM_s_setreg_imm32_b32) {
            words[1] = in->literal;
            *count = 2;
        }
        break;
    default:
        words[0] = 0xbf800000 | op << 16 | in->simm16;
        break;
    }
    put_literal(in, words, count);
}

static void encode_smem(const struct em_inst *in,
                        uint32_t op,
                        uint32_t *words,
                        size_t *count)
{
    const bool has_scalar = in->src[1].code != EM_NONE;
    const bool has_address = in->src[0].code != EM_NONE;
    const bool immediate = has_address && (!has_scalar || in->offen);
    uint32_t data = scalar(in->src[2].code != EM_NONE ? in->src[2] : in->dst);
    if (in->op == EM_s_atc_probe || in->op == EM_s_atc_probe_buffer) {
        data = in->simm16;
    }
    words[0] = 0xc0000000 | op << 18 | (uint32_t)immediate << 17 |
               (uint32_t)in->sc0 << 16 | (uint32_t)has_scalar << 14 | data << 6 |
               scalar(in->src[0]) >> 1;
    words[1] = immediate ? (uint32_t)in->offset & 0x1fffff : 0;
    if (has_scalar) {
        words[1] |= scalar(in->src[1]) << 25;
    }
    *count = 2;
}

static uint32_t modifiers(const struct em_inst *in, unsigned i)
{
    return (in->neg >> i & 1U) | (in->abs >> i & 1U) << 1;
}

static uint32_t sdwa_source(const struct em_inst *in, unsigned i)
{
    const bool is_scalar = in->src[i].code < EM_VGPR0;
    return in->src_sel[i] | (in->sext >> i & 1U) << 3 | modifiers(in, i) << 4 |
           (uint32_t)is_scalar << 7;
}

static uint32_t sdwa_word(const struct em_inst *in)
{
    uint32_t word = vgpr(in->src[0]) | sdwa_source(in, 0) << 16;
    if (in->src[1].code != EM_NONE) {
        word |= sdwa_source(in, 1) << 24;
    }
    if (in->encoding == EM_VOPC) {
        const bool is_vcc = in->dst.code == EM_VCC;
        return word | (is_vcc ? 0 : scalar(in->dst) << 8 | 1 << 15);
    }
    return word | (uint32_t)in->dst_sel << 8 | (uint32_t)in->dst_unused << 11 |
           (uint32_t)in->clamp << 13 | (uint32_t)in->omod << 14;
}

static uint32_t dpp_word(const struct em_inst *in)
{
    const uint32_t second =
        modifiers(in, 1) | (in->op == EM_v_ldexp_f16 ? in->sext >> 1 & 1U : 0);
    return vgpr(in->src[0]) | (uint32_t)in->dpp_ctrl << 8 |
           (uint32_t)in->bound_ctrl << 19 | modifiers(in, 0) << 20 | second << 22 |
           (uint32_t)in->bank_mask << 24 | (uint32_t)in->row_mask << 28;
}

static void encode_vop(const struct em_inst *in,
                       uint32_t op,
                       uint32_t *words,
                       size_t *count)
{
    const bool middle = in->op == EM_v_fmamk_f32 || in->op == EM_v_madmk_f16;
    const uint32_t dst =
        in->op == EM_v_readfirstlane_b32 ? scalar(in->dst) : vgpr(in->dst);
    const uint32_t s1 = vgpr(in->src[middle ? 2 : 1]);
    uint32_t s0 =
        in->op == EM_v_accvgpr_mov_b32 ? 256 + vgpr(in->src[0]) : source(in->src[0]);
    if (in->extra == EM_SDWA) {
        s0 = SOURCE_SDWA;
    } else if (in->extra == EM_DPP) {
        s0 = SOURCE_DPP;
    }
    if (in->encoding == EM_VOP1) {
        words[0] = 0x7e000000 | dst << 17 | op << 9 | s0;
    } else if (in->encoding == EM_VOPC) {
        words[0] = 0x7c000000 | op << 17 | s1 << 9 | s0;
    } else {
        words[0] = op << 25 | dst << 17 | s1 << 9 | s0;
    }
    if (in->extra != EM_PLAIN) {
        /* source 1 is a VGPR or, with SDWA, any code of 8 bits */
        if (in->src[1].code != EM_NONE) {
            words[0] = (words[0] & ~UINT32_C(0x1fe00)) | vgpr(in->src[1]) << 9;
        }
        words[1] = in->extra == EM_SDWA ? sdwa_word(in) : dpp_word(in);
        *count = 2;
    } else {
        put_literal(in, words, count);
    }
}

/* What is in src[2] only because the destination is read is no field. */
static uint32_t third_source(const struct em_inst *in)
{
    if (em_infos[in->op].src[2] != EM_NO) {
        return source(in->src[2]);
    }
    const bool has_mask = em_forms[in->op] & EM_FORM_MASK_IN;
    return has_mask ? source(in->src[3]) : 0;
}

static uint32_t three_sources(const struct em_inst *in)
{
    const uint32_t s1 = em_infos[in->op].src[1] != EM_NO ? source(in->src[1]) : 0;
    return source(in->src[0]) | s1 << 9 | third_source(in) << 18;
}

static void encode_vop3(const struct em_inst *in,
                        uint32_t op,
                        uint32_t *words,
                        size_t *count)
{
    const bool has_second = em_forms[in->op] & EM_FORM_MASK_OUT;
    words[0] =
        0xd0000000 | op << 16 | (uint32_t)in->clamp << 15 | (source(in->dst) & 255);
    words[0] |= has_second ? scalar(in->sdst) << 8
                           : (uint32_t)in->op_sel << 11 | (uint32_t)in->abs << 8;
    words[1] = three_sources(in) | (uint32_t)in->omod << 27 |
               (uint32_t)(in->neg | in->sext) << 29;
    *count = 2;
}

static void encode_mfma(const struct em_inst *in, uint32_t op, uint32_t *words)
{
    const bool is_move =
        in->op == EM_v_accvgpr_read_b32 || in->op == EM_v_accvgpr_write_b32;
    words[0] = 0xd3800000 | op << 16 | (uint32_t)in->cbsz << 8 |
               (uint32_t)in->abid << 11 | vgpr(in->dst);
    words[1] =
        (in->src[0].code >= EM_VGPR0 ? 256 + vgpr(in->src[0]) : source(in->src[0]));
    if (is_move) {
        return;
    }
    words[0] |= (uint32_t)is_acc(in->dst) << 15;
    words[1] |= (256 + vgpr(in->src[1])) << 9 | (uint32_t)is_acc(in->src[0]) << 27 |
                (uint32_t)is_acc(in->src[1]) << 28 | (uint32_t)in->blgp << 29;
    words[1] |=
        (in->src[2].code >= EM_VGPR0 ? 256 + vgpr(in->src[2]) : source(in->src[2]))
        << 18;
}

static void encode_vop3p(const struct em_inst *in,
                         uint32_t op,
                         uint32_t *words,
                         size_t *count)
{
    *count = 2;
    if (em_is_mfma(in->op)) {
        encode_mfma(in, op, words);
        return;
    }
    words[0] = 0xd3800000 | op << 16 | (uint32_t)in->clamp << 15 |
               (in->op_sel_hi >> 2 & 1U) << 14 | (uint32_t)in->op_sel << 11 |
               (uint32_t)(in->neg_hi | in->abs) << 8 | vgpr(in->dst);
    words[1] = three_sources(in) | (in->op_sel_hi & 3U) << 27 | (uint32_t)in->neg << 29;
}

static void encode_ds(const struct em_inst *in,
                      uint32_t op,
                      uint32_t *words,
                      size_t *count)
{
    const bool acc = is_acc(in->dst) || is_acc(in->src[0]) || is_acc(in->src[1]);
    words[0] = 0xd8000000 | (uint32_t)acc << 25 | op << 17 | (uint32_t)in->gds << 16 |
               ((uint32_t)in->offset & 0xffff);
    words[1] = vgpr(in->src[0]) | vgpr(in->src[1]) << 8 | vgpr(in->src[2]) << 16 |
               vgpr(in->dst) << 24;
    *count = 2;
}

static void encode_flat(const struct em_inst *in,
                        uint32_t op,
                        uint32_t *words,
                        size_t *count)
{
    const bool has_base = in->src[2].code != EM_NONE;
    const bool acc = is_acc(in->dst) || is_acc(in->src[1]);
    const uint32_t segment = in->encoding == EM_FLAT      ? 0
                             : in->encoding == EM_SCRATCH ? 1
                                                          : 2;
    const bool scratch_vector =
        in->encoding == EM_SCRATCH && in->src[0].code != EM_NONE;
    uint32_t base = 0;
    if (in->encoding != EM_FLAT) {
        base = has_base ? scalar(in->src[2]) : 127;
    }
    words[0] = 0xdc000000 | (uint32_t)in->sc1 << 25 | op << 18 |
               (uint32_t)in->nt << 17 | (uint32_t)in->sc0 << 16 | segment << 14 |
               (uint32_t)scratch_vector << 13 | ((uint32_t)in->offset & 0x1fff);
    words[1] = vgpr(in->src[0]) | vgpr(in->src[1]) << 8 | base << 16 |
               (uint32_t)acc << 23 | vgpr(in->dst) << 24;
    *count = 2;
}

static void encode_buffer(const struct em_inst *in,
                          uint32_t op,
                          uint32_t *words,
                          size_t *count)
{
    const struct em_operand data = in->src[1].code != EM_NONE ? in->src[1] : in->dst;
    words[0] = ((uint32_t)in->offset & 0xfff) | (uint32_t)in->offen << 12 |
               (uint32_t)in->idxen << 13 | (uint32_t)in->sc0 << 14;
    words[1] = vgpr(in->src[0]) | vgpr(data) << 8 | scalar(in->src[2]) >> 2 << 16 |
               (uint32_t)is_acc(data) << 23 | (source(in->src[3]) & 255) << 24;
    if (in->encoding == EM_MUBUF) {
        words[0] |= 0xe0000000 | op << 18 | (uint32_t)in->sc1 << 15 |
                    (uint32_t)in->lds << 16 | (uint32_t)in->nt << 17;
    } else {
        words[0] |= 0xe8000000 | op << 15 | (in->format & 15U) << 19 |
                    (uint32_t)(in->format >> 4) << 23;
        words[1] |= (uint32_t)in->sc1 << 21 | (uint32_t)in->nt << 22;
    }
    *count = 2;
}

typedef void (*encode_fn)(const struct em_inst *in,
                          uint32_t op,
                          uint32_t *words,
                          size_t *count);

static const encode_fn encoders[EM_ENCODINGS] = {
    [EM_SOP2] = encode_scalar,  [EM_SOPK] = encode_scalar,  [EM_SOP1] = encode_scalar,
    [EM_SOPC] = encode_scalar,  [EM_SOPP] = encode_scalar,  [EM_SMEM] = encode_smem,
    [EM_VOP1] = encode_vop,     [EM_VOP2] = encode_vop,     [EM_VOPC] = encode_vop,
    [EM_VOP3] = encode_vop3,    [EM_VOP3P] = encode_vop3p,  [EM_DS] = encode_ds,
    [EM_FLAT] = encode_flat,    [EM_GLOBAL] = encode_flat,  [EM_SCRATCH] = encode_flat,
    [EM_MUBUF] = encode_buffer, [EM_MTBUF] = encode_buffer,
};

bool em_encode(const struct em_inst *in, uint32_t words[2], size_t *count)
{
    if (in->op >= EM_OPCODES || in->encoding >= EM_ENCODINGS) {
        return false;
    }
    const int op = em_number(in->op, in->encoding);
    if (op < 0) {
        return false;
    }
    words[0] = 0;
    words[1] = 0;
    *count = 1;
    encoders[in->encoding](in, (uint32_t)op, words, count);
    return true;
}
