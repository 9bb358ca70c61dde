/* Which processors a host device has: WAVEFARM_HOST_DEVICES. */
#ifndef WF_RUNNER_HOST_CPUS_H
#define WF_RUNNER_HOST_CPUS_H

#include "core/error.h"

#include <sched.h>
#include <stdbool.h>

#define WF_HOST_MAX_DEVICES 64

struct host_cpus {
    int count;
    cpu_set_t set[WF_HOST_MAX_DEVICES];
};

/* `spec` NULL: one device with all processors of `allowed`. "3": that many devices that
 * share them evenly, in order; with more devices than processors some share one.
 * "0-1;2-3,6": the processors of each device. EINVAL names the text and what is wrong
 * with it. */
enum wf_status host_cpus_parse(const char *spec,
                               const cpu_set_t *allowed,
                               struct host_cpus *ret,
                               struct wf_error *err);
bool host_cpus_has(const cpu_set_t *set, int cpu);
/* "0-3,8". */
void host_cpus_text(const cpu_set_t *set, char *ret, size_t n);

#endif
