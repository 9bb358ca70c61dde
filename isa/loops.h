/* Loops of a kernel: natural ones from back edges, and regions that are entered in
 * several places. */
#ifndef WF_ISA_LOOPS_H
#define WF_ISA_LOOPS_H

#include "isa/flow.h"

#define ISA_NO_LOOP UINT32_MAX

struct isa_loop {
    uint32_t header; /* block */
    uint32_t back_edges;
    bool irreducible; /* entered in several places: header is where it was found */
    uint32_t parent;  /* the smallest loop around it, or ISA_NO_LOOP */
    uint32_t depth;   /* 1: outermost */
    uint32_t children;
    uint32_t *block; /* by address */
    size_t block_count;
};

struct isa_loops {
    struct isa_loop *loop; /* the largest first */
    size_t count;
    bool cut; /* more loops or blocks than are looked at: some are missing */
};

/* Bounded: at most 32768 blocks and 2048 loops are looked at. */
enum wf_status isa_loops_find(const struct isa_flow *f,
                              struct isa_loops *ret,
                              struct wf_error *err);
void isa_loops_fini(struct isa_loops *l);

#endif
