/* A report as JUnit XML, in the dialect that Jenkins reads. */
#include "gate/report_internal.h"

#include "core/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text and attribute values: what XML 1.0 cannot hold is made printable first. */
static enum wf_status put_xml(struct wf_buf *out,
                              const char *text,
                              struct wf_error *err)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = { { '&', "&amp;" },
                     { '<', "&lt;" },
                     { '>', "&gt;" },
                     { '"', "&quot;" },
                     { '\'', "&apos;" } };
    char *copy = wf_strdup(text);
    if (copy == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    wf_make_printable(copy);
    enum wf_status status = WF_OK;
    for (const char *s = copy; *s != '\0' && status == WF_OK; s++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
            entity = entities[i].c == *s ? entities[i].entity : entity;
        }
        status =
            entity != NULL ? wf_buf_puts(out, entity, err) : wf_buf_add(out, s, 1, err);
    }
    free(copy);
    return status;
}

/* ` name="value"` */
static enum wf_status put_attribute(struct wf_buf *out,
                                    const char *name,
                                    const char *value,
                                    struct wf_error *err)
{
    enum wf_status status = wf_buf_printf(out, err, " %s=\"", name);
    status = status == WF_OK ? put_xml(out, value, err) : status;
    return status == WF_OK ? wf_buf_puts(out, "\"", err) : status;
}

static enum wf_status put_property(struct wf_buf *out,
                                   const char *name,
                                   const char *value,
                                   struct wf_error *err)
{
    enum wf_status status = wf_buf_puts(out, "    <property", err);
    status = status == WF_OK ? put_attribute(out, "name", name, err) : status;
    status = status == WF_OK ? put_attribute(out, "value", value, err) : status;
    return status == WF_OK ? wf_buf_puts(out, "/>\n", err) : status;
}

/* `<element type="..." message="..."/>` */
static enum wf_status put_outcome(struct wf_buf *out,
                                  const char *element,
                                  const char *type,
                                  const char *message,
                                  struct wf_error *err)
{
    enum wf_status status = wf_buf_printf(out, err, "    <%s", element);
    if (status == WF_OK && type != NULL) {
        status = put_attribute(out, "type", type, err);
    }
    status = status == WF_OK ? put_attribute(out, "message", message, err) : status;
    return status == WF_OK ? wf_buf_puts(out, "/>\n", err) : status;
}

/* NULL: neither, the pair is all right. */
static const char *element_of(const struct wf_gate_report *r,
                              const struct wf_gate_row *row)
{
    if (row->red) {
        return "failure";
    }
    if (row->finding == WF_GATE_IS_BROKEN || row->finding == WF_GATE_IS_OPEN) {
        return "error";
    }
    if (row->finding == WF_GATE_IS_UNDECIDED && r->strict) {
        return "error";
    }
    return row->waived == WF_GATE_WAIVED || row->finding == WF_GATE_IS_UNCHANGED ||
                   row->finding == WF_GATE_IS_NOT_SUPPORTED ||
                   row->finding == WF_GATE_IS_REMOVED ||
                   row->finding == WF_GATE_IS_UNDECIDED
               ? "skipped"
               : NULL;
}

static enum wf_status put_case(const struct wf_gate_report *r,
                               const struct wf_gate_row *row,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    const char *element = element_of(r, row);
    enum wf_status status = wf_buf_puts(out, "  <testcase", err);
    status =
        status == WF_OK ? put_attribute(out, "classname", row->about->op, err) : status;
    status =
        status == WF_OK ? put_attribute(out, "name", row->about->key, err) : status;
    if (status == WF_OK) {
        status =
            wf_buf_printf(out, err, " time=\"%.3f\">\n", (double)row->took_ns / 1e9);
    }
    if (status == WF_OK && element != NULL) {
        status = put_outcome(
            out, element,
            strcmp(element, "skipped") == 0 ? NULL : wf_gate_finding_name(row->finding),
            row->words, err);
    }
    if (status == WF_OK && element == NULL) {
        status = wf_buf_puts(out, "    <system-out>", err);
        status = status == WF_OK ? put_xml(out, row->words, err) : status;
        status = status == WF_OK ? wf_buf_puts(out, "</system-out>\n", err) : status;
    }
    return status == WF_OK ? wf_buf_puts(out, "  </testcase>\n", err) : status;
}

