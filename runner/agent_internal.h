/* What the agent's files share. Everything mutable is guarded by `mutex`, except the
 * cancel flags, which only ever go from 0 to 1 while a task runs. */
#ifndef WF_RUNNER_AGENT_INTERNAL_H
#define WF_RUNNER_AGENT_INTERNAL_H

#include "runner/agent.h"
#include "runner/farm_client.h"
#include "runner/spool.h"

#include <pthread.h>

struct wf_agent;

struct wf_agent_device {
    struct wf_agent *agent;
    const struct wf_device *device;
    pthread_t thread;
    bool started, ended;
    char shard[32]; /* what it holds, "" for nothing */
    bool revoked;   /* the shard is not ours any more: report nothing for it */
    volatile int cancel_task;
    volatile int cancel_wait; /* ends a long poll */
    int64_t idle_since_ns;
};

struct wf_agent {
    const struct wf_agent_options *options;
    struct wf_spool *spool;
    struct wf_agent_device *device;
    size_t device_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* CLOCK_MONOTONIC */
    struct wf_farm_session session;
    unsigned generation; /* of the session; 0: none yet */
    bool session_lost;
    int64_t trusted_until_ns; /* CLOCK_BOOTTIME */
    bool draining, stopping, quit;
    volatile int cancel_http; /* of heartbeat and upload */
    bool failed;
    struct wf_error failure;
};

/* --- agent.c --- */
/* Waits on `changed` for at most `ms`; mutex held. */
void wf_agent_wait(struct wf_agent *a, int64_t ms);
/* Ends the agent with this error; the first one stays. */
void wf_agent_fail(struct wf_agent *a, const struct wf_error *why);
/* Tells whoever watches; mutex not held. */
void wf_agent_tell(const struct wf_agent *a, const struct wf_agent_event *e);
struct wf_http_options wf_agent_http(const struct wf_agent *a,
                                     const volatile int *cancel);

/* --- agent_session.c --- */
void *wf_agent_heartbeat_main(void *agent);
/* The calling thread leaves the processors that measurements on our devices use. */
void wf_agent_keep_away(const struct wf_agent *a, bool urgent);
/* Says that the coordinator does not know the session any more. */
void wf_agent_session_lost(struct wf_agent *a, unsigned generation);
/* The shard is not ours: stop what runs for it. mutex held. */
void wf_agent_revoke(struct wf_agent *a, const char *shard);

/* --- agent_upload.c --- */
void *wf_agent_upload_main(void *agent);
/* Waits until the entry and all older ones have left the spool. */
bool wf_agent_wait_uploaded(struct wf_agent *a, const char *name, int64_t timeout_ms);

/* --- agent_device.c --- */
void *wf_agent_device_main(void *device);
/* Neither draining nor robbed of its shard: the next task may begin. */
bool wf_agent_may_go_on(struct wf_agent_device *d);

/* --- agent_task.c --- */
struct wf_json;
/* Runs one task of a lease and spools its result. ECANCELLED when the lease went away
 * meanwhile; other errors are the runner's own (the shard goes back). `ret_name` is the
 * spool entry. */
enum wf_status wf_agent_run_task(struct wf_agent_device *d,
                                 struct wf_farm_client *client,
                                 const struct wf_json *shard,
                                 const struct wf_json *task,
                                 char ret_name[WF_SPOOL_NAME],
                                 struct wf_error *err);

/* Steps of it that rounds of a gate share. The dataset that the case names ("sha256:
 * <hex>" in any string member): */
enum wf_status wf_agent_fetch_datasets(struct wf_farm_client *client,
                                       const char *cache,
                                       const struct wf_json *case_json,
                                       struct wf_error *err);
/* The record of provenance as a file in the cache; *ret NULL when `record` is none. */
enum wf_status wf_agent_write_provenance(const struct wf_agent *a,
                                         const char *pack_id,
                                         const struct wf_json *record,
                                         char **ret,
                                         struct wf_error *err);
/* What POST /v1/results takes for one task. */
enum wf_status wf_agent_make_entry(const struct wf_json *shard,
                                   const char *task,
                                   const struct wf_json *result,
                                   struct wf_buf *out,
                                   struct wf_error *err);
enum wf_status wf_agent_spool_entry(struct wf_agent_device *d,
                                    const struct wf_buf *entry,
                                    char ret_name[WF_SPOOL_NAME],
                                    struct wf_error *err);

/* --- agent_gate.c --- */
struct wf_agent_round {
    size_t spooled;
    char last_entry[WF_SPOOL_NAME]; /* "" when nothing was spooled */
    bool drained;                   /* ended early by a drain */
};
/* A shard with a member "gate". What is left is given back by the caller unless OK. */
enum wf_status wf_agent_run_gate(struct wf_agent_device *d,
                                 struct wf_farm_client *client,
                                 const struct wf_json *shard,
                                 struct wf_agent_round *out,
                                 struct wf_error *err);

#endif
