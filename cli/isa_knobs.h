/* Knobs beside figures: what kernels were made with, and what came of it. */
#ifndef WF_CLI_ISA_KNOBS_H
#define WF_CLI_ISA_KNOBS_H

#include "isa/knobs.h"
#include "isa/report.h"

#include <stddef.h>

/* A kernel of a code object, a kernel of a pack, or a solution of a logic file. */
struct wf_knob_row {
    char *object, *kernel;
    const char *scheme; /* "tensile", "aiter", "pack", "" */
    struct wf_isa_knobs knobs;
    double *figure; /* wf_knob_figure_count() of them, NAN: not known */
};

struct wf_knob_table {
    struct wf_knob_row *row;
    size_t count;
    struct wf_json *selections; /* of logic files; NULL: none */
};

/* The report's figures, then what a logic file says of a solution: how many sizes take
 * it, and the best of their ratings. */
size_t wf_knob_figure_count(void);
const char *wf_knob_figure_name(size_t i);

/* Appends the rows of a code object, a pack's folder, or a logic file (.yaml, .yml). */
enum wf_status wf_knob_table_add(struct wf_knob_table *t,
                                 const char *what,
                                 const struct wf_isa_options *options,
                                 struct wf_error *err);
void wf_knob_table_free(struct wf_knob_table *t);

/* isa_knobs_view.c. `by`: group by this knob, NULL: a row a kernel. `show`: columns,
 * joined by commas, NULL: knobs that differ and the usual figures. EINVAL: a knob or a
 * column that no row has, and which there are. */
enum wf_status wf_knob_print_text(const struct wf_knob_table *t,
                                  const char *by,
                                  const char *show,
                                  struct wf_error *err);
enum wf_status wf_knob_print_csv(const struct wf_knob_table *t, struct wf_error *err);
enum wf_status wf_knob_print_json(const struct wf_knob_table *t,
                                  const char *by,
                                  struct wf_error *err);

#endif
