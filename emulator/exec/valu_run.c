#include "emulator/exec/wave.h"

bool em_bind_valu(struct em_op *op)
{
    (void)op;
    return false;
}
