/* Shard transitions and what becomes of a returned shard. Pure. */
#include "coordinator/lease.h"

#include <stddef.h>

struct step {
    int from, event, to;
};

static const struct step shard_steps[] = {
#define SHARD_STEP(from, event, to) \
    { WF_SHARD_##from, WF_SHARD_EVENT_##event, WF_SHARD_##to },
#include "coordinator/lease.def"
#undef SHARD_STEP
};

static const char *const shard_names[] = {
#define SHARD_STATE(name, text) text,
#include "coordinator/lease.def"
#undef SHARD_STATE
};

const char *wf_shard_state_name(enum wf_shard_state s)
{
    return (unsigned)s < WF_SHARD_STATE_COUNT ? shard_names[s] : "?";
}

static const struct step *find(const struct step *steps, size_t n, int from, int event)
{
    for (size_t i = 0; i < n; i++) {
        if (steps[i].from == from && steps[i].event == event) {
            return &steps[i];
        }
    }
    return NULL;
}

bool wf_shard_step(enum wf_shard_state s,
                   enum wf_shard_event e,
                   enum wf_shard_state *ret)
{
    const struct step *step =
        find(shard_steps, sizeof shard_steps / sizeof shard_steps[0], (int)s, (int)e);
    if (!step) {
        return false;
    }
    *ret = (enum wf_shard_state)step->to;
    return true;
}

struct wf_return_rule wf_lease_returned(enum wf_return_cause cause,
                                        int attempt_infra,
                                        int64_t open_tasks,
                                        int64_t retry_ms)
{
    struct wf_return_rule rule = { WF_SHARD_EVENT_GIVE_BACK, attempt_infra, 0 };
    if (open_tasks <= 0) {
        rule.event = WF_SHARD_EVENT_LAST_RESULT;
        return rule;
    }
    if (cause == WF_RETURN_DRAIN) {
        return rule;
    }
    rule.attempt_infra = attempt_infra + 1;
    if (rule.attempt_infra >= WF_LEASE_MAX_INFRA) {
        rule.event = WF_SHARD_EVENT_GIVE_UP;
        return rule;
    }
    if (rule.attempt_infra == WF_LEASE_MAX_INFRA - 1 && open_tasks > 1) {
        rule.event = WF_SHARD_EVENT_DIVIDE;
    }
    /* A dead session cannot take it again at once; a live one that failed could. */
    rule.delay_ms = cause == WF_RETURN_ERROR ? retry_ms : 0;
    return rule;
}
