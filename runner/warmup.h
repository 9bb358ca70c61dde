/* When is a kernel warm? Pure rule over the samples of launches that do not count. */
#ifndef WF_RUNNER_WARMUP_H
#define WF_RUNNER_WARMUP_H

#include <stddef.h>
#include <stdint.h>

#define WARMUP_BLOCK 5

enum warmup_state {
    WARMUP_MORE,
    WARMUP_STEADY, /* a block's median was within 5 % of the one before */
    WARMUP_CAPPED  /* the cap on samples or time came first */
};

struct warmup {
    double block[WARMUP_BLOCK];
    size_t in_block;
    double before; /* median of the block before; 0: none yet */
    size_t seen;   /* samples, valid or not */
    size_t max_samples;
    int64_t spent_ns;
    int64_t max_ns;
};

void warmup_start(struct warmup *w, size_t max_samples, int64_t max_ns);
/* A sample that is not finite and positive counts towards the cap only. `spent_ns` is
 * the device or host time that it took, whichever is known. */
enum warmup_state warmup_add(struct warmup *w, double sample, int64_t spent_ns);

#endif
