/* How a gate is spread over devices: pure rules. */
#ifndef WF_COORDINATOR_GATE_GROUPS_H
#define WF_COORDINATOR_GATE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

/* A group has so many measured pairs at least: sentinels cost each group the same. */
#define WF_GATE_GROUP_PAIRS 8

struct wf_gate_place {
    const char *model;
    bool busy;
};

/* All groups are on devices of one model: the one with most idle devices, then with
 * most devices, then the first. Returns how many groups there are (0: no device), and
 * in `ret` the devices' indices, idle ones first; room for `n`. */
int wf_gate_groups_pick(const struct wf_gate_place *place,
                        size_t n,
                        size_t measured_pairs,
                        size_t *ret);

#endif
