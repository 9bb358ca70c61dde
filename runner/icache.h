/* How many loaded copies of a kernel's code a run rotates through so that no launch
 * finds its code in an instruction cache. Pure. */
#ifndef WF_RUNNER_ICACHE_H
#define WF_RUNNER_ICACHE_H

#include "runner/device.h"

#include <stddef.h>

/* Bytes that the instruction caches of a compute unit hold: gfx942 64 KiB, shared by
 * two units (AMD CDNA 3 white paper, 2023). NVIDIA publishes none: 128 KiB is what was
 * measured on Volta (Jia et al., arXiv:1804.06826), and docs/results/timing-h200.md
 * has the H200's. EUNSUPPORTED where nothing is known. */
enum wf_status icache_bytes(const struct wf_device *device,
                            uint64_t *ret,
                            struct wf_error *err);
/* Copies whose code is at least ICACHE_TIMES the caches, since not all of a function
 * runs: at least 2. EUNSUPPORTED when more than `max_copies` would be needed. */
#define ICACHE_TIMES 4
enum wf_status icache_copies(const struct wf_device *device,
                             uint64_t code_bytes,
                             size_t max_copies,
                             size_t *ret,
                             struct wf_error *err);
/* Sets of buffers, so that a launch meets both a copy of the code and a set after all
 * others: a multiple of `copies` when there is more than one set. */
size_t icache_sets(size_t sets, size_t copies);

#endif
