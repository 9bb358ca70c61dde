/* One device: lease a shard, run its tasks, give back what was not run. */
#include "runner/agent_internal.h"

#include "core/clock.h"
#include "core/log.h"

#include <stdio.h>
#include <string.h>

#define LEASE_WAIT_MS 20000
#define RETRY_MS      1000
#define HAND_OVER_MS  30000

struct lease_outcome {
    size_t run;
    char last_entry[WF_SPOOL_NAME]; /* "" when nothing was spooled */
    char reason[256];               /* why tasks are left, "" when none are */
};

bool wf_agent_may_go_on(struct wf_agent_device *d)
{
    pthread_mutex_lock(&d->agent->mutex);
    bool go = !d->agent->draining && !d->revoked;
    pthread_mutex_unlock(&d->agent->mutex);
    return go;
}

static void run_tasks(struct wf_agent_device *d,
                      struct wf_farm_client *client,
                      const struct wf_json *shard,
                      struct lease_outcome *out)
{
    struct wf_error err = { 0 };
    const struct wf_json *tasks = wf_json_find(shard, "tasks");
    const struct wf_json *t = wf_json_first(tasks);
    for (; t != NULL; t = wf_json_next(t)) {
        if (!wf_agent_may_go_on(d)) {
            snprintf(out->reason, sizeof(out->reason), "draining");
            return;
        }
        enum wf_status status =
            wf_agent_run_task(d, client, shard, t, out->last_entry, &err);
        if (status == WF_ECANCELLED) {
            snprintf(out->reason, sizeof(out->reason), "stopped");
            return;
        }
        if (status != WF_OK) {
            wf_log(WF_LOG_ERROR, "shard %s given back: %s", d->shard, err.text);
            snprintf(out->reason, sizeof(out->reason), "%.255s", err.text);
            return;
        }
        out->run++;
    }
}

static void run_gate(struct wf_agent_device *d,
                     struct wf_farm_client *client,
                     const struct wf_json *shard,
                     struct lease_outcome *out)
{
    struct wf_error err = { 0 };
    struct wf_agent_round round = { 0 };
    enum wf_status status = wf_agent_run_gate(d, client, shard, &round, &err);
    out->run = round.spooled;
    memcpy(out->last_entry, round.last_entry, sizeof(out->last_entry));
    if (status == WF_ECANCELLED) {
        snprintf(out->reason, sizeof(out->reason),
                 round.drained ? "draining" : "stopped");
    } else if (status != WF_OK) {
        wf_log(WF_LOG_ERROR, "shard %s given back: %s", d->shard, err.text);
        snprintf(out->reason, sizeof(out->reason), "%.255s", err.text);
    }
}

/* Uses a client of its own: a drain has cancelled the waiting one. */
static void release(struct wf_agent_device *d, const char *token, const char *reason)
{
    struct wf_error err = { 0 };
    struct wf_farm_client *client = NULL;
    struct wf_http_options http = wf_agent_http(d->agent, NULL);
    http.timeout_ms = 5000;
    enum wf_status status = wf_farm_client_create(&http, &client, &err);
    if (status == WF_OK) {
        status = wf_farm_release(client, d->agent->session.id, d->shard, token, reason,
                                 &err);
    }
    if (status != WF_OK) {
        wf_log(WF_LOG_WARN, "shard %s: %s (its lease will run out)", d->shard,
               err.text);
    }
    wf_farm_client_destroy(client);
}

/* Results first, then the rest of the shard: a release makes later results stale. */
static void give_back(struct wf_agent_device *d,
                      const struct wf_json *shard,
                      const struct lease_outcome *done)
{
    const char *token = "";
    (void)wf_json_opt_string(shard, "token", &token, NULL);
    if (done->last_entry[0] != '\0') {
        (void)wf_agent_wait_uploaded(d->agent, done->last_entry, HAND_OVER_MS);
    }
    if (!d->revoked) {
        release(d, token, done->reason);
    }
}

