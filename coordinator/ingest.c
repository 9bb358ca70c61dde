/* The writer of results: gathers rows for a few milliseconds, COPYs them into a
 * temporary stage and stores them with one statement that checks token, state and
 * subject. A request is answered after the commit, never before.
 *
 * A row that the database finds malformed would fail the whole batch; the batch is then
 * halved until that row stands alone and is answered `invalid`. */
#include "coordinator/ingest.h"

#include "coordinator/gate_worker.h"
#include "coordinator/metrics.h"
#include "coordinator/result_row.h"
#include "coordinator/workers.h"
#include "core/clock.h"
#include "core/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_ROWS 2000u

/* The planner knows nothing of the stage: without hash and merge joins it looks rows up
 * by their keys, whatever the size of the tables. Rows stay uncompressed: they are read
 * once, at once. */
const char wf_ingest_stage_sql[] =
    "SET enable_hashjoin = off; SET enable_mergejoin = off;"
    "CREATE TEMP TABLE IF NOT EXISTS stage(seq integer, shard_id bigint, token uuid,"
    " task_id bigint, digest bytea, case_id text, kernel text, " WF_RESULT_COLUMN_TYPES
    ", samples float8[], clock_mhz float8[], power_w float8[],"
    " temperature_c float8[], throttle float8[])"
    " WITH (toast_tuple_target = 8160) ON COMMIT DELETE ROWS;"
    "ALTER TABLE pg_temp.stage ALTER COLUMN body SET STORAGE EXTERNAL";

struct wf_ingest {
    struct wf_app *app;
    struct wf_db *db;
    int64_t gather_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct wf_ingest_job *first, **end;
    size_t waiting; /* rows */
    bool stop;
    bool failing; /* said so in the log */
};

struct batch {
    struct wf_ingest *in;
    struct wf_ingest_row **row;
    size_t n;
    int64_t *run; /* run of each accepted row, for waking */
    size_t runs;
};

/* --- one transaction --- */

static enum wf_status copy_stage(struct wf_db *db,
                                 const struct batch *b,
                                 struct wf_error *err)
{
    struct wf_buf lines = WF_BUF_INIT;
    enum wf_status s = wf_db_copy_begin(
        db, "COPY pg_temp.stage(seq, " WF_STAGE_COLUMNS ") FROM STDIN", err);
    for (size_t i = 0; s == WF_OK && i < b->n; i++) {
        s = wf_buf_printf(&lines, err, "%zu\t", i);
        s = s == WF_OK
                ? wf_buf_add(&lines, b->row[i]->line.data, b->row[i]->line.len, err)
                : s;
        s = s == WF_OK ? wf_copy_end_row(&lines, err) : s;
    }
    s = s == WF_OK ? wf_db_copy_data(db, &lines, err) : s;
    s = s == WF_OK ? wf_db_copy_end(db, NULL, err) : s;
    wf_buf_free(&lines);
    return s;
}

static void explain(struct wf_ingest_row *row, const struct wf_rows *rows, size_t i)
{
    if (wf_rows_bool(rows, i, 1)) {
        row->status = WF_RESULT_DUPLICATE;
    } else if (wf_rows_bool(rows, i, 2)) {
        row->status = WF_RESULT_INVALID;
        snprintf(row->detail, sizeof row->detail, "there is no task %s", row->task);
    } else if (wf_rows_bool(rows, i, 3)) {
        row->status = WF_RESULT_INVALID;
        snprintf(row->detail, sizeof row->detail,
                 "the result is about another case or kernel than task %s", row->task);
    } else {
        row->status = WF_RESULT_STALE;
        snprintf(
            row->detail, sizeof row->detail,
            "shard %s is not held under this token any more, or the task has a result",
            row->shard);
    }
}

static enum wf_status ask_why(struct wf_db *db, struct batch *b, struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status s = wf_db_run(db, WF_STMT_RESULTS_WHY, NULL, &rows, err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        struct wf_ingest_row *row = b->row[wf_rows_i64(rows, i, 0)];
        if (row->status != WF_RESULT_ACCEPTED) {
            explain(row, rows, i);
        }
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status store(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct batch *b = ctx;
    struct wf_rows *rows = NULL;
    b->runs = 0;
    for (size_t i = 0; i < b->n; i++) {
        b->row[i]->status = WF_RESULT_STALE;
        b->row[i]->detail[0] = '\0';
    }
    enum wf_status s = copy_stage(db, b, err);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_RESULTS_ACCEPT, NULL, &rows, err) : s;
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        b->row[wf_rows_i64(rows, i, 0)]->status = WF_RESULT_ACCEPTED;
        b->run[b->runs++] = wf_rows_i64(rows, i, 1);
    }
    bool all = s == WF_OK && wf_rows_count(rows) == b->n;
    wf_rows_free(rows);
    return s == WF_OK && !all ? ask_why(db, b, err) : s;
}

