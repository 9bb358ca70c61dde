/* POST /v1/lease: shards for one device. */
#include "coordinator/handlers.h"

#include "coordinator/gate_lease.h"
#include "coordinator/metrics.h"
#include "coordinator/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WANT    16
#define MAX_WAIT_MS 60000

enum found {
    FOUND_OK,
    FOUND_NO_SESSION,
    FOUND_NO_DEVICE
};

struct lease_job {
    int64_t session, token_id, want, rest_ms;
    const char *claim_id, *device;
    enum found found;
    struct wf_buf ids; /* array literal of leased shards; empty: none */
    bool fresh;        /* leased now, not by an earlier request of this claim */
    struct wf_json *shards;
};

/* --- giving out --- */

/* 128 random bits a shard, made here: the database's own sequence could be repeated
 * after a crash. */
static enum wf_status make_tokens(int64_t n, struct wf_buf *ret, struct wf_error *err)
{
    enum wf_status s = WF_OK;
    for (int64_t i = 0; s == WF_OK && i < n; i++) {
        uint8_t random[16];
        char hex[33];
        s = wf_random_bytes(random, sizeof random, err);
        if (s == WF_OK) {
            wf_hex(random, sizeof random, hex);
            s = wf_pg_array_add(ret, hex, err);
        }
    }
    return s == WF_OK ? wf_pg_array_end(ret, err) : s;
}

static enum wf_status take_ids(struct lease_job *j,
                               const struct wf_rows *rows,
                               struct wf_error *err)
{
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        s = wf_pg_array_add(&j->ids, wf_rows_text(rows, i, 0), err);
    }
    return s == WF_OK && j->ids.len > 0 ? wf_pg_array_end(&j->ids, err) : s;
}

/* The same claim again gets the same shards, while they are leased. */
static enum wf_status find_claim(struct wf_db *db,
                                 struct lease_job *j,
                                 struct wf_error *err)
{
    struct wf_params lock = WF_PARAMS_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&lock, j->claim_id);
    wf_param_i64(&p, j->session);
    wf_param_text(&p, j->claim_id);
    enum wf_status s = wf_db_run(db, WF_STMT_CLAIM_LOCK, &lock, NULL, err);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_CLAIM_FIND, &p, &rows, err) : s;
    s = s == WF_OK ? take_ids(j, rows, err) : s;
    wf_rows_free(rows);
    return s;
}

static enum wf_status lease_for(struct wf_db *db,
                                struct lease_job *j,
                                const struct wf_rows *device,
                                const struct wf_rows *session,
                                struct wf_error *err)
{
    struct wf_buf tokens = WF_BUF_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status s = make_tokens(j->want, &tokens, err);
    wf_param_i64(&p, j->session);
    wf_param_text(&p, j->device);
    wf_param_text(&p, j->claim_id);
    wf_param_i64(&p, j->want);
    wf_param_text(&p, wf_buf_cstr(&tokens));
    wf_param_text(&p, wf_rows_text(device, 0, 0));
    wf_param_text(&p, wf_rows_text(device, 0, 1));
    wf_param_text(&p, wf_rows_text(device, 0, 2));
    wf_param_text(&p, wf_rows_text(session, 0, 1));
    wf_param_text(&p, wf_rows_text(device, 0, 3));
    wf_param_i64(&p, j->rest_ms);
    wf_param_text(&p, wf_rows_text(session, 0, 2));
    s = s == WF_OK ? wf_db_run(db, WF_STMT_LEASE, &p, &rows, err) : s;
    s = s == WF_OK ? take_ids(j, rows, err) : s;
    j->fresh = s == WF_OK && j->ids.len > 0;
    wf_rows_free(rows);
    wf_buf_free(&tokens);
    return s;
}

static enum wf_status find_device(struct wf_db *db,
                                  struct lease_job *j,
                                  struct wf_rows **ret,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, j->session);
    wf_param_text(&p, j->device);
    enum wf_status s = wf_db_run(db, WF_STMT_LEASE_DEVICE, &p, &rows, err);
    if (s == WF_OK && wf_rows_count(rows) == 0) {
        j->found = FOUND_NO_DEVICE;
    }
    *ret = rows;
    return s;
}

