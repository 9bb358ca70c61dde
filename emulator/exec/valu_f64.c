/* Vector arithmetic of 64-bit floats. */
#include "emulator/exec/valu.h"

const struct em_valu_row em_valu_f64[] = { { 0, 0, NULL } };
