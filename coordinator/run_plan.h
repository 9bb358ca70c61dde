/* From a run's request to tasks and shards: which pairs, what a device must have, how
 * long, which shard. Pure but for memory. */
#ifndef WF_COORDINATOR_RUN_PLAN_H
#define WF_COORDINATOR_RUN_PLAN_H

#include "coordinator/run_request.h"
#include "coordinator/shard.h"

struct wf_plan_task {
    uint32_t case_index, kernel_index;
    int32_t repetition;
};

struct wf_plan_shard {
    uint32_t kernel_index; /* whose arch list it has */
    uint32_t open_tasks;
    int64_t estimate_ms;
    uint64_t memory_bytes;
};

struct wf_run_plan {
    struct wf_plan_task *task;
    struct wf_shard_task *packed; /* beside task[]: estimate and shard */
    size_t task_count;
    struct wf_plan_shard *shard;
    size_t shard_count;
};

/* history_ms[case * kernel_count + kernel]: mean of earlier results, 0: none. */
enum wf_status wf_run_plan_make(const struct wf_run_request *r,
                                const double *history_ms,
                                const struct wf_shard_plan_input *limits,
                                struct wf_run_plan *ret,
                                struct wf_error *err);
void wf_run_plan_free(struct wf_run_plan *p);

/* Architectures that a shard's device may have, as an array literal; NULL is returned
 * for "any". The run's own wish wins over the kernel's list: a kernel of another
 * architecture is then NOT_SUPPORTED, never moved elsewhere. */
enum wf_status wf_run_plan_archs(const struct wf_run_request *r,
                                 size_t kernel,
                                 struct wf_buf *ret,
                                 struct wf_error *err);

#endif
