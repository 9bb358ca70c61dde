/* The figures of measured results for people, one row a result: see docs/measuring.md.
 */
#ifndef WF_CLI_TIMING_VIEW_H
#define WF_CLI_TIMING_VIEW_H

#include "core/json.h"

#include <stddef.h>

/* Results without a timing are left out; members that an older result does not have, or
 * that are null, are "-". */
void wf_print_timing(const struct wf_json *const *result, size_t count);

#endif
