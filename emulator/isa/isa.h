/* The instructions of gfx942 (MI300, CDNA3): operations, encodings, and a decoded
 * instruction. Numbers and names are those of LLVM's assembler. */
#ifndef WF_EMULATOR_ISA_ISA_H
#define WF_EMULATOR_ISA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every operation once, whatever its encoding: EM_v_add_f32 is VOP2, VOP3, DPP or SDWA.
 */
enum em_opcode {
#define OP(name, dst, s0, s1, s2) EM_##name,
#include "emulator/isa/ops_memory.def"
#include "emulator/isa/ops_scalar.def"
#include "emulator/isa/ops_vector.def"
#undef OP
    EM_OPCODES
};

/* What an operand holds. B: raw bits; P: two packed elements (PF32: of 64 bits);
 * MASK: a bit a lane, in a scalar pair. */
enum em_type {
    EM_NO,
    EM_B16,
    EM_B32,
    EM_B64,
    EM_B96,
    EM_B128,
    EM_B160,
    EM_B192,
    EM_B256,
    EM_B512,
    EM_B1024,
    EM_F16,
    EM_F32,
    EM_F64,
    EM_I8,
    EM_U8,
    EM_I16,
    EM_U16,
    EM_I32,
    EM_U32,
    EM_I64,
    EM_U64,
    EM_PF16,
    EM_PI16,
    EM_PU16,
    EM_PB16,
    EM_PF32,
    EM_PB32,
    EM_MASK
};

enum em_encoding {
    EM_SOP2,
    EM_SOPK,
    EM_SOP1,
    EM_SOPC,
    EM_SOPP,
    EM_SMEM,
    EM_VOP1,
    EM_VOP2,
    EM_VOPC,
    EM_VOP3,
    EM_VOP3P, /* MFMA too */
    EM_DS,
    EM_FLAT,
    EM_GLOBAL,
    EM_SCRATCH,
    EM_MUBUF,
    EM_MTBUF,
    EM_ENCODINGS
};

/* A row of the operation tables. */
struct em_op_info {
    const char *name;    /* "v_add_f32" */
    uint8_t dst, src[3]; /* enum em_type */
};
const struct em_op_info *em_op_info(enum em_opcode op);
unsigned em_type_dwords(enum em_type type); /* 0 for NO, 2 for MASK */

/* Operand codes: the 9 bits of a source operand, and past them the accumulation VGPRs.
 */
enum {
    EM_SGPR0 = 0, /* ..101 */
    EM_FLAT_SCRATCH = 102,
    EM_XNACK_MASK = 104,
    EM_VCC = 106,
    EM_TTMP0 = 108,
    EM_M0 = 124,
    EM_EXEC = 126,
    EM_INT_0 = 128, /* ..192: 0..64; 193..208: -1..-16 */
    EM_SHARED_BASE = 235,
    EM_SHARED_LIMIT = 236,
    EM_PRIVATE_BASE = 237,
    EM_PRIVATE_LIMIT = 238,
    EM_POPS_EXITING_WAVE_ID = 239,
    EM_FLOAT_HALF = 240, /* 0.5 -0.5 1 -1 2 -2 4 -4, 248: 1/(2 pi) */
    EM_FLOAT_INV_2PI = 248,
    EM_VCCZ = 251,
    EM_EXECZ = 252,
    EM_SCC = 253,
    EM_LDS_DIRECT = 254,
    EM_LITERAL = 255,
    EM_VGPR0 = 256, /* ..511 */
    EM_AGPR0 = 512, /* ..767 */
    EM_NONE = 0xffff
};

struct em_operand {
    uint16_t code;  /* first register or constant; EM_NONE where there is none */
    uint8_t dwords; /* registers that it spans */
    uint8_t type;   /* enum em_type */
};
static inline bool em_is_vector(uint16_t code) /* VGPR or AGPR */
{
    return code >= EM_VGPR0 && code != EM_NONE;
}

enum em_dpp_sdwa {
    EM_PLAIN,
    EM_DPP,
    EM_SDWA
};

