/* Clock, power, temperature, throttle reasons and memory errors of a device while a
 * task runs, read by a helper process of their own.
 *
 * The helper reads every few milliseconds into a ring in shared memory; whoever
 * measures only looks into the ring. So a driver that hangs costs nobody any time:
 * there are no new readings, the figures are unknown (NaN) and the state says "hung".
 * The subject, where other people's code runs, is started by exec and has neither the
 * ring nor a pipe to the helper. AMD: amdgpu's sysfs (gpu_metrics, hwmon, ras). NVIDIA:
 * NVML. */
#ifndef WF_RUNNER_TELEMETRY_H
#define WF_RUNNER_TELEMETRY_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TELEMETRY_PERIOD_NS ((int64_t)10000000)
/* A reading further away than this says nothing about a sample. */
#define TELEMETRY_NEAR_NS   ((int64_t)100000000)
/* So long without a reading: the helper hangs. */
#define TELEMETRY_SILENT_NS ((int64_t)500000000)

enum telemetry_state {
    TELEMETRY_OFF,      /* no helper: this kind of device tells nothing */
    TELEMETRY_STARTING, /* no reading yet */
    TELEMETRY_RUNNING,
    TELEMETRY_ABSENT, /* the helper found nothing to read; telemetry_why() */
    TELEMETRY_HUNG,   /* readings have stopped */
    TELEMETRY_ENDED   /* the helper is gone */
};

/* NaN: unknown. Reasons are throttle.h's. */
struct telemetry_figures {
    double clock_mhz, memory_clock_mhz, power_w, temperature_c;
    uint32_t reasons;
    size_t readings; /* that lie inside the time; 0: the nearest one, or none */
};

struct telemetry_errors {
    bool known;
    uint64_t uncorrectable, corrected; /* since the driver started */
};

struct telemetry_options {
    const char *runtime;    /* "amd" or "cuda"; others have no telemetry */
    const char *pci_bus_id; /* "0000:c1:00.0" */
    const char *sysfs;      /* "/sys" outside tests */
    int64_t period_ns;      /* 0: TELEMETRY_PERIOD_NS */
};

struct telemetry; /* opaque */

/* *ret NULL with WF_OK: devices of this runtime tell nothing. Call it while the process
 * is small and has one thread: the helper is forked. */
enum wf_status telemetry_start(const struct telemetry_options *options,
                               struct telemetry **ret,
                               struct wf_error *err);
/* Kills the helper; one that cannot die is left to the kernel after 100 ms. */
void telemetry_stop(struct telemetry *t);

/* Means over the readings between two times of wf_monotonic_ns, or the nearest reading.
 * `t` NULL: all unknown. */
void telemetry_between(const struct telemetry *t,
                       int64_t from_ns,
                       int64_t to_ns,
                       struct telemetry_figures *ret);
/* Waits for the first reading, at most so long. */
void telemetry_wait_first(const struct telemetry *t, int64_t limit_ns);
/* Counts of memory errors, asked for now; waits at most `limit_ns`. */
void telemetry_read_errors(struct telemetry *t,
                           int64_t limit_ns,
                           struct telemetry_errors *ret);

enum telemetry_state telemetry_state(struct telemetry *t);
const char *telemetry_state_name(enum telemetry_state state);
/* What is read ("gpu_metrics 1.6"), or why nothing is; valid until telemetry_stop. */
const char *telemetry_why(const struct telemetry *t);

#endif
