/* devices: what a runner on this machine would register. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/table.h"
#include "runner/calibration.h"
#include "runner/device.h"

#include <stdio.h>

/* Marked by a calibration; what a measurement would say of it. */
static bool has_no_times(const struct wf_device *device, char *why, size_t n)
{
    return !device->times_modelled &&
           wf_calibration_state(device, why, n) != WF_CALIBRATION_GOOD;
}

static enum wf_status print_json(const struct wf_device_list *list,
                                 struct wf_error *err)
{
    struct wf_json *devices = wf_json_array();
    char why[400];
    struct wf_json *missing = wf_json_array();
    struct wf_json *root = wf_json_object();
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < list->count && status == WF_OK; i++) {
        struct wf_json *d = NULL;
        status = wf_device_to_json(&list->device[i], &d, err);
        if (status == WF_OK && has_no_times(&list->device[i], why, sizeof(why))) {
            status = wf_json_set_string(d, "no_times", why, err);
        }
        if (status != WF_OK) {
            wf_json_free(d);
        } else {
            status = wf_json_push_take(devices, d, err);
        }
    }
    for (size_t i = 0; i < list->missing_count && status == WF_OK; i++) {
        status = wf_json_push_string(missing, list->missing[i], err);
    }
    enum wf_status s1 = wf_json_set_take(root, "devices", devices, err);
    enum wf_status s2 = wf_json_set_take(root, "missing", missing, err);
    if (status == WF_OK) {
        status = s1 != WF_OK ? s1 : s2;
    }
    if (status == WF_OK) {
        status = wf_print_json(root, err);
    }
    wf_json_free(root);
    return status;
}

static void add_device(struct wf_table *t, const struct wf_device *d)
{
    char selector[40], memory[32], cus[32], why[400];
    const char *times = d->times_modelled                   ? "modelled"
                        : has_no_times(d, why, sizeof(why)) ? "none"
                                                            : "measured";
    snprintf(selector, sizeof(selector), "%s:%d", d->runtime, d->ordinal);
    snprintf(memory, sizeof(memory), "%.1f GiB",
             (double)d->memory_bytes / 1073741824.0);
    snprintf(cus, sizeof(cus), "%d", d->cu_count);
    const char *cell[] = { selector, d->model, d->name,      d->arch,
                           cus,      memory,   d->partition, times };
    wf_table_row(t, cell);
}

static void print_table(const struct wf_device_list *list)
{
    static const char *const header[] = { "device", "model",   "name",      "arch",
                                          ">CUs",   ">memory", "partition", "times" };
    struct wf_table *t = wf_table_create(header, sizeof(header) / sizeof(header[0]));
    if (t != NULL) {
        for (size_t i = 0; i < list->count; i++) {
            add_device(t, &list->device[i]);
        }
        (void)wf_table_print(t);
    }
    wf_table_free(t);
    for (size_t i = 0; i < list->count; i++) {
        char why[400];
        if (has_no_times(&list->device[i], why, sizeof(why))) {
            wf_say("%s:%d has no times: %s; the next measurement tries again",
                   list->device[i].runtime, list->device[i].ordinal, why);
        }
    }
    for (size_t i = 0; i < list->missing_count; i++) {
        wf_say("%s", list->missing[i]);
    }
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_device_list list = { 0 };
    enum wf_status status =
        wf_devices_discover(wf_args_string(args, "runtime"), &list, &err);
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = print_json(&list, &err);
    } else if (status == WF_OK) {
        print_table(&list);
    }
    wf_device_list_free(&list);
    return status == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const struct wf_opt opts[] = {
    { "runtime", WF_OPT_STRING, "NAME", NULL, NULL,
      "only host, cuda, amd or emulator" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_devices = {
    .name = "devices",
    .synopsis = "",
    .summary = "Show the devices of this machine",
    .details =
        "Devices are found, not configured. A runtime without a device says what "
        "is missing.\nWAVEFARM_HOST_DEVICES=2 splits the processors into two host "
        "devices.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .run = run,
};
