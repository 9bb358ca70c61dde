#include "runner/pair_rule.h"

#include "core/rng.h"
#include "runner/batch_rule.h"
#include "runner/digest.h"
#include "runner/stopping.h"
#include "runner/throttle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TENSOR_PADS 2048u /* 8 MiB */
#define BUFFER_PADS 256u  /* 1 MiB */
#define STREAM      0x70616972u

double pair_slot_value(const double t_ns[WF_PAIR_TIMED])
{
    double sorted[WF_PAIR_TIMED] = { 0 };
    double sum = 0;
    for (size_t i = 0; i < WF_PAIR_TIMED; i++) {
        if (!isfinite(t_ns[i]) || !(t_ns[i] > 0)) {
            return (double)NAN;
        }
        size_t k = i;
        for (; k > 0 && sorted[k - 1] > t_ns[i]; k--) {
            sorted[k] = sorted[k - 1];
        }
        sorted[k] = t_ns[i];
    }
    for (size_t i = 1; i + 1 < WF_PAIR_TIMED; i++) {
        sum += log(sorted[i]);
    }
    return sum / (WF_PAIR_TIMED - 2);
}

static const char *first_reason(uint32_t reasons)
{
    for (size_t r = 0; r < THROTTLE_COUNT; r++) {
        if (throttle_counts(reasons & (1u << r))) {
            return throttle_name(r);
        }
    }
    return "?";
}

void pair_block_judge(struct pair_block *b)
{
    double highest = 0;
    double lowest = (double)INFINITY;
    b->rejected[0] = '\0';
    for (int i = 0; i < PAIR_SLOTS && !b->rejected[0]; i++) {
        const struct pair_slot *s = &b->slot[i];
        if (!isfinite(s->y)) {
            (void)snprintf(b->rejected, sizeof(b->rejected),
                           "slot %d has a sample that is no time", i);
        } else if (throttle_counts(s->reasons)) {
            (void)snprintf(b->rejected, sizeof(b->rejected),
                           "slot %d was throttled (%s)", i, first_reason(s->reasons));
        }
        if (isfinite(s->clock_mhz) && s->clock_mhz > 0) {
            highest = s->clock_mhz > highest ? s->clock_mhz : highest;
            lowest = s->clock_mhz < lowest ? s->clock_mhz : lowest;
        }
    }
    if (!b->rejected[0] && highest > 0 && lowest < PAIR_CLOCK_DROP * highest) {
        (void)snprintf(b->rejected, sizeof(b->rejected),
                       "the clock was between %.0f and %.0f MHz in its slots", lowest,
                       highest);
    }
}

bool pair_stands_out(double ratio, double other)
{
    return ratio > PAIR_STANDS_OUT * (other > 1 ? other : 1);
}

uint32_t pair_launches(const double estimate_ns[2],
                       int64_t batch_min_ns,
                       double tick_ns)
{
    const double slower =
        estimate_ns[0] > estimate_ns[1] ? estimate_ns[0] : estimate_ns[1];
    const int64_t asked_ns =
        batch_min_ns > PAIR_BATCH_LEAST_NS ? batch_min_ns : PAIR_BATCH_LEAST_NS;
    return stopping_launches(slower, batch_least_ns(asked_ns, tick_ns));
}

void pair_draw(uint64_t seed_offset,
               int32_t round,
               const char *key,
               struct pair_draw *ret)
{
    struct digest digest;
    digest_start(&digest);
    digest_add(&digest, &seed_offset, sizeof(seed_offset));
    digest_add(&digest, &round, sizeof(round));
    digest_add(&digest, key, strlen(key));
    struct wf_rng rng = { digest_value(&digest), STREAM, 0 };
    ret->swapped = wf_rng_next_below(&rng, 2) == 1;
    for (int i = 0; i < PAIR_PADS; i++) {
        const uint64_t most = i == 0 ? TENSOR_PADS : BUFFER_PADS;
        ret->pad[i] = wf_rng_next_below(&rng, most) * PAIR_PAD_BYTES;
    }
}
