/* The table of memory operations. Internal to memory/. */
#ifndef WF_EMULATOR_MEMORY_RULES_H
#define WF_EMULATOR_MEMORY_RULES_H

#include "emulator/memory/target.h"

/* NULL: the operation has no row (it is another unit's, or is not implemented). */
const struct em_memory_rule *em_memory_rule(enum em_opcode op);

/* Whether all registers that the operands span exist. What runs later relies on it. */
bool em_registers_exist(const struct em_inst *in);
/* Whether the operand is `dwords` vector registers or more. */
bool em_vector_of(struct em_operand operand, unsigned dwords);

static inline const struct em_memory_rule *em_rule_of(const struct em_op *op)
{
    return (const struct em_memory_rule *)(uintptr_t)op->data[0];
}

#endif
