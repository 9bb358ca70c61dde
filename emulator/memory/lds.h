/* Parts of the DS unit. Internal to memory/. */
#ifndef WF_EMULATOR_MEMORY_LDS_H
#define WF_EMULATOR_MEMORY_LDS_H

#include "emulator/exec/wave.h"

/* NULL where the operation does not move between lanes (swizzle, permute, ...). */
em_run_fn em_lds_cross(enum em_opcode op);
/* A DS operation's destination holds the LDS counter until it is waited for. */
void em_lds_issued(struct em_wave *w, const struct em_op *op);

#endif
