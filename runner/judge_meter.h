/* Measuring, between its files (judge_measure.c, judge_batches.c, judge_warmup.c,
 * judge_samples.c, judge_plausible.c). Private to the judge. */
#ifndef WF_RUNNER_JUDGE_METER_H
#define WF_RUNNER_JUDGE_METER_H

#include "runner/device_lock.h"
#include "runner/judge.h"
#include "runner/placement.h"
#include "runner/telemetry.h"

struct meter {
    struct judge *j;
    double estimate_ns; /* of a launch */
    double host_ns;     /* of a launch in the last group, with everything around it */
    uint32_t launches;  /* in a batch */
    uint32_t lead;
    uint32_t next; /* program of the next launch */
    uint32_t last; /* set of the last launch */
    int64_t spent_ns;
    double enqueue_ns, event_ns; /* sums over the timed batches */
    double tick_ns;              /* of the events; 0: not known */
    struct device_lock *lock;
    bool is_placed;
    struct placed placed;
    struct telemetry_errors errors_before;
};

/* One group of batches, as the subject measured it. */
struct group {
    struct wf_sp_measured head;
    struct wf_sp_sample sample[WF_SP_MAX_BATCHES];
    int64_t start_ns; /* of the judge's clock */
    int64_t wall_ns;
};

/* judge_batches.c */
enum wf_status meter_run_group(struct meter *m,
                               const struct wf_sp_measure *want,
                               struct group *ret,
                               struct wf_error *err);
void meter_set_batch(struct meter *m);
/* The smallest step of the device's events, once a task. */
enum wf_status meter_find_tick(struct meter *m, struct wf_error *err);
struct wf_sp_measure meter_group_request(const struct meter *m);
/* A launch's time to plan with: a clock that says nothing, or next to nothing beside
 * what passed on the host, must not lead to endless batches. */
double meter_plan_ns(double event_ns, double host_ns);
double meter_per_launch_ns(const struct wf_sp_sample *s, uint32_t launches);

/* judge_warmup.c */
enum wf_status meter_warm_up(struct meter *m, struct wf_error *err);

/* judge_conditions.c: the lock, the processors, what was known before; after the
 * samples; in any case at the end. */
enum wf_status meter_begin(struct meter *m, struct wf_error *err);
/* The processors alone, for a subject that took another one's place. */
enum wf_status meter_place(struct meter *m, struct wf_error *err);
enum wf_status meter_note_conditions(struct meter *m, struct wf_error *err);
void meter_end(struct meter *m);

/* judge_samples.c */
enum wf_status meter_sample(struct meter *m, struct wf_error *err);

/* judge_plausible.c: before the samples, and after them. */
enum wf_status meter_check_clocks(struct meter *m, struct wf_error *err);
enum wf_status meter_check_floor(struct meter *m, struct wf_error *err);

#endif
