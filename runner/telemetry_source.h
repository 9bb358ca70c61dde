/* Where the helper process of telemetry.c reads from. Only the helper calls these: each
 * may hang for ever. */
#ifndef WF_RUNNER_TELEMETRY_SOURCE_H
#define WF_RUNNER_TELEMETRY_SOURCE_H

#include "runner/gpu_metrics.h"
#include "runner/telemetry.h"

#include <stdio.h>

#define TELEMETRY_TEXT 160

struct telemetry_reading {
    int64_t at_ns; /* wf_monotonic_ns */
    double clock_mhz, memory_clock_mhz, power_w, temperature_c;
    uint32_t reasons;
};

struct telemetry_source {
    char folder[512]; /* of the PCI device in sysfs */
    char hwmon[600];  /* "" when there is none */
    bool has_metrics;
    bool has_before;
    struct gpu_metrics_residency before;
    void *nvml_device;
};

/* Opens a source. `text` (TELEMETRY_TEXT bytes) gets what is read, or why nothing is;
 * false: nothing is. */
bool telemetry_sysfs_open(struct telemetry_source *s,
                          const struct telemetry_options *options,
                          char *text);
void telemetry_sysfs_read(struct telemetry_source *s, struct telemetry_reading *ret);
void telemetry_sysfs_errors(struct telemetry_source *s, struct telemetry_errors *ret);

bool telemetry_nvml_open(struct telemetry_source *s,
                         const struct telemetry_options *options,
                         char *text);
void telemetry_nvml_read(struct telemetry_source *s, struct telemetry_reading *ret);
void telemetry_nvml_errors(struct telemetry_source *s, struct telemetry_errors *ret);

#endif
