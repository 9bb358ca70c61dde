#include "emulator/exec/wave.h"

bool em_bind_lds(struct em_op *op)
{
    (void)op;
    return false;
}
