/* A gate's report on a terminal: the table, the reasons under it, what it is worth. */
#ifndef WF_CLI_GATE_VIEW_H
#define WF_CLI_GATE_VIEW_H

#include "gate/report.h"

struct gate_view_options {
    bool all;          /* unchanged and unsupported pairs, too */
    const char *cases; /* glob over keys or case names, NULL: all */
};

void gate_view_print(const struct wf_gate_report *r, const struct gate_view_options *o);
/* The story of the pairs that `cases` names: answers with diagnosis, evidence as it
 * grew block by block (`blocks`: slot by slot). */
enum wf_status gate_story_print(struct wf_gate_record *record,
                                const struct wf_gate_report *r,
                                const char *cases,
                                bool blocks,
                                struct wf_error *err);
/* The same for machines: an array of {"pair": as in the header, "lines": its records}.
 */
enum wf_status gate_story_json(const struct wf_gate_record *record,
                               const char *cases,
                               struct wf_error *err);
/* Exit status of a gate that ended so. */
int gate_exit_of(const struct wf_gate_report *r);

#endif
