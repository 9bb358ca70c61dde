/* Which processors a measurement uses, and how urgently.
 *
 * On a device that is not the host itself, the subject's thread that launches gets a
 * processor near the device, the judge's thread another one, and the agent's heartbeat
 * never runs on either. The rule is pure; the rest asks the kernel. */
#ifndef WF_RUNNER_PLACEMENT_H
#define WF_RUNNER_PLACEMENT_H

#include "core/error.h"
#include "runner/device.h"

#include <sched.h>
#include <sys/types.h>

#define PLACEMENT_TEXT 160
#define PLACEMENT_NICE (-10) /* asked for; what was had is recorded */

struct placement {
    int subject_cpu;           /* -1: not pinned */
    int judge_cpu;             /* -1: not pinned */
    char text[PLACEMENT_TEXT]; /* why not pinned, or what is shared; "" else */
};

/* The rule. `near`: processors close to the device, empty when that is not known;
 * `index`: of this device among those of its runtime, so that each has processors of
 * its own, counted from the end (interrupts gather at the beginning).
 *   4 or more processors: two of its own near the device, both others' no more than
 *                         numbers allow;
 *   2 or 3:               the subject has the last one, the judge and all else another;
 *   1:                    nothing is pinned. */
void placement_plan(const cpu_set_t *allowed,
                    const cpu_set_t *near,
                    int index,
                    struct placement *ret);

/* The plan for a device of this machine: `near` from its PCI device's local_cpulist
 * below `sysfs`. A host device's processors are its own: nothing is pinned. */
void placement_of_device(const struct wf_device *device,
                         const char *sysfs,
                         struct placement *ret);

/* Processors that measurements on these devices use, for who must keep away. */
void placement_measuring_cpus(const struct wf_device *device,
                              size_t count,
                              const char *sysfs,
                              cpu_set_t *ret);

/* What was in force before, for placement_leave. */
struct placed {
    bool judge, subject;
    cpu_set_t judge_before, subject_before;
    int judge_nice_before, subject_nice_before;
    int judge_cpu, subject_cpu;   /* as the kernel says after the change; -1: none */
    int judge_nice, subject_nice; /* in force */
    char text[PLACEMENT_TEXT];    /* what could not be had, "" when nothing */
};

/* Pins this thread and the thread `subject` (0: none), and raises their priority where
 * it is permitted. What is refused is told in `text` and is no error. */
void placement_enter(const struct placement *plan, pid_t subject, struct placed *ret);
void placement_leave(const struct placed *placed, pid_t subject);

/* Keeps the calling thread away from `avoid` where other processors are allowed;
 * `urgent`: with the highest priority that is permitted. False: there is no other
 * processor. */
bool placement_keep_away(const cpu_set_t *avoid, bool urgent);

/* "0-3,8" into a set; EPARSE says where. */
enum wf_status placement_parse_cpus(const char *text,
                                    cpu_set_t *ret,
                                    struct wf_error *err);

#endif
