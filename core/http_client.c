/* HTTP transfers over libcurl; the only file that includes curl.h. Options, retries and
 * files are in http_calls.c, what an answer means is in http_answer.c.
 *
 * One struct wf_http_transfer describes a request and where its answer goes, to memory
 * or to a file; it is sent again as a whole on each attempt. Redirects are not
 * followed, so the token reaches only the host that the user has named. Error texts
 * hold the method and the URL, never the token. */
#include "core/http_client.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/http_transfer.h"
#include "core/parse.h"

#include <curl/curl.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define RETRY_AFTER_MAX_S 86400
#define NS_PER_MS         INT64_C(1000000)
#define ERROR_BODY_BYTES  (UINT64_C(64) << 10)

_Static_assert(sizeof((struct wf_http_transfer *)NULL)->curl_text >= CURL_ERROR_SIZE,
               "libcurl writes up to CURL_ERROR_SIZE bytes");

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_once_result;

static void curl_start(void)
{
    curl_once_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

enum wf_status wf_http_curl_create(void **ret, struct wf_error *err)
{
    CURL *curl;

    if (pthread_once(&curl_once, curl_start) != 0 || curl_once_result != CURLE_OK) {
        return wf_errorf(err, WF_EINTERNAL, "libcurl cannot start");
    }
    curl = curl_easy_init();
    if (curl == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for an HTTP client");
    }
    *ret = curl;
    return WF_OK;
}

void wf_http_curl_destroy(void *curl)
{
    curl_easy_cleanup(curl);
}

/* --- callbacks --- */

static long answer_status(const struct wf_http_transfer *t)
{
    long status = 0;

    (void)curl_easy_getinfo(t->http->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static enum wf_status keep_in_memory(struct wf_http_transfer *t,
                                     const char *data,
                                     size_t n)
{
    uint64_t room = t->http->max_response_bytes - t->answer.body.len;

    if (t->to_fd >= 0) { /* only an error's text: a part of it is good enough */
        room = ERROR_BODY_BYTES - t->answer.body.len;
        n = n < room ? n : (size_t)room;
    }
    if (n > room) {
        return wf_errorf(&t->local_error, WF_EINVAL,
                         "the answer is larger than %" PRIu64 " bytes",
                         t->http->max_response_bytes);
    }
    return wf_buf_add(&t->answer.body, data, n, &t->local_error);
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    struct wf_http_transfer *t = ctx;
    size_t n = size * count;

    if (t->to_fd >= 0 && answer_status(t) == 200) {
        t->local_status =
            wf_write_all(t->to_fd, data, n, "the downloaded file", &t->local_error);
    } else {
        t->local_status = keep_in_memory(t, data, n);
    }
    return t->local_status == WF_OK ? n : 0;
}

static size_t on_header(char *line, size_t size, size_t count, void *ctx)
{
    static const char name[] = "retry-after:";
    struct wf_http_transfer *t = ctx;
    size_t n = size * count;
    char text[32];
    int64_t seconds;
    size_t start = sizeof name - 1;
    size_t end = n;

    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        t->retry_after_ms = 0; /* a new answer, after a 100 for instance */
    }
    if (n <= start || strncasecmp(line, name, start) != 0) {
        return n;
    }
    while (start < end && line[start] == ' ') {
        start++;
    }
    while (end > start && (unsigned char)line[end - 1] <= ' ') {
        end--;
    }
    if (end - start >= sizeof text) {
        return n;
    }
    memcpy(text, line + start, end - start);
    text[end - start] = '\0';
    /* The other form, a date, would need the two clocks to agree. */
    if (wf_parse_i64(text, "Retry-After", 0, RETRY_AFTER_MAX_S, &seconds, NULL) ==
        WF_OK) {
        t->retry_after_ms = seconds * 1000;
    }
    return n;
}

static size_t on_read(char *data, size_t size, size_t count, void *ctx)
{
    struct wf_http_transfer *t = ctx;
    ssize_t n;

    do {
        n = pread(t->from_fd, data, size * count, (off_t)t->from_pos);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        t->local_status =
            wf_error_errno(&t->local_error, errno, "cannot read the file to upload");
        return CURL_READFUNC_ABORT;
    }
    if (n == 0 && t->from_pos < t->from_bytes) {
        t->local_status = wf_errorf(&t->local_error, WF_EIO,
                                    "the file to upload became shorter meanwhile");
        return CURL_READFUNC_ABORT;
    }
    t->from_pos += (uint64_t)n;
    return (size_t)n;
}

static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct wf_http_transfer *t = ctx;

    if (origin != SEEK_SET || offset < 0) {
        return CURL_SEEKFUNC_CANTSEEK;
    }
    t->from_pos = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static int on_progress(void *ctx,
                       curl_off_t down_total,
                       curl_off_t down,
                       curl_off_t up_total,
                       curl_off_t up)
{
    struct wf_http_transfer *t = ctx;
    int64_t now = wf_http_now_ns();

    (void)down_total;
    (void)up_total;
    if (wf_http_is_cancelled(t->http)) {
        return 1;
    }
    if (t->moved_at_ns == 0 || down + up != t->moved_bytes) {
        t->moved_bytes = down + up;
        t->moved_at_ns = now;
    }
    t->stalled = t->stall_timeout_ms > 0 &&
                 now - t->moved_at_ns > t->stall_timeout_ms * NS_PER_MS;
    return t->stalled ? 1 : 0;
}

/* --- one attempt --- */

/* Appends a header; false: no memory. */
static bool add_header(struct curl_slist **list, const char *header)
{
    struct curl_slist *grown = curl_slist_append(*list, header);

    if (grown == NULL) {
        return false;
    }
    *list = grown;
    return true;
}

static bool make_headers(const struct wf_http_transfer *t, struct curl_slist **list)
{
    char line[160];

    if (t->http->token_header != NULL && !add_header(list, t->http->token_header)) {
        return false;
    }
    /* A large upload asks first, so that a refusal comes before the bytes. */
    if (t->from_fd < 0 && !add_header(list, "Expect:")) {
        return false;
    }
    if (t->content_type == NULL) {
        return t->body == NULL || add_header(list, "Content-Type:");
    }
    (void)snprintf(line, sizeof line, "Content-Type: %s", t->content_type);
    return add_header(list, line);
}

static bool set_method(struct wf_http_transfer *t)
{
    CURL *c = t->http->curl;
    bool takes_body = strcmp(t->method, "POST") == 0 || strcmp(t->method, "PUT") == 0 ||
                      strcmp(t->method, "PATCH") == 0;
    bool bad = false;

    if (strcmp(t->method, "HEAD") == 0) {
        return curl_easy_setopt(c, CURLOPT_NOBODY, 1L) == CURLE_OK;
    }
    if (t->from_fd >= 0) {
        bad |= curl_easy_setopt(c, CURLOPT_UPLOAD, 1L) != CURLE_OK;
        bad |= curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read) != CURLE_OK;
        bad |= curl_easy_setopt(c, CURLOPT_READDATA, t) != CURLE_OK;
        bad |= curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek) != CURLE_OK;
        bad |= curl_easy_setopt(c, CURLOPT_SEEKDATA, t) != CURLE_OK;
        bad |= curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE,
                                (curl_off_t)t->from_bytes) != CURLE_OK;
    } else if (t->body != NULL || takes_body) {
        bad |= curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
                                (curl_off_t)t->body_bytes) != CURLE_OK;
        bad |= curl_easy_setopt(c, CURLOPT_POSTFIELDS,
                                t->body == NULL ? "" : t->body) != CURLE_OK;
    }
    bad |= curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, t->method) != CURLE_OK;
    return !bad;
}

