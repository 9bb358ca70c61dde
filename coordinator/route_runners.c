/* Runner sessions: register, heartbeat, end, list; and giving a shard back. */
#include "coordinator/handlers.h"

#include "coordinator/metrics.h"
#include "coordinator/run_request.h"
#include "coordinator/store_shards.h"
#include "coordinator/workers.h"
#include "core/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 64u
#define MAX_TEXT    200u

struct registration {
    int64_t token_id, ttl_ms;
    const char *name, *version;
    struct wf_buf labels;
    const struct wf_json *devices;
    int64_t *ret_session;
};

static enum wf_status short_text(const struct wf_json *o,
                                 const char *key,
                                 const char **ret,
                                 struct wf_error *err)
{
    enum wf_status s = wf_json_get_string(o, key, ret, err);
    if (s == WF_OK && strlen(*ret) > MAX_TEXT) {
        s = wf_errorf(err, WF_EINVAL, "%s has more than %u characters", key, MAX_TEXT);
    }
    return s;
}

static enum wf_status read_labels(const struct wf_json *root,
                                  struct wf_buf *ret,
                                  struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status s = WF_OK;
    if (wf_json_find(root, "labels")) {
        s = wf_json_get_array(root, "labels", &list, err);
    }
    for (const struct wf_json *v = s == WF_OK && list ? wf_json_first(list) : NULL;
         s == WF_OK && v; v = wf_json_next(v)) {
        const char *text = wf_json_string(v);
        if (!text || !*text || strlen(text) > MAX_TEXT) {
            return wf_errorf(err, WF_EINVAL,
                             "labels must be an array of short strings");
        }
        s = wf_pg_array_add(ret, text, err);
    }
    return s == WF_OK ? wf_pg_array_end(ret, err) : s;
}

static enum wf_status add_device(struct wf_db *db,
                                 const char *session,
                                 const struct wf_json *d,
                                 struct wf_error *err)
{
    const char *id = NULL, *runtime = NULL, *arch = NULL, *model = "", *name = "";
    char base[64];
    char memory_text[24];
    uint64_t memory = 0;
    struct wf_buf facts = WF_BUF_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    enum wf_status s = short_text(d, "id", &id, err);
    s = s == WF_OK ? short_text(d, "runtime", &runtime, err) : s;
    s = s == WF_OK ? short_text(d, "arch", &arch, err) : s;
    s = s == WF_OK ? short_text(d, "model", &model, err) : s;
    s = s == WF_OK ? short_text(d, "name", &name, err) : s;
    s = s == WF_OK ? wf_json_get_u64(d, "memory_bytes", 0, INT64_MAX, &memory, err) : s;
    if (s == WF_OK && (!*id || !wf_arch_base(arch, base, sizeof base))) {
        s = wf_errorf(err, WF_EINVAL, "id is empty or arch is too long");
    }
    s = s == WF_OK ? wf_json_write(d, &facts, err) : s;
    if (s == WF_OK) {
        snprintf(memory_text, sizeof memory_text, "%" PRIu64, memory);
        wf_param_text(&p, session);
        wf_param_text(&p, id);
        wf_param_text(&p, runtime);
        wf_param_text(&p, base);
        wf_param_text(&p, model);
        wf_param_text(&p, name);
        wf_param_text(&p, memory_text);
        wf_param_text(&p, wf_buf_cstr(&facts));
        s = wf_db_run(db, WF_STMT_DEVICE_ADD, &p, NULL, err);
    }
    wf_buf_free(&facts);
    return s;
}

