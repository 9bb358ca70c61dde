/* Finds devices: for each runtime, a subject is started that loads its library and
 * tells what it sees, under a deadline.
 *
 * A runtime without a device leaves one line that says what is missing; that is not an
 * error. AMD devices are completed from the KFD topology. */
#include "runner/device.h"

#include "core/buf.h"
#include "core/clock.h"
#include "runner/device_model.h"
#include "runner/kfd.h"
#include "runner/paths.h"
#include "runner/subject_client.h"
#include "runner/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_NS ((int64_t)20 * 1000 * 1000 * 1000)
#define NO_ROCM \
    "libamdhip64.so.7, .6, .5 not found (install ROCm's runtime: package hip-runtime-amd)"

struct runtime {
    const char *name;
    const char *library; /* ours, or NULL: ROCm's */
    const char *visible; /* variable that hides its devices, or NULL */
};

static const struct runtime runtimes[] = {
    { "host", "libwavefarm_host.so", NULL },
    { "emulator", "libwavefarm_emulator.so", NULL },
    { "cuda", "libwavefarm_cuda.so", NULL },
    { "amd", NULL, "HIP_VISIBLE_DEVICES" },
};

static const char *const rocm_libraries[] = { "libamdhip64.so.7", "libamdhip64.so.6",
                                              "libamdhip64.so.5" };

#define RUNTIME_COUNT (sizeof(runtimes) / sizeof(runtimes[0]))

/* --- the list --- */

static enum wf_status add_device(struct wf_device_list *list,
                                 const struct wf_device *device,
                                 struct wf_error *err)
{
    struct wf_device *grown =
        wf_realloc_array(list->device, list->count + 1, sizeof(*grown));
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for devices");
    }
    list->device = grown;
    list->device[list->count++] = *device;
    return WF_OK;
}

static enum wf_status add_missing(struct wf_device_list *list,
                                  const char *runtime,
                                  const char *why,
                                  struct wf_error *err)
{
    char **grown =
        wf_realloc_array(list->missing, list->missing_count + 1, sizeof(*grown));
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for devices");
    }
    list->missing = grown;
    grown[list->missing_count] = wf_asprintf("%s: %s", runtime, why);
    if (!grown[list->missing_count]) {
        return wf_errorf(err, WF_ENOMEM, "no memory for devices");
    }
    list->missing_count++;
    return WF_OK;
}

void wf_device_list_free(struct wf_device_list *list)
{
    if (!list) {
        return;
    }
    for (size_t i = 0; i < list->missing_count; i++) {
        free(list->missing[i]);
    }
    free(list->missing);
    free(list->device);
    *list = (struct wf_device_list){ 0 };
}

/* --- one runtime --- */

struct probe {
    const char *program;
    const struct runtime *runtime;
    const char *library;
    struct wf_sp_runtime info;
    struct kfd_node *nodes;
    size_t node_count;
    char host[65];
};

static void fill_device(const struct probe *p,
                        uint32_t ordinal,
                        const struct wf_sp_device *from,
                        struct wf_device *ret)
{
    memset(ret, 0, sizeof(*ret));
    (void)snprintf(ret->runtime, sizeof(ret->runtime), "%s", p->runtime->name);
    (void)snprintf(ret->library, sizeof(ret->library), "%.511s", p->library);
    (void)snprintf(ret->driver, sizeof(ret->driver), "%.63s", p->info.version);
    (void)snprintf(ret->name, sizeof(ret->name), "%.127s", from->name);
    (void)snprintf(ret->arch, sizeof(ret->arch), "%.63s", from->arch);
    (void)snprintf(ret->pci_bus_id, sizeof(ret->pci_bus_id), "%.31s", from->pci_bus_id);
    (void)snprintf(ret->cpus, sizeof(ret->cpus), "%.255s", from->cpus);
    ret->ordinal = (int)ordinal;
    ret->cu_count = from->cu_count;
    ret->xcc_count = from->xcc_count > 0 ? from->xcc_count : 1;
    ret->warp_size = from->warp_size;
    ret->memory_bytes = from->memory_bytes;
    ret->l2_bytes = from->l2_bytes;
    ret->llc_bytes = from->llc_bytes ? from->llc_bytes : from->l2_bytes;
    ret->lds_bytes = from->lds_bytes;
    ret->times_modelled = p->info.times_modelled != 0;
    ret->library_kernels = p->info.library_kernels != 0;
}

/* How many devices of the list before have the same PCI address, function ignored. */
static size_t partition_index(const struct wf_device_list *list,
                              const struct wf_device *d)
{
    size_t n = 0;
    size_t address = strcspn(d->pci_bus_id, ".");
    for (size_t i = 0; d->pci_bus_id[0] && i < list->count; i++) {
        n += strcmp(list->device[i].runtime, d->runtime) == 0 &&
             strncmp(list->device[i].pci_bus_id, d->pci_bus_id, address + 1) == 0;
    }
    return n;
}

