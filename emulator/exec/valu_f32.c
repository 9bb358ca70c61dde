/* Vector arithmetic of 32-bit floats. */
#include "emulator/exec/valu.h"

const struct em_valu_row em_valu_f32[] = { { 0, 0, NULL } };
