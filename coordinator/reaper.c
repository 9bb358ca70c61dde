/* Every period: sessions that were silent for longer than their ttl are declared dead,
 * and shards of sessions that are not alive come back. Hourly: partitions of the month
 * to come. All by the database's clock.
 *
 * Several coordinators may run this at once: every step skips or waits for locked rows
 * and does nothing the second time. */
#include "coordinator/reaper.h"

#include "coordinator/metrics.h"
#include "coordinator/store_shards.h"
#include "coordinator/workers.h"
#include "core/clock.h"
#include "core/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define MONTHS_EVERY_NS 3600000000000LL

struct wf_reaper {
    struct wf_app *app;
    struct wf_db *db;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

enum wf_status wf_reaper_round(struct wf_app *app,
                               struct wf_db *db,
                               struct wf_error *err)
{
    int64_t silent = 0;
    struct wf_returned back = { 0 };
    int64_t retry_ms = wf_config_number(app->config, WF_SETTING_retry_delay);
    enum wf_status status = wf_store_find_silent(db, &silent, err);
    if (status == WF_OK) {
        status = wf_store_return_orphans(db, 0, retry_ms, &back, err);
    }
    if (status != WF_OK) {
        return status;
    }
    wf_metrics_add(app->metrics, WF_COUNTER_SESSIONS_LOST, (uint64_t)silent);
    wf_metrics_add(app->metrics, WF_COUNTER_RETURNED, (uint64_t)back.shards);
    wf_metrics_add(app->metrics, WF_COUNTER_TASKS_LOST, (uint64_t)back.lost_tasks);
    if (silent > 0 || back.shards > 0) {
        wf_log(WF_LOG_WARN,
               "sessions went silent or ended: silent=%" PRId64 " shards_back=%" PRId64
               " tasks_lost=%" PRId64,
               silent, back.shards, back.lost_tasks);
    }
    if (back.ready > 0) {
        wf_workers_wake(app->workers, WF_EVENT_TASKS, 0);
    }
    return WF_OK;
}

/* False: time to stop. */
static bool pause_for(struct wf_reaper *r, int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = (int64_t)at.tv_sec * 1000000000 + at.tv_nsec + ms * 1000000;
    at.tv_sec = (time_t)(ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&r->lock);
    while (!r->stop && pthread_cond_timedwait(&r->wake, &r->lock, &at) == 0) {
    }
    bool go = !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go;
}

static void *reaper_main(void *arg)
{
    struct wf_reaper *r = arg;
    int64_t months_ns = 0;
    bool said = false;
    int64_t period = wf_config_number(r->app->config, WF_SETTING_reap_period);
    do {
        struct wf_error err = { 0 };
        int64_t now = wf_monotonic_ns();
        enum wf_status status = wf_reaper_round(r->app, r->db, &err);
        if (status == WF_OK && (months_ns == 0 || now - months_ns > MONTHS_EVERY_NS)) {
            status = wf_db_run(r->db, WF_STMT_ENSURE_MONTHS, NULL, NULL, &err);
            months_ns = now;
        }
        if (status != WF_OK && !said) {
            wf_log(WF_LOG_WARN, "looking for dead sessions: %s (trying on)", err.text);
        }
        if (status == WF_OK && said) {
            wf_log(WF_LOG_INFO, "looking for dead sessions works again");
        }
        said = status != WF_OK;
    } while (pause_for(r, period));
    return NULL;
}

enum wf_status wf_reaper_start(struct wf_app *app,
                               struct wf_reaper **ret,
                               struct wf_error *err)
{
    pthread_condattr_t attr;
    struct wf_reaper *r = wf_calloc(1, sizeof *r);
    if (!r) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the reaper");
    }
    r->app = app;
    enum wf_status status = wf_db_open(wf_config_text(app->config, WF_SETTING_db),
                                       "wavefarm-reaper", &r->db, err);
    if (status != WF_OK) {
        free(r);
        return status;
    }
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &attr);
    pthread_condattr_destroy(&attr);
    int code = pthread_create(&r->thread, NULL, reaper_main, r);
    if (code != 0) {
        wf_db_close(r->db);
        free(r);
        return wf_error_errno(err, code, "starting the reaper");
    }
    *ret = r;
    return WF_OK;
}

void wf_reaper_stop(struct wf_reaper *r)
{
    if (!r) {
        return;
    }
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    wf_db_close(r->db);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->wake);
    free(r);
}
