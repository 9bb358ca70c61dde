#include "cli/farm_results.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "core/buf.h"
#include "core/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 20000
#define AWAY_NS 120000000000LL

bool wf_is_run_id(const char *text)
{
    return text[0] != '\0' && strlen(text) < 20 &&
           strspn(text, "0123456789") == strlen(text);
}

enum wf_status wf_run_id_check(const char *text, struct wf_error *err)
{
    return wf_is_run_id(text)
               ? WF_OK
               : wf_errorf(
                     err, WF_EINVAL,
                     "'%.60s' is not a run's number; 'wavefarm status' lists them",
                     text);
}

static enum wf_status add(struct wf_results *r,
                          const struct wf_json *v,
                          struct wf_error *err)
{
    struct wf_json **p = wf_realloc_array(r->result, r->count + 1, sizeof(*p));
    if (p == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu results", r->count + 1);
    }
    r->result = p;
    enum wf_status status = wf_json_copy(v, &r->result[r->count], err);
    r->count += status == WF_OK;
    return status;
}

/* One page; *after becomes the last task's id, or stays when the page is empty. */
static enum wf_status take_page(struct wf_results *r,
                                const struct wf_json *page,
                                char *after,
                                size_t after_bytes,
                                struct wf_error *err)
{
    const struct wf_json *list = NULL;
    const char *task = NULL;
    enum wf_status status = wf_json_get_array(page, "results", &list, err);
    if (status != WF_OK) {
        return status;
    }
    const struct wf_json *v = wf_json_first(list);
    for (; v != NULL && status == WF_OK; v = wf_json_next(v)) {
        const struct wf_json *t = wf_json_find(v, "task");
        status = add(r, v, err);
        if (status == WF_OK) {
            status = wf_json_get_string(t, "id", &task, err);
        }
        if (status == WF_OK) {
            snprintf(after, after_bytes, "%s", task);
        }
    }
    return status;
}

/* Of an imported run: what its file should have had. */
static enum wf_status fetch_expected(struct wf_api *api,
                                     const char *run,
                                     size_t *ret,
                                     struct wf_error *err)
{
    char path[128];
    int64_t tasks = 0, expected = 0;
    struct wf_json *info = NULL;
    snprintf(path, sizeof(path), "/v1/runs/%.60s", run);
    enum wf_status status = wf_api_get(api, path, 0, &info, err);
    if (status == WF_OK) {
        status = wf_json_get_i64(info, "tasks", 0, INT64_MAX, &tasks, err);
    }
    const struct wf_json *of_file = wf_json_find(info, "expected");
    if (of_file != NULL && wf_json_as_i64(of_file, &expected) && expected > tasks) {
        tasks = expected;
    }
    const char *kind = wf_json_string(wf_json_find(info, "kind"));
    if (status == WF_OK && kind != NULL && strcmp(kind, "gate") == 0) {
        status =
            wf_errorf(err, WF_EINVAL,
                      "%s is a gate: 'wavefarm gate status %s' shows it", run, run);
    }
    wf_json_free(info);
    *ret = (size_t)tasks;
    return status;
}

enum wf_status wf_farm_results_fetch(struct wf_api *api,
                                     const char *run,
                                     bool samples,
                                     struct wf_results *ret,
                                     struct wf_error *err)
{
    char after[32] = "0";
    struct wf_results r = { 0 };
    size_t before = 0;
    enum wf_status status = fetch_expected(api, run, &r.expected, err);
    do {
        char path[192];
        struct wf_json *page = NULL;
        before = r.count;
        if (status == WF_OK) {
            snprintf(path, sizeof(path), "/v1/runs/%.60s/results?after=%s&limit=%d%s",
                     run, after, samples ? 100 : 500, samples ? "&samples=1" : "");
            status = wf_api_get(api, path, 0, &page, err);
        }
        if (status == WF_OK) {
            status = take_page(&r, page, after, sizeof(after), err);
        }
        wf_json_free(page);
    } while (status == WF_OK && r.count > before);
    if (status != WF_OK) {
        wf_results_free(&r);
        return status;
    }
    *ret = r;
    return WF_OK;
}

static void progress_note(const struct wf_json *info, char *ret, size_t n)
{
    struct wf_buf note = WF_BUF_INIT;
    int64_t leased = 0;
    (void)wf_json_opt_i64(info, "leased", 0, INT64_MAX, &leased, NULL);
    (void)wf_buf_printf(&note, NULL, "%" PRId64 " running", leased);
    const struct wf_json *a = wf_json_first(wf_json_find(info, "answers"));
    for (; a != NULL; a = wf_json_next(a)) {
        int64_t count = 0;
        if (wf_json_as_i64(a, &count) && count > 0) {
            (void)wf_buf_printf(&note, NULL, ", %" PRId64 " %s", count, wf_json_key(a));
        }
    }
    snprintf(ret, n, "%s", wf_buf_cstr(&note));
    wf_buf_free(&note);
}

static enum wf_status poll_once(struct wf_api *api,
                                const char *run,
                                int64_t *since,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    char path[160];
    snprintf(path, sizeof(path), "/v1/runs/%.60s?wait_ms=%d&since=%" PRId64, run,
             *since < 0 ? 0 : WAIT_MS, *since);
    if (*since < 0) {
        snprintf(path, sizeof(path), "/v1/runs/%.60s", run);
    }
    enum wf_status status = wf_api_get(api, path, WAIT_MS, ret, err);
    if (status == WF_OK) {
        status = wf_json_get_i64(*ret, "version", 0, INT64_MAX, since, err);
    }
    return status;
}

/* Shows how far the run is; *ret_ended: nothing more will come. */
static enum wf_status show_state(const struct wf_json *info,
                                 struct wf_progress *progress,
                                 bool *ret_ended,
                                 struct wf_error *err)
{
    char note[160];
    int64_t done = 0, tasks = 0;
    const char *state = "";
    (void)wf_json_opt_i64(info, "done", 0, INT64_MAX, &done, NULL);
    (void)wf_json_opt_i64(info, "tasks", 0, INT64_MAX, &tasks, NULL);
    enum wf_status status = wf_json_get_string(info, "state", &state, err);
    *ret_ended = strcmp(state, "done") == 0 || strcmp(state, "cancelled") == 0;
    progress_note(info, note, sizeof(note));
    wf_progress_show(progress, (size_t)done, (size_t)tasks, note);
    return status;
}

/* A coordinator may be restarted under a run, which goes on: only a long silence ends
 * the waiting. */
enum wf_status wf_farm_run_wait(struct wf_api *api,
                                const char *run,
                                struct wf_error *err)
{
    struct wf_progress progress;
    bool ended = false;
    int64_t since = -1;
    int64_t heard_ns = wf_monotonic_ns();
    enum wf_status status = WF_OK;
    wf_progress_start(&progress);
    while (status == WF_OK && !ended) {
        struct wf_json *info = NULL;
        status = poll_once(api, run, &since, &info, err);
        if (status == WF_OK) {
            heard_ns = wf_monotonic_ns();
            status = show_state(info, &progress, &ended, err);
        } else if (status == WF_ENETWORK && wf_monotonic_ns() - heard_ns < AWAY_NS) {
            status = WF_OK;
        }
        wf_json_free(info);
        if (wf_interrupted) {
            status = wf_errorf(
                err, WF_ECANCELLED,
                "interrupted; run %s goes on: 'wavefarm status %s --wait'", run, run);
        }
    }
    wf_progress_end(&progress);
    return status;
}
