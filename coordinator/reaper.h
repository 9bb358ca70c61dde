/* The thread that notices dead sessions and does housekeeping. */
#ifndef WF_COORDINATOR_REAPER_H
#define WF_COORDINATOR_REAPER_H

#include "coordinator/api.h"

struct wf_reaper; /* opaque */

enum wf_status wf_reaper_start(struct wf_app *app,
                               struct wf_reaper **ret,
                               struct wf_error *err);
void wf_reaper_stop(struct wf_reaper *r); /* NULL is good */
/* One round: dead sessions, their shards. For the thread and tests. */
enum wf_status wf_reaper_round(struct wf_app *app,
                               struct wf_db *db,
                               struct wf_error *err);

#endif
