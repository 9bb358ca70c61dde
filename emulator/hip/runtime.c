/* The process's one runtime: started at the first call, and the errors of threads.
 *
 * A library with HIP's ABI has no handle to carry its state, so it is here, in one
 * structure. It lives until the process ends: destructors of programs still call in. */
#include "emulator/hip/runtime.h"

#include "core/buf.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct em_hip runtime = { .lock = PTHREAD_MUTEX_INITIALIZER,
                                 .running = PTHREAD_MUTEX_INITIALIZER };
static pthread_once_t runtime_once = PTHREAD_ONCE_INIT;
static enum wf_status runtime_status;
static struct wf_error runtime_error;

static _Thread_local int current_device;
static _Thread_local hipError_t last_error;
static _Thread_local hipError_t words_code;
static _Thread_local char words[sizeof(runtime_error.text)];

/* Programs of HIP 5 number memory types in another way than later ones; which of them
 * runs is told by the name that the library was loaded under. */
static bool loaded_as_old(void)
{
    Dl_info info;
    void *self;
    int (*address)(int, struct em_hip **) = em_hip_device_ready;
    memcpy(&self, &address, sizeof(self));
    return dladdr(self, &info) != 0 && info.dli_fname != NULL &&
           strstr(info.dli_fname, "libamdhip64.so.5") != NULL;
}

static void start(void)
{
    runtime.old_generation = loaded_as_old();
    runtime.options = (struct em_options){ .check = true, .count = true };
    runtime_status = em_hip_read_environment(&runtime, &runtime_error);
    if (runtime_status == WF_OK) {
        runtime_status = em_space_create(&runtime.space, &runtime_error);
    }
    if (runtime_status != WF_OK) {
        (void)fprintf(stderr, "wavefarm emulator: %s\n", runtime_error.text);
    }
}

hipError_t em_hip_ready(struct em_hip **ret)
{
    (void)pthread_once(&runtime_once, start);
    if (runtime_status != WF_OK) {
        words_code = hipErrorNoDevice;
        memcpy(words, runtime_error.text, sizeof(words));
        return em_hip_fail(hipErrorNoDevice);
    }
    *ret = &runtime;
    return hipSuccess;
}

hipError_t em_hip_device_ready(int device, struct em_hip **ret)
{
    hipError_t code = em_hip_ready(ret);
    if (code == hipSuccess && (device < 0 || device >= runtime.devices)) {
        code = em_hip_fail(hipErrorInvalidDevice);
    }
    return code;
}

int em_hip_current(void)
{
    return current_device;
}

void em_hip_set_current(int device)
{
    current_device = device;
}

/* --- errors --- */

void em_hip_keep_error(hipError_t code)
{
    if (code != hipSuccess) {
        last_error = code;
    }
}

hipError_t em_hip_fail_words(hipError_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    words_code = code;
    if (!runtime.host_takes_reports) {
        (void)fprintf(stderr, "wavefarm emulator: %s\n", words);
    }
    return em_hip_fail(code);
}

const char *em_hip_words(hipError_t code)
{
    bool shown = runtime.host_takes_reports || code == hipErrorNoDevice;
    return shown && code != hipSuccess && code == words_code ? words : NULL;
}

hipError_t em_hip_fail_status(enum wf_status st,
                              hipError_t otherwise,
                              const struct wf_error *err)
{
    hipError_t code = st == WF_ENOMEM ? hipErrorOutOfMemory : otherwise;
    return em_hip_fail_words(code, "%s", err->text);
}

hipError_t em_hip_last(bool clear)
{
    hipError_t code = last_error;
    if (clear) {
        last_error = hipSuccess;
    }
    if (code == hipSuccess && current_device < runtime.devices) {
        (void)pthread_mutex_lock(&runtime.lock);
        code = runtime.device[current_device].pending;
        (void)pthread_mutex_unlock(&runtime.lock);
    }
    return code;
}

hipError_t em_hip_finish(struct em_hip *hip, int device)
{
    (void)pthread_mutex_lock(&hip->lock);
    hipError_t code = hip->device[device].pending;
    hip->device[device].pending = hipSuccess;
    (void)pthread_mutex_unlock(&hip->lock);
    return em_hip_fail(code);
}

void em_hip_advance(struct em_hip *hip, int device, double ms)
{
    (void)pthread_mutex_lock(&hip->lock);
    hip->device[device].clock_ms += ms;
    (void)pthread_mutex_unlock(&hip->lock);
}
