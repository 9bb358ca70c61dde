/* The steps of lease.def that take a shard out of a session's hands.
 *
 * Each is a transaction that holds the shard's row lock first: a result that is being
 * stored has that lock, so it is in before the shard goes, or it is stale. */
#include "coordinator/store_shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct one {
    int64_t id, open_tasks;
    int attempt_infra;
};

static enum wf_status close_tasks(struct wf_db *db,
                                  const char *shards,
                                  const char *state,
                                  const char *answer,
                                  const char *why,
                                  int64_t *ret_tasks,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, shards);
    wf_param_text(&p, state);
    wf_param_text(&p, answer);
    wf_param_text(&p, why);
    enum wf_status status = wf_db_run(db, WF_STMT_TASKS_CLOSE, &p, &rows, err);
    for (size_t i = 0; i < wf_rows_count(rows); i++) {
        *ret_tasks += wf_rows_i64(rows, i, 1);
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status log_end(struct wf_db *db,
                              int64_t shard,
                              const char *outcome,
                              const char *why,
                              struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    wf_param_i64(&p, shard);
    wf_param_text(&p, outcome);
    wf_param_text(&p, why);
    return wf_db_run(db, WF_STMT_LEASE_ENDED, &p, NULL, err);
}

static enum wf_status set_state(struct wf_db *db,
                                int64_t shard,
                                enum wf_shard_state state,
                                const struct wf_return_rule *rule,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    wf_param_i64(&p, shard);
    wf_param_text(&p, wf_shard_state_name(state));
    wf_param_i64(&p, rule->attempt_infra);
    wf_param_i64(&p, rule->delay_ms);
    return wf_db_run(db, WF_STMT_SHARD_RETURN, &p, NULL, err);
}

static enum wf_status divide(struct wf_db *db,
                             int64_t shard,
                             int64_t delay_ms,
                             struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_params q = WF_PARAMS_INIT;
    wf_param_i64(&p, shard);
    wf_param_i64(&p, delay_ms);
    wf_param_i64(&q, shard);
    enum wf_status status = wf_db_run(db, WF_STMT_SHARD_DIVIDE, &p, NULL, err);
    return status == WF_OK ? wf_db_run(db, WF_STMT_SHARD_EMPTIED, &q, NULL, err)
                           : status;
}

static enum wf_status give_up(struct wf_db *db,
                              int64_t shard,
                              const char *why,
                              struct wf_returned *ret,
                              struct wf_error *err)
{
    char list[32];
    char text[512];
    snprintf(list, sizeof list, "{%" PRId64 "}", shard);
    snprintf(text, sizeof text,
             "given up after %d attempts that ended without a result: %s",
             WF_LEASE_MAX_INFRA, why);
    return close_tasks(db, list, "lost", "LOST", text, &ret->lost_tasks, err);
}

/* The shard's row is locked and its state is LEASED. */
static enum wf_status take_back(struct wf_db *db,
                                const struct one *s,
                                enum wf_return_cause cause,
                                const char *why,
                                int64_t retry_ms,
                                struct wf_returned *ret,
                                struct wf_error *err)
{
    static const char *const outcomes[] = { "drained", "error", "session-lost" };
    struct wf_return_rule rule =
        wf_lease_returned(cause, s->attempt_infra, s->open_tasks, retry_ms);
    enum wf_shard_state state = WF_SHARD_LEASED;
    if (!wf_shard_step(WF_SHARD_LEASED, rule.event, &state)) {
        return wf_errorf(err, WF_EINTERNAL, "shard %" PRId64 ": no such step", s->id);
    }
    enum wf_status status = set_state(db, s->id, state, &rule, err);
    if (status == WF_OK && state == WF_SHARD_SPLIT) {
        status = divide(db, s->id, rule.delay_ms, err);
    }
    if (status == WF_OK && state == WF_SHARD_LOST) {
        status = give_up(db, s->id, why, ret, err);
    }
    if (status == WF_OK) {
        status = log_end(db, s->id, outcomes[cause], why, err);
    }
    ret->shards++;
    ret->ready += state == WF_SHARD_READY   ? 1
                  : state == WF_SHARD_SPLIT ? s->open_tasks
                                            : 0;
    return status;
}

static struct one read_one(const struct wf_rows *rows, size_t i)
{
    return (struct one){ wf_rows_i64(rows, i, 0), wf_rows_i64(rows, i, 2),
                         (int)wf_rows_i64(rows, i, 1) };
}

/* --- release --- */

struct release_job {
    const struct wf_release *r;
    struct wf_returned *ret;
};

/* A runner that has stopped a cancelled shard says so by releasing it. */
static enum wf_status stopped(struct wf_db *db,
                              const struct wf_release *r,
                              struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, r->shard);
    wf_param_i64(&p, r->session);
    enum wf_status status = wf_db_run(db, WF_STMT_SHARD_STOPPED, &p, &rows, err);
    if (status == WF_OK && wf_rows_count(rows) == 0) {
        status = wf_errorf(err, WF_ECONFLICT,
                           "shard %" PRId64 " is not held under this token any more",
                           r->shard);
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status release(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct release_job *job = ctx;
    const struct wf_release *r = job->r;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    memset(job->ret, 0, sizeof *job->ret);
    wf_param_i64(&p, r->shard);
    wf_param_text(&p, r->token);
    wf_param_i64(&p, r->session);
    enum wf_status status = wf_db_run(db, WF_STMT_SHARD_HELD, &p, &rows, err);
    if (status == WF_OK && wf_rows_count(rows) == 0) {
        status = stopped(db, r, err);
    } else if (status == WF_OK) {
        struct one s = read_one(rows, 0);
        status = take_back(db, &s, r->cause, r->reason, r->retry_ms, job->ret, err);
    }
    wf_rows_free(rows);
    return status;
}

enum wf_status wf_store_release(struct wf_db *db,
                                const struct wf_release *r,
                                struct wf_returned *ret,
                                struct wf_error *err)
{
    struct release_job job = { r, ret };
    return wf_db_transact(db, release, &job, err);
}

/* --- sessions that are gone --- */

struct orphan_job {
    int64_t session, retry_ms;
    struct wf_returned *ret;
};

static enum wf_status return_orphans(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct orphan_job *job = ctx;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    memset(job->ret, 0, sizeof *job->ret);
    if (job->session) {
        wf_param_i64(&p, job->session);
    } else {
        wf_param_text(&p, NULL);
    }
    enum wf_status status = wf_db_run(db, WF_STMT_SHARDS_ORPHANED, &p, &rows, err);
    for (size_t i = 0; status == WF_OK && i < wf_rows_count(rows); i++) {
        struct one s = read_one(rows, i);
        bool ended = wf_rows_bool(rows, i, 3);
        status = take_back(db, &s, ended ? WF_RETURN_DRAIN : WF_RETURN_SILENCE,
                           ended ? "the session ended" : "the session went silent",
                           job->retry_ms, job->ret, err);
    }
    wf_rows_free(rows);
    return status;
}

enum wf_status wf_store_return_orphans(struct wf_db *db,
                                       int64_t session,
                                       int64_t retry_ms,
                                       struct wf_returned *ret,
                                       struct wf_error *err)
{
    struct orphan_job job = { session, retry_ms, ret };
    return wf_db_transact(db, return_orphans, &job, err);
}

enum wf_status wf_store_find_silent(struct wf_db *db,
                                    int64_t *ret_sessions,
                                    struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status status = wf_db_run(db, WF_STMT_SESSIONS_SILENT, NULL, &rows, err);
    if (status == WF_OK) {
        *ret_sessions = (int64_t)wf_rows_count(rows);
    }
    wf_rows_free(rows);
    return status;
}

/* --- cancel --- */

struct cancel_job {
    int64_t run, *ret_tasks;
};

static enum wf_status id_list(const struct wf_rows *rows,
                              struct wf_buf *out,
                              struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < wf_rows_count(rows); i++) {
        status = wf_pg_array_add(out, wf_rows_text(rows, i, 0), err);
    }
    return status == WF_OK ? wf_pg_array_end(out, err) : status;
}

static enum wf_status cancel_shards(struct wf_db *db,
                                    int64_t run,
                                    struct wf_buf *ids,
                                    struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_params log = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, run);
    enum wf_status status = wf_db_run(db, WF_STMT_CANCEL_SHARDS, &p, &rows, err);
    if (status == WF_OK) {
        status = id_list(rows, ids, err);
    }
    if (status == WF_OK) {
        wf_param_text(&log, wf_buf_cstr(ids));
        status = wf_db_run(db, WF_STMT_CANCEL_LOG, &log, NULL, err);
    }
    wf_rows_free(rows);
    return status;
}

