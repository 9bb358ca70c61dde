/* "measure" of a run's request and of its cases (datasets/measure.h): checked, passed
 * on to runners as text. Pure. */
#ifndef WF_COORDINATOR_RUN_MEASURE_H
#define WF_COORDINATOR_RUN_MEASURE_H

#include "core/error.h"
#include "core/json.h"

/* *ret_text is the caller's, "{}" where the request has none; *ret_measured whether
 * times are asked for at all. Errors begin with "measure". */
enum wf_status wf_run_measure_read(const struct wf_json *root,
                                   char **ret_text,
                                   bool *ret_measured,
                                   struct wf_error *err);
/* A case's own options (`own`, or NULL) with the run's (or NULL) below them: what its
 * tasks are leased with. *ret_text stays as it is where the case has none of its own.
 * *ret_budget_ms is the device time for samples that then holds. */
enum wf_status wf_run_measure_of_case(const struct wf_json *run,
                                      const struct wf_json *own,
                                      char **ret_text,
                                      int64_t *ret_budget_ms,
                                      struct wf_error *err);

#endif
