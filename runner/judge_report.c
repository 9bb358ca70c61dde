/* What a runtime that models says of the checked launch: its options, its faults as
 * answers, its counters.
 *
 * The first checked launch runs with the checks and counters that the request asks for,
 * the second one (for determinism) without, so that every result tells what they cost.
 */
#include "runner/judge.h"

#include "runner/subject_wire.h"

#include <stdio.h>
#include <string.h>

#define OPTION_NS (60 * SECOND_NS)

static enum wf_status set_option(struct judge *j,
                                 const char *name,
                                 const char *value,
                                 struct wf_error *err)
{
    struct wf_buf payload = WF_BUF_INIT;
    enum wf_status st = wire_add_text(&payload, name, err);
    if (st == WF_OK) {
        st = wire_add_text(&payload, value, err);
    }
    if (st == WF_OK) {
        st = judge_call(j, WF_SP_OPTION, payload.data, payload.len, OPTION_NS, NULL,
                        err);
    }
    wf_buf_free(&payload);
    return st;
}

enum wf_status judge_open_emulation(struct judge *j, struct wf_error *err)
{
    j->guard_bytes = JUDGE_GUARD_BYTES;
    if (!j->request->device->times_modelled) {
        return WF_OK;
    }
    const char *mfma = j->request->measure.mfma_exact ? "exact" : "fast";
    enum wf_status st = set_option(j, "mfma", mfma, err);
    if (st == WF_EUNSUPPORTED) { /* it models, but has no options and no reports */
        j->subject_failed = false;
        return WF_OK;
    }
    j->emulates = st == WF_OK;
    /* A guard would be memory that the kernel may touch; reads of it go unnoticed. */
    j->guard_bytes = j->emulates ? 0 : JUDGE_GUARD_BYTES;
    return st;
}

enum wf_status judge_emulate(struct judge *j, bool checked, struct wf_error *err)
{
    const struct wf_measure_options *m = &j->request->measure;
    if (!j->emulates) {
        return WF_OK;
    }
    enum wf_status st =
        set_option(j, "checks", checked && !m->no_checks ? "on" : "off", err);
    return st == WF_OK ? set_option(j, "counters",
                                    checked && !m->no_counters ? "on" : "off", err)
                       : st;
}

static enum wf_status get_reports(struct judge *j,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_buf reply = WF_BUF_INIT;
    enum wf_status st = judge_call(j, WF_SP_REPORTS, NULL, 0, OPTION_NS, &reply, err);
    if (st == WF_OK) {
        st = wf_json_parse(reply.data, strnlen(reply.data, reply.len), "launch report",
                           ret, err);
    }
    if (st == WF_OK && wf_json_type(*ret) != WF_JSON_ARRAY) {
        wf_json_free(*ret);
        st = wf_errorf(err, WF_EPARSE, "launch reports are no array");
    }
    wf_buf_free(&reply);
    return st;
}

static double sum_host_ns(const struct wf_json *reports)
{
    double sum = 0;
    for (size_t i = 0; i < wf_json_count(reports); i++) {
        double one = 0;
        const struct wf_json *v = wf_json_find(wf_json_at(reports, i), "host_ns");
        sum += v && wf_json_as_f64(v, &one) ? one : 0;
    }
    return sum;
}

static enum wf_status note_mode(const struct judge *j,
                                struct wf_json *obj,
                                struct wf_error *err)
{
    const struct wf_measure_options *m = &j->request->measure;
    enum wf_status st =
        wf_json_set_string(obj, "mfma", m->mfma_exact ? "exact" : "fast", err);
    st = st == WF_OK ? wf_json_set_bool(obj, "checks", !m->no_checks, err) : st;
    return st == WF_OK ? wf_json_set_bool(obj, "counters", !m->no_counters, err) : st;
}

enum wf_status judge_take_launches(struct judge *j, struct wf_error *err)
{
    struct wf_json *reports = NULL;
    if (!j->emulates) {
        return WF_OK;
    }
    enum wf_status st = get_reports(j, &reports, err);
    if (st != WF_OK) {
        return st;
    }
    wf_json_free(j->emulation);
    j->emulation = wf_json_object();
    j->emulation_ns = sum_host_ns(reports);
    st = note_mode(j, j->emulation, err);
    st = st == WF_OK ? wf_json_set_f64(j->emulation, "host_ns", j->emulation_ns, err)
                     : st;
    enum wf_status took = wf_json_set_take(j->emulation, "launches", reports, err);
    return st == WF_OK ? took : st;
}

enum wf_status judge_take_cost(struct judge *j, struct wf_error *err)
{
    struct wf_json *reports = NULL;
    const struct wf_measure_options *m = &j->request->measure;
    if (!j->emulates || !j->emulation || (m->no_checks && m->no_counters)) {
        return WF_OK;
    }
    enum wf_status st = get_reports(j, &reports, err);
    if (st != WF_OK) {
        return st;
    }
    double plain_ns = sum_host_ns(reports);
    wf_json_free(reports);
    st = wf_json_set_f64(j->emulation, "host_ns_plain", plain_ns, err);
    return st == WF_OK && plain_ns > 0
               ? wf_json_set_f64(j->emulation, "cost", j->emulation_ns / plain_ns, err)
               : st;
}

static const char *member(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = wf_json_find(obj, key);
    const char *text = v ? wf_json_string(v) : NULL;
    return text ? text : "";
}

bool judge_fault_answer(struct judge *j)
{
    enum wf_answer answer = WF_ANSWER_COUNT;
    bool found = false;
    if (!j->emulates || subject_client_state(j->subject) != SUBJECT_ALIVE ||
        judge_take_launches(j, NULL) != WF_OK) {
        return false;
    }
    const struct wf_json *launches = wf_json_find(j->emulation, "launches");
    for (size_t i = 0; !found && i < wf_json_count(launches); i++) {
        const struct wf_json *fault = wf_json_find(wf_json_at(launches, i), "fault");
        if (fault && wf_json_type(fault) == WF_JSON_OBJECT &&
            wf_answer_parse(member(fault, "answer"), &answer)) {
            result_answer(j->result, answer, "%s", member(fault, "summary"));
            found = true;
        }
    }
    return found;
}

enum wf_status judge_note_emulation(struct judge *j, struct wf_error *err)
{
    struct wf_json *emulation = j->emulation;
    j->emulation = NULL;
    return emulation ? wf_json_set_take(j->result->details, "emulation", emulation, err)
                     : WF_OK;
}
