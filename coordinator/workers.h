/* Threads that run handlers, their queue, and the requests that wait (long polls). */
#ifndef WF_COORDINATOR_WORKERS_H
#define WF_COORDINATOR_WORKERS_H

#include "coordinator/api.h"

struct wf_workers; /* opaque */

struct wf_workers_options {
    struct wf_app *app;
    int threads;
    size_t queue;           /* requests that may wait for a thread */
    int64_t poll_period_ms; /* parked requests are run again this often */
    /* What a worker does with a request; it leaves it in a wf_outcome. */
    void (*step)(struct wf_worker *w, struct wf_request *req);
};

enum wf_status wf_workers_start(const struct wf_workers_options *o,
                                struct wf_workers **ret,
                                struct wf_error *err);
/* False when the queue is full or the pool stops: the request is still the caller's. */
bool wf_workers_submit(struct wf_workers *w, struct wf_request *req);
/* Runs parked requests that wait for this event (and id). Any thread. */
void wf_workers_wake(struct wf_workers *w, enum wf_event event, int64_t id);
/* Counter of an event, read before the handler looks at the database. */
uint64_t wf_workers_seen(struct wf_workers *w, enum wf_event event, int64_t id);
/* From now on a parked request is answered as if its time were over. */
void wf_workers_drain(struct wf_workers *w);
/* Waits until queue and park are empty, ends the threads, frees. NULL is good. */
void wf_workers_destroy(struct wf_workers *w);

struct wf_workers_load {
    size_t queued, parked, busy;
};
struct wf_workers_load wf_workers_load(struct wf_workers *w);
/* A handler may wait no longer: the pool drains. */
bool wf_workers_draining(struct wf_workers *w);

#endif