static void complete_device(const struct probe *p,
                            const struct wf_device_list *list,
                            struct wf_device *device)
{
    unsigned pci_device_id = 0;
    size_t nth = partition_index(list, device);
    const struct kfd_node *node =
        kfd_find(p->nodes, p->node_count, device->pci_bus_id, nth);
    if (node) {
        pci_device_id = node->device_id;
        device->xcc_count = node->xcc_count > 0 ? node->xcc_count : device->xcc_count;
        device->llc_bytes = node->llc_bytes ? node->llc_bytes : device->llc_bytes;
        memcpy(device->partition, node->partition, sizeof(device->partition));
    }
    device_model_fill(device, pci_device_id);
    if (device->pci_bus_id[0] == '\0') {
        (void)snprintf(device->id, sizeof(device->id), "%s:%.60s:%d", device->runtime,
                       p->host, device->ordinal);
    } else if (nth == 0) {
        (void)snprintf(device->id, sizeof(device->id), "%s:%.32s:%s", device->runtime,
                       p->host, device->pci_bus_id);
    } else {
        (void)snprintf(device->id, sizeof(device->id), "%s:%.32s:%s#%u",
                       device->runtime, p->host, device->pci_bus_id, (unsigned)nth);
    }
}

/* Asks a running subject for its devices. */
static enum wf_status ask_devices(struct probe *p,
                                  struct subject_client *client,
                                  struct wf_device_list *list,
                                  struct wf_error *err)
{
    int64_t deadline_ns = wf_monotonic_ns() + PROBE_NS;
    enum wf_status st = subject_client_get(client, WF_SP_HELLO, NULL, 0, deadline_ns,
                                           &p->info, sizeof(p->info), err);
    p->info.version[sizeof(p->info.version) - 1] = '\0';
    p->info.no_device[sizeof(p->info.no_device) - 1] = '\0';
    for (uint32_t i = 0; st == WF_OK && i < p->info.device_count; i++) {
        struct wf_sp_index which = { i, 0 };
        struct wf_sp_device from;
        struct wf_device device;
        st = subject_client_get(client, WF_SP_DEVICE, &which, sizeof(which),
                                deadline_ns, &from, sizeof(from), err);
        if (st == WF_OK) {
            fill_device(p, i, &from, &device);
            complete_device(p, list, &device);
            st = add_device(list, &device, err);
        }
    }
    return st;
}

static enum wf_status probe_library(struct probe *p,
                                    struct wf_device_list *list,
                                    struct wf_error *err)
{
    struct subject_options options = { p->program, p->library, NULL };
    struct subject_client *client = NULL;
    memset(&p->info, 0, sizeof(p->info));
    enum wf_status st = subject_client_start(&options, &client, err);
    if (st == WF_OK) {
        st = ask_devices(p, client, list, err);
    }
    subject_client_stop(client);
    return st;
}

/* Why a loaded ROCm shows nothing. */
static void explain_no_amd(const char *library, const char *said, char *ret, size_t n)
{
    const char *why = "the runtime sees none";
    if (access("/dev/kfd", F_OK) != 0) {
        why = "/dev/kfd is missing: the amdgpu kernel driver is not loaded, or the "
              "container was not given /dev/kfd and /dev/dri";
    } else if (access("/dev/kfd", R_OK | W_OK) != 0) {
        why = "no permission for /dev/kfd: add the user to the groups render and video";
    }
    (void)snprintf(ret, n, "no device (%s; %s: %s)", why, library, said);
}

static enum wf_status probe_rocm(struct probe *p,
                                 struct wf_device_list *list,
                                 char *why,
                                 size_t n)
{
    struct wf_error err = { 0 };
    enum wf_status st = WF_ENOTFOUND;
    for (size_t i = 0; i < sizeof(rocm_libraries) / sizeof(rocm_libraries[0]); i++) {
        p->library = rocm_libraries[i];
        st = probe_library(p, list, &err);
        if (st != WF_ENOTFOUND) {
            break;
        }
    }
    if (st == WF_ENOTFOUND) {
        (void)snprintf(why, n, "%s", NO_ROCM);
    } else if (st != WF_OK) {
        (void)snprintf(why, n, "%s", err.text);
    } else if (p->info.device_count == 0) {
        explain_no_amd(p->library, p->info.no_device, why, n);
    }
    return st == WF_ENOMEM ? st : WF_OK;
}

static enum wf_status probe_ours(struct probe *p,
                                 struct wf_device_list *list,
                                 char *why,
                                 size_t n)
{
    char *path = NULL;
    struct wf_error err = { 0 };
    enum wf_status st = runner_library(p->runtime->library, &path, &err);
    if (st == WF_OK) {
        p->library = path;
        st = probe_library(p, list, &err);
    }
    if (st != WF_OK) {
        (void)snprintf(why, n, "%s", err.text);
    } else if (p->info.device_count == 0) {
        (void)snprintf(why, n, "no device (%s)", p->info.no_device);
    }
    free(path);
    return st == WF_ENOMEM ? st : WF_OK;
}

