/* Which bits of registers are known wherever an instruction runs, for any launch. */
#ifndef WF_SELFTEST_GENERATE_VALUES_H
#define WF_SELFTEST_GENERATE_VALUES_H

#include "selftest/generate_flow.h"

struct gen_values; /* opaque */

/* What the launch makes sure of: work-item ids below block[0] (a power of two is not
 * asked for), block[1] and block[2] 1. */
enum wf_status gen_values_create(const struct gen_flow *flow,
                                 unsigned block_x,
                                 struct gen_values **ret,
                                 struct wf_error *err);
void gen_values_destroy(struct gen_values *values);

/* Whether `now` in the place of the node's instruction gives the same results for all
 * values that its sources can have there. */
bool gen_values_same(const struct gen_values *values,
                     size_t node,
                     const struct em_op *now);

#endif
