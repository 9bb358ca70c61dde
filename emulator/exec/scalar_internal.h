/* Shared by the files that run scalar instructions. */
#ifndef WF_EMULATOR_EXEC_SCALAR_INTERNAL_H
#define WF_EMULATOR_EXEC_SCALAR_INTERNAL_H

#include "emulator/check/fault.h"
#include "emulator/check/shadow.h"

/* em_op.flags of scalar instructions. */
enum {
    EM_READS_SCC = 1,
    EM_WRITES_SCC = 2,
    EM_ANY_WRITTEN = 4, /* the result counts as written when one source was */
    EM_WRITES_EXEC = 8  /* besides what dst says */
};

struct em_scalar_row {
    uint16_t op;
    uint8_t flags, class;
    em_run_fn run;
};
/* Each ends with run NULL. */
extern const struct em_scalar_row em_scalar_math[];   /* arithmetic, logic, compares */
extern const struct em_scalar_row em_scalar_bits[];   /* SOP1: moves, bits, saveexec */
extern const struct em_scalar_row em_scalar_state[];  /* MODE, hwreg, waits, messages */
extern const struct em_scalar_row em_scalar_branch[]; /* branches, calls, barriers */
extern const struct em_scalar_row em_scalar_memory[]; /* SMEM */

/* Constants were read by em_bind_scalar: data[i] is source i's. */
static inline uint32_t em_src32(const struct em_wave *w, const struct em_op *op, int i)
{
    unsigned code = op->in.src[i].code;
    if (code < EM_SCALARS) {
        return w->s[code];
    }
    if (code - EM_VCCZ <= EM_SCC - EM_VCCZ) {
        return em_scalar32(w, &op->in, op->in.src[i]);
    }
    return (uint32_t)op->data[i];
}

static inline uint64_t em_src64(const struct em_wave *w, const struct em_op *op, int i)
{
    unsigned code = op->in.src[i].code;
    if (code < EM_SCALARS - 1) {
        return em_s64(w, code);
    }
    if (code - EM_VCCZ <= EM_SCC - EM_VCCZ) {
        return em_scalar64(w, &op->in, op->in.src[i]);
    }
    return op->data[i];
}

static inline void em_dst32(struct em_wave *w, const struct em_op *op, uint32_t value)
{
    w->s[op->in.dst.code] = value;
}

static inline void em_dst64(struct em_wave *w, const struct em_op *op, uint64_t value)
{
    em_set_s64(w, op->in.dst.code, value);
}

/* Marks the results written where the sources were; the fault that EXEC gets a value
 * which never was. */
enum em_flow em_scalar_track(struct em_wave *w, const struct em_op *op);

static inline enum em_flow em_scalar_done(struct em_wave *w, const struct em_op *op)
{
    return w->shadow ? em_scalar_track(w, op) : EM_GO;
}

#endif
