/* What the views of knob tables share (isa_knobs_names.c). */
#ifndef WF_CLI_ISA_KNOBS_INTERNAL_H
#define WF_CLI_ISA_KNOBS_INTERNAL_H

#include "cli/isa_knobs.h"

struct knob_names {
    const char **name; /* borrowed of the rows */
    bool *differs;     /* has it more than one value, "not there" included? */
    size_t count;
};

struct knob_groups {
    const char **value; /* borrowed; sorted, each once */
    size_t count;
};

/* "-" where the row has no such knob, "yes" where it has no value. */
const char *knob_value(const struct wf_knob_row *r, const char *knob);
/* All knobs, in the order in which they are met. */
enum wf_status knob_names_collect(const struct wf_knob_table *t,
                                  struct knob_names *ret,
                                  struct wf_error *err);
void knob_names_free(struct knob_names *n);
/* n->count, wf_knob_figure_count(): there is none of this name. */
size_t knob_name_index(const struct knob_names *n, const char *name);
size_t knob_figure_index(const char *name);
/* EINVAL with the knobs that there are, or where knobs come from when there are none.
 */
enum wf_status knob_missing(const struct knob_names *n,
                            const char *name,
                            struct wf_error *err);
/* The values of a knob. The caller frees ret->value. */
enum wf_status knob_group(const struct wf_knob_table *t,
                          const char *by,
                          struct knob_groups *ret,
                          struct wf_error *err);
/* Median of the values that are known, NAN where none is; *ret_rows: rows of the group.
 * `room` holds t->count values. */
double knob_median(const struct wf_knob_table *t,
                   const char *by,
                   const char *value,
                   size_t figure,
                   double *room,
                   size_t *ret_rows);

#endif
