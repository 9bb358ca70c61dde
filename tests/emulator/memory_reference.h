/* What memory instructions do to one lane, told from their names: written without the
 * emulator's tables, for differential tests. */
#ifndef WF_TESTS_EMULATOR_MEMORY_REFERENCE_H
#define WF_TESTS_EMULATOR_MEMORY_REFERENCE_H

#include "emulator/isa/isa.h"

/* "global_load_dword" and so on. */
const char *reference_name(enum em_opcode op);

/* What a load or store does, of its name: "load_sbyte_d16_hi", "read_b128". */
struct reference_move {
    bool store, sign, d16, high;
    unsigned bytes; /* of a lane; 0: it is no load or store */
};
struct reference_move reference_parse(const char *name);

/* One lane: registers before and after, its memory. */
void reference_load(const struct reference_move *m,
                    const uint8_t *memory,
                    uint32_t *reg);
void reference_store(const struct reference_move *m,
                     uint8_t *memory,
                     const uint32_t *reg);

/* The new value of an atomic's memory, of its name without the prefix: "smax_x2",
 * "pk_add_f16", "rtn_u32" forms as "add_u32". *ret_bytes: 4 or 8; 0: unknown. For
 * comparisons `other` is what is compared with. */
uint64_t reference_atomic(const char *name,
                          uint64_t old,
                          uint64_t data,
                          uint64_t other,
                          unsigned *ret_bytes);

#endif
