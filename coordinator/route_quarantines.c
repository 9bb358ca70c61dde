/* Devices that get no new gates: put one there by hand, lift it, list them. */
#include "coordinator/handlers.h"

#include "coordinator/gate_worker.h"
#include "core/log.h"
#include "core/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT   200u
#define MAX_FOR_MS INT64_C(31536000000) /* a year */

static enum wf_status line_text(const struct wf_json *o,
                                const char *key,
                                const char **ret,
                                struct wf_error *err)
{
    enum wf_status s = wf_json_get_string(o, key, ret, err);
    if (s == WF_OK && ((*ret)[strspn(*ret, " ")] == '\0' || strlen(*ret) > MAX_TEXT ||
                       !wf_is_printable(*ret))) {
        s = wf_errorf(err, WF_EINVAL, "%s must be one line of 1 to %u bytes", key,
                      MAX_TEXT);
    }
    return s;
}

/* The row's JSON in column `col` is the answer. */
static enum wf_status reply_row(struct wf_request *req,
                                int status,
                                const struct wf_rows *rows,
                                int col,
                                struct wf_error *err)
{
    enum wf_status s = wf_buf_puts(&req->reply, wf_rows_text(rows, 0, col), err);
    if (s != WF_OK) {
        wf_buf_clear(&req->reply);
        return s;
    }
    req->status = status;
    req->content_type = "application/json";
    return WF_OK;
}

/* --- by hand --- */

struct adding {
    const char *runner, *device, *reason;
    int64_t token_id, for_ms;
    int64_t there; /* the open one that stands in the way; 0: none */
    struct wf_rows *rows;
};

static enum wf_status look_at_device(struct wf_db *db,
                                     struct adding *a,
                                     struct wf_params *p,
                                     struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status s =
        wf_db_one(db, WF_STMT_QUARANTINE_DEVICE, p, "no device", &rows, err);
    if (s == WF_OK && !wf_rows_bool(rows, 0, 0)) {
        s = wf_errorf(err, WF_EINVAL,
                      "no runner '%.100s' ever registered a device '%.100s': GET "
                      "/v1/runners lists them",
                      a->runner, a->device);
    }
    a->there = s == WF_OK ? wf_rows_i64(rows, 0, 1) : 0;
    wf_rows_free(rows);
    return s;
}

static enum wf_status add(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct adding *a = ctx;
    struct wf_params p = WF_PARAMS_INIT;
    wf_rows_free(a->rows);
    a->rows = NULL;
    wf_param_text(&p, a->runner);
    wf_param_text(&p, a->device);
    enum wf_status s = wf_db_run(db, WF_STMT_QUARANTINE_OVER, &p, NULL, err);
    s = s == WF_OK ? look_at_device(db, a, &p, err) : s;
    wf_param_text(&p, a->reason);
    wf_param_i64(&p, a->token_id);
    wf_param_i64(&p, a->for_ms);
    if (s == WF_OK && a->there == 0) {
        s = wf_db_run(db, WF_STMT_QUARANTINE_ADD, &p, &a->rows, err);
    }
    return s;
}

static enum wf_status read_adding(const struct wf_json *body,
                                  int64_t setting_ms,
                                  struct adding *a,
                                  struct wf_error *err)
{
    enum wf_status s = line_text(body, "runner", &a->runner, err);
    s = s == WF_OK ? line_text(body, "device", &a->device, err) : s;
    s = s == WF_OK ? line_text(body, "reason", &a->reason, err) : s;
    a->for_ms = setting_ms;
    s = s == WF_OK ? wf_json_opt_i64(body, "for_ms", 1, MAX_FOR_MS, &a->for_ms, err)
                   : s;
    if (s == WF_OK && a->for_ms == 0) {
        s = wf_errorf(err, WF_EINVAL,
                      "for_ms is missing: for how long? (gate_quarantine of this "
                      "coordinator is 0)");
    }
    return s;
}

static enum wf_status reply_added(struct wf_request *req,
                                  const struct adding *a,
                                  struct wf_error *err)
{
    if (!a->rows || wf_rows_count(a->rows) == 0) {
        wf_problem(req, 409, "in-quarantine",
                   "%.100s on %.100s is in quarantine already (%" PRId64
                   "): lift it first",
                   a->device, a->runner, a->there);
        return WF_OK;
    }
    wf_log(WF_LOG_WARN,
           "quarantine %" PRId64 " of %.100s on %.100s: no new gates: %.200s",
           wf_rows_i64(a->rows, 0, 0), a->device, a->runner, a->reason);
    return reply_row(req, 201, a->rows, 1, err);
}

