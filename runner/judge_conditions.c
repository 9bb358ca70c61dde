/* Under which conditions is measured: the device to ourselves, processors of our own,
 * telemetry beside it; and what the result says of them. */
#include "runner/judge_meter.h"

#include "core/clock.h"
#include "runner/throttle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_READING_NS ((int64_t)500000000)
#define ERRORS_LIMIT_NS  ((int64_t)200000000)

const char *judge_sysfs_root(void)
{
    const char *root = getenv("WAVEFARM_SYSFS");
    return root && root[0] ? root : "/sys";
}

static void say_waiting(void *ctx, const char *line)
{
    char text[128];
    struct judge *j = ctx;
    (void)snprintf(text, sizeof(text), "waiting %.100s", line);
    j->say(text);
}

enum wf_status judge_lock_device(struct judge *j,
                                 struct device_lock **ret,
                                 struct wf_error *err)
{
    const struct device_lock_options o = { NULL, j->request->lock_timeout_ns,
                                           say_waiting, j };
    enum wf_status st = device_lock_take(j->request->device, &o, ret, err);
    if (st == WF_OK) {
        j->deadline_ns += device_lock_waited_ns(*ret); /* that was others' time */
        j->say("stage measure");
        st = wf_json_set_f64(j->result->details, "lock_wait_ns",
                             (double)device_lock_waited_ns(*ret), err);
    }
    return st;
}

static enum wf_status placement_json(const struct placed *p,
                                     struct wf_json **ret,
                                     struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_i64(obj, "subject_cpu", p->subject_cpu, err);
    st = st == WF_OK ? wf_json_set_i64(obj, "judge_cpu", p->judge_cpu, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "subject_nice", p->subject_nice, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "judge_nice", p->judge_nice, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "note", p->text, err) : st;
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static pid_t subject_pid(const struct judge *j)
{
    return j->subject ? subject_client_pid(j->subject) : 0;
}

enum wf_status meter_place(struct meter *m, struct wf_error *err)
{
    struct placement plan;
    struct judge *j = m->j;
    if (m->is_placed) {
        placement_leave(&m->placed, 0); /* the subject before is gone */
    }
    placement_of_device(j->request->device, judge_sysfs_root(), &plan);
    placement_enter(&plan, subject_pid(j), &m->placed);
    m->is_placed = true;
    wf_json_free(j->result->placement);
    j->result->placement = NULL;
    return placement_json(&m->placed, &j->result->placement, err);
}

enum wf_status meter_begin(struct meter *m, struct wf_error *err)
{
    struct judge *j = m->j;
    enum wf_status st = judge_lock_device(j, &m->lock, err);
    if (st != WF_OK) {
        return st;
    }
    st = meter_place(m, err);
    telemetry_wait_first(j->telemetry, FIRST_READING_NS);
    telemetry_read_errors(j->telemetry, ERRORS_LIMIT_NS, &m->errors_before);
    return st;
}

/* --- what was found --- */

static enum wf_status reasons_json(const struct result_timing *t,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    struct wf_json *obj = wf_json_object();
    for (size_t r = 0; st == WF_OK && r < THROTTLE_COUNT; r++) {
        uint64_t n = 0;
        for (size_t i = 0; i < t->count; i++) {
            n += t->sample[i].reasons >> r & 1;
        }
        st = n ? wf_json_set_u64(obj, throttle_name(r), n, err) : WF_OK;
    }
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static enum wf_status note_telemetry(const struct meter *m, struct wf_error *err)
{
    struct wf_json *reasons = NULL;
    struct wf_json *obj = wf_json_object();
    struct judge *j = m->j;
    enum wf_status st = wf_json_set_string(
        obj, "state", telemetry_state_name(telemetry_state(j->telemetry)), err);
    st = st == WF_OK
             ? wf_json_set_string(obj, "source", telemetry_why(j->telemetry), err)
             : st;
    st = st == WF_OK ? reasons_json(&j->result->timing, &reasons, err) : st;
    st = st == WF_OK ? wf_json_set_take(obj, "reasons", reasons, err) : st;
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    return wf_json_set_take(j->result->details, "telemetry", obj, err);
}

static enum wf_status note_errors(const struct meter *m,
                                  const struct telemetry_errors *after,
                                  struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    const struct telemetry_errors *before = &m->errors_before;
    enum wf_status st =
        wf_json_set_u64(obj, "uncorrectable_before", before->uncorrectable, err);
    st = st == WF_OK
             ? wf_json_set_u64(obj, "uncorrectable_after", after->uncorrectable, err)
             : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "corrected_before", before->corrected, err)
                     : st;
    st = st == WF_OK ? wf_json_set_u64(obj, "corrected_after", after->corrected, err)
                     : st;
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    return wf_json_set_take(m->j->result->details, "memory_errors", obj, err);
}

enum wf_status meter_note_conditions(struct meter *m, struct wf_error *err)
{
    struct telemetry_errors after;
    const struct telemetry_errors *before = &m->errors_before;
    enum wf_status st = note_telemetry(m, err);
    telemetry_read_errors(m->j->telemetry, ERRORS_LIMIT_NS, &after);
    if (st != WF_OK || !before->known || !after.known) {
        return st;
    }
    if (after.uncorrectable > before->uncorrectable) {
        result_time(m->j->result, WF_TIME_IMPLAUSIBLE,
                    "%llu uncorrectable memory errors while it was measured",
                    (unsigned long long)(after.uncorrectable - before->uncorrectable));
    }
    return note_errors(m, &after, err);
}

void meter_end(struct meter *m)
{
    if (m->is_placed) {
        placement_leave(&m->placed, subject_pid(m->j));
        m->is_placed = false;
    }
    device_lock_free(m->lock);
    m->lock = NULL;
}
