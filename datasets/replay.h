/* Replays requests as a continuous-batching engine does.
 *
 * One step: finished sequences leave; each running sequence appends one token, oldest
 * first, and takes a page where its last one is full; when the pool is empty the
 * youngest sequence is preempted (its pages freed, to be recomputed later); then
 * waiting requests are admitted in order of arrival, preempted ones first, while the
 * batch and the pool have room. An admitted sequence prefills in that step and decodes
 * from the next one on. */
#ifndef WF_DATASETS_REPLAY_H
#define WF_DATASETS_REPLAY_H

#include "core/error.h"
#include "datasets/page_pool.h"
#include "datasets/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_replay_options {
    int64_t page_size; /* tokens a page */
    int64_t num_pages;
    int64_t batch; /* most sequences at once */
    int64_t step_ns;
    double time_scale; /* the trace's time passes this much faster */
    enum wf_free_order free_order;
    uint64_t seed;
};

struct wf_replay_sequence {
    size_t request;        /* index into the list */
    int64_t generated;     /* output tokens so far */
    int64_t kv_tokens;     /* tokens in the cache in this step */
    int64_t cached_tokens; /* of them found in shared pages when it was admitted */
    int64_t admitted_step;
    int32_t *pages;
    size_t page_count, page_cap;
};

struct wf_replay_stats {
    int64_t admitted; /* readmissions included */
    int64_t finished;
    int64_t preempted;
    int64_t refused; /* larger than the whole pool */
};

struct wf_replay; /* opaque */

/* Borrows the list, which must be settled. */
enum wf_status wf_replay_create(const struct wf_request_list *list,
                                const struct wf_replay_options *options,
                                struct wf_replay **ret,
                                struct wf_error *err);
void wf_replay_destroy(struct wf_replay *replay);

/* Does the next step (the first one is step 0); *ret_ran is false when no request is
 * left. ENOMEM only. */
enum wf_status wf_replay_step(struct wf_replay *replay,
                              bool *ret_ran,
                              struct wf_error *err);

int64_t wf_replay_current_step(const struct wf_replay *replay);
size_t wf_replay_running(const struct wf_replay *replay); /* sequences in this step */
/* Oldest first. */
const struct wf_replay_sequence *wf_replay_sequence(const struct wf_replay *replay,
                                                    size_t i);
/* Admitted in this step: it prefills, and does not decode yet. */
bool wf_replay_is_new(const struct wf_replay *replay,
                      const struct wf_replay_sequence *s);
const struct wf_page_pool *wf_replay_pool(const struct wf_replay *replay);
struct wf_replay_stats wf_replay_stats(const struct wf_replay *replay);

#endif
