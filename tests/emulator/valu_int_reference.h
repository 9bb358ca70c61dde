/* A second description of the vector integer operations and comparisons, one lane at a
 * time and without tables, written from the instruction set's words. */
#ifndef WF_TESTS_EMULATOR_VALU_INT_REFERENCE_H
#define WF_TESTS_EMULATOR_VALU_INT_REFERENCE_H

#include "emulator/isa/isa.h"

struct lane_in {
    uint64_t s[3]; /* zero above the operand's width */
    bool mask;     /* carry in, condition */
    bool clamp;
    bool flush_f32, flush_f64_f16; /* denormal sources */
    unsigned lane;
};
struct lane_out {
    uint64_t d;
    bool mask; /* carry out; a comparison's result */
};

/* False where the operation is none of integers, bits or comparisons. */
bool reference_lane(enum em_opcode op, const struct lane_in *in, struct lane_out *ret);

#endif
