/* A request on a worker: token, role, handler; and what handlers read requests with. */
#include "coordinator/api.h"

#include "coordinator/auth.h"
#include "coordinator/workers.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool wf_api_allowed(struct wf_request *req)
{
    if (req->route->who & req->role) {
        req->authorised = true;
        return true;
    }
    wf_problem(req, 403, "wrong-role", "%s %s is not for a %s token",
               req->route->method, req->route->path, wf_role_name(req->role));
    return false;
}

static bool authorise(struct wf_worker *w, struct wf_request *req)
{
    struct wf_error err = { 0 };
    if (req->authorised || req->route->who == 0) {
        return true;
    }
    enum wf_status status = wf_auth_lookup(w->app->auth, w->db, req->token,
                                           &req->token_id, &req->role, &err);
    if (status == WF_ENOTFOUND) {
        wf_problem(req, 401, "unknown-token", "%s", err.text);
        return false;
    }
    if (status != WF_OK) {
        wf_problem_from_error(req, &err);
        return false;
    }
    return wf_api_allowed(req);
}

/* Only what an operator should see: the clients' own mistakes are not, and a database
 * that is away is said once by the threads that look after it. */
static void log_failure(const struct wf_request *req, const struct wf_error *err)
{
    if (req->status >= 500) {
        bool away = err->status == WF_ENETWORK;
        wf_log(away ? WF_LOG_DEBUG : WF_LOG_WARN, "%s failed: %s status=%d",
               req->route->name, err->text, req->status);
    }
}

void wf_api_step(struct wf_worker *w, struct wf_request *req)
{
    struct wf_error err = { 0 };
    req->outcome = WF_OUTCOME_REPLY;
    if (!w->db) {
        wf_problem(req, 503, "no-memory", "no memory for a database connection");
        return;
    }
    if (!authorise(w, req) || req->ask_only) {
        return;
    }
    enum wf_status status = req->route->handler(w, req, &err);
    if (status != WF_OK) {
        wf_problem_from_error(req, &err);
        log_failure(req, &err);
    }
}

bool wf_request_park(struct wf_request *req,
                     enum wf_event event,
                     int64_t id,
                     int64_t wait_ms)
{
    int64_t now = wf_monotonic_ns();
    if (req->wait_until_ns == 0) {
        req->wait_until_ns = now + wait_ms * 1000000;
    }
    if (now >= req->wait_until_ns) {
        return false;
    }
    req->wait_event = event;
    req->wait_id = id;
    req->outcome = WF_OUTCOME_PARK;
    return true;
}

/* --- reading requests --- */

enum wf_status wf_request_json(struct wf_request *req,
                               const char *schema,
                               const char *const *keys,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *json = NULL;
    const char *found = NULL;
    const char *text = wf_buf_cstr(&req->body);
    size_t len = req->body.len;
    if (len == 0 && !schema) {
        text = "{}";
        len = 2;
    }
    enum wf_status status = wf_json_parse(text, len, "request body", &json, err);
    if (status == WF_OK && wf_json_type(json) != WF_JSON_OBJECT) {
        status = wf_errorf(err, WF_EINVAL, "request body: expected an object, found %s",
                           wf_json_type_name(wf_json_type(json)));
    }
    if (status == WF_OK && schema) {
        status = wf_json_get_string(json, "schema", &found, err);
    }
    if (status == WF_OK && schema && strcmp(found, schema) != 0) {
        status = wf_errorf(err, WF_EINVAL, "schema is '%.60s', this route takes '%s'",
                           found, schema);
    }
    if (status == WF_OK && keys) {
        status = wf_json_only_keys(json, keys, err);
    }
    if (status != WF_OK) {
        wf_json_free(json);
        return status;
    }
    *ret = json;
    return WF_OK;
}

const char *wf_request_query(const struct wf_request *req, const char *name)
{
    for (size_t i = 0; i < req->query_count; i++) {
        if (strcmp(req->query[i].name, name) == 0) {
            return req->query[i].value;
        }
    }
    return NULL;
}

enum wf_status wf_request_query_i64(const struct wf_request *req,
                                    const char *name,
                                    int64_t min,
                                    int64_t max,
                                    int64_t *ret,
                                    struct wf_error *err)
{
    const char *text = wf_request_query(req, name);
    if (!text) {
        return WF_OK;
    }
    /* Text that is no number is as unacceptable as a number out of range: 422. */
    if (wf_parse_i64(text, name, min, max, ret, err) != WF_OK) {
        return wf_errorf(
            err, WF_EINVAL,
            "query parameter '%s' = '%s' is not an integer from %lld to %lld", name,
            text, (long long)min, (long long)max);
    }
    return WF_OK;
}

enum wf_status wf_parse_id(const char *text,
                           const char *what,
                           int64_t *ret,
                           struct wf_error *err)
{
    if (wf_parse_i64(text, what, 1, INT64_MAX, ret, NULL) != WF_OK) {
        return wf_errorf(err, WF_EINVAL, "%s '%.40s' is not a decimal id", what, text);
    }
    return WF_OK;
}

enum wf_status wf_json_get_id(const struct wf_json *obj,
                              const char *key,
                              int64_t *ret,
                              struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status status = wf_json_get_string(obj, key, &text, err);
    return status == WF_OK ? wf_parse_id(text, key, ret, err) : status;
}

bool wf_is_uuid(const char *text)
{
    if (strlen(text) != 36) {
        return false;
    }
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !strchr("0123456789abcdefABCDEF", text[i])) {
            return false;
        }
    }
    return true;
}

enum wf_status wf_json_get_uuid(const struct wf_json *obj,
                                const char *key,
                                const char **ret,
                                struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status status = wf_json_get_string(obj, key, &text, err);
    if (status == WF_OK && !wf_is_uuid(text)) {
        return wf_errorf(
            err, WF_EINVAL,
            "%s must be a UUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx), not "
            "'%.60s'",
            key, text);
    }
    if (status == WF_OK) {
        *ret = text;
    }
    return status;
}
