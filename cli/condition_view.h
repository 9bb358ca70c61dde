/* What the times of a table have in common and its columns do not say: why one is
 * missing, cold runs with their proof, and what to do about noisy ones. */
#ifndef WF_CLI_CONDITION_VIEW_H
#define WF_CLI_CONDITION_VIEW_H

#include "core/json.h"

#include <stddef.h>

/* Lines on stdout; nothing where all is hot and quiet. */
void wf_print_conditions(const struct wf_json *const *result, size_t count);

#endif
