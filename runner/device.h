/* Devices: found, not configured. Discovery loads each runtime in a child process with
 * a time-out, so that a hung driver cannot hang the caller. */
#ifndef WF_RUNNER_DEVICE_H
#define WF_RUNNER_DEVICE_H

#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_device {
    char runtime[16];  /* "host", "cuda", "amd", "emulator" */
    char library[512]; /* path that was loaded */
    int ordinal;
    char id[96]; /* stable: "cuda:GPU-<uuid or pci>", "host:<hostname>:0" */
    char name[128];
    char arch[64];      /* with feature suffixes, as the runtime says it */
    char model[64];     /* MI300X MI300A MI308X MI325X H200 ..., or the CPU's name */
    char partition[16]; /* "SPX/NPS1"; "" where there is none */
    char driver[64];
    char pci_bus_id[32];
    int cu_count, xcc_count, warp_size;
    uint64_t memory_bytes, l2_bytes, llc_bytes;
    uint64_t lds_bytes;
    bool times_modelled;
    bool library_kernels; /* may run host libraries */
    char cpus[256];
    double peak_bytes_per_s; /* 0: unknown */
};

struct wf_device_list {
    struct wf_device *device;
    size_t count;
    /* One line for each runtime that gave no device: "amd: libamdhip64.so.7, .6, .5 not
     * found (install ROCm's runtime)". */
    char **missing;
    size_t missing_count;
};

/* EINVAL names the runtimes that there are. */
enum wf_status wf_runtime_check(const char *name, struct wf_error *err);
/* runtime: NULL for all. */
enum wf_status wf_devices_discover(const char *runtime,
                                   struct wf_device_list *ret,
                                   struct wf_error *err);
void wf_device_list_free(struct wf_device_list *list);
/* "cuda:0", "cuda" (ordinal 0), "host", "emulator:1". ENOTFOUND lists what there is and
 * why the asked runtime has none. */
enum wf_status wf_device_open(const char *selector,
                              struct wf_device *ret,
                              struct wf_error *err);
/* Peak rate for a type in flop/s from the model table; 0 when unknown. */
double wf_device_peak_flops(const struct wf_device *device, const char *dtype);
/* As in a result's "device" member and in a runner's registration. */
enum wf_status wf_device_to_json(const struct wf_device *device,
                                 struct wf_json **ret,
                                 struct wf_error *err);
enum wf_status wf_device_from_json(const struct wf_json *json,
                                   struct wf_device *ret,
                                   struct wf_error *err);

#endif
