#include "emulator/exec/wave.h"

bool em_bind_scalar(struct em_op *op)
{
    (void)op;
    return false;
}
