/* A kernel's machine code as a graph, and what is known of it on every path.
 *
 * Whatever is told here holds for any launch: only what the instructions say is used,
 * never what a run has shown. Where code calls through registers or changes which
 * registers an instruction names, there is no graph (EUNSUPPORTED). */
#ifndef WF_SELFTEST_GENERATE_FLOW_H
#define WF_SELFTEST_GENERATE_FLOW_H

#include "core/error.h"
#include "emulator/exec/code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of registers: a bit an operand code (isa.h), EM_SCC too. */
#define GEN_REGISTERS (EM_AGPR0 + 256)
#define GEN_WORDS     (GEN_REGISTERS / 64)
struct gen_set {
    uint64_t w[GEN_WORDS];
};
void gen_set_add(struct gen_set *set, unsigned code, unsigned count);
bool gen_set_has(const struct gen_set *set, unsigned code);
bool gen_set_meets(const struct gen_set *a, const struct gen_set *b);

/* What an instruction reads and writes, EXEC and SCC included. */
struct gen_use {
    struct gen_set read, written;
    bool pure;       /* nothing but registers: no memory, branch, wait, mode, message */
    bool every_lane; /* its vector results are written whatever EXEC holds */
    bool masked;     /* its vector results are written where EXEC is set */
    bool keeps;      /* may leave a part of its results as it was */
};
void gen_use_of(const struct em_op *op, struct gen_use *ret);

struct gen_node {
    uint32_t at;     /* index of its dword in the code */
    int32_t next[2]; /* nodes; -1: none */
    const struct em_op *op;
    struct gen_use use;
    struct gen_set live; /* behind it: registers that may still be read */
    bool entry_exec;     /* EXEC is what it was at the entry, on every path */
};

struct gen_flow {
    struct gen_node *node;
    size_t count;
    size_t entry;      /* node */
    int32_t *of_dword; /* node of a dword of the code; -1: never reached */
    size_t dwords;
};

enum wf_status gen_flow_create(const struct em_code *code,
                               uint32_t entry,
                               struct gen_flow *ret,
                               struct wf_error *err);
void gen_flow_free(struct gen_flow *flow);

/* Whether all that `use` writes at that node is never read again. */
bool gen_flow_dead(const struct gen_flow *flow, size_t node, const struct gen_use *use);

#endif