enum wf_status wf_route_quarantine_create(struct wf_worker *w,
                                          struct wf_request *req,
                                          struct wf_error *err)
{
    static const char *const keys[] = { "runner", "device", "reason", "for_ms", NULL };
    struct wf_json *body = NULL;
    struct adding a = { .token_id = req->token_id };
    int64_t setting_ms = wf_config_number(w->app->config, WF_SETTING_gate_quarantine);
    enum wf_status s = wf_request_json(req, NULL, keys, &body, err);
    s = s == WF_OK ? read_adding(body, setting_ms, &a, err) : s;
    s = s == WF_OK ? wf_db_transact(w->db, add, &a, err) : s;
    s = s == WF_OK ? reply_added(req, &a, err) : s;
    wf_rows_free(a.rows);
    wf_json_free(body);
    return s;
}

/* --- lift --- */

/* 404: there is none; else it has ended, by itself or because somebody was faster. */
static enum wf_status not_lifted(struct wf_worker *w,
                                 struct wf_request *req,
                                 int64_t id,
                                 struct wf_error *err)
{
    char what[64];
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    snprintf(what, sizeof what, "there is no quarantine %" PRId64, id);
    wf_param_i64(&p, id);
    enum wf_status s = wf_db_one(w->db, WF_STMT_QUARANTINE_GET, &p, what, &rows, err);
    wf_rows_free(rows);
    if (s == WF_OK) {
        wf_problem(req, 409, "quarantine-ended",
                   "quarantine %" PRId64 " has ended already", id);
    }
    return s;
}

static enum wf_status lift(struct wf_worker *w,
                           struct wf_request *req,
                           int64_t id,
                           const char *reason,
                           struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, id);
    wf_param_i64(&p, req->token_id);
    wf_param_text(&p, reason);
    enum wf_status s = wf_db_run(w->db, WF_STMT_QUARANTINE_LIFT, &p, &rows, err);
    if (s == WF_OK && wf_rows_count(rows) == 0) {
        s = not_lifted(w, req, id, err);
    } else if (s == WF_OK) {
        wf_log(WF_LOG_INFO, "quarantine %" PRId64 " of %.100s on %.100s lifted: %.200s",
               id, wf_rows_text(rows, 0, 1), wf_rows_text(rows, 0, 0), reason);
        wf_gate_worker_poke(w->app->gates); /* gates may wait for the device */
        s = reply_row(req, 200, rows, 2, err);
    }
    wf_rows_free(rows);
    return s;
}

enum wf_status wf_route_quarantine_lift(struct wf_worker *w,
                                        struct wf_request *req,
                                        struct wf_error *err)
{
    static const char *const keys[] = { "reason", NULL };
    int64_t id = 0;
    const char *reason = NULL;
    struct wf_json *body = NULL;
    enum wf_status s = wf_parse_id(req->param, "quarantine", &id, err);
    s = s == WF_OK ? wf_request_json(req, NULL, keys, &body, err) : s;
    s = s == WF_OK ? line_text(body, "reason", &reason, err) : s;
    s = s == WF_OK ? lift(w, req, id, reason, err) : s;
    wf_json_free(body);
    return s;
}

/* --- list --- */

static enum wf_status write_list(const struct wf_rows *rows,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    enum wf_status s = wf_buf_puts(out, "{\"quarantines\":[", err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        s = i > 0 ? wf_buf_puts(out, ",", err) : s;
        s = s == WF_OK ? wf_buf_puts(out, wf_rows_text(rows, i, 0), err) : s;
    }
    return s == WF_OK ? wf_buf_puts(out, "]}", err) : s;
}

enum wf_status wf_route_quarantine_list(struct wf_worker *w,
                                        struct wf_request *req,
                                        struct wf_error *err)
{
    int64_t all = 0;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status s = wf_request_query_i64(req, "all", 0, 1, &all, err);
    wf_param_i64(&p, all);
    s = s == WF_OK ? wf_db_run(w->db, WF_STMT_QUARANTINE_LIST, &p, &rows, err) : s;
    s = s == WF_OK ? write_list(rows, &req->reply, err) : s;
    wf_rows_free(rows);
    if (s == WF_OK) {
        req->status = 200;
        req->content_type = "application/json";
    } else {
        wf_buf_clear(&req->reply);
    }
    return s;
}
