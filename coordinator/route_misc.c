/* Health, metrics, the API's description, and the dashboard's files. */
#include "coordinator/handlers.h"

#include "coordinator/embedded.h"
#include "coordinator/metrics.h"
#include "coordinator/static_files.h"

#include <string.h>

enum wf_status wf_route_healthz(struct wf_worker *w,
                                struct wf_request *req,
                                struct wf_error *err)
{
    struct wf_error away = { 0 };
    bool up = wf_db_run(w->db, WF_STMT_PING, NULL, NULL, &away) == WF_OK;
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "status", up ? "ok" : "degraded", err);
    s = s == WF_OK ? wf_json_set_string(o, "database", up ? "ok" : "away", err) : s;
    if (s == WF_OK && !up) {
        s = wf_json_set_string(o, "detail", away.text, err);
        req->retry_after_s = 2;
    }
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, up ? 200 : 503, o, err);
}

enum wf_status wf_route_metrics(struct wf_worker *w,
                                struct wf_request *req,
                                struct wf_error *err)
{
    enum wf_status s = wf_metrics_write(w->app->metrics, w, &req->reply, err);
    req->status = 200;
    req->content_type = "text/plain; version=0.0.4; charset=utf-8";
    return s;
}

enum wf_status wf_route_openapi(struct wf_worker *w,
                                struct wf_request *req,
                                struct wf_error *err)
{
    (void)w;
    req->status = 200;
    req->content_type = "application/json";
    return wf_buf_puts(&req->reply, wf_openapi_json, err);
}

static enum wf_status send_file(struct wf_worker *w,
                                struct wf_request *req,
                                const char *path,
                                struct wf_error *err)
{
    const struct wf_static_file *f = wf_static_find(w->app->pages, path);
    if (!f) {
        wf_problem(req, 404, "not-found", "the dashboard has no file '%.200s'", path);
        return WF_OK;
    }
    req->status = 200;
    req->content_type = f->type;
    req->page = true;
    return wf_buf_add(&req->reply, f->data, f->bytes, err);
}

enum wf_status wf_route_index(struct wf_worker *w,
                              struct wf_request *req,
                              struct wf_error *err)
{
    return send_file(w, req, "index.html", err);
}

enum wf_status wf_route_static(struct wf_worker *w,
                               struct wf_request *req,
                               struct wf_error *err)
{
    return send_file(w, req, req->param, err);
}