static enum wf_status store_session(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct registration *r = ctx;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    char session[24] = "";
    size_t i = 0;
    wf_param_i64(&p, r->token_id);
    wf_param_text(&p, r->name);
    wf_param_text(&p, r->version);
    wf_param_text(&p, wf_buf_cstr(&r->labels));
    wf_param_i64(&p, r->ttl_ms);
    enum wf_status s = wf_db_one(db, WF_STMT_SESSION_ADD, &p, "no session", &rows, err);
    if (s == WF_OK) {
        *r->ret_session = wf_rows_i64(rows, 0, 0);
        snprintf(session, sizeof session, "%" PRId64, *r->ret_session);
    }
    for (const struct wf_json *d = s == WF_OK ? wf_json_first(r->devices) : NULL;
         s == WF_OK && d; d = wf_json_next(d), i++) {
        s = wf_json_type(d) == WF_JSON_OBJECT
                ? add_device(db, session, d, err)
                : wf_errorf(err, WF_EINVAL, "a device must be an object");
        if (s == WF_EDB && wf_db_error_class(err) == WF_DB_BAD_DATA) {
            s = wf_errorf(err, WF_EINVAL,
                          "two devices have one id, or an id is no text");
        }
        s = s == WF_OK ? s : wf_error_prefix(err, "devices[%zu]", i);
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status reply_session(struct wf_worker *w,
                                    struct wf_request *req,
                                    int64_t session,
                                    struct wf_error *err)
{
    char id[24];
    struct wf_json *o = wf_json_object();
    snprintf(id, sizeof id, "%" PRId64, session);
    enum wf_status s = wf_json_set_string(o, "session", id, err);
    s = s == WF_OK
            ? wf_json_set_i64(o, "ttl_ms",
                              wf_config_number(w->app->config, WF_SETTING_session_ttl),
                              err)
            : s;
    s = s == WF_OK
            ? wf_json_set_i64(o, "heartbeat_ms",
                              wf_config_number(w->app->config, WF_SETTING_heartbeat),
                              err)
            : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 201, o, err);
}

enum wf_status wf_route_runner_create(struct wf_worker *w,
                                      struct wf_request *req,
                                      struct wf_error *err)
{
    static const char *const keys[] = { "schema", "name",    "version",
                                        "labels", "devices", NULL };
    struct wf_json *body = NULL;
    int64_t session = 0;
    struct registration r = { .token_id = req->token_id, .ret_session = &session };
    r.ttl_ms = wf_config_number(w->app->config, WF_SETTING_session_ttl);
    enum wf_status s = wf_request_json(req, "wavefarm.runner/1", keys, &body, err);
    s = s == WF_OK ? short_text(body, "name", &r.name, err) : s;
    s = s == WF_OK ? short_text(body, "version", &r.version, err) : s;
    s = s == WF_OK ? read_labels(body, &r.labels, err) : s;
    s = s == WF_OK ? wf_json_get_array(body, "devices", &r.devices, err) : s;
    if (s == WF_OK &&
        (wf_json_count(r.devices) == 0 || wf_json_count(r.devices) > MAX_DEVICES)) {
        s = wf_errorf(err, WF_EINVAL, "devices must have 1 to %u items, not %zu",
                      MAX_DEVICES, wf_json_count(r.devices));
    }
    s = s == WF_OK ? wf_db_transact(w->db, store_session, &r, err) : s;
    if (s == WF_OK) {
        wf_log(WF_LOG_INFO, "session %" PRId64 " registered runner=%.100s devices=%zu",
               session, r.name, wf_json_count(r.devices));
    }
    wf_buf_free(&r.labels);
    wf_json_free(body);
    return s == WF_OK ? reply_session(w, req, session, err) : s;
}

static void session_gone(struct wf_request *req, int64_t session)
{
    wf_problem(req, 410, "session-gone",
               "session %" PRId64
               " is not alive (or not of this token): kill what runs and "
               "register anew",
               session);
}

static enum wf_status empty_body(struct wf_request *req, struct wf_error *err)
{
    static const char *const keys[] = { NULL };
    struct wf_json *body = NULL;
    enum wf_status s = wf_request_json(req, NULL, keys, &body, err);
    wf_json_free(body);
    return s;
}

/* "55,56" -> ["55","56"] */
static enum wf_status id_array(const char *text,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status s = list ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    while (s == WF_OK && *text) {
        char id[24];
        size_t n = strcspn(text, ",");
        snprintf(id, sizeof id, "%.*s", (int)n, text);
        s = wf_json_push_string(list, id, err);
        text += n + (text[n] == ',');
    }
    if (s != WF_OK) {
        wf_json_free(list);
        return s;
    }
    *ret = list;
    return WF_OK;
}

enum wf_status wf_route_runner_beat(struct wf_worker *w,
                                    struct wf_request *req,
                                    struct wf_error *err)
{
    int64_t session = 0;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *stop = NULL;
    struct wf_json *o = NULL;
    enum wf_status s = wf_parse_id(req->param, "session", &session, err);
    s = s == WF_OK ? empty_body(req, err) : s;
    wf_param_i64(&p, session);
    wf_param_i64(&p, req->token_id);
    s = s == WF_OK ? wf_db_run(w->db, WF_STMT_HEARTBEAT, &p, &rows, err) : s;
    if (s == WF_OK && wf_rows_count(rows) == 0) {
        session_gone(req, session);
        wf_rows_free(rows);
        return WF_OK;
    }
    s = s == WF_OK ? id_array(wf_rows_text(rows, 0, 1), &stop, err) : s;
    if (s == WF_OK) {
        o = wf_json_object();
        s = wf_json_set_i64(o, "ttl_ms", wf_rows_i64(rows, 0, 2), err);
        s = s == WF_OK ? wf_json_set_bool(o, "drain", wf_rows_bool(rows, 0, 0), err)
                       : s;
        enum wf_status taken = wf_json_set_take(o, "must_stop", stop, err);
        s = s == WF_OK ? taken : s;
    }
    wf_rows_free(rows);
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}

static void count_returned(struct wf_worker *w, const struct wf_returned *back)
{
    wf_metrics_add(w->app->metrics, WF_COUNTER_RETURNED, (uint64_t)back->shards);
    wf_metrics_add(w->app->metrics, WF_COUNTER_TASKS_LOST, (uint64_t)back->lost_tasks);
    if (back->ready > 0) {
        wf_workers_wake(w->app->workers, WF_EVENT_TASKS, 0);
    }
}

static enum wf_status reply_count(struct wf_request *req,
                                  const char *key,
                                  int64_t n,
                                  struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_i64(o, key, n, err);
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}

enum wf_status wf_route_runner_end(struct wf_worker *w,
                                   struct wf_request *req,
                                   struct wf_error *err)
{
    int64_t session = 0;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_returned back = { 0 };
    int64_t retry_ms = wf_config_number(w->app->config, WF_SETTING_retry_delay);
    enum wf_status s = wf_parse_id(req->param, "session", &session, err);
    s = s == WF_OK ? empty_body(req, err) : s;
    wf_param_i64(&p, session);
    wf_param_i64(&p, req->token_id);
    s = s == WF_OK ? wf_db_run(w->db, WF_STMT_SESSION_END, &p, &rows, err) : s;
    bool gone = s == WF_OK && wf_rows_count(rows) == 0;
    wf_rows_free(rows);
    if (gone) {
        session_gone(req, session);
        return WF_OK;
    }
    s = s == WF_OK ? wf_store_return_orphans(w->db, session, retry_ms, &back, err) : s;
    if (s != WF_OK) {
        return s;
    }
    wf_log(WF_LOG_INFO, "session %" PRId64 " ended shards_back=%" PRId64, session,
           back.shards);
    count_returned(w, &back);
    return reply_count(req, "returned", back.shards, err);
}

/* Devices with what the coordinator knows of them: what a runner sent as "quarantine"
 * is none. `known` has an item a device, null where it is in none. */
static enum wf_status devices_json(const struct wf_json *facts,
                                   const struct wf_json *known,
                                   struct wf_json *list,
                                   struct wf_error *err)
{
    enum wf_status s = WF_OK;
    const struct wf_json *q = wf_json_first(known);
    for (const struct wf_json *d = wf_json_first(facts); s == WF_OK && d;
         d = wf_json_next(d), q = q ? wf_json_next(q) : NULL) {
        struct wf_json *copy = NULL;
        s = wf_json_copy(d, &copy, err);
        if (s != WF_OK) {
            break;
        }
        wf_json_remove(copy, "quarantine");
        if (q && wf_json_type(q) == WF_JSON_OBJECT) {
            s = wf_json_set_copy(copy, "quarantine", q, err);
        }
        enum wf_status pushed = wf_json_push_take(list, copy, err);
        s = s == WF_OK ? pushed : s;
    }
    return s;
}

static enum wf_status set_devices(const struct wf_rows *rows,
                                  size_t i,
                                  struct wf_json *o,
                                  struct wf_error *err)
{
    struct wf_json *facts = NULL, *known = NULL;
    struct wf_json *list = wf_json_array();
    const char *text = wf_rows_text(rows, i, 9), *also = wf_rows_text(rows, i, 10);
    enum wf_status s = wf_json_parse(text, strlen(text), "devices", &facts, err);
    s = s == WF_OK ? wf_json_parse(also, strlen(also), "quarantines", &known, err) : s;
    s = s == WF_OK ? devices_json(facts, known, list, err) : s;
    wf_json_free(facts);
    wf_json_free(known);
    enum wf_status taken = wf_json_set_take(o, "devices", list, err);
    return s == WF_OK ? taken : s;
}

static enum wf_status session_json(const struct wf_rows *rows,
                                   size_t i,
                                   struct wf_json *list,
                                   struct wf_error *err)
{
    struct wf_json *labels = NULL;
    const char *text = wf_rows_text(rows, i, 3);
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "session", wf_rows_text(rows, i, 0), err);
    s = s == WF_OK ? wf_json_set_string(o, "name", wf_rows_text(rows, i, 1), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "version", wf_rows_text(rows, i, 2), err)
                   : s;
    s = s == WF_OK ? wf_json_set_string(o, "state", wf_rows_text(rows, i, 4), err) : s;
    s = s == WF_OK ? wf_json_set_bool(o, "drain", wf_rows_bool(rows, i, 5), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "silent_ms", wf_rows_i64(rows, i, 6), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "age_ms", wf_rows_i64(rows, i, 7), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "leases", wf_rows_i64(rows, i, 8), err) : s;
    s = s == WF_OK ? wf_json_parse(text, strlen(text), "labels", &labels, err) : s;
    s = s == WF_OK ? wf_json_set_take(o, "labels", labels, err) : s;
    s = s == WF_OK ? set_devices(rows, i, o, err) : s;
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s == WF_OK ? pushed : s;
}

