/* The rule of placement, and the calls that put it into force. */
#include "runner/placement.h"

#include "core/file.h"
#include "core/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* --- sets --- */

enum wf_status placement_parse_cpus(const char *text,
                                    cpu_set_t *ret,
                                    struct wf_error *err)
{
    const char *at = text;
    CPU_ZERO(ret);
    while (*at && *at != '\n') {
        char part[32];
        int64_t from = 0;
        int64_t to = 0;
        size_t len = strcspn(at, ",\n");
        (void)snprintf(part, sizeof(part), "%.*s", (int)len, at);
        char *dash = strchr(part, '-');
        if (dash) {
            *dash = '\0';
        }
        if (len >= sizeof(part) ||
            wf_parse_i64(part, "cpu", 0, CPU_SETSIZE - 1, &from, NULL) != WF_OK ||
            wf_parse_i64(dash ? dash + 1 : part, "cpu", from, CPU_SETSIZE - 1, &to,
                         NULL) != WF_OK) {
            return wf_errorf(err, WF_EPARSE,
                             "'%.40s' is no list of processors: column %d", text,
                             (int)(at - text) + 1);
        }
        for (int64_t cpu = from; cpu <= to; cpu++) {
            CPU_SET((size_t)cpu, ret);
        }
        at += len + (at[len] == ',');
    }
    return WF_OK;
}

/* Processors of both sets in order; at most `n`. */
static int list_cpus(const cpu_set_t *a, const cpu_set_t *b, int *ret, int n)
{
    int count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && count < n; cpu++) {
        if (CPU_ISSET((size_t)cpu, a) && CPU_ISSET((size_t)cpu, b)) {
            ret[count++] = cpu;
        }
    }
    return count;
}

/* --- the rule --- */

void placement_plan(const cpu_set_t *allowed,
                    const cpu_set_t *near,
                    int index,
                    struct placement *ret)
{
    int cpu[CPU_SETSIZE];
    *ret = (struct placement){ .subject_cpu = -1, .judge_cpu = -1 };
    int total = CPU_COUNT(allowed);
    int count = list_cpus(allowed, near, cpu, CPU_SETSIZE);
    if (total < 2) {
        (void)snprintf(ret->text, sizeof(ret->text),
                       "one processor: nothing is pinned, judge, subject and heartbeat "
                       "share it");
        return;
    }
    if (total < 4 || count < 2) {
        count = list_cpus(allowed, allowed, cpu, CPU_SETSIZE);
    }
    if (total < 4) {
        ret->subject_cpu = cpu[count - 1];
        ret->judge_cpu = cpu[count - 2];
        (void)snprintf(ret->text, sizeof(ret->text),
                       "%d processors: devices share the subject's, all else shares "
                       "the rest",
                       total);
        return;
    }
    /* With fewer than two for each device they come round again; one pair is always
     * left at the beginning for everybody else where the list is all there is. */
    int pairs = count / 2 > 1 && count == total ? count / 2 - 1 : count / 2;
    int pair = index % pairs;
    ret->subject_cpu = cpu[count - 1 - 2 * pair];
    ret->judge_cpu = cpu[count - 2 - 2 * pair];
    if (index >= pairs) {
        (void)snprintf(ret->text, sizeof(ret->text),
                       "%d processors near the device: shared with another device",
                       count);
    }
}

void placement_of_device(const struct wf_device *device,
                         const char *sysfs,
                         struct placement *ret)
{
    cpu_set_t allowed;
    cpu_set_t near;
    char path[300];
    struct wf_buf text = WF_BUF_INIT;
    *ret = (struct placement){ .subject_cpu = -1, .judge_cpu = -1 };
    if (device->library_kernels) {
        (void)snprintf(ret->text, sizeof(ret->text),
                       "the device is the host's processors %.80s", device->cpus);
        return;
    }
    CPU_ZERO(&near);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        (void)snprintf(ret->text, sizeof(ret->text), "sched_getaffinity: %.80s",
                       strerror(errno));
        return;
    }
    (void)snprintf(path, sizeof(path), "%.200s/bus/pci/devices/%.40s/local_cpulist",
                   sysfs, device->pci_bus_id);
    if (device->pci_bus_id[0] && wf_file_read(path, 4096, &text, NULL) == WF_OK &&
        placement_parse_cpus(text.data, &near, NULL) != WF_OK) {
        CPU_ZERO(&near);
    }
    wf_buf_free(&text);
    placement_plan(&allowed, &near, device->ordinal, ret);
}

