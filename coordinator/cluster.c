/* The private cluster: where its programs are, initdb, settings, start and stop, roles
 * and database.
 *
 * Folder: data/ (PGDATA), socket/, log/postgres.log. All of it belongs to the user that
 * the server runs as. */
#include "coordinator/cluster.h"

#include "coordinator/cluster_process.h"
#include "coordinator/db.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATABASE     "wavefarm"
#define SOCKET_FILE  "/.s.PGSQL.5432"
#define SOCKET_MAX   107 /* sun_path with its NUL */
#define OLDEST_MAJOR 13

struct cluster {
    struct wf_os_user user;
    char folder[PATH_MAX];
    char data[PATH_MAX + 8], socket[PATH_MAX + 8], log[PATH_MAX + 24];
    char bin[PATH_MAX];
};

static const char settings[] =
    "# Written by wavefarm-coordinator db init; read once at start.\n"
    "listen_addresses = ''\n"
    "unix_socket_permissions = 0777\n"
    "max_connections = 80\n"
    "fsync = on\n"
    "synchronous_commit = on\n"
    "full_page_writes = on\n"
    "shared_buffers = 128MB\n"
    "work_mem = 16MB\n"
    "maintenance_work_mem = 128MB\n"
    "wal_compression = on\n"
    "max_wal_size = 2GB\n"
    "random_page_cost = 1.1\n"
    "jit = off\n"
    "timezone = 'UTC'\n"
    "log_timezone = 'UTC'\n"
    "autovacuum_naptime = 15s\n"
    "idle_in_transaction_session_timeout = 60s\n"
    "log_min_duration_statement = 1s\n"
    "log_line_prefix = '%m [%p] %a '\n";

static const char roles_sql[] =
    "DO $$ BEGIN"
    " IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'wavefarm') THEN"
    "  CREATE ROLE wavefarm LOGIN;"
    " END IF;"
    " IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'wavefarm_ro') THEN"
    "  CREATE ROLE wavefarm_ro LOGIN;"
    "  ALTER ROLE wavefarm_ro SET statement_timeout = '15s';"
    "  ALTER ROLE wavefarm_ro SET idle_in_transaction_session_timeout = '10s';"
    "  ALTER ROLE wavefarm_ro SET default_transaction_read_only = on;"
    " END IF; END $$";

/* --- places --- */

static bool has_programs(const char *dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/initdb", dir);
    bool initdb = access(path, X_OK) == 0;
    snprintf(path, sizeof path, "%s/pg_ctl", dir);
    return initdb && access(path, X_OK) == 0;
}

