/* Counters of this process, and the text of /metrics. */
#ifndef WF_COORDINATOR_METRICS_H
#define WF_COORDINATOR_METRICS_H

#include "coordinator/api.h"

struct wf_metrics; /* opaque; any thread */

/* X(name, metric, help) */
#define WF_COUNTER_LIST(X)                                                         \
    X(ACCEPTED, "results_accepted", "results stored")                              \
    X(DUPLICATE, "results_duplicate", "results that were there already")           \
    X(STALE, "results_stale", "results under a token that was not valid any more") \
    X(INVALID, "results_invalid", "results that could not be stored")              \
    X(COMMITS, "result_commits", "transactions that stored results")               \
    X(LEASES, "leases", "shards handed out")                                       \
    X(RETURNED, "shards_returned", "shards that came back without all results")    \
    X(SESSIONS_LOST, "sessions_lost", "sessions that went silent")                 \
    X(TASKS_LOST, "tasks_lost", "tasks given up after their last attempt")         \
    X(BLOB_BYTES, "blob_bytes_received", "bytes of stored blobs")

enum wf_counter {
#define X(name, metric, help) WF_COUNTER_##name,
    WF_COUNTER_LIST(X)
#undef X
    WF_COUNTER_COUNT
};

enum wf_status wf_metrics_create(struct wf_metrics **ret, struct wf_error *err);
void wf_metrics_destroy(struct wf_metrics *m);
void wf_metrics_add(struct wf_metrics *m, enum wf_counter c, uint64_t n);
/* `route` NULL: no route matched. */
void wf_metrics_request(struct wf_metrics *m,
                        const struct wf_route *route,
                        int status,
                        int64_t duration_ns);
/* Appends the text; asks the database for gauges. A database that is away leaves its
 * gauges out and says wavefarm_database_up 0. */
enum wf_status wf_metrics_write(struct wf_metrics *m,
                                struct wf_worker *w,
                                struct wf_buf *out,
                                struct wf_error *err);

#endif
