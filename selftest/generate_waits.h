/* What is on its way when an instruction runs: which registers loads have not filled
 * yet, and which memory instructions have not ended.
 *
 * A counter of s_waitcnt counts down in order (scalar loads: in any order). For each
 * register the least number of memory instructions behind its load, over all paths, is
 * kept: waiting for that many or fewer ends it. This is how compilers place waits too.
 */
#ifndef WF_SELFTEST_GENERATE_WAITS_H
#define WF_SELFTEST_GENERATE_WAITS_H

#include "selftest/generate_flow.h"

struct gen_waits; /* opaque */

enum wf_status gen_waits_create(const struct gen_flow *flow,
                                struct gen_waits **ret,
                                struct wf_error *err);
void gen_waits_destroy(struct gen_waits *waits);

/* Whether no path comes to a register, a barrier or an end of order that something on
 * its way could reach when the s_waitcnt at `node` waits for `simm` instead (0xffff:
 * for nothing). */
bool gen_wait_implied(struct gen_waits *waits, size_t node, uint16_t simm);
/* Whether the barrier at `node` parts nothing: on all paths back to another barrier or
 * the entry, or on all paths on to another one or the end, nothing touches LDS or
 * writes global memory. */
bool gen_barrier_alone(struct gen_waits *waits, size_t node);

#endif
