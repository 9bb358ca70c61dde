/* runners: who works for a farm, and with which devices. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = obj != NULL ? wf_json_string(wf_json_find(obj, key)) : NULL;
    return s != NULL ? s : "";
}

static void add_row(struct wf_table *t,
                    const struct wf_json *runner,
                    const struct wf_json *device)
{
    int64_t silent_ms = 0, leases = 0;
    char silent[32], held[32], until[48] = "";
    const struct wf_json *q = wf_json_find(device, "quarantine");
    (void)wf_json_opt_i64(runner, "silent_ms", 0, INT64_MAX, &silent_ms, NULL);
    (void)wf_json_opt_i64(runner, "leases", 0, INT64_MAX, &leases, NULL);
    snprintf(silent, sizeof(silent), "%.1f s", (double)silent_ms / 1000);
    snprintf(held, sizeof(held), "%" PRId64, leases);
    if (q != NULL) {
        snprintf(until, sizeof(until), "%.10s: until %.20s", text(q, "id"),
                 text(q, "until"));
    }
    const char *cell[] = {
        text(runner, "name"),  text(runner, "state"), silent, held, text(device, "id"),
        text(device, "model"), text(device, "arch"),  until,
    };
    wf_table_row(t, cell);
}

static void print_table(const struct wf_json *answer)
{
    static const char *const header[] = { "runner", "state", ">silent", ">leases",
                                          "device", "model", "arch",    "quarantine" };
    struct wf_table *t = wf_table_create(header, sizeof(header) / sizeof(header[0]));
    const struct wf_json *r = wf_json_first(wf_json_find(answer, "runners"));
    for (; t != NULL && r != NULL; r = wf_json_next(r)) {
        const struct wf_json *d = wf_json_first(wf_json_find(r, "devices"));
        for (; d != NULL; d = wf_json_next(d)) {
            add_row(t, r, d);
        }
    }
    if (t != NULL) {
        (void)wf_table_print(t);
    }
    wf_table_free(t);
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    struct wf_json *answer = NULL;
    enum wf_status status = wf_api_open(args, &api, &err);
    if (status == WF_OK) {
        status = wf_api_get(api, "/v1/runners", 0, &answer, &err);
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

static const struct wf_opt opts[] = { WF_OPTS_SERVER, WF_OPT_JSON };

const struct wf_command wf_command_runners = {
    .name = "runners",
    .synopsis = "",
    .summary = "Show a farm's runners and their devices",
    .details =
        "A device in quarantine gets no new gates ('wavefarm quarantine list' says "
        "why); runs go on.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .run = run,
};
