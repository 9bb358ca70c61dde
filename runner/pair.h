/* One round of a gate on one device: base and candidate of many pairs, measured side by
 * side in one process.
 *
 * wf_pair_round starts one judge, which starts one subject that holds the code of both
 * arms (process packs: two adapters that take turns). Pair by pair in the order given:
 * inputs are made once and shared by both arms, every buffer is allocated afresh, each
 * arm's answer is judged (as wf_execute does), then the pair's blocks are measured:
 * four slots in the order of the mask, each slot two untimed and five timed batches of
 * one arm. The outputs that the last slot left are judged again, the other arm's after
 * one slot more (docs/measuring.md has the whole order).
 *
 * The label does not reach the subject, and what is done for a slot does not depend on
 * it. A block is rejected by label-blind rules alone (throttle, a sample that is no
 * time, a device fault), and always as a whole. */
#ifndef WF_RUNNER_PAIR_H
#define WF_RUNNER_PAIR_H

#include "runner/execute.h"

#define WF_PAIR_BLOCKS_MAX 8
#define WF_PAIR_TIMED                                            \
    5 /* batches of a slot; its value is the mean of the logs of \
         the middle three */
#define WF_PAIR_UNTIMED 2

enum {
    WF_PAIR_BASE,
    WF_PAIR_CAND,
    WF_PAIR_ARMS
};

struct wf_pair_arm {
    const char *pack_folder; /* NULL: this arm does not exist (a new kernel's base) */
    const char *pack_id;
    const char *provenance_file; /* or NULL */
    const char *kernel;
};

struct wf_pair {
    const char *key; /* the gate's name for it; copied into the records */
    const char *case_json, *case_name, *case_id; /* as in wf_execute_request */
    struct wf_pair_arm arm[WF_PAIR_ARMS];
    int block_count; /* 0: judge the answers only */
    uint8_t mask[WF_PAIR_BLOCKS_MAX];
};

struct wf_pair_round {
    const char *gate;     /* id, copied into the records */
    int32_t round, group; /* likewise */
    const struct wf_pair *pair;
    size_t pair_count;
    const struct wf_device *device;
    const char *dataset_folder;
    uint64_t seed_offset; /* of this round's inputs */
    int64_t deadline_ns;  /* of one pair, 0: 10 min; an arm that is judged again by
                             itself, because the other one ended the subject, has as
                             long once more */
    int64_t kernel_deadline_ns; /* as in wf_execute_request */
    int64_t lock_timeout_ns;
    int threads;
    struct wf_measure_options measure; /* cold, sets, batch_min_ns, launches (0: 2),
                                          naive (auto: off) and those of the emulator;
                                          the sampling options and `measure` have no
                                          meaning here, icache_cold is refused */
    const volatile int *cancel;
};

/* Called once a pair, as soon as it is through, with an object of docs/schemas/
 * block.schema.json (kind "pair": answers of both arms with their diagnosis, blocks,
 * conditions); owned by the caller of it. An error ends the round. */
typedef enum wf_status (*wf_pair_taken_fn)(void *ctx,
                                           const struct wf_json *record,
                                           struct wf_error *err);

/* *ret_round: facts of the whole round (device, environment, warm-up, telemetry, which
 * pairs came through), to be freed. A kernel that hangs, crashes or breaks the device
 * gives its pair's record an answer, and the rest of the round goes on in a new
 * subject; an error return means that the runner itself failed: the pairs without a
 * record were not run. ECANCELLED: cancelled. */
enum wf_status wf_pair_round(const struct wf_pair_round *request,
                             wf_pair_taken_fn taken,
                             void *ctx,
                             struct wf_json **ret_round,
                             struct wf_error *err);

#endif