/* Why CANCEL_RUN touched nothing. */
static enum wf_status not_open(struct wf_db *db, int64_t run, struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    char what[64];
    snprintf(what, sizeof what, "there is no run %" PRId64, run);
    wf_param_i64(&p, run);
    enum wf_status status = wf_db_one(db, WF_STMT_RUN_DAY, &p, what, &rows, err);
    if (status == WF_OK) {
        status = wf_errorf(err, WF_ECONFLICT, "run %" PRId64 " has ended already", run);
    }
    wf_rows_free(rows);
    return status;
}

enum wf_status wf_store_cancel_rest(struct wf_db *db,
                                    int64_t run,
                                    int64_t *ret_tasks,
                                    struct wf_error *err)
{
    struct wf_buf ids = WF_BUF_INIT;
    enum wf_status status = cancel_shards(db, run, &ids, err);
    if (status == WF_OK) {
        status = close_tasks(db, wf_buf_cstr(&ids), "cancelled", "CANCELLED",
                             "the run was cancelled", ret_tasks, err);
    }
    wf_buf_free(&ids);
    return status;
}

static enum wf_status cancel(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct cancel_job *job = ctx;
    struct wf_buf ids = WF_BUF_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    *job->ret_tasks = 0;
    enum wf_status status = cancel_shards(db, job->run, &ids, err);
    if (status == WF_OK) {
        wf_param_i64(&p, job->run);
        status = wf_db_run(db, WF_STMT_CANCEL_RUN, &p, &rows, err);
    }
    if (status == WF_OK && wf_rows_count(rows) == 0) {
        status = not_open(db, job->run, err);
    }
    if (status == WF_OK) {
        status = close_tasks(db, wf_buf_cstr(&ids), "cancelled", "CANCELLED",
                             "the run was cancelled", job->ret_tasks, err);
    }
    wf_rows_free(rows);
    wf_buf_free(&ids);
    return status;
}

enum wf_status wf_store_cancel_run(struct wf_db *db,
                                   int64_t run,
                                   int64_t *ret_tasks,
                                   struct wf_error *err)
{
    struct cancel_job job = { run, ret_tasks };
    return wf_db_transact(db, cancel, &job, err);
}
