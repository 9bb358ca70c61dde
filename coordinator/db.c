/* One connection to PostgreSQL: connecting, prepared statements, transactions with
 * retry, rows, COPY. The only file that includes libpq-fe.h.
 *
 * Invariants: a statement is prepared at most once a connection; a lost connection
 * forgets what was prepared; no error leaves a transaction open. It never logs. */
#include "coordinator/db.h"

#include "core/parse.h"

#include <errno.h>
#include <float.h>
#include <libpq-fe.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct statement {
    const char *name;
    int params;
    const char *sql;
};

static const struct statement statement_table[WF_STMT_COUNT] = {
#define STMT(name, params, sql) { #name, params, sql },
#include "coordinator/statements.def"
#undef STMT
};

struct wf_db {
    PGconn *conn; /* NULL: not connected */
    char *url;
    char *application;
    const char *on_connect; /* or NULL */
    bool prepared[WF_STMT_COUNT];
};

struct wf_rows {
    PGresult *res;
};

static atomic_uint_fast64_t error_total;
static atomic_uint_fast64_t retry_total;

uint64_t wf_db_error_total(void)
{
    return atomic_load(&error_total);
}

uint64_t wf_db_retry_total(void)
{
    return atomic_load(&retry_total);
}

const char *wf_stmt_name(enum wf_stmt stmt)
{
    return (unsigned)stmt < WF_STMT_COUNT ? statement_table[stmt].name : "?";
}

/* --- parameters --- */

void wf_param_text(struct wf_params *p, const char *text)
{
    if (p->n < WF_DB_MAX_PARAMS) {
        p->value[p->n] = text;
    }
    p->n++;
}

void wf_param_i64(struct wf_params *p, int64_t v)
{
    if (p->n < WF_DB_MAX_PARAMS) {
        snprintf(p->number[p->n], sizeof p->number[0], "%lld", (long long)v);
        p->value[p->n] = p->number[p->n];
    }
    p->n++;
}

/* --- errors --- */

enum wf_db_class wf_sqlstate_class(const char *s)
{
    if (strcmp(s, "40001") == 0 || strcmp(s, "40P01") == 0 || strcmp(s, "55P03") == 0) {
        return WF_DB_RETRY;
    }
    /* 57P01-57P03: shut down, crash of another backend, starting up. 57014 is a
     * statement time-out and stays fatal for this request. */
    if (strncmp(s, "08", 2) == 0 || strncmp(s, "57P", 3) == 0 ||
        strcmp(s, "53300") == 0 || strcmp(s, "25006") == 0) {
        return WF_DB_AWAY;
    }
    if (strncmp(s, "22", 2) == 0 || strncmp(s, "23", 2) == 0 ||
        strcmp(s, "54000") == 0) {
        return WF_DB_BAD_DATA;
    }
    return WF_DB_FATAL;
}

enum wf_db_class wf_db_error_class(const struct wf_error *err)
{
    if (err->status == WF_ENETWORK) {
        return WF_DB_AWAY;
    }
    if (strncmp(err->domain, "sqlstate:", 9) != 0) {
        return WF_DB_FATAL;
    }
    return wf_sqlstate_class(err->domain + 9);
}

/* libpq's messages end in newlines and may have several lines. */
static void one_line(char *ret, size_t n, const char *text)
{
    size_t used = 0;
    for (const char *c = text ? text : ""; *c && used + 1 < n; c++) {
        ret[used++] = *c == '\n' || *c == '\r' || *c == '\t' ? ' ' : *c;
    }
    while (used > 0 && ret[used - 1] == ' ') {
        used--;
    }
    ret[used] = '\0';
}

