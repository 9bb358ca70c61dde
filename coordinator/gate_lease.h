/* Rounds of gates in the answer to a lease (docs/wire.md). */
#ifndef WF_COORDINATOR_GATE_LEASE_H
#define WF_COORDINATOR_GATE_LEASE_H

#include "coordinator/db.h"
#include "core/json.h"

/* Appends the shards among `ids` (array literal) that are rounds of a gate to `list`.
 */
enum wf_status wf_gate_lease_json(struct wf_db *db,
                                  const char *ids,
                                  int64_t ttl_ms,
                                  struct wf_json *list,
                                  struct wf_error *err);

#endif
