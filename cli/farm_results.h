/* A farm's run as the command line sees it: its results and its progress. */
#ifndef WF_CLI_FARM_RESULTS_H
#define WF_CLI_FARM_RESULTS_H

#include "cli/api.h"
#include "cli/results_file.h"

#include <stdbool.h>

/* All pages; `expected` is the run's number of tasks. With samples only if asked. */
enum wf_status wf_farm_results_fetch(struct wf_api *api,
                                     const char *run,
                                     bool samples,
                                     struct wf_results *ret,
                                     struct wf_error *err);
/* Shows progress until the run is done or cancelled. ECANCELLED after an interrupt; the
 * run itself goes on. */
enum wf_status wf_farm_run_wait(struct wf_api *api,
                                const char *run,
                                struct wf_error *err);

/* EINVAL when `text` is not a run's number. */
enum wf_status wf_run_id_check(const char *text, struct wf_error *err);
bool wf_is_run_id(const char *text);

#endif
