#include "emulator/exec/mfma.h"
void em_mfma_exact(const struct em_mfma_job *job)
{
    em_mfma_fast_f32(job);
}
