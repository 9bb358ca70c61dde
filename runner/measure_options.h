/* The object "measure" of a lease or of a command line (docs/wire.md, POST /v1/runs),
 * read for wf_execute. */
#ifndef WF_RUNNER_MEASURE_OPTIONS_H
#define WF_RUNNER_MEASURE_OPTIONS_H

#include "core/json.h"
#include "runner/execute.h"

/* Members that are not there, and json == NULL, leave the defaults of wf_execute. */
enum wf_status wf_measure_options_read(const struct wf_json *json,
                                       struct wf_measure_options *ret,
                                       struct wf_error *err);

#endif
