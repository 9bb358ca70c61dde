#include "coordinator/gate_groups.h"

#include "gate/header.h"

#include <string.h>

static size_t count(const struct wf_gate_place *place,
                    size_t n,
                    const char *model,
                    bool idle_alone)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        found += strcmp(place[i].model, model) == 0 && !(idle_alone && place[i].busy);
    }
    return found;
}

static const char *pick_model(const struct wf_gate_place *place, size_t n)
{
    const char *best = place[0].model;
    for (size_t i = 1; i < n; i++) {
        const char *model = place[i].model;
        size_t idle = count(place, n, model, true);
        size_t most = count(place, n, best, true);
        if (idle > most || (idle == most && count(place, n, model, false) >
                                                count(place, n, best, false))) {
            best = model;
        }
    }
    return best;
}

int wf_gate_groups_pick(const struct wf_gate_place *place,
                        size_t n,
                        size_t measured_pairs,
                        size_t *ret)
{
    if (n == 0) {
        return 0;
    }
    const char *model = pick_model(place, n);
    size_t idle = count(place, n, model, true);
    size_t groups = measured_pairs / WF_GATE_GROUP_PAIRS;
    groups = groups > idle ? idle : groups;
    groups = groups > WF_GATE_MAX_GROUPS ? WF_GATE_MAX_GROUPS : groups;
    groups = groups > 0 ? groups : 1;
    size_t at = 0;
    for (int busy = 0; busy < 2; busy++) {
        for (size_t i = 0; i < n && at < groups; i++) {
            if (strcmp(place[i].model, model) == 0 && place[i].busy == (busy == 1)) {
                ret[at++] = i;
            }
        }
    }
    return (int)at;
}
