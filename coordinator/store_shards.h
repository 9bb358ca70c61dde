/* Shards that come back, are lost or cancelled. */
#ifndef WF_COORDINATOR_STORE_SHARDS_H
#define WF_COORDINATOR_STORE_SHARDS_H

#include "coordinator/db.h"
#include "coordinator/lease.h"

struct wf_returned {
    int64_t shards;     /* that were handed back */
    int64_t ready;      /* of them (or of their parts) can be leased again */
    int64_t lost_tasks; /* whose last attempt this was */
};

/* One shard, by its holder. WF_ECONFLICT when the token does not hold it any more. */
struct wf_release {
    int64_t shard, session;
    const char *token;
    enum wf_return_cause cause;
    const char *reason;
    int64_t retry_ms;
};
enum wf_status wf_store_release(struct wf_db *db,
                                const struct wf_release *r,
                                struct wf_returned *ret,
                                struct wf_error *err);

/* Marks silent sessions dead. *ret_sessions: how many. */
enum wf_status wf_store_find_silent(struct wf_db *db,
                                    int64_t *ret_sessions,
                                    struct wf_error *err);
/* All shards of sessions that are not alive (session 0: of any). */
enum wf_status wf_store_return_orphans(struct wf_db *db,
                                       int64_t session,
                                       int64_t retry_ms,
                                       struct wf_returned *ret,
                                       struct wf_error *err);
/* ECONFLICT when the run had ended; ENOTFOUND when there is none. */
enum wf_status wf_store_cancel_run(struct wf_db *db,
                                   int64_t run,
                                   int64_t *ret_tasks,
                                   struct wf_error *err);

/* Shards and tasks that a cancelled run still has, inside a transaction. */
enum wf_status wf_store_cancel_rest(struct wf_db *db,
                                    int64_t run,
                                    int64_t *ret_tasks,
                                    struct wf_error *err);

#endif
