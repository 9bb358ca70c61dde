/* Is the time possible: events against the host's clock, the device's peaks (rules in
 * stopping.c). */
#include "runner/judge_meter.h"

#include "core/clock.h"
#include "core/stats.h"
#include "runner/stopping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_CHECK_TRIES 5
#define PAUSE_NS          ((int64_t)10000000)
#define FLOOR_SLACK       0.95
#define F32_EMULATION     8.0 /* tensor units may do f32 this much faster than said */
#define CACHES_BEATEN     4

enum wf_status meter_check_clocks(struct meter *m, struct wf_error *err)
{
    char why[200] = "";
    const struct wf_clock *clock = wf_clock_system();
    enum wf_status st = WF_OK;
    double best = (double)NAN;
    double launch_ns = m->host_ns > m->estimate_ns ? m->host_ns : m->estimate_ns;
    double launches =
        launch_ns > 0 ? ceil(PLAUSIBLE_STRETCH_NS / launch_ns) : PLAUSIBLE_LAUNCHES_MAX;
    bool agree = false;
    struct wf_sp_measure want = { .batches = 1,
                                  .program_count =
                                      (uint32_t)judge_program_count(m->j) };
    want.launches = launches < 1 ? 1
                    : launches < PLAUSIBLE_LAUNCHES_MAX
                        ? (uint32_t)launches
                        : (uint32_t)PLAUSIBLE_LAUNCHES_MAX;
    if (judge_has_inout(m->j)) {
        want.launches = 1;
    }
    for (int i = 0; st == WF_OK && i < CLOCK_CHECK_TRIES && !agree; i++) {
        struct group g;
        want.first = m->next;
        st = meter_run_group(m, &want, &g, err);
        if (st == WF_OK) {
            double event_ns = g.sample[0].event_ms * 1e6;
            double ratio = (double)g.wall_ns / event_ns;
            best = !(fabs(ratio - 1) >= fabs(best - 1)) ? ratio : best;
            agree = !plausible_clocks(event_ns, (double)g.wall_ns, why, sizeof(why));
        }
        if (st == WF_OK && !agree && !judge_has_inout(m->j) &&
            i + 1 < CLOCK_CHECK_TRIES) {
            /* Others may be at work: later, and longer beside what they take. */
            clock->sleep_ns(clock->ctx, PAUSE_NS << i);
            want.launches = plausible_longer(want.launches, g.sample[0].event_ms * 1e6,
                                             (double)g.wall_ns);
        }
    }
    if (st == WF_OK && !agree) {
        result_time(m->j->result, WF_TIME_IMPLAUSIBLE, "%s", why);
    }
    m->j->result->timing.host_ratio = best;
    return st;
}

/* --- the floor --- */

enum wf_status meter_check_floor(struct meter *m, struct wf_error *err)
{
    struct judge *j = m->j;
    struct result *r = j->result;
    const struct wf_device *device = j->request->device;
    struct wf_summary summary;
    double *valid = NULL;
    size_t n = 0;
    enum wf_status st = result_valid_samples(&r->timing, &valid, &n, err);
    if (st == WF_OK) {
        st = wf_summarise(valid, n, &summary, err);
    }
    free(valid);
    if (st != WF_OK || n == 0) {
        return st;
    }
    bool whole = !device->partition[0] || strncmp(device->partition, "SPX", 3) == 0;
    bool from_memory = j->request->measure.cold ||
                       judge_set_bytes(j) > CACHES_BEATEN * device->llc_bytes;
    double peak_flops = r->peak_flops;
    if (r->c.math_type && strcmp(r->c.math_type, "f32") == 0) {
        peak_flops *= F32_EMULATION;
    }
    double floor_ns =
        plausible_floor_ns(r->c.flops, peak_flops, r->c.bytes,
                           whole && from_memory ? r->peak_bytes_per_s : 0);
    if (floor_ns > 0 && !(summary.median >= FLOOR_SLACK * floor_ns)) {
        result_time(r, WF_TIME_IMPLAUSIBLE,
                    "median %.0f ns is faster than the %.0f ns that the device's peaks "
                    "allow",
                    summary.median, floor_ns);
    }
    return WF_OK;
}
