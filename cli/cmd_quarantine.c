/* quarantine list, add, lift: devices of a farm that get no new gates. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/farm_results.h"
#include "cli/output.h"
#include "cli/table.h"

#include <stdio.h>

#define FOR_MIN_NS INT64_C(1000000)           /* 1 ms */
#define FOR_MAX_NS INT64_C(31536000000000000) /* a year */

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(wf_json_find(obj, key));
    return s != NULL ? s : "";
}

/* What both writing commands need. */
static enum wf_status need_reason(const struct wf_args *args,
                                  struct wf_json *body,
                                  struct wf_error *err)
{
    const char *reason = wf_args_string(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return wf_errorf(err, WF_EINVAL,
                         "--reason is missing: whoever meets this wants to know why");
    }
    return wf_json_set_string(body, "reason", reason, err);
}

/* --- list --- */

static void print_table(const struct wf_json *answer)
{
    static const char *const header[] = { ">id",    "state", "runner", "device",
                                          "since",  "until", "author", "gate",
                                          "reason", "lifted" };
    struct wf_table *t = wf_table_create(header, sizeof(header) / sizeof(header[0]));
    const struct wf_json *q = wf_json_first(wf_json_find(answer, "quarantines"));
    for (; t != NULL && q != NULL; q = wf_json_next(q)) {
        char lifted[512] = "";
        if (text(q, "lifted_by")[0] != '\0') {
            (void)snprintf(lifted, sizeof(lifted), "%.20s by %.100s: %.300s",
                           text(q, "lifted"), text(q, "lifted_by"),
                           text(q, "lifted_why"));
        }
        const char *cell[] = { text(q, "id"),     text(q, "state"),
                               text(q, "runner"), text(q, "device"),
                               text(q, "since"),  text(q, "until"),
                               text(q, "author"), text(q, "gate"),
                               text(q, "reason"), lifted };
        wf_table_row(t, cell);
    }
    if (t != NULL) {
        (void)wf_table_print(t);
    }
    wf_table_free(t);
}

static int run_list(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    struct wf_json *answer = NULL;
    const char *path =
        wf_args_flag(args, "all") ? "/v1/quarantines?all=1" : "/v1/quarantines";
    enum wf_status status = wf_api_open(args, &api, &err);
    if (status == WF_OK) {
        status = wf_api_get(api, path, 0, &answer, &err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = wf_print_json(answer, &err);
    } else if (status == WF_OK) {
        print_table(answer);
    }
    wf_json_free(answer);
    wf_api_close(api);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

/* --- add, lift --- */

/* Posts the body that was made with `status` and says how it is now. */
static int post(const struct wf_args *args,
                const char *path,
                const struct wf_json *body,
                enum wf_status status,
                struct wf_error *err)
{
    struct wf_api *api = NULL;
    struct wf_json *q = NULL;
    if (status == WF_OK) {
        status = wf_api_open(args, &api, err);
    }
    if (status == WF_OK) {
        status = wf_api_post(api, path, body, &q, err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = wf_print_json(q, err);
    } else if (status == WF_OK && text(q, "lifted_by")[0] != '\0') {
        wf_say("quarantine %s is lifted: %s on %s gets gates again", text(q, "id"),
               text(q, "device"), text(q, "runner"));
    } else if (status == WF_OK) {
        wf_say("quarantine %s: %s on %s gets no new gates until %s", text(q, "id"),
               text(q, "device"), text(q, "runner"), text(q, "until"));
    }
    wf_json_free(q);
    wf_api_close(api);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(err);
}

static enum wf_status add_time(const struct wf_args *args,
                               struct wf_json *body,
                               struct wf_error *err)
{
    int64_t ns = 0;
    if (wf_args_string(args, "for") == NULL) {
        return WF_OK;
    }
    enum wf_status status =
        wf_args_duration_in(args, "for", FOR_MIN_NS, FOR_MAX_NS, &ns, err);
    return status == WF_OK ? wf_json_set_i64(body, "for_ms", ns / 1000000, err)
                           : status;
}

static int run_add(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_json *body = wf_json_object();
    enum wf_status status =
        wf_json_set_string(body, "runner", wf_args_at(args, 0), &err);
    if (status == WF_OK) {
        status = wf_json_set_string(body, "device", wf_args_at(args, 1), &err);
    }
    if (status == WF_OK) {
        status = need_reason(args, body, &err);
    }
    if (status == WF_OK) {
        status = add_time(args, body, &err);
    }
    int code = post(args, "/v1/quarantines", body, status, &err);
    wf_json_free(body);
    return code;
}

static int run_lift(const struct wf_args *args)
{
    char path[128];
    struct wf_error err = { 0 };
    struct wf_json *body = wf_json_object();
    const char *id = wf_args_at(args, 0);
    snprintf(path, sizeof(path), "/v1/quarantines/%.60s/lift", id);
    enum wf_status status =
        wf_is_run_id(id) ? need_reason(args, body, &err)
                         : wf_errorf(&err, WF_EINVAL,
                                     "'%.60s' is not a quarantine's number; 'wavefarm "
                                     "quarantine list' shows them",
                                     id);
    int code = post(args, path, body, status, &err);
    wf_json_free(body);
    return code;
}

/* --- the commands --- */

static const struct wf_opt list_opts[] = {
    { "all", WF_OPT_FLAG, NULL, NULL, NULL, "those that have ended, too" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_quarantine_list = {
    .name = "quarantine list",
    .synopsis = "",
    .summary = "Show which devices of a farm get no new gates, and why",
    .opt = list_opts,
    .opt_count = sizeof(list_opts) / sizeof(list_opts[0]),
    .run = run_list,
};

static const struct wf_opt add_opts[] = {
    { "reason", WF_OPT_STRING, "TEXT", NULL, NULL, "why; required" },
    { "for", WF_OPT_DURATION, "TIME", NULL, NULL,
      "for how long (default: the coordinator's gate_quarantine)" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_quarantine_add = {
    .name = "quarantine add",
    .synopsis = "RUNNER DEVICE",
    .summary = "Let a device of a farm get no new gates for a while",
    .details =
        "RUNNER and DEVICE are names as 'wavefarm runners' shows them. Gates that "
        "have begun on the\ndevice go on, and so do runs. A device whose sentinels "
        "failed gets there by itself.",
    .opt = add_opts,
    .opt_count = sizeof(add_opts) / sizeof(add_opts[0]),
    .min_args = 2,
    .max_args = 2,
    .run = run_add,
};

static const struct wf_opt lift_opts[] = {
    { "reason", WF_OPT_STRING, "TEXT", NULL, NULL, "why; required" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_quarantine_lift = {
    .name = "quarantine lift",
    .synopsis = "ID",
    .summary = "End a quarantine: the device gets gates again",
    .details =
        "Gates that waited for the device are planned at once. Who lifted it and "
        "why is kept:\n'wavefarm quarantine list --all'.",
    .opt = lift_opts,
    .opt_count = sizeof(lift_opts) / sizeof(lift_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run_lift,
};
