/* Addresses that straight code makes of its own: s_getpc_b64, then additions of
 * constants. Compilers call functions that way, and reach branches that are too far. */
#ifndef WF_ISA_GETPC_H
#define WF_ISA_GETPC_H

#include "emulator/exec/wave.h"

/* What is known along one path; zeroed at its start. */
struct isa_getpc {
    bool known;
    uint16_t first;  /* the pair's first SGPR */
    uint64_t offset; /* bytes from the start of the code */
    bool constant_known;
    uint16_t constant_in; /* an SGPR that holds `constant` */
    uint32_t constant;
};

/* Takes the instruction at op->index into account. */
void isa_getpc_step(struct isa_getpc *g, const struct em_op *op);
/* The dword that a jump through the instruction's source pair goes to; false: it is not
 * known. */
bool isa_getpc_target(const struct isa_getpc *g, const struct em_op *op, uint32_t *ret);

#endif
