/* HTTP calls: options, retries, and files around the transfers of http_client.c.
 *
 * Invariants: a final file appears only when it is whole; an attempt starts only within
 * the retry budget and while the caller has not cancelled; nothing that a caller passes
 * can end a header or a request line early. */
#include "core/http_client.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/http_transfer.h"
#include "core/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEFAULT_CONNECT_MS     5000
#define DEFAULT_TIMEOUT_MS     30000
#define DEFAULT_RESPONSE_BYTES (UINT64_C(64) << 20)
#define BACKOFF_BASE_MS        100
#define BACKOFF_CAP_MS         10000
#define CANCEL_LOOK_NS         INT64_C(20000000)
#define NS_PER_MS              INT64_C(1000000)

int64_t wf_http_now_ns(void)
{
    const struct wf_clock *clock = wf_clock_system();

    return clock->boot_ns(clock->ctx);
}

bool wf_http_is_cancelled(const struct wf_http *http)
{
    return http->cancel != NULL && *http->cancel != 0;
}

/* --- creation --- */

/* Nothing that could end a header line or a request line early. */
static bool is_header_safe(const char *text, unsigned char lowest)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < lowest || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static enum wf_status check_options(const struct wf_http_options *o,
                                    struct wf_error *err)
{
    if (o->base_url == NULL || (strncasecmp(o->base_url, "http://", 7) != 0 &&
                                strncasecmp(o->base_url, "https://", 8) != 0)) {
        return wf_errorf(
            err, WF_EINVAL,
            "\"%.128s\" is not a server address, expected http://host:port or "
            "https://host:port",
            o->base_url == NULL ? "" : o->base_url);
    }
    const char *host = strchr(o->base_url, ':') + 3;
    if (strchr("/:?#@", host[0]) != NULL) { /* the end of the text is in it too */
        return wf_errorf(err, WF_EINVAL,
                         "server address \"%.128s\" has no host, expected "
                         "http://host:port or https://host:port",
                         o->base_url);
    }
    if (!is_header_safe(o->base_url, 0x21)) {
        return wf_errorf(err, WF_EINVAL, "server address \"%.128s\" contains blanks",
                         o->base_url);
    }
    if (o->token != NULL && (o->token[0] == '\0' || !is_header_safe(o->token, 0x21))) {
        return wf_errorf(err, WF_EINVAL,
                         "the access token is empty or contains blanks or line ends");
    }
    if (o->connect_timeout_ms < 0 || o->timeout_ms < 0 || o->retry_budget_ms < 0) {
        return wf_errorf(err, WF_EINVAL, "an HTTP time-out is negative");
    }
    return WF_OK;
}

/* Copies the name of a file that must be readable; NULL stays NULL. */
static enum wf_status copy_file_name(const char *path,
                                     const char *what,
                                     char **ret,
                                     struct wf_error *err)
{
    if (path == NULL) {
        return WF_OK;
    }
    if (access(path, R_OK) != 0) {
        return wf_error_errno(err, errno, "cannot read %s %s", what, path);
    }
    *ret = wf_strdup(path);
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
}

static enum wf_status fill_client(struct wf_http *http,
                                  const struct wf_http_options *o,
                                  struct wf_error *err)
{
    enum wf_status status;
    size_t len = strlen(o->base_url);

    while (len > 0 && o->base_url[len - 1] == '/') {
        len--;
    }
    http->base_url = wf_strndup(o->base_url, len);
    if (o->token != NULL) {
        http->token_header = wf_asprintf("Authorization: Bearer %s", o->token);
    }
    if (http->base_url == NULL || (o->token != NULL && http->token_header == NULL)) {
        return wf_errorf(err, WF_ENOMEM, "no memory for an HTTP client");
    }
    status = wf_http_curl_create(&http->curl, err);
    if (status == WF_OK) {
        status = copy_file_name(o->ca_file, "CA file", &http->ca_file, err);
    }
    if (status == WF_OK) {
        status = copy_file_name(o->client_cert, "certificate", &http->client_cert, err);
    }
    if (status == WF_OK) {
        status = copy_file_name(o->client_key, "private key", &http->client_key, err);
    }
    return status;
}

enum wf_status wf_http_create(const struct wf_http_options *options,
                              struct wf_http **ret,
                              struct wf_error *err)
{
    enum wf_status status = check_options(options, err);
    struct wf_http *http;

