/* gate status, gate fetch, gate cancel: gates on a farm. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/gate_farm.h"
#include "cli/gate_outputs.h"
#include "cli/output.h"
#include "cli/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(wf_json_find(obj, key));
    return s != NULL ? s : "";
}

/* --- fetching --- */

/* A file that is there already is not emptied for a gate that is not. */
static enum wf_status check_gate(struct wf_api *api,
                                 const char *id,
                                 struct wf_error *err)
{
    char path[96];
    struct wf_json *gate = NULL;
    snprintf(path, sizeof(path), "/v1/gates/%.60s", id);
    enum wf_status status = wf_api_get(api, path, 0, &gate, err);
    wf_json_free(gate);
    return status;
}

static enum wf_status fetch_to(struct wf_api *api,
                               const char *id,
                               const char *path,
                               struct wf_gate_record **ret,
                               struct wf_error *err)
{
    enum wf_status status = path != NULL ? check_gate(api, id, err) : WF_OK;
    if (status != WF_OK) {
        return status;
    }
    FILE *out = path != NULL ? fopen(path, "w") : NULL;
    if (path != NULL && out == NULL) {
        return wf_error_errno(err, errno, "cannot write %s", path);
    }
    status = gate_farm_record(api, id, out, ret, err);
    if (out != NULL && fclose(out) != 0 && status == WF_OK) {
        status = wf_error_errno(err, errno, "cannot write %s", path);
        wf_gate_record_free(*ret);
        *ret = NULL;
    }
    return status;
}

enum wf_status gate_farm_report(struct wf_api *api,
                                const struct wf_args *args,
                                const char *id,
                                const char *out,
                                int *ret_exit,
                                struct wf_error *err)
{
    struct wf_gate_record *record = NULL;
    enum wf_status status = fetch_to(api, id, out, &record, err);
    if (status == WF_OK && record == NULL) {
        status = wf_errorf(err, WF_ENOTFOUND,
                           "gate %s has no record: no device has matched yet, or it "
                           "was cancelled before one did",
                           id);
    }
    if (status == WF_OK) {
        status = gate_outputs(args, record, ret_exit, err);
    }
    wf_gate_record_free(record);
    return status;
}

enum wf_status gate_farm_finish(struct wf_api *api,
                                const struct wf_args *args,
                                const char *id,
                                int *ret_exit,
                                struct wf_error *err)
{
    enum wf_status status = gate_farm_wait(api, id, err);
    return status == WF_OK
               ? gate_farm_report(api, args, id, wf_args_string(args, "out"), ret_exit,
                                  err)
               : status;
}

/* --- status --- */

/* In the report's words: a gate without a verdict is not green. */
static const char *end_of(const struct wf_json *gate)
{
    const struct wf_json *r = wf_json_find(gate, "red");
    bool red = false, infrastructure = false;
    if (r == NULL || !wf_json_as_bool(r, &red)) {
        return "";
    }
    (void)wf_json_opt_bool(gate, "infrastructure", &infrastructure, NULL);
    return red                                             ? "red"
           : strcmp(text(gate, "state"), "cancelled") == 0 ? "cancelled"
           : infrastructure                                ? "no verdict"
                                                           : "green";
}

static void add_gate(struct wf_table *t, const struct wf_json *gate)
{
    char counts[4][32], verdicts[256] = "";
    static const char *const keys[] = { "pairs", "groups", "rounds" };
    int64_t n = 0;
    for (size_t i = 0; i < 3; i++) {
        n = 0;
        (void)wf_json_opt_i64(gate, keys[i], 0, INT64_MAX, &n, NULL);
        snprintf(counts[i], sizeof(counts[i]), "%" PRId64, n);
    }
    const struct wf_json *v = wf_json_first(wf_json_find(gate, "verdicts"));
    for (; v != NULL; v = wf_json_next(v)) {
        const size_t used = strlen(verdicts);
        if (wf_json_as_i64(v, &n)) {
            snprintf(verdicts + used, sizeof(verdicts) - used, "%s%" PRId64 " %s",
                     used > 0 ? ", " : "", n, wf_json_key(v));
        }
    }
    const char *cell[] = { text(gate, "id"),
                           text(gate, "state"),
                           end_of(gate),
                           text(gate, "suite"),
                           counts[0],
                           counts[1],
                           counts[2],
                           verdicts,
                           text(gate, "created"),
                           text(gate, "name") };
    wf_table_row(t, cell);
}

