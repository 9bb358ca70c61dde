/* What scalar instructions compute, said a second time: bit by bit and in wide
 * integers, after the manual's prose and apart from the emulator's own code. */
#ifndef WF_TESTS_EMULATOR_SCALAR_REFERENCE_H
#define WF_TESTS_EMULATOR_SCALAR_REFERENCE_H

#include "emulator/isa/isa.h"

struct scalar_case {
    uint64_t a, b; /* sources, zero-extended from their widths */
    uint64_t old;  /* what the destination held */
    uint64_t exec;
    unsigned scc;
    uint16_t constant; /* SOPK */
};

struct scalar_result {
    bool writes; /* the destination */
    uint64_t d;
    unsigned scc;
    uint64_t exec;
};

/* False: not an operation of this reference. */
bool scalar_reference(enum em_opcode op,
                      const struct scalar_case *c,
                      struct scalar_result *ret);

#endif
