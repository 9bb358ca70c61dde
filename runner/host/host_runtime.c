/* The `host` runtime: the HIP runtime's ABI over plain memory and the system clock, for
 * library kernels that run on processors.
 *
 * Everything is done before the call returns, so a stream has no state and an event is
 * a time of CLOCK_MONOTONIC_RAW. Devices are sets of processors (host_cpus.c);
 * hipSetDevice binds the calling thread to its device's set, and threads that a kernel
 * starts later inherit it. Code objects are refused: they need a GPU or the emulator.
 */
#include "runner/host/host_runtime.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/error.h"
#include "runner/host/host_cpus.h"
#include "runner/host/host_machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define HOST_ALIGNMENT    4096u
#define CHECK_ABOVE_BYTES ((size_t)64 << 20)
#define VERSION           10000 /* of this runtime: 1.0.0 */

struct ihipEvent_t {
    int64_t at_ns;
    int recorded;
};

struct ihipStream_t {
    unsigned flags;
};

static pthread_once_t host_once = PTHREAD_ONCE_INIT;
static struct host_cpus host_devices;
static enum wf_status host_status;
static struct wf_error host_error;
static struct utsname host_uname;

static _Thread_local int current_device;
static _Thread_local hipError_t last_error;

hipError_t host_fail(hipError_t code)
{
    if (code != hipSuccess) {
        last_error = code;
    }
    return code;
}

static void host_start(void)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        host_status = wf_errorf(&host_error, WF_EIO, "cannot ask for the processors");
        return;
    }
    host_status = host_cpus_parse(getenv("WAVEFARM_HOST_DEVICES"), &allowed,
                                  &host_devices, &host_error);
    (void)uname(&host_uname);
}

static hipError_t host_ready(void)
{
    (void)pthread_once(&host_once, host_start);
    return host_fail(host_status == WF_OK ? hipSuccess : hipErrorNoDevice);
}

static hipError_t device_ready(int device)
{
    hipError_t code = host_ready();
    if (code != hipSuccess) {
        return code;
    }
    if (device < 0 || device >= host_devices.count) {
        return host_fail(hipErrorInvalidDevice);
    }
    return hipSuccess;
}

static int first_cpu(int device)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (host_cpus_has(&host_devices.set[device], cpu)) {
            return cpu;
        }
    }
    return 0;
}

/* --- devices --- */

hipError_t hipInit(unsigned flags)
{
    return flags == 0 ? host_ready() : host_fail(hipErrorInvalidValue);
}

hipError_t hipDriverGetVersion(int *version)
{
    *version = VERSION;
    return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int *version)
{
    *version = VERSION;
    return hipSuccess;
}

hipError_t hipGetDeviceCount(int *count)
{
    hipError_t code = host_ready();
    *count = code == hipSuccess ? host_devices.count : 0;
    return code;
}

hipError_t hipSetDevice(int device)
{
    hipError_t code = device_ready(device);
    if (code != hipSuccess) {
        return code;
    }
    if (sched_setaffinity(0, sizeof(cpu_set_t), &host_devices.set[device]) != 0) {
        return host_fail(hipErrorInvalidDevice);
    }
    current_device = device;
    return hipSuccess;
}

hipError_t hipGetDevice(int *device)
{
    *device = current_device;
    return host_ready();
}

hipError_t hipDeviceGetAttribute(int *value, int attribute, int device)
{
    hipError_t code = device_ready(device);
    if (code != hipSuccess) {
        return code;
    }
    switch (attribute) {
    case hipDeviceAttributeMultiprocessorCount:
        *value = CPU_COUNT(&host_devices.set[device]);
        return hipSuccess;
    case hipDeviceAttributeWarpSize:
    case hipDeviceAttributeMaxThreadsPerBlock:
        *value = 1;
        return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeClockRate:
    case hipDeviceAttributeMemoryClockRate:
        *value = 0;
        return hipSuccess;
    case hipDeviceAttributeL2CacheSize:
        *value = (int)host_cache_bytes(first_cpu(device), 2);
        return hipSuccess;
    default:
        return host_fail(hipErrorInvalidValue);
    }
}

hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t device)
{
    hipError_t code = device_ready(device);
    if (code != hipSuccess) {
        return code;
    }
    if (!name || bytes <= 0) {
        return host_fail(hipErrorInvalidValue);
    }
    host_cpu_model(name, (size_t)bytes);
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *id, int bytes, int device)
{
    hipError_t code = device_ready(device);
    if (code == hipSuccess && bytes > 0) {
        id[0] = '\0';
    }
    return code;
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    *bytes = (size_t)host_memory_total();
    return device_ready(device);
}

int wf_rt_info(struct wf_rt_info *ret)
{
    if (!ret || ret->size < sizeof(*ret)) {
        return 1;
    }
    (void)host_ready();
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    ret->abi = 1;
    ret->library_kernels = 1;
    (void)snprintf(ret->name, sizeof(ret->name), "host");
    (void)snprintf(ret->version, sizeof(ret->version), "Linux %.50s",
                   host_uname.release);
    return 0;
}

