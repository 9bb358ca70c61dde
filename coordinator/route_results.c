/* POST /v1/results, and reading results. */
#include "coordinator/handlers.h"

#include "coordinator/gate_line.h"
#include "coordinator/ingest.h"
#include "coordinator/result_row.h"
#include "coordinator/store_results.h"

#include <stdio.h>
#include <string.h>

#define MAX_RESULTS 5000u

/* --- POST --- */

static enum wf_status read_ids(const struct wf_json *item,
                               const char **shard,
                               const char **token,
                               const char **task,
                               const char **digest,
                               struct wf_error *err)
{
    static const char *const keys[] = { "shard",  "token",  "task",
                                        "digest", "result", NULL };
    int64_t id = 0;
    enum wf_status s = wf_json_only_keys(item, keys, err);
    s = s == WF_OK ? wf_json_get_string(item, "shard", shard, err) : s;
    s = s == WF_OK ? wf_parse_id(*shard, "shard", &id, err) : s;
    s = s == WF_OK ? wf_json_get_string(item, "task", task, err) : s;
    s = s == WF_OK ? wf_parse_id(*task, "task", &id, err) : s;
    s = s == WF_OK ? wf_json_get_string(item, "token", token, err) : s;
    if (s == WF_OK &&
        (strlen(*token) != 32 || strspn(*token, "0123456789abcdef") != 32)) {
        s = wf_errorf(err, WF_EINVAL, "token must be 32 hex digits");
    }
    s = s == WF_OK ? wf_json_get_string(item, "digest", digest, err) : s;
    if (s == WF_OK && !wf_sha256_is_hex(*digest)) {
        s = wf_errorf(err, WF_EINVAL, "digest must be a SHA-256 (64 hex digits)");
    }
    return s;
}

/* The stage's columns from `digest` on. */
static enum wf_status result_line(const struct wf_json *result,
                                  const char *digest,
                                  struct wf_buf *line,
                                  struct wf_error *err)
{
    struct wf_result_row row;
    char bytes[WF_SHA256_HEX + 2];
    enum wf_status s = wf_result_row_read(result, NULL, NULL, &row, err);
    if (s == WF_OK && strcmp(row.digest, digest) != 0) {
        s = wf_errorf(err, WF_EINVAL, "the canonical result has digest %s, not %s",
                      row.digest, digest);
    }
    snprintf(bytes, sizeof bytes, "\\x%s", digest);
    s = s == WF_OK ? wf_copy_text(line, bytes, err) : s;
    s = s == WF_OK ? wf_copy_text(line, row.case_id, err) : s;
    s = s == WF_OK ? wf_copy_text(line, row.kernel, err) : s;
    s = s == WF_OK ? wf_result_row_copy(&row, line, err) : s;
    s = s == WF_OK ? wf_result_row_copy_samples(&row, line, err) : s;
    wf_result_row_free(&row);
    return s;
}

/* The line of the stage for one result, or for one line of a gate's record. */
static enum wf_status make_line(const struct wf_json *result,
                                const char *shard,
                                const char *token,
                                const char *task,
                                const char *digest,
                                struct wf_buf *line,
                                struct wf_error *err)
{
    enum wf_status s = wf_copy_text(line, shard, err);
    s = s == WF_OK ? wf_copy_text(line, token, err) : s;
    s = s == WF_OK ? wf_copy_text(line, task, err) : s;
    if (s != WF_OK) {
        return s;
    }
    return wf_gate_line_is(result) ? wf_gate_line_columns(result, digest, line, err)
                                   : result_line(result, digest, line, err);
}

/* The envelope must be well-formed, or the whole request is refused; a result that is
 * not is this row's `invalid`. */
