/* PostgreSQL through libpq (db.c is the only file that includes libpq-fe.h).
 *
 * A wf_db is one connection, used by one thread at a time. It connects when it is first
 * used and again after it was lost. Errors of the server have the domain
 * "sqlstate:XXXXX"; a database that is away has the status WF_ENETWORK, so that a
 * handler answers 503 and the client tries again. */
#ifndef WF_COORDINATOR_DB_H
#define WF_COORDINATOR_DB_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_stmt {
#define STMT(name, params, sql) WF_STMT_##name,
#include "coordinator/statements.def"
#undef STMT
    WF_STMT_COUNT
};

#define WF_DB_MAX_PARAMS 32

struct wf_db;   /* opaque */
struct wf_rows; /* opaque: result of one statement */

/* Values of $1, $2, ... in their order, as text. */
struct wf_params {
    int n; /* more than WF_DB_MAX_PARAMS is refused when the statement runs */
    const char *value[WF_DB_MAX_PARAMS]; /* NULL: SQL null; borrowed */
    char number[WF_DB_MAX_PARAMS][32];
};

#define WF_PARAMS_INIT \
    {                  \
        0              \
    }

void wf_param_text(struct wf_params *p, const char *text);
void wf_param_i64(struct wf_params *p, int64_t v);

/* `url`: libpq's "postgresql://..." or "host=... dbname=...". Does not connect. */
enum wf_status wf_db_open(const char *url,
                          const char *application,
                          struct wf_db **ret,
                          struct wf_error *err);
void wf_db_close(struct wf_db *db);
/* A script that is run on each new connection; borrowed. */
void wf_db_on_connect(struct wf_db *db, const char *sql);
/* Connects if it is not connected; WF_ENETWORK when the database is away. */
enum wf_status wf_db_connect(struct wf_db *db, struct wf_error *err);
void wf_db_disconnect(struct wf_db *db);
/* Errors of all connections since the program started, for /metrics. */
uint64_t wf_db_error_total(void);
uint64_t wf_db_retry_total(void);

/* Runs a listed statement (prepared once a connection). `ret` may be NULL. */
enum wf_status wf_db_run(struct wf_db *db,
                         enum wf_stmt stmt,
                         const struct wf_params *params,
                         struct wf_rows **ret,
                         struct wf_error *err);
/* Any text, several statements allowed; migrations and set-up only. */
enum wf_status wf_db_script(struct wf_db *db, const char *sql, struct wf_error *err);
/* PREPAREs a listed statement without running it, for the test of all of them. */
enum wf_status wf_db_check(struct wf_db *db, enum wf_stmt stmt, struct wf_error *err);
const char *wf_stmt_name(enum wf_stmt stmt);

/* Fails with ENOTFOUND ("<what>") when there is no row. */
enum wf_status wf_db_one(struct wf_db *db,
                         enum wf_stmt stmt,
                         const struct wf_params *params,
                         const char *what,
                         struct wf_rows **ret,
                         struct wf_error *err);
/* The first column of that row. */
enum wf_status wf_db_one_i64(struct wf_db *db,
                             enum wf_stmt stmt,
                             const struct wf_params *params,
                             int64_t *ret,
                             struct wf_error *err);

/* --- transactions --- */
typedef enum wf_status (*wf_db_fn)(struct wf_db *db, void *ctx, struct wf_error *err);
/* BEGIN, fn, COMMIT. Runs again (at most `WF_DB_TRIES` times in all) after a
 * serialization failure, a deadlock or a lost connection, the commit's own included:
 * `fn` must be idempotent and start from scratch. Another error rolls back. */
#define WF_DB_TRIES 4
enum wf_status wf_db_transact(struct wf_db *db,
                              wf_db_fn fn,
                              void *ctx,
                              struct wf_error *err);

/* What an SQLSTATE asks for; pure. */
enum wf_db_class {
    WF_DB_FATAL,
    WF_DB_RETRY,
    WF_DB_AWAY,
    WF_DB_BAD_DATA
};
enum wf_db_class wf_sqlstate_class(const char *sqlstate);
enum wf_db_class wf_db_error_class(const struct wf_error *err);

/* --- rows --- */
size_t wf_rows_count(const struct wf_rows *rows);
bool wf_rows_null(const struct wf_rows *rows, size_t row, int col);
const char *wf_rows_text(const struct wf_rows *rows,
                         size_t row,
                         int col);                                    /* "" when null */
int64_t wf_rows_i64(const struct wf_rows *rows, size_t row, int col); /* 0 when null */
double wf_rows_f64(const struct wf_rows *rows, size_t row, int col); /* NaN when null */
bool wf_rows_bool(const struct wf_rows *rows, size_t row, int col);
int64_t wf_rows_affected(const struct wf_rows *rows); /* of INSERT, UPDATE, DELETE */
void wf_rows_free(struct wf_rows *rows);

/* --- COPY ... FROM STDIN, text format --- */
enum wf_status wf_db_copy_begin(struct wf_db *db,
                                const char *sql,
                                struct wf_error *err);
enum wf_status wf_db_copy_data(struct wf_db *db,
                               const struct wf_buf *data,
                               struct wf_error *err);
enum wf_status wf_db_copy_end(struct wf_db *db,
                              int64_t *ret_rows,
                              struct wf_error *err);
/* Columns of a COPY line: NULL text is \N. The last one is followed by
 * wf_copy_end_row. */
enum wf_status wf_copy_text(struct wf_buf *line,
                            const char *text,
                            struct wf_error *err);
enum wf_status wf_copy_i64(struct wf_buf *line, int64_t v, struct wf_error *err);
enum wf_status wf_copy_f64(struct wf_buf *line,
                           double v,
                           struct wf_error *err); /* NaN: null */
enum wf_status wf_copy_end_row(struct wf_buf *line, struct wf_error *err);

/* Appends one item to an array literal "{...}" that is being built as a parameter;
 * wf_pg_array_end closes it. */
enum wf_status wf_pg_array_add(struct wf_buf *array,
                               const char *item,
                               struct wf_error *err);
enum wf_status wf_pg_array_end(struct wf_buf *array, struct wf_error *err);

#endif
