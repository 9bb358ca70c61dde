/* amdgpu's binary file `gpu_metrics`: format 1, content 3 to 8 (MI200, MI300). Pure.
 * Layouts: struct gpu_metrics_v1_* of the Linux kernel's kgd_pp_interface.h, little
 * endian; all bits of a member set means "not known". */
#ifndef WF_RUNNER_GPU_METRICS_H
#define WF_RUNNER_GPU_METRICS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_METRICS_MAX_BYTES 8192u
#define GPU_METRICS_XCC       8

/* How long each limit held the clock down, in the firmware's steps since it started; a
 * 32-bit number that may wrap. */
struct gpu_metrics_residency {
    uint32_t steps, prochot, power, thermal, vr_thermal, hbm_thermal;
};

struct gpu_metrics {
    unsigned content;     /* 3 to 8 */
    double gfx_clock_mhz; /* middle of those that are known; else NaN */
    double xcc_clock_mhz[GPU_METRICS_XCC]; /* NaN: not there or not known */
    double memory_clock_mhz, power_w, hotspot_c, memory_c; /* NaN: not known */
    bool has_reasons;                                      /* status bits were told */
    uint32_t reasons;   /* of throttle.h, at this moment */
    bool has_residency; /* content 6 and later */
    struct gpu_metrics_residency residency;
};

/* EUNSUPPORTED: another format or content (2.x and 3.x are APUs'); EPARSE: the size in
 * the header is not that of its content, or bytes are missing or left over. */
enum wf_status gpu_metrics_parse(const void *bytes,
                                 size_t n,
                                 struct gpu_metrics *ret,
                                 struct wf_error *err);

/* Reasons (throttle.h) that held the clock down between two readings. A counter that is
 * not known (all bits set) in either says nothing. */
uint32_t gpu_metrics_throttled(const struct gpu_metrics_residency *before,
                               const struct gpu_metrics_residency *after);

#endif
