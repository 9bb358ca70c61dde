/* The worker pool: a bounded queue, threads with one database connection each, and the
 * park of long polls with a timer thread.
 *
 * A request that is parked holds no thread. An event between a handler's look at the
 * database and its parking is not lost: the event's counter has moved, so the request
 * is queued again at once. Parked requests come back past the queue's limit, they were
 * admitted before. */
#include "coordinator/workers.h"

#include "core/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 256u /* event counters; ids that share one only wake in vain */

struct queue {
    struct wf_request *first, **end;
    size_t n;
};

struct wf_workers {
    struct wf_workers_options o;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* queue or stop */
    pthread_cond_t timer; /* park or stop */
    pthread_cond_t idle;  /* nothing left */
    struct queue queue, park;
    uint64_t seen[2][SLOTS];
    size_t busy;
    bool draining, stop;
    pthread_t timer_thread;
    pthread_t *thread;
    int threads;
};

static void push(struct queue *q, struct wf_request *req)
{
    req->next = NULL;
    *q->end = req;
    q->end = &req->next;
    q->n++;
}

static struct wf_request *pop(struct queue *q)
{
    struct wf_request *req = q->first;
    if (req) {
        q->first = req->next;
        q->n--;
        if (!q->first) {
            q->end = &q->first;
        }
    }
    return req;
}

static uint64_t *counter(struct wf_workers *w, enum wf_event event, int64_t id)
{
    return &w->seen[event == WF_EVENT_RUN][(uint64_t)id % SLOTS];
}

/* Moves the parked requests that `due` names to the queue. Lock held. */
typedef bool (*due_fn)(const struct wf_request *req, int64_t a, int64_t b);

static void unpark(struct wf_workers *w, due_fn due, int64_t a, int64_t b)
{
    struct wf_request *all = w->park.first;
    w->park = (struct queue){ NULL, &w->park.first, 0 };
    while (all) {
        struct wf_request *req = all;
        all = all->next;
        push(due(req, a, b) ? &w->queue : &w->park, req);
    }
    if (w->queue.n > 0) {
        pthread_cond_broadcast(&w->work);
    }
}

static bool due_event(const struct wf_request *req, int64_t event, int64_t id)
{
    return (int64_t)req->wait_event == event && req->wait_id == id;
}

static bool due_time(const struct wf_request *req, int64_t now_ns, int64_t unused)
{
    (void)unused;
    return req->wake_at_ns <= now_ns;
}

static bool due_all(const struct wf_request *req, int64_t a, int64_t b)
{
    (void)req;
    (void)a;
    (void)b;
    return true;
}

/* Lock held. */
static void park(struct wf_workers *w, struct wf_request *req)
{
    int64_t now = wf_monotonic_ns();
    int64_t poll = now + w->o.poll_period_ms * 1000000;
    bool moved = *counter(w, req->wait_event, req->wait_id) != req->wait_seen;
    req->wake_at_ns = req->wait_until_ns < poll ? req->wait_until_ns : poll;
    if (moved || w->draining) {
        push(&w->queue, req);
        pthread_cond_signal(&w->work);
        return;
    }
    push(&w->park, req);
    pthread_cond_signal(&w->timer);
}

static void finish(struct wf_workers *w, struct wf_request *req)
{
    if (req->outcome != WF_OUTCOME_PARK) {
        w->o.app->complete(req);
        return;
    }
    pthread_mutex_lock(&w->lock);
    park(w, req);
    pthread_mutex_unlock(&w->lock);
}

static void *worker_main(void *arg)
{
    struct wf_workers *w = arg;
    struct wf_worker self = { w->o.app, NULL, false };
    /* Without memory for it, handlers that need the database answer 503. */
    if (wf_db_open(wf_config_text(w->o.app->config, WF_SETTING_db), "wavefarm-worker",
                   &self.db, NULL) != WF_OK) {
        self.db = NULL;
    }
    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct wf_request *req = pop(&w->queue);
        if (!req) {
            if (w->stop) {
                break;
            }
            pthread_cond_wait(&w->work, &w->lock);
            continue;
        }
        w->busy++;
        pthread_mutex_unlock(&w->lock);
        self.deferred = false;
        w->o.step(&self, req);
        if (!self.deferred) {
            finish(w, req);
        }
        pthread_mutex_lock(&w->lock);
        w->busy--;
        pthread_cond_signal(&w->idle);
    }
    pthread_mutex_unlock(&w->lock);
    wf_db_close(self.db);
    return NULL;
}