void placement_measuring_cpus(const struct wf_device *device,
                              size_t count,
                              const char *sysfs,
                              cpu_set_t *ret)
{
    CPU_ZERO(ret);
    for (size_t i = 0; i < count; i++) {
        struct placement p;
        cpu_set_t own;
        placement_of_device(&device[i], sysfs, &p);
        if (p.subject_cpu >= 0) {
            CPU_SET((size_t)p.subject_cpu, ret);
            if (p.text[0] == '\0') { /* else the judge's is shared by rule */
                CPU_SET((size_t)p.judge_cpu, ret);
            }
        } else if (device[i].library_kernels &&
                   placement_parse_cpus(device[i].cpus, &own, NULL) == WF_OK) {
            CPU_OR(ret, ret, &own);
        }
    }
}

/* --- in force --- */

static int nice_of(pid_t thread)
{
    return getpriority(PRIO_PROCESS, (id_t)thread);
}

/* Pins a thread; the processor that it has then, or -1. */
static int pin(pid_t thread, int cpu, cpu_set_t *before, char *text)
{
    cpu_set_t one;
    if (cpu < 0 || sched_getaffinity(thread, sizeof(*before), before) != 0) {
        return -1;
    }
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(thread, sizeof(one), &one) != 0) {
        (void)snprintf(text, PLACEMENT_TEXT, "processor %d: %.80s", cpu,
                       strerror(errno));
        return -1;
    }
    return cpu;
}

static int raise_priority(pid_t thread, char *text)
{
    if (setpriority(PRIO_PROCESS, (id_t)thread, PLACEMENT_NICE) != 0 && !text[0]) {
        (void)snprintf(text, PLACEMENT_TEXT,
                       "priority not raised: %.60s (RLIMIT_NICE, CAP_SYS_NICE)",
                       strerror(errno));
    }
    return nice_of(thread);
}

void placement_enter(const struct placement *plan, pid_t subject, struct placed *ret)
{
    memset(ret, 0, sizeof(*ret));
    (void)snprintf(ret->text, sizeof(ret->text), "%s", plan->text);
    ret->judge_nice_before = nice_of(0);
    ret->judge_cpu = pin(0, plan->judge_cpu, &ret->judge_before, ret->text);
    ret->judge = ret->judge_cpu >= 0;
    ret->judge_nice = raise_priority(0, ret->text);
    ret->subject_cpu = -1;
    if (subject > 0) {
        ret->subject_nice_before = nice_of(subject);
        ret->subject_cpu =
            pin(subject, plan->subject_cpu, &ret->subject_before, ret->text);
        ret->subject = ret->subject_cpu >= 0;
        ret->subject_nice = raise_priority(subject, ret->text);
    }
}

void placement_leave(const struct placed *placed, pid_t subject)
{
    if (placed->judge) {
        (void)sched_setaffinity(0, sizeof(placed->judge_before), &placed->judge_before);
    }
    (void)setpriority(PRIO_PROCESS, 0, placed->judge_nice_before);
    if (subject > 0 && placed->subject) {
        (void)sched_setaffinity(subject, sizeof(placed->subject_before),
                                &placed->subject_before);
    }
    if (subject > 0) {
        (void)setpriority(PRIO_PROCESS, (id_t)subject, placed->subject_nice_before);
    }
}

bool placement_keep_away(const cpu_set_t *avoid, bool urgent)
{
    cpu_set_t allowed;
    cpu_set_t rest;
    if (urgent) {
        (void)setpriority(PRIO_PROCESS, 0, PLACEMENT_NICE); /* this thread alone */
    }
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return false;
    }
    CPU_ZERO(&rest);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && !CPU_ISSET(cpu, avoid)) {
            CPU_SET(cpu, &rest);
        }
    }
    return CPU_COUNT(&rest) > 0 && sched_setaffinity(0, sizeof(rest), &rest) == 0;
}
