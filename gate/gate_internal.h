/* What the files of the rule share. */
#ifndef WF_GATE_GATE_INTERNAL_H
#define WF_GATE_GATE_INTERNAL_H

#include "gate/gate.h"

/* Weight that the e-value of a block leaves to 1: no block costs more than a factor of
 * ten, none brings more than 5.5. */
#define GATE_BLEND           0.1
/* Slot noise is never taken to be smaller: a clock that does not move, or modelled
 * times, give equal values, and nothing may divide by zero. */
#define GATE_NOISE_FLOOR     1e-6
/* Degrees of freedom that the noise to start from is worth. */
#define GATE_PRIOR_FREEDOM   6
/* A pair with its certificate is measured on while "faster" has this evidence. */
#define GATE_IMPROVING_LEAST 10
#define GATE_MAX_DEVICES     1024

enum {
    DIR_SLOWER,
    DIR_FASTER,
    DIR_COUNT
};

enum {
    W_SLOWER, /* against "at most d0" */
    W_FASTER, /* against "at least -d0" */
    W_PASS,   /* against "at least d1" */
    W_COUNT
};

enum {
    BETTORS = 2
};

struct gate_block {
    int32_t round;
    uint8_t mask;
    double y[WF_GATE_SLOTS];
    double eta;        /* the bet, fixed before the block */
    double s;          /* slot noise, likewise */
    double difference; /* candidate less base */
    double ranked;     /* of the pair's differences the one of this rank */
};

struct gate_pair {
    enum wf_gate_role role;
    enum wf_gate_verdict verdict;
    enum wf_gate_reason reason;
    struct wf_gate_margins margins;
    int device;
    bool by_time;   /* the verdict rests on blocks, not on answers */
    bool outside;   /* settled by wf_gate_settle */
    bool unmatched; /* not among the m: UNCHANGED or NOT_SUPPORTED before any block */
    bool certified; /* the certificate was reached once */
    bool spoke;     /* sentinel: alarm of the same, find of the slower */
    struct gate_block *block;
    size_t block_count, block_cap;
    int lost, rounds;
    int32_t last_round; /* of any block; -1: none */
    double log_w[W_COUNT];
    /* The same products over all blocks that have values, rejected ones too; from the
     * first rejected one on. */
    int rejected_known; /* rejected blocks that have values */
    double all_w[W_COUNT];
    double all_sign[DIR_COUNT][BETTORS];
    int32_t all_round;           /* that bet last in all_sign */
    double sum_squares, freedom; /* of the scale */
};

struct gate_device {
    bool bad;
    size_t why;              /* pair that says so */
    size_t open, timed;      /* cases: OPEN; decided by their blocks */
    bool has_slower, proven; /* a slower sentinel; it was found */
};

struct wf_gate {
    struct wf_gate_rule rule;
    struct gate_pair *pair;
    size_t count, cap;
    struct gate_device *device;
    size_t device_count;
    enum wf_gate_reason closed; /* by wf_gate_close; NONE */
    /* Of the rule. log_least: below log(1 / alpha), by more than rounding. */
    double log_least, log_sign_least, log_pass[2], log_same_most, log_improving;
};

/* Block e-value, blended; its logarithm. */
double gate_block_log_blend(const double y[WF_GATE_SLOTS],
                            unsigned mask,
                            double d,
                            double eta,
                            int sign);
/* The same for all three directions at once, up to rounding. */
void gate_block_evidence(const double y[WF_GATE_SLOTS],
                         unsigned mask,
                         const struct wf_gate_margins *m,
                         double eta,
                         double ret_log[W_COUNT]);
/* Mean of the candidate's slots minus mean of the base's. */
double gate_block_difference(const double y[WF_GATE_SLOTS], unsigned mask);

double gate_scale(const struct gate_pair *p); /* s, from the blocks so far */
void gate_state_start(struct gate_pair *p);
/* One block that counts. */
enum wf_status gate_state_add(struct wf_gate *g,
                              struct gate_pair *p,
                              const struct wf_gate_block *b,
                              struct wf_error *err);
/* One block that is rejected: counts in what is kept beside. */
void gate_state_reject(struct gate_pair *p, const struct wf_gate_block *b);
/* What the verdicts rest on: the product over the blocks that count where none was
 * rejected; else the mean of that and the product over all blocks, for W_PASS the
 * smaller of the two. */
double gate_log_w(const struct gate_pair *p, int w);
/* Log of the sign process, likewise; runs over the blocks. */
double gate_log_sign(const struct gate_pair *p, int direction);
double gate_log_mean(double log_a, double log_b); /* log((a + b) / 2) */

/* Takes stock of the devices and of their sentinels; see sentinel.c. */
void gate_devices_count(struct wf_gate *g);
void gate_sentinels_judge(struct wf_gate *g);
void gate_sentinels_end(struct wf_gate *g);
/* wf_gate_device_is_good with the sentinel's name given; *ret_pair is it. */
bool gate_device_culprit(const struct wf_gate *g, int device, size_t *ret_pair);
void gate_sentinel_say(const struct wf_gate *g,
                       size_t pair,
                       const char *name,
                       char *ret,
                       size_t n);

#endif