    if (status != WF_OK) {
        return status;
    }
    http = wf_calloc(1, sizeof *http);
    if (http == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for an HTTP client");
    }
    status = fill_client(http, options, err);
    if (status != WF_OK) {
        wf_http_destroy(http);
        return status;
    }
    http->connect_timeout_ms = options->connect_timeout_ms > 0
                                   ? options->connect_timeout_ms
                                   : DEFAULT_CONNECT_MS;
    http->timeout_ms =
        options->timeout_ms > 0 ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    http->retry_budget_ms = options->retry_budget_ms;
    http->max_response_bytes = options->max_response_bytes > 0
                                   ? options->max_response_bytes
                                   : DEFAULT_RESPONSE_BYTES;
    http->cancel = options->cancel;
    *ret = http;
    return WF_OK;
}

void wf_http_destroy(struct wf_http *http)
{
    if (http == NULL) {
        return;
    }
    wf_http_curl_destroy(http->curl);
    free(http->base_url);
    if (http->token_header != NULL) {
        explicit_bzero(http->token_header, strlen(http->token_header));
    }
    free(http->token_header);
    free(http->ca_file);
    free(http->client_cert);
    free(http->client_key);
    free(http);
}

/* --- retries --- */

static int64_t pause_ms(const struct wf_http_transfer *t)
{
    uint64_t random = 0;
    int64_t wait;

    (void)wf_random_bytes(&random, sizeof random, NULL); /* 0 is a fair choice too */
    wait =
        wf_backoff_ms(t->answer.attempts - 1, BACKOFF_BASE_MS, BACKOFF_CAP_MS, random);
    return wait > t->retry_after_ms ? wait : t->retry_after_ms;
}

static enum wf_status cancelled(const struct wf_http_transfer *t, struct wf_error *err)
{
    return wf_errorf(err, WF_ECANCELLED, "%s %s%s: cancelled", t->method,
                     t->http->base_url, t->path);
}

/* False when cancelled meanwhile. */
static bool wait_until(const struct wf_http *http, int64_t until_ns)
{
    const struct wf_clock *clock = wf_clock_system();
    int64_t left;

    while (!wf_http_is_cancelled(http)) {
        left = until_ns - wf_http_now_ns();
        if (left <= 0) {
            return true;
        }
        clock->sleep_ns(clock->ctx, left < CANCEL_LOOK_NS ? left : CANCEL_LOOK_NS);
    }
    return false;
}

/* Sends until there is an answer that is not to be retried, or the budget is spent. */
static enum wf_status run(struct wf_http_transfer *t, struct wf_error *err)
{
    int64_t budget_end = wf_http_now_ns() + t->http->retry_budget_ms * NS_PER_MS;
    enum wf_status status;
    int64_t next_ns;

    for (;;) {
        if (wf_http_is_cancelled(t->http)) {
            return cancelled(t, err);
        }
        status = wf_http_attempt(t, err);
        if (!t->retryable || t->http->retry_budget_ms == 0) {
            return status;
        }
        next_ns = wf_http_now_ns() + pause_ms(t) * NS_PER_MS;
        if (next_ns > budget_end) {
            return status;
        }
        if (!wait_until(t->http, next_ns)) {
            return cancelled(t, err);
        }
    }
}

/* --- the three calls --- */

static enum wf_status check_path(const char *path, struct wf_error *err)
{
    if (path[0] != '/' || !is_header_safe(path, 0x21)) {
        return wf_errorf(
            err, WF_EINVAL,
            "\"%.128s\" is not a request path: it starts with '/' and has no "
            "blanks",
            path);
    }
    return WF_OK;
}

static enum wf_status check_request(const char *method,
                                    const char *path,
                                    const char *content_type,
                                    struct wf_error *err)
{
    if (method[0] == '\0' ||
        strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen(method)) {
        return wf_errorf(err, WF_EINVAL, "\"%.32s\" is not an HTTP method", method);
    }
    if (content_type != NULL &&
        (strlen(content_type) > 128 || !is_header_safe(content_type, 0x20))) {
        return wf_errorf(err, WF_EINVAL, "\"%.128s\" is not a content type",
                         content_type);
    }
    return check_path(path, err);
}

