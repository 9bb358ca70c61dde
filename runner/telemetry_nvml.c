/* NVML, loaded by the helper process alone ($WAVEFARM_LIBNVML or libnvidia-ml.so.1). */
#include "runner/telemetry_source.h"

#include "runner/throttle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvmlDevice_st *nvml_device;

enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CORRECTED = 0,
    NVML_UNCORRECTED = 1,
    NVML_AGGREGATE = 1
};

/* X(field, symbol, other name, must be there, arguments) */
/* clang-format off */
#define NVML_LIST(X)                                                                     \
    X(init, "nvmlInit_v2", NULL, true, (void))                                           \
    X(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", NULL, true,                            \
      (const char *pci, nvml_device *ret))                                               \
    X(clock, "nvmlDeviceGetClockInfo", NULL, true,                                       \
      (nvml_device device, int kind, unsigned *mhz))                                     \
    X(power, "nvmlDeviceGetPowerUsage", NULL, true, (nvml_device device, unsigned *mw))  \
    X(temperature, "nvmlDeviceGetTemperature", NULL, true,                               \
      (nvml_device device, int sensor, unsigned *celsius))                               \
    X(reasons, "nvmlDeviceGetCurrentClocksEventReasons",                                 \
      "nvmlDeviceGetCurrentClocksThrottleReasons", true,                                 \
      (nvml_device device, unsigned long long *reasons))                                 \
    X(errors, "nvmlDeviceGetTotalEccErrors", NULL, false,                                \
      (nvml_device device, int kind, int counter, unsigned long long *count))
/* clang-format on */

static struct {
#define X(field, symbol, other, needed, arguments) int(*field) arguments;
    NVML_LIST(X)
#undef X
} nvml;

static bool resolve(void *library, const char *symbol, const char *other, void *ret)
{
    void *address = dlsym(library, symbol);
    address = address == NULL && other != NULL ? dlsym(library, other) : address;
    memcpy(ret, &address, sizeof address);
    return address != NULL;
}

static bool load(char *text)
{
    const char *path = getenv("WAVEFARM_LIBNVML");
    path = path == NULL || path[0] == '\0' ? "libnvidia-ml.so.1" : path;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)snprintf(text, TELEMETRY_TEXT, "NVML: %.140s", dlerror());
        return false;
    }
#define X(field, symbol, other, needed, arguments)                                  \
    if (!resolve(library, symbol, other, &nvml.field) && (needed)) {                \
        (void)snprintf(text, TELEMETRY_TEXT, "NVML: no %s in %.80s", symbol, path); \
        return false;                                                               \
    }
    NVML_LIST(X)
#undef X
    return true;
}

bool telemetry_nvml_open(struct telemetry_source *s,
                         const struct telemetry_options *options,
                         char *text)
{
    nvml_device device = NULL;
    if (!load(text)) {
        return false;
    }
    int code = nvml.init();
    if (code == 0) {
        code = nvml.by_pci(options->pci_bus_id, &device);
    }
    if (code != 0) {
        (void)snprintf(text, TELEMETRY_TEXT, "NVML: error %d for device %.20s", code,
                       options->pci_bus_id);
        return false;
    }
    s->nvml_device = device;
    (void)snprintf(text, TELEMETRY_TEXT, "NVML");
    return true;
}

void telemetry_nvml_read(struct telemetry_source *s, struct telemetry_reading *ret)
{
    nvml_device device = s->nvml_device;
    unsigned value = 0;
    unsigned long long reasons = 0;
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
    if (nvml.reasons(device, &reasons) == 0) {
        ret->reasons = throttle_from_nvml(reasons);
    }
}

void telemetry_nvml_errors(struct telemetry_source *s, struct telemetry_errors *ret)
{
    unsigned long long corrected = 0;
    unsigned long long uncorrected = 0;
    nvml_device device = s->nvml_device;
    *ret = (struct telemetry_errors){ 0 };
    if (nvml.errors != NULL &&
        nvml.errors(device, NVML_CORRECTED, NVML_AGGREGATE, &corrected) == 0 &&
        nvml.errors(device, NVML_UNCORRECTED, NVML_AGGREGATE, &uncorrected) == 0) {
        *ret = (struct telemetry_errors){ true, uncorrected, corrected };
    }
}
