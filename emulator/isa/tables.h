/* The tables of the instruction set, and what the decoder's files share. */
#ifndef WF_EMULATOR_ISA_TABLES_H
#define WF_EMULATOR_ISA_TABLES_H

#include "emulator/isa/isa.h"

/* What the encodings of a vector operation allow (forms.def). */
enum em_form {
    EM_FORM_MOD0 = 1 << 0, /* neg and abs of source 0 */
    EM_FORM_MOD1 = 1 << 1,
    EM_FORM_MOD2 = 1 << 2,
    EM_FORM_SEXT1 = 1 << 3, /* VOP3: the neg bit of integer source 1 is its sext */
    EM_FORM_SEXT2 = 1 << 4,
    EM_FORM_LOOSE = 1 << 5, /* neg and abs bits of other sources are ignored */
    EM_FORM_CLAMP = 1 << 6,
    EM_FORM_OMOD = 1 << 7,
    EM_FORM_SEL = 1 << 8, /* VOP3: op_sel */
    EM_FORM_DPP = 1 << 9,
    EM_FORM_SDWA = 1 << 10,
    EM_FORM_MASK_OUT = 1 << 11, /* writes sdst */
    EM_FORM_MASK_IN = 1 << 12,  /* reads a mask, src[3] */
    EM_FORM_READS_DST = 1 << 13
};

extern const struct em_op_info em_infos[EM_OPCODES];
extern const uint16_t em_forms[EM_OPCODES];

/* The words of one instruction. */
struct em_words {
    const uint32_t *words;
    size_t count;
    bool truncated; /* the second word was asked for and is not there */
};

static inline uint32_t em_bits(uint32_t word, unsigned high, unsigned low)
{
    return word >> low & ((UINT32_C(2) << (high - low)) - 1);
}

/* Whose 16 bits are where it jumps to. */
static inline bool em_is_branch(enum em_opcode op)
{
    return op == EM_s_branch ||
           (op >= EM_s_cbranch_scc0 && op <= EM_s_cbranch_execnz) ||
           (op >= EM_s_cbranch_cdbgsys && op <= EM_s_cbranch_cdbgsys_and_user);
}

static inline bool em_is_mix(enum em_opcode op)
{
    return op == EM_v_fma_mix_f32 || op == EM_v_fma_mixlo_f16 ||
           op == EM_v_fma_mixhi_f16;
}

/* The second word; the instruction becomes one of 8 bytes. 0 where it is missing. */
uint32_t em_second_word(struct em_words *w, struct em_inst *in);

/* Sources and destinations. False: there is no such operand. */
bool em_take_scalar(struct em_words *w,
                    struct em_inst *in,
                    unsigned code,
                    enum em_type type,
                    struct em_operand *ret);
bool em_take_scalar_dst(unsigned code, enum em_type type, struct em_operand *ret);
bool em_take_vgpr(unsigned index, bool acc, enum em_type type, struct em_operand *ret);
/* 9 bits: a scalar, a constant or a VGPR. */
bool em_take_source(struct em_words *w,
                    struct em_inst *in,
                    unsigned code,
                    enum em_type type,
                    struct em_operand *ret);

/* Each decodes the words once in->op and in->encoding are known. False: invalid. */
typedef bool (*em_decode_fn)(struct em_words *w, struct em_inst *in);
bool em_decode_scalar(struct em_words *w, struct em_inst *in);
bool em_decode_smem(struct em_words *w, struct em_inst *in);
bool em_decode_vop(struct em_words *w, struct em_inst *in); /* VOP1, VOP2, VOPC */
bool em_decode_vop3(struct em_words *w, struct em_inst *in);
bool em_decode_vop3p(struct em_words *w, struct em_inst *in);
bool em_decode_mfma(struct em_words *w, struct em_inst *in);
bool em_decode_ds(struct em_words *w, struct em_inst *in);
bool em_decode_flat(struct em_words *w, struct em_inst *in);
bool em_decode_buffer(struct em_words *w, struct em_inst *in);

/* v_cvt_sr_*: op_sel has four places although there are two sources. */
bool em_four_selects(enum em_opcode op);

bool em_is_fp8_widening(enum em_opcode op); /* v_cvt_f32_fp8 and the like */

/* v_mfma_*, v_smfmac_*, v_accvgpr_read and _write: VOP3P's other half. */
bool em_is_mfma(enum em_opcode op);

#endif
