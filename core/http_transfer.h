/* What http_client.c (the transfers, over libcurl) and http_calls.c (options, retries,
 * files) share. Private to core. */
#ifndef WF_CORE_HTTP_TRANSFER_H
#define WF_CORE_HTTP_TRANSFER_H

#include "core/http_client.h"

struct wf_http {
    void *curl;     /* a CURL easy handle */
    char *base_url; /* no trailing slash */
    char *token_header;
    char *ca_file;
    char *client_cert;
    char *client_key;
    int64_t connect_timeout_ms;
    int64_t timeout_ms;
    int64_t retry_budget_ms;
    uint64_t max_response_bytes;
    const volatile int *cancel;
};

struct wf_http_transfer {
    struct wf_http *http;
    const char *method;
    const char *path;
    const char *content_type;
    const void *body;
    size_t body_bytes;
    int64_t timeout_ms;       /* whole attempt; 0: none */
    int64_t stall_timeout_ms; /* without a byte moving; 0: none */
    int from_fd;              /* body read from here; -1: from memory */
    uint64_t from_bytes;
    uint64_t from_pos;
    int to_fd; /* body of a 200 answer goes here; -1: to memory */

    /* set anew by each attempt */
    struct wf_http_response answer;
    int64_t retry_after_ms;
    bool retryable;
    int64_t moved_bytes;
    int64_t moved_at_ns;
    bool stalled;
    enum wf_status local_status; /* a failure of ours inside a callback */
    struct wf_error local_error;
    char curl_text[256]; /* CURL_ERROR_SIZE */
};

/* A new easy handle for http->curl. */
enum wf_status wf_http_curl_create(void **ret, struct wf_error *err);
void wf_http_curl_destroy(void *curl);

/* Sends the request once. WF_OK: t->answer is what the server said, of any status.
 * t->retryable tells whether it is worth sending again. */
enum wf_status wf_http_attempt(struct wf_http_transfer *t, struct wf_error *err);

bool wf_http_is_cancelled(const struct wf_http *http);
int64_t wf_http_now_ns(void);

#endif
