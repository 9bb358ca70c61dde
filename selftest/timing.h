/* The clock judged: known work measured as any task is (runner/execute.h).
 *
 *   spin       a kernel that waits for 1 us to 10 ms by the device's own clock: what
 * the events say of it, and how they agree with the host's clock A/A        one kernel
 * measured in fresh processes: spread within and between them cold       the proof of
 * runner/cold_probe.h, measured anew and stored coverage   in how many of `repeats`
 * measurements the median's interval holds the pooled median of all
 *
 * A device whose spin of 5 ms reads neither 5 ms +-10 % nor what the host's clock says
 * of it (wf_calibration_good) is marked unusable in this
 * machine's cache (runner/calibration.h); one that does is marked usable again. */
#ifndef WF_SELFTEST_TIMING_H
#define WF_SELFTEST_TIMING_H

#include "core/error.h"
#include "core/json.h"
#include "runner/device.h"

struct wf_timing_options {
    const struct wf_device *device;
    int repeats; /* of the coverage; 0: none */
    int runs;    /* of A/A, at least 2 */
    const volatile int *cancel;
    void (*progress)(void *ctx, const char *stage, size_t done, size_t of);
    void *ctx;
};

/* *ret is an object of docs/measuring.md (section Is the clock to be believed). On a
 * runtime whose times are modelled it says so and measures nothing. ENOTFOUND without
 * the device's probe pack. */
enum wf_status wf_timing_run(const struct wf_timing_options *options,
                             struct wf_json **ret,
                             struct wf_error *err);
/* Member "verdict" is "good" or "modelled". */
bool wf_timing_is_good(const struct wf_json *report);

#endif
