/* The thread that plans gates, decides when rounds have ended, and moves groups whose
 * device is gone. Woken by results; looks by itself every reap_period.
 *
 * Several coordinators may run it at once: a gate's row is locked by whoever decides,
 * and all state is in the database. */
#ifndef WF_COORDINATOR_GATE_WORKER_H
#define WF_COORDINATOR_GATE_WORKER_H

#include "coordinator/api.h"

struct wf_gate_worker; /* opaque */

enum wf_status wf_gate_worker_start(struct wf_app *app,
                                    struct wf_gate_worker **ret,
                                    struct wf_error *err);
/* There may be something to decide. Any thread; NULL is good. */
void wf_gate_worker_poke(struct wf_gate_worker *w);
void wf_gate_worker_stop(struct wf_gate_worker *w); /* NULL is good */

/* One look at all gates that have something to do; for tests. */
struct wf_gate_cache;
enum wf_status wf_gate_worker_round(struct wf_app *app,
                                    struct wf_db *db,
                                    struct wf_gate_cache *cache, /* NULL: none */
                                    struct wf_error *err);

#endif