static int64_t earliest(const struct wf_workers *w, int64_t none)
{
    int64_t at = none;
    for (const struct wf_request *r = w->park.first; r; r = r->next) {
        at = r->wake_at_ns < at ? r->wake_at_ns : at;
    }
    return at;
}

static void *timer_main(void *arg)
{
    struct wf_workers *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        int64_t now = wf_monotonic_ns();
        unpark(w, w->draining ? due_all : due_time, now, 0);
        int64_t wait = earliest(w, now + 1000000000) - now;
        wait = wait < 1000000 ? 1000000 : wait;
        struct timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        int64_t until = (int64_t)at.tv_sec * 1000000000 + at.tv_nsec + wait;
        at.tv_sec = (time_t)(until / 1000000000);
        at.tv_nsec = (long)(until % 1000000000);
        pthread_cond_timedwait(&w->timer, &w->lock, &at);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void init_sync(struct wf_workers *w)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->idle, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->timer, &attr);
    pthread_condattr_destroy(&attr);
    w->queue.end = &w->queue.first;
    w->park.end = &w->park.first;
}

enum wf_status wf_workers_start(const struct wf_workers_options *o,
                                struct wf_workers **ret,
                                struct wf_error *err)
{
    struct wf_workers *w = wf_calloc(1, sizeof *w);
    pthread_t *thread = wf_calloc((size_t)o->threads, sizeof *thread);
    if (!w || !thread) {
        free(w);
        free(thread);
        return wf_errorf(err, WF_ENOMEM, "no memory for workers");
    }
    w->o = *o;
    w->thread = thread;
    init_sync(w);
    int code = pthread_create(&w->timer_thread, NULL, timer_main, w);
    bool timer = code == 0;
    while (code == 0 && w->threads < o->threads) {
        code = pthread_create(&thread[w->threads], NULL, worker_main, w);
        w->threads += code == 0;
    }
    if (code != 0) {
        if (!timer) {
            w->timer_thread = pthread_self();
        }
        wf_workers_destroy(w);
        return wf_error_errno(err, code, "starting worker threads");
    }
    *ret = w;
    return WF_OK;
}

bool wf_workers_submit(struct wf_workers *w, struct wf_request *req)
{
    bool room;
    pthread_mutex_lock(&w->lock);
    room = !w->stop && w->queue.n < w->o.queue;
    if (room) {
        push(&w->queue, req);
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return room;
}

void wf_workers_wake(struct wf_workers *w, enum wf_event event, int64_t id)
{
    pthread_mutex_lock(&w->lock);
    (*counter(w, event, id))++;
    unpark(w, due_event, (int64_t)event, id);
    pthread_mutex_unlock(&w->lock);
}

uint64_t wf_workers_seen(struct wf_workers *w, enum wf_event event, int64_t id)
{
    pthread_mutex_lock(&w->lock);
    uint64_t seen = *counter(w, event, id);
    pthread_mutex_unlock(&w->lock);
    return seen;
}

void wf_workers_drain(struct wf_workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->draining = true;
    unpark(w, due_all, 0, 0);
    pthread_mutex_unlock(&w->lock);
}

bool wf_workers_draining(struct wf_workers *w)
{
    pthread_mutex_lock(&w->lock);
    bool draining = w->draining;
    pthread_mutex_unlock(&w->lock);
    return draining;
}

struct wf_workers_load wf_workers_load(struct wf_workers *w)
{
    pthread_mutex_lock(&w->lock);
    struct wf_workers_load load = { w->queue.n, w->park.n, w->busy };
    pthread_mutex_unlock(&w->lock);
    return load;
}

void wf_workers_destroy(struct wf_workers *w)
{
    if (!w) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->draining = true;
    unpark(w, due_all, 0, 0);
    while (w->threads > 0 && (w->queue.n > 0 || w->busy > 0 || w->park.n > 0)) {
        pthread_cond_wait(&w->idle, &w->lock);
    }
    w->stop = true;
    pthread_cond_broadcast(&w->work);
    pthread_cond_signal(&w->timer);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->threads; i++) {
        pthread_join(w->thread[i], NULL);
    }
    if (!pthread_equal(w->timer_thread, pthread_self())) {
        pthread_join(w->timer_thread, NULL);
    }
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->timer);
    pthread_cond_destroy(&w->idle);
    free(w->thread);
    free(w);
}
