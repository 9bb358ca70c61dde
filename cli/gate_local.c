/* A local gate from its options to its verdict: a new one, or one that goes on from its
 * record. */
#include "cli/gate_local.h"

#include "cli/gate_noise.h"
#include "cli/gate_plan.h"
#include "cli/gate_run.h"
#include "core/buf.h"
#include "core/file.h"
#include "gate/report.h"
#include "runner/measure_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX_BYTES ((size_t)4 << 30)

/* --- a new one --- */

static enum wf_status begin(struct gate_plan *p,
                            struct gate_writer **ret_writer,
                            struct wf_gate_record **ret,
                            struct wf_error *err)
{
    struct wf_json *header = NULL;
    struct wf_gate_record *record = NULL;
    enum wf_status status = gate_plan_header(p, &header, err);
    if (status == WF_OK) {
        status = wf_gate_record_create(header, &record, err);
    }
    if (status == WF_OK) {
        status = gate_writer_create(p->options->out, ret_writer, err);
    }
    if (status == WF_OK) {
        status = gate_writer_line(*ret_writer, wf_gate_record_header(record), err);
    }
    if (status != WF_OK) {
        wf_gate_record_free(record);
        return status;
    }
    *ret = record;
    return WF_OK;
}

/* --- going on --- */

static const char *member(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL && wf_json_type(obj) == WF_JSON_OBJECT
                                  ? wf_json_find(obj, key)
                                  : NULL;
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

/* Bytes of the file up to its last whole line that is no close and no verdict: a gate
 * that was cancelled goes on where it was. */
static enum wf_status good_bytes(const char *path, uint64_t *ret, struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_file_read(path, RECORD_MAX_BYTES, &text, err);
    size_t end = text.len;
    while (status == WF_OK && end > 0 && text.data[end - 1] != '\n') {
        end--;
    }
    while (status == WF_OK && end > 0) {
        size_t from = end - 1;
        struct wf_json *line = NULL;
        while (from > 0 && text.data[from - 1] != '\n') {
            from--;
        }
        status = wf_json_parse(text.data + from, end - 1 - from, path, &line, err);
        const char *kind = status == WF_OK ? member(line, "kind") : "";
        const bool ends = strcmp(kind, "close") == 0 || strcmp(kind, "verdict") == 0;
        wf_json_free(line);
        if (!ends) {
            break;
        }
        end = from;
    }
    wf_buf_free(&text);
    *ret = end;
    return status;
}

static enum wf_status check_finished(struct wf_gate_record *record,
                                     const char *path,
                                     struct wf_error *err)
{
    struct wf_gate_report *report = NULL;
    const size_t n = wf_gate_record_line_count(record);
    if (n == 0 ||
        strcmp(member(wf_gate_record_line(record, n - 1), "kind"), "verdict") != 0) {
        return WF_OK;
    }
    enum wf_status status = wf_gate_report_create(record, false, &report, err);
    if (status == WF_OK && report->outcome != WF_GATE_OUTCOME_CANCELLED &&
        report->outcome != WF_GATE_OUTCOME_INFRASTRUCTURE) {
        status =
            wf_errorf(err, WF_EEXIST,
                      "%s is of a gate that is over (%s): there is nothing to go on "
                      "with; 'wavefarm gate show %s' shows it",
                      path, wf_gate_outcome_name(report->outcome), path);
    }
    wf_gate_report_free(report);
    return status;
}

static enum wf_status check_pack(const struct wf_json *header,
                                 const char *arm,
                                 const struct gate_pack *pack,
                                 struct wf_error *err)
{
    const char *want = member(wf_json_find(wf_json_find(header, "packs"), arm), "id");
    return strcmp(want, wf_pack_id(pack->pack)) == 0
               ? WF_OK
               : wf_errorf(err, WF_EINVAL,
                           "the gate began with %s pack %.12s; the one given is %.12s",
                           arm, want, wf_pack_id(pack->pack));
}

/* The pack of the sentinels is found by itself; it must be the one that it was. */
static enum wf_status reopen_sentinels(struct gate_plan *p,
                                       const struct wf_json *header,
                                       struct wf_error *err)
{
    if (wf_json_find(wf_json_find(header, "packs"), "sentinel") == NULL) {
        return WF_OK;
    }
    enum wf_status status = gate_sentinel_pack(p, err);
    return status == WF_OK
               ? check_pack(header, "sentinel", &p->pack[WF_GATE_PACK_SENTINEL], err)
               : status;
}

/* Packs, device and measuring are as they were. */
static enum wf_status check_same(struct gate_plan *p,
                                 const struct wf_json *header,
                                 struct wf_error *err)
{
    enum wf_status status =
        check_pack(header, "base", &p->pack[WF_GATE_PACK_BASE], err);
    if (status == WF_OK) {
        status = check_pack(header, "candidate", &p->pack[WF_GATE_PACK_CANDIDATE], err);
    }
    const char *device = member(wf_json_at(wf_json_find(header, "devices"), 0), "id");
    if (status == WF_OK && strcmp(device, p->device.id) != 0) {
        status = wf_errorf(err, WF_EINVAL,
                           "the gate began on device %s; the one given is %s: pairs of "
                           "two devices cannot be mixed",
                           device, p->device.id);
    }
    if (status == WF_OK) {
        status =
            wf_measure_options_read(wf_json_find(header, "measure"), &p->measure, err);
    }
    return status == WF_OK ? reopen_sentinels(p, header, err) : status;
}

/* A round that was cut short is closed: its labels are not used again. */
static enum wf_status close_open_round(struct wf_gate_record *record,
                                       struct gate_writer *writer,
                                       struct wf_error *err)
{
    int32_t round = 0;
    return wf_gate_record_open_round(record, 0, &round)
               ? gate_run_cut(record, writer, round, "the gate was killed", err)
               : WF_OK;
}

static enum wf_status go_on(struct gate_plan *p,
                            struct gate_writer **ret_writer,
                            struct wf_gate_record **ret,
                            struct wf_error *err)
{
    bool torn = false;
    uint64_t good = 0;
    const char *path = p->options->resume;
    struct wf_gate_record *record = NULL;
    enum wf_status status = wf_gate_record_read(path, true, &record, &torn, err);
    if (status == WF_OK) {
        status = check_finished(record, path, err);
    }
    if (status == WF_OK) {
        status = check_same(p, wf_gate_record_header(record), err);
    }
    if (status == WF_OK) {
        status = good_bytes(path, &good, err);
    }
    if (status == WF_OK) {
        status = gate_writer_resume(path, good, ret_writer, err);
    }
    if (status == WF_OK) { /* once more: without the lines that ended it */
        wf_gate_record_free(record);
        record = NULL;
        status = wf_gate_record_read(path, false, &record, &torn, err);
    }
    if (status == WF_OK) {
        status = close_open_round(record, *ret_writer, err);
    }
    if (status != WF_OK) {
        wf_gate_record_free(record);
        return status;
    }
    *ret = record;
    return WF_OK;
}

/* --- noise --- */

static enum wf_status find_equal(const struct gate_plan *p,
                                 struct wf_gate_record *record,
                                 bool *equal,
                                 struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_gate_record_count(record) && status == WF_OK; i++) {
        struct wf_gate_figures f;
        const struct wf_gate_pair *a = wf_gate_record_pair(record, i);
        if (a->role != WF_GATE_CASE || a->kernel[0] == NULL || a->kernel[1] == NULL) {
            continue;
        }
        wf_gate_figures(wf_gate_record_gate(record), i, &f);
        const struct wf_pack_kernel *arm[2] = {
            wf_pack_kernel(p->pack[0].pack, a->kernel[0]),
            wf_pack_kernel(p->pack[1].pack, a->kernel[1])
        };
        if (isfinite(f.spread)) { /* hashing reads files */
            status = gate_plan_same_code(p, arm, &equal[i], err);
        }
    }
    return status;
}

