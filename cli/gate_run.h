/* The rounds of a local gate: from an open record to its verdict line. Every line is in
 * the record and on disk before the next one is begun. */
#ifndef WF_CLI_GATE_RUN_H
#define WF_CLI_GATE_RUN_H

#include "cli/gate_plan.h"
#include "cli/gate_writer.h"

/* Rounds until nothing is open; then the verdict line. ECANCELLED: the record has been
 * closed as cancelled and has its verdict line all the same. */
enum wf_status gate_run(struct gate_plan *plan,
                        struct wf_gate_record *record,
                        struct gate_writer *writer,
                        struct wf_error *err);

/* Adds a line (taken) to the record and, if it is good, to the file. */
enum wf_status gate_run_line(struct wf_gate_record *record,
                             struct gate_writer *writer,
                             struct wf_json *line,
                             struct wf_error *err);
/* The line of static figures, to be freed; *ret NULL: there is nothing to compare, or
 * the record has one already. */
enum wf_status gate_run_static(const struct gate_plan *plan,
                               const struct wf_gate_record *record,
                               struct wf_json **ret,
                               struct wf_error *err);
/* Ends a round that was cut short by somebody: what had come of it counts, the rest is
 * lost. */
enum wf_status gate_run_cut(struct wf_gate_record *record,
                            struct gate_writer *writer,
                            int32_t round,
                            const char *why,
                            struct wf_error *err);

#endif
