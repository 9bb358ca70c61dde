/* Start, supervision and end of the agent's threads: one for the heartbeat, one for
 * uploads, one a device. The thread that called wf_agent_run watches the flags. */
#include "runner/agent.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "runner/agent_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_MS 100

void wf_agent_wait(struct wf_agent *a, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_cond_timedwait(&a->changed, &a->mutex, &until);
}

void wf_agent_fail(struct wf_agent *a, const struct wf_error *why)
{
    pthread_mutex_lock(&a->mutex);
    if (!a->failed) {
        a->failed = true;
        a->failure = *why;
    }
    a->draining = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

void wf_agent_tell(const struct wf_agent *a, const struct wf_agent_event *e)
{
    if (a->options->event != NULL) {
        a->options->event(a->options->event_ctx, e);
    }
}

struct wf_http_options wf_agent_http(const struct wf_agent *a,
                                     const volatile int *cancel)
{
    struct wf_http_options o = a->options->server;
    o.connect_timeout_ms = 5000;
    o.timeout_ms = 30000;
    o.retry_budget_ms = 5000;
    o.cancel = cancel;
    return o;
}

static void start_drain(struct wf_agent *a, bool stop)
{
    pthread_mutex_lock(&a->mutex);
    a->draining = true;
    for (size_t i = 0; i < a->device_count; i++) {
        a->device[i].cancel_wait = 1;
        if (stop) {
            a->device[i].cancel_task = 1;
        }
    }
    if (stop) {
        a->stopping = true;
    }
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

static bool devices_ended(struct wf_agent *a)
{
    bool all = true;
    for (size_t i = 0; i < a->device_count; i++) {
        all = all && (a->device[i].ended || !a->device[i].started);
    }
    return all;
}

static bool idle_too_long(struct wf_agent *a)
{
    int64_t now = wf_monotonic_ns();
    if (a->options->idle_exit_ms <= 0) {
        return false;
    }
    for (size_t i = 0; i < a->device_count; i++) {
        const struct wf_agent_device *d = &a->device[i];
        if (d->idle_since_ns == 0 ||
            now - d->idle_since_ns < a->options->idle_exit_ms * 1000000) {
            return false;
        }
    }
    return true;
}

/* Returns when all device threads have ended. */
static void supervise(struct wf_agent *a,
                      const volatile int *drain,
                      const volatile int *stop)
{
    int64_t limit_ms = a->options->drain_timeout_ms;
    int64_t deadline_ns = 0;
    bool announced = false, killed = false;
    limit_ms = limit_ms > 0 ? limit_ms : 120000;
    for (;;) {
        pthread_mutex_lock(&a->mutex);
        wf_agent_wait(a, POLL_MS);
        bool ended = devices_ended(a);
        bool idle = idle_too_long(a);
        bool draining = a->draining;
        pthread_mutex_unlock(&a->mutex);
        if (ended) {
            return;
        }
        if ((*drain || idle || draining) && !announced) {
            wf_log(WF_LOG_INFO, "draining: no new work, handing over results");
            announced = true;
            deadline_ns = wf_monotonic_ns() + limit_ms * 1000000;
            start_drain(a, false);
        }
        bool late = announced && wf_monotonic_ns() > deadline_ns;
        if ((*stop || late) && !killed) {
            wf_log(WF_LOG_WARN, "stopping: running tasks are killed and given back");
            killed = true;
            start_drain(a, true);
        }
    }
}

static enum wf_status init(struct wf_agent *a,
                           const struct wf_agent_options *options,
                           struct wf_error *err)
{
    pthread_condattr_t attr;
    memset(a, 0, sizeof(*a));
    a->options = options;
    pthread_mutex_init(&a->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (!wf_name_is_safe(options->name)) {
        return wf_errorf(err, WF_EINVAL,
                         "runner name '%s': use letters, digits, '.', '_' and '-'",
                         options->name);
    }
    if (options->device_count == 0) {
        return wf_errorf(err, WF_EINVAL, "no device to work for");
    }
    a->device = wf_calloc(options->device_count, sizeof(*a->device));
    if (a->device == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the devices");
    }
    a->device_count = options->device_count;
    for (size_t i = 0; i < a->device_count; i++) {
        a->device[i].agent = a;
        a->device[i].device = &options->device[i];
    }
    return wf_spool_open(options->spool_folder, &a->spool, err);
}

static void start_devices(struct wf_agent *a)
{
    for (size_t i = 0; i < a->device_count; i++) {
        struct wf_agent_device *d = &a->device[i];
        d->started = pthread_create(&d->thread, NULL, wf_agent_device_main, d) == 0;
        if (!d->started) {
            struct wf_error why;
            (void)wf_errorf(&why, WF_ENOMEM, "cannot start a thread for %s",
                            d->device->id);
            wf_agent_fail(a, &why);
        }
    }
}

static void join_devices(struct wf_agent *a)
{
    for (size_t i = 0; i < a->device_count; i++) {
        if (a->device[i].started) {
            pthread_join(a->device[i].thread, NULL);
        }
    }
}

/* Gives the leases back at once instead of letting them run out. */
static void end_session(struct wf_agent *a)
{
    struct wf_error err;
    struct wf_farm_client *client = NULL;
    struct wf_http_options http = wf_agent_http(a, NULL);
    http.retry_budget_ms = 0;
    http.timeout_ms = 3000;
    if (a->generation == 0 || a->session_lost) {
        return;
    }
    enum wf_status status = wf_farm_client_create(&http, &client, &err);
    if (status == WF_OK) {
        status = wf_farm_end(client, a->session.id, &err);
    }
    if (status != WF_OK) {
        wf_log(WF_LOG_WARN, "cannot end the session (it runs out by itself): %s",
               err.text);
    }
    wf_farm_client_destroy(client);
}

static void tell_threads_to_quit(struct wf_agent *a)
{
    pthread_mutex_lock(&a->mutex);
    a->quit = true;
    a->cancel_http = 1;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

static void run_threads(struct wf_agent *a,
                        const volatile int *drain,
                        const volatile int *stop)
{
    pthread_t heartbeat, upload;
    struct wf_error why;
    (void)wf_errorf(&why, WF_ENOMEM, "cannot start the agent's threads");
    if (pthread_create(&heartbeat, NULL, wf_agent_heartbeat_main, a) != 0) {
        wf_agent_fail(a, &why);
        return;
    }
    bool uploading = pthread_create(&upload, NULL, wf_agent_upload_main, a) == 0;
    if (uploading) {
        start_devices(a);
        supervise(a, drain, stop);
        join_devices(a);
    } else {
        wf_agent_fail(a, &why);
    }
    tell_threads_to_quit(a);
    if (uploading) {
        pthread_join(upload, NULL);
    }
    pthread_join(heartbeat, NULL);
    end_session(a);
}

enum wf_status wf_agent_run(const struct wf_agent_options *options,
                            const volatile int *drain,
                            const volatile int *stop,
                            struct wf_error *err)
{
    struct wf_agent a;
    enum wf_status status = init(&a, options, err);
    if (status == WF_OK) {
        run_threads(&a, drain, stop);
        if (a.failed) {
            status = a.failure.status;
            if (err != NULL) {
                *err = a.failure;
            }
        } else if (wf_spool_count(a.spool) > 0) {
            wf_log(WF_LOG_WARN,
                   "%zu results stay in the spool; the next worker with this spool "
                   "sends them",
                   wf_spool_count(a.spool));
        }
    }
    wf_spool_close(a.spool);
    free(a.device);
    pthread_cond_destroy(&a.changed);
    pthread_mutex_destroy(&a.mutex);
    return status;
}
