/* One step of one gate is one transaction under the gate's row lock: what it reads,
 * what it decides and what it stores are together, so a coordinator that dies in
 * between has done nothing, and two never decide the same round. */
#include "coordinator/gate_worker.h"

#include "coordinator/farm_gate.h"
#include "coordinator/store_gates.h"
#include "coordinator/store_shards.h"
#include "coordinator/workers.h"
#include "core/clock.h"
#include "core/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REST_MS 10 /* between two looks: results come in groups */

/* Columns of GATE_LOCK (statements.def). */
enum head {
    H_HEADER = 2,
    H_STATE = 4,
    H_ROUNDS = 6,
    H_LINES
};

/* States of the gates decided last: the rows up to a round, read already. One is used
 * only when the database says that it is at this very round and line; else, and after a
 * restart, it is made anew from the rows. */
#define CACHED 8
struct wf_gate_cache {
    struct wf_farm_gate *state[CACHED];
    size_t next; /* to be replaced */
};

struct wf_gate_worker {
    struct wf_gate_cache cache;
    struct wf_app *app;
    struct wf_db *db;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop, poked;
};

struct step {
    struct wf_app *app;
    struct wf_gate_cache *cache;
    struct wf_farm_gate *state; /* after the step */
    int64_t gate;
    /* What became of it. */
    bool waits; /* no device matches */
    bool ended, red;
    int groups; /* planned now; 0: not */
    int64_t tasks, decide_ns;
    int seq;
};

/* --- one gate --- */

static enum wf_status moved_on(struct wf_db *db,
                               const struct wf_farm_gate *f,
                               int64_t tasks,
                               struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    char *progress = NULL;
    enum wf_status s = wf_farm_gate_progress(f, &progress, err);
    wf_param_i64(&p, f->run);
    wf_param_i64(&p, tasks);
    wf_param_i64(&p, f->seq);
    wf_param_i64(&p, f->lines);
    wf_param_text(&p, progress);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_MOVED_ON, &p, &rows, err) : s;
    if (s == WF_OK && wf_rows_count(rows) == 0) {
        s = wf_errorf(err, WF_ECANCELLED, "gate %" PRId64 " was cancelled meanwhile",
                      f->run);
    }
    wf_rows_free(rows);
    free(progress);
    return s;
}

static int64_t quarantine_ms(const struct step *st)
{
    return wf_config_number(st->app->config, WF_SETTING_gate_quarantine);
}

static enum wf_status go_on(struct wf_db *db,
                            struct step *st,
                            struct wf_farm_gate *f,
                            struct wf_error *err)
{
    struct wf_farm_next next = { 0, 0 };
    enum wf_status s = wf_farm_gate_end_rounds(db, f, NULL, err);
    s = s == WF_OK ? wf_farm_gate_next(db, f, &next, err) : s;
    st->ended = s == WF_OK && next.open_rounds == 0;
    st->tasks = next.tasks;
    if (s == WF_OK) {
        s = st->ended ? wf_farm_gate_finish(db, f, false, quarantine_ms(st), err)
                      : moved_on(db, f, next.tasks, err);
    }
    return s;
}

/* A round that was made while the run was being cancelled is cancelled here. */
static enum wf_status end_cancelled(struct wf_db *db,
                                    struct step *st,
                                    struct wf_farm_gate *f,
                                    struct wf_error *err)
{
    int64_t tasks = 0;
    enum wf_status s = wf_store_cancel_rest(db, st->gate, &tasks, err);
    s = s == WF_OK ? wf_farm_gate_end_rounds(db, f, "the gate was cancelled", err) : s;
    st->ended = true;
    return s == WF_OK ? wf_farm_gate_finish(db, f, true, quarantine_ms(st), err) : s;
}

static enum wf_status lock(struct wf_db *db,
                           int64_t gate,
                           struct wf_rows **ret,
                           struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    wf_param_i64(&p, gate);
    return wf_db_run(db, WF_STMT_GATE_LOCK, &p, ret, err);
}

static enum wf_status plan(struct wf_db *db,
                           struct step *st,
                           struct wf_rows **head,
                           struct wf_error *err)
{
    bool cancelled = strcmp(wf_rows_text(*head, 0, H_STATE), "cancelled") == 0;
    if (cancelled) {
        struct wf_params p = WF_PARAMS_INIT;
        wf_param_i64(&p, st->gate);
        st->ended = true;
        return wf_db_run(db, WF_STMT_GATE_UNPLANNED_END, &p, NULL, err);
    }
    enum wf_status s =
        wf_gate_plan(db, st->app->blobs, st->gate, *head, &st->groups, err);
    st->waits = s == WF_OK && st->groups == 0;
    if (s == WF_OK && !st->waits) {
        wf_rows_free(*head);
        *head = NULL;
        s = lock(db, st->gate, head, err);
    }
    return s;
}

