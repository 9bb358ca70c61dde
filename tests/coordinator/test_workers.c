/* The worker pool: limits, parking, waking, draining. Runs under ThreadSanitizer. */
#include "coordinator/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            failures++;                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                   \
    } while (0)

/* The pool under test is found here by step(). */
static struct wf_workers *pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int completed, steps;
static bool open_gate = true, work_there;

static void completed_one(struct wf_request *req)
{
    pthread_mutex_lock(&lock);
    completed++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    (void)req;
}

static void wait_completed(int n)
{
    pthread_mutex_lock(&lock);
    while (completed < n) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

/* As a long poll: done when there is work, or when the time is over. */
static void step(struct wf_worker *w, struct wf_request *req)
{
    (void)w;
    pthread_mutex_lock(&lock);
    steps++;
    pthread_cond_broadcast(&changed);
    while (!open_gate) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    req->outcome = WF_OUTCOME_REPLY;
    if (req->wait_id < 0) {
        return;
    }
    req->wait_seen = wf_workers_seen(pool, WF_EVENT_TASKS, 0);
    pthread_mutex_lock(&lock);
    bool there = work_there;
    pthread_mutex_unlock(&lock);
    if (!there && !wf_workers_draining(pool)) {
        (void)wf_request_park(req, WF_EVENT_TASKS, 0, 60000);
    }
}

static void reset(void)
{
    completed = steps = 0;
    open_gate = true;
    work_there = false;
}

static void set(bool *flag, bool value)
{
    pthread_mutex_lock(&lock);
    *flag = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_parked(size_t n)
{
    while (wf_workers_load(pool).parked != n) {
        sched_yield();
    }
}

static void start(struct wf_app *app, int threads, size_t queue)
{
    struct wf_workers_options o = { app, threads, queue, 60000, step };
    reset();
    if (wf_workers_start(&o, &pool, NULL) != WF_OK) {
        exit(1);
    }
}

static void a_full_queue_refuses(struct wf_app *app)
{
    struct wf_request req[4] = { 0 };
    for (size_t i = 0; i < 4; i++) {
        req[i].wait_id = -1;
    }
    start(app, 1, 2);
    set(&open_gate, false);
    CHECK(wf_workers_submit(pool, &req[0]));
    pthread_mutex_lock(&lock);
    while (steps == 0) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    CHECK(wf_workers_submit(pool, &req[1]));
    CHECK(wf_workers_submit(pool, &req[2]));
    CHECK(!wf_workers_submit(pool, &req[3]));
    set(&open_gate, true);
    wait_completed(3);
    wf_workers_destroy(pool);
}

static void parked_requests_hold_no_thread_and_wake(struct wf_app *app)
{
    enum {
        N = 50
    };
    struct wf_request req[N] = { 0 };
    struct wf_request other = { .wait_id = -1 };
    start(app, 2, N + 1);
    for (int i = 0; i < N; i++) {
        CHECK(wf_workers_submit(pool, &req[i]));
    }
    wait_parked(N);
    CHECK(wf_workers_submit(pool, &other));
    wait_completed(1);
    wf_workers_wake(pool, WF_EVENT_RUN, 0); /* another event */
    CHECK(wf_workers_load(pool).parked == N);
    set(&work_there, true);
    wf_workers_wake(pool, WF_EVENT_TASKS, 0);
    wait_completed(N + 1);
    wf_workers_destroy(pool);
}

static void *waker(void *arg)
{
    (void)arg;
    set(&work_there, true);
    wf_workers_wake(pool, WF_EVENT_TASKS, 0);
    return NULL;
}

/* The event may come between the look and the parking: it must not be lost. */
static void no_event_is_lost(struct wf_app *app)
{
    for (int round = 0; round < 200; round++) {
        struct wf_request req = { 0 };
        pthread_t thread;
        start(app, 1, 4);
        pthread_create(&thread, NULL, waker, NULL);
        CHECK(wf_workers_submit(pool, &req));
        wait_completed(1);
        pthread_join(thread, NULL);
        wf_workers_destroy(pool);
    }
}

static void draining_answers_what_waits(struct wf_app *app)
{
    struct wf_request req[3] = { 0 };
    start(app, 2, 10);
    for (int i = 0; i < 3; i++) {
        CHECK(wf_workers_submit(pool, &req[i]));
    }
    wait_parked(3);
    wf_workers_drain(pool);
    wait_completed(3);
    wf_workers_destroy(pool);
}

int main(void)
{
    struct wf_config *config = NULL;
    struct wf_app app = { 0 };
    if (wf_config_create(&config, NULL) != WF_OK) {
        return 1;
    }
    app.config = config;
    app.complete = completed_one;
    a_full_queue_refuses(&app);
    parked_requests_hold_no_thread_and_wake(&app);
    no_event_is_lost(&app);
    draining_answers_what_waits(&app);
    wf_config_destroy(config);
    return failures ? 1 : 0;
}
