/* The measure options of `run` and `submit` as the object "measure" of docs/wire.md. */
#ifndef WF_CLI_MEASURE_ARGS_H
#define WF_CLI_MEASURE_ARGS_H

#include "cli/args.h"
#include "core/json.h"

/* Checks all of them. Of what a suite may say too, *ret, the caller's, has only what
 * was given: a suite's options stand below it. */
enum wf_status wf_measure_args(const struct wf_args *args,
                               struct wf_json **ret,
                               struct wf_error *err);

#endif
