/* worker: the runner's agent. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/log.h"
#include "runner/agent.h"

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
    int64_t idle_ns = 0, drain_ns = 0;
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
    o->idle_exit_ms = idle_ns / 1000000;
    o->drain_timeout_ms = drain_ns / 1000000;
    if (status == WF_OK) {
        status = wf_server_options(args, &o->server, &token, err);
    }
    if (status == WF_OK) {
        o->server.cancel = NULL;
        status = wf_agent_run(o, &drain, &stop, err);
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
    WF_OPTS_SERVER,
};

const struct wf_command wf_command_worker = {
    .name = "worker",
    .synopsis = "",
    .summary = "Work for a farm: lease tasks, run them, hand over results",
    .details =
        "SIGTERM drains: the running task is finished, all results are handed over, "
        "the rest is\ngiven back. A second SIGTERM stops at once. Results survive "
        "in the spool.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .run = run,
};
