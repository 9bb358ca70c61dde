/* Creates waves. */
#include "emulator/exec/wave.h"

#include "core/buf.h"

#include <stdlib.h>

enum {
    ALIGNMENT = 64,
    ROW_BYTES = EM_ROWS * EM_LANES * 4
};

/* The rows come zeroed from the system: most kernels touch a part of them only. */
struct em_wave *em_wave_create(void)
{
    struct em_wave *w = aligned_alloc(ALIGNMENT, sizeof(*w));
    uint8_t *rows = wf_calloc(ROW_BYTES + ALIGNMENT, 1);
    if (!w || !rows) {
        free(w);
        free(rows);
        return NULL;
    }
    memset(w, 0, sizeof(*w));
    w->rows = rows;
    w->v = (uint32_t *)(void *)(rows + (-(uintptr_t)rows & (ALIGNMENT - 1)));
    w->vgprs = 256;
    w->agprs = 256;
    w->sgprs = EM_FLAT_SCRATCH;
    em_set_s64(w, EM_EXEC, ~UINT64_C(0));
    return w;
}

void em_wave_destroy(struct em_wave *w)
{
    if (w) {
        free(w->rows);
        free(w);
    }
}
