/* A wave's state, and how its registers are read and written. Everything that executes
 * instructions sees this; nothing outside emulator/ does. */
#ifndef WF_EMULATOR_EXEC_WAVE_H
#define WF_EMULATOR_EXEC_WAVE_H

#include "emulator/isa/isa.h"

#include <string.h>

enum {
    EM_LANES = 64,
    EM_ROWS = 512, /* 0..255 VGPRs, 256..511 accumulation VGPRs */
    EM_SCALARS = 128
};

struct em_group;  /* launch/group.h: the workgroup */
struct em_shadow; /* check/shadow.h */
struct em_counts; /* count/count.h */
struct em_space;  /* memory/space.h */
struct em_code;   /* exec/code.h */

/* MODE register. */
enum {
    EM_MODE_ROUND_F32 = 3 << 0, /* 0 nearest even, 1 +inf, 2 -inf, 3 zero */
    EM_MODE_ROUND_F64_F16 = 3 << 2,
    EM_MODE_DENORM_F32 = 3 << 4, /* 1: sources kept, 2: results kept, 3: both */
    EM_MODE_DENORM_F64_F16 = 3 << 6,
    EM_MODE_DX10_CLAMP = 1 << 8,
    EM_MODE_IEEE = 1 << 9,
    EM_MODE_FP16_OVFL = 1 << 23,
    EM_MODE_VSKIP = 1 << 28,
    EM_MODE_GPR_IDX = 1 << 27
};

struct em_wave {
    uint32_t *v; /* [EM_ROWS][EM_LANES], 64-byte aligned */
    /* By operand code: SGPRs, VCC (106), M0 (124), EXEC (126). */
    _Alignas(64) uint32_t s[EM_SCALARS];
    uint32_t scc; /* 0 or 1 */
    uint32_t mode;
    uint32_t pc;          /* current instruction: index of its dword in the code */
    uint8_t gpr_idx;      /* s_set_gpr_idx_on: bits src0 src1 src2 dst, 0 when off */
    uint32_t trap_status; /* HW_REG_TRAPSTS, STATUS bits that s_getreg asks for */
    unsigned id;          /* in its workgroup */
    bool exact;           /* MFMA: the hardware's rounding, not FMA */
    struct em_group *group;
    const struct em_code *code;
    struct em_space *space;
    struct em_shadow *shadow; /* NULL: fault detection is off (bounds are always on) */
    struct em_counts *counts; /* NULL: counters are off */
    uint8_t *scratch;         /* [lane][scratch_bytes]; NULL where there is none */
    uint32_t scratch_bytes;   /* of a lane */
    uint64_t instructions;    /* executed so far */
    /* What the kernel's allocation holds: VGPRs, accumulation VGPRs, SGPRs. A register
     * behind them that an instruction indexes (s_set_gpr_idx, s_movrel) is a fault. */
    uint16_t vgprs, agprs, sgprs;
    bool careful;        /* the code names registers beyond those */
    uint8_t state;       /* launch/: enum em_wave_state */
    uint32_t barriers;   /* passed */
    uint32_t fork_depth; /* s_cbranch_*_fork: entries on the stack in SGPRs */
    void *rows;          /* the memory that v is in */
    _Alignas(64) uint32_t temp[12][EM_LANES]; /* sources with modifiers, results */
};

/* Registers undefined (not initialised, by the shadow), EXEC all ones. NULL: no memory.
 */
struct em_wave *em_wave_create(void);
void em_wave_destroy(struct em_wave *w);

static inline uint32_t *em_row(const struct em_wave *w, uint16_t code)
{
    return w->v + (size_t)(code - EM_VGPR0) * EM_LANES;
}

static inline uint64_t em_s64(const struct em_wave *w, unsigned code)
{
    uint64_t value;
    memcpy(&value, &w->s[code], sizeof(value));
    return value;
}