/* SDWA selects. */
enum {
    EM_SEL_BYTE_0,
    EM_SEL_BYTE_1,
    EM_SEL_BYTE_2,
    EM_SEL_BYTE_3,
    EM_SEL_WORD_0,
    EM_SEL_WORD_1,
    EM_SEL_DWORD
};

/* A decoded instruction. Where an operation has no use for a field it is 0 (operands:
 * EM_NONE).
 *
 * Operands: dst is what is written (vector or scalar; loads: the data). sdst is the
 * second result: carry or mask of VOP2/VOP3B (VCC where the encoding implies it) and of
 * v_div_scale; v_swap_b32: the other register. A compare's mask is dst. src[] in the
 * assembler's order of the arithmetic's inputs; a result's register that is read too
 * (of v_fmac, v_mac, v_dot2c, v_cvt_pk_fp8, v_cvt_sr_fp8, v_writelane, ...) is src[2],
 * of v_smfmac src[3]. src[3] is otherwise the mask of type MASK that is read, explicit
 * or implied: v_addc_co_u32, v_cndmask_b32, v_div_fmas (VCC). SOPK: s_addk, s_mulk:
 * src[0] is dst; s_cmpk, s_setreg: src[0] is the register; the constant is simm16
 * (s_setreg_imm32: the value is literal). s_set_gpr_idx_on: the mode bits are simm16.
 * s_atc_probe: what follows is simm16. SMEM: src[0] base, src[1] offset SGPR (or NONE),
 * src[2] data of stores and atomics. DS: src[0] address, src[1] data 0, src[2] data 1.
 * FLAT, GLOBAL, SCRATCH: src[0] VGPR address (or NONE), src[1] data, src[2] SGPR base.
 * MUBUF, MTBUF: src[0] vaddr (1 or 2 registers, or NONE), src[1] data of stores and
 * atomics, src[2] resource (4 SGPRs), src[3] soffset.
 * Atomics of SMEM, FLAT, GLOBAL and MUBUF have a dst only where they return (sc0). */
struct em_inst {
    uint16_t op;      /* enum em_opcode */
    uint8_t encoding; /* enum em_encoding */
    uint8_t bytes;    /* 4, 8 */
    struct em_operand dst, sdst, src[4];
    uint32_t literal;
    int32_t offset; /* memory: immediate offset; DS two-address: offset0 | offset1 << 8;
                       branches: in dwords, from the next instruction */
    uint16_t simm16;
    /* VOP3, VOP3P: bit i is source i; op_sel bit 3 is the destination's. */
    uint8_t neg, abs, op_sel, op_sel_hi, neg_hi;
    uint8_t omod; /* 1: *2, 2: *4, 3: /2 */
    bool clamp;
    uint8_t extra; /* enum em_dpp_sdwa */
    uint16_t dpp_ctrl;
    uint8_t row_mask, bank_mask;
    bool bound_ctrl;             /* invalid lanes read 0 */
    uint8_t dst_sel, dst_unused; /* 0 pad, 1 sign-extend, 2 preserve */
    uint8_t src_sel[2];
    uint8_t sext; /* bit i: source i */
    /* MFMA */
    uint8_t cbsz, abid, blgp;
    /* memory */
    bool sc0, sc1, nt; /* SMEM: sc0 is glc */
    bool lds, gds, idxen;
    bool offen;     /* SMEM: an immediate beside the offset SGPR */
    uint8_t format; /* MTBUF: dfmt | nfmt << 4 */
};

enum em_decode_status {
    EM_DECODED,
    EM_UNKNOWN,  /* no such instruction on gfx942 */
    EM_TRUNCATED /* the code ends within it */
};

/* Decodes the instruction at words[0]; `count` words are readable. Pure. On anything
 * but EM_DECODED *ret is zeroed but for bytes (4). */
enum em_decode_status em_decode(const uint32_t *words,
                                size_t count,
                                struct em_inst *ret);

/* The instruction as llvm-objdump prints it (without symbols: branches as their
 * immediate). Always terminated; returns the length that was needed. */
size_t em_print(const struct em_inst *inst, char *text, size_t bytes);

/* A table-driven encoder's part: opcode number of `op` in `encoding`, -1 where it has
 * none there. */
int em_number(enum em_opcode op, enum em_encoding encoding);

#endif
