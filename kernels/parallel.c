/* A pool for one call: threads take pieces from a shared counter until none is left. */
#include "kernels/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define MAX_THREADS 256

struct pool {
    wf_piece_fn fn;
    void *ctx;
    uint64_t count;
    atomic_uint_fast64_t next;
    atomic_bool failed;
    pthread_mutex_t lock; /* over status and error */
    enum wf_status status;
    struct wf_error error;
};

int wf_thread_count(int threads)
{
    if (threads <= 0) {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        threads = online > 0 ? (int)online : 1;
    }
    return threads < MAX_THREADS ? threads : MAX_THREADS;
}

static void record_failure(struct pool *p,
                           enum wf_status status,
                           const struct wf_error *e)
{
    (void)pthread_mutex_lock(&p->lock);
    if (p->status == WF_OK) {
        p->status = status;
        p->error = *e;
    }
    (void)pthread_mutex_unlock(&p->lock);
    atomic_store(&p->failed, true);
}

static void *work(void *arg)
{
    struct pool *p = arg;
    struct wf_error e = { .status = WF_OK };
    while (!atomic_load(&p->failed)) {
        const uint64_t piece = atomic_fetch_add(&p->next, 1);
        if (piece >= p->count) {
            break;
        }
        const enum wf_status st = p->fn(p->ctx, piece, &e);
        if (st != WF_OK) {
            record_failure(p, st, &e);
        }
    }
    return NULL;
}

enum wf_status wf_parallel(int threads,
                           uint64_t count,
                           wf_piece_fn fn,
                           void *ctx,
                           struct wf_error *err)
{
    struct pool p = { .fn = fn, .ctx = ctx, .count = count, .status = WF_OK };
    pthread_t others[MAX_THREADS];
    int started = 0;
    const int wanted = wf_thread_count(threads);
    atomic_init(&p.next, 0);
    atomic_init(&p.failed, false);
    (void)pthread_mutex_init(&p.lock, NULL);
    while (started < wanted - 1 && (uint64_t)started + 1 < count) {
        if (pthread_create(&others[started], NULL, work, &p) != 0) {
            break; /* fewer threads do the same work */
        }
        started++;
    }
    (void)work(&p);
    for (int i = 0; i < started; i++) {
        (void)pthread_join(others[i], NULL);
    }
    (void)pthread_mutex_destroy(&p.lock);
    if (p.status != WF_OK && err != NULL) {
        *err = p.error;
    }
    return p.status;
}
