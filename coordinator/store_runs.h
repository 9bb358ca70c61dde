/* Storing runs and reading them. */
#ifndef WF_COORDINATOR_STORE_RUNS_H
#define WF_COORDINATOR_STORE_RUNS_H

#include "coordinator/run_request.h"
#include "coordinator/shard.h"

struct wf_run_made {
    int64_t run, tasks;
    bool created; /* false: the same request was made before */
};

/* One transaction. ECONFLICT: the request id was used for another body. EINVAL: a blob
 * that the request names is not there. */
enum wf_status wf_store_run(struct wf_db *db,
                            const struct wf_run_request *r,
                            const struct wf_shard_plan_input *limits,
                            int64_t token_id,
                            struct wf_run_made *ret,
                            struct wf_error *err);

/* A run of kind "gate": no tasks yet; `add` makes what else belongs to it, in the same
 * transaction. */
struct wf_run_more {
    enum wf_status (*add)(struct wf_db *db,
                          int64_t run,
                          void *ctx,
                          struct wf_error *err);
    void *ctx;
};
enum wf_status wf_store_gate_run(struct wf_db *db,
                                 const struct wf_run_request *r,
                                 const struct wf_run_more *more,
                                 int64_t token_id,
                                 struct wf_run_made *ret,
                                 struct wf_error *err);
/* Cases, packs and kernels of a run that is there; inside a transaction. The caller
 * frees both arrays: 2 keys a case as in wf_store_cases, one a kernel. */
struct wf_run_keys {
    int64_t *cases, *kernels;
};
enum wf_status wf_store_run_parts(struct wf_db *db,
                                  int64_t run,
                                  const struct wf_run_request *r,
                                  struct wf_run_keys *ret,
                                  struct wf_error *err);

/* A row of RUN_GET or RUN_LIST as in GET /v1/runs/{id}. */
enum wf_status wf_run_row_json(const struct wf_rows *rows,
                               size_t i,
                               struct wf_json **ret,
                               struct wf_error *err);

/* Cases as arrays for CASES_ADD and RUN_CASES_ADD; import uses it too. */
struct wf_case_columns {
    struct wf_buf id, op, label, canonical, dataset, math_type, flops, bytes, name;
    struct wf_buf measure;
};
enum wf_status wf_case_columns_add(struct wf_case_columns *c,
                                   const struct wf_run_case *item,
                                   struct wf_error *err);
void wf_case_columns_free(struct wf_case_columns *c);
/* keys[2 * i] run_case_id and keys[2 * i + 1] case_key of case i. */
enum wf_status wf_store_cases(struct wf_db *db,
                              int64_t run,
                              struct wf_case_columns *c,
                              size_t n,
                              int64_t *keys,
                              struct wf_error *err);

#endif
