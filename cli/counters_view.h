/* What the emulator says of the launches behind a result, for people. */
#ifndef WF_CLI_COUNTERS_VIEW_H
#define WF_CLI_COUNTERS_VIEW_H

#include "core/json.h"

#include <stddef.h>

/* For each result with an emulation: a table of its launches' counters, and what checks
 * and counters cost on this machine. Results without one are passed over. */
void wf_print_counters(const struct wf_json *const *result, size_t count);
/* One line: how long the emulation took and what the checks cost; nothing where no
 * result was emulated. */
void wf_print_emulation_cost(const struct wf_json *const *result, size_t count);

#endif
