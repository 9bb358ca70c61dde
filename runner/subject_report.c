/* Options and launch reports of a runtime that models (the emulator).
 *
 * A report is one JSON object as the runtime made it; it is passed on unread. Such a
 * runtime has finished a launch when the launching call returns. */
#include "runner/subject.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REPORT_BYTES ((size_t)1 << 20)
#define MAX_ALL_BYTES    ((size_t)3 << 20) /* below WF_SP_MAX_PAYLOAD */

enum wf_status subject_option(struct subject *s,
                              struct wire_in *in,
                              struct wf_buf *out,
                              struct wf_error *err)
{
    (void)out;
    const char *name = wire_text(in);
    const char *value = wire_text(in);
    enum wf_status st = wire_end(in, err);
    if (st != WF_OK) {
        return st;
    }
    if (!s->hip.wf_rt_set_option) {
        return wf_errorf(err, WF_EUNSUPPORTED, "this runtime has no option %.40s",
                         name);
    }
    st = wf_hip_check(&s->hip, s->hip.wf_rt_set_option(name, value), "option", err);
    return st == WF_OK ? st : wf_error_prefix(err, "%.40s=%.40s", name, value);
}

static enum wf_status add_report(struct subject *s,
                                 const char *text,
                                 struct wf_error *err)
{
    size_t n = strlen(text);
    if (s->reports.len + n + 2 > MAX_ALL_BYTES) {
        return WF_OK; /* launches beyond that are counted by those that are there */
    }
    enum wf_status st = WF_OK;
    if (s->reports.len > 0) {
        st = wf_buf_add(&s->reports, ",", 1, err);
    }
    return st == WF_OK ? wf_buf_add(&s->reports, text, n, err) : st;
}

enum wf_status subject_note_launch(struct subject *s, struct wf_error *err)
{
    size_t needed = 0;
    if (!s->noting) {
        return WF_OK;
    }
    /* The size first: with no room nothing is written. */
    if (s->hip.wf_rt_launch_report(NULL, 0, &needed) != hipSuccess || needed == 0 ||
        needed > MAX_REPORT_BYTES) {
        return WF_OK; /* refused before it was a launch: the launch's own error tells */
    }
    char *text = wf_calloc(needed, 1);
    if (!text) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a launch's report");
    }
    enum wf_status st = WF_OK;
    if (s->hip.wf_rt_launch_report(text, needed, &needed) == hipSuccess) {
        st = add_report(s, text, err);
    }
    free(text);
    return st;
}

enum wf_status subject_reports(struct subject *s,
                               struct wire_in *in,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK) {
        st = wf_buf_add(out, "[", 1, err);
    }
    if (st == WF_OK && s->reports.len > 0) {
        st = wf_buf_add(out, s->reports.data, s->reports.len, err);
    }
    return st == WF_OK ? wf_buf_add(out, "]", 2, err) : st;
}
