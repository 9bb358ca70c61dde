/* Which bits of registers are known wherever an instruction runs, for any launch. */
#ifndef WF_SELFTEST_GENERATE_VALUES_H
#define WF_SELFTEST_GENERATE_VALUES_H

#include "selftest/generate_bits.h"
#include "selftest/generate_flow.h"

struct gen_values; /* opaque */

/* A dword of the kernel's arguments of which something is known. */
struct gen_argument {
    uint32_t offset; /* bytes */
    struct gen_bits bits;
};

/* What every launch that the pack allows makes sure of. */
struct gen_launch {
    unsigned block_x;    /* greatest number of work-items in x, y and z 1; 0: unknown */
    unsigned kernarg;    /* SGPR pair with the arguments' address; EM_NONE */
    unsigned workgroup;  /* first SGPR of a workgroup's index */
    unsigned workgroups; /* how many of them: each is below 2^31 */
    bool whole_waves;    /* EXEC starts with all lanes */
    const struct gen_argument *argument;
    size_t arguments;
};

enum wf_status gen_values_create(const struct gen_flow *flow,
                                 const struct gen_launch *launch,
                                 struct gen_values **ret,
                                 struct wf_error *err);
void gen_values_destroy(struct gen_values *values);

const struct gen_node *gen_values_node(const struct gen_values *values, size_t node);
/* Known bits of source `i` of an instruction in the place of the node's; `half` 1: the
 * upper dword of a pair. */
struct gen_state;
const struct gen_state *gen_values_at(struct gen_values *values, size_t node);
struct gen_bits gen_source(const struct gen_state *s,
                           const struct em_inst *in,
                           unsigned i,
                           unsigned half);
/* Result of an instruction of 32 bits (or half of a pair); nothing known where it is
 * not one that is understood. */
struct gen_bits gen_result(const struct gen_state *s,
                           const struct em_inst *in,
                           unsigned half);

/* Whether `now` in the place of the node's instruction gives the same results for all
 * values that its sources can have there. */
bool gen_values_same(struct gen_values *values, size_t node, const struct em_op *now);

#endif
