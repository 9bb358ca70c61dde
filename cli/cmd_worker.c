/* worker: the runner's agent.
 *
 * With --json each event is one line on stdout, written out at once: a pipe may be read
 * while the worker runs. The agent's threads share the counts and stdout under `mutex`.
 */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/json.h"
#include "core/log.h"
#include "runner/agent.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_NS 86400000000000LL

static volatile int drain = 0;
static volatile int stop = 0;

/* First signal: drain; second: stop at once. */
static void on_signal(int number)
{
    (void)number;
    stop = drain;
    drain = 1;
}

static void catch_signals(void)
{
    struct sigaction a;
    memset(&a, 0, sizeof(a));
    a.sa_handler = on_signal;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

/* --- events --- */

struct watch {
    pthread_mutex_t mutex;
    const char *name; /* of the runner */
    size_t leases, results, stale, refused;
};

static enum wf_status event_json(const struct watch *w,
                                 const struct wf_agent_event *e,
                                 struct wf_json *o,
                                 struct wf_error *err)
{
    enum wf_status s = WF_OK;
    switch (e->kind) {
    case WF_AGENT_REGISTERED:
        s = wf_json_set_string(o, "event", "registered", err);
        s = s == WF_OK ? wf_json_set_string(o, "name", w->name, err) : s;
        return s == WF_OK ? wf_json_set_string(o, "session", e->session, err) : s;
    case WF_AGENT_LEASE:
        s = wf_json_set_string(o, "event", "lease", err);
        s = s == WF_OK ? wf_json_set_string(o, "shard", e->shard, err) : s;
        s = s == WF_OK ? wf_json_set_string(o, "device", e->device, err) : s;
        return s == WF_OK ? wf_json_set_u64(o, "tasks", e->tasks, err) : s;
    case WF_AGENT_RESULT:
        s = wf_json_set_string(o, "event", "result", err);
        s = s == WF_OK ? wf_json_set_string(o, "shard", e->shard, err) : s;
        s = s == WF_OK ? wf_json_set_string(o, "task", e->task, err) : s;
        return s == WF_OK ? wf_json_set_string(o, "verdict", e->verdict, err) : s;
    }
    return s;
}

static enum wf_status end_json(const struct watch *w,
                               const char *why,
                               struct wf_json *o,
                               struct wf_error *err)
{
    enum wf_status s = wf_json_set_string(o, "event", "end", err);
    s = s == WF_OK ? wf_json_set_u64(o, "leases", w->leases, err) : s;
    s = s == WF_OK ? wf_json_set_u64(o, "results", w->results, err) : s;
    s = s == WF_OK ? wf_json_set_u64(o, "stale", w->stale, err) : s;
    s = s == WF_OK ? wf_json_set_u64(o, "refused", w->refused, err) : s;
    return s == WF_OK ? wf_json_set_string(o, "error", why, err) : s;
}

/* Takes `o`. A reader that has gone away is no reason to stop working. */
static void print_line(struct wf_json *o, enum wf_status status, struct wf_error *err)
{
    struct wf_buf line = WF_BUF_INIT;
    status = status == WF_OK ? wf_json_write(o, &line, err) : status;
    if (status == WF_OK) {
        printf("%s\n", wf_buf_cstr(&line));
        (void)fflush(stdout);
    } else {
        wf_log(WF_LOG_WARN, "event not printed: %s", err->text);
    }
    wf_buf_free(&line);
    wf_json_free(o);
}

static void on_event(void *ctx, const struct wf_agent_event *e)
{
    struct watch *w = ctx;
    struct wf_error err = { 0 };
    struct wf_json *o = wf_json_object();
    enum wf_status status = event_json(w, e, o, &err);
    pthread_mutex_lock(&w->mutex);
    w->leases += e->kind == WF_AGENT_LEASE;
    if (e->kind == WF_AGENT_RESULT) {
        w->stale += strcmp(e->verdict, "stale") == 0;
        w->refused += strcmp(e->verdict, "refused") == 0;
        w->results +=
            strcmp(e->verdict, "accepted") == 0 || strcmp(e->verdict, "duplicate") == 0;
    }
    print_line(o, status, &err);
    pthread_mutex_unlock(&w->mutex);
}

static enum wf_status run_agent(const struct wf_args *args,
                                const struct wf_agent_options *options,
                                struct wf_error *err)
{
    struct wf_agent_options o = *options;
    struct watch w = { .name = o.name };
    if (!wf_args_flag(args, "json")) {
        return wf_agent_run(&o, &drain, &stop, err);
    }
    pthread_mutex_init(&w.mutex, NULL);
    o.event = on_event;
    o.event_ctx = &w;
    enum wf_status status = wf_agent_run(&o, &drain, &stop, err);
    struct wf_error none = { 0 };
    struct wf_json *end = wf_json_object();
    print_line(end, end_json(&w, status == WF_OK ? NULL : err->text, end, &none),
               &none);
    pthread_mutex_destroy(&w.mutex);
    return status;
}

/* --- options --- */

/* The devices named by --device, or all that are found. */
static enum wf_status choose_devices(const struct wf_args *args,
                                     struct wf_device_list *list,
                                     struct wf_error *err)
{
    size_t n = wf_args_list_count(args, "device");
    if (n == 0) {
        return wf_devices_discover(NULL, list, err);
    }
    list->device = wf_calloc(n, sizeof(*list->device));
    if (list->device == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for devices");
    }
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < n && status == WF_OK; i++) {
        status = wf_device_open(wf_args_list_at(args, "device", i),
                                &list->device[list->count], err);
        list->count += status == WF_OK;
    }
    return status;
}