static struct wf_farm_gate *take_cached(struct wf_gate_cache *c,
                                        int64_t gate,
                                        const struct wf_rows *head)
{
    for (size_t i = 0; c && i < CACHED; i++) {
        struct wf_farm_gate *f = c->state[i];
        if (f && f->run == gate) {
            c->state[i] = NULL;
            if (f->seq == wf_rows_i64(head, 0, H_ROUNDS) &&
                f->lines == wf_rows_i64(head, 0, H_LINES)) {
                return f;
            }
            wf_farm_gate_free(f);
        }
    }
    return NULL;
}

static void keep_cached(struct wf_gate_cache *c, struct wf_farm_gate *f)
{
    if (!c || !f) {
        wf_farm_gate_free(f);
        return;
    }
    wf_farm_gate_free(c->state[c->next]);
    c->state[c->next] = f;
    c->next = (c->next + 1) % CACHED;
}

static enum wf_status decide(struct wf_db *db,
                             struct step *st,
                             const struct wf_rows *head,
                             struct wf_error *err)
{
    bool cancelled = strcmp(wf_rows_text(head, 0, H_STATE), "cancelled") == 0;
    struct wf_farm_gate *f = take_cached(st->cache, st->gate, head);
    enum wf_status s = f ? WF_OK : wf_farm_gate_load(db, st->gate, head, &f, err);
    st->state = f;
    if (s != WF_OK) {
        return s;
    }
    f->decide_ns = 0;
    s = cancelled ? end_cancelled(db, st, f, err) : go_on(db, st, f, err);
    st->seq = f->seq;
    st->decide_ns = f->decide_ns;
    return s;
}

/* May be run again after a lost commit: a state that was moved on is dropped then. */
static enum wf_status step_gate(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct step *st = ctx;
    struct wf_rows *head = NULL;
    wf_farm_gate_free(st->state);
    st->state = NULL;
    st->waits = st->ended = st->red = false;
    st->groups = 0;
    st->tasks = 0;
    enum wf_status s = lock(db, st->gate, &head, err);
    bool ours = s == WF_OK && wf_rows_count(head) > 0;
    if (ours && wf_rows_null(head, 0, H_HEADER)) {
        s = plan(db, st, &head, err);
    }
    if (s == WF_OK && ours && !wf_rows_null(head, 0, H_HEADER)) {
        s = decide(db, st, head, err);
    }
    wf_rows_free(head);
    return s;
}

static void tell(const struct step *st, int64_t took_ns)
{
    if (st->groups > 0) {
        wf_log(WF_LOG_INFO, "gate %" PRId64 " planned groups=%d", st->gate, st->groups);
    }
    wf_log(WF_LOG_DEBUG,
           "gate %" PRId64 " stepped rounds=%d tasks=%" PRId64
           " decide_ms=%.1f took_ms=%.1f",
           st->gate, st->seq, st->tasks, (double)st->decide_ns / 1e6,
           (double)took_ns / 1e6);
    if (st->ended) {
        wf_log(WF_LOG_INFO, "gate %" PRId64 " ended rounds=%d", st->gate, st->seq);
    }
    if (st->tasks > 0) {
        wf_workers_wake(st->app->workers, WF_EVENT_TASKS, 0);
    }
    if (!st->waits) {
        wf_workers_wake(st->app->workers, WF_EVENT_RUN, st->gate);
    }
}

/* A gate that cannot be decided must not keep the others from it. */
static enum wf_status step_one(struct wf_app *app,
                               struct wf_db *db,
                               struct wf_gate_cache *cache,
                               int64_t gate,
                               struct wf_error *err)
{
    struct step st = { .app = app, .cache = cache, .gate = gate };
    int64_t start = wf_monotonic_ns();
    enum wf_status s = wf_db_transact(db, step_gate, &st, err);
    if (s == WF_OK) {
        tell(&st, wf_monotonic_ns() - start);
        keep_cached(st.ended ? NULL : cache, st.state);
        return WF_OK;
    }
    wf_farm_gate_free(st.state);
    if (s != WF_ENETWORK && s != WF_ECANCELLED) {
        wf_log(WF_LOG_WARN, "gate %" PRId64 ": %s", gate, err->text);
    }
    return s == WF_ENETWORK ? s : WF_OK;
}

/* --- groups whose device is gone --- */

struct move {
    struct wf_app *app;
    int64_t gate, group;
    bool done;
};

static enum wf_status move_to(struct wf_db *db,
                              const struct move *m,
                              const struct wf_rows *to,
                              size_t i,
                              struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    wf_param_i64(&p, m->gate);
    wf_param_i64(&p, m->group);
    for (int c = 0; c < 5; c++) {
        wf_param_text(&p, wf_rows_text(to, i, c));
    }
    return wf_db_run(db, WF_STMT_GATE_GROUP_MOVE, &p, NULL, err);
}

