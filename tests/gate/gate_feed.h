/* Gates fed with made-up blocks, for tests of the rule. */
#ifndef WF_TESTS_GATE_GATE_FEED_H
#define WF_TESTS_GATE_GATE_FEED_H

#include "gate/gate.h"

#include "core/rng.h"

/* Aborts the test on an error. */
struct wf_gate *feed_gate(const struct wf_gate_rule *rule); /* NULL: that of a PR */
/* Number of the pair. */
size_t feed_pair(struct wf_gate *g, enum wf_gate_role role, int device);
/* One block: normal noise with standard deviation `noise`, the candidate `effect`
 * longer. */
struct wf_gate_block feed_block(struct wf_rng *r,
                                int32_t round,
                                double noise,
                                double effect);
void feed_add(struct wf_gate *g, size_t pair, const struct wf_gate_block *b);
/* A rejected one. */
void feed_lose(struct wf_gate *g, size_t pair, int32_t round);
size_t feed_decide(struct wf_gate *g);
enum wf_gate_verdict feed_verdict(const struct wf_gate *g, size_t pair);
enum wf_gate_reason feed_reason(const struct wf_gate *g, size_t pair);

#endif