/* A commit whose answer was lost is run again: then "accepted" comes back as
 * "duplicate", which tells the runner the same. */
static enum wf_status store_batch(struct batch *b, struct wf_error *err)
{
    enum wf_status s = wf_db_transact(b->in->db, store, b, err);
    if (s != WF_OK) {
        return s;
    }
    wf_metrics_add(b->in->app->metrics, WF_COUNTER_COMMITS, 1);
    for (size_t i = 0; i < b->runs; i++) {
        if (i == 0 || b->run[i] != b->run[i - 1]) {
            wf_workers_wake(b->in->app->workers, WF_EVENT_RUN, b->run[i]);
        }
    }
    for (size_t i = 0; i < b->n; i++) {
        if (b->row[i]->gate) {
            wf_gate_worker_poke(b->in->app->gates);
            break;
        }
    }
    return WF_OK;
}

static enum wf_status store_rows(struct wf_ingest *in,
                                 struct wf_ingest_row **row,
                                 size_t n,
                                 int64_t *run,
                                 struct wf_error *err)
{
    struct batch b = { in, row, n, run, 0 };
    enum wf_status s = n > 0 ? store_batch(&b, err) : WF_OK;
    if (s == WF_OK || wf_db_error_class(err) != WF_DB_BAD_DATA) {
        return s;
    }
    if (n == 1) {
        row[0]->status = WF_RESULT_INVALID;
        snprintf(row[0]->detail, sizeof row[0]->detail, "%.250s", err->text);
        return WF_OK;
    }
    s = store_rows(in, row, n / 2, run, err);
    return s == WF_OK ? store_rows(in, row + n / 2, n - n / 2, run, err) : s;
}

/* --- answers --- */

static enum wf_status add_verdict(struct wf_json *list,
                                  const struct wf_ingest_row *row,
                                  struct wf_error *err)
{
    static const char *const names[] = { "stale", "accepted", "duplicate", "invalid" };
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "task", row->task, err);
    s = s == WF_OK ? wf_json_set_string(o, "shard", row->shard, err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "status", names[row->status], err) : s;
    if (s == WF_OK && row->detail[0]) {
        s = wf_json_set_string(o, "detail", row->detail, err);
    }
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s == WF_OK ? pushed : s;
}

static void count(struct wf_ingest *in, const struct wf_ingest_job *job)
{
    static const enum wf_counter counter[] = { WF_COUNTER_STALE, WF_COUNTER_ACCEPTED,
                                               WF_COUNTER_DUPLICATE,
                                               WF_COUNTER_INVALID };
    for (size_t i = 0; i < job->count; i++) {
        wf_metrics_add(in->app->metrics, counter[job->row[i].status], 1);
    }
}

static void answer(struct wf_ingest *in,
                   struct wf_ingest_job *job,
                   const struct wf_error *failed)
{
    struct wf_error err = { 0 };
    struct wf_request *req = job->req;
    if (failed->status != WF_OK) {
        wf_problem_from_error(req, failed);
    } else {
        struct wf_json *o = wf_json_object();
        struct wf_json *list = wf_json_array();
        enum wf_status s = WF_OK;
        for (size_t i = 0; s == WF_OK && i < job->count; i++) {
            s = add_verdict(list, &job->row[i], &err);
        }
        enum wf_status taken = wf_json_set_take(o, "results", list, &err);
        s = s == WF_OK ? taken : s;
        if (s == WF_OK) {
            s = wf_reply_json(req, 200, o, &err);
        } else {
            wf_json_free(o);
        }
        if (s != WF_OK) {
            wf_problem_from_error(req, &err);
        }
        count(in, job);
    }
    req->outcome = WF_OUTCOME_REPLY;
    in->app->complete(req);
    wf_ingest_job_free(job);
}

static void store_jobs(struct wf_ingest *in, struct wf_ingest_job *jobs, size_t rows)
{
    struct wf_error err = { 0 };
    struct wf_ingest_row **row = wf_calloc(rows ? rows : 1, sizeof(*row));
    int64_t *run = wf_calloc(rows ? rows : 1, sizeof *run);
    size_t n = 0;
    if (!row || !run) {
        (void)wf_errorf(&err, WF_ENOMEM, "no memory to store %zu results", rows);
    }
    for (const struct wf_ingest_job *j = jobs; j && row && run; j = j->next) {
        for (size_t i = 0; i < j->count; i++) {
            if (j->row[i].line.len > 0) {
                row[n++] = &j->row[i];
            }
        }
    }
    if (row && run) {
        err.status = store_rows(in, row, n, run, &err);
    }
    if (err.status != WF_OK && !in->failing) {
        wf_log(WF_LOG_WARN, "results not stored: %s (runners keep them and try on)",
               err.text);
    } else if (err.status == WF_OK && in->failing) {
        wf_log(WF_LOG_INFO, "results are stored again");
    }
    in->failing = err.status != WF_OK;
    while (jobs) {
        struct wf_ingest_job *job = jobs;
        jobs = jobs->next;
        answer(in, job, &err);
    }
    free(row);
    free(run);
}

