/* Reading results: pages of a run, and a task with its attempts. */
#ifndef WF_COORDINATOR_STORE_RESULTS_H
#define WF_COORDINATOR_STORE_RESULTS_H

#include "coordinator/db.h"
#include "core/buf.h"
#include "core/json.h"

struct wf_results_page {
    int64_t run, after, limit;
    bool samples;
};

/* Appends {"run","results":[...],"next":id|null}. ENOTFOUND: no such run. */
enum wf_status wf_store_results_page(struct wf_db *db,
                                     const struct wf_results_page *page,
                                     struct wf_buf *out,
                                     struct wf_error *err);
/* {"task","run","state","shard","received","digest","attempts":[...],"result":{...}|null}
 */
enum wf_status wf_store_task(struct wf_db *db,
                             int64_t task,
                             struct wf_json **ret,
                             struct wf_error *err);

#endif