/* Debian keeps each version in /usr/lib/postgresql/<major>/bin. */
static void newest_debian(char *ret, size_t n)
{
    static const char root[] = "/usr/lib/postgresql";
    int64_t best = OLDEST_MAJOR - 1;
    DIR *dir = opendir(root);
    ret[0] = '\0';
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char bin[PATH_MAX];
        int64_t major = 0;
        if (wf_parse_i64(e->d_name, "version", best + 1, 1000, &major, NULL) != WF_OK) {
            continue;
        }
        snprintf(bin, sizeof bin, "%s/%s/bin", root, e->d_name);
        if (has_programs(bin)) {
            best = major;
            snprintf(ret, n, "%s", bin);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

static void search_path(char *ret, size_t n)
{
    const char *path = getenv("PATH");
    ret[0] = '\0';
    for (const char *at = path; at && *at;) {
        size_t len = strcspn(at, ":");
        if (len > 0 && len < n) {
            memcpy(ret, at, len);
            ret[len] = '\0';
            if (has_programs(ret)) {
                return;
            }
        }
        at += len + (at[len] == ':');
    }
    ret[0] = '\0';
}

static enum wf_status find_programs(const char *given, char *ret, struct wf_error *err)
{
    if (given) {
        if (!has_programs(given)) {
            return wf_errorf(err, WF_ENOTFOUND, "no initdb and pg_ctl in %s", given);
        }
        snprintf(ret, PATH_MAX, "%s", given);
        return WF_OK;
    }
    newest_debian(ret, PATH_MAX);
    if (!ret[0]) {
        search_path(ret, PATH_MAX);
    }
    if (!ret[0]) {
        return wf_errorf(
            err, WF_ENOTFOUND,
            "PostgreSQL %d or newer is not installed (no initdb and pg_ctl in "
            "/usr/lib/postgresql/*/bin or PATH): install the package "
            "postgresql or name the folder with --pg-bin",
            OLDEST_MAJOR);
    }
    return WF_OK;
}

static enum wf_status absolute(const char *folder,
                               char *ret,
                               size_t n,
                               struct wf_error *err)
{
    char cwd[PATH_MAX];
    int len;
    if (folder[0] == '/') {
        len = snprintf(ret, n, "%s", folder);
    } else if (getcwd(cwd, sizeof cwd)) {
        len = snprintf(ret, n, "%s/%s", cwd, folder);
    } else {
        return wf_error_errno(err, errno, "finding the working folder");
    }
    while (len > 1 && (size_t)len < n && ret[len - 1] == '/') {
        ret[--len] = '\0';
    }
    if (len + (int)strlen("/socket" SOCKET_FILE) >= SOCKET_MAX) {
        return wf_errorf(
            err, WF_EINVAL,
            "the folder '%s' is too long: its socket's path must stay below "
            "%d bytes",
            ret, SOCKET_MAX);
    }
    return WF_OK;
}

static enum wf_status locate(const struct wf_cluster_options *o,
                             struct cluster *ret,
                             struct wf_error *err)
{
    enum wf_status status = wf_cluster_user(o->user, &ret->user, err);
    if (status == WF_OK) {
        status = absolute(o->folder, ret->folder, sizeof ret->folder, err);
    }
    if (status == WF_OK) {
        status = find_programs(o->bin_dir, ret->bin, err);
    }
    if (status == WF_OK) {
        snprintf(ret->data, sizeof ret->data, "%s/data", ret->folder);
        snprintf(ret->socket, sizeof ret->socket, "%s/socket", ret->folder);
        snprintf(ret->log, sizeof ret->log, "%s/log", ret->folder);
    }
    return status;
}

enum wf_status wf_cluster_url(const struct wf_cluster_options *o,
                              char **ret,
                              struct wf_error *err)
{
    char folder[PATH_MAX];
    enum wf_status status = absolute(o->folder, folder, sizeof folder, err);
    if (status != WF_OK) {
        return status;
    }
    *ret = wf_asprintf("host=%s/socket dbname=" DATABASE " user=wavefarm", folder);
    return *ret ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
}

/* --- as the owner --- */

static bool initialised(const struct cluster *c)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/PG_VERSION", c->data);
    return wf_file_exists(path);
}

static enum wf_status write_config(const struct cluster *c,
                                   const char *name,
                                   const char *text,
                                   struct wf_error *err)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", c->data, name);
    return wf_file_write_atomic(path, text, strlen(text), err);
}

static enum wf_status configure(const struct cluster *c, struct wf_error *err)
{
    struct wf_buf ident = WF_BUF_INIT;
    struct wf_buf conf = WF_BUF_INIT;
    static const char *const roles[] = { "postgres", "wavefarm", "wavefarm_ro" };
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < 3 && status == WF_OK; i++) {
        status = wf_buf_printf(&ident, err, "wavefarm root %s\nwavefarm %s %s\n",
                               roles[i], c->user.name, roles[i]);
    }
    if (status == WF_OK) {
        status = wf_buf_printf(&conf, err, "%sunix_socket_directories = '%s'\n",
                               settings, c->socket);
    }
    if (status == WF_OK) {
        status = write_config(c, "pg_ident.conf", wf_buf_cstr(&ident), err);
    }
    if (status == WF_OK) {
        status =
            write_config(c, "pg_hba.conf", "local all all peer map=wavefarm\n", err);
    }
    if (status == WF_OK) {
        status = write_config(c, "postgresql.conf", wf_buf_cstr(&conf), err);
    }
    wf_buf_free(&ident);
    wf_buf_free(&conf);
    return status;
}

static enum wf_status make_folder(const char *path, mode_t mode, struct wf_error *err)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST) {
        return wf_error_errno(err, errno, "making the folder %s as user id %ld", path,
                              (long)geteuid());
    }
    return WF_OK;
}

/* initdb into a folder beside data/, then a rename: a killed init leaves nothing that
 * looks like a cluster. */
