/* Transcendental functions, steps of division, exponents and mantissas. */
#include "emulator/exec/valu.h"

const struct em_valu_row em_valu_special[] = { { 0, 0, NULL } };
