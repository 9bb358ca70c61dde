/* Clocks, power, temperature and throttle reasons from NVML, which is optional: what it
 * does not say stays as it was. */
#ifndef WF_RUNNER_CUDA_NVML_H
#define WF_RUNNER_CUDA_NVML_H

#include "runner/hip_abi.h"

/* 0, or -1 when NVML is absent or refuses. */
int nvml_driver_version(char *ret, unsigned bytes);
void nvml_read_power(const char *pci_bus_id, struct wf_rt_power *ret);

#endif
