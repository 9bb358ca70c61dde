/* Blocks of five samples; steady when the median of a block is within 5 % of the block
 * before it, in either direction. A fixed number of warm-up runs ends while times still
 * fall. Pure. */
#include "runner/warmup.h"

#include <math.h>
#include <string.h>

#define STEADY_WITHIN 0.05

void warmup_start(struct warmup *w, size_t max_samples, int64_t max_ns)
{
    memset(w, 0, sizeof(*w));
    w->max_samples = max_samples;
    w->max_ns = max_ns;
}

static double median_of_block(const double block[WARMUP_BLOCK])
{
    double sorted[WARMUP_BLOCK];
    memcpy(sorted, block, sizeof(sorted));
    for (size_t i = 1; i < WARMUP_BLOCK; i++) {
        for (size_t k = i; k > 0 && sorted[k] < sorted[k - 1]; k--) {
            double swap = sorted[k];
            sorted[k] = sorted[k - 1];
            sorted[k - 1] = swap;
        }
    }
    return sorted[WARMUP_BLOCK / 2];
}

enum warmup_state warmup_add(struct warmup *w, double sample, int64_t spent_ns)
{
    w->seen++;
    w->spent_ns += spent_ns > 0 ? spent_ns : 0;
    if (isfinite(sample) && sample > 0) {
        w->block[w->in_block++] = sample;
    }
    if (w->in_block == WARMUP_BLOCK) {
        double now = median_of_block(w->block);
        double before = w->before;
        w->in_block = 0;
        w->before = now;
        if (before > 0 && fabs(now - before) <= STEADY_WITHIN * before) {
            return WARMUP_STEADY;
        }
    }
    if (w->seen >= w->max_samples || w->spent_ns >= w->max_ns) {
        return WARMUP_CAPPED;
    }
    return WARMUP_MORE;
}
