/* What the runtime and its devices are, and the device that this subject works on. */
#include "runner/subject.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void read_runtime(const struct wf_hip *hip, struct wf_sp_runtime *ret)
{
    struct wf_rt_info info = { .size = sizeof(info) };
    int version = 0;
    if (hip->wf_rt_info && hip->wf_rt_info(&info) == 0) {
        ret->has_info = 1;
        ret->times_modelled = info.times_modelled;
        ret->library_kernels = info.library_kernels;
        (void)snprintf(ret->name, sizeof(ret->name), "%.31s", info.name);
        (void)snprintf(ret->version, sizeof(ret->version), "%.63s", info.version);
        return;
    }
    (void)snprintf(ret->name, sizeof(ret->name), "amd");
    if (hip->hipRuntimeGetVersion(&version) == hipSuccess) {
        (void)snprintf(ret->version, sizeof(ret->version), "HIP %d.%d.%d",
                       version / 10000000, version / 100000 % 100, version % 100000);
    }
}

enum wf_status subject_hello(struct subject *s,
                             struct wire_in *in,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    struct wf_sp_runtime runtime;
    struct wf_error why = { 0 };
    int count = 0;
    enum wf_status st = wire_end(in, err);
    if (st != WF_OK) {
        return st;
    }
    memset(&runtime, 0, sizeof(runtime));
    read_runtime(&s->hip, &runtime);
    if (wf_hip_check(&s->hip, s->hip.hipInit(0), "hipInit", &why) != WF_OK ||
        wf_hip_check(&s->hip, s->hip.hipGetDeviceCount(&count), "hipGetDeviceCount",
                     &why) != WF_OK) {
        count = 0;
        (void)snprintf(runtime.no_device, sizeof(runtime.no_device), "%.255s",
                       why.text);
    }
    runtime.device_count = count > 0 ? (uint32_t)count : 0;
    return wf_buf_add(out, &runtime, sizeof(runtime), err);
}

static int attribute(const struct wf_hip *hip, int which, int device)
{
    int value = 0;
    return hip->hipDeviceGetAttribute(&value, which, device) == hipSuccess ? value : 0;
}

/* A runtime without our extension: ROCm's own. */
static enum wf_status read_plain_device(struct wf_hip *hip,
                                        int device,
                                        struct wf_sp_device *ret,
                                        struct wf_error *err)
{
    size_t memory = 0;
    enum wf_status st =
        wf_hip_check(hip, hip->hipDeviceGetName(ret->name, sizeof(ret->name), device),
                     "hipDeviceGetName", err);
    if (st == WF_OK) {
        st = wf_hip_check(hip, hip->hipDeviceTotalMem(&memory, device),
                          "hipDeviceTotalMem", err);
    }
    if (st == WF_OK) {
        st = wf_hip_check(
            hip,
            hip->hipDeviceGetPCIBusId(ret->pci_bus_id, sizeof(ret->pci_bus_id), device),
            "hipDeviceGetPCIBusId", err);
    }
    if (st == WF_OK) {
        st = wf_hip_arch_name(hip, device, ret->arch, sizeof(ret->arch), err);
    }
    if (st != WF_OK) {
        return st;
    }
    ret->memory_bytes = memory;
    ret->cu_count = attribute(hip, hipDeviceAttributeMultiprocessorCount, device);
    ret->warp_size = attribute(hip, hipDeviceAttributeWarpSize, device);
    ret->clock_khz = attribute(hip, hipDeviceAttributeClockRate, device);
    ret->l2_bytes = (uint64_t)attribute(hip, hipDeviceAttributeL2CacheSize, device);
    ret->lds_bytes =
        (uint64_t)attribute(hip, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
    return WF_OK;
}

static enum wf_status read_device(struct wf_hip *hip,
                                  int device,
                                  struct wf_sp_device *ret,
                                  struct wf_error *err)
{
    struct wf_rt_device_info info = { .size = sizeof(info) };
    if (!hip->wf_rt_device_info) {
        return read_plain_device(hip, device, ret, err);
    }
    if (hip->wf_rt_device_info(device, &info) != 0) {
        return wf_errorf(err, WF_EDEVICE, "the runtime knows nothing about device %d",
                         device);
    }
    ret->cu_count = info.cu_count;
    ret->xcc_count = info.xcc_count;
    ret->warp_size = info.warp_size;
    ret->clock_khz = info.clock_khz;
    ret->memory_bytes = info.memory_bytes;
    ret->l2_bytes = info.l2_bytes;
    ret->llc_bytes = info.llc_bytes;
    ret->lds_bytes = info.lds_bytes;
    (void)snprintf(ret->name, sizeof(ret->name), "%.127s", info.name);
    (void)snprintf(ret->arch, sizeof(ret->arch), "%.63s", info.arch);
    (void)snprintf(ret->pci_bus_id, sizeof(ret->pci_bus_id), "%.31s", info.pci_bus_id);
    (void)snprintf(ret->cpus, sizeof(ret->cpus), "%.255s", info.cpus);
    return WF_OK;
}

enum wf_status subject_device(struct subject *s,
                              struct wire_in *in,
                              struct wf_buf *out,
                              struct wf_error *err)
{
    struct wf_sp_index which;
    struct wf_sp_device device;
    wire_take(in, &which, sizeof(which));
    enum wf_status st = wire_end(in, err);
    if (st != WF_OK) {
        return st;
    }
    memset(&device, 0, sizeof(device));
    st = read_device(&s->hip, (int)which.index, &device, err);
    return st == WF_OK ? wf_buf_add(out, &device, sizeof(device), err) : st;
}

enum wf_status subject_open(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err)
{
    struct wf_sp_index which;
    (void)out;
    wire_take(in, &which, sizeof(which));
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK) {
        st = wf_hip_check(&s->hip, s->hip.hipInit(0), "hipInit", err);
    }
    if (st == WF_OK) {
        st = wf_hip_check(&s->hip, s->hip.hipSetDevice((int)which.index),
                          "hipSetDevice", err);
    }
    if (st == WF_OK) {
        st = wf_hip_check(
            &s->hip, s->hip.hipStreamCreateWithFlags(&s->stream, hipStreamNonBlocking),
            "hipStreamCreateWithFlags", err);
    }
    for (size_t i = 0; st == WF_OK && i < sizeof(s->event) / sizeof(s->event[0]); i++) {
        st = wf_hip_check(&s->hip,
                          s->hip.hipEventCreateWithFlags(&s->event[i], hipEventDefault),
                          "hipEventCreateWithFlags", err);
    }
    s->device = (int)which.index;
    s->open = st == WF_OK;
    return st;
}

void subject_close(struct subject *s)
{
    for (size_t i = 0; i < sizeof(s->event) / sizeof(s->event[0]); i++) {
        if (s->event[i]) {
            (void)s->hip.hipEventDestroy(s->event[i]);
        }
    }
    if (s->stream) {
        (void)s->hip.hipStreamDestroy(s->stream);
    }
}
