/* Blocks of five samples; steady when the median of a block is within 5 % of the block
 * before it, in either direction. A fixed number of warm-up runs ends while times still
 * fall. Pure. */
#include "runner/warmup.h"

#include <math.h>
#include <string.h>

#define STEADY_WITHIN       0.05
#define CLOCK_STEADY_WITHIN 0.01
#define NOTHING_SEEN        20 /* samples, and no valid one: no use in going on */
#define AMD_LEAST_NS        ((int64_t)400000000)
#define NVIDIA_LEAST_NS     ((int64_t)200000000)
#define HOST_MAX_NS         ((int64_t)1000000000)
#define MAX_BEYOND_LEAST_NS ((int64_t)1600000000)

int64_t warmup_least_ns(const struct wf_device *device)
{
    if (device->library_kernels || device->times_modelled) {
        return 0;
    }
    return strncmp(device->arch, "sm_", 3) == 0 ? NVIDIA_LEAST_NS : AMD_LEAST_NS;
}

int64_t warmup_max_ns(const struct wf_device *device)
{
    int64_t least_ns = warmup_least_ns(device);
    return least_ns == 0 ? HOST_MAX_NS : least_ns + MAX_BEYOND_LEAST_NS;
}

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

/* --- the clock --- */

void warmup_add_clock(struct warmup *w, int64_t at_ns, double mhz)
{
    if (isfinite(mhz) && mhz > 0) {
        size_t at = w->clocks++ % WARMUP_CLOCKS;
        w->clock[at].at_ns = at_ns;
        w->clock[at].mhz = mhz;
    }
}

static size_t ring_at(const struct warmup *w, size_t back)
{
    return (w->clocks - 1 - back) % WARMUP_CLOCKS;
}

/* Readings of the window, the newest first. */
static size_t window_count(const struct warmup *w)
{
    size_t there = w->clocks < WARMUP_CLOCKS ? w->clocks : WARMUP_CLOCKS;
    int64_t from_ns = w->clock[ring_at(w, 0)].at_ns - WARMUP_CLOCK_WINDOW_NS;
    size_t n = 0;
    while (n < there &&
           (n < WARMUP_CLOCK_LEAST || w->clock[ring_at(w, n)].at_ns >= from_ns)) {
        n++;
    }
    return n;
}

static double mean_clock(const struct warmup *w, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++) {
        sum += w->clock[ring_at(w, i)].mhz;
    }
    return sum / (double)(to - from);
}

enum warmup_clock warmup_clock_state(const struct warmup *w)
{
    if (w->clocks == 0) {
        return WARMUP_CLOCK_UNKNOWN;
    }
    size_t n = window_count(w);
    if (n < WARMUP_CLOCK_LEAST) {
        return WARMUP_CLOCK_UNSTEADY;
    }
    double late = mean_clock(w, 0, n / 2);
    double early = mean_clock(w, n / 2, n);
    return fabs(late - early) <= CLOCK_STEADY_WITHIN * early ? WARMUP_CLOCK_STEADY
                                                             : WARMUP_CLOCK_UNSTEADY;
}

/* --- the samples --- */

static void end_block(struct warmup *w)
{
    double now = median_of_block(w->block);
    w->samples_steady =
        w->before > 0 && fabs(now - w->before) <= STEADY_WITHIN * w->before;
    w->in_block = 0;
    w->before = now;
}

enum warmup_state warmup_add(struct warmup *w, double sample, int64_t spent_ns)
{
    w->seen++;
    w->spent_ns += spent_ns > 0 ? spent_ns : 0;
    if (isfinite(sample) && sample > 0) {
        w->valid++;
        w->block[w->in_block++] = sample;
    }
    if (w->in_block == WARMUP_BLOCK) {
        end_block(w);
    }
    if (w->valid == 0 && w->seen >= NOTHING_SEEN) {
        return WARMUP_CAPPED;
    }
    bool long_enough = w->spent_ns >= w->least_ns;
    if (long_enough && w->samples_steady && w->in_block == 0 &&
        warmup_clock_state(w) != WARMUP_CLOCK_UNSTEADY) {
        return WARMUP_STEADY;
    }
    /* A clock that still moves may have longer than so many short samples take. */
    bool many = w->seen >= w->max_samples && long_enough && w->clocks == 0;
    return many || w->spent_ns >= w->max_ns ? WARMUP_CAPPED : WARMUP_MORE;
}
