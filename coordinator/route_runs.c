/* Runs: make, list, watch, cancel. */
#include "coordinator/handlers.h"

#include "coordinator/blobs.h"
#include "coordinator/run_request.h"
#include "coordinator/store_runs.h"
#include "coordinator/store_shards.h"
#include "coordinator/workers.h"
#include "core/log.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* Runs beyond this many tasks leave much freed memory behind, which goes back. */
#define TRIM_TASKS  5000
#define MAX_WAIT_MS 60000

static enum wf_status reply_made(struct wf_request *req,
                                 const struct wf_run_made *made,
                                 struct wf_error *err)
{
    char id[24];
    struct wf_json *o = wf_json_object();
    snprintf(id, sizeof id, "%" PRId64, made->run);
    snprintf(req->location, sizeof req->location, "/v1/runs/%s", id);
    enum wf_status s = wf_json_set_string(o, "run", id, err);
    s = s == WF_OK ? wf_json_set_i64(o, "tasks", made->tasks, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, made->created ? 201 : 200, o, err);
}

enum wf_status wf_route_run_create(struct wf_worker *w,
                                   struct wf_request *req,
                                   struct wf_error *err)
{
    struct wf_run_request *r = NULL;
    struct wf_run_made made = { 0 };
    const struct wf_config *config = w->app->config;
    struct wf_shard_plan_input limits = {
        .target_ms = wf_config_number(config, WF_SETTING_shard_target),
        .max_tasks = (size_t)wf_config_number(config, WF_SETTING_shard_tasks),
    };
    struct wf_blob_datasets *datasets = wf_blob_datasets_create(w->app->blobs);
    if (!datasets) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a run");
    }
    struct wf_dataset_resolver resolver = wf_blob_datasets_resolver(datasets);
    enum wf_status s = wf_run_request_read(req, &resolver, &r, err);
    wf_blob_datasets_destroy(datasets);
    s = s == WF_OK ? wf_store_run(w->db, r, &limits, req->token_id, &made, err) : s;
    if (s == WF_OK && made.created) {
        wf_log(WF_LOG_INFO, "run %" PRId64 " made tasks=%" PRId64 " name=%.100s",
               made.run, made.tasks, r->name);
        wf_workers_wake(w->app->workers, WF_EVENT_TASKS, 0);
    }
    wf_run_request_free(r);
    if (made.tasks > TRIM_TASKS) {
        (void)malloc_trim(0);
    }
    return s == WF_OK ? reply_made(req, &made, err) : s;
}

enum wf_status wf_route_run_list(struct wf_worker *w,
                                 struct wf_request *req,
                                 struct wf_error *err)
{
    return wf_reply_page(w, req, WF_STMT_RUN_LIST, "runs", wf_run_row_json, err);
}

static bool ended(const struct wf_rows *rows)
{
    const char *state = wf_rows_text(rows, 0, 3);
    return strcmp(state, "done") == 0 || strcmp(state, "cancelled") == 0;
}

/* ?wait_ms&since: answers when the version is beyond `since`, the run has ended, or the
 * time is over. */
enum wf_status wf_route_run_get(struct wf_worker *w,
                                struct wf_request *req,
                                struct wf_error *err)
{
    int64_t id = 0;
    int64_t wait_ms = 0;
    int64_t since = -1;
    char what[64];
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *o = NULL;
    enum wf_status s = wf_parse_id(req->param, "run", &id, err);
    s = s == WF_OK ? wf_request_query_i64(req, "wait_ms", 0, MAX_WAIT_MS, &wait_ms, err)
                   : s;
    s = s == WF_OK ? wf_request_query_i64(req, "since", 0, INT64_MAX, &since, err) : s;
    if (s != WF_OK) {
        return s;
    }
    req->wait_seen = wf_workers_seen(w->app->workers, WF_EVENT_RUN, id);
    snprintf(what, sizeof what, "there is no run %" PRId64, id);
    wf_param_i64(&p, id);
    s = wf_db_one(w->db, WF_STMT_RUN_GET, &p, what, &rows, err);
    if (s == WF_OK && wait_ms > 0 && wf_rows_i64(rows, 0, 4) <= since && !ended(rows) &&
        !wf_workers_draining(w->app->workers) &&
        wf_request_park(req, WF_EVENT_RUN, id, wait_ms)) {
        wf_rows_free(rows);
        return WF_OK;
    }
    s = s == WF_OK ? wf_run_row_json(rows, 0, &o, err) : s;
    wf_rows_free(rows);
    return s == WF_OK ? wf_reply_json(req, 200, o, err) : s;
}

enum wf_status wf_route_run_cancel(struct wf_worker *w,
                                   struct wf_request *req,
                                   struct wf_error *err)
{
    static const char *const keys[] = { NULL };
    int64_t id = 0;
    int64_t tasks = 0;
    struct wf_json *body = NULL;
    enum wf_status s = wf_parse_id(req->param, "run", &id, err);
    s = s == WF_OK ? wf_request_json(req, NULL, keys, &body, err) : s;
    wf_json_free(body);
    s = s == WF_OK ? wf_store_cancel_run(w->db, id, &tasks, err) : s;
    if (s == WF_ECONFLICT) {
        wf_problem(req, 409, "run-ended", "%s", err->text);
        return WF_OK;
    }
    if (s != WF_OK) {
        return s;
    }
    wf_log(WF_LOG_INFO, "run %" PRId64 " cancelled tasks=%" PRId64, id, tasks);
    wf_workers_wake(w->app->workers, WF_EVENT_RUN, id);
    struct wf_json *o = wf_json_object();
    s = wf_json_set_string(o, "run", req->param, err);
    s = s == WF_OK ? wf_json_set_i64(o, "cancelled", tasks, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}
