/* Blobs: HEAD, GET and PUT /v1/blobs/{sha256}. */
#include "coordinator/handlers.h"

#include "coordinator/blobs.h"
#include "coordinator/metrics.h"

enum wf_status wf_route_blob_get(struct wf_worker *w,
                                 struct wf_request *req,
                                 struct wf_error *err)
{
    enum wf_status s =
        wf_blob_open(w->app->blobs, w->db, req->param, &req->fd, &req->fd_bytes, err);
    if (s == WF_OK) {
        req->status = 200;
        req->content_type = "application/octet-stream";
    }
    return s;
}

enum wf_status wf_route_blob_put(struct wf_worker *w,
                                 struct wf_request *req,
                                 struct wf_error *err)
{
    bool created = false;
    uint64_t bytes = 0;
    struct wf_blob_upload *upload = req->upload;
    struct wf_json *o = NULL;
    req->upload = NULL; /* finish takes it */
    enum wf_status s = wf_blob_upload_finish(w->app->blobs, upload, req->param, w->db,
                                             req->token_id, &created, &bytes, err);
    if (s == WF_EINVAL) {
        wf_problem(req, 422, "hash-mismatch", "%s", err->text);
        return WF_OK;
    }
    if (s == WF_OK) {
        wf_metrics_add(w->app->metrics, WF_COUNTER_BLOB_BYTES, created ? bytes : 0);
        o = wf_json_object();
        s = wf_json_set_string(o, "sha256", req->param, err);
    }
    s = s == WF_OK ? wf_json_set_u64(o, "bytes", bytes, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, created ? 201 : 200, o, err);
}
