/* Runs a kernel: workgroups over host threads, waves in turn, faults and counters. */
#ifndef WF_EMULATOR_LAUNCH_LAUNCH_H
#define WF_EMULATOR_LAUNCH_LAUNCH_H

#include "core/error.h"
#include "emulator/check/fault.h"
#include "emulator/count/count.h"
#include "emulator/load/image.h"

struct em_options {
    bool check;       /* fault detection: unwritten values, waits, races */
    bool count;       /* counters */
    bool exact;       /* MFMA by the hardware's rule; else FMA */
    unsigned threads; /* host threads; 0: as many as processors are allowed */
    uint64_t budget;  /* instructions of one wave; 0: the default (launch.c) */
};

struct em_launch {
    struct em_space *space;
    int device;
    const struct em_image *image;
    const struct em_kernel *kernel;
    uint32_t grid[3];  /* workgroups */
    uint32_t block[3]; /* work-items */
    uint32_t dynamic_lds_bytes;
    bool cooperative; /* all workgroups are resident together */
    const void
        *arguments; /* the program's, laid out by kernel->arg; hidden ones are made */
    size_t argument_bytes;
    struct em_options options;
};

struct em_report {
    bool faulted;
    struct em_fault fault;                    /* the one with the lowest workgroup */
    uint64_t workgroups, waves, instructions; /* executed */
    bool counted;
    struct em_counts counts; /* em_report_fini frees it */
    int64_t host_ns;         /* how long the emulation took here */
    unsigned threads;        /* that it ran on */
    bool ordered;            /* em_code_order_matters: one thread */
};
void em_report_fini(struct em_report *r);

/* WF_OK also where the kernel committed a fault. EINVAL: a launch that the device would
 * refuse (block too large, LDS too large, arguments too short), in words. */
enum wf_status em_launch_run(const struct em_launch *launch,
                             struct em_report *ret,
                             struct wf_error *err);

/* The report as a JSON object, for results and for people: fault (with symbol, line),
 * counters and the model's cycles. Owned by the caller. */
struct wf_json;
enum wf_status em_report_json(const struct em_report *report,
                              const struct em_launch *launch,
                              struct wf_json **ret,
                              struct wf_error *err);

#endif
