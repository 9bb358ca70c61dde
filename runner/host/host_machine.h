/* Facts about this machine for the host runtime, from /proc and /sys. */
#ifndef WF_RUNNER_HOST_MACHINE_H
#define WF_RUNNER_HOST_MACHINE_H

#include <stddef.h>
#include <stdint.h>

void host_cpu_model(char *ret, size_t n);      /* "AMD EPYC 9654 96-Core Processor" */
uint64_t host_cache_bytes(int cpu, int level); /* 0: there is none */
uint64_t host_llc_bytes(int cpu);
uint64_t host_memory_total(void);
uint64_t host_memory_available(void); /* without swapping */

#endif
