/* Rules of leases: pure, no I/O. The tables are in lease.def; the SQL of the store does
 * the same steps and a test compares the two. */
#ifndef WF_COORDINATOR_LEASE_H
#define WF_COORDINATOR_LEASE_H

#include <stdbool.h>
#include <stdint.h>

enum wf_shard_state {
#define SHARD_STATE(name, text) WF_SHARD_##name,
#include "coordinator/lease.def"
#undef SHARD_STATE
    WF_SHARD_STATE_COUNT
};

enum wf_shard_event {
#define SHARD_EVENT(name) WF_SHARD_EVENT_##name,
#include "coordinator/lease.def"
#undef SHARD_EVENT
    WF_SHARD_EVENT_COUNT
};

const char *wf_shard_state_name(enum wf_shard_state s); /* as the database has it */
/* False: the event is refused in this state; *ret is not changed. */
bool wf_shard_step(enum wf_shard_state s,
                   enum wf_shard_event e,
                   enum wf_shard_state *ret);

#define WF_LEASE_MAX_INFRA 3

enum wf_return_cause {
    WF_RETURN_DRAIN,  /* the runner stops: nobody's fault, another device may start now
                       */
    WF_RETURN_ERROR,  /* the runner failed on it */
    WF_RETURN_SILENCE /* the session died with it */
};

struct wf_return_rule {
    enum wf_shard_event event;
    int attempt_infra; /* the shard's new count */
    int64_t delay_ms;  /* before it is handed out again */
};

/* What becomes of a leased shard that comes back with `open_tasks` tasks left, after
 * `attempt_infra` failures before this one. A shard of several tasks is divided after
 * the second failure, so that one task that kills its runner does not take the others
 * with it. */
struct wf_return_rule wf_lease_returned(enum wf_return_cause cause,
                                        int attempt_infra,
                                        int64_t open_tasks,
                                        int64_t retry_ms);

#endif