int wf_rt_device_info(int device, struct wf_rt_device_info *ret)
{
    if (!ret || ret->size < sizeof(*ret) || device_ready(device) != hipSuccess) {
        return 1;
    }
    int cpu = first_cpu(device);
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    ret->cu_count = CPU_COUNT(&host_devices.set[device]);
    ret->xcc_count = 1;
    ret->warp_size = 1;
    ret->memory_bytes = host_memory_total();
    ret->l2_bytes = host_cache_bytes(cpu, 2);
    ret->llc_bytes = host_llc_bytes(cpu);
    host_cpu_model(ret->name, sizeof(ret->name));
    (void)snprintf(ret->arch, sizeof(ret->arch), "%.60s",
                   strcmp(host_uname.machine, "x86_64") == 0 ? "x86-64"
                                                             : host_uname.machine);
    host_cpus_text(&host_devices.set[device], ret->cpus, sizeof(ret->cpus));
    return 0;
}

/* --- memory --- */

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = (size_t)host_memory_available();
    *total_bytes = (size_t)host_memory_total();
    return hipSuccess;
}

hipError_t hipMalloc(void **ptr, size_t bytes)
{
    *ptr = NULL;
    if (bytes == 0) {
        return hipSuccess;
    }
    /* Linux promises more memory than it has and kills later; say no while that is
     * still an answer. */
    uint64_t available = bytes > CHECK_ABOVE_BYTES ? host_memory_available() : 0;
    if (available && bytes > available) {
        return host_fail(hipErrorOutOfMemory);
    }
    if (posix_memalign(ptr, HOST_ALIGNMENT, bytes) != 0) {
        *ptr = NULL;
        return host_fail(hipErrorOutOfMemory);
    }
    return hipSuccess;
}

hipError_t hipFree(void *ptr)
{
    free(ptr);
    return hipSuccess;
}

hipError_t hipHostMalloc(void **ptr, size_t bytes, unsigned flags)
{
    (void)flags;
    return hipMalloc(ptr, bytes);
}

hipError_t hipHostFree(void *ptr)
{
    return hipFree(ptr);
}

hipError_t hipMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
    if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault ||
        (bytes && (!dst || !src))) {
        return host_fail(hipErrorInvalidValue);
    }
    if (bytes) {
        memmove(dst, src, bytes);
    }
    return hipSuccess;
}

hipError_t hipMemcpyAsync(void *dst,
                          const void *src,
                          size_t bytes,
                          int kind,
                          hipStream_t stream)
{
    (void)stream;
    return hipMemcpy(dst, src, bytes, kind);
}

hipError_t hipMemset(void *dst, int value, size_t bytes)
{
    if (bytes && !dst) {
        return host_fail(hipErrorInvalidValue);
    }
    if (bytes) {
        memset(dst, value, bytes);
    }
    return hipSuccess;
}

hipError_t hipMemsetAsync(void *dst, int value, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return hipMemset(dst, value, bytes);
}

/* --- streams and events --- */

hipError_t hipDeviceSynchronize(void)
{
    return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    *stream = wf_calloc(1, sizeof(**stream));
    if (!*stream) {
        return host_fail(hipErrorOutOfMemory);
    }
    (*stream)->flags = flags;
    return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    free(stream);
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    (void)stream;
    return hipSuccess;
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    (void)stream;
    return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = wf_calloc(1, sizeof(**event));
    return *event ? hipSuccess : host_fail(hipErrorOutOfMemory);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    free(event);
    return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    (void)stream;
    if (!event) {
        return host_fail(hipErrorInvalidHandle);
    }
    event->at_ns = wf_monotonic_ns();
    event->recorded = 1;
    return hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return event ? hipSuccess : host_fail(hipErrorInvalidHandle);
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return event ? hipSuccess : host_fail(hipErrorInvalidHandle);
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    if (!start || !stop || !start->recorded || !stop->recorded) {
        return host_fail(hipErrorInvalidHandle);
    }
    *ms = (float)((double)(stop->at_ns - start->at_ns) * 1e-6);
    return hipSuccess;
}

/* --- errors --- */

/* X(code, text) */
#define HOST_ERRORS(X)                                   \
    X(hipSuccess, "no error")                            \
    X(hipErrorInvalidValue, "invalid argument")          \
    X(hipErrorOutOfMemory, "out of memory")              \
    X(hipErrorNoDevice, "no device")                     \
    X(hipErrorInvalidDevice, "no device of this number") \
    X(hipErrorInvalidHandle, "invalid handle")           \
    X(hipErrorNotSupported, "code objects need a GPU or the emulator")

const char *hipGetErrorName(hipError_t error)
{
    switch (error) {
#define X(code, text) \
    case code:        \
        return #code;
        HOST_ERRORS(X)
#undef X
    default:
        return "hipErrorUnknown";
    }
}

const char *hipGetErrorString(hipError_t error)
{
    if (error == hipErrorNoDevice && host_status != WF_OK) {
        return host_error.text;
    }
    switch (error) {
#define X(code, text) \
    case code:        \
        return text;
        HOST_ERRORS(X)
#undef X
    default:
        return "unknown error";
    }
}

hipError_t hipGetLastError(void)
{
    hipError_t code = last_error;
    last_error = hipSuccess;
    return code;
}
