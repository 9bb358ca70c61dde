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

/* Median of the law of the first `n` of `of` samples, their times taken together, in
 * logarithms and without the layout effect: exact but for 2^18 draws (and what a ramp
 * adds, integrated numerically). */
struct noise_law; /* opaque; aborts when there is no memory */
struct noise_law *noise_law_create(enum noise_kind kind);
double noise_law_median(const struct noise_law *law, size_t n, size_t of);
void noise_law_free(struct noise_law *law);

#endif
