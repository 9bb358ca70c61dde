/* The agent: leases shards from a coordinator for each of its devices, executes their
 * tasks, spools every result on disk and hands it over until it is acknowledged.
 *
 * It promises: no result that is spooled is lost; what runs under a lease is killed
 * when the lease cannot be trusted any more; a drain finishes the running task, hands
 * over all results and gives the rest of its shards back. docs/wire.md has the
 * protocol. */
#ifndef WF_RUNNER_AGENT_H
#define WF_RUNNER_AGENT_H

#include "core/error.h"
#include "core/http_client.h"
#include "runner/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happened, for whoever watches. Texts are borrowed for the call; those that an
 * event does not have are NULL. */
enum wf_agent_event_kind {
    WF_AGENT_REGISTERED, /* session */
    WF_AGENT_LEASE,      /* shard, device, tasks */
    WF_AGENT_RESULT      /* shard, task, verdict: the coordinator has decided */
};

struct wf_agent_event {
    enum wf_agent_event_kind kind;
    const char *session, *shard, *device, *task;
    const char *verdict; /* "accepted", "duplicate", "stale" or "refused" */
    size_t tasks;
};

struct wf_agent_options {
    struct wf_http_options server; /* base_url, token, TLS; time-outs are the agent's */
    const char *name;              /* of this runner, [A-Za-z0-9._-] */
    const char *spool_folder;      /* one agent at a time (locked) */
    const char *cache_folder;      /* shared by the agents of a machine */
    const char *const *label;
    size_t label_count;
    const struct wf_device *device;
    size_t device_count;
    int threads; /* for references, 0: all processors */
    int64_t
        lock_timeout_ms;  /* waiting for a device that others measure on; 0: 10 min */
    int64_t idle_exit_ms; /* end when there was no work for so long; 0: never */
    int64_t drain_timeout_ms; /* 0: 120 s; then the running task is killed */
    /* NULL: nobody watches. Called by any of the agent's threads, several at a time. */
    void (*event)(void *ctx, const struct wf_agent_event *e);
    void *event_ctx;
};

/* Runs until `*drain` becomes non-zero (SIGTERM) and everything is handed over, or
 * `*stop` (second signal): then running tasks are killed and given back at once. An
 * unreachable coordinator is waited for, not an error; a refused token is. */
enum wf_status wf_agent_run(const struct wf_agent_options *options,
                            const volatile int *drain,
                            const volatile int *stop,
                            struct wf_error *err);

#endif