static enum wf_status init_cluster(struct cluster *c, struct wf_error *err)
{
    struct cluster fresh = *c;
    char program[PATH_MAX + 16];
    if (initialised(c)) {
        return WF_OK;
    }
    snprintf(fresh.data, sizeof fresh.data, "%s/new", c->folder);
    snprintf(program, sizeof program, "%s/initdb", c->bin);
    const char *const argv[] = { program,
                                 "--pgdata",
                                 fresh.data,
                                 "--username=postgres",
                                 "--auth=peer",
                                 "--encoding=UTF8",
                                 "--locale=C",
                                 "--data-checksums",
                                 "--no-instructions",
                                 NULL };
    enum wf_status status = make_folder(c->socket, 0755, err);
    if (status == WF_OK) {
        status = make_folder(c->log, 0700, err);
    }
    if (status == WF_OK) {
        status = wf_remove_tree(fresh.data, err);
    }
    if (status == WF_OK) {
        status = wf_run_program(argv, true, NULL, err);
    }
    if (status == WF_OK) {
        status = configure(&fresh, err);
    }
    if (status == WF_OK && rename(fresh.data, c->data) != 0) {
        status = wf_error_errno(err, errno, "renaming %s to %s", fresh.data, c->data);
    }
    return status;
}

static enum wf_status pg_ctl(const struct cluster *c,
                             const char *const *args,
                             bool must,
                             int *ret,
                             struct wf_error *err)
{
    char program[PATH_MAX + 16];
    const char *argv[16];
    size_t n = 0;
    snprintf(program, sizeof program, "%s/pg_ctl", c->bin);
    argv[n++] = program;
    argv[n++] = "--pgdata";
    argv[n++] = c->data;
    while (*args && n < 15) {
        argv[n++] = *args++;
    }
    argv[n] = NULL;
    return wf_run_program(argv, must, ret, err);
}

static enum wf_status running(const struct cluster *c,
                              enum wf_cluster_state *ret,
                              struct wf_error *err)
{
    static const char *const args[] = { "status", NULL };
    int code = 0;
    *ret = WF_CLUSTER_ABSENT;
    if (!initialised(c)) {
        return WF_OK;
    }
    enum wf_status status = pg_ctl(c, args, false, &code, err);
    if (status == WF_OK) {
        *ret = code == 0 ? WF_CLUSTER_RUNNING : WF_CLUSTER_STOPPED;
    }
    return status;
}

static enum wf_status make_database(const struct cluster *c, struct wf_error *err)
{
    struct wf_db *db = NULL;
    struct wf_rows *rows = NULL;
    struct wf_params p = WF_PARAMS_INIT;
    char *url = wf_asprintf("host=%s dbname=postgres user=postgres", c->socket);
    enum wf_status status = url ? wf_db_open(url, "wavefarm-db", &db, err)
                                : wf_errorf(err, WF_ENOMEM, "no memory");
    if (status == WF_OK) {
        status = wf_db_script(db, roles_sql, err);
    }
    if (status == WF_OK) {
        wf_param_text(&p, DATABASE);
        status = wf_db_run(db, WF_STMT_DATABASE_EXISTS, &p, &rows, err);
    }
    if (status == WF_OK && wf_rows_count(rows) == 0) {
        status = wf_db_script(db, "CREATE DATABASE " DATABASE " OWNER wavefarm", err);
    }
    wf_rows_free(rows);
    wf_db_close(db);
    free(url);
    return status;
}

static enum wf_status start_cluster(struct cluster *c, struct wf_error *err)
{
    char log[PATH_MAX + 48];
    enum wf_cluster_state state = WF_CLUSTER_ABSENT;
    enum wf_status status = init_cluster(c, err);
    snprintf(log, sizeof log, "%s/postgres.log", c->log);
    const char *const args[] = { "start", "-w", "-t", "60", "-s", "-l", log, NULL };
    if (status == WF_OK) {
        status = running(c, &state, err);
    }
    if (status == WF_OK && state != WF_CLUSTER_RUNNING) {
        status = pg_ctl(c, args, true, NULL, err);
        if (status != WF_OK) {
            return wf_error_prefix(err, "starting the database (its log: %s)", log);
        }
    }
    return status == WF_OK ? make_database(c, err) : status;
}

static enum wf_status as_init(void *ctx, struct wf_error *err)
{
    return init_cluster(ctx, err);
}

static enum wf_status as_start(void *ctx, struct wf_error *err)
{
    return start_cluster(ctx, err);
}

