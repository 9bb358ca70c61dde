/* A code object loaded into an address space of its own, for tests: buffers, launches,
 * reports. Whatever cannot be done ends the test program with its reason. */
#ifndef WF_TESTS_EMULATOR_PROGRAM_H
#define WF_TESTS_EMULATOR_PROGRAM_H

#include "emulator/launch/launch.h"

struct program {
    struct em_space *space;
    struct em_image *image;
};

/* `path`: a .co file. */
struct program program_open(const char *path);
void program_close(struct program *p);

/* A device buffer: its address, which is also where the host finds it. */
uint64_t program_buffer(struct program *p, uint64_t bytes);
void *program_host(uint64_t address);

/* Where and how a kernel runs. {0} for the rest: one dimension, fault detection on, no
 * counters, FMA, as many threads as processors. */
struct program_launch {
    uint32_t grid, block;
    uint32_t grid_yz[2], block_yz[2]; /* 0: 1 */
    uint32_t dynamic_lds_bytes;
    bool cooperative;
    bool unchecked, count, exact;
    unsigned threads;
    uint64_t budget;
};

/* Launches kernel `name` with the arguments' bytes as the kernel lays them out. The
 * status of em_launch_run; on WF_OK the report is the caller's (em_report_fini). */
enum wf_status program_try(struct program *p,
                           const char *name,
                           const struct program_launch *launch,
                           const void *arguments,
                           size_t argument_bytes,
                           struct em_report *ret,
                           struct wf_error *err);
/* As program_try; anything but WF_OK ends the test program. */
struct em_report program_run(struct program *p,
                             const char *name,
                             const struct program_launch *launch,
                             const void *arguments,
                             size_t argument_bytes);
/* As program_run, where a fault ends the test program too. */
void program_good(struct program *p,
                  const char *name,
                  const struct program_launch *launch,
                  const void *arguments,
                  size_t argument_bytes);
/* As program_run: the fault's kind. Its text is printed. */
enum em_fault_kind program_fault(struct program *p,
                                 const char *name,
                                 const struct program_launch *launch,
                                 const void *arguments,
                                 size_t argument_bytes);

#endif