enum wf_status wf_route_runner_list(struct wf_worker *w,
                                    struct wf_request *req,
                                    struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    struct wf_json *o = wf_json_object();
    struct wf_json *list = wf_json_array();
    enum wf_status s = wf_db_run(w->db, WF_STMT_SESSIONS, NULL, &rows, err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        s = session_json(rows, i, list, err);
    }
    wf_rows_free(rows);
    enum wf_status taken = wf_json_set_take(o, "runners", list, err);
    s = s == WF_OK ? taken : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}

/* A runner that stops is not at fault, and neither is the shard. */
static enum wf_return_cause cause_of(const char *reason)
{
    static const char *const harmless[] = { "drain", "draining", "stopped",
                                            "stopping" };
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        if (strcmp(reason, harmless[i]) == 0) {
            return WF_RETURN_DRAIN;
        }
    }
    return WF_RETURN_ERROR;
}

static enum wf_status token_text(const struct wf_json *o,
                                 const char **ret,
                                 struct wf_error *err)
{
    enum wf_status s = wf_json_get_string(o, "token", ret, err);
    if (s == WF_OK && (strlen(*ret) != 32 || strspn(*ret, "0123456789abcdef") != 32)) {
        s = wf_errorf(err, WF_EINVAL, "token must be 32 hex digits");
    }
    return s;
}

