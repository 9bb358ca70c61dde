/* The extensions of ours that hosts of ours use (runner/hip_abi.h). */
#include "emulator/hip/runtime.h"

#include <stdio.h>
#include <string.h>

/* A host that asks this tells faults itself. */
int wf_rt_info(struct wf_rt_info *ret)
{
    struct em_hip *hip;
    if (ret == NULL || ret->size < sizeof(*ret)) {
        return hipErrorInvalidValue;
    }
    if (em_hip_ready(&hip) == hipSuccess) {
        (void)pthread_mutex_lock(&hip->lock);
        hip->host_takes_reports = true;
        (void)pthread_mutex_unlock(&hip->lock);
    }
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    ret->abi = 1;
    ret->times_modelled = 1;
    (void)snprintf(ret->name, sizeof(ret->name), "emulator");
    (void)snprintf(ret->version, sizeof(ret->version), "WaveFarm %s", WF_VERSION);
    return 0;
}

int wf_rt_device_info(int device, struct wf_rt_device_info *ret)
{
    struct em_hip *hip;
    if (ret == NULL || ret->size < sizeof(*ret)) {
        return hipErrorInvalidValue;
    }
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code != hipSuccess) {
        return code;
    }
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    ret->cu_count = EM_DEVICE_CUS;
    ret->xcc_count = EM_DEVICE_XCCS;
    ret->warp_size = EM_LANES;
    ret->memory_bytes = EM_MEMORY_BYTES;
    ret->l2_bytes = (uint64_t)EM_DEVICE_XCCS * EM_L2_BYTES;
    ret->llc_bytes = EM_LLC_BYTES;
    ret->lds_bytes = EM_MAX_LDS_BYTES;
    (void)snprintf(ret->name, sizeof(ret->name), "%s", EM_DEVICE_NAME);
    (void)snprintf(ret->arch, sizeof(ret->arch), "%s", EM_ARCH);
    ret->clock_khz = EM_CLOCK_KHZ;
    ret->memory_clock_khz = EM_MEMORY_CLOCK_KHZ;
    return 0;
}

int wf_rt_set_option(const char *name, const char *value)
{
    struct em_hip *hip;
    struct wf_error err = { 0 };
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (name == NULL || value == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    (void)pthread_mutex_lock(&hip->lock);
    enum wf_status st = em_hip_set_option(&hip->options, name, value, &err);
    (void)pthread_mutex_unlock(&hip->lock);
    return st == WF_OK ? hipSuccess
                       : em_hip_fail_status(st, hipErrorInvalidValue, &err);
}

int wf_rt_touched(const void *from, size_t bytes, size_t *ret_offset, size_t *ret_bytes)
{
    struct em_hip *hip;
    uint64_t at = (uintptr_t)from, begin = 0, end = 0;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (ret_offset == NULL || ret_bytes == NULL ||
        (bytes > 0 && !em_space_covers(hip->space, at, bytes))) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    *ret_offset = bytes;
    *ret_bytes = 0;
    if (bytes > 0 && em_space_touched(hip->space, at, at + bytes, &begin, &end)) {
        *ret_offset = begin - at;
        *ret_bytes = end - begin;
    }
    return hipSuccess;
}