static bool set_limits(struct wf_http_transfer *t)
{
    const struct wf_http *http = t->http;
    CURL *c = http->curl;
    bool bad = false;

    bad |= curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                            (long)http->connect_timeout_ms) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)t->timeout_ms) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_USERAGENT, "wavefarm") != CURLE_OK;
    if (http->ca_file != NULL) {
        bad |= curl_easy_setopt(c, CURLOPT_CAINFO, http->ca_file) != CURLE_OK;
    }
    if (http->client_cert != NULL) {
        bad |= curl_easy_setopt(c, CURLOPT_SSLCERT, http->client_cert) != CURLE_OK;
    }
    if (http->client_key != NULL) {
        bad |= curl_easy_setopt(c, CURLOPT_SSLKEY, http->client_key) != CURLE_OK;
    }
    return !bad;
}

static bool set_callbacks(struct wf_http_transfer *t)
{
    CURL *c = t->http->curl;
    bool bad = false;

    bad |= curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->curl_text) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_WRITEDATA, t) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_HEADERDATA, t) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress) != CURLE_OK;
    bad |= curl_easy_setopt(c, CURLOPT_XFERINFODATA, t) != CURLE_OK;
    return !bad;
}

static void reset_attempt(struct wf_http_transfer *t)
{
    wf_buf_clear(&t->answer.body);
    t->retry_after_ms = 0;
    t->retryable = false;
    t->moved_bytes = 0;
    t->moved_at_ns = 0;
    t->stalled = false;
    t->local_status = WF_OK;
    t->from_pos = 0;
    t->curl_text[0] = '\0';
}