static enum wf_status read_item(const struct wf_json *item,
                                struct wf_ingest_row *row,
                                struct wf_error *err)
{
    const char *shard = NULL, *token = NULL, *task = NULL, *digest = NULL;
    const struct wf_json *result = NULL;
    struct wf_error bad = { 0 };
    if (wf_json_type(item) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "an item must be an object");
    }
    enum wf_status s = read_ids(item, &shard, &token, &task, &digest, err);
    s = s == WF_OK ? wf_json_get_object(item, "result", &result, err) : s;
    if (s != WF_OK) {
        return s;
    }
    snprintf(row->shard, sizeof row->shard, "%s", shard);
    snprintf(row->task, sizeof row->task, "%s", task);
    row->gate = wf_gate_line_is(result);
    s = make_line(result, shard, token, task, digest, &row->line, &bad);
    if (s == WF_ENOMEM) {
        return wf_errorf(err, s, "%s", bad.text);
    }
    if (s != WF_OK) {
        wf_buf_free(&row->line);
        row->status = WF_RESULT_INVALID;
        snprintf(row->detail, sizeof row->detail, "%.250s", bad.text);
    }
    return WF_OK;
}

static enum wf_status make_job(struct wf_request *req,
                               const struct wf_json *list,
                               struct wf_ingest_job **ret,
                               struct wf_error *err)
{
    size_t n = wf_json_count(list);
    if (n > MAX_RESULTS) {
        return wf_errorf(err, WF_EINVAL,
                         "results has more than %u items: send fewer at once",
                         MAX_RESULTS);
    }
    struct wf_ingest_job *job = wf_ingest_job_create(req, n);
    if (!job) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu results", n);
    }
    size_t i = 0;
    for (const struct wf_json *v = wf_json_first(list); v; v = wf_json_next(v), i++) {
        if (read_item(v, &job->row[i], err) != WF_OK) {
            wf_ingest_job_free(job);
            return wf_error_prefix(err, "results[%zu]", i);
        }
    }
    *ret = job;
    return WF_OK;
}

enum wf_status wf_route_results(struct wf_worker *w,
                                struct wf_request *req,
                                struct wf_error *err)
{
    static const char *const keys[] = { "session", "results", NULL };
    struct wf_json *body = NULL;
    const struct wf_json *list = NULL;
    struct wf_ingest_job *job = NULL;
    int64_t session = 0;
    enum wf_status s = wf_request_json(req, NULL, keys, &body, err);
    s = s == WF_OK ? wf_json_get_id(body, "session", &session, err) : s;
    s = s == WF_OK ? wf_json_get_array(body, "results", &list, err) : s;
    s = s == WF_OK ? make_job(req, list, &job, err) : s;
    wf_json_free(body);
    wf_buf_free(&req->body);
    if (s == WF_OK) {
        /* From here on the request belongs to the writer. */
        w->deferred = true;
        wf_ingest_submit(w->app->ingest, job);
    }
    return s;
}

/* --- GET --- */

enum wf_status wf_route_run_results(struct wf_worker *w,
                                    struct wf_request *req,
                                    struct wf_error *err)
{
    struct wf_results_page page = { .limit = 500 };
    int64_t samples = 0;
    enum wf_status s = wf_parse_id(req->param, "run", &page.run, err);
    s = s == WF_OK ? wf_request_query_i64(req, "after", 0, INT64_MAX, &page.after, err)
                   : s;
    s = s == WF_OK ? wf_request_query_i64(req, "limit", 1, 1000, &page.limit, err) : s;
    s = s == WF_OK ? wf_request_query_i64(req, "samples", 0, 1, &samples, err) : s;
    page.samples = samples == 1;
    s = s == WF_OK ? wf_store_results_page(w->db, &page, &req->reply, err) : s;
    req->status = 200;
    req->content_type = "application/json";
    return s;
}

enum wf_status wf_route_task_get(struct wf_worker *w,
                                 struct wf_request *req,
                                 struct wf_error *err)
{
    int64_t task = 0;
    struct wf_json *o = NULL;
    enum wf_status s = wf_parse_id(req->param, "task", &task, err);
    s = s == WF_OK ? wf_store_task(w->db, task, &o, err) : s;
    return s == WF_OK ? wf_reply_json(req, 200, o, err) : s;
}