/* --- what is handed out --- */

/* Row i of LEASE_TASKS. */
static enum wf_status task_json(const struct wf_rows *rows,
                                size_t i,
                                struct wf_json *list,
                                struct wf_error *err)
{
    static const struct {
        const char *key;
        int column;
    } texts[] = { { "task", 4 }, { "run", 5 },      { "suite", 6 },  { "case_name", 7 },
                  { "pack", 9 }, { "archive", 10 }, { "kernel", 11 } };
    struct wf_json *o = wf_json_object();
    enum wf_status s = WF_OK;
    for (size_t t = 0; s == WF_OK && t < sizeof texts / sizeof texts[0]; t++) {
        s = wf_json_set_string(o, texts[t].key, wf_rows_text(rows, i, texts[t].column),
                               err);
    }
    s = s == WF_OK ? wf_json_set_parsed(o, "case", wf_rows_text(rows, i, 8), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "repetition", wf_rows_i64(rows, i, 12), err)
                   : s;
    s = s == WF_OK ? wf_json_set_i64(o, "attempt", wf_rows_i64(rows, i, 3), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "seed_offset", wf_rows_i64(rows, i, 13), err)
                   : s;
    s = s == WF_OK ? wf_json_set_i64(o, "deadline_ms", wf_rows_i64(rows, i, 14), err)
                   : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "measure", wf_rows_text(rows, i, 15), err)
                   : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "provenance", wf_rows_text(rows, i, 16), err)
                   : s;
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s == WF_OK ? pushed : s;
}

/* Rows [at, end) are of one shard. */
static enum wf_status shard_json(const struct wf_rows *rows,
                                 size_t at,
                                 size_t end,
                                 int64_t ttl_ms,
                                 struct wf_json *list,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    struct wf_json *tasks = wf_json_array();
    enum wf_status s = wf_json_set_string(o, "shard", wf_rows_text(rows, at, 0), err);
    s = s == WF_OK ? wf_json_set_string(o, "token", wf_rows_text(rows, at, 1), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "ttl_ms", ttl_ms, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "estimate_ms", wf_rows_i64(rows, at, 2), err)
                   : s;
    for (size_t i = at; s == WF_OK && i < end; i++) {
        s = task_json(rows, i, tasks, err);
    }
    enum wf_status taken = wf_json_set_take(o, "tasks", tasks, err);
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s != WF_OK ? s : taken != WF_OK ? taken : pushed;
}

static enum wf_status shards_json(struct wf_db *db,
                                  struct lease_job *j,
                                  int64_t ttl_ms,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, wf_buf_cstr(&j->ids));
    j->shards = wf_json_array();
    enum wf_status s = j->shards ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    if (s == WF_OK && j->ids.len > 0) {
        s = wf_db_run(db, WF_STMT_LEASE_TASKS, &p, &rows, err);
    }
    for (size_t at = 0; s == WF_OK && at < wf_rows_count(rows);) {
        size_t end = at + 1;
        while (end < wf_rows_count(rows) &&
               strcmp(wf_rows_text(rows, at, 0), wf_rows_text(rows, end, 0)) == 0) {
            end++;
        }
        s = shard_json(rows, at, end, ttl_ms, j->shards, err);
        at = end;
    }
    wf_rows_free(rows);
    return s == WF_OK && j->ids.len > 0
               ? wf_gate_lease_json(db, wf_buf_cstr(&j->ids), ttl_ms, j->shards, err)
               : s;
}

/* --- the transaction --- */

static enum wf_status give(struct wf_db *db,
                           struct lease_job *j,
                           const struct wf_rows *session,
                           struct wf_error *err)
{
    struct wf_rows *device = NULL;
    struct wf_params log = WF_PARAMS_INIT;
    enum wf_status s = find_device(db, j, &device, err);
    s = s == WF_OK && j->found == FOUND_OK ? find_claim(db, j, err) : s;
    if (s == WF_OK && j->found == FOUND_OK && j->ids.len == 0) {
        s = lease_for(db, j, device, session, err);
    }
    if (s == WF_OK && j->fresh) {
        wf_param_text(&log, wf_buf_cstr(&j->ids));
        s = wf_db_run(db, WF_STMT_LEASE_LOGGED, &log, NULL, err);
    }
    wf_rows_free(device);
    return s;
}

