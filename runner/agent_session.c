/* The session: registration, heartbeats, and what follows when they stop. The heartbeat
 * thread is the only one that registers anew. */
#include "runner/agent_internal.h"

#include "core/clock.h"
#include "core/log.h"
#include "runner/placement.h"
#include "runner/trust.h"

#include <string.h>

#define NS_PER_MS 1000000LL
#define RETRY_MS  1000

static int64_t boot_ns(void)
{
    const struct wf_clock *c = wf_clock_system();
    return c->boot_ns(c->ctx);
}

void wf_agent_revoke(struct wf_agent *a, const char *shard)
{
    for (size_t i = 0; i < a->device_count; i++) {
        struct wf_agent_device *d = &a->device[i];
        bool mine =
            d->shard[0] != '\0' && (shard == NULL || strcmp(d->shard, shard) == 0);
        if (mine && !d->revoked) {
            wf_log(WF_LOG_WARN, "shard %s is not ours any more: stopped", d->shard);
            d->revoked = true;
            d->cancel_task = 1;
        }
    }
}

void wf_agent_session_lost(struct wf_agent *a, unsigned generation)
{
    pthread_mutex_lock(&a->mutex);
    if (generation == a->generation && !a->session_lost) {
        a->session_lost = true;
        wf_agent_revoke(a, NULL);
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->mutex);
}

/* One attempt; the heartbeat thread repeats it. */
static enum wf_status register_once(struct wf_agent *a,
                                    struct wf_farm_client *client,
                                    struct wf_error *err)
{
    struct wf_farm_session session;
    const struct wf_agent_options *o = a->options;
    int64_t start = boot_ns();
    enum wf_status status =
        wf_farm_register(client, o->name, o->device, o->device_count, o->label,
                         o->label_count, &session, err);
    if (status != WF_OK) {
        return status;
    }
    pthread_mutex_lock(&a->mutex);
    a->session = session;
    a->session_lost = false;
    a->generation++;
    a->trusted_until_ns = wf_trusted_until_ns(start, session.ttl_ms * NS_PER_MS);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    wf_log(WF_LOG_INFO, "registered session=%s ttl_ms=%lld", session.id,
           (long long)session.ttl_ms);
    wf_agent_tell(a, &(struct wf_agent_event){ .kind = WF_AGENT_REGISTERED,
                                               .session = session.id });
    return WF_OK;
}

