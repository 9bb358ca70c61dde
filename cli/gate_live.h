/* What a gate shows while it runs, on standard error: on a terminal a progress line and
 * a table of the pairs that are still open, redrawn after each round; elsewhere a plain
 * line now and then. Nothing fails for its sake. */
#ifndef WF_CLI_GATE_LIVE_H
#define WF_CLI_GATE_LIVE_H

#include "gate/record.h"

#include <stdbool.h>

struct gate_live; /* opaque */

/* `table`: the table, too, where standard error is a terminal. */
enum wf_status gate_live_create(bool table,
                                struct gate_live **ret,
                                struct wf_error *err);
void gate_live_free(struct gate_live *l); /* clears what stands there; NULL is good */
void gate_live_round(struct gate_live *l, int32_t round, size_t pairs);
void gate_live_pair(struct gate_live *l,
                    int32_t round,
                    size_t taken,
                    size_t pairs,
                    const char *key);
void gate_live_decided(struct gate_live *l, struct wf_gate_record *record);

#endif
