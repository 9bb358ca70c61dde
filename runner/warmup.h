/* When is a kernel warm? Pure rule over launches that do not count.
 *
 * Warm is: at least `least_ns` under load, and the samples are steady, and so is the
 * clock where it is known. A power controller takes hundreds of milliseconds to find
 * its clock (MI300: 400 ms and more), far longer than a short kernel's samples take to
 * look alike. */
#ifndef WF_RUNNER_WARMUP_H
#define WF_RUNNER_WARMUP_H

#include "runner/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARMUP_BLOCK           5
#define WARMUP_CLOCKS          64
#define WARMUP_CLOCK_LEAST     6
#define WARMUP_CLOCK_WINDOW_NS ((int64_t)100000000)

enum warmup_state {
    WARMUP_MORE,
    WARMUP_STEADY, /* a block's median was within 5 % of the one before, the clock's
                      means over both halves of its window within 1 % */
    WARMUP_CAPPED  /* the cap on samples or time came first */
};

enum warmup_clock {
    WARMUP_CLOCK_UNKNOWN, /* no reading: the clock was not asked for */
    WARMUP_CLOCK_UNSTEADY,
    WARMUP_CLOCK_STEADY
};

struct warmup {
    double block[WARMUP_BLOCK];
    size_t in_block;
    double before;       /* median of the block before; 0: none yet */
    bool samples_steady; /* as the last two blocks say */
    size_t seen;         /* samples, valid or not */
    size_t valid;
    size_t max_samples;
    int64_t spent_ns; /* under load */
    int64_t least_ns; /* 0: none; the cap on samples does not hold before it */
    int64_t max_ns;
    struct {
        int64_t at_ns;
        double mhz;
    } clock[WARMUP_CLOCKS]; /* a ring */
    size_t clocks;          /* readings that came */
};

/* Time under load that a device of this kind needs at least: 400 ms on AMD's, 200 ms on
 * NVIDIA's, none on a host. */
int64_t warmup_least_ns(const struct wf_device *device);
/* Its cap, which the budget for samples has no part in: 1 s on a host, else 1.6 s more
 * than the least. */
int64_t warmup_max_ns(const struct wf_device *device);

void warmup_start(struct warmup *w, size_t max_samples, int64_t max_ns);
/* A reading of the clock at a time of the caller's, in order; one that is not finite
 * and positive is ignored. */
void warmup_add_clock(struct warmup *w, int64_t at_ns, double mhz);
/* A sample that is not finite and positive counts towards the cap only; twenty of them
 * and no other are the cap. `spent_ns` is
 * the device or host time that it took, whichever is known. */
enum warmup_state warmup_add(struct warmup *w, double sample, int64_t spent_ns);
/* Over the last 100 ms, at least the last six readings. Means of halves, because under
 * a power limit a clock swings around its mean without end. */
enum warmup_clock warmup_clock_state(const struct warmup *w);

#endif
