/* Reading requests and sending replies.
 *
 * The library calls access() for a request several times: when the headers are there,
 * for each part of the body, when it is complete, and after each resume. The phase says
 * where we are. A connection is suspended while a worker has its request; complete()
 * resumes it. No call blocks on the database. LISTENING_ADDRESS_REUSE shares ports. */
#include "coordinator/http_server.h"

#include "coordinator/auth.h"
#include "coordinator/blobs.h"
#include "coordinator/http_check.h"
#include "coordinator/metrics.h"
#include "coordinator/tls_peer.h"
#include "coordinator/workers.h"
#include "core/clock.h"
#include "core/parse.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A body beyond the limit is read and thrown away up to this factor, so that the client
 * gets the 413 instead of a reset connection. */
#define DISCARD_FACTOR 4u

#define LAST_REPLIES_S 3

enum phase {
    PHASE_ASKED, /* the token is being looked up, before the body is read */
    PHASE_BODY,
    PHASE_WORKING, /* a worker has it */
    PHASE_READY    /* the reply is filled in */
};

struct exchange {
    struct wf_request req; /* first: complete() gets a pointer to it */
    struct wf_server *server;
    struct MHD_Connection *connection;
    enum phase phase;
    bool has_body; /* Content-Length above 0, or chunked */
    bool too_large;
    bool replying; /* counted in the server's */
    uint64_t received;
    uint64_t limit;
};

struct wf_server {
    struct wf_server_options o;
    struct MHD_Daemon *daemon;
    int port;
    char *pem[3];  /* certificate, key, authority: the library keeps the pointers */
    int listen_fd; /* ours after quiesce; -1 before */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    size_t away;     /* requests that are suspended */
    size_t replying; /* that were resumed with a reply and are not done */
    bool stopping;   /* nothing is suspended any more: the daemon must not end then */
};

/* --- replies --- */

static void page_headers(struct MHD_Response *response)
{
    MHD_add_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cache-Control", "no-cache");
}

static void add_headers(struct MHD_Response *response, const struct wf_request *req)
{
    char number[24];
    if (req->content_type) {
        MHD_add_response_header(response, "Content-Type", req->content_type);
    }
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (req->page) {
        page_headers(response);
    } else {
        MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    if (req->retry_after_s > 0) {
        snprintf(number, sizeof number, "%d", req->retry_after_s);
        MHD_add_response_header(response, "Retry-After", number);
    }
    if (req->location[0]) {
        MHD_add_response_header(response, "Location", req->location);
    }
    if (req->allow[0]) {
        MHD_add_response_header(response, "Allow", req->allow);
    }
    if (req->status == 401) {
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    }
}

static enum MHD_Result send_reply(struct exchange *x)
{
    struct wf_request *req = &x->req;
    struct MHD_Response *response;
    if (req->fd >= 0) {
        response = MHD_create_response_from_fd64(req->fd_bytes, req->fd);
        req->fd = response ? -1 : req->fd;
    } else {
        response = MHD_create_response_from_buffer(req->reply.len, req->reply.data,
                                                   MHD_RESPMEM_MUST_FREE);
        if (response) {
            req->reply = (struct wf_buf)WF_BUF_INIT;
        }
    }
    if (!response) {
        return MHD_NO;
    }
    add_headers(response, req);
    enum MHD_Result result =
        MHD_queue_response(x->connection, (unsigned)req->status, response);
    MHD_destroy_response(response);
    return result;
}

void wf_server_complete(struct wf_request *req)
{
    struct exchange *x = (struct exchange *)(void *)req;
    struct wf_server *s = x->server;
    x->phase = PHASE_READY;
    /* Resumed under the lock: destroy waits for it before it stops the library. */
    pthread_mutex_lock(&s->lock);
    if (!x->replying) {
        x->replying = true;
        s->replying++;
    }
    MHD_resume_connection(x->connection);
    s->away--;
    pthread_cond_signal(&s->idle);
    pthread_mutex_unlock(&s->lock);
}

/* --- the start of a request --- */

struct query_walk {
    struct wf_request *req;
    bool bad;
};

static enum MHD_Result take_query(void *cls,
                                  enum MHD_ValueKind kind,
                                  const char *key,
                                  const char *value)
{
    struct query_walk *walk = cls;
    struct wf_request *req = walk->req;
    (void)kind;
    value = value ? value : "";
    if (req->query_count == WF_QUERY_MAX || strlen(key) >= sizeof req->query[0].name ||
        strlen(value) >= sizeof req->query[0].value) {
        walk->bad = true;
        return MHD_NO;
    }
    struct wf_query *q = &req->query[req->query_count++];
    snprintf(q->name, sizeof q->name, "%s", key);
    snprintf(q->value, sizeof q->value, "%s", value);
    return MHD_YES;
}

/* False: a problem was filled in. */
static bool check_query(struct exchange *x)
{
    struct query_walk walk = { &x->req, false };
    const char *known = x->req.route->query;
    if (strcmp(known, "*") == 0) {
        return true;
    }
    MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, take_query, &walk);
    if (walk.bad) {
        wf_problem(&x->req, 422, "invalid", "too many or too long query parameters");
        return false;
    }
    return wf_http_query_known(&x->req);
}

