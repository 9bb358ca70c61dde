/* What an instruction is, finer than the emulator's counters need it. */
#ifndef WF_ISA_CLASSIFY_H
#define WF_ISA_CLASSIFY_H

#include "emulator/exec/wave.h"

/* X(NAME, name, words) */
#define ISA_KINDS(X)                                            \
    X(MFMA, mfma, "matrix instructions")                        \
    X(ACCVGPR, accvgpr, "v_accvgpr moves")                      \
    X(VALU, valu, "vector instructions but those below")        \
    X(TRANS, trans, "exp, log, rcp, rsq, sqrt, sin, cos")       \
    X(LDS_READ, lds_read, "ds_read")                            \
    X(LDS_WRITE, lds_write, "ds_write")                         \
    X(LDS_PERMUTE, lds_permute, "ds_permute, ds_swizzle")       \
    X(LDS_ATOMIC, lds_atomic, "other DS instructions")          \
    X(LOAD, load, "global, buffer and flat loads to registers") \
    X(LOAD_LDS, load_lds, "loads straight to LDS")              \
    X(STORE, store, "global, buffer and flat stores")           \
    X(ATOMIC, atomic, "global, buffer and flat atomics")        \
    X(SCRATCH_LOAD, scratch_load, "scratch loads")              \
    X(SCRATCH_STORE, scratch_store, "scratch stores")           \
    X(SMEM, smem, "scalar loads")                               \
    X(SALU, salu, "scalar instructions")                        \
    X(BRANCH, branch, "branches")                               \
    X(WAIT, wait, "s_waitcnt")                                  \
    X(BARRIER, barrier, "s_barrier")                            \
    X(PRIORITY, setprio, "s_setprio")                           \
    X(NOP, nop, "s_nop")                                        \
    X(SLEEP, sleep, "s_sleep")                                  \
    X(UNKNOWN, unknown, "what is no instruction of gfx942")     \
    X(OTHER, other, "everything else: s_endpgm, messages, ...")

enum isa_kind {
#define X(NAME, name, words) ISA_##NAME,
    ISA_KINDS(X)
#undef X
    ISA_KIND_COUNT
};
const char *isa_kind_name(enum isa_kind kind);
enum isa_kind isa_classify(const struct em_op *op);
bool isa_is_vector(enum isa_kind kind); /* occupies the vector unit */
bool isa_is_memory(enum isa_kind kind); /* LDS, global or scratch */
bool isa_is_lds(enum isa_kind kind);
/* Bytes that a lane moves: 16 for ds_read_b128, 8 for ds_read2_b32. 0: it moves none.
 */
unsigned isa_lane_bytes(const struct em_op *op, enum isa_kind kind);
/* The counters of s_waitcnt; 63 and 15: not waited for. */
unsigned isa_wait_vmcnt(const struct em_op *op);
unsigned isa_wait_lgkmcnt(const struct em_op *op);
enum {
    ISA_VMCNT_NONE = 63,
    ISA_LGKMCNT_NONE = 15
};

#endif
