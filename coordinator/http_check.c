/* Query parameters against the route table, and addresses to listen on. */
#include "coordinator/http_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool word_in(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, " ");
        if (len == n && memcmp(at, word, n) == 0) {
            return true;
        }
        at += len + (at[len] == ' ');
    }
    return false;
}

bool wf_http_query_known(struct wf_request *req)
{
    const char *known = req->route->query;
    for (size_t i = 0; i < req->query_count; i++) {
        const char *name = req->query[i].name;
        if (!word_in(known, name)) {
            wf_problem(req, 422, "invalid",
                       "unknown query parameter '%s'; %s %s knows: %s", name,
                       req->route->method, req->route->path, *known ? known : "none");
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(req->query[j].name, name) == 0) {
                wf_problem(req, 422, "invalid", "query parameter '%s' is there twice",
                           name);
                return false;
            }
        }
    }
    return true;
}

void wf_http_take_token(struct wf_request *req, const char *value)
{
    if (!value || strncasecmp(value, "Bearer ", 7) != 0) {
        return;
    }
    value += 7;
    while (*value == ' ') {
        value++;
    }
    /* Too long a token is cut and thus not well-formed. */
    snprintf(req->token, sizeof req->token, "%s", value);
}

uint64_t wf_http_body_limit(enum wf_body_kind kind, const struct wf_config *config)
{
    switch (kind) {
    case WF_BLOB_BODY:
        return (uint64_t)wf_config_number(config, WF_SETTING_max_blob);
    case WF_JSON_BODY:
        return (uint64_t)wf_config_number(config, WF_SETTING_max_body);
    case WF_NO_BODY:
    default:
        return 0;
    }
}

enum wf_status wf_http_address(const char *host,
                               int port,
                               struct sockaddr_storage *ret,
                               struct wf_error *err)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)ret;
    memset(ret, 0, sizeof *ret);
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return WF_OK;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        return WF_OK;
    }
    return wf_errorf(err, WF_EINVAL, "'%s' is not a numeric address", host);
}
