/* Shared by report*.c alone. */
#ifndef WF_GATE_REPORT_INTERNAL_H
#define WF_GATE_REPORT_INTERNAL_H

#include "gate/report.h"

/* Text member, "" where there is none. `obj` may be NULL. */
const char *report_text(const struct wf_json *obj, const char *key);
const struct wf_json *report_object(const struct wf_json *obj, const char *key);
double report_number(const struct wf_json *obj, const char *key); /* NAN */
bool report_flag(const struct wf_json *obj, const char *key, bool fallback);

/* Whether the entry of the static comparison is red and not waived. */
bool report_static_is_red(const struct wf_gate_report *r, const struct wf_json *entry);
/* Fills row->words; finding and figures are set. */
void report_words(const struct wf_gate_report *r, struct wf_gate_row *row);
/* Fills r->guarantee. */
void report_guarantee(struct wf_gate_report *r);
/* Fills r->baseline. */
void report_baseline(struct wf_gate_report *r);
enum wf_status report_note(struct wf_gate_report *r,
                           struct wf_error *err,
                           const char *fmt,
                           ...) __attribute__((format(printf, 3, 4)));
/* Notes on the policy's rows; used[i]: waiver i waives something. */
enum wf_status report_notes(struct wf_gate_report *r,
                            const bool *used,
                            struct wf_error *err);
/* The device in words, for headings. */
void report_device(const struct wf_gate_report *r, char *ret, size_t n);

#endif
