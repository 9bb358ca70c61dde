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

#endif