/* What this gate has shown of the machine's noise; a failure here takes nothing from
 * its verdict. */
static void learn(const struct gate_plan *p, struct wf_gate_record *record)
{
    struct wf_error err = { 0 };
    bool *equal = wf_calloc(wf_gate_record_count(record) + 1, sizeof(*equal));
    enum wf_status status = equal != NULL
                                ? find_equal(p, record, equal, &err)
                                : wf_errorf(&err, WF_ENOMEM, "no memory for noise");
    if (status == WF_OK) {
        status = gate_noise_learn(record, equal, p->device.model, &err);
    }
    if (status != WF_OK) {
        fprintf(stderr, "wavefarm: the noise of this gate is not remembered: %s\n",
                err.text);
    }
    free(equal);
}

/* --- the whole --- */

static bool measured(const struct wf_gate_record *record)
{
    bool yes = false;
    const struct wf_json *v = wf_json_find(wf_gate_record_header(record), "measured");
    return v != NULL && wf_json_as_bool(v, &yes) && yes;
}

enum wf_status wf_gate_run_local(const struct wf_gate_options *options,
                                 struct wf_gate_record **ret,
                                 struct wf_error *err)
{
    struct gate_plan plan;
    struct gate_writer *writer = NULL;
    struct wf_gate_record *record = NULL;
    struct wf_error late = { 0 };
    enum wf_status status = gate_plan_open(&plan, options, err);
    if (status == WF_OK) {
        status = options->resume != NULL ? go_on(&plan, &writer, &record, err)
                                         : begin(&plan, &writer, &record, err);
    }
    if (status == WF_OK) {
        status = gate_run(&plan, record, writer, err);
    }
    if (record != NULL && measured(record)) {
        learn(&plan, record);
    }
    const enum wf_status closed = gate_writer_close(writer, &late);
    if (status == WF_OK && closed != WF_OK) {
        status = wf_errorf(err, closed, "%s", late.text);
    }
    gate_plan_close(&plan);
    if (status != WF_OK && status != WF_ECANCELLED) {
        wf_gate_record_free(record);
        record = NULL;
    }
    *ret = record;
    return status;
}