static inline void em_set_s64(struct em_wave *w, unsigned code, uint64_t value)
{
    memcpy(&w->s[code], &value, sizeof(value));
}

static inline uint64_t em_exec(const struct em_wave *w)
{
    return em_s64(w, EM_EXEC);
}

/* A scalar source or constant: 32 bits, or the 64 bits of a pair (inline integers
 * sign-extended, inline floats as `type` says: EM_F16, EM_F32, EM_F64, else as F32 bits
 * for 32 bits and F64 bits for 64). `code` is no vector. */
uint32_t em_scalar32(const struct em_wave *w,
                     const struct em_inst *in,
                     struct em_operand operand);
uint64_t em_scalar64(const struct em_wave *w,
                     const struct em_inst *in,
                     struct em_operand operand);

/* What an executed instruction leads to. */
enum em_flow {
    EM_GO,      /* to the next one */
    EM_JUMPED,  /* w->pc is set */
    EM_BARRIER, /* waits for the workgroup; then to the next one */
    EM_PAUSED,  /* s_sleep and the like: others first; then to the next one */
    EM_DONE,    /* s_endpgm */
    EM_FAULTED  /* em_fault was called */
};

struct em_op;
typedef enum em_flow (*em_run_fn)(struct em_wave *w, const struct em_op *op);

/* What an instruction is, for counters. */
enum em_class {
    EM_CLASS_SALU,
    EM_CLASS_BRANCH,
    EM_CLASS_SMEM,
    EM_CLASS_VALU,
    EM_CLASS_TRANS, /* exp, log, rcp, rsq, sqrt, sin, cos */
    EM_CLASS_F64,
    EM_CLASS_MFMA,
    EM_CLASS_VMEM_LOAD,
    EM_CLASS_VMEM_STORE,
    EM_CLASS_VMEM_ATOMIC,
    EM_CLASS_LDS,
    EM_CLASS_BARRIER,
    EM_CLASS_WAIT,
    EM_CLASS_OTHER,
    EM_CLASSES
};

/* Registers that an instruction touches: `count` from code `first` on. */
struct em_span {
    uint16_t first, count;
};

/* An instruction made ready: what runs it and what the checks ask. */
struct em_op {
    em_run_fn run;
    void (*fn)(void); /* the unit's own: a function on rows, an atomic's rule, ... */
    uint64_t data[2]; /* the unit's own */
    struct em_inst in;
    uint32_t index; /* of its dword in the code */
    uint32_t next;  /* index of the one behind it */
    uint8_t class;  /* enum em_class */
    uint8_t reads, writes;
    uint8_t flags;                      /* the unit's own */
    struct em_span read[5], written[2]; /* EXEC is not among them; M0, VCC are */
};

/* Makes `in` ready to run; an instruction that no unit implements gets a `run` that
 * faults with its mnemonic. index and next are left to the caller. */
void em_bind(const struct em_inst *in, struct em_op *ret);

/* Fills read and written: what operands say and what the operation implies (M0). False
 * where an operand runs past the end of its register file. */
bool em_bind_spans(struct em_op *op);

/* Runs the wave until something else than the next instruction is due: EM_GO when it
 * has executed `until` instructions in all (w->instructions), else what stopped it.
 * w->pc is the next instruction to run, on EM_FAULTED the faulty one. */
enum em_flow em_wave_run(struct em_wave *w, uint64_t until);

/* The units: set run, fn, data and class, and return true where they implement it. */
bool em_bind_scalar(struct em_op *op); /* SALU, branches, SMEM, waits, barriers */
bool em_bind_valu(struct em_op *op);   /* VOP1, VOP2, VOPC, VOP3, VOP3P but MFMA */
bool em_bind_mfma(struct em_op *op);   /* v_mfma, v_smfmac, v_accvgpr_* */
bool em_bind_lds(struct em_op *op);    /* DS */
bool em_bind_vmem(struct em_op *op);   /* FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF */

#endif
