/* The process-wide state of the library: the loaded driver, the devices, and for each
 * device its retained primary context and the fault it died of. HIP's interface has no
 * handle to hang this on, hence the one static struct here, written once under
 * pthread_once and by atomics afterwards. Primary contexts are never released: the
 * process ends with them. */
#include "runner/cuda/context.h"

#include "runner/cuda/hip_api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define MAX_DEVICES 64

static struct {
    struct cu_driver driver;
    hipError_t status;
    char text[512];
    int device_count;
    cu_device device[MAX_DEVICES];
    pthread_mutex_t lock; /* retaining of contexts */
    _Atomic(cu_context) context[MAX_DEVICES];
    atomic_int sticky[MAX_DEVICES];
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static _Thread_local int current_ordinal;
static _Thread_local int bound_ordinal = -1;

static void describe(cu_result result, const char *what, char *text, size_t text_bytes)
{
    const char *name = NULL;
    const char *string = NULL;
    if (library.driver.error_name(result, &name) != CU_SUCCESS || name == NULL) {
        name = "unknown CUDA error";
    }
    if (library.driver.error_string(result, &string) != CU_SUCCESS || string == NULL) {
        string = "no description";
    }
    snprintf(text, text_bytes, "%s: %s (%d): %s", what, name, result, string);
}

static hipError_t find_devices(void)
{
    int count = 0;
    cu_result result = library.driver.init(0);
    if (result == CU_SUCCESS) {
        result = library.driver.device_count(&count);
    }
    if (result != CU_SUCCESS) {
        describe(result, "the NVIDIA driver does not start", library.text,
                 sizeof library.text);
        hipError_t error = cuda_error_to_hip(result);
        return error == hipErrorUnknown ? hipErrorNoDevice : error;
    }
    if (count == 0) {
        snprintf(library.text, sizeof library.text,
                 "the NVIDIA driver reports no device: see nvidia-smi and "
                 "CUDA_VISIBLE_DEVICES");
        return hipErrorNoDevice;
    }
    library.device_count = count < MAX_DEVICES ? count : MAX_DEVICES;
    for (int i = 0; i < library.device_count; i++) {
        result = library.driver.device_get(&library.device[i], i);
        if (result != CU_SUCCESS) {
            describe(result, "cuDeviceGet", library.text, sizeof library.text);
            return cuda_error_to_hip(result);
        }
    }
    return hipSuccess;
}

static void start_library(void)
{
    library.status =
        cu_driver_load(&library.driver, library.text, sizeof library.text) != 0
            ? hipErrorNoDevice
            : find_devices();
}

hipError_t cuda_ready(void)
{
    pthread_once(&library_once, start_library);
    if (library.status != hipSuccess) {
        return cuda_fail(library.status, "%s", library.text);
    }
    return hipSuccess;
}

const struct cu_driver *cuda_driver(void)
{
    return &library.driver;
}

int cuda_device_count(void)
{
    return library.device_count;
}

int cuda_current_ordinal(void)
{
    return current_ordinal;
}

hipError_t cuda_device_handle(int ordinal, cu_device *ret)
{
    if (ordinal < 0 || ordinal >= library.device_count) {
        return cuda_fail(hipErrorInvalidDevice,
                         "device %d does not exist: there are %d (0 to %d)", ordinal,
                         library.device_count, library.device_count - 1);
    }
    *ret = library.device[ordinal];
    return hipSuccess;
}

hipError_t cuda_check(cu_result result, const char *what)
{
    if (result == CU_SUCCESS) {
        return hipSuccess;
    }
    hipError_t error = cuda_error_to_hip(result);
    if (cuda_error_is_sticky(result)) {
        int none = hipSuccess;
        atomic_compare_exchange_strong(&library.sticky[current_ordinal], &none, error);
    }
    char text[512];
    describe(result, what, text, sizeof text);
    return cuda_fail(error, "%s", text);
}

hipError_t cuda_sticky_error(void)
{
    return atomic_load(&library.sticky[current_ordinal]);
}

/* Retains the device's primary context on first use, so that a thread which only asks
 * for properties costs no device memory. */
static hipError_t retain_context(int ordinal, cu_context *ret)
{
    cu_context context = atomic_load(&library.context[ordinal]);
    if (context == NULL) {
        pthread_mutex_lock(&library.lock);
        context = atomic_load(&library.context[ordinal]);
        cu_result result = CU_SUCCESS;
        if (context == NULL) {
            result = library.driver.primary_retain(&context, library.device[ordinal]);
            if (result == CU_SUCCESS) {
                atomic_store(&library.context[ordinal], context);
            }
        }
        pthread_mutex_unlock(&library.lock);
        if (result != CU_SUCCESS) {
            return cuda_check(result, "cuDevicePrimaryCtxRetain");
        }
    }
    *ret = context;
    return hipSuccess;
}

hipError_t cuda_bind(void)
{
    hipError_t error = cuda_ready();
    if (error != hipSuccess || bound_ordinal == current_ordinal) {
        return error;
    }
    cu_context context = NULL;
    error = retain_context(current_ordinal, &context);
    if (error == hipSuccess) {
        error = cuda_check(library.driver.ctx_set_current(context), "cuCtxSetCurrent");
    }
    if (error == hipSuccess) {
        bound_ordinal = current_ordinal;
    }
    return error;
}

hipError_t hipInit(unsigned flags)
{
    if (flags != 0) {
        return cuda_fail(hipErrorInvalidValue, "hipInit: flags are %u, must be 0",
                         flags);
    }
    return cuda_ready();
}

hipError_t hipSetDevice(int device)
{
    cu_device handle;
    hipError_t error = cuda_ready();
    if (error == hipSuccess) {
        error = cuda_device_handle(device, &handle);
    }
    if (error == hipSuccess) {
        int before = current_ordinal;
        current_ordinal = device;
        error = cuda_bind();
        current_ordinal = error == hipSuccess ? device : before;
    }
    return error;
}

hipError_t hipGetDevice(int *device)
{
    if (device == NULL) {
        return cuda_fail(hipErrorInvalidValue, "hipGetDevice: the result is NULL");
    }
    hipError_t error = cuda_ready();
    if (error == hipSuccess) {
        *device = current_ordinal;
    }
    return error;
}

hipError_t hipGetLastError(void)
{
    hipError_t last = cuda_take_last_error();
    hipError_t sticky = cuda_sticky_error();
    return sticky != hipSuccess ? sticky : last;
}

hipError_t hipDeviceSynchronize(void)
{
    hipError_t error = cuda_bind();
    if (error == hipSuccess) {
        error = cuda_check(cuda_driver()->ctx_synchronize(), "cuCtxSynchronize");
    }
    return error == hipSuccess ? cuda_sticky_error() : error;
}
