/* wavefarm-coordinator serve: puts the parts together, waits for a signal, and takes
 * them apart in the order in which nothing acknowledged is lost. */
#include "coordinator/command.h"

#include "coordinator/auth.h"
#include "coordinator/blobs.h"
#include "coordinator/gate_worker.h"
#include "coordinator/http_server.h"
#include "coordinator/ingest.h"
#include "coordinator/metrics.h"
#include "coordinator/migrate.h"
#include "coordinator/reaper.h"
#include "coordinator/static_files.h"
#include "coordinator/workers.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DB_RETRY_MS 1000

struct service {
    struct wf_config *config;
    struct wf_app app;
    struct wf_reaper *reaper;
    struct wf_server *api, *metrics;
    struct wf_buf cert, key, client_ca;
    sigset_t signals;
};

static enum wf_log_level log_level(const char *name)
{
    switch (name[0]) {
    case 'd':
        return WF_LOG_DEBUG;
    case 'w':
        return WF_LOG_WARN;
    case 'e':
        return WF_LOG_ERROR;
    default:
        return WF_LOG_INFO;
    }
}

/* Signals are taken by sigtimedwait in this thread; no other thread gets them. */
static void block_signals(sigset_t *set)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, set, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

/* True: told to stop. A process that was stopped and goes on (SIGSTOP, a debugger)
 * finds its wait interrupted, which is no signal of the set. */
static bool wait_signal(const sigset_t *set, int64_t ms)
{
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };
    int got = -1;
    if (ms >= 0) {
        return sigtimedwait(set, NULL, &t) > 0;
    }
    do {
        got = sigwaitinfo(set, NULL);
    } while (got < 0 && errno == EINTR);
    return true;
}

/* --- the database at start --- */

static enum wf_status prepare_once(struct service *s,
                                   struct wf_db *db,
                                   struct wf_error *err)
{
    int applied = 0;
    enum wf_status status = WF_OK;
    if (wf_config_number(s->config, WF_SETTING_migrate)) {
        status = wf_migrate(db, &applied, err);
        if (status == WF_OK && applied > 0) {
            wf_log(WF_LOG_INFO, "database migrated applied=%d", applied);
        }
    }
    return status == WF_OK ? wf_schema_check(db, err) : status;
}

/* A database that is away is waited for; the API answers 503 until it is there.
 * ECANCELLED: told to stop. */
static enum wf_status prepare_database(struct service *s, struct wf_error *err)
{
    struct wf_db *db = NULL;
    bool said = false;
    enum wf_status status = wf_db_open(wf_config_text(s->config, WF_SETTING_db),
                                       "wavefarm-start", &db, err);
    while (status == WF_OK) {
        status = prepare_once(s, db, err);
        if (status != WF_ENETWORK) {
            break;
        }
        if (!said) {
            wf_log(WF_LOG_WARN, "%s (waiting for it)", err ? err->text : "");
            said = true;
        }
        status = wait_signal(&s->signals, DB_RETRY_MS) ? WF_ECANCELLED : WF_OK;
    }
    if (status == WF_OK && said) {
        wf_log(WF_LOG_INFO, "the database is there");
    }
    wf_db_close(db);
    return status;
}

/* --- parts --- */

static enum wf_status read_pem(const struct wf_config *c,
                               enum wf_setting setting,
                               struct wf_buf *ret,
                               struct wf_error *err)
{
    const char *path = wf_config_text(c, setting);
    return *path ? wf_file_read(path, 1 << 20, ret, err) : WF_OK;
}

static const char *pem(const struct wf_buf *b)
{
    return b->len ? b->data : NULL;
}

static enum wf_status write_port(const struct wf_config *c,
                                 enum wf_setting setting,
                                 int port,
                                 struct wf_error *err)
{
    const char *path = wf_config_text(c, setting);
    char text[16];
    int n = snprintf(text, sizeof text, "%d\n", port);
    return *path ? wf_file_write_atomic(path, text, (size_t)n, err) : WF_OK;
}

static enum wf_status listen_on(struct service *s,
                                bool metrics,
                                struct wf_server **ret,
                                struct wf_error *err)
{
    char host[64];
    struct wf_server_options o = { .app = &s->app,
                                   .host = host,
                                   .metrics_only = metrics };
    const char *text = wf_config_text(s->config, metrics ? WF_SETTING_metrics_listen
                                                         : WF_SETTING_listen);
    o.hide_metrics = *wf_config_text(s->config, WF_SETTING_metrics_listen) != '\0';
    if (!metrics) {
        o.tls_cert = pem(&s->cert);
        o.tls_key = pem(&s->key);
        o.tls_client_ca = pem(&s->client_ca);
    }
    enum wf_status status = wf_config_address(text, host, sizeof host, &o.port, err);
    status = status == WF_OK ? wf_server_start(&o, ret, err) : status;
    if (status == WF_OK) {
        wf_log(WF_LOG_INFO, "%s on %s://%s port=%d", metrics ? "metrics" : "API",
               o.tls_cert ? "https" : "http", host, wf_server_port(*ret));
        status = write_port(
            s->config, metrics ? WF_SETTING_metrics_port_file : WF_SETTING_port_file,
            wf_server_port(*ret), err);
    }
    return status;
}

