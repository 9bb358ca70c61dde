/* Creates waves. */
#include "emulator/exec/wave.h"

#include <stdlib.h>

struct em_wave *em_wave_create(void)
{
    struct em_wave *w = aligned_alloc(64, sizeof(*w));
    uint32_t *v = aligned_alloc(64, (size_t)EM_ROWS * EM_LANES * sizeof(*v));
    if (!w || !v) {
        free(w);
        free(v);
        return NULL;
    }
    memset(w, 0, sizeof(*w));
    memset(v, 0, (size_t)EM_ROWS * EM_LANES * sizeof(*v));
    w->v = v;
    w->vgprs = 256;
    w->agprs = 256;
    w->sgprs = EM_FLAT_SCRATCH;
    em_set_s64(w, EM_EXEC, ~UINT64_C(0));
    return w;
}

void em_wave_destroy(struct em_wave *w)
{
    if (w) {
        free(w->v);
        free(w);
    }
}