static enum wf_status report(struct wf_db *db,
                             const PGresult *res,
                             const char *what,
                             struct wf_error *err)
{
    const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
    bool lost = !db->conn || PQstatus(db->conn) == CONNECTION_BAD;
    char text[512];
    struct wf_error local;
    if (!err) {
        err = &local;
    }
    atomic_fetch_add(&error_total, 1);
    one_line(text, sizeof text, res ? PQresultErrorMessage(res) : NULL);
    if (!text[0]) {
        one_line(text, sizeof text,
                 db->conn ? PQerrorMessage(db->conn) : "no connection");
    }
    if (lost || (state && wf_sqlstate_class(state) == WF_DB_AWAY)) {
        wf_errorf(err, WF_ENETWORK, "database is away (%s): %s", what, text);
        wf_db_disconnect(db);
    } else {
        wf_errorf(err, WF_EDB, "database refused %s: %s", what, text);
    }
    err->domain[0] = '\0';
    if (state) {
        snprintf(err->domain, sizeof err->domain, "sqlstate:%.5s", state);
    }
    return err->status;
}

/* --- connection --- */

enum wf_status wf_db_open(const char *url,
                          const char *application,
                          struct wf_db **ret,
                          struct wf_error *err)
{
    struct wf_db *db = wf_calloc(1, sizeof *db);
    if (db) {
        db->url = wf_strdup(url);
        db->application = wf_strdup(application);
    }
    if (!db || !db->url || !db->application) {
        wf_db_close(db);
        return wf_errorf(err, WF_ENOMEM, "no memory for a database connection");
    }
    *ret = db;
    return WF_OK;
}

void wf_db_disconnect(struct wf_db *db)
{
    if (db->conn) {
        PQfinish(db->conn);
    }
    db->conn = NULL;
    memset(db->prepared, 0, sizeof db->prepared);
}

void wf_db_close(struct wf_db *db)
{
    if (!db) {
        return;
    }
    wf_db_disconnect(db);
    free(db->url);
    free(db->application);
    free(db);
}

/* Notices ("relation exists, skipping") are not for the coordinator's log. */
static void ignore_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

void wf_db_on_connect(struct wf_db *db, const char *sql)
{
    db->on_connect = sql;
}

static enum wf_status run_on_connect(struct wf_db *db, struct wf_error *err)
{
    PGresult *res = PQexec(db->conn, db->on_connect);
    enum wf_status status = WF_OK;
    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        status = report(db, res, "setting a connection up", err);
        wf_db_disconnect(db);
    }
    PQclear(res);
    return status;
}

enum wf_status wf_db_connect(struct wf_db *db, struct wf_error *err)
{
    if (db->conn && PQstatus(db->conn) == CONNECTION_OK) {
        return WF_OK;
    }
    wf_db_disconnect(db);
    const char *const keys[] = { "dbname",  "application_name", "connect_timeout",
                                 "options", "keepalives_idle",  NULL };
    const char *const values[] = {
        db->url,
        db->application,
        "5",
        "-c search_path=farm,public -c timezone=UTC -c extra_float_digits=1 "
        "-c statement_timeout=60s -c idle_in_transaction_session_timeout=60s "
        "-c client_min_messages=warning",
        "30",
        NULL
    };
    db->conn = PQconnectdbParams(keys, values, 1);
    if (!db->conn) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a database connection");
    }
    if (PQstatus(db->conn) != CONNECTION_OK) {
        return report(db, NULL, "connecting", err);
    }
    PQsetNoticeProcessor(db->conn, ignore_notice, NULL);
    return db->on_connect ? run_on_connect(db, err) : WF_OK;
}

/* --- statements --- */

static enum wf_status prepare(struct wf_db *db, enum wf_stmt stmt, struct wf_error *err)
{
    const struct statement *s = &statement_table[stmt];
    if (db->prepared[stmt]) {
        return WF_OK;
    }
    PGresult *res = PQprepare(db->conn, s->name, s->sql, s->params, NULL);
    enum wf_status status = WF_OK;
    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        status = report(db, res, s->name, err);
    } else {
        db->prepared[stmt] = true;
    }
    PQclear(res);
    return status;
}

static bool succeeded(const PGresult *res)
{
    ExecStatusType status = PQresultStatus(res);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ||
           status == PGRES_EMPTY_QUERY;
}