static void take_token(struct exchange *x)
{
    const char *value =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Authorization");
    wf_http_take_token(&x->req, value);
}

static bool listener_has(const struct wf_server *s, const struct wf_route *route)
{
    bool metrics = strcmp(route->name, "metrics") == 0;
    if (s->o.metrics_only) {
        return metrics || strcmp(route->name, "healthz") == 0;
    }
    return !(metrics && s->o.hide_metrics);
}

static bool find_route(struct exchange *x, const char *method, const char *path)
{
    int found = wf_route_match(method, path, &x->req.route, x->req.param, x->req.allow);
    if (found == 200 && !listener_has(x->server, x->req.route)) {
        x->req.route = NULL;
        found = 404;
    }
    if (found == 405) {
        wf_problem(&x->req, 405, "method", "%s is not for %s; allowed: %s", method,
                   path, x->req.allow);
        return false;
    }
    x->req.allow[0] = '\0';
    if (found == 404) {
        wf_problem(&x->req, 404, "not-found", "there is nothing at %s %.200s", method,
                   path);
    }
    return found == 200;
}

static bool tls_peer_ok(struct exchange *x)
{
    if (!x->server->o.tls_client_ca) {
        return true;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (wf_tls_peer_verified(info ? info->tls_session : NULL)) {
        return true;
    }
    wf_problem(&x->req, 401, "client-certificate",
               "this server wants a client certificate of its authority");
    return false;
}

/* Sets the body's limit; false when it is known to be far too long. */
static bool check_length(struct exchange *x)
{
    const struct wf_config *config = x->server->o.app->config;
    const char *length =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Content-Length");
    const char *coding = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND,
                                                     "Transfer-Encoding");
    uint64_t n = 0;
    x->limit = wf_http_body_limit(x->req.route->body, config);
    if (length &&
        wf_parse_u64(length, "Content-Length", 0, UINT64_MAX, &n, NULL) != WF_OK) {
        wf_problem(&x->req, 400, "bad-length", "Content-Length is not a number");
        return false;
    }
    x->has_body = n > 0 || coding;
    if (n > x->limit) {
        wf_problem(&x->req, 413, "too-large",
                   "the body has %llu bytes, %s %s takes at most %llu",
                   (unsigned long long)n, x->req.route->method, x->req.route->path,
                   (unsigned long long)x->limit);
        x->too_large = true;
        return n <= DISCARD_FACTOR * x->limit; /* then it is read and dropped */
    }
    return true;
}

static bool start_upload(struct exchange *x)
{
    struct wf_error err = { 0 };
    if (x->req.route->body != WF_BLOB_BODY || x->too_large) {
        return true;
    }
    if (wf_blob_upload_begin(x->server->o.app->blobs, &x->req.upload, &err) == WF_OK) {
        return true;
    }
    wf_problem_from_error(&x->req, &err);
    return false;
}

static enum MHD_Result reply_now(struct exchange *x)
{
    x->phase = PHASE_READY;
    return send_reply(x);
}

/* Hands the request to a worker and suspends. A connection that stays open may bring a
 * request while the server stops: that one is sent away at once. */
static enum MHD_Result hand_over(struct exchange *x, enum phase phase)
{
    pthread_mutex_lock(&x->server->lock);
    bool stopping = x->server->stopping;
    x->server->away += stopping ? 0 : 1;
    pthread_mutex_unlock(&x->server->lock);
    if (stopping) {
        x->req.retry_after_s = 1;
        wf_problem(&x->req, 503, "stopping", "the coordinator stops; try again");
        return reply_now(x);
    }
    x->phase = phase;
    x->req.ask_only = phase == PHASE_ASKED;
    MHD_suspend_connection(x->connection);
    if (!wf_workers_submit(x->server->o.app->workers, &x->req)) {
        x->req.retry_after_s = 1;
        wf_problem(&x->req, 503, "busy", "too many requests wait; try again");
        wf_server_complete(&x->req);
    }
    return MHD_YES;
}