/* --- the thread --- */

/* Lock held. Waits a moment for more once there is something. */
static void gather(struct wf_ingest *in)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = (int64_t)at.tv_sec * 1000000000 + at.tv_nsec + in->gather_ms * 1000000;
    at.tv_sec = (time_t)(ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    while (!in->stop && in->waiting < BATCH_ROWS) {
        if (pthread_cond_timedwait(&in->work, &in->lock, &at) != 0) {
            break;
        }
    }
}

/* Takes jobs of up to BATCH_ROWS rows off the list. Lock held. */
static struct wf_ingest_job *take(struct wf_ingest *in, size_t *ret_rows)
{
    struct wf_ingest_job *jobs = in->first;
    struct wf_ingest_job **at = &in->first;
    size_t rows = 0;
    while (*at && (rows == 0 || rows + (*at)->count <= BATCH_ROWS)) {
        rows += (*at)->count;
        at = &(*at)->next;
    }
    struct wf_ingest_job *rest = *at;
    *at = NULL;
    in->first = rest;
    if (!rest) {
        in->end = &in->first;
    }
    in->waiting -= rows;
    *ret_rows = rows;
    return jobs;
}

static void *ingest_main(void *arg)
{
    struct wf_ingest *in = arg;
    pthread_mutex_lock(&in->lock);
    for (;;) {
        if (!in->first) {
            if (in->stop) {
                break;
            }
            pthread_cond_wait(&in->work, &in->lock);
            continue;
        }
        size_t rows = 0;
        gather(in);
        struct wf_ingest_job *jobs = take(in, &rows);
        pthread_mutex_unlock(&in->lock);
        store_jobs(in, jobs, rows);
        pthread_mutex_lock(&in->lock);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

enum wf_status wf_ingest_start(struct wf_app *app,
                               struct wf_ingest **ret,
                               struct wf_error *err)
{
    pthread_condattr_t attr;
    struct wf_ingest *in = wf_calloc(1, sizeof *in);
    if (!in) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the writer");
    }
    in->app = app;
    in->gather_ms = wf_config_number(app->config, WF_SETTING_gather);
    in->end = &in->first;
    enum wf_status s = wf_db_open(wf_config_text(app->config, WF_SETTING_db),
                                  "wavefarm-results", &in->db, err);
    if (s != WF_OK) {
        free(in);
        return s;
    }
    wf_db_on_connect(in->db, wf_ingest_stage_sql);
    pthread_mutex_init(&in->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&in->work, &attr);
    pthread_condattr_destroy(&attr);
    int code = pthread_create(&in->thread, NULL, ingest_main, in);
    if (code != 0) {
        wf_db_close(in->db);
        free(in);
        return wf_error_errno(err, code, "starting the writer");
    }
    *ret = in;
    return WF_OK;
}

void wf_ingest_submit(struct wf_ingest *in, struct wf_ingest_job *job)
{
    pthread_mutex_lock(&in->lock);
    bool wake = in->first == NULL || in->waiting + job->count >= BATCH_ROWS;
    job->next = NULL;
    *in->end = job;
    in->end = &job->next;
    in->waiting += job->count;
    if (wake) {
        pthread_cond_signal(&in->work);
    }
    pthread_mutex_unlock(&in->lock);
}

void wf_ingest_stop(struct wf_ingest *in)
{
    if (!in) {
        return;
    }
    pthread_mutex_lock(&in->lock);
    in->stop = true;
    pthread_cond_signal(&in->work);
    pthread_mutex_unlock(&in->lock);
    pthread_join(in->thread, NULL);
    wf_db_close(in->db);
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->work);
    free(in);
}

struct wf_ingest_job *wf_ingest_job_create(struct wf_request *req, size_t rows)
{
    struct wf_ingest_job *job = wf_calloc(1, sizeof *job);
    if (job) {
        job->row = wf_calloc(rows ? rows : 1, sizeof *job->row);
        job->count = rows;
        job->req = req;
    }
    if (job && !job->row) {
        free(job);
        job = NULL;
    }
    return job;
}

void wf_ingest_job_free(struct wf_ingest_job *job)
{
    if (!job) {
        return;
    }
    for (size_t i = 0; i < job->count; i++) {
        wf_buf_free(&job->row[i].line);
    }
    free(job->row);
    free(job);
}
