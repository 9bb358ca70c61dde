/* The inverse of em_decode: for whoever changes or writes programs. */
#ifndef WF_EMULATOR_ISA_ENCODE_H
#define WF_EMULATOR_ISA_ENCODE_H

#include "emulator/isa/isa.h"

/* Words of an instruction whose fields are as em_decode leaves them; *count is 1 or 2.
 * False: the operation does not exist in in->encoding. Fields that its encoding cannot
 * hold are cut off, so compare em_decode of the words where that matters. */
bool em_encode(const struct em_inst *in, uint32_t words[2], size_t *count);

#endif