static enum wf_status move_group(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct move *m = ctx;
    struct wf_rows *head = NULL, *to = NULL;
    struct wf_params p = WF_PARAMS_INIT;
    m->done = false;
    enum wf_status s = lock(db, m->gate, &head, err);
    wf_param_i64(&p, m->gate);
    wf_param_i64(&p, m->group);
    wf_param_i64(&p, wf_config_number(m->app->config, WF_SETTING_gate_patience));
    if (s == WF_OK && wf_rows_count(head) > 0) {
        s = wf_db_run(db, WF_STMT_GATE_MOVE_TARGET, &p, &to, err);
    }
    if (s == WF_OK && to && wf_rows_count(to) > 0) {
        s = move_to(db, m, to, 0, err);
        m->done = s == WF_OK;
    }
    if (m->done) {
        wf_log(WF_LOG_WARN,
               "gate %" PRId64 " group %" PRId64
               " moves to %s on %s: its device is gone",
               m->gate, m->group, wf_rows_text(to, 0, 1), wf_rows_text(to, 0, 0));
    }
    wf_rows_free(to);
    wf_rows_free(head);
    return s;
}

static enum wf_status move_stranded(struct wf_app *app,
                                    struct wf_db *db,
                                    struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    bool any = false;
    wf_param_i64(&p, wf_config_number(app->config, WF_SETTING_gate_patience));
    enum wf_status s = wf_db_run(db, WF_STMT_GATES_STRANDED, &p, &rows, err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        struct move m = { app, wf_rows_i64(rows, i, 0), wf_rows_i64(rows, i, 1),
                          false };
        s = wf_db_transact(db, move_group, &m, err);
        any = any || m.done;
    }
    wf_rows_free(rows);
    if (any) {
        wf_workers_wake(app->workers, WF_EVENT_TASKS, 0);
    }
    return s;
}

enum wf_status wf_gate_worker_round(struct wf_app *app,
                                    struct wf_db *db,
                                    struct wf_gate_cache *cache,
                                    struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status s = wf_db_run(db, WF_STMT_GATES_DUE, NULL, &rows, err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        s = step_one(app, db, cache, wf_rows_i64(rows, i, 0), err);
    }
    wf_rows_free(rows);
    return s == WF_OK ? move_stranded(app, db, err) : s;
}

/* --- the thread --- */

static struct timespec after_ms(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = (int64_t)at.tv_sec * 1000000000 + at.tv_nsec + ms * 1000000;
    return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

/* False: time to stop. */
static bool pause_for(struct wf_gate_worker *w, int64_t ms)
{
    struct timespec rest = after_ms(REST_MS);
    struct timespec at = after_ms(ms);
    pthread_mutex_lock(&w->lock);
    while (!w->stop && pthread_cond_timedwait(&w->wake, &w->lock, &rest) == 0) {
    }
    while (!w->stop && !w->poked &&
           pthread_cond_timedwait(&w->wake, &w->lock, &at) == 0) {
    }
    w->poked = false;
    bool go = !w->stop;
    pthread_mutex_unlock(&w->lock);
    return go;
}

static void *worker_main(void *arg)
{
    struct wf_gate_worker *w = arg;
    bool said = false;
    int64_t period = wf_config_number(w->app->config, WF_SETTING_reap_period);
    do {
        struct wf_error err = { 0 };
        enum wf_status s = wf_gate_worker_round(w->app, w->db, &w->cache, &err);
        if (s != WF_OK && !said) {
            wf_log(WF_LOG_WARN, "deciding gates: %s (trying on)", err.text);
        }
        if (s == WF_OK && said) {
            wf_log(WF_LOG_INFO, "gates are decided again");
        }
        said = s != WF_OK;
    } while (pause_for(w, period));
    return NULL;
}

enum wf_status wf_gate_worker_start(struct wf_app *app,
                                    struct wf_gate_worker **ret,
                                    struct wf_error *err)
{
    pthread_condattr_t attr;
    struct wf_gate_worker *w = wf_calloc(1, sizeof *w);
    if (!w) {
        return wf_errorf(err, WF_ENOMEM, "no memory for gates");
    }
    w->app = app;
    enum wf_status s = wf_db_open(wf_config_text(app->config, WF_SETTING_db),
                                  "wavefarm-gates", &w->db, err);
    if (s != WF_OK) {
        free(w);
        return s;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    int code = pthread_create(&w->thread, NULL, worker_main, w);
    if (code != 0) {
        wf_db_close(w->db);
        free(w);
        return wf_error_errno(err, code, "starting the thread of gates");
    }
    *ret = w;
    return WF_OK;
}

void wf_gate_worker_poke(struct wf_gate_worker *w)
{
    if (!w) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->poked = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void wf_gate_worker_stop(struct wf_gate_worker *w)
{
    if (!w) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    for (size_t i = 0; i < CACHED; i++) {
        wf_farm_gate_free(w->cache.state[i]);
    }
    wf_db_close(w->db);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    free(w);
}
