/* An NVML for tests. FAKE_NVML_HANG=1: its power call never returns. The clock falls by
 * 10 MHz a reading; from the fifth reading on the thermal limit is told. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static unsigned readings;
static int device_state;

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **ret);
EXPORT int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device,
                                                     unsigned long long *reasons);
EXPORT int nvmlDeviceGetTotalEccErrors(void *device,
                                       int kind,
                                       int counter,
                                       unsigned long long *n);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **ret)
{
    *ret = &device_state;
    return strcmp(pci, "0000:c1:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz)
{
    (void)device;
    readings += kind == 1;
    *mhz = kind == 1 ? 1990 - 10 * readings : 3201;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    const char *hang = getenv("FAKE_NVML_HANG");
    (void)device;
    while (hang && hang[0] == '1') {
        (void)pause();
    }
    *mw = 612500;
    return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device, (void)sensor;
    *celsius = 61;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = readings >= 5 ? 0x4 | 0x40 : 0x4;
    return 0;
}

int nvmlDeviceGetTotalEccErrors(void *device,
                                int kind,
                                int counter,
                                unsigned long long *n)
{
    (void)device, (void)counter;
    *n = kind == 1 ? 2 : 7;
    return 0;
}