static enum wf_status as_stop(void *ctx, struct wf_error *err)
{
    static const char *const args[] = { "stop", "-w", "-t",   "60",
                                        "-s",   "-m", "fast", NULL };
    enum wf_cluster_state state = WF_CLUSTER_ABSENT;
    enum wf_status status = running(ctx, &state, err);
    if (status == WF_OK && state == WF_CLUSTER_RUNNING) {
        status = pg_ctl(ctx, args, true, NULL, err);
    }
    return status;
}

static enum wf_status as_status(void *ctx, struct wf_error *err)
{
    enum wf_cluster_state state = WF_CLUSTER_ABSENT;
    enum wf_status status = running(ctx, &state, err);
    wf_user_value((int)state);
    return status;
}

/* --- from outside --- */

/* The folder itself is made by us (root can, its owner may not) and given away. One
 * that is there already must belong to the owner. */
static enum wf_status give_folder(const struct cluster *c, struct wf_error *err)
{
    struct stat st;
    enum wf_status status = WF_OK;
    bool there = stat(c->folder, &st) == 0;
    if (!there) {
        status = wf_mkdir_parents(c->folder, err);
        if (status == WF_OK && c->user.switch_to &&
            chown(c->folder, c->user.uid, c->user.gid) != 0) {
            status = wf_error_errno(err, errno, "giving %s to user '%s'", c->folder,
                                    c->user.name);
        }
        return status;
    }
    if (!S_ISDIR(st.st_mode)) {
        return wf_errorf(err, WF_EINVAL, "%s is not a folder", c->folder);
    }
    if (st.st_uid == c->user.uid) {
        return WF_OK;
    }
    /* An empty folder of root's may be given; anything else is somebody's. */
    if (!(c->user.switch_to && st.st_uid == 0 && rmdir(c->folder) == 0)) {
        return wf_errorf(
            err, WF_EREFUSED,
            "%s belongs to user id %ld and is not empty, the database would "
            "run as '%s': choose another folder or --user",
            c->folder, (long)st.st_uid, c->user.name);
    }
    return give_folder(c, err);
}

static enum wf_status enter_folder(void *ctx, struct wf_error *err)
{
    const struct cluster *c = ctx;
    if (chdir(c->folder) != 0 || access(c->folder, R_OK | W_OK | X_OK) != 0) {
        return wf_error_errno(
            err, errno,
            "user '%s' cannot use the folder %s (each folder above it "
            "must let it pass: chmod o+x)",
            c->user.name, c->folder);
    }
    return WF_OK;
}

struct job {
    struct cluster *cluster;
    wf_user_fn fn;
};

static enum wf_status in_folder(void *ctx, struct wf_error *err)
{
    struct job *job = ctx;
    enum wf_status status = enter_folder(job->cluster, err);
    return status == WF_OK ? job->fn(job->cluster, err) : status;
}

static enum wf_status run(const struct wf_cluster_options *o,
                          wf_user_fn fn,
                          bool make,
                          int *ret_value,
                          struct wf_error *err)
{
    struct cluster *c = wf_calloc(1, sizeof *c);
    struct job job = { c, fn };
    enum wf_status status =
        c ? locate(o, c, err) : wf_errorf(err, WF_ENOMEM, "no memory");
    if (status == WF_OK && make) {
        status = give_folder(c, err);
    }
    if (status == WF_OK && (make || wf_file_exists(c->folder))) {
        status = wf_as_user(&c->user, in_folder, &job, ret_value, err);
    }
    free(c);
    return status;
}

enum wf_status wf_cluster_init(const struct wf_cluster_options *o, struct wf_error *err)
{
    return run(o, as_init, true, NULL, err);
}

enum wf_status wf_cluster_start(const struct wf_cluster_options *o,
                                struct wf_error *err)
{
    return run(o, as_start, true, NULL, err);
}

enum wf_status wf_cluster_stop(const struct wf_cluster_options *o, struct wf_error *err)
{
    return run(o, as_stop, false, NULL, err);
}

enum wf_status wf_cluster_status(const struct wf_cluster_options *o,
                                 enum wf_cluster_state *ret,
                                 struct wf_error *err)
{
    int value = WF_CLUSTER_ABSENT;
    enum wf_status status = run(o, as_status, false, &value, err);
    if (status == WF_OK) {
        *ret = (enum wf_cluster_state)value;
    }
    return status;
}