/* Marks what the answer says must stop; sets drain. */
static void obey(struct wf_agent *a, const struct wf_json *answer)
{
    bool drain = false;
    const struct wf_json *list = wf_json_find(answer, "must_stop");
    (void)wf_json_opt_bool(answer, "drain", &drain, NULL);
    pthread_mutex_lock(&a->mutex);
    for (const struct wf_json *s = wf_json_first(list); s != NULL;
         s = wf_json_next(s)) {
        if (wf_json_string(s) != NULL) {
            wf_agent_revoke(a, wf_json_string(s));
        }
    }
    a->draining = a->draining || drain;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

static enum wf_status beat(struct wf_agent *a,
                           struct wf_farm_client *client,
                           struct wf_error *err)
{
    char session[sizeof(a->session.id)];
    struct wf_json *answer = NULL;
    int64_t ttl_ms = 0;
    pthread_mutex_lock(&a->mutex);
    memcpy(session, a->session.id, sizeof(session));
    ttl_ms = a->session.ttl_ms;
    unsigned generation = a->generation;
    pthread_mutex_unlock(&a->mutex);
    int64_t start = boot_ns();
    enum wf_status status = wf_farm_heartbeat(client, session, &answer, err);
    if (status == WF_ENOTFOUND) {
        wf_agent_session_lost(a, generation);
    }
    if (status != WF_OK) {
        return status;
    }
    (void)wf_json_opt_i64(answer, "ttl_ms", 1, 86400000, &ttl_ms, NULL);
    pthread_mutex_lock(&a->mutex);
    a->session.ttl_ms = ttl_ms;
    a->trusted_until_ns = wf_trusted_until_ns(start, ttl_ms * NS_PER_MS);
    pthread_mutex_unlock(&a->mutex);
    obey(a, answer);
    wf_json_free(answer);
    return WF_OK;
}

/* What runs when the trust window has ended is killed: the coordinator may have given
 * it to somebody else. */
static void enforce_trust(struct wf_agent *a)
{
    pthread_mutex_lock(&a->mutex);
    if (a->generation > 0 && !wf_is_trusted(a->trusted_until_ns, boot_ns())) {
        wf_agent_revoke(a, NULL);
    }
    pthread_mutex_unlock(&a->mutex);
}

/* Sleeps until the next beat is due, something changed, or the trust window ends. */
static bool wait_for_beat(struct wf_agent *a, int64_t ms)
{
    int64_t until = wf_monotonic_ns() + ms * NS_PER_MS;
    pthread_mutex_lock(&a->mutex);
    while (!a->quit && !a->session_lost) {
        int64_t left_ms = (until - wf_monotonic_ns()) / NS_PER_MS;
        int64_t trust_ms = (a->trusted_until_ns - boot_ns()) / NS_PER_MS + 1;
        if (left_ms <= 0 || (a->generation > 0 && trust_ms <= 0)) {
            break;
        }
        wf_agent_wait(a, a->generation > 0 && trust_ms < left_ms ? trust_ms : left_ms);
    }
    bool quit = a->quit;
    pthread_mutex_unlock(&a->mutex);
    return !quit;
}

static enum wf_status step(struct wf_agent *a,
                           struct wf_farm_client *client,
                           struct wf_error *err)
{
    pthread_mutex_lock(&a->mutex);
    bool need = a->generation == 0 || a->session_lost;
    pthread_mutex_unlock(&a->mutex);
    return need ? register_once(a, client, err) : beat(a, client, err);
}

/* False when it is time to quit. A session that was just found gone is registered anew
 * at once; one that cannot be registered is tried again after a pause. */
static bool pause_after(struct wf_agent *a, enum wf_status status)
{
    pthread_mutex_lock(&a->mutex);
    int64_t ms = status == WF_OK ? a->session.heartbeat_ms : RETRY_MS;
    bool lost = a->session_lost;
    bool quit = a->quit;
    if (lost && !quit && status != WF_ENOTFOUND) {
        wf_agent_wait(a, RETRY_MS);
    }
    pthread_mutex_unlock(&a->mutex);
    return !quit && (lost || wait_for_beat(a, ms));
}

void wf_agent_keep_away(const struct wf_agent *a, bool urgent)
{
    cpu_set_t measuring;
    placement_measuring_cpus(a->options->device, a->options->device_count, "/sys",
                             &measuring);
    if (!placement_keep_away(&measuring, urgent) && urgent) {
        wf_log(WF_LOG_INFO, "heartbeats share processors with measurements: there are "
                            "no others");
    }
}

void *wf_agent_heartbeat_main(void *agent)
{
    struct wf_agent *a = agent;
    wf_agent_keep_away(a, true);
    struct wf_error err = { 0 };
    struct wf_farm_client *client = NULL;
    struct wf_http_options http = wf_agent_http(a, &a->cancel_http);
    bool said = false;
    http.timeout_ms = 5000;
    http.retry_budget_ms = 0; /* a beat is repeated soon anyway */
    if (wf_farm_client_create(&http, &client, &err) != WF_OK) {
        wf_agent_fail(a, &err);
        return NULL;
    }
    for (;;) {
        enum wf_status status = step(a, client, &err);
        if (status == WF_EREFUSED || status == WF_EINVAL) {
            wf_agent_fail(a, &err);
        }
        if (status != WF_OK && status != WF_ENOTFOUND && !said) {
            wf_log(WF_LOG_WARN, "coordinator: %s (trying on)", err.text);
        }
        said = status != WF_OK;
        enforce_trust(a);
        if (!pause_after(a, status)) {
            break;
        }
    }
    wf_farm_client_destroy(client);
    return NULL;
}
