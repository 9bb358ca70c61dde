/* Threads that live from prepare to destroy, so that a timed launch does not create
 * any. A round is numbered; a worker runs each number once and the caller waits for the
 * count of those still running to reach zero. */
#include "kernels/attention/attention_host.h"

#include "core/buf.h"

#include <pthread.h>
#include <stdlib.h>

struct host_pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    pthread_t *thread; /* [started] */
    int started;       /* threads beside the caller */
    int ready;         /* numbers handed out to them */
    int running;
    unsigned round;
    bool quit;
    void (*fn)(void *ctx, int thread);
    void *ctx;
};

static void *worker(void *arg)
{
    struct host_pool *pool = arg;
    unsigned seen = 0;
    int number;

    (void)pthread_mutex_lock(&pool->lock);
    number = ++pool->ready;
    while (true) {
        while (!pool->quit && pool->round == seen) {
            (void)pthread_cond_wait(&pool->start, &pool->lock);
        }
        if (pool->quit) {
            break;
        }
        seen = pool->round;
        (void)pthread_mutex_unlock(&pool->lock);
        pool->fn(pool->ctx, number);
        (void)pthread_mutex_lock(&pool->lock);
        if (--pool->running == 0) {
            (void)pthread_cond_signal(&pool->done);
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct host_pool *host_pool_create(int threads)
{
    struct host_pool *pool = wf_calloc(1, sizeof(*pool));
    int others = threads > 1 ? threads - 1 : 0;

    if (!pool) {
        return NULL;
    }
    pool->thread = wf_calloc((size_t)others + 1, sizeof(*pool->thread));
    if (!pool->thread) {
        free(pool);
        return NULL;
    }
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->start, NULL);
    (void)pthread_cond_init(&pool->done, NULL);
    for (int i = 0; i < others; i++) {
        if (pthread_create(&pool->thread[pool->started], NULL, worker, pool) != 0) {
            break; /* fewer threads do the same work */
        }
        pool->started++;
    }
    return pool;
}

void host_pool_destroy(struct host_pool *pool)
{
    if (!pool) {
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    (void)pthread_cond_broadcast(&pool->start);
    (void)pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) {
        (void)pthread_join(pool->thread[i], NULL);
    }
    (void)pthread_cond_destroy(&pool->start);
    (void)pthread_cond_destroy(&pool->done);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool->thread);
    free(pool);
}

int host_pool_threads(const struct host_pool *pool)
{
    return pool->started + 1;
}

void host_pool_run(struct host_pool *pool, void (*fn)(void *ctx, int thread), void *ctx)
{
    (void)pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->ctx = ctx;
    pool->running = pool->started;
    pool->round++;
    (void)pthread_cond_broadcast(&pool->start);
    (void)pthread_mutex_unlock(&pool->lock);
    fn(ctx, 0);
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->running > 0) {
        (void)pthread_cond_wait(&pool->done, &pool->lock);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}
