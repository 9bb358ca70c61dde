/* Does rotating through copies of the buffers really make them cold? Rules over the
 * bandwidth that a reading kernel reached over sets of growing total size. Pure. */
#ifndef WF_RUNNER_COLD_PROOF_H
#define WF_RUNNER_COLD_PROOF_H

#include "runner/device.h"

#define COLD_MAX_POINTS 16

/* X(NAME, text) */
#define COLD_VERDICT_LIST(X)                                                        \
    X(PROVEN, "proven")         /* on memory's plateau, below the cache's */        \
    X(NOT_PROVEN, "not proven") /* bandwidth still falls at the size used */        \
    X(NO_DIFFERENCE, "no difference measurable") /* caches give this reader nothing \
                                                  */                                \
    X(UNKNOWN, "unknown")                        /* the probe could not be run */

enum cold_verdict {
#define X(name, text) COLD_##name,
    COLD_VERDICT_LIST(X)
#undef X
    COLD_VERDICT_COUNT
};

struct cold_point {
    uint64_t sets, bytes; /* copies, and their total */
    double ns;            /* median of one launch, which reads one copy */
    double width;         /* relative half-width of its interval; NaN: none */
    double gb_per_s;
};

struct cold_proof {
    enum cold_verdict verdict;
    char text[240];
    uint64_t set_bytes, target_bytes;
    struct cold_point point[COLD_MAX_POINTS]; /* by growing size */
    size_t count;
    double hot_gb_per_s, cold_gb_per_s, doubled_gb_per_s; /* NaN: not measured */
    double ratio; /* hot to cold, by time: above 1 where cold is slower */
};

const char *cold_verdict_name(enum cold_verdict v);

/* Bytes of one copy: a quarter of the last-level cache, so that the hot case fits and a
 * launch is not all overhead; a whole number of 4096, 1 MiB to 32 MiB. */
uint64_t cold_probe_set_bytes(const struct wf_device *device);
/* Copies to measure, growing: 1, 2, 3, 4, 6, 8, ... up to what cold mode uses (target)
 * and twice that. Returns how many; the last two are target and double. */
size_t cold_probe_sizes(uint64_t set_bytes,
                        uint64_t target_bytes,
                        uint64_t sets[COLD_MAX_POINTS]);
/* Fills everything but `point`, `count` and the sizes, which the caller has filled.
 * The last two points are target and double. A difference counts when it is more than
 * 5 % and more than both intervals together. */
void cold_judge(struct cold_proof *p);

#endif
