/* Noise of measured times, for judging rules by simulation: six kinds, loosely fitted
 * to recorded times of real devices (A100, MI250X, and power-capped cards for the last
 * two). All effects are factors of the time, so a run is made as logarithms:
 *
 *   log t = jitter (each launch) + drift (AR(1), each slot of 5 launches)
 *         + mode (a two-state chain over the slots: a clock that drops and comes back)
 *         + ramp (linear over the run) + outliers (launches, and whole slots)
 *         + layout (one value a process) */
#ifndef WF_TESTS_SUPPORT_NOISE_H
#define WF_TESTS_SUPPORT_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOISE_SLOT 5 /* launches */

/* X(name, jitter, drift, phi, mode, share, dwell, ramp, outlier, size, slot, layout):
 * standard deviations of jitter, drift and layout; the mode's step, its share of the
 * time and how many slots it lasts; probabilities of a launch and of a slot to be an
 * outlier, and its mean size. */
#define NOISE_LIST(X)                                               \
    X(quiet, .003, .001, .90, 0, .3, 8, 0, .005, .03, .000, 0)      \
    X(typical, .007, .004, .90, 0, .3, 8, 0, .010, .05, .005, 0)    \
    X(noisy, .020, .008, .90, 0, .3, 8, 0, .020, .10, .010, 0)      \
    X(bimodal, .007, .003, .90, .04, .3, 10, 0, .010, .05, .005, 0) \
    X(ramp, .007, .003, .90, 0, .3, 8, .02, .010, .05, .005, 0)     \
    X(layout, .007, .003, .90, 0, .3, 8, 0, .010, .05, .005, .004)

enum noise_kind {
#define X(name, ...) NOISE_##name,
    NOISE_LIST(X)
#undef X
    NOISE_KINDS
};

const char *noise_name(enum noise_kind kind);

/* Logarithms of n times of run `run`; the ramp reaches its full height at n. The same
 * arguments give the same bits. Returns the process's layout effect. */
double noise_fill(enum noise_kind kind,
                  uint64_t seed,
                  uint64_t run,
                  double *log_ns,
                  size_t n);

/* --- sessions of two arms, as a gate or an A/B tool measures them --- */

/* What the device brings from one session into the next. All zero: a fresh device. */
struct noise_path {
    bool begun, slow;
    double drift; /* in standard deviations */
    size_t slots; /* measured so far */
};

struct noise_session {
    enum noise_kind kind;
    size_t slots;
    size_t ramp_slots;       /* length of the session that this is a part of, begun at a
                                random place of it; 0: it is all of it */
    double layout;           /* standard deviation of what a process does to an arm;
                                negative: the kind's */
    double effect;           /* log of the time ratio of arm 1 to arm 0 */
    uint64_t seed, run;      /* the same give the same noise, whatever the kind */
    struct noise_path *path; /* NULL: a device of its own. Else drift, mode and ramp go
                                on from there (ramp_slots: of the whole path) */
};

/* Logarithms of slots * NOISE_SLOT times; arm[i] is the arm (0 or 1) of slot i. Each
 * arm has one layout effect in the session, which is one process. */
void noise_session(const struct noise_session *s,
                   const unsigned char *arm,
                   double *ret_log_ns);
/* A slot's value: the mean of the middle three of its five. */
double noise_slot_value(const double log_ns[NOISE_SLOT]);
/* What a registry would know of a kind: standard deviation of slots within a block of
 * four of one process, residuals cut at 3 %. */
double noise_slot_sd(enum noise_kind kind);
double noise_layout(enum noise_kind kind);

/* --- the law of a run --- */

/* Median of the law of the first `n` of `of` samples, their times taken together, in
 * logarithms and without the layout effect: exact but for 2^18 draws (and what a ramp
 * adds, integrated numerically). */
struct noise_law; /* opaque; aborts when there is no memory */
struct noise_law *noise_law_create(enum noise_kind kind);
double noise_law_median(const struct noise_law *law, size_t n, size_t of);
void noise_law_free(struct noise_law *law);

#endif
