/* Rules of a pair's measurement. Pure: numbers in, numbers out, and none of them knows
 * which arm is which. */
#ifndef WF_RUNNER_PAIR_RULE_H
#define WF_RUNNER_PAIR_RULE_H

#include "runner/pair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_SLOTS          4
#define PAIR_BATCH_LEAST_NS ((int64_t)200000)
#define PAIR_CLOCK_DROP     0.9 /* of the highest clock of the block's slots */
#define PAIR_STANDS_OUT     2.5
#define PAIR_PAD_BYTES      4096u
#define PAIR_PADS           3

/* What one slot gave. NaN: unknown. */
struct pair_slot {
    double t_ns[WF_PAIR_TIMED]; /* of a launch in each timed batch, in order */
    double y;
    double clock_mhz, power_w, temperature_c;
    uint32_t reasons; /* of throttle.h */
};

struct pair_block {
    uint8_t mask;
    struct pair_slot slot[PAIR_SLOTS];
    char rejected[160]; /* "": it counts */
};

/* Mean of the logs of the middle three of five times; NaN when one is no time. */
double pair_slot_value(const double t_ns[WF_PAIR_TIMED]);
/* Why the whole block does not count, "" when it does. */
void pair_block_judge(struct pair_block *b);

/* Whether an arm whose launches on changed inputs take so many times as long as its
 * timed ones stands out from the other one (NaN: not known, 1). */
bool pair_stands_out(double ratio, double other);

/* Launches of a batch, for both arms: so many that a batch of the slower one lasts as
 * long as is asked for, and at least 200 us. */
uint32_t pair_launches(const double estimate_ns[2],
                       int64_t batch_min_ns,
                       double tick_ns);

/* What a round draws for a pair: which arm sits where, and how far its memory is
 * shifted. By the seed of the round's inputs, its number and the pair's key, so that it
 * can be repeated; a kernel knows none of them. */
struct pair_draw {
    bool swapped;            /* the candidate sits first */
    uint64_t pad[PAIR_PADS]; /* bytes before the tensors, before each arm's buffers */
};
void pair_draw(uint64_t seed_offset,
               int32_t round,
               const char *key,
               struct pair_draw *ret);

#endif
