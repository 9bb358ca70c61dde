/* Cost estimates and packing of tasks into shards: pure, no I/O. */
#ifndef WF_COORDINATOR_SHARD_H
#define WF_COORDINATOR_SHARD_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_cost_input {
    double history_ms;   /* mean of earlier runs of this case and kernel; 0: none */
    double flops, bytes; /* of the case */
    bool measure;
    int64_t budget_ms;   /* of samples */
    bool device_is_host; /* nominal rates of a processor instead of a GPU's */
};

/* Milliseconds that the task keeps its device busy, 1 to 3,600,000. */
int64_t wf_task_estimate_ms(const struct wf_cost_input *in);

struct wf_shard_task {
    int64_t estimate_ms;
    uint32_t group; /* what a device must have: tasks of one shard have one group */
    size_t shard;   /* out */
};

struct wf_shard_plan_input {
    int64_t target_ms;   /* a shard lasts about this long */
    size_t max_tasks;    /* of one shard */
    size_t live_devices; /* that match now */
};

/* Fills task[i].shard with 0 .. *ret_shards - 1. Longest task first into the emptiest
 * shard of its group; shards are numbered so that the longest come first. With few
 * tasks there are still two shards a device, so that the suite spreads. */
enum wf_status wf_shard_plan(struct wf_shard_task *task,
                             size_t n,
                             const struct wf_shard_plan_input *in,
                             size_t *ret_shards,
                             struct wf_error *err);

#endif