/* The pages lie beside the program where nothing else was said. */
static enum wf_status open_pages(struct service *s, struct wf_error *err)
{
    const char *folder = wf_config_text(s->config, WF_SETTING_static);
    char *bin = NULL;
    char *beside = NULL;
    enum wf_status status = WF_OK;
    if (!*folder) {
        status = wf_executable_dir(&bin, err);
        beside = status == WF_OK ? wf_path_join(bin, "../share/wavefarm/pages") : NULL;
        folder = beside && wf_file_exists(beside) ? beside : "";
    } else if (strcmp(folder, "none") == 0) {
        folder = "";
    }
    status = status == WF_OK ? wf_static_open(folder, &s->app.pages, err) : status;
    free(bin);
    free(beside);
    return status;
}

static enum wf_status start_parts(struct service *s, struct wf_error *err)
{
    struct wf_app *app = &s->app;
    struct wf_workers_options w = {
        .app = app,
        .threads = (int)wf_config_number(s->config, WF_SETTING_workers),
        .queue = (size_t)wf_config_number(s->config, WF_SETTING_queue),
        .poll_period_ms = wf_config_number(s->config, WF_SETTING_poll_period),
        .step = wf_api_step,
    };
    app->config = s->config;
    app->complete = wf_server_complete;
    enum wf_status st = wf_auth_create(&app->auth, err);
    st = st == WF_OK ? wf_metrics_create(&app->metrics, err) : st;
    st = st == WF_OK ? wf_blobs_open(wf_config_text(s->config, WF_SETTING_blobs),
                                     &app->blobs, err)
                     : st;
    st = st == WF_OK ? open_pages(s, err) : st;
    st = st == WF_OK ? read_pem(s->config, WF_SETTING_tls_cert, &s->cert, err) : st;
    st = st == WF_OK ? read_pem(s->config, WF_SETTING_tls_key, &s->key, err) : st;
    st = st == WF_OK ? read_pem(s->config, WF_SETTING_tls_client_ca, &s->client_ca, err)
                     : st;
    st = st == WF_OK ? wf_workers_start(&w, &app->workers, err) : st;
    st = st == WF_OK ? wf_ingest_start(app, &app->ingest, err) : st;
    st = st == WF_OK && *wf_config_text(s->config, WF_SETTING_metrics_listen)
             ? listen_on(s, true, &s->metrics, err)
             : st;
    return st == WF_OK ? listen_on(s, false, &s->api, err) : st;
}

/* Long polls are answered, requests that are with workers end, results that were
 * received are committed and acknowledged; then the listeners close. */
static void stop_parts(struct service *s)
{
    struct wf_app *app = &s->app;
    wf_server_quiesce(s->api);
    wf_server_quiesce(s->metrics);
    wf_reaper_stop(s->reaper);
    if (app->workers) {
        wf_workers_drain(app->workers);
    }
    wf_server_idle(s->api);
    wf_server_idle(s->metrics);
    wf_server_destroy(s->api);
    wf_server_destroy(s->metrics);
    wf_ingest_stop(app->ingest);
    wf_workers_destroy(app->workers);
    wf_gate_worker_stop(app->gates);
    wf_static_close(app->pages);
    wf_blobs_close(app->blobs);
    wf_metrics_destroy(app->metrics);
    wf_auth_destroy(app->auth);
    wf_buf_free(&s->cert);
    wf_buf_free(&s->key);
    wf_buf_free(&s->client_ca);
}

/* Requests are answered before the database is there, so this comes while they may
 * already look at it. */
static enum wf_status start_gates(struct service *s, struct wf_error *err)
{
    struct wf_gate_worker *gates = NULL;
    enum wf_status status = wf_gate_worker_start(&s->app, &gates, err);
    if (status == WF_OK) {
        atomic_store(&s->app.gates, gates);
    }
    return status;
}

static enum wf_status serve(struct service *s, struct wf_error *err)
{
    enum wf_status status = start_parts(s, err);
    status = status == WF_OK ? prepare_database(s, err) : status;
    status = status == WF_OK ? wf_reaper_start(&s->app, &s->reaper, err) : status;
    status = status == WF_OK ? start_gates(s, err) : status;
    if (status == WF_OK) {
        wf_log(WF_LOG_INFO, "ready");
        (void)wait_signal(&s->signals, -1);
    }
    wf_log(WF_LOG_INFO, "stopping");
    stop_parts(s);
    return status == WF_ECANCELLED ? WF_OK : status;
}

int wf_command_serve(int argc, char **argv)
{
    struct wf_error err = { 0 };
    struct service *s = wf_calloc(1, sizeof *s);
    if (!s) {
        (void)wf_errorf(&err, WF_ENOMEM, "no memory");
        return wf_command_fail(&err, WF_EXIT_INFRA);
    }
    enum wf_status status =
        wf_command_config_load(argc, argv, NULL, NULL, &s->config, &err);
    if (status == WF_OK && !*wf_config_text(s->config, WF_SETTING_blobs)) {
        status = wf_errorf(&err, WF_EINVAL, "serve needs --blobs FOLDER");
    }
    int code = 0;
    if (status != WF_OK) {
        code = wf_command_fail(&err, WF_EXIT_USAGE);
    } else {
        wf_log_init("wavefarm-coordinator",
                    log_level(wf_config_text(s->config, WF_SETTING_log_level)));
        block_signals(&s->signals);
        if (serve(s, &err) != WF_OK) {
            code = wf_command_fail(&err, WF_EXIT_INFRA);
        }
    }
    wf_config_destroy(s->config);
    free(s);
    return code;
}
