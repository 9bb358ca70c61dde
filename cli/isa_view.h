/* Static reports as text. */
#ifndef WF_CLI_ISA_VIEW_H
#define WF_CLI_ISA_VIEW_H

#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>

/* A report of docs/schemas/isa-report.schema.json: a block a kernel, what is notable
 * marked by '!'. `loops`: every loop is listed, and every hot one shown. */
void wf_print_isa(const struct wf_json *report, bool loops);

/* Two kernels' figures side by side: "a", "b", difference, better or worse. */
struct wf_isa_pair {
    const char *kernel_a, *kernel_b;
    const struct wf_json *figures; /* [{"figure", "a", "b", "verdict"}] */
};
void wf_print_isa_pair(const struct wf_isa_pair *pair, bool all);

#endif
