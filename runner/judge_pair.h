/* A round of pairs in the judge (runner/pair.h says what a round is). Private to
 * judge_pair*.c.
 *
 * Each arm is a struct judge of its own; they share the subject, the case, the tensors
 * and the reference (judge.twin). Arms sit on seats 0 and 1, which are drawn: all
 * numbers of the subject follow from the seat, and whatever is done to both is done in
 * the order of the seats. So nothing that the subject sees depends on which arm is the
 * candidate, but the code itself and the order of the drawn slots. */
#ifndef WF_RUNNER_JUDGE_PAIR_H
#define WF_RUNNER_JUDGE_PAIR_H

#include "runner/judge_meter.h"
#include "runner/pair_request.h"
#include "runner/pair_rule.h"

/* What lives as long as the round. */
struct pair_round {
    const struct pair_request *asked;
    const char *subject_program;
    void (*say)(const char *line);
    enum wf_status (*send)(const char *kind,
                           const struct wf_json *json,
                           struct wf_error *err);
    struct judge root;   /* owner of the subject; of no case */
    struct result facts; /* its result: details of the round */
    struct meter meter;  /* the lock, the placement; of the root */
    bool conditions;     /* the lock is taken, conditions are read */
    bool placed;         /* this subject is where it is to be measured */
    bool unusable;       /* the subject must not be used for another case */
    bool used;           /* the subject holds things of a case */
    bool warm;           /* a pair was measured in this round */
    bool has_tick;
    double tick_ns;
    uint32_t subjects; /* that were started */
    size_t judged, measured;
    int64_t start_ns;
    struct wf_json *warmup; /* of the first pair; NULL: none yet */
};

struct pair_arm {
    bool exists;
    bool checked; /* its launches on equal inputs were right */
    bool judged;  /* its answer stands */
    struct wf_execute_request request;
    struct result result;
    struct judge j;
    struct meter m;
    struct wf_sp_ran ran; /* the checked launch */
    double *sample;       /* timed batches that count, ns of a launch */
    size_t samples;
};

struct pair {
    struct pair_round *round;
    const struct wf_pair *asked;
    struct pair_draw draw;
    struct pair_arm arm[WF_PAIR_ARMS]; /* by label */
    struct pair_arm *seat[WF_PAIR_ARMS];
    size_t acting; /* seat whose call goes to the subject */
    struct pair_block block[WF_PAIR_BLOCKS_MAX];
    int block_count;
    uint32_t launches; /* of a batch */
    uint32_t lead;
    char note[400];
    int64_t start_ns, measure_ns;
};

/* judge_pair.c: the whole round; *ret its facts. */
enum wf_status judge_pair_round(struct pair_round *r,
                                struct wf_json **ret,
                                struct wf_error *err);
/* A subject with an open device that holds nothing of a case. */
enum wf_status pair_fresh_subject(struct pair_round *r, struct wf_error *err);
void pair_lend_subject(struct pair_round *r, struct judge *j);

/* judge_pair_arms.c: answers of both arms. */
enum wf_status pair_begin(struct pair *p, struct wf_error *err);
void pair_finish(struct pair *p);
enum wf_status pair_judge(struct pair *p, struct wf_error *err);
/* What `st` (and `err`) of the acting arm, or of the arm whose call failed, means: its
 * answer, or the runner's own failure. */
enum wf_status pair_end_arm(struct pair *p, enum wf_status st, struct wf_error *err);
bool pair_both_pass(const struct pair *p);
/* The answer of an arm whose other one has none to share with it. */
enum wf_status pair_judge_alone(struct pair *p, size_t seat, struct wf_error *err);
/* The acting arm's call failed for want of device memory alone. */
bool pair_lacks_memory(const struct pair *p,
                       enum wf_status st,
                       const struct wf_error *why);
void pair_note(struct pair *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* judge_pair_measure.c: the blocks of a pair whose arms both passed. */
enum wf_status pair_measure(struct pair *p, struct wf_error *err);
/* The lock and the conditions, once a round. */
enum wf_status pair_take_device(struct pair *p, struct wf_error *err);
/* judge_pair_blocks.c */
enum wf_status pair_warm_up(struct pair *p, struct wf_error *err);
enum wf_status pair_blocks(struct pair *p, struct wf_error *err);
/* One slot of a seat, as each of a block; *ret may be NULL. */
enum wf_status pair_slot(struct pair *p,
                         size_t seat,
                         struct pair_slot *ret,
                         struct wf_error *err);
/* The slot's times, for the audit. */
enum wf_status pair_keep_samples(struct pair_arm *arm,
                                 const struct pair_slot *s,
                                 struct wf_error *err);

/* judge_pair_process.c: a pair one of whose kernels is a command. */
bool pair_has_process(const struct pair *p);
enum wf_status pair_run_process(struct pair *p, struct wf_error *err);

/* judge_pair_record.c */
enum wf_status pair_record(const struct pair *p,
                           struct wf_json **ret,
                           struct wf_error *err);
enum wf_status pair_round_facts(struct pair_round *r,
                                struct wf_json **ret,
                                struct wf_error *err);

#endif