static enum wf_status take_rows(struct wf_db *db,
                                PGresult *res,
                                const char *what,
                                struct wf_rows **ret,
                                struct wf_error *err)
{
    enum wf_status status = WF_OK;
    if (!succeeded(res)) {
        status = report(db, res, what, err);
    } else if (ret) {
        struct wf_rows *rows = wf_calloc(1, sizeof *rows);
        if (rows) {
            rows->res = res;
            *ret = rows;
            return WF_OK;
        }
        status = wf_errorf(err, WF_ENOMEM, "no memory for rows of %s", what);
    }
    PQclear(res);
    return status;
}

enum wf_status wf_db_run(struct wf_db *db,
                         enum wf_stmt stmt,
                         const struct wf_params *params,
                         struct wf_rows **ret,
                         struct wf_error *err)
{
    const struct statement *s = &statement_table[stmt];
    int n = params ? params->n : 0;
    if (n != s->params || n > WF_DB_MAX_PARAMS) {
        return wf_errorf(err, WF_EINTERNAL, "statement %s wants %d parameters, not %d",
                         s->name, s->params, n);
    }
    enum wf_status status = wf_db_connect(db, err);
    if (status == WF_OK) {
        status = prepare(db, stmt, err);
    }
    if (status != WF_OK) {
        return status;
    }
    PGresult *res = PQexecPrepared(db->conn, s->name, n, params ? params->value : NULL,
                                   NULL, NULL, 0);
    return take_rows(db, res, s->name, ret, err);
}

enum wf_status wf_db_check(struct wf_db *db, enum wf_stmt stmt, struct wf_error *err)
{
    enum wf_status status = wf_db_connect(db, err);
    return status == WF_OK ? prepare(db, stmt, err) : status;
}

enum wf_status wf_db_script(struct wf_db *db, const char *sql, struct wf_error *err)
{
    enum wf_status status = wf_db_connect(db, err);
    if (status != WF_OK) {
        return status;
    }
    return take_rows(db, PQexec(db->conn, sql), "a script", NULL, err);
}

enum wf_status wf_db_one(struct wf_db *db,
                         enum wf_stmt stmt,
                         const struct wf_params *params,
                         const char *what,
                         struct wf_rows **ret,
                         struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status status = wf_db_run(db, stmt, params, &rows, err);
    if (status == WF_OK && wf_rows_count(rows) == 0) {
        status = wf_errorf(err, WF_ENOTFOUND, "%s", what);
    }
    if (status != WF_OK) {
        wf_rows_free(rows);
        return status;
    }
    *ret = rows;
    return WF_OK;
}

enum wf_status wf_db_one_i64(struct wf_db *db,
                             enum wf_stmt stmt,
                             const struct wf_params *params,
                             int64_t *ret,
                             struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status status = wf_db_one(db, stmt, params, "no row", &rows, err);
    if (status == WF_OK) {
        *ret = wf_rows_i64(rows, 0, 0);
    }
    wf_rows_free(rows);
    return status;
}

/* --- transactions --- */

static enum wf_status transaction_once(struct wf_db *db,
                                       wf_db_fn fn,
                                       void *ctx,
                                       struct wf_error *err)
{
    enum wf_status status = wf_db_script(db, "BEGIN", err);
    if (status != WF_OK) {
        return status;
    }
    status = fn(db, ctx, err);
    if (status == WF_OK) {
        status = wf_db_script(db, "COMMIT", err);
    } else if (db->conn) {
        /* Its failure would hide the first error; a connection in doubt is dropped. */
        if (wf_db_script(db, "ROLLBACK", NULL) != WF_OK) {
            wf_db_disconnect(db);
        }
    }
    return status;
}

