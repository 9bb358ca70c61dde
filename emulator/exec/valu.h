/* Vector arithmetic: functions on rows of 64 lanes, apart from how sources are fetched
 * (registers, constants, DPP, SDWA, negation) and results are stored (EXEC, clamp,
 * SDWA), which is valu_run.c's. */
#ifndef WF_EMULATOR_EXEC_VALU_H
#define WF_EMULATOR_EXEC_VALU_H

#include "emulator/exec/wave.h"

/* What a function on rows gets. s[i][j]: dword j of source i; d[j]: dword j of the
 * result (never one of the sources' rows unless the whole row may be overwritten lane
 * by lane). All 64 lanes are computed; which of them are kept is the caller's.
 *
 * Sources come with everything applied: registers, constants, DPP, SDWA, neg, abs,
 * op_sel, op_sel_hi, neg_hi. 16-bit sources are the low 16 bits, whatever is above
 * them; packed ones have both halves selected (PF32: s[i][0] is the low half's, s[i][1]
 * the high half's value). v_fma_mix*: all three sources come as F32. The destination
 * before the instruction is s[2] of v_fmac*, v_mac*, v_pk_fmac, v_dot*c and
 * v_cvt_pkaccum_u8_f32.
 *
 * Results: 16 bits in the low half, zeros above (v_fma_mixhi_f16, v_cvt_pk_fp8_f32 too;
 * v_cvt_sr_*: 8 bits). The caller merges with EXEC and puts them where op_sel and SDWA
 * say, and does omod and the clamp of floating-point results. The clamp of integers
 * (in->clamp) and FP16_OVFL are the function's. */
struct em_rows {
    const uint32_t *s[4][2];
    uint32_t *d[2];
    uint64_t mask_in;  /* src[3] of type MASK: carry in, condition, VCC */
    uint64_t mask_out; /* sdst, or a compare's result: bit a lane */
    uint64_t exec;
    uint32_t mode;
    const struct em_inst *in;
    struct em_wave *wave;
};
typedef void (*em_rows_fn)(struct em_rows *r);

/* A row function and its class. */
struct em_valu_row {
    uint16_t op; /* enum em_opcode */
    uint8_t class;
    em_rows_fn fn;
};
/* The tables of the files that implement arithmetic; each ends with fn NULL. */
extern const struct em_valu_row em_valu_int[]; /* 32-bit integers, bits */
extern const struct em_valu_row em_valu_int64[];
extern const struct em_valu_row em_valu_int16[]; /* 16-bit and packed integers, dots */
extern const struct em_valu_row em_valu_compare[]; /* VOPC */
extern const struct em_valu_row em_valu_f32[];
extern const struct em_valu_row em_valu_f16[]; /* and packed, mixed, dots */
extern const struct em_valu_row em_valu_f64[];
extern const struct em_valu_row em_valu_convert[];
extern const struct em_valu_row em_valu_special[]; /* transcendental, div_*, frexp */

#endif
