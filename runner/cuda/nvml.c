/* NVML, loaded at run time ($WAVEFARM_LIBNVML or libnvidia-ml.so.1) and initialised
 * once a process. Throttle reasons that only say "nothing to do" or "somebody chose
 * this clock" are not throttling and are masked out. */
#include "runner/cuda/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvmlDevice_st *nvml_device;

enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_TEMPERATURE_GPU = 0
};
enum {
    NVML_IDLE = 1,
    NVML_APPLICATION_CLOCKS = 2,
    NVML_SYNC_BOOST = 0x10
};

/* X(field, symbol, arguments) */
#define NVML_LIST(X)                                                                   \
    X(init, "nvmlInit_v2", (void))                                                     \
    X(driver_version, "nvmlSystemGetDriverVersion", (char *text, unsigned bytes))      \
    X(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", (const char *pci, nvml_device *ret)) \
    X(clock, "nvmlDeviceGetClockInfo", (nvml_device device, int kind, unsigned *mhz))  \
    X(power, "nvmlDeviceGetPowerUsage", (nvml_device device, unsigned *mw))            \
    X(temperature, "nvmlDeviceGetTemperature",                                         \
      (nvml_device device, int sensor, unsigned *celsius))                             \
    X(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons",                           \
      (nvml_device device, unsigned long long *reasons))

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

void nvml_read_power(const char *pci_bus_id, struct wf_rt_power *ret)
{
    nvml_device device = NULL;
    unsigned value = 0;
    unsigned long long reasons = 0;
    pthread_once(&nvml_once, start_nvml);
    if (!nvml.ready || nvml.by_pci(pci_bus_id, &device) != 0) {
        return;
    }
    if (nvml.clock(device, NVML_CLOCK_SM, &value) == 0) {
        ret->clock_mhz = value;
    }
    if (nvml.clock(device, NVML_CLOCK_MEMORY, &value) == 0) {
        ret->memory_clock_mhz = value;
    }
    if (nvml.power(device, &value) == 0) {
        ret->power_w = value / 1000.0;
    }
    if (nvml.temperature(device, NVML_TEMPERATURE_GPU, &value) == 0) {
        ret->temperature_c = value;
    }
    if (nvml.throttle(device, &reasons) == 0) {
        ret->throttle_reasons =
            reasons & ~(unsigned long long)(NVML_IDLE | NVML_APPLICATION_CLOCKS |
                                            NVML_SYNC_BOOST);
    }
}
