/* Conversions between numeric types. */
#include "emulator/exec/valu.h"

const struct em_valu_row em_valu_convert[] = { { 0, 0, NULL } };