static void run_shard(struct wf_agent_device *d,
                      struct wf_farm_client *client,
                      const struct wf_json *shard)
{
    struct lease_outcome done = { 0 };
    const char *id = "";
    (void)wf_json_opt_string(shard, "shard", &id, NULL);
    pthread_mutex_lock(&d->agent->mutex);
    snprintf(d->shard, sizeof(d->shard), "%s", id);
    d->revoked = d->agent->session_lost;
    d->cancel_task = d->agent->stopping ? 1 : 0;
    d->idle_since_ns = 0;
    pthread_mutex_unlock(&d->agent->mutex);
    wf_agent_tell(d->agent, &(struct wf_agent_event){
                                .kind = WF_AGENT_LEASE,
                                .shard = id,
                                .device = d->device->id,
                                .tasks = wf_json_count(wf_json_find(shard, "tasks")) });
    if (wf_json_find(shard, "gate") != NULL) {
        run_gate(d, client, shard, &done);
    } else {
        run_tasks(d, client, shard, &done);
    }
    if (done.reason[0] != '\0') {
        give_back(d, shard, &done);
    } else if (done.last_entry[0] != '\0') {
        /* The next lease waits for these: the coordinator sees shards end in order. */
        (void)wf_agent_wait_uploaded(d->agent, done.last_entry, HAND_OVER_MS);
    }
    pthread_mutex_lock(&d->agent->mutex);
    d->shard[0] = '\0';
    d->revoked = false;
    d->cancel_task = 0;
    pthread_mutex_unlock(&d->agent->mutex);
}

/* Waits for a session; false when it is time to end. */
static bool wait_for_session(struct wf_agent_device *d,
                             char session[32],
                             unsigned *generation)
{
    struct wf_agent *a = d->agent;
    pthread_mutex_lock(&a->mutex);
    while (!a->draining && (a->generation == 0 || a->session_lost)) {
        wf_agent_wait(a, RETRY_MS);
    }
    memcpy(session, a->session.id, sizeof(a->session.id));
    *generation = a->generation;
    if (d->idle_since_ns == 0) {
        d->idle_since_ns = wf_monotonic_ns();
    }
    bool go = !a->draining;
    pthread_mutex_unlock(&a->mutex);
    return go;
}

static int64_t lease_wait_ms(const struct wf_agent *a)
{
    int64_t idle = a->options->idle_exit_ms;
    return idle > 0 && idle < LEASE_WAIT_MS ? idle : LEASE_WAIT_MS;
}

static void pause_ms(struct wf_agent *a, int64_t ms)
{
    pthread_mutex_lock(&a->mutex);
    if (!a->draining) {
        wf_agent_wait(a, ms);
    }
    pthread_mutex_unlock(&a->mutex);
}

/* One lease and what it brings. The claim id is kept over lost answers, so that they
 * cost nothing. */
static void lease_once(struct wf_agent_device *d,
                       struct wf_farm_client *client,
                       char claim[37])
{
    char session[32];
    unsigned generation = 0;
    struct wf_error err = { 0 };
    struct wf_json *answer = NULL;
    if (!wait_for_session(d, session, &generation)) {
        return;
    }
    enum wf_status status = wf_farm_lease(client, session, claim, d->device->id,
                                          lease_wait_ms(d->agent), &answer, &err);
    if (status == WF_OK) {
        const struct wf_json *list = wf_json_find(answer, "shards");
        const struct wf_json *s = wf_json_first(list);
        for (; s != NULL; s = wf_json_next(s)) {
            run_shard(d, client, s);
        }
        status = wf_uuid(claim, &err);
    } else if (status == WF_ENOTFOUND) {
        wf_agent_session_lost(d->agent, generation);
        status = WF_OK;
    }
    if (status == WF_EREFUSED || status == WF_EINVAL) {
        wf_agent_fail(d->agent, &err);
    } else if (status != WF_OK && status != WF_ECANCELLED) {
        wf_log(WF_LOG_WARN, "lease for %s: %s", d->device->id, err.text);
        pause_ms(d->agent, RETRY_MS);
    }
    wf_json_free(answer);
}

void *wf_agent_device_main(void *device)
{
    struct wf_agent_device *d = device;
    struct wf_agent *a = d->agent;
    struct wf_error err = { 0 };
    struct wf_farm_client *client = NULL;
    char claim[37];
    struct wf_http_options http = wf_agent_http(a, &d->cancel_wait);
    enum wf_status status = wf_farm_client_create(&http, &client, &err);
    if (status == WF_OK) {
        status = wf_uuid(claim, &err);
    }
    if (status != WF_OK) {
        wf_agent_fail(a, &err);
    }
    bool go = status == WF_OK;
    while (go) {
        lease_once(d, client, claim);
        pthread_mutex_lock(&a->mutex);
        go = !a->draining;
        pthread_mutex_unlock(&a->mutex);
    }
    wf_farm_client_destroy(client);
    pthread_mutex_lock(&a->mutex);
    d->ended = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}