static enum wf_status put_static(const struct wf_gate_report *r,
                                 const struct wf_json *entry,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    char name[200];
    (void)snprintf(name, sizeof name, "%.120s/%.60s", report_text(entry, "kernel"),
                   report_text(entry, "figure"));
    enum wf_status status = wf_buf_puts(out, "  <testcase classname=\"static\"", err);
    status = status == WF_OK ? put_attribute(out, "name", name, err) : status;
    status = status == WF_OK ? wf_buf_puts(out, " time=\"0.000\">\n", err) : status;
    if (status == WF_OK && report_static_is_red(r, entry)) {
        status = put_outcome(out, "failure", "static", report_text(entry, "why"), err);
    }
    return status == WF_OK ? wf_buf_puts(out, "  </testcase>\n", err) : status;
}

/* No verdict, and no pair that says why (nothing could be compared): one that does. */
static bool needs_own_case(const struct wf_gate_report *r)
{
    return r->outcome == WF_GATE_OUTCOME_INFRASTRUCTURE &&
           r->count[WF_GATE_IS_BROKEN] + r->count[WF_GATE_IS_OPEN] == 0;
}

static enum wf_status put_own_case(const struct wf_gate_report *r,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    enum wf_status status = wf_buf_puts(
        out, "  <testcase classname=\"gate\" name=\"gate\" time=\"0.000\">\n", err);
    status = status == WF_OK
                 ? put_outcome(out, "error", "infrastructure", r->headline, err)
                 : status;
    return status == WF_OK ? wf_buf_puts(out, "  </testcase>\n", err) : status;
}

struct totals {
    size_t tests, failures, errors, skipped;
};

static struct totals count(const struct wf_gate_report *r)
{
    struct totals t = { 0 };
    for (size_t i = 0; i < r->row_count; i++) {
        const char *e = element_of(r, &r->row[i]);
        t.tests++;
        t.failures += e != NULL && strcmp(e, "failure") == 0;
        t.errors += e != NULL && strcmp(e, "error") == 0;
        t.skipped += e != NULL && strcmp(e, "skipped") == 0;
    }
    for (const struct wf_json *e = r->statics != NULL ? wf_json_first(r->statics)
                                                      : NULL;
         e != NULL; e = wf_json_next(e)) {
        t.tests++;
        t.failures += report_static_is_red(r, e);
    }
    t.tests += needs_own_case(r);
    t.errors += needs_own_case(r);
    return t;
}

static enum wf_status put_head(const struct wf_gate_report *r,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    char device[256];
    const struct totals t = count(r);
    const double seconds = (double)r->took_ns / 1e9;
    report_device(r, device, sizeof device);
    enum wf_status status = wf_buf_printf(
        out, err,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\">\n"
        "<testsuite tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" "
        "time=\"%.3f\"",
        t.tests, t.failures, t.errors, seconds, t.tests, t.failures, t.errors,
        t.skipped, seconds);
    if (status == WF_OK) {
        status =
            put_attribute(out, "timestamp", report_text(r->header, "created"), err);
    }
    if (status == WF_OK) {
        status = wf_buf_puts(out, " name=\"wavefarm gate ", err);
    }
    status =
        status == WF_OK ? put_xml(out, report_text(r->header, "suite"), err) : status;
    status = status == WF_OK ? wf_buf_puts(out, "\">\n  <properties>\n", err) : status;
    const char *const property[][2] = { { "gate", report_text(r->header, "gate") },
                                        { "outcome", wf_gate_outcome_name(r->outcome) },
                                        { "headline", r->headline },
                                        { "device", device },
                                        { "baseline", r->baseline },
                                        { "guarantee", r->guarantee } };
    for (size_t i = 0; i < sizeof property / sizeof property[0] && status == WF_OK;
         i++) {
        status = put_property(out, property[i][0], property[i][1], err);
    }
    return status == WF_OK ? wf_buf_puts(out, "  </properties>\n", err) : status;
}

enum wf_status wf_gate_report_junit(const struct wf_gate_report *r,
                                    struct wf_buf *out,
                                    struct wf_error *err)
{
    enum wf_status status = put_head(r, out, err);
    for (size_t i = 0; i < r->row_count && status == WF_OK; i++) {
        status = put_case(r, &r->row[i], out, err);
    }
    for (const struct wf_json *e = r->statics != NULL ? wf_json_first(r->statics)
                                                      : NULL;
         e != NULL && status == WF_OK; e = wf_json_next(e)) {
        status = put_static(r, e, out, err);
    }
    if (status == WF_OK && needs_own_case(r)) {
        status = put_own_case(r, out, err);
    }
    return status == WF_OK ? wf_buf_puts(out, "</testsuite>\n</testsuites>\n", err)
                           : status;
}
