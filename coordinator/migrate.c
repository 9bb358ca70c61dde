/* Applies the embedded migrations and keeps their checksums.
 *
 * Invariant: a migration and its row in farm.schema_migration are one transaction. */
#include "coordinator/migrate.h"

#include "coordinator/embedded.h"
#include "core/sha256.h"

#include <string.h>

/* Any number; the same in every version of the program. */
#define LOCK_SQL   "SELECT pg_advisory_lock(7160301)"
#define UNLOCK_SQL "SELECT pg_advisory_unlock(7160301)"

static const char bootstrap_sql[] =
    "CREATE SCHEMA IF NOT EXISTS farm;"
    "CREATE TABLE IF NOT EXISTS farm.schema_migration ("
    " version integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL,"
    " applied timestamptz NOT NULL DEFAULT now())";

/* The applied ones must be the first ones of ours, unchanged. */
static enum wf_status check_applied(const struct wf_rows *rows, struct wf_error *err)
{
    size_t n = wf_rows_count(rows);
    if (n > (size_t)wf_migration_count) {
        return wf_errorf(
            err, WF_EREFUSED,
            "the database has schema version %lld, this program knows up to "
            "%d: use the program that migrated it, or a newer one",
            (long long)wf_rows_i64(rows, n - 1, 0), wf_migration_count);
    }
    for (size_t i = 0; i < n; i++) {
        char hex[WF_SHA256_HEX];
        const struct wf_migration *m = &wf_migrations[i];
        wf_sha256_hex(m->sql, strlen(m->sql), hex);
        if (wf_rows_i64(rows, i, 0) != m->version ||
            strcmp(wf_rows_text(rows, i, 1), hex) != 0) {
            return wf_errorf(err, WF_EREFUSED,
                             "migration %s differs from the one that the database has "
                             "applied: applied migrations must not be edited",
                             m->name);
        }
    }
    return WF_OK;
}

struct step {
    const struct wf_migration *migration;
};

static enum wf_status apply_one(struct wf_db *db, void *ctx, struct wf_error *err)
{
    const struct wf_migration *m = ((struct step *)ctx)->migration;
    struct wf_params p = WF_PARAMS_INIT;
    char hex[WF_SHA256_HEX];
    enum wf_status status = wf_db_script(db, m->sql, err);
    if (status != WF_OK) {
        return wf_error_prefix(err, "migration %s", m->name);
    }
    wf_sha256_hex(m->sql, strlen(m->sql), hex);
    wf_param_i64(&p, m->version);
    wf_param_text(&p, m->name);
    wf_param_text(&p, hex);
    return wf_db_run(db, WF_STMT_MIGRATION_ADD, &p, NULL, err);
}

static enum wf_status migrate_locked(struct wf_db *db,
                                     int *applied,
                                     struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status status = wf_db_script(db, bootstrap_sql, err);
    if (status == WF_OK) {
        status = wf_db_run(db, WF_STMT_MIGRATION_LIST, NULL, &rows, err);
    }
    if (status == WF_OK) {
        status = check_applied(rows, err);
    }
    for (int i = (int)wf_rows_count(rows); status == WF_OK && i < wf_migration_count;
         i++) {
        struct step step = { &wf_migrations[i] };
        status = wf_db_transact(db, apply_one, &step, err);
        *applied += status == WF_OK;
    }
    wf_rows_free(rows);
    return status;
}

enum wf_status wf_migrate(struct wf_db *db, int *ret_applied, struct wf_error *err)
{
    int applied = 0;
    enum wf_status status = wf_db_script(db, LOCK_SQL, err);
    if (status != WF_OK) {
        return status;
    }
    status = migrate_locked(db, &applied, err);
    /* A lost connection has released the lock already. */
    if (wf_db_script(db, UNLOCK_SQL, NULL) != WF_OK) {
        wf_db_disconnect(db);
    }
    if (status == WF_OK && ret_applied) {
        *ret_applied = applied;
    }
    return status;
}

enum wf_status wf_schema_check(struct wf_db *db, struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    struct wf_error local = { 0 };
    enum wf_status status = wf_db_run(db, WF_STMT_MIGRATION_LIST, NULL, &rows, &local);
    if (status == WF_EDB && strncmp(local.domain, "sqlstate:42P01", 14) == 0) {
        return wf_errorf(err, WF_EREFUSED,
                         "the database is empty: run 'wavefarm-coordinator migrate' or "
                         "start with --migrate");
    }
    if (status != WF_OK) {
        return wf_errorf(err, status, "%s", local.text);
    }
    status = check_applied(rows, err);
    if (status == WF_OK && wf_rows_count(rows) < (size_t)wf_migration_count) {
        status =
            wf_errorf(err, WF_EREFUSED,
                      "the database has schema version %zu, this program needs %d: "
                      "run 'wavefarm-coordinator migrate' or start with --migrate",
                      wf_rows_count(rows), wf_migration_count);
    }
    wf_rows_free(rows);
    return status;
}
