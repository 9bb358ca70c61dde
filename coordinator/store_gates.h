/* Gates: making, reading, planning. */
#ifndef WF_COORDINATOR_STORE_GATES_H
#define WF_COORDINATOR_STORE_GATES_H

#include "coordinator/blobs.h"
#include "coordinator/gate_request.h"

struct wf_gate_made {
    int64_t id;
    char gate[WF_GATE_ID_HEX];
    bool created; /* false: the same request was made before */
};

/* One transaction; errors as wf_store_run's. The gate is planned later, when a device
 * is there. */
enum wf_status wf_store_gate(struct wf_db *db,
                             const struct wf_gate_request *g,
                             int64_t token_id,
                             struct wf_gate_made *ret,
                             struct wf_error *err);
/* A row of GATE_GET or GATE_LIST as in GET /v1/gates/{id}. */
enum wf_status wf_gate_row_json(const struct wf_rows *rows,
                                size_t i,
                                struct wf_json **ret,
                                struct wf_error *err);
/* Chooses devices and spreads the pairs over them; margins of pairs whose noise is
 * known become theirs. `head` is GATE_LOCK's row, held by the caller's transaction.
 * *ret_groups 0: no device matches yet, and nothing was changed. */
enum wf_status wf_gate_plan(struct wf_db *db,
                            struct wf_blobs *blobs,
                            int64_t id,
                            const struct wf_rows *head,
                            int *ret_groups,
                            struct wf_error *err);

#endif