/* Headers are there. A request with a body is let in only with a good token. */
static enum MHD_Result first_call(struct exchange *x,
                                  const char *method,
                                  const char *path)
{
    struct wf_request *req = &x->req;
    if (!find_route(x, method, path) || !tls_peer_ok(x) || !check_query(x) ||
        !check_length(x)) {
        return reply_now(x);
    }
    x->phase = PHASE_BODY;
    take_token(x);
    if (req->route->who != 0) {
        if (!wf_token_is_formed(req->token)) {
            wf_problem(req, 401, "no-token",
                       "%s %s needs 'Authorization: Bearer <token>'%s",
                       req->route->method, req->route->path,
                       req->token[0] ? "; this one is not a token of WaveFarm" : "");
            return reply_now(x);
        }
        if (wf_auth_cached(x->server->o.app->auth, req->token, &req->token_id,
                           &req->role)) {
            if (!wf_api_allowed(req)) {
                return reply_now(x);
            }
        } else if (x->has_body) {
            return hand_over(x, PHASE_ASKED);
        }
    }
    return start_upload(x) ? MHD_YES : reply_now(x);
}

/* --- the body --- */

static void take_body(struct exchange *x, const char *data, size_t n)
{
    struct wf_request *req = &x->req;
    struct wf_error err = { 0 };
    x->received += n;
    if (x->received > x->limit && !x->too_large) {
        x->too_large = true;
        wf_buf_free(&req->body);
        wf_problem(req, 413, "too-large", "the body is longer than %llu bytes",
                   (unsigned long long)x->limit);
    }
    if (x->too_large || req->status != 0) {
        return;
    }
    enum wf_status status = req->upload
                                ? wf_blob_upload_data(req->upload, data, n, &err)
                                : wf_buf_add(&req->body, data, n, &err);
    if (status != WF_OK) {
        wf_problem_from_error(req, &err);
    }
}

/* The worker has looked at the token and it is good: the body may come. */
static bool admitted(const struct exchange *x)
{
    return x->phase == PHASE_READY && x->req.status == 0 && x->req.authorised;
}

static struct exchange *exchange_create(struct wf_server *s, struct MHD_Connection *c)
{
    struct exchange *x = wf_calloc(1, sizeof *x);
    if (x) {
        x->server = s;
        x->connection = c;
        x->req.connection = c;
        x->req.fd = -1;
        x->req.started_ns = wf_monotonic_ns();
    }
    return x;
}

static enum MHD_Result access_request(void *cls,
                                      struct MHD_Connection *connection,
                                      const char *url,
                                      const char *method,
                                      const char *version,
                                      const char *data,
                                      size_t *data_size,
                                      void **state)
{
    struct exchange *x = *state;
    (void)version;
    if (!x) {
        x = exchange_create(cls, connection);
        *state = x;
        return x ? first_call(x, method, url) : MHD_NO;
    }
    if (admitted(x)) {
        x->phase = PHASE_BODY;
        if (!start_upload(x)) {
            return reply_now(x);
        }
        if (*data_size == 0) {
            return MHD_YES; /* the call of the headers again: the body follows */
        }
    }
    if (x->phase == PHASE_READY) {
        if (*data_size > 0) { /* refused in the middle of the body: drop the rest */
            *data_size = 0;
            return MHD_YES;
        }
        return send_reply(x);
    }
    if (x->phase != PHASE_BODY) {
        return MHD_YES;
    }
    if (*data_size > 0) {
        take_body(x, data, *data_size);
        *data_size = 0;
        return MHD_YES;
    }
    return x->req.status != 0 ? reply_now(x) : hand_over(x, PHASE_WORKING);
}

static void request_done(void *cls,
                         struct MHD_Connection *connection,
                         void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct wf_server *s = cls;
    struct exchange *x = *state;
    (void)connection;
    (void)code;
    if (!x) {
        return;
    }
    if (x->replying) {
        pthread_mutex_lock(&s->lock);
        s->replying--;
        pthread_cond_signal(&s->idle);
        pthread_mutex_unlock(&s->lock);
    }
    wf_metrics_request(s->o.app->metrics, x->req.route, x->req.status,
                       wf_monotonic_ns() - x->req.started_ns);
    wf_blob_upload_abort(x->req.upload);
    wf_buf_free(&x->req.body);
    wf_buf_free(&x->req.reply);
    free(x);
    *state = NULL;
}

