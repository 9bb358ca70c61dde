/* Control flow of one kernel: basic blocks of what its entry reaches, and their loops.
 */
#ifndef WF_ISA_FLOW_H
#define WF_ISA_FLOW_H

#include "core/error.h"
#include "emulator/exec/code.h"

#define ISA_NO_BLOCK UINT32_MAX

struct isa_block {
    uint32_t first; /* dword of its first instruction */
    uint32_t end;   /* behind its last one */
    uint32_t count; /* instructions */
    uint32_t succ[2];
    bool root; /* entry, called function, or found by sweeping the function */
};

struct isa_flow {
    const struct em_code *code;
    struct isa_block *block; /* by first */
    size_t block_count;
    /* A jump or call through a register that is no return, whose address its own path
     * does not make (isa/getpc.h): the function is swept from end to end, so that what
     * only such a jump reaches is seen too. */
    bool indirect;
    bool calls;
    uint32_t instructions;
};

/* Marks for a whole code object, shared by its kernels. */
struct isa_marks; /* opaque */
enum wf_status isa_marks_create(const struct em_code *code,
                                struct isa_marks **ret,
                                struct wf_error *err);
void isa_marks_free(struct isa_marks *m);

/* `end`: behind the function's last dword, 0 where that is not known. Whatever the
 * bytes are, this ends: every dword is visited once at most. */
enum wf_status isa_flow_build(struct isa_marks *marks,
                              uint32_t entry,
                              uint32_t end,
                              struct isa_flow *ret,
                              struct wf_error *err);
void isa_flow_fini(struct isa_flow *f);

/* The block's instruction at *at (a dword), which moves on; NULL at its end. */
const struct em_op *isa_flow_next(const struct isa_flow *f,
                                  const struct isa_block *b,
                                  uint32_t *at);

#endif
