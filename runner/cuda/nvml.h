/* The driver's version from NVML, which is optional. */
#ifndef WF_RUNNER_CUDA_NVML_H
#define WF_RUNNER_CUDA_NVML_H

/* 0, or -1 when NVML is absent or refuses. */
int nvml_driver_version(char *ret, unsigned bytes);

#endif
