/* NVML, loaded at run time ($WAVEFARM_LIBNVML or libnvidia-ml.so.1) and initialised
 * once a process, for the driver's version alone: clocks, power and throttling are read
 * by a process of their own (runner/telemetry.h). */
#include "runner/cuda/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* X(field, symbol, arguments) */
#define NVML_LIST(X)               \
    X(init, "nvmlInit_v2", (void)) \
    X(driver_version, "nvmlSystemGetDriverVersion", (char *text, unsigned bytes))

static struct {
    int ready;
#define X(field, symbol, arguments) int(*field) arguments;
    NVML_LIST(X)
#undef X
} nvml;

static pthread_once_t nvml_once = PTHREAD_ONCE_INIT;

static int resolve(void *library, const char *symbol, void *ret)
{
    void *address = dlsym(library, symbol);
    memcpy(ret, &address, sizeof address);
    return address != NULL ? 0 : -1;
}

static void start_nvml(void)
{
    const char *path = getenv("WAVEFARM_LIBNVML");
    if (path == NULL || path[0] == '\0') {
        path = "libnvidia-ml.so.1";
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return;
    }
    int missing = 0;
#define X(field, symbol, arguments) missing |= resolve(library, symbol, &nvml.field);
    NVML_LIST(X)
#undef X
    nvml.ready = missing == 0 && nvml.init() == 0;
}

int nvml_driver_version(char *ret, unsigned bytes)
{
    pthread_once(&nvml_once, start_nvml);
    return nvml.ready && nvml.driver_version(ret, bytes) == 0 ? 0 : -1;
}