static enum wf_status probe_runtime(struct probe *p,
                                    struct wf_device_list *list,
                                    struct wf_error *err)
{
    char why[768] = "";
    struct wf_error hidden = { 0 };
    const char *variable = p->runtime->visible;
    enum wf_status st = WF_OK;
    if (variable &&
        visible_devices_check(variable, getenv(variable), &hidden) != WF_OK) {
        (void)snprintf(why, sizeof(why), "%s", hidden.text);
    } else if (p->runtime->library) {
        st = probe_ours(p, list, why, sizeof(why));
    } else {
        st = probe_rocm(p, list, why, sizeof(why));
    }
    if (st != WF_OK) {
        return wf_errorf(err, st, "no memory for devices");
    }
    return why[0] ? add_missing(list, p->runtime->name, why, err) : WF_OK;
}

enum wf_status wf_runtime_check(const char *name, struct wf_error *err)
{
    for (size_t i = 0; i < RUNTIME_COUNT; i++) {
        if (strcmp(name, runtimes[i].name) == 0) {
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_EINVAL,
                     "unknown runtime '%s' (there are host, emulator, cuda, amd)",
                     name);
}

enum wf_status wf_devices_discover(const char *runtime,
                                   struct wf_device_list *ret,
                                   struct wf_error *err)
{
    struct wf_device_list list = { 0 };
    struct probe p;
    char *program = NULL;
    const char *sysfs = getenv("WAVEFARM_SYSFS");
    memset(&p, 0, sizeof(p));
    enum wf_status st = runtime != NULL ? wf_runtime_check(runtime, err) : WF_OK;
    if (st == WF_OK) {
        st = runner_program("wavefarm-subject", &program, err);
    }
    if (st != WF_OK) {
        return st;
    }
    p.program = program;
    if (gethostname(p.host, sizeof(p.host) - 1) != 0) {
        (void)snprintf(p.host, sizeof(p.host), "localhost");
    }
    (void)kfd_read(sysfs && sysfs[0] ? sysfs : "/sys", &p.nodes, &p.node_count, NULL);
    for (size_t i = 0; st == WF_OK && i < RUNTIME_COUNT; i++) {
        if (runtime && strcmp(runtime, runtimes[i].name) != 0) {
            continue;
        }
        p.runtime = &runtimes[i];
        st = probe_runtime(&p, &list, err);
    }
    free(program);
    free(p.nodes);
    if (st != WF_OK) {
        wf_device_list_free(&list);
        return st;
    }
    *ret = list;
    return WF_OK;
}

/* --- choosing one --- */

static enum wf_status not_found(const char *selector,
                                const struct wf_device_list *list,
                                struct wf_error *err)
{
    struct wf_buf have = WF_BUF_INIT;
    for (size_t i = 0; i < list->count; i++) {
        (void)wf_buf_printf(&have, NULL, "%s%s:%d", i ? ", " : "",
                            list->device[i].runtime, list->device[i].ordinal);
    }
    for (size_t i = 0; i < list->missing_count; i++) {
        (void)wf_buf_printf(&have, NULL, "%s%s", have.len ? "; " : "",
                            list->missing[i]);
    }
    (void)wf_errorf(err, WF_ENOTFOUND, "no device '%s' (there is %s)", selector,
                    have.len ? wf_buf_cstr(&have) : "none");
    wf_buf_free(&have);
    return WF_ENOTFOUND;
}

static bool matches(const struct wf_device *device, const char *selector)
{
    char text[32];
    if (strcmp(device->id, selector) == 0) {
        return true;
    }
    if (strcmp(device->runtime, selector) == 0) {
        return device->ordinal == 0;
    }
    (void)snprintf(text, sizeof(text), "%s:%d", device->runtime, device->ordinal);
    return strcmp(text, selector) == 0;
}

enum wf_status wf_device_open(const char *selector,
                              struct wf_device *ret,
                              struct wf_error *err)
{
    char runtime[16];
    struct wf_device_list list = { 0 };
    size_t n = strcspn(selector, ":");
    if (n == 0 || n >= sizeof(runtime)) {
        return wf_errorf(err, WF_EINVAL,
                         "'%s' is not a device (write \"host:0\", \"cuda\", \"amd:1\")",
                         selector);
    }
    memcpy(runtime, selector, n);
    runtime[n] = '\0';
    enum wf_status st = wf_devices_discover(runtime, &list, err);
    if (st != WF_OK) {
        return st;
    }
    st = WF_ENOTFOUND;
    for (size_t i = 0; st != WF_OK && i < list.count; i++) {
        if (matches(&list.device[i], selector)) {
            *ret = list.device[i];
            st = WF_OK;
        }
    }
    if (st != WF_OK) {
        st = not_found(selector, &list, err);
    }
    wf_device_list_free(&list);
    return st;
}