static int list_gates(struct wf_api *api, bool json, struct wf_error *err)
{
    static const char *const header[] = { ">gate",   "state",   "end",     "suite",
                                          ">pairs",  ">groups", ">rounds", "verdicts",
                                          "created", "name" };
    struct wf_json *answer = NULL;
    enum wf_status status = wf_api_get(api, "/v1/gates?limit=50", 0, &answer, err);
    if (status == WF_OK && json) {
        status = wf_print_json(answer, err);
    } else if (status == WF_OK) {
        struct wf_table *t =
            wf_table_create(header, sizeof(header) / sizeof(header[0]));
        const struct wf_json *g = wf_json_first(wf_json_find(answer, "gates"));
        for (; t != NULL && g != NULL; g = wf_json_next(g)) {
            add_gate(t, g);
        }
        if (t != NULL) {
            (void)wf_table_print(t);
        }
        wf_table_free(t);
    }
    wf_json_free(answer);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(err);
}

static int one_gate(struct wf_api *api,
                    const struct wf_args *args,
                    struct wf_error *err)
{
    const char *id = wf_args_at(args, 0);
    char path[96];
    int code = WF_EXIT_GOOD;
    struct wf_json *gate = NULL;
    snprintf(path, sizeof(path), "/v1/gates/%.60s", id);
    enum wf_status status = gate_farm_id_check(id, err);
    if (status == WF_OK && wf_args_flag(args, "wait")) {
        status = gate_farm_wait(api, id, err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = wf_api_get(api, path, 0, &gate, err);
        status = status == WF_OK ? wf_print_json(gate, err) : status;
    } else if (status == WF_OK) {
        status = gate_farm_report(api, args, id, NULL, &code, err);
    }
    wf_json_free(gate);
    return status == WF_OK ? code : wf_exit_error(err);
}

static int run_status(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    if (gate_outputs_check(args, NULL, &err) != WF_OK ||
        wf_api_open(args, &api, &err) != WF_OK) {
        return wf_exit_error(&err);
    }
    int code = wf_args_count(args) == 0
                   ? list_gates(api, wf_args_flag(args, "json"), &err)
                   : one_gate(api, args, &err);
    wf_api_close(api);
    return code;
}

/* --- fetch and cancel --- */

static int run_fetch(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    struct wf_gate_record *record = NULL;
    const char *out = wf_args_string(args, "out");
    enum wf_status status = gate_farm_id_check(wf_args_at(args, 0), &err);
    if (status == WF_OK) {
        status = wf_args_require(args, "out", "where the record goes", &err);
    }
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = fetch_to(api, wf_args_at(args, 0), out, &record, &err);
    }
    if (status == WF_OK) {
        wf_say("%zu lines",
               record != NULL ? wf_gate_record_line_count(record) + 1 : (size_t)0);
    }
    wf_gate_record_free(record);
    wf_api_close(api);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static int run_cancel(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    struct wf_json *answer = NULL, *body = wf_json_object();
    char path[96];
    snprintf(path, sizeof(path), "/v1/gates/%.60s/cancel", wf_args_at(args, 0));
    enum wf_status status = gate_farm_id_check(wf_args_at(args, 0), &err);
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = wf_api_post(api, path, body, &answer, &err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = wf_print_json(answer, &err);
    } else if (status == WF_OK) {
        wf_say("gate %s cancelled", wf_args_at(args, 0));
    }
    wf_json_free(answer);
    wf_json_free(body);
    wf_api_close(api);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const struct wf_opt status_opts[] = {
    { "wait", WF_OPT_FLAG, NULL, NULL, NULL, "wait for the gate's verdict" },
    WF_OPTS_GATE_REPORT,
    WF_OPTS_SERVER,
};

const struct wf_command wf_command_gate_status = {
    .name = "gate status",
    .synopsis = "[GATE]",
    .summary = "Show a farm's gates, or one gate's report",
    .details =
        "With GATE the exit status is the gate's, as of 'wavefarm gate'; --json shows its "
        "state.",
    .opt = status_opts,
    .opt_count = sizeof(status_opts) / sizeof(status_opts[0]),
    .max_args = 1,
    .run = run_status,
};

static const struct wf_opt fetch_opts[] = {
    { "out", WF_OPT_FILE, "FILE", NULL, NULL, "the record, as JSON Lines" },
    WF_OPTS_SERVER,
};

const struct wf_command wf_command_gate_fetch = {
    .name = "gate fetch",
    .synopsis = "GATE",
    .summary = "Keep the record of a farm's gate in a file",
    .details = "What 'wavefarm gate show' and 'gate replay' read.",
    .opt = fetch_opts,
    .opt_count = sizeof(fetch_opts) / sizeof(fetch_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run_fetch,
};

static const struct wf_opt cancel_opts[] = {
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_gate_cancel = {
    .name = "gate cancel",
    .synopsis = "GATE",
    .summary = "Cancel a farm's gate",
    .details = "Records that were accepted stay; what is open becomes inconclusive.",
    .opt = cancel_opts,
    .opt_count = sizeof(cancel_opts) / sizeof(cancel_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run_cancel,
};
