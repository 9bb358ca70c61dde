/* Gates: make, list, watch, read the record, cancel; and the series of history. */
#include "coordinator/handlers.h"

#include "coordinator/blobs.h"
#include "coordinator/gate_worker.h"
#include "coordinator/store_gates.h"
#include "coordinator/store_shards.h"
#include "coordinator/workers.h"
#include "core/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_WAIT_MS 60000

static enum wf_status reply_made(struct wf_request *req,
                                 const struct wf_gate_made *made,
                                 struct wf_error *err)
{
    char id[24];
    struct wf_json *o = wf_json_object();
    snprintf(id, sizeof id, "%" PRId64, made->id);
    snprintf(req->location, sizeof req->location, "/v1/gates/%s", id);
    enum wf_status s = wf_json_set_string(o, "id", id, err);
    s = s == WF_OK ? wf_json_set_string(o, "gate", made->gate, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, made->created ? 201 : 200, o, err);
}

enum wf_status wf_route_gate_create(struct wf_worker *w,
                                    struct wf_request *req,
                                    struct wf_error *err)
{
    struct wf_gate_request *g = NULL;
    struct wf_gate_made made = { 0 };
    struct wf_blob_datasets *datasets = wf_blob_datasets_create(w->app->blobs);
    if (!datasets) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a gate");
    }
    struct wf_dataset_resolver resolver = wf_blob_datasets_resolver(datasets);
    enum wf_status s = wf_gate_request_read(req, &resolver, &g, err);
    wf_blob_datasets_destroy(datasets);
    s = s == WF_OK ? wf_store_gate(w->db, g, req->token_id, &made, err) : s;
    if (s == WF_OK && made.created) {
        wf_log(WF_LOG_INFO, "gate %" PRId64 " (%s) made pairs=%zu name=%.100s", made.id,
               made.gate, wf_gate_record_count(g->record), g->run->name);
        wf_gate_worker_poke(w->app->gates);
    }
    wf_gate_request_free(g);
    return s == WF_OK ? reply_made(req, &made, err) : s;
}

enum wf_status wf_route_gate_list(struct wf_worker *w,
                                  struct wf_request *req,
                                  struct wf_error *err)
{
    return wf_reply_page(w, req, WF_STMT_GATE_LIST, "gates", wf_gate_row_json, err);
}

/* The verdict is there a moment after a cancelled run's state. */
static bool ended(const struct wf_rows *rows)
{
    return !wf_rows_null(rows, 0, 11); /* red */
}

enum wf_status wf_route_gate_get(struct wf_worker *w,
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
    enum wf_status s = wf_parse_id(req->param, "gate", &id, err);
    s = s == WF_OK ? wf_request_query_i64(req, "wait_ms", 0, MAX_WAIT_MS, &wait_ms, err)
                   : s;
    s = s == WF_OK ? wf_request_query_i64(req, "since", 0, INT64_MAX, &since, err) : s;
    if (s != WF_OK) {
        return s;
    }
    req->wait_seen = wf_workers_seen(w->app->workers, WF_EVENT_RUN, id);
    snprintf(what, sizeof what, "there is no gate %" PRId64, id);
    wf_param_i64(&p, id);
    s = wf_db_one(w->db, WF_STMT_GATE_GET, &p, what, &rows, err);
    if (s == WF_OK && wait_ms > 0 && wf_rows_i64(rows, 0, 5) <= since && !ended(rows) &&
        !wf_workers_draining(w->app->workers) &&
        wf_request_park(req, WF_EVENT_RUN, id, wait_ms)) {
        wf_rows_free(rows);
        return WF_OK;
    }
    s = s == WF_OK ? wf_gate_row_json(rows, 0, &o, err) : s;
    wf_rows_free(rows);
    return s == WF_OK ? wf_reply_json(req, 200, o, err) : s;
}

/* --- the record --- */

/* A page ends before it is larger than this; a single line may be. */
#define PAGE_BYTES (8u << 20)

static enum wf_status write_lines(const struct wf_rows *rows,
                                  int64_t after,
                                  int64_t limit,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    size_t n = wf_rows_count(rows);
    size_t i = 0;
    int64_t last = after;
    enum wf_status s = wf_buf_puts(out, "{\"lines\":[", err);
    for (; s == WF_OK && i < n && out->len < PAGE_BYTES; i++) {
        s = i > 0 ? wf_buf_puts(out, ",", err) : s;
        s = s == WF_OK ? wf_buf_puts(out, wf_rows_text(rows, i, 1), err) : s;
        last = wf_rows_i64(rows, i, 0);
    }
    bool more = i < n || n == (size_t)limit;
    if (s == WF_OK && more) {
        return wf_buf_printf(out, err, "],\"next\":%" PRId64 "}", last);
    }
    return s == WF_OK ? wf_buf_puts(out, "],\"next\":null}", err) : s;
}

