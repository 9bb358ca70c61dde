/* What a reader of the report should know beside the findings: waivers and margins that
 * do not do what somebody may believe. */
#include "gate/report_internal.h"

#include <math.h>

static enum wf_status note_waiver(struct wf_gate_report *r,
                                  size_t i,
                                  bool used,
                                  struct wf_error *err)
{
    const struct wf_gate_waiver *w = wf_gate_policy_waiver(r->policy, i);
    const char *today = report_text(r->header, "created");
    enum wf_status status = WF_OK;
    if (wf_gate_waiver_expired(w, today)) {
        status = report_note(r, err, "waivers[%zu] of %s expired on %s%s", i, w->author,
                             w->expires, used ? ": it waives nothing any more" : "");
    } else if (!used) {
        status = report_note(
            r, err, "waivers[%zu] of %s is not used: nothing of %s/%s needs it", i,
            w->author, w->case_glob, w->kernel_glob);
    }
    if (status == WF_OK && w->what == WF_GATE_WAIVE_SLOWER && isnan(w->limit)) {
        status = report_note(r, err,
                             "waivers[%zu] of %s has no limit: a slowdown of any size "
                             "is waived",
                             i, w->author);
    }
    return status;
}

/* The pairs' kernel is the base's, as for the margins themselves. */
static bool margin_is_used(const struct wf_gate_report *r, size_t i)
{
    for (size_t k = 0; k < r->row_count; k++) {
        const struct wf_gate_pair *a = r->row[k].about;
        if (wf_gate_policy_margin_fits(r->policy, i, a->case_name,
                                       a->kernel[0] != NULL ? a->kernel[0]
                                                            : a->kernel[1])) {
            return true;
        }
    }
    return false;
}

/* A misspelt row would leave its pairs with other margins than somebody believes. */
static enum wf_status note_margins(struct wf_gate_report *r, struct wf_error *err)
{
    const char *suite = report_text(r->header, "suite");
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_gate_policy_margin_count(r->policy) && status == WF_OK;
         i++) {
        if (wf_gate_policy_margin_suite(r->policy, i, suite) && !margin_is_used(r, i)) {
            status =
                report_note(r, err, "margins[%zu] is not used: no pair fits it", i);
        }
    }
    return status;
}

/* Green by a wide margin is no green by the usual one. */
static enum wf_status note_wide(struct wf_gate_report *r, struct wf_error *err)
{
    const struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;
    double widest = 0;
    size_t n = 0;
    char text[32];
    for (size_t i = 0; i < r->row_count; i++) {
        const struct wf_gate_figures *f = &r->row[i].figures;
        if (f->blocks > 0 && f->margins.d1 > usual.d1) {
            widest = f->margins.d1 > widest ? f->margins.d1 : widest;
            n++;
        }
    }
    if (n == 0) {
        return WF_OK;
    }
    wf_gate_format_margin(widest, text, sizeof text);
    return report_note(r, err,
                       "%zu of the pairs have margins wider than usual, up to %s: a "
                       "kernel that is slower by less than its margin may pass",
                       n, text);
}

enum wf_status report_notes(struct wf_gate_report *r,
                            const bool *used,
                            struct wf_error *err)
{
    size_t narrow = 0;
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_gate_policy_waiver_count(r->policy) && status == WF_OK;
         i++) {
        status = note_waiver(r, i, used[i], err);
    }
    if (status == WF_OK) {
        status = note_margins(r, err);
    }
    if (status == WF_OK) {
        status = note_wide(r, err);
    }
    for (size_t i = 0; i < r->row_count; i++) {
        const struct wf_gate_margins *m = &r->row[i].figures.margins;
        narrow += m->tau > 0 && m->d0 < 3 * m->tau;
    }
    if (status == WF_OK && narrow > 0) {
        status =
            report_note(r, err,
                        "%zu pairs have a margin d0 below three times the measured "
                        "effect of process starts: the guarantee does not cover it "
                        "there",
                        narrow);
    }
    return status;
}
