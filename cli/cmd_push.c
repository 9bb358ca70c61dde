/* push: results of local runs to a farm. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/results_file.h"
#include "core/sha256.h"

#include <inttypes.h>
#include <stdio.h>

/* {"header", "name", "results": [{"digest","result"}]} of docs/wire.md. Takes the
 * results over from `r`. */
static enum wf_status make_body(struct wf_results *r,
                                const char *name,
                                struct wf_json *body,
                                struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < r->count && status == WF_OK; i++) {
        char digest[WF_SHA256_HEX];
        struct wf_buf canonical = WF_BUF_INIT;
        struct wf_json *item = wf_json_object();
        status = wf_json_write_canonical(r->result[i], &canonical, err);
        if (status == WF_OK) {
            wf_sha256_hex(canonical.data, canonical.len, digest);
            status = wf_json_set_string(item, "digest", digest, err);
        }
        if (status == WF_OK) {
            status = wf_json_set_take(item, "result", r->result[i], err);
            r->result[i] = NULL;
        }
        enum wf_status pushed = wf_json_push_take(list, item, err);
        status = status != WF_OK ? status : pushed;
        wf_buf_free(&canonical);
    }
    if (status == WF_OK && name != NULL) {
        status = wf_json_set_string(body, "name", name, err);
    }
    enum wf_status s1 = wf_json_set_take(body, "header", r->header, err);
    r->header = NULL;
    enum wf_status s2 = wf_json_set_take(body, "results", list, err);
    return status != WF_OK ? status : s1 != WF_OK ? s1 : s2;
}

static enum wf_status report(const struct wf_args *args,
                             const struct wf_json *answer,
                             struct wf_error *err)
{
    const char *run = NULL;
    int64_t results = 0;
    if (wf_args_flag(args, "json")) {
        return wf_print_json(answer, err);
    }
    enum wf_status status = wf_json_get_string(answer, "run", &run, err);
    if (status == WF_OK) {
        status = wf_json_get_i64(answer, "results", 0, INT64_MAX, &results, err);
    }
    if (status == WF_OK) {
        wf_say("run %s: %" PRId64 " results", run, results);
    }
    return status;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_results r = { 0 };
    struct wf_api *api = NULL;
    struct wf_json *answer = NULL;
    struct wf_json *body = wf_json_object();
    enum wf_status status = wf_results_read(wf_args_at(args, 0), &r, &err);
    const bool incomplete = status == WF_OK && r.count < r.expected;
    if (incomplete) {
        fprintf(stderr,
                "wavefarm: %s is incomplete: %zu results were expected, got %zu\n",
                wf_args_at(args, 0), r.expected, r.count);
    }
    if (status == WF_OK) {
        status = make_body(&r, wf_args_string(args, "name"), body, &err);
    }
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = wf_api_post(api, "/v1/results/import", body, &answer, &err);
    }
    if (status == WF_ERANGE) {
        status =
            wf_error_prefix(&err,
                            "%s is too large for one request; raise the "
                            "coordinator's max_body, or push parts of the file, each "
                            "with its header line",
                            wf_args_at(args, 0));
    }
    if (status == WF_OK) {
        status = report(args, answer, &err);
    }
    wf_json_free(answer);
    wf_json_free(body);
    wf_api_close(api);
    wf_results_free(&r);
    if (status != WF_OK) {
        return wf_exit_error(&err);
    }
    return incomplete ? WF_EXIT_NO_VERDICT : WF_EXIT_GOOD;
}

static const struct wf_opt opts[] = {
    { "name", WF_OPT_STRING, "TEXT", NULL, NULL, "what the run is called" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_push = {
    .name = "push",
    .synopsis = "FILE.jsonl",
    .summary = "Send a results file to a farm",
    .details =
        "The same file again changes nothing. A file with fewer results than its\n"
        "run expected is pushed, and the exit status is 4.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
