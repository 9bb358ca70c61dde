/* What an HTTP answer means, and the back-off rule; without libcurl, so that a test
 * needs no server. The transfers are in http_client.c. */
#include "core/http_client.h"

#include "core/json.h"

#include <string.h>

enum {
    SHOWN_TEXT_CHARS = 200
};

void wf_http_response_free(struct wf_http_response *r)
{
    if (r == NULL) {
        return;
    }
    wf_buf_free(&r->body);
    memset(r, 0, sizeof *r);
}

static bool is_json_type(const char *type)
{
    size_t n = strcspn(type, "; ");

    return (n == strlen("application/json") &&
            memcmp(type, "application/json", n) == 0) ||
           (n == strlen("application/problem+json") &&
            memcmp(type, "application/problem+json", n) == 0);
}

/* "detail" or "title" of a problem document; borrowed from the document. */
static const char *problem_text(const struct wf_json *problem)
{
    const char *text = wf_json_string(wf_json_find(problem, "detail"));

    return text != NULL ? text : wf_json_string(wf_json_find(problem, "title"));
}

static enum wf_status status_of_answer(long status)
{
    if (status == 401 || status == 403) {
        return WF_EREFUSED;
    }
    if (status == 404) {
        return WF_ENOTFOUND;
    }
    if (status == 409) {
        return WF_ECONFLICT;
    }
    if (status == 408 || status == 429) {
        return WF_ENETWORK; /* nothing is wrong with the request: later it may pass */
    }
    return status >= 400 && status < 500 ? WF_EINVAL : WF_ENETWORK;
}

enum wf_status wf_http_check(const struct wf_http_response *r, struct wf_error *err)
{
    enum wf_status status = status_of_answer(r->status);
    struct wf_json *problem = NULL;
    const char *text = NULL;

    if (r->status >= 200 && r->status < 300) {
        return WF_OK;
    }
    if (is_json_type(r->content_type) &&
        wf_json_parse(wf_buf_cstr(&r->body), r->body.len, "answer", &problem, NULL) ==
            WF_OK) {
        text = problem_text(problem);
    } else if (strncmp(r->content_type, "text/plain", 10) == 0) {
        text = wf_buf_cstr(&r->body);
    }
    if (text != NULL && text[0] != '\0') {
        (void)wf_errorf(err, status, "the server answered %ld: %.*s", r->status,
                        problem != NULL ? 600 : SHOWN_TEXT_CHARS, text);
    } else {
        (void)wf_errorf(err, status, "the server answered %ld", r->status);
    }
    wf_json_free(problem);
    return status;
}

int64_t wf_backoff_ms(int attempt, int64_t base_ms, int64_t cap_ms, uint64_t random)
{
    int64_t limit = base_ms;

    for (int i = 0; i < attempt && limit < cap_ms; i++) {
        limit = limit > INT64_MAX / 2 ? INT64_MAX : limit * 2;
    }
    if (limit > cap_ms) {
        limit = cap_ms;
    }
    if (limit <= 0) {
        return 0;
    }
    return (int64_t)(random % ((uint64_t)limit + 1));
}
