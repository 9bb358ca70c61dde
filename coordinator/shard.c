/* Estimates by history or roofline, and longest-processing-time packing.
 *
 * Invariant: the plan depends on its input alone (ties go by index), so a repeated
 * request gives the same shards. */
#include "coordinator/shard.h"

#include "core/buf.h"

#include <math.h>
#include <stdlib.h>

/* A nominal device, for cases never seen: a modest GPU and a few processor cores. The
 * judge's double reference runs on the host whatever the device. */
#define GPU_FLOPS        50e12
#define GPU_BYTES_PER_S  1e12
#define HOST_FLOPS       20e9
#define HOST_BYTES_PER_S 10e9
#define OVERHEAD_MS      500.0
#define MIN_LAUNCHES     20.0
/* Shards assumed to run at once when no device is there yet. */
#define NOMINAL_DEVICES  4
#define SHARDS_A_DEVICE  2

int64_t wf_task_estimate_ms(const struct wf_cost_input *in)
{
    double ms = in->history_ms;
    if (!(ms > 0)) {
        double rate = in->device_is_host ? HOST_FLOPS : GPU_FLOPS;
        double band = in->device_is_host ? HOST_BYTES_PER_S : GPU_BYTES_PER_S;
        double launch_ms = 1e3 * fmax(in->flops / rate, in->bytes / band);
        double reference_ms = 1e3 * in->flops / HOST_FLOPS;
        double launches = in->measure ? MIN_LAUNCHES : 2;
        double timed_ms = launch_ms * launches;
        if (in->measure) {
            timed_ms = fmax(timed_ms, (double)in->budget_ms / 2);
        }
        ms = OVERHEAD_MS + reference_ms + timed_ms;
    }
    if (!(ms >= 1)) {
        return 1;
    }
    return ms > 3600e3 ? 3600000 : (int64_t)ms;
}

struct order {
    int64_t estimate_ms;
    uint32_t group;
    size_t index;
};

static int by_group_and_cost(const void *pa, const void *pb)
{
    const struct order *a = pa;
    const struct order *b = pb;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->estimate_ms != b->estimate_ms) {
        return a->estimate_ms > b->estimate_ms ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

struct bin {
    int64_t load_ms;
    size_t tasks;
    size_t number;
};

static bool emptier(const struct bin *a, const struct bin *b)
{
    if (a->load_ms != b->load_ms) {
        return a->load_ms < b->load_ms;
    }
    return a->number < b->number;
}

/* Restores the heap (emptiest first) after its root grew. */
static void sink(struct bin *heap, size_t n)
{
    size_t i = 0;
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++) {
            if (emptier(&heap[child], &heap[least])) {
                least = child;
            }
        }
        if (least == i) {
            return;
        }
        struct bin swap = heap[i];
        heap[i] = heap[least];
        heap[least] = swap;
        i = least;
    }
}

static size_t shards_wanted(int64_t total_ms,
                            size_t n,
                            const struct wf_shard_plan_input *in)
{
    int64_t target = in->target_ms > 0 ? in->target_ms : 1;
    size_t max_tasks = in->max_tasks > 0 ? in->max_tasks : 1;
    size_t devices = in->live_devices > 0 ? in->live_devices : NOMINAL_DEVICES;
    size_t wanted = (size_t)((total_ms + target - 1) / target);
    size_t spread = devices * SHARDS_A_DEVICE;
    size_t least = (n + max_tasks - 1) / max_tasks;
    wanted = wanted < spread ? spread : wanted;
    wanted = wanted < least ? least : wanted;
    return wanted > n ? n : wanted;
}

struct group {
    const struct order *order; /* n tasks, longest first */
    size_t n;
    struct bin *heap; /* `bins`, at least one */
    size_t bins;
    size_t first; /* number of its first shard */
    size_t max_tasks;
};

/* Most tasks of a shard: twice the even share keeps cheap tasks from piling up in one,
 * but never more than is allowed. */
static size_t cap_of(const struct group *g)
{
    size_t share = g->bins > 0 ? (g->n + g->bins - 1) / g->bins : g->n;
    size_t most = g->max_tasks > share ? g->max_tasks : share;
    return 2 * share < most ? 2 * share : most;
}

/* The next task into the emptiest shard; a full shard leaves the heap for good. */
static void pack_group(const struct group *g, struct wf_shard_task *task)
{
    size_t cap = cap_of(g);
    size_t live = g->bins;
    struct bin *heap = g->heap;
    for (size_t i = 0; i < g->bins; i++) {
        heap[i] = (struct bin){ 0, 0, g->first + i };
    }
    for (size_t i = 0; i < g->n; i++) {
        task[g->order[i].index].shard = heap[0].number;
        heap[0].load_ms += g->order[i].estimate_ms;
        heap[0].tasks++;
        if (heap[0].tasks >= cap && live > 1) {
            live--;
            heap[0] = heap[live];
        }
        sink(heap, live);
    }
}

enum wf_status wf_shard_plan(struct wf_shard_task *task,
                             size_t n,
                             const struct wf_shard_plan_input *in,
                             size_t *ret_shards,
                             struct wf_error *err)
{
    enum wf_status status = WF_OK;
    struct order *order = wf_calloc(n ? n : 1, sizeof *order);
    struct bin *heap = wf_calloc(n ? n : 1, sizeof *heap);
    size_t shards = 0;
    if (!order || !heap) {
        status = wf_errorf(err, WF_ENOMEM, "no memory to plan %zu tasks", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (struct order){ task[i].estimate_ms, task[i].group, i };
    }
    qsort(order, n, sizeof *order, by_group_and_cost);
    for (size_t at = 0; at < n;) {
        size_t end = at;
        int64_t total_ms = 0;
        while (end < n && order[end].group == order[at].group) {
            total_ms += order[end].estimate_ms;
            end++;
        }
        size_t bins = shards_wanted(total_ms, end - at, in);
        struct group g = { order + at, end - at, heap, bins, shards, in->max_tasks };
        pack_group(&g, task);
        shards += bins;
        at = end;
    }
    *ret_shards = shards;
out:
    free(order);
    free(heap);
    return status;
}
