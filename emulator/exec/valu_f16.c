/* Vector arithmetic of 16-bit floats, packed and mixed. */
#include "emulator/exec/valu.h"

const struct em_valu_row em_valu_f16[] = { { 0, 0, NULL } };