static enum wf_status lease(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct lease_job *j = ctx;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *session = NULL;
    j->found = FOUND_OK;
    j->fresh = false;
    wf_buf_clear(&j->ids);
    wf_param_i64(&p, j->session);
    wf_param_i64(&p, j->token_id);
    enum wf_status s = wf_db_run(db, WF_STMT_LEASE_SESSION, &p, &session, err);
    if (s == WF_OK && wf_rows_count(session) == 0) {
        j->found = FOUND_NO_SESSION;
    } else if (s == WF_OK && !wf_rows_bool(session, 0, 0)) {
        s = give(db, j, session, err);
    }
    wf_rows_free(session);
    return s;
}

/* --- the request --- */

static enum wf_status read_body(const struct wf_json *body,
                                struct lease_job *j,
                                int64_t *wait_ms,
                                struct wf_error *err)
{
    j->want = 1;
    enum wf_status s = wf_json_get_id(body, "session", &j->session, err);
    s = s == WF_OK ? wf_json_get_uuid(body, "claim_id", &j->claim_id, err) : s;
    s = s == WF_OK ? wf_json_get_string(body, "device", &j->device, err) : s;
    s = s == WF_OK ? wf_json_opt_i64(body, "want", 1, MAX_WANT, &j->want, err) : s;
    return s == WF_OK ? wf_json_opt_i64(body, "wait_ms", 0, MAX_WAIT_MS, wait_ms, err)
                      : s;
}

static enum wf_status reply(struct wf_worker *w,
                            struct wf_request *req,
                            struct lease_job *j,
                            struct wf_error *err)
{
    if (j->found == FOUND_NO_SESSION) {
        wf_problem(req, 410, "session-gone",
                   "session %" PRId64
                   " is not alive (or not of this token): kill what runs "
                   "and register anew",
                   j->session);
        return WF_OK;
    }
    if (j->found == FOUND_NO_DEVICE) {
        return wf_errorf(err, WF_EINVAL, "session %" PRId64 " has no device '%.100s'",
                         j->session, j->device);
    }
    int64_t ttl_ms = wf_config_number(w->app->config, WF_SETTING_session_ttl);
    enum wf_status s = shards_json(w->db, j, ttl_ms, err);
    struct wf_json *o = s == WF_OK ? wf_json_object() : NULL;
    if (s == WF_OK) {
        if (j->fresh) {
            wf_metrics_add(w->app->metrics, WF_COUNTER_LEASES,
                           wf_json_count(j->shards));
        }
        s = wf_json_set_take(o, "shards", j->shards, err);
        j->shards = NULL;
    }
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, 200, o, err);
}

enum wf_status wf_route_lease(struct wf_worker *w,
                              struct wf_request *req,
                              struct wf_error *err)
{
    static const char *const keys[] = { "session", "claim_id", "device",
                                        "want",    "wait_ms",  NULL };
    struct wf_json *body = NULL;
    struct lease_job j = { .token_id = req->token_id };
    int64_t wait_ms = 0;
    j.rest_ms = wf_config_number(w->app->config, WF_SETTING_retry_delay);
    req->wait_seen = wf_workers_seen(w->app->workers, WF_EVENT_TASKS, 0);
    enum wf_status s = wf_request_json(req, NULL, keys, &body, err);
    s = s == WF_OK ? read_body(body, &j, &wait_ms, err) : s;
    s = s == WF_OK ? wf_db_transact(w->db, lease, &j, err) : s;
    bool nothing = s == WF_OK && j.found == FOUND_OK && j.ids.len == 0;
    if (!(nothing && wait_ms > 0 && !wf_workers_draining(w->app->workers) &&
          wf_request_park(req, WF_EVENT_TASKS, 0, wait_ms))) {
        s = s == WF_OK ? reply(w, req, &j, err) : s;
    }
    wf_json_free(j.shards);
    wf_buf_free(&j.ids);
    wf_json_free(body);
    return s;
}
