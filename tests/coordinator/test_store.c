/* Migrations, statements and transactions against a real server. One test after the
 * other on one throw-away cluster. */
#include "coordinator/db.h"
#include "coordinator/ingest.h"
#include "coordinator/lease.h"
#include "coordinator/migrate.h"
#include "coordinator/workers.h"
#include "tests/coordinator/temp_db.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition, ...)                                               \
    do {                                                                    \
        if (!(condition)) {                                                 \
            failures++;                                                     \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                   \
            fputc('\n', stderr);                                            \
        }                                                                   \
    } while (0)

static struct wf_db *open_db(const struct temp_db *t)
{
    struct wf_db *db = NULL;
    struct wf_error err = { 0 };
    if (wf_db_open(t->url, "test", &db, &err) != WF_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return db;
}

/* --- migrations --- */

struct migrator {
    const struct temp_db *t;
    int applied;
    enum wf_status status;
};

static void *migrate_thread(void *arg)
{
    struct migrator *m = arg;
    struct wf_db *db = open_db(m->t);
    m->status = wf_migrate(db, &m->applied, NULL);
    wf_db_close(db);
    return NULL;
}

static void an_empty_database_is_told_from_an_old_one(const struct temp_db *t)
{
    struct wf_db *db = open_db(t);
    struct wf_error err = { 0 };
    CHECK(wf_schema_check(db, &err) == WF_EREFUSED, "%s", err.text);
    CHECK(strstr(err.text, "migrate"), "%s", err.text);
    wf_db_close(db);
}

static void many_migrate_at_once_and_each_step_runs_once(const struct temp_db *t)
{
    enum {
        N = 4
    };
    pthread_t thread[N];
    struct migrator m[N];
    int applied = 0;
    for (int i = 0; i < N; i++) {
        m[i] = (struct migrator){ t, 0, WF_EINTERNAL };
        pthread_create(&thread[i], NULL, migrate_thread, &m[i]);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(thread[i], NULL);
        CHECK(m[i].status == WF_OK, "migrator %d: %d", i, (int)m[i].status);
        applied += m[i].applied;
    }
    CHECK(applied == 6, "%d migrations", applied);
    struct wf_db *db = open_db(t);
    struct wf_error err = { 0 };
    CHECK(wf_schema_check(db, &err) == WF_OK, "%s", err.text);
    wf_db_close(db);
}

static void every_statement_prepares(struct wf_db *db)
{
    wf_db_on_connect(db, wf_ingest_stage_sql);
    wf_db_disconnect(db);
    for (int i = 0; i < WF_STMT_COUNT; i++) {
        struct wf_error err = { 0 };
        CHECK(wf_db_check(db, (enum wf_stmt)i, &err) == WF_OK, "%s: %s",
              wf_stmt_name((enum wf_stmt)i), err.text);
    }
}

static void states_are_spelt_as_in_the_schema(struct wf_db *db)
{
    struct wf_error err = { 0 };
    char sql[160];
    for (int i = 0; i < WF_SHARD_STATE_COUNT; i++) {
        snprintf(sql, sizeof sql, "SELECT '%s'::shard_state",
                 wf_shard_state_name((enum wf_shard_state)i));
        CHECK(wf_db_script(db, sql, &err) == WF_OK, "%s", err.text);
    }
    snprintf(sql, sizeof sql,
             "SELECT 1 / (count(*) = %d)::int FROM pg_enum WHERE enumtypid ="
             " 'shard_state'::regtype",
             WF_SHARD_STATE_COUNT);
    CHECK(wf_db_script(db, sql, &err) == WF_OK, "%s", err.text);
}

/* --- transactions --- */

struct attempts {
    int runs;
    const char *sql[8];
};

static enum wf_status scripted(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct attempts *a = ctx;
    return wf_db_script(db, a->sql[a->runs++], err);
}

#define RAISE(code) "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '" code "'; END $$"

static void transactions_are_repeated_when_that_helps(struct wf_db *db)
{
    struct wf_error err = { 0 };
    struct attempts twice = { 0, { RAISE("40001"), RAISE("40P01"), "SELECT 1" } };
    CHECK(wf_db_transact(db, scripted, &twice, &err) == WF_OK, "%s", err.text);
    CHECK(twice.runs == 3, "%d runs", twice.runs);
    struct attempts once = { 0, { RAISE("22000"), "SELECT 1" } };
    CHECK(wf_db_transact(db, scripted, &once, &err) == WF_EDB, "%s", err.text);
    CHECK(once.runs == 1, "%d runs", once.runs);
    CHECK(strcmp(err.domain, "sqlstate:22000") == 0, "%s", err.domain);
    struct attempts always = { 0,
                               { RAISE("40001"), RAISE("40001"), RAISE("40001"),
                                 RAISE("40001"), "SELECT 1" } };
    CHECK(wf_db_transact(db, scripted, &always, &err) == WF_EDB, "%s", err.text);
    CHECK(always.runs == WF_DB_TRIES, "%d runs", always.runs);
    struct attempts lost = {
        0, { "SELECT pg_terminate_backend(pg_backend_pid())", "SELECT 1" }
    };
    CHECK(wf_db_transact(db, scripted, &lost, &err) == WF_OK, "%s", err.text);
    CHECK(lost.runs == 2, "%d runs", lost.runs);
}

static void a_failed_transaction_leaves_nothing_behind(struct wf_db *db)
{
    struct wf_error err = { 0 };
    struct attempts a = { 0, { "CREATE TABLE left_over(i int); SELECT 1 / 0" } };
    CHECK(wf_db_transact(db, scripted, &a, &err) == WF_EDB, "%s", err.text);
    CHECK(wf_db_script(db, "SELECT * FROM left_over", &err) == WF_EDB, "it is there");
    CHECK(wf_db_script(db, "SELECT 1", &err) == WF_OK, "%s", err.text);
}

static void copy_reads_what_was_written(struct wf_db *db)
{
    struct wf_error err = { 0 };
    struct wf_buf line = WF_BUF_INIT;
    int64_t rows = 0;
    static const char text[] = "tab\t newline\n back\\slash \r \xc3\xa9 \\N";
    CHECK(wf_db_script(db, "CREATE TEMP TABLE c(i bigint, t text, f float8)", &err) ==
              WF_OK,
          "%s", err.text);
    (void)wf_copy_i64(&line, 1, NULL);
    (void)wf_copy_text(&line, text, NULL);
    (void)wf_copy_f64(&line, 0.1 + 0.2, NULL);
    (void)wf_copy_end_row(&line, NULL);
    CHECK(wf_db_copy_begin(db, "COPY c FROM STDIN", &err) == WF_OK, "%s", err.text);
    CHECK(wf_db_copy_data(db, &line, &err) == WF_OK, "%s", err.text);
    CHECK(wf_db_copy_end(db, &rows, &err) == WF_OK, "%s", err.text);
    CHECK(rows == 1, "%lld rows", (long long)rows);
    CHECK(wf_db_script(
              db,
              "SELECT 1 / (t = E'tab\\t newline\\n back\\\\slash \\r \\u00e9 \\\\N'"
              " AND f = 0.30000000000000004)::int FROM c",
              &err) == WF_OK,
          "%s", err.text);
    CHECK(wf_db_copy_begin(db, "COPY c FROM STDIN", &err) == WF_OK, "%s", err.text);
    wf_buf_clear(&line);
    (void)wf_buf_puts(&line, "no number\tx\t1\n", NULL);
    CHECK(wf_db_copy_data(db, &line, &err) == WF_OK, "%s", err.text);
    CHECK(wf_db_copy_end(db, &rows, &err) == WF_EDB, "it was taken");
    CHECK(wf_db_error_class(&err) == WF_DB_BAD_DATA, "%s", err.domain);
    CHECK(wf_db_script(db, "SELECT 1", &err) == WF_OK, "%s", err.text);
    wf_buf_free(&line);
}

static void months_are_made_once(struct wf_db *db)
{
    struct wf_error err = { 0 };
    for (int i = 0; i < 2; i++) {
        CHECK(wf_db_run(db, WF_STMT_ENSURE_MONTHS, NULL, NULL, &err) == WF_OK, "%s",
              err.text);
        CHECK(wf_db_script(db, "SELECT ensure_month('2031-12-31')", &err) == WF_OK,
              "%s", err.text);
    }
    CHECK(wf_db_script(db, "SELECT * FROM result_2031_12, sample_2031_12", &err) ==
              WF_OK,
          "%s", err.text);
}

int main(void)
{
    struct temp_db t;
    temp_db_start(&t);
    an_empty_database_is_told_from_an_old_one(&t);
    many_migrate_at_once_and_each_step_runs_once(&t);
    struct wf_db *db = open_db(&t);
    every_statement_prepares(db);
    states_are_spelt_as_in_the_schema(db);
    transactions_are_repeated_when_that_helps(db);
    a_failed_transaction_leaves_nothing_behind(db);
    copy_reads_what_was_written(db);
    months_are_made_once(db);
    wf_db_close(db);
    temp_db_stop(&t);
    return failures ? 1 : 0;
}