enum wf_status wf_route_shard_release(struct wf_worker *w,
                                      struct wf_request *req,
                                      struct wf_error *err)
{
    static const char *const keys[] = { "session", "token", "reason", NULL };
    struct wf_json *body = NULL;
    struct wf_returned back = { 0 };
    struct wf_release r = { 0 };
    r.retry_ms = wf_config_number(w->app->config, WF_SETTING_retry_delay);
    enum wf_status s = wf_parse_id(req->param, "shard", &r.shard, err);
    s = s == WF_OK ? wf_request_json(req, NULL, keys, &body, err) : s;
    s = s == WF_OK ? wf_json_get_id(body, "session", &r.session, err) : s;
    s = s == WF_OK ? token_text(body, &r.token, err) : s;
    s = s == WF_OK ? wf_json_get_string(body, "reason", &r.reason, err) : s;
    if (s == WF_OK) {
        r.cause = cause_of(r.reason);
        s = wf_store_release(w->db, &r, &back, err);
    }
    if (s == WF_OK && r.cause == WF_RETURN_ERROR) {
        wf_log(WF_LOG_WARN, "shard %" PRId64 " given back session=%" PRId64 ": %.200s",
               r.shard, r.session, r.reason);
    }
    wf_json_free(body);
    if (s == WF_ECONFLICT) {
        wf_problem(req, 409, "stale-token", "%s", err->text);
        return WF_OK;
    }
    if (s != WF_OK) {
        return s;
    }
    count_returned(w, &back);
    return reply_count(req, "lost", back.lost_tasks, err);
}