enum wf_status wf_db_transact(struct wf_db *db,
                              wf_db_fn fn,
                              void *ctx,
                              struct wf_error *err)
{
    struct wf_error local = { 0 };
    struct wf_error *e = err ? err : &local;
    enum wf_status status = WF_OK;
    for (int i = 0; i < WF_DB_TRIES; i++) {
        memset(e, 0, sizeof *e);
        status = transaction_once(db, fn, ctx, e);
        if (status == WF_OK) {
            return WF_OK;
        }
        enum wf_db_class class = wf_db_error_class(e);
        bool lost_once =
            class == WF_DB_AWAY && i == 0; /* then a connect must succeed */
        if (class != WF_DB_RETRY && !lost_once) {
            return status;
        }
        atomic_fetch_add(&retry_total, 1);
    }
    return status;
}

/* --- rows --- */

size_t wf_rows_count(const struct wf_rows *rows)
{
    return rows ? (size_t)PQntuples(rows->res) : 0;
}

bool wf_rows_null(const struct wf_rows *rows, size_t row, int col)
{
    return PQgetisnull(rows->res, (int)row, col) != 0;
}

const char *wf_rows_text(const struct wf_rows *rows, size_t row, int col)
{
    return PQgetvalue(rows->res, (int)row, col);
}

int64_t wf_rows_i64(const struct wf_rows *rows, size_t row, int col)
{
    int64_t v = 0;
    if (wf_parse_i64(wf_rows_text(rows, row, col), "column", INT64_MIN, INT64_MAX, &v,
                     NULL) != WF_OK) {
        return 0;
    }
    return v;
}

double wf_rows_f64(const struct wf_rows *rows, size_t row, int col)
{
    double v = 0;
    if (wf_parse_f64(wf_rows_text(rows, row, col), "column", -DBL_MAX, DBL_MAX, &v,
                     NULL) != WF_OK) {
        return NAN;
    }
    return v;
}

bool wf_rows_bool(const struct wf_rows *rows, size_t row, int col)
{
    return wf_rows_text(rows, row, col)[0] == 't';
}

int64_t wf_rows_affected(const struct wf_rows *rows)
{
    int64_t v = 0;
    const char *text = PQcmdTuples(rows->res);
    if (text[0]) {
        (void)wf_parse_i64(text, "count", 0, INT64_MAX, &v, NULL);
    }
    return v;
}

void wf_rows_free(struct wf_rows *rows)
{
    if (rows) {
        PQclear(rows->res);
        free(rows);
    }
}

/* --- COPY --- */

enum wf_status wf_db_copy_begin(struct wf_db *db, const char *sql, struct wf_error *err)
{
    enum wf_status status = wf_db_connect(db, err);
    if (status != WF_OK) {
        return status;
    }
    PGresult *res = PQexec(db->conn, sql);
    if (PQresultStatus(res) != PGRES_COPY_IN) {
        status = report(db, res, "COPY", err);
    }
    PQclear(res);
    return status;
}

enum wf_status wf_db_copy_data(struct wf_db *db,
                               const struct wf_buf *data,
                               struct wf_error *err)
{
    const size_t step = 1u << 20;
    if (!db->conn) {
        return wf_errorf(err, WF_ENETWORK, "database is away (COPY)");
    }
    for (size_t at = 0; at < data->len; at += step) {
        size_t n = data->len - at < step ? data->len - at : step;
        if (PQputCopyData(db->conn, data->data + at, (int)n) != 1) {
            return report(db, NULL, "COPY data", err);
        }
    }
    return WF_OK;
}

enum wf_status wf_db_copy_end(struct wf_db *db, int64_t *ret_rows, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    if (!db->conn) {
        return wf_errorf(err, WF_ENETWORK, "database is away (COPY)");
    }
    if (PQputCopyEnd(db->conn, NULL) != 1) {
        return report(db, NULL, "the end of COPY", err);
    }
    for (PGresult *res = PQgetResult(db->conn); res;
         res = db->conn ? PQgetResult(db->conn) : NULL) {
        if (!succeeded(res) && status == WF_OK) {
            status = report(db, res, "COPY", err);
        } else if (status == WF_OK && ret_rows) {
            *ret_rows = 0;
            (void)wf_parse_i64(PQcmdTuples(res), "rows", 0, INT64_MAX, ret_rows, NULL);
        }
        PQclear(res);
    }
    return status;
}