enum wf_status wf_route_gate_record(struct wf_worker *w,
                                    struct wf_request *req,
                                    struct wf_error *err)
{
    int64_t id = 0, after = 0, limit = 500;
    char what[64];
    struct wf_params g = WF_PARAMS_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status s = wf_parse_id(req->param, "gate", &id, err);
    s = s == WF_OK ? wf_request_query_i64(req, "after", 0, INT64_MAX, &after, err) : s;
    s = s == WF_OK ? wf_request_query_i64(req, "limit", 1, 2000, &limit, err) : s;
    snprintf(what, sizeof what, "there is no gate %" PRId64, id);
    wf_param_i64(&g, id);
    s = s == WF_OK ? wf_db_one(w->db, WF_STMT_GATE_BY_RUN, &g, what, &rows, err) : s;
    wf_rows_free(rows);
    rows = NULL;
    wf_param_i64(&p, id);
    wf_param_i64(&p, after);
    wf_param_i64(&p, limit);
    s = s == WF_OK ? wf_db_run(w->db, WF_STMT_GATE_RECORD, &p, &rows, err) : s;
    s = s == WF_OK ? write_lines(rows, after, limit, &req->reply, err) : s;
    wf_rows_free(rows);
    if (s == WF_OK) {
        req->status = 200;
        req->content_type = "application/json";
    } else {
        wf_buf_clear(&req->reply);
    }
    return s;
}

/* --- cancel --- */

enum wf_status wf_route_gate_cancel(struct wf_worker *w,
                                    struct wf_request *req,
                                    struct wf_error *err)
{
    static const char *const keys[] = { NULL };
    int64_t id = 0, tasks = 0;
    char what[64];
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *body = NULL;
    enum wf_status s = wf_parse_id(req->param, "gate", &id, err);
    s = s == WF_OK ? wf_request_json(req, NULL, keys, &body, err) : s;
    wf_json_free(body);
    snprintf(what, sizeof what, "there is no gate %" PRId64, id);
    wf_param_i64(&p, id);
    s = s == WF_OK ? wf_db_one(w->db, WF_STMT_GATE_BY_RUN, &p, what, &rows, err) : s;
    wf_rows_free(rows);
    s = s == WF_OK ? wf_store_cancel_run(w->db, id, &tasks, err) : s;
    if (s == WF_ECONFLICT) {
        wf_problem(req, 409, "run-ended", "gate %" PRId64 " has ended already", id);
        return WF_OK;
    }
    if (s != WF_OK) {
        return s;
    }
    wf_log(WF_LOG_INFO, "gate %" PRId64 " cancelled tasks=%" PRId64, id, tasks);
    wf_workers_wake(w->app->workers, WF_EVENT_RUN, id);
    wf_gate_worker_poke(w->app->gates);
    struct wf_json *o = wf_json_object();
    s = wf_json_set_string(o, "id", req->param, err);
    s = s == WF_OK ? wf_json_set_i64(o, "cancelled", tasks, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}

/* --- history --- */

static enum wf_status series_json(const struct wf_rows *rows,
                                  size_t i,
                                  struct wf_json *list,
                                  struct wf_error *err)
{
    static const char *const keys[] = { "key", "case_id", "kernel", "model" };
    struct wf_json *o = wf_json_object();
    struct wf_json *points = NULL;
    const char *text = wf_rows_text(rows, i, 4);
    enum wf_status s = WF_OK;
    for (int k = 0; s == WF_OK && k < 4; k++) {
        s = wf_json_set_string(o, keys[k], wf_rows_text(rows, i, k), err);
    }
    s = s == WF_OK ? wf_json_parse(text, strlen(text), "points", &points, err) : s;
    s = s == WF_OK ? wf_json_set_take(o, "points", points, err) : s;
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s == WF_OK ? pushed : s;
}

enum wf_status wf_route_gate_history(struct wf_worker *w,
                                     struct wf_request *req,
                                     struct wf_error *err)
{
    int64_t days = 400;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *o = wf_json_object();
    struct wf_json *list = wf_json_array();
    enum wf_status s = wf_request_query_i64(req, "days", 1, 36500, &days, err);
    wf_param_text(&p, wf_request_query(req, "base"));
    wf_param_text(&p, wf_request_query(req, "suite"));
    wf_param_text(&p, wf_request_query(req, "model"));
    wf_param_text(&p, wf_request_query(req, "kernel"));
    wf_param_i64(&p, days);
    s = s == WF_OK ? wf_db_run(w->db, WF_STMT_GATE_HISTORY, &p, &rows, err) : s;
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        s = series_json(rows, i, list, err);
    }
    wf_rows_free(rows);
    enum wf_status taken = wf_json_set_take(o, "series", list, err);
    s = s == WF_OK ? taken : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}
