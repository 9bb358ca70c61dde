/* What a mutant changes in one instruction. */
#ifndef WF_SELFTEST_GENERATE_KINDS_H
#define WF_SELFTEST_GENERATE_KINDS_H

#include "emulator/exec/code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, text for people) */
#define GEN_KIND_LIST(X)                        \
    X(WAIT_DROPPED, "wait dropped")             \
    X(WAIT_WEAKENED, "wait weakened")           \
    X(BARRIER_DROPPED, "barrier dropped")       \
    X(IMMEDIATE, "immediate changed")           \
    X(OFFSET, "offset changed")                 \
    X(REGISTER, "register changed")             \
    X(EXCHANGED, "operands exchanged")          \
    X(CONDITION, "condition changed")           \
    X(BRANCH, "branch changed")                 \
    X(OPCODE, "operation changed")              \
    X(EXEC, "EXEC mishandled")                  \
    X(LOAD_DROPPED, "load dropped")             \
    X(STORE_DROPPED, "store dropped")           \
    X(MATRIX_DROPPED, "matrix product dropped") \
    X(MATRIX_DOUBLED, "matrix product doubled") \
    X(MODIFIER, "modifier changed")             \
    X(LANES, "lanes or parts changed")          \
    X(DESCRIPTOR, "buffer descriptor changed")

enum gen_kind {
#define X(name, text) GEN_##name,
    GEN_KIND_LIST(X)
#undef X
    GEN_KINDS
};
const char *gen_kind_name(enum gen_kind kind);

/* One instruction with other words, as many dwords as before. */
struct gen_change {
    uint32_t at; /* index of its first dword in the code */
    uint8_t kind;
    uint8_t words;    /* how many are changed: 1 to 4 */
    uint32_t word[4]; /* a shorter instruction is followed by s_nop */
};

/* What the kernel has: a register that it does not have is no neighbour. */
struct gen_limits {
    unsigned sgprs, vgprs, agprs;
};

/* Called for each change that can be made at that instruction; all decode to what they
 * are meant to be, and are different from each other and from the instruction. */
typedef void (*gen_emit_fn)(void *ctx, const struct gen_change *change);
void gen_enumerate(const struct em_code *code,
                   uint32_t at,
                   const struct gen_limits *limits,
                   gen_emit_fn emit,
                   void *ctx);

/* What the change does not reach: s_nop, s_sleep, s_setprio and the like, cache
 * policies. They say when, not what. */
bool gen_is_hint(const struct em_inst *in);
/* `a op b` is `b op a`. */
bool gen_commutes(const struct em_inst *in);
/* s_waitcnt's counters in its constant. */
unsigned gen_wait_vm(uint16_t simm);
unsigned gen_wait_lgkm(uint16_t simm);

#endif