static bool is_connection_failure(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_OPERATION_TIMEDOUT ||
           code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
           code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE ||
           code == CURLE_SSL_CONNECT_ERROR;
}

static enum wf_status status_of_curl(const struct wf_http_transfer *t, CURLcode code)
{
    if (code == CURLE_OPERATION_TIMEDOUT || t->stalled) {
        return WF_ETIMEOUT;
    }
    if (code == CURLE_ABORTED_BY_CALLBACK) {
        return WF_ECANCELLED;
    }
    if (code == CURLE_OUT_OF_MEMORY) {
        return WF_ENOMEM;
    }
    if (code == CURLE_URL_MALFORMAT) {
        return WF_EINVAL;
    }
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
        code == CURLE_SSL_CACERT_BADFILE) {
        return WF_EREFUSED;
    }
    return WF_ENETWORK;
}

static enum wf_status curl_failed(struct wf_http_transfer *t,
                                  CURLcode code,
                                  struct wf_error *err)
{
    enum wf_status status = status_of_curl(t, code);
    const char *said =
        t->curl_text[0] != '\0' ? t->curl_text : curl_easy_strerror(code);

    if (t->local_status != WF_OK) {
        return wf_errorf(err, t->local_status, "%s %s%s: %s", t->method,
                         t->http->base_url, t->path, t->local_error.text);
    }
    t->retryable = is_connection_failure(code) || t->stalled;
    if (t->stalled) {
        said = "no byte has moved within the time-out";
    } else if (status == WF_ECANCELLED) {
        said = "cancelled";
    }
    (void)wf_errorf(err, status, "%s %s%s: %s (attempt %d)", t->method,
                    t->http->base_url, t->path, said, t->answer.attempts);
    if (err != NULL) {
        err->native = (int)code;
        (void)snprintf(err->domain, sizeof err->domain, "curl");
    }
    return status;
}

static void take_answer(struct wf_http_transfer *t)
{
    const char *type = NULL;

    t->answer.status = answer_status(t);
    (void)curl_easy_getinfo(t->http->curl, CURLINFO_CONTENT_TYPE, &type);
    (void)snprintf(t->answer.content_type, sizeof t->answer.content_type, "%s",
                   type == NULL ? "" : type);
    t->retryable = t->answer.status == 429 || t->answer.status == 502 ||
                   t->answer.status == 503 || t->answer.status == 504;
}

static enum wf_status perform(struct wf_http_transfer *t,
                              const char *url,
                              struct wf_error *err)
{
    CURL *c = t->http->curl;
    struct curl_slist *headers = NULL;
    enum wf_status status = WF_OK;
    CURLcode code;

    curl_easy_reset(c); /* options only: open connections stay */
    if (curl_easy_setopt(c, CURLOPT_URL, url) != CURLE_OK || !set_method(t) ||
        !set_limits(t) || !set_callbacks(t) || !make_headers(t, &headers) ||
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers) != CURLE_OK) {
        status = wf_errorf(err, WF_ENOMEM, "%s %s: the request cannot be set up",
                           t->method, url);
        goto out;
    }
    code = curl_easy_perform(c);
    if (code == CURLE_OK) {
        take_answer(t);
    } else {
        status = curl_failed(t, code, err);
    }
out:
    curl_slist_free_all(headers);
    return status;
}

enum wf_status wf_http_attempt(struct wf_http_transfer *t, struct wf_error *err)
{
    enum wf_status status;
    char *url;

    reset_attempt(t);
    t->answer.attempts++;
    if (t->to_fd >= 0 &&
        (ftruncate(t->to_fd, 0) != 0 || lseek(t->to_fd, 0, SEEK_SET) != 0)) {
        return wf_error_errno(err, errno, "cannot empty the file to download into");
    }
    url = wf_asprintf("%s%s", t->http->base_url, t->path);
    if (url == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a URL");
    }
    status = perform(t, url, err);
    free(url);
    return status;
}
