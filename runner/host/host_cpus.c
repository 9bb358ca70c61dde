/* Reads WAVEFARM_HOST_DEVICES and splits the processors. Pure: the caller says which
 * processors there are.
 *
 * Invariant of a result: every device has at least one processor, all of them allowed.
 */
#include "runner/host/host_cpus.h"

#include "core/parse.h"

#include <stdio.h>
#include <string.h>

#define VARIABLE "WAVEFARM_HOST_DEVICES"

bool host_cpus_has(const cpu_set_t *set, int cpu)
{
    return CPU_ISSET((size_t)cpu, set) != 0;
}

static int nth_cpu(const cpu_set_t *set, int n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (host_cpus_has(set, cpu) && n-- == 0) {
            return cpu;
        }
    }
    return -1;
}

static void split_evenly(int devices, const cpu_set_t *allowed, struct host_cpus *ret)
{
    int cpus = CPU_COUNT(allowed);
    ret->count = devices;
    for (int d = 0; d < devices; d++) {
        CPU_ZERO(&ret->set[d]);
        int first = (int)((long)d * cpus / devices);
        int end = (int)((long)(d + 1) * cpus / devices);
        if (end == first) { /* more devices than processors: share */
            end = first + 1;
        }
        for (int i = first; i < end; i++) {
            CPU_SET((size_t)nth_cpu(allowed, i), &ret->set[d]);
        }
    }
}

/* "4" or "0-3". */
static enum wf_status parse_range(const char *text,
                                  cpu_set_t *set,
                                  struct wf_error *err)
{
    char first[16] = "";
    int64_t lo = 0;
    int64_t hi = 0;
    const char *dash = strchr(text, '-');
    size_t n = dash ? (size_t)(dash - text) : strlen(text);
    if (n >= sizeof(first)) {
        return wf_errorf(err, WF_EINVAL, "'%s' is not a processor number", text);
    }
    (void)snprintf(first, sizeof(first), "%.*s", (int)n, text);
    enum wf_status st = wf_parse_i64(first, "processor", 0, CPU_SETSIZE - 1, &lo, err);
    hi = lo;
    if (st == WF_OK && dash) {
        st = wf_parse_i64(dash + 1, "processor", 0, CPU_SETSIZE - 1, &hi, err);
    }
    if (st != WF_OK) {
        return st;
    }
    if (hi < lo) {
        return wf_errorf(err, WF_EINVAL, "range '%s' runs backwards", text);
    }
    for (int64_t cpu = lo; cpu <= hi; cpu++) {
        CPU_SET((size_t)cpu, set);
    }
    return WF_OK;
}

/* "0-1,4". Changes `text`. */
static enum wf_status parse_set(char *text, cpu_set_t *set, struct wf_error *err)
{
    CPU_ZERO(set);
    for (char *item = text; item;) {
        char *comma = strchr(item, ',');
        if (comma) {
            *comma = '\0';
        }
        enum wf_status st = parse_range(item, set, err);
        if (st != WF_OK) {
            return st;
        }
        item = comma ? comma + 1 : NULL;
    }
    return WF_OK;
}

static enum wf_status check_allowed(const cpu_set_t *set,
                                    const cpu_set_t *allowed,
                                    struct wf_error *err)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (host_cpus_has(set, cpu) && !host_cpus_has(allowed, cpu)) {
            char have[256];
            host_cpus_text(allowed, have, sizeof(have));
            return wf_errorf(err, WF_EINVAL,
                             "processor %d is not there or not allowed (have %s)", cpu,
                             have);
        }
    }
    return WF_OK;
}

static enum wf_status parse_list(const char *spec,
                                 const cpu_set_t *allowed,
                                 struct host_cpus *ret,
                                 struct wf_error *err)
{
    char copy[1024];
    if (strlen(spec) >= sizeof(copy)) {
        return wf_errorf(err, WF_EINVAL, "longer than %zu characters",
                         sizeof(copy) - 1);
    }
    memcpy(copy, spec, strlen(spec) + 1);
    ret->count = 0;
    for (char *item = copy; item;) {
        char *end = strchr(item, ';');
        if (end) {
            *end = '\0';
        }
        if (ret->count == WF_HOST_MAX_DEVICES) {
            return wf_errorf(err, WF_EINVAL, "more than %d devices",
                             WF_HOST_MAX_DEVICES);
        }
        enum wf_status st = parse_set(item, &ret->set[ret->count], err);
        if (st == WF_OK) {
            st = check_allowed(&ret->set[ret->count], allowed, err);
        }
        if (st != WF_OK) {
            return st;
        }
        ret->count++;
        item = end ? end + 1 : NULL;
    }
    return WF_OK;
}

enum wf_status host_cpus_parse(const char *spec,
                               const cpu_set_t *allowed,
                               struct host_cpus *ret,
                               struct wf_error *err)
{
    if (CPU_COUNT(allowed) == 0) {
        return wf_errorf(err, WF_EINVAL, "this process may run on no processor");
    }
    if (!spec) {
        split_evenly(1, allowed, ret);
        return WF_OK;
    }
    enum wf_status st;
    if (spec[0] == '\0') {
        st = wf_errorf(err, WF_EINVAL,
                       "empty (unset it for one device, or write a "
                       "number of devices or \"0-1;2-3\")");
    } else if (spec[strspn(spec, "0123456789")] == '\0') {
        int64_t devices = 0;
        st = wf_parse_i64(spec, "number of devices", 1, WF_HOST_MAX_DEVICES, &devices,
                          err);
        if (st == WF_OK) {
            split_evenly((int)devices, allowed, ret);
        }
    } else {
        st = parse_list(spec, allowed, ret, err);
    }
    if (st != WF_OK) {
        (void)wf_error_prefix(err, VARIABLE "=%.64s", spec);
    }
    return st;
}

void host_cpus_text(const cpu_set_t *set, char *ret, size_t n)
{
    size_t used = 0;
    ret[0] = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used < n; cpu++) {
        if (!host_cpus_has(set, cpu)) {
            continue;
        }
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && host_cpus_has(set, last + 1)) {
            last++;
        }
        int len =
            last > cpu
                ? snprintf(ret + used, n - used, "%s%d-%d", used ? "," : "", cpu, last)
                : snprintf(ret + used, n - used, "%s%d", used ? "," : "", cpu);
        used += len > 0 ? (size_t)len : 0;
        cpu = last;
    }
}
