#include "cli/gate_farm.h"

#include "cli/commands.h"
#include "cli/farm_results.h"
#include "cli/output.h"
#include "core/buf.h"
#include "core/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 20000
#define AWAY_NS 120000000000LL

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(wf_json_find(obj, key));
    return s != NULL ? s : "";
}

enum wf_status gate_farm_id_check(const char *id, struct wf_error *err)
{
    return wf_is_run_id(id)
               ? WF_OK
               : wf_errorf(
                     err, WF_EINVAL,
                     "'%.60s' is not a gate's number; 'wavefarm gate status' lists them",
                     id);
}

/* --- a device that fits --- */

static bool is_or_any(const char *found, const char *wanted)
{
    return wanted == NULL || strcmp(found, wanted) == 0;
}

/* "gfx942:sramecc+" is a gfx942. */
static bool arch_fits(const char *found, const char *wanted)
{
    const size_t n = strcspn(found, ":");
    return wanted == NULL || (strlen(wanted) == n && strncmp(found, wanted, n) == 0);
}

static bool has_labels(const struct wf_json *runner, const struct wf_args *args)
{
    for (size_t i = 0; i < wf_args_list_count(args, "label"); i++) {
        const char *wanted = wf_args_list_at(args, "label", i);
        bool found = false;
        const struct wf_json *l = wf_json_first(wf_json_find(runner, "labels"));
        for (; l != NULL; l = wf_json_next(l)) {
            found = found || strcmp(wf_json_string(l), wanted) == 0;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static bool fits(const struct wf_json *runner,
                 const struct wf_json *d,
                 const struct wf_args *args)
{
    return strcmp(text(runner, "state"), "alive") == 0 && has_labels(runner, args) &&
           is_or_any(text(d, "runtime"), wf_args_string(args, "runtime")) &&
           is_or_any(text(d, "model"), wf_args_string(args, "model")) &&
           arch_fits(text(d, "arch"), wf_args_string(args, "arch"));
}

static bool is_free(const struct wf_json *device)
{
    return wf_json_find(device, "quarantine") == NULL;
}

/* How many devices of the model fit and are in no quarantine. */
static size_t count(const struct wf_json *runners,
                    const struct wf_args *args,
                    const char *model)
{
    size_t n = 0;
    for (const struct wf_json *r = wf_json_first(runners); r != NULL;
         r = wf_json_next(r)) {
        const struct wf_json *d = wf_json_first(wf_json_find(r, "devices"));
        for (; d != NULL; d = wf_json_next(d)) {
            n += fits(r, d, args) && is_free(d) && strcmp(text(d, "model"), model) == 0;
        }
    }
    return n;
}

#define TOLD 3 /* quarantines that a message names */

static void tell_quarantine(const struct wf_json *runner,
                            const struct wf_json *d,
                            size_t n,
                            char *ret,
                            size_t size)
{
    const struct wf_json *q = wf_json_find(d, "quarantine");
    const size_t used = strlen(ret);
    if (n < TOLD) {
        (void)snprintf(ret + used, size - used,
                       "%s%.40s on %.40s until %.20s (%.10s, by %.20s: %.60s)",
                       n > 0 ? "; " : "", text(d, "id"), text(runner, "name"),
                       text(q, "until"), text(q, "id"), text(q, "author"),
                       text(q, "reason"));
    }
}

/* No device is free: is there none, or are those that fit in quarantine? */
static enum wf_status none_free(const struct wf_json *runners,
                                const struct wf_args *args,
                                struct wf_error *err)
{
    char told[600] = "";
    size_t n = 0;
    for (const struct wf_json *r = wf_json_first(runners); r != NULL;
         r = wf_json_next(r)) {
        const struct wf_json *d = wf_json_first(wf_json_find(r, "devices"));
        for (; d != NULL; d = wf_json_next(d)) {
            if (fits(r, d, args)) {
                tell_quarantine(r, d, n++, told, sizeof(told));
            }
        }
    }
    if (n == 0) {
        return wf_errorf(err, WF_EREFUSED,
                         "no live runner of the farm has such a device: "
                         "'wavefarm runners' shows what there is");
    }
    return wf_errorf(err, WF_EREFUSED,
                     "in quarantine, no gates: %s%s; 'wavefarm quarantine lift ID "
                     "--reason R' ends one",
                     told, n > TOLD ? "; ..." : "");
}

enum wf_status gate_farm_device(struct wf_api *api,
                                const struct wf_args *args,
                                struct wf_device *ret,
                                struct wf_error *err)
{
    struct wf_json *answer = NULL;
    const struct wf_json *best = NULL;
    size_t most = 0;
    enum wf_status status = wf_api_get(api, "/v1/runners", 0, &answer, err);
    const struct wf_json *runners = wf_json_find(answer, "runners");
    for (const struct wf_json *r = wf_json_first(runners); r != NULL;
         r = wf_json_next(r)) {
        const struct wf_json *d = wf_json_first(wf_json_find(r, "devices"));
        for (; d != NULL; d = wf_json_next(d)) {
            const size_t n = fits(r, d, args) && is_free(d)
                                 ? count(runners, args, text(d, "model"))
                                 : 0;
            best = n > most ? d : best;
            most = n > most ? n : most;
        }
    }
    if (status == WF_OK && best == NULL) {
        status = none_free(runners, args, err);
    }
    status = status == WF_OK ? wf_device_from_json(best, ret, err) : status;
    wf_json_free(answer);
    return status;
}

/* --- waiting --- */

static void describe(const struct wf_json *gate, char *ret, size_t n)
{
    int64_t rounds = 0, v = 0;
    (void)wf_json_opt_i64(gate, "rounds", 0, INT64_MAX, &rounds, NULL);
    int used = snprintf(ret, n, "%s, %" PRId64 " rounds", text(gate, "state"), rounds);
    const struct wf_json *c = wf_json_first(wf_json_find(gate, "verdicts"));
    for (; c != NULL && used > 0 && (size_t)used < n; c = wf_json_next(c)) {
        if (wf_json_as_i64(c, &v)) {
            used += snprintf(ret + used, n - (size_t)used, ", %" PRId64 " %s", v,
                             wf_json_key(c));
        }
    }
}

static int64_t count_verdicts(const struct wf_json *verdicts)
{
    int64_t sum = 0, n = 0;
    for (const struct wf_json *v = wf_json_first(verdicts); v != NULL;
         v = wf_json_next(v)) {
        sum += wf_json_as_i64(v, &n) ? n : 0;
    }
    return sum;
}

static enum wf_status poll_once(struct wf_api *api,
                                const char *id,
                                int64_t *since,
                                struct wf_progress *progress,
                                bool *ended,
                                struct wf_error *err)
{
    char path[128], note[256];
    struct wf_json *gate = NULL;
    int64_t pairs = 0, open = 0;
    snprintf(path, sizeof(path), "/v1/gates/%.60s?wait_ms=%d&since=%" PRId64, id,
             *since < 0 ? 0 : WAIT_MS, *since < 0 ? 0 : *since);
    enum wf_status status = wf_api_get(api, path, WAIT_MS, &gate, err);
    if (status == WF_OK) {
        status = wf_json_get_i64(gate, "version", 0, INT64_MAX, since, err);
    }
    if (status == WF_OK) {
        const struct wf_json *red = wf_json_find(gate, "red");
        *ended = red != NULL && wf_json_type(red) == WF_JSON_BOOL;
        (void)wf_json_opt_i64(gate, "pairs", 0, INT64_MAX, &pairs, NULL);
        open = pairs;
        const struct wf_json *v = wf_json_find(gate, "verdicts");
        if (v != NULL && wf_json_count(v) > 0) {
            pairs = count_verdicts(v); /* of the cases, without the sentinels */
            open = 0;
            (void)wf_json_opt_i64(v, "OPEN", 0, INT64_MAX, &open, NULL);
        }
        describe(gate, note, sizeof(note));
        wf_progress_show(progress, (size_t)(pairs - open), (size_t)pairs, note);
    }
    wf_json_free(gate);
    return status;
}

enum wf_status gate_farm_wait(struct wf_api *api, const char *id, struct wf_error *err)
{
    struct wf_progress progress;
    bool ended = false;
    int64_t since = -1;
    int64_t heard_ns = wf_monotonic_ns();
    enum wf_status status = WF_OK;
    wf_progress_start(&progress);
    while (status == WF_OK && !ended) {
        status = poll_once(api, id, &since, &progress, &ended, err);
        if (status == WF_OK) {
            heard_ns = wf_monotonic_ns();
        } else if (status == WF_ENETWORK && wf_monotonic_ns() - heard_ns < AWAY_NS) {
            status = WF_OK;
        }
        if (wf_interrupted) {
            status = wf_errorf(err, WF_ECANCELLED,
                               "interrupted; gate %s goes on: 'wavefarm gate status %s "
                               "--wait', or 'wavefarm gate cancel %s'",
                               id, id, id);
        }
    }
    wf_progress_end(&progress);
    return status;
}

/* --- the record --- */

struct reading {
    FILE *out;
    struct wf_gate_record *record;
    size_t lines;
};

static enum wf_status write_line(FILE *out,
                                 const struct wf_json *line,
                                 struct wf_error *err)
{
    struct wf_buf text_of = WF_BUF_INIT;
    enum wf_status status = wf_json_write(line, &text_of, err);
    if (status == WF_OK) {
        status = wf_buf_puts(&text_of, "\n", err);
    }
    if (status == WF_OK && fwrite(text_of.data, 1, text_of.len, out) != text_of.len) {
        status = wf_error_errno(err, errno, "cannot write the record");
    }
    wf_buf_free(&text_of);
    return status;
}

static enum wf_status take_line(struct reading *r,
                                const struct wf_json *line,
                                struct wf_error *err)
{
    struct wf_json *copy = NULL;
    enum wf_status status = r->out != NULL ? write_line(r->out, line, err) : WF_OK;
    if (status == WF_OK) {
        status = wf_json_copy(line, &copy, err);
    }
    if (status != WF_OK) {
        return status;
    }
    r->lines++;
    return r->record == NULL ? wf_gate_record_create(copy, &r->record, err)
                             : wf_gate_record_add(r->record, copy, err);
}

static enum wf_status take_page(struct reading *r,
                                const struct wf_json *page,
                                int64_t *after,
                                bool *more,
                                struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status status = wf_json_get_array(page, "lines", &list, err);
    for (const struct wf_json *l = status == WF_OK ? wf_json_first(list) : NULL;
         l != NULL && status == WF_OK; l = wf_json_next(l)) {
        status = take_line(r, l, err);
    }
    const struct wf_json *next = wf_json_find(page, "next");
    *more = next != NULL && wf_json_as_i64(next, after);
    return status;
}

enum wf_status gate_farm_record(struct wf_api *api,
                                const char *id,
                                FILE *out,
                                struct wf_gate_record **ret,
                                struct wf_error *err)
{
    struct reading r = { .out = out };
    int64_t after = 0;
    bool more = true;
    enum wf_status status = WF_OK;
    while (more && status == WF_OK) {
        char path[128];
        struct wf_json *page = NULL;
        snprintf(path, sizeof(path), "/v1/gates/%.60s/record?after=%" PRId64, id,
                 after);
        status = wf_api_get(api, path, 0, &page, err);
        if (status == WF_OK) {
            status = take_page(&r, page, &after, &more, err);
        }
        wf_json_free(page);
    }
    if (status != WF_OK || ret == NULL) {
        wf_gate_record_free(r.record);
        return status;
    }
    *ret = r.record;
    return WF_OK;
}
