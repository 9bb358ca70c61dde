/* Operations that a mutant puts in the place of another one. */
#ifndef WF_SELFTEST_GENERATE_OPS_H
#define WF_SELFTEST_GENERATE_OPS_H

#include <stddef.h>
#include <stdint.h>

enum {
    GEN_OTHERS_MAX = 8
};
/* Each fills `ret` and returns how many there are. The encodings that have the other
 * operation too are the encoder's to say. */
size_t gen_other_operations(uint16_t op, uint16_t ret[GEN_OTHERS_MAX]);
size_t gen_other_conditions(uint16_t op, uint16_t ret[GEN_OTHERS_MAX]);
size_t gen_other_branches(uint16_t op, uint16_t ret[GEN_OTHERS_MAX]);
size_t gen_other_exec(uint16_t op, uint16_t ret[GEN_OTHERS_MAX]);

#endif
