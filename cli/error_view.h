/* What is wrong with an answer, for the author of the kernel: the first and the worst
 * element, the likely cause, and a map of where the wrong elements lie. */
#ifndef WF_CLI_ERROR_VIEW_H
#define WF_CLI_ERROR_VIEW_H

#include "core/json.h"

#include <stdbool.h>

/* Whether the result says where it is wrong: results of versions before `errors.first`
 * do not, nor do those of crashes. */
bool wf_has_error_view(const struct wf_json *result);

/* Indented lines under the headline of the result; the map only when `map`. A character
 * of the map stands for a cell: '.' all right, '1' to '9' tenths of it wrong, '#' all
 * wrong, ' ' nobody looked. */
void wf_print_error_view(const struct wf_json *result, bool map);

#endif
