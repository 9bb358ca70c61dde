/* Host library kernel `attention_host`: the C entry and the distribution of work. Does
 * every problem of the op: dense, ragged, paged; prefill, extend, decode; grouped
 * heads, masks, soft cap, lse, every float type but f64. Each output row is computed by
 * one thread in one order, so results are the same bits every time. */
#include "kernels/attention/attention_host.h"

#include "core/buf.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES       64 /* rows times heads of an item */
#define MAX_THREADS 256

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

struct state {
    struct host_problem problem;
    struct host_pool *pool;
    struct host_scratch **scratch; /* one a thread */
    struct host_item *item;
    int64_t rows_an_item;
    size_t item_count;
    atomic_size_t next;
};

static int supports(const struct wf_lib_problem *problem,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes)
{
    struct host_problem p;

    (void)device;
    return host_problem_read(problem, &p, message, message_bytes);
}

static void destroy(void *arg)
{
    struct state *s = arg;

    if (!s) {
        return;
    }
    for (int i = 0; s->scratch && i < host_pool_threads(s->pool); i++) {
        host_scratch_destroy(s->scratch[i]);
    }
    host_pool_destroy(s->pool);
    free(s->scratch);
    free(s->item);
    free(s);
}

/* Each sequence ends in at most one item that is not full. */
static size_t most_items(const struct wf_lib_problem *in, const struct state *s)
{
    int64_t total_q = s->problem.batch * s->problem.q_len;

    (void)in->get_int(in->ctx, "total_q", &total_q);
    return (size_t)(total_q / s->rows_an_item + s->problem.batch + 1) *
           (size_t)s->problem.kv_heads;
}

static int allocate(struct state *s, const struct wf_lib_problem *in, int threads)
{
    s->pool = host_pool_create(threads);
    if (!s->pool) {
        return WF_LIB_NO_MEMORY;
    }
    s->item = wf_calloc(most_items(in, s), sizeof(*s->item));
    s->scratch =
        wf_calloc((size_t)host_pool_threads(s->pool), sizeof(struct host_scratch *));
    if (!s->item || !s->scratch) {
        return WF_LIB_NO_MEMORY;
    }
    for (int i = 0; i < host_pool_threads(s->pool); i++) {
        s->scratch[i] = host_scratch_create(&s->problem, s->rows_an_item);
        if (!s->scratch[i]) {
            return WF_LIB_NO_MEMORY;
        }
    }
    return WF_LIB_OK;
}

static int prepare(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    struct state *s = wf_calloc(1, sizeof(*s));
    int threads = device->cu_count < 1 ? 1 : device->cu_count;
    int code;

    (void)workspace;
    if (!s) {
        (void)snprintf(message, message_bytes, "out of memory");
        return WF_LIB_NO_MEMORY;
    }
    code = host_problem_read(problem, &s->problem, message, message_bytes);
    if (code == WF_LIB_OK) {
        s->rows_an_item = LINES / s->problem.group > 1 ? LINES / s->problem.group : 1;
        code = allocate(s, problem, threads < MAX_THREADS ? threads : MAX_THREADS);
        if (code != WF_LIB_OK) {
            (void)snprintf(message, message_bytes, "out of memory for %d threads",
                           threads);
        }
    }
    if (code != WF_LIB_OK) {
        destroy(s);
        return code;
    }
    *ret_state = s;
    return WF_LIB_OK;
}

/* The lengths are read at every launch, as the data is what counts then. */
static void plan(struct state *s)
{
    const struct host_problem *p = &s->problem;

    s->item_count = 0;
    for (int64_t b = 0; b < p->batch; b++) {
        int64_t rows = host_q_start(p, b + 1) - host_q_start(p, b);

        for (int64_t i = 0; i < rows; i += s->rows_an_item) {
            int64_t left = rows - i;

            for (int64_t h = 0; h < p->kv_heads; h++) {
                s->item[s->item_count++] = (struct host_item){
                    b, h, i, left < s->rows_an_item ? left : s->rows_an_item
                };
            }
        }
    }
}

static void work(void *arg, int thread)
{
    struct state *s = arg;

    while (true) {
        size_t i = atomic_fetch_add(&s->next, 1);

        if (i >= s->item_count) {
            return;
        }
        host_compute(&s->problem, &s->item[i], s->scratch[thread]);
    }
}

static int launch(void *arg, char *message, size_t message_bytes)
{
    struct state *s = arg;

    (void)message;
    (void)message_bytes;
    plan(s);
    atomic_store(&s->next, 0);
    host_pool_run(s->pool, work, s);
    return WF_LIB_OK;
}

static const struct wf_lib_kernel KERNELS[] = {
    { .name = "attention_host",
      .op = "attention",
      .supports = supports,
      .workspace_bytes = NULL,
      .prepare = prepare,
      .launch = launch,
      .destroy = destroy },
};

static const struct wf_library_v1 LIBRARY = {
    .abi_version = WF_LIBRARY_ABI_VERSION,
    .kernel_size = sizeof(struct wf_lib_kernel),
    .name = "wavefarm-host-attention",
    .version = "1",
    .kernels = KERNELS,
    .kernel_count = sizeof(KERNELS) / sizeof(KERNELS[0]),
};

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    return &LIBRARY;
}