enum wf_status wf_http_request(struct wf_http *http,
                               const char *method,
                               const char *path,
                               const char *content_type,
                               const void *body,
                               size_t body_bytes,
                               int64_t extra_timeout_ms,
                               struct wf_http_response *ret,
                               struct wf_error *err)
{
    struct wf_http_transfer t = { .http = http,
                                  .method = method,
                                  .path = path,
                                  .content_type = content_type,
                                  .body = body,
                                  .body_bytes = body == NULL ? 0 : body_bytes,
                                  .timeout_ms = http->timeout_ms + extra_timeout_ms,
                                  .from_fd = -1,
                                  .to_fd = -1 };
    enum wf_status status = check_request(method, path, content_type, err);

    if (status != WF_OK) {
        return status;
    }
    status = run(&t, err);
    if (status != WF_OK) {
        wf_http_response_free(&t.answer);
        return status;
    }
    *ret = t.answer;
    return WF_OK;
}

/* Creates a file of its own: two downloads of one thing at a time do not mix. */
static enum wf_status open_part(const char *to_file,
                                char **ret_name,
                                int *ret_fd,
                                struct wf_error *err)
{
    static atomic_uint counter;
    char *name = wf_asprintf("%s.%ld-%u.part", to_file, (long)getpid(),
                             atomic_fetch_add(&counter, 1));
    enum wf_status status;
    int fd;

    if (name == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory to download %s", to_file);
    }
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        status = wf_error_errno(err, errno, "cannot create %s", name);
        free(name);
        return status;
    }
    *ret_name = name;
    *ret_fd = fd;
    return WF_OK;
}

/* Any answer that is not 200 has no file in it. */
static enum wf_status check_download(const struct wf_http_transfer *t,
                                     struct wf_error *err)
{
    enum wf_status status = wf_http_check(&t->answer, err);

    if (status == WF_OK && t->answer.status != 200) {
        status = wf_errorf(err, WF_ENETWORK, "the server answered %ld, expected 200",
                           t->answer.status);
    }
    if (status != WF_OK) {
        (void)wf_error_prefix(err, "GET %s%s", t->http->base_url, t->path);
    }
    return status;
}

static enum wf_status keep_part(int fd,
                                const char *part,
                                const char *to_file,
                                struct wf_error *err)
{
    if (fsync(fd) != 0) {
        return wf_error_errno(err, errno, "cannot sync %s", part);
    }
    if (rename(part, to_file) != 0) {
        return wf_error_errno(err, errno, "cannot rename %s to %s", part, to_file);
    }
    return WF_OK;
}

enum wf_status wf_http_download(struct wf_http *http,
                                const char *path,
                                const char *to_file,
                                struct wf_error *err)
{
    struct wf_http_transfer t = { .http = http,
                                  .method = "GET",
                                  .path = path,
                                  .stall_timeout_ms = http->timeout_ms,
                                  .from_fd = -1 };
    char *part = NULL;
    enum wf_status status = check_path(path, err);

    if (status == WF_OK) {
        status = open_part(to_file, &part, &t.to_fd, err);
    }
    if (part == NULL) {
        return status;
    }
    status = run(&t, err);
    if (status == WF_OK) {
        status = check_download(&t, err);
    }
    if (status == WF_OK) {
        status = keep_part(t.to_fd, part, to_file, err);
    }
    (void)close(t.to_fd);
    if (status != WF_OK) {
        (void)unlink(part);
    }
    free(part);
    wf_http_response_free(&t.answer);
    return status;
}

enum wf_status wf_http_upload(struct wf_http *http,
                              const char *path,
                              const char *from_file,
                              struct wf_error *err)
{
    struct wf_http_transfer t = { .http = http,
                                  .method = "PUT",
                                  .path = path,
                                  .content_type = "application/octet-stream",
                                  .stall_timeout_ms = http->timeout_ms,
                                  .to_fd = -1 };
    enum wf_status status = check_path(path, err);

    if (status == WF_OK) {
        status = wf_file_size(from_file, &t.from_bytes, err);
    }
    if (status != WF_OK) {
        return status;
    }
    t.from_fd = open(from_file, O_RDONLY | O_CLOEXEC);
    if (t.from_fd < 0) {
        return wf_error_errno(err, errno, "cannot open %s", from_file);
    }
    status = run(&t, err);
    if (status == WF_OK) {
        status = wf_http_check(&t.answer, err);
        if (status != WF_OK) {
            (void)wf_error_prefix(err, "PUT %s%s", http->base_url, path);
        }
    }
    (void)close(t.from_fd);
    wf_http_response_free(&t.answer);
    return status;
}
