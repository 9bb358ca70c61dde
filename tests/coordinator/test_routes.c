/* Matching of methods and paths. */
#include "coordinator/api.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int match(const char *method,
                 const char *path,
                 const char **ret_name,
                 char *param)
{
    const struct wf_route *route = NULL;
    char allow[64];
    int status = wf_route_match(method, path, &route, param, allow);
    *ret_name = status == 200 ? route->name : status == 405 ? "405" : "404";
    return status;
}

struct row {
    const char *method, *path, *name, *param;
};

Test(routes, paths_find_their_route_and_parameter)
{
    static const struct row rows[] = {
        { "GET", "/", "index", "" },
        { "GET", "/healthz", "healthz", "" },
        { "HEAD", "/healthz", "healthz", "" },
        { "POST", "/v1/runs", "run_create", "" },
        { "GET", "/v1/runs", "run_list", "" },
        { "GET", "/v1/runs/17", "run_get", "17" },
        { "GET", "/v1/runs/17/results", "run_results", "17" },
        { "POST", "/v1/results/import", "results_import", "" },
        { "POST", "/v1/results", "results", "" },
        { "GET", "/v1/blobs/" SHA, "blob_get", SHA },
        { "HEAD", "/v1/blobs/" SHA, "blob_get", SHA },
        { "PUT", "/v1/blobs/" SHA, "blob_put", SHA },
        { "GET", "/static/a/b.js", "static_file", "a/b.js" },
        { "PUT", "/v1/runs", "405", NULL },
        { "HEAD", "/v1/lease", "405", NULL },
        { "GET", "/v1/runs/", "404", NULL },
        { "GET", "/v1/runs/017", "404", NULL },
        { "GET", "/v1/runs/1x", "404", NULL },
        { "GET", "/v1/runs/9999999999999999999", "404", NULL },
        { "GET", "/v1/runs/17/", "404", NULL },
        { "GET", "/v1/runs/17/results/x", "404", NULL },
        { "GET", "/static/../x", "404", NULL },
        { "GET", "/static/", "404", NULL },
        { "GET", "/static/a//b", "404", NULL },
        { "GET", "/v1/blobs/ABC", "404", NULL },
        { "GET", "", "404", NULL },
        { "GET", "//", "404", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *name = NULL;
        char param[WF_PARAM_MAX];
        (void)match(rows[i].method, rows[i].path, &name, param);
        cr_assert_str_eq(name, rows[i].name, "%s %s", rows[i].method, rows[i].path);
        if (rows[i].param) {
            cr_assert_str_eq(param, rows[i].param, "%s", rows[i].path);
        }
    }
}

Test(routes, a_long_path_is_not_found)
{
    char path[2000] = "/static/";
    char param[WF_PARAM_MAX];
    const char *name = NULL;
    memset(path + 8, 'a', sizeof path - 9);
    path[sizeof path - 1] = '\0';
    cr_assert_eq(match("GET", path, &name, param), 404);
}

Test(routes, each_row_is_found_by_its_own_path)
{
    for (size_t i = 0; i < wf_route_count; i++) {
        char path[256];
        const char *name = NULL;
        char param[WF_PARAM_MAX];
        const char *brace = strchr(wf_routes[i].path, '{');
        const char *end = strchr(wf_routes[i].path, '}');
        if (brace) {
            const char *value = brace[1] == 'i' ? "5" : brace[1] == 's' ? SHA : "f.js";
            snprintf(path, sizeof path, "%.*s%s%s", (int)(brace - wf_routes[i].path),
                     wf_routes[i].path, value, end + 1);
        } else {
            snprintf(path, sizeof path, "%s", wf_routes[i].path);
        }
        cr_assert_eq(match(wf_routes[i].method, path, &name, param), 200, "%s", path);
        cr_assert_str_eq(name, wf_routes[i].name);
    }
}

Test(routes, numbers_and_uuids_are_read_strictly)
{
    int64_t id = 0;
    cr_assert_eq(wf_parse_id("17", "run", &id, NULL), WF_OK);
    cr_assert_eq(id, 17);
    static const char *const bad[] = { "",   "0",   "-1",  " 1",
                                       "1 ", "0x1", "1e3", "9223372036854775808" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(wf_parse_id(bad[i], "run", &id, NULL), WF_EINVAL, "%s", bad[i]);
    }
    cr_assert(wf_is_uuid("123e4567-E89b-12d3-a456-426614174000"));
    cr_assert_not(wf_is_uuid("123e4567-e89b-12d3-a456-42661417400"));
    cr_assert_not(wf_is_uuid("123e4567-e89b-12d3-a456-42661417400g"));
    cr_assert_not(wf_is_uuid("123e4567ae89b-12d3-a456-426614174000"));
}
