/* What a stretch of instructions consists of. */
#ifndef WF_ISA_MIX_H
#define WF_ISA_MIX_H

#include "core/error.h"
#include "isa/classify.h"

#include <stddef.h>

struct isa_mix {
    uint32_t instructions;
    uint32_t kind[ISA_KIND_COUNT];
    /* A pass is 4 clocks. Matrix instructions by their published passes; vector ones 1,
     * transcendentals and 32-bit multiplications 4. */
    uint64_t mfma_passes, valu_passes, mfma_flops;
    uint32_t vm_drains, vm_counted;      /* s_waitcnt vmcnt(0); vmcnt(1..62) */
    uint32_t lgkm_drains, lgkm_counted;  /* lgkmcnt(0); lgkmcnt(1..14) */
    uint64_t load_bytes, load_lds_bytes; /* a lane, of loads from global memory */
    uint64_t lds_read_bytes, lds_write_bytes;
};
void isa_mix_add(struct isa_mix *m, const struct em_op *op);
uint32_t isa_mix_vector(const struct isa_mix *m);  /* instructions */
uint32_t isa_mix_scratch(const struct isa_mix *m); /* instructions */

/* How often each memory, matrix and wait instruction is there. */
struct isa_tally {
    uint16_t op; /* enum em_opcode */
    uint8_t kind;
    uint16_t wait;  /* s_waitcnt: its bits */
    unsigned bytes; /* a lane */
    uint32_t count;
};
struct isa_tallies {
    struct isa_tally *item; /* by kind, then by falling count */
    size_t count;
};
enum wf_status isa_tallies_make(const struct em_op *const *op,
                                size_t count,
                                struct isa_tallies *ret,
                                struct wf_error *err);

#endif