/* --- the listener --- */

/* Percent-decoding in place. A path with an encoded zero byte would be cut there: it is
 * left as it is and then matches no route. */
static size_t unescape(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static void quiet_log(void *cls, const char *fmt, va_list ap)
{
    (void)cls;
    (void)fmt;
    (void)ap;
}

static enum wf_status start_daemon(struct wf_server *s,
                                   struct sockaddr_storage *address,
                                   struct wf_error *err)
{
    const struct wf_server_options *o = &s->o;
    const struct wf_config *config = o->app->config;
    struct MHD_OptionItem tls[4] = { { MHD_OPTION_END, 0, NULL } };
    size_t n = 0;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | MHD_USE_ITC |
                     (address->ss_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    const char *const pem[] = { o->tls_cert, o->tls_key, o->tls_client_ca };
    const enum MHD_OPTION option[] = { MHD_OPTION_HTTPS_MEM_CERT,
                                       MHD_OPTION_HTTPS_MEM_KEY,
                                       MHD_OPTION_HTTPS_MEM_TRUST };
    for (size_t i = 0; i < 3 && o->tls_cert; i++) {
        if (pem[i]) {
            s->pem[i] = wf_strdup(pem[i]);
            tls[n++] = (struct MHD_OptionItem){ option[i], 0, s->pem[i] };
        }
    }
    tls[n] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
    s->daemon = MHD_start_daemon(
        flags | (o->tls_cert ? MHD_USE_TLS : 0u), (uint16_t)o->port, NULL, NULL,
        access_request, s, MHD_OPTION_EXTERNAL_LOGGER, quiet_log, NULL,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_SOCK_ADDR,
        (struct sockaddr *)(void *)address, MHD_OPTION_NOTIFY_COMPLETED, request_done,
        s, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)(o->metrics_only ? 1
                                   : wf_config_number(config, WF_SETTING_http_threads)),
        MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)wf_config_number(config, WF_SETTING_connections),
        MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)wf_config_number(config, WF_SETTING_connections_per_ip),
        MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(wf_config_number(config, WF_SETTING_idle_timeout) / 1000),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32 * 1024, MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
    if (!s->daemon) {
        return wf_errorf(err, WF_ENETWORK,
                         "cannot listen on %s port %d%s: is the port taken, or the "
                         "certificate wrong?",
                         o->host, o->port, o->tls_cert ? " with TLS" : "");
    }
    return WF_OK;
}

static void free_server(struct wf_server *s)
{
    for (size_t i = 0; i < 3; i++) {
        free(s->pem[i]);
    }
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->idle);
    free(s);
}

enum wf_status wf_server_start(const struct wf_server_options *o,
                               struct wf_server **ret,
                               struct wf_error *err)
{
    struct sockaddr_storage address;
    struct wf_server *s = wf_calloc(1, sizeof *s);
    if (!s) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the server");
    }
    s->o = *o;
    s->listen_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->idle, NULL);
    enum wf_status status = wf_http_address(o->host, o->port, &address, err);
    if (status == WF_OK && o->tls_cert &&
        MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        status = wf_errorf(err, WF_EUNSUPPORTED, "libmicrohttpd was built without TLS");
    }
    if (status == WF_OK) {
        status = start_daemon(s, &address, err);
    }
    if (status != WF_OK) {
        free_server(s);
        return status;
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = info && info->port ? info->port : o->port;
    *ret = s;
    return WF_OK;
}

int wf_server_port(const struct wf_server *s)
{
    return s->port;
}

void wf_server_quiesce(struct wf_server *s)
{
    if (s && s->listen_fd < 0) {
        s->listen_fd = MHD_quiesce_daemon(s->daemon);
    }
}

void wf_server_idle(struct wf_server *s)
{
    if (!s) {
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    while (s->away > 0) {
        pthread_cond_wait(&s->idle, &s->lock);
    }
    /* Replies are on their way; a client that does not read is not waited for. */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_REPLIES_S;
    while (s->replying > 0 && pthread_cond_timedwait(&s->idle, &s->lock, &until) == 0) {
    }
    pthread_mutex_unlock(&s->lock);
}

void wf_server_destroy(struct wf_server *s)
{
    if (s) {
        MHD_stop_daemon(s->daemon);
        if (s->listen_fd >= 0) {
            close(s->listen_fd);
        }
        free_server(s);
    }
}
