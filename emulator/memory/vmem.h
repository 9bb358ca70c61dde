/* Parts of the vector memory unit. Internal to memory/. */
#ifndef WF_EMULATOR_MEMORY_VMEM_H
#define WF_EMULATOR_MEMORY_VMEM_H

#include "emulator/memory/target.h"

enum em_flow em_run_global(struct em_wave *w, const struct em_op *op);
enum em_flow em_run_flat(struct em_wave *w, const struct em_op *op);
enum em_flow em_run_scratch(struct em_wave *w, const struct em_op *op);
enum em_flow em_run_buffer(struct em_wave *w, const struct em_op *op);

/* Checks the registers that are used. False: nothing is left to do (EXEC is 0, which
 * still counts as outstanding, or a fault), and *ret is the result. */
bool em_vmem_begin(struct em_wave *w,
                   const struct em_op *op,
                   unsigned counter,
                   enum em_flow *ret);
/* The operation is on its way. */
void em_vmem_issued(struct em_wave *w, const struct em_op *op, unsigned counter);

/* Loads of t's lanes, and zeros of the lanes of `zero`, go to LDS, at M0 + offset + 4 a
 * lane. */
enum em_flow em_load_to_lds(struct em_wave *w,
                            const struct em_op *op,
                            const struct em_memory_rule *rule,
                            struct em_target *t,
                            uint64_t zero);

#endif
