/* The route table and the matching of method and path. Pure. */
#include "coordinator/api.h"
#include "coordinator/handlers.h"

#include "core/file.h"

#include <stdio.h>
#include <string.h>

#define NOBODY_ASKED 0u
#define SUBMIT       (WF_ROLE_SUBMITTER | WF_ROLE_ADMIN)
#define READ         (WF_ROLE_READER | SUBMIT)
#define RUN          (WF_ROLE_RUNNER)
#define RUN_OR_READ  (RUN | READ)
#define NO_BODY      WF_NO_BODY
#define JSON_BODY    WF_JSON_BODY
#define BLOB_BODY    WF_BLOB_BODY

const struct wf_route wf_routes[] = {
#define ROUTE(name, method, path, who, body, query, handler) \
    { #name, method, path, who, body, query, handler },
#include "coordinator/routes.def"
#undef ROUTE
};

const size_t wf_route_count = sizeof wf_routes / sizeof wf_routes[0];

static bool is_id(const char *text, size_t n)
{
    if (n == 0 || n > 18) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
    }
    return n == 1 || text[0] != '0';
}

/* Checks the text that stands for a {..} and copies it. */
static bool take_param(const char *kind, const char *text, size_t n, char *param)
{
    if (n >= WF_PARAM_MAX) {
        return false;
    }
    memcpy(param, text, n);
    param[n] = '\0';
    if (strncmp(kind, "{id}", 4) == 0) {
        return is_id(text, n);
    }
    if (strncmp(kind, "{sha256}", 8) == 0) {
        return wf_sha256_is_hex(param);
    }
    return wf_relative_path_is_safe(param);
}

static bool path_matches(const char *pattern, const char *path, char *param)
{
    param[0] = '\0';
    while (*pattern && *path) {
        if (*pattern != '{') {
            if (*pattern++ != *path++) {
                return false;
            }
            continue;
        }
        bool rest = strncmp(pattern, "{path}", 6) == 0;
        size_t n = rest ? strlen(path) : strcspn(path, "/");
        if (!take_param(pattern, path, n, param)) {
            return false;
        }
        path += n;
        pattern = strchr(pattern, '}') + 1;
    }
    return !*pattern && !*path;
}

int wf_route_match(const char *method,
                   const char *path,
                   const struct wf_route **ret,
                   char param[WF_PARAM_MAX],
                   char allow[64])
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    size_t used = 0;
    allow[0] = '\0';
    for (size_t i = 0; i < wf_route_count; i++) {
        const struct wf_route *r = &wf_routes[i];
        if (!path_matches(r->path, path, param)) {
            continue;
        }
        if (strcmp(r->method, wanted) == 0) {
            *ret = r;
            return 200;
        }
        int n = snprintf(allow + used, 64 - used, "%s%s", used ? ", " : "", r->method);
        used += n > 0 && (size_t)n < 64 - used ? (size_t)n : 0;
    }
    return used ? 405 : 404;
}