static enum wf_status choose_name(const struct wf_args *args,
                                  char *ret,
                                  size_t n,
                                  struct wf_error *err)
{
    const char *name = wf_args_string(args, "name");
    if (name != NULL) {
        snprintf(ret, n, "%s", name);
    } else if (gethostname(ret, n) != 0) {
        return wf_errorf(err, WF_EINVAL, "this machine has no name: give --name");
    }
    ret[n - 1] = '\0';
    return WF_OK;
}

static enum wf_status choose_spool(const struct wf_args *args,
                                   const char *name,
                                   const char *cache,
                                   char **ret,
                                   struct wf_error *err)
{
    const char *given = wf_args_string(args, "spool");
    *ret = given != NULL ? wf_strdup(given) : wf_asprintf("%s/spool/%s", cache, name);
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
}

static enum wf_status work(const struct wf_args *args,
                           struct wf_agent_options *o,
                           struct wf_error *err)
{
    const char *label[32];
    struct wf_buf token = WF_BUF_INIT;
    int64_t idle_ns = 0, drain_ns = 0, lock_ns = 0;
    size_t labels = wf_args_list_count(args, "label");
    if (labels > 32) {
        return wf_errorf(err, WF_EINVAL, "at most 32 labels");
    }
    for (size_t i = 0; i < labels; i++) {
        label[i] = wf_args_list_at(args, "label", i);
    }
    o->label = label;
    o->label_count = labels;
    enum wf_status status = wf_args_int_in(args, "threads", 0, 4096, &o->threads, err);
    if (status == WF_OK && wf_args_string(args, "idle-exit") != NULL) {
        status = wf_args_duration_in(args, "idle-exit", 1000000, DAY_NS, &idle_ns, err);
    }
    if (status == WF_OK) {
        status =
            wf_args_duration_in(args, "drain-timeout", 1000000, DAY_NS, &drain_ns, err);
    }
    if (status == WF_OK) {
        status =
            wf_args_duration_in(args, "lock-timeout", 1000000, DAY_NS, &lock_ns, err);
    }
    o->lock_timeout_ms = lock_ns / 1000000;
    o->idle_exit_ms = idle_ns / 1000000;
    o->drain_timeout_ms = drain_ns / 1000000;
    if (status == WF_OK) {
        status = wf_server_options(args, &o->server, &token, err);
    }
    if (status == WF_OK) {
        o->server.cancel = NULL;
        status = run_agent(args, o, err);
    }
    wf_buf_free(&token);
    return status;
}

static int run(const struct wf_args *args)
{
    char name[65];
    char *cache = NULL, *spool = NULL;
    struct wf_error err = { 0 };
    struct wf_device_list devices = { 0 };
    wf_log_init("worker", WF_LOG_INFO);
    catch_signals();
    enum wf_status status = choose_name(args, name, sizeof(name), &err);
    if (status == WF_OK) {
        status = choose_devices(args, &devices, &err);
    }
    if (status == WF_OK) {
        status = wf_cache_dir(&cache, &err);
    }
    if (status == WF_OK) {
        status = choose_spool(args, name, cache, &spool, &err);
    }
    if (status == WF_OK) {
        struct wf_agent_options o = {
            .name = name,
            .spool_folder = spool,
            .cache_folder = cache,
            .device = devices.device,
            .device_count = devices.count,
        };
        status = work(args, &o, &err);
    }
    free(spool);
    free(cache);
    wf_device_list_free(&devices);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const struct wf_opt opts[] = {
    { "name", WF_OPT_STRING, "NAME", NULL, NULL,
      "of this runner (default: the host's)" },
    { "device", WF_OPT_LIST, "SELECTOR", NULL, NULL,
      "a device to work for (default: all found)" },
    { "label", WF_OPT_LIST, "LABEL", NULL, NULL, "a label that runs may ask for" },
    { "spool", WF_OPT_FILE, "FOLDER", NULL, NULL,
      "results on their way (default: <cache>/spool/<name>)" },
    { "threads", WF_OPT_INT, "N", "0", NULL, "threads of the reference, 0: all" },
    { "idle-exit", WF_OPT_DURATION, "TIME", NULL, NULL,
      "end after so long without work" },
    { "drain-timeout", WF_OPT_DURATION, "TIME", "120s", NULL,
      "after SIGTERM the running task may take so long" },
    { "lock-timeout", WF_OPT_DURATION, "TIME", "10m", NULL,
      "wait so long for a device that somebody else measures on" },
    { "json", WF_OPT_FLAG, NULL, NULL, NULL,
      "one JSON object a line on stdout for each event" },
    WF_OPTS_SERVER,
};

const struct wf_command wf_command_worker = {
    .name = "worker",
    .synopsis = "",
    .summary = "Work for a farm: lease tasks, run them, hand over results",
    .details =
        "SIGTERM drains: the running task is finished, all results are handed over, "
        "the rest is\ngiven back. A second SIGTERM stops at once. Results survive "
        "in the spool.\n\n"
        "--json prints {\"event\": ...} lines: registered (name, session), lease "
        "(shard, device, tasks),\nresult (shard, task, verdict: accepted, duplicate, "
        "stale or refused), end (leases, results,\nstale, refused, error or null).",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .run = run,
};
