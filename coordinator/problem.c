/* Replies: JSON, problem+json, and the mapping from errors to HTTP. */
#include "coordinator/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct title {
    int status;
    const char *text;
};

static const struct title titles[] = {
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 413, "Content Too Large" },
    { 422, "Unprocessable Content" },
    { 429, "Too Many Requests" },
    { 500, "Internal Server Error" },
    { 503, "Service Unavailable" },
    { 507, "Insufficient Storage" },
};

static const char *title_of(int status)
{
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (titles[i].status == status) {
            return titles[i].text;
        }
    }
    return "Error";
}

enum wf_status wf_reply_json(struct wf_request *req,
                             int status,
                             struct wf_json *json,
                             struct wf_error *err)
{
    if (!json) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the reply");
    }
    wf_buf_clear(&req->reply);
    enum wf_status result = wf_json_write(json, &req->reply, err);
    wf_json_free(json);
    if (result == WF_OK) {
        req->status = status;
        req->content_type = "application/json";
    }
    return result;
}

static enum wf_status fill(struct wf_json *o,
                           int status,
                           const char *code,
                           const char *text)
{
    enum wf_status s = wf_json_set_string(o, "type", "about:blank", NULL);
    s = s == WF_OK ? wf_json_set_string(o, "title", title_of(status), NULL) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "status", status, NULL) : s;
    s = s == WF_OK ? wf_json_set_string(o, "code", code, NULL) : s;
    return s == WF_OK ? wf_json_set_string(o, "detail", text, NULL) : s;
}

void wf_problem(struct wf_request *req,
                int status,
                const char *code,
                const char *fmt,
                ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct wf_json *o = wf_json_object();
    wf_buf_clear(&req->reply);
    if (fill(o, status, code, text) == WF_OK) {
        (void)wf_json_write(o, &req->reply, NULL);
    }
    wf_json_free(o);
    req->status = status;
    req->content_type = "application/problem+json";
    req->outcome = WF_OUTCOME_REPLY;
    req->fd = -1;
    req->page = false;
    if (status == 503 && req->retry_after_s == 0) {
        req->retry_after_s = 2;
    }
}

struct mapping {
    int http;
    const char *code;
};

static struct mapping map_error(const struct wf_error *err)
{
    switch (err->status) {
    case WF_EPARSE:
        return (struct mapping){ 400, "bad-json" };
    case WF_EINVAL:
    case WF_ERANGE:
        return (struct mapping){ 422, "invalid" };
    case WF_ENOTFOUND:
        return (struct mapping){ 404, "not-found" };
    case WF_EEXIST:
    case WF_ECONFLICT:
        return (struct mapping){ 409, "conflict" };
    case WF_EREFUSED:
        return (struct mapping){ 403, "refused" };
    case WF_ENETWORK:
        return (struct mapping){ 503, "database-away" };
    case WF_ENOMEM:
        return (struct mapping){ 503, "no-memory" };
    case WF_ENOSPC:
        return (struct mapping){ 507, "no-space" };
    case WF_EDB:
        if (wf_db_error_class(err) == WF_DB_RETRY) {
            return (struct mapping){ 503, "database-busy" };
        }
        if (wf_db_error_class(err) == WF_DB_BAD_DATA) {
            return (struct mapping){ 422, "invalid" };
        }
        return (struct mapping){ 500, "database-error" };
    case WF_OK:
    case WF_EIO:
    case WF_ETIMEOUT:
    case WF_EDEVICE:
    case WF_EUNSUPPORTED:
    case WF_ECANCELLED:
    case WF_EINTERNAL:
    default:
        return (struct mapping){ 500, "internal" };
    }
}

void wf_problem_from_error(struct wf_request *req, const struct wf_error *err)
{
    struct mapping m = map_error(err);
    wf_problem(req, m.http, m.code, "%s", err->text);
}

enum wf_status wf_reply_page(struct wf_worker *w,
                             struct wf_request *req,
                             enum wf_stmt statement,
                             const char *key,
                             wf_row_json_fn row,
                             struct wf_error *err)
{
    int64_t limit = 50;
    int64_t before = 0;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *o = wf_json_object();
    struct wf_json *list = wf_json_array();
    enum wf_status s = wf_request_query_i64(req, "limit", 1, 500, &limit, err);
    s = s == WF_OK ? wf_request_query_i64(req, "before", 1, INT64_MAX, &before, err)
                   : s;
    wf_param_i64(&p, limit);
    wf_param_i64(&p, before);
    s = s == WF_OK ? wf_db_run(w->db, statement, &p, &rows, err) : s;
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        struct wf_json *one = NULL;
        s = row(rows, i, &one, err);
        s = s == WF_OK ? wf_json_push_take(list, one, err) : s;
    }
    wf_rows_free(rows);
    enum wf_status taken = wf_json_set_take(o, key, list, err);
    s = s == WF_OK ? taken : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}
