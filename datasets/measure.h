/* How a time is asked for: the object "measure" of a suite, of one of its cases, of a
 * run's request and of a lease. All members are optional; 0 stands for the runner's
 * default (docs/measuring.md).
 *
 *   cold         bool      launches go through many copies of the tensors
 *   icache       "hot" | "cold"
 *   ci_target    0 .. 1    half-width of the median's interval as a part of the median
 *   budget_ms    0 .. 1 h  device time for samples
 *   min_samples, max_samples  0 .. 100000
 *   launches     0, 2 .. 100000 checked launches on equal inputs */
#ifndef WF_DATASETS_MEASURE_H
#define WF_DATASETS_MEASURE_H

#include "core/error.h"
#include "core/json.h"

#define WF_MEASURE_BUDGET_MS_MAX 3600000
#define WF_MEASURE_SAMPLES_MAX   100000
#define WF_MEASURE_LAUNCHES_MAX  100000 /* as the runner has it: WF_LAUNCHES_MAX */

/* Checks type and range of the members above; others are not looked at. EPARSE, EINVAL
 * or ERANGE name the member. */
enum wf_status wf_measure_check(const struct wf_json *m, struct wf_error *err);
/* The same, and there are no other members. */
enum wf_status wf_measure_check_all(const struct wf_json *m, struct wf_error *err);
/* *ret, the caller's, has the members of both; those of `over` win. Either may be NULL.
 * The outcome is not checked. */
enum wf_status wf_measure_merge(const struct wf_json *under,
                                const struct wf_json *over,
                                struct wf_json **ret,
                                struct wf_error *err);

#endif
