/* HTTP client over libcurl (http_client.c is the only file that includes curl.h).
 *
 * Retries: connection failures, time-outs, 429, 502, 503 and 504 are retried with
 * exponential back-off and full jitter until `retry_budget_ms` is spent; Retry-After
 * (seconds) is honoured. Other statuses are returned as they are. A request must be
 * idempotent: every POST of ours carries a client-made id. Redirects are not followed.
 */
#ifndef WF_CORE_HTTP_CLIENT_H
#define WF_CORE_HTTP_CLIENT_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_http; /* opaque; one thread at a time */

struct wf_http_options {
    const char *base_url;       /* "http://host:port", no trailing slash needed */
    const char *token;          /* bearer token, or NULL */
    const char *ca_file;        /* TLS trust, or NULL for the system's */
    const char *client_cert;    /* PEM, or NULL */
    const char *client_key;     /* PEM, or NULL */
    int64_t connect_timeout_ms; /* 0: 5000 */
    int64_t timeout_ms;         /* per attempt; 0: 30000. Downloads and uploads may take
                                   longer as long as bytes move within it. */
    int64_t retry_budget_ms;    /* 0: no retries */
    uint64_t max_response_bytes; /* 0: 64 MiB; EINVAL above it. Not for downloads. */
    const volatile int *cancel;  /* non-zero stops waiting and retrying; may be NULL */
};

struct wf_http_response {
    long status;
    char content_type[64];
    struct wf_buf body;
    int attempts;
};

enum wf_status wf_http_create(const struct wf_http_options *options,
                              struct wf_http **ret,
                              struct wf_error *err);
void wf_http_destroy(struct wf_http *http);

/* `path` starts with '/'. `body` may be NULL. On WF_OK the server answered, with any
 * status; the caller frees with wf_http_response_free. `extra_timeout_ms` is added to
 * the time-out (long polls). */
enum wf_status wf_http_request(struct wf_http *http,
                               const char *method,
                               const char *path,
                               const char *content_type,
                               const void *body,
                               size_t body_bytes,
                               int64_t extra_timeout_ms,
                               struct wf_http_response *ret,
                               struct wf_error *err);
void wf_http_response_free(struct wf_http_response *r);

/* Streams to or from a file, without holding it in memory. The download (GET) writes a
 * temporary file of its own beside `to_file`, syncs and renames it; the upload is a
 * PUT. Same retry rules. Errors as of wf_http_check. */
enum wf_status wf_http_download(struct wf_http *http,
                                const char *path,
                                const char *to_file,
                                struct wf_error *err);
enum wf_status wf_http_upload(struct wf_http *http,
                              const char *path,
                              const char *from_file,
                              struct wf_error *err);

/* Turns a non-2xx answer into an error: problem+json's "detail" where there is one.
 * 401/403 -> EREFUSED, 404 -> ENOTFOUND, 409 -> ECONFLICT, 408/429 -> ENETWORK, other
 * 4xx -> EINVAL, else ENETWORK. */
enum wf_status wf_http_check(const struct wf_http_response *r, struct wf_error *err);

/* Full-jitter back-off: uniform in [0, min(cap, base * 2^attempt)], from `random` bits.
 * Pure, for the retry loop and its test. */
int64_t wf_backoff_ms(int attempt, int64_t base_ms, int64_t cap_ms, uint64_t random);

#endif
