/* What the files of launch/ share. */
#ifndef WF_EMULATOR_LAUNCH_LAUNCH_INTERNAL_H
#define WF_EMULATOR_LAUNCH_LAUNCH_INTERNAL_H

#include "emulator/check/race.h"
#include "emulator/check/shadow.h"
#include "emulator/launch/group.h"
#include "emulator/launch/launch.h"

#include <stdatomic.h>

/* A launch, checked and made ready; constant while its threads run, but for `next` and
 * `stop`. */
struct em_plan {
    const struct em_launch *launch;
    const struct em_kernel *kernel;
    const struct em_code *code;
    uint32_t entry;         /* index of the first instruction */
    uint64_t workgroups;    /* in all */
    uint32_t work_items;    /* of a workgroup */
    unsigned waves;         /* of a workgroup */
    uint32_t lds_bytes;     /* of a workgroup */
    uint32_t scratch_bytes; /* of a lane */
    uint64_t budget;        /* instructions of a wave */
    unsigned vgprs;         /* that an instruction may name */
    bool careful;           /* registers have to be checked at every instruction */
    bool ordered;           /* one thread, workgroups in order */
    uint64_t kernarg;       /* address */
    uint64_t system;        /* address of struct em_system_block; 0: not needed */
    struct em_global_shadow *global_shadow;
    _Atomic uint64_t next; /* workgroup to start */
    _Atomic uint64_t stop; /* workgroups behind this one are not wanted any more */
};

/* arguments.c: kernel arguments, the dispatch packet and what else kernels find by
 * pointer. `release` is called once all threads have ended. */
enum wf_status em_plan_arguments(struct em_plan *plan, struct wf_error *err);
void em_plan_release(struct em_plan *plan);
uint64_t em_plan_packet(const struct em_plan *plan);
uint64_t em_plan_queue(const struct em_plan *plan);

/* registers.c: what a wave's registers hold when it starts. */
void em_wave_start(struct em_wave *w, const struct em_plan *plan);

enum em_wave_state {
    EM_WAVE_READY,
    EM_WAVE_WAITING, /* at a barrier */
    EM_WAVE_ENDED
};

/* A workgroup's memory, used for one workgroup after the other. */
struct em_resident {
    struct em_group group;
    const struct em_plan *plan;
    bool parked_before;
    struct em_resident *next; /* in a list of threads.c */
};

enum em_group_result {
    EM_GROUP_DONE,
    EM_GROUP_FAULTED,
    EM_GROUP_PARKED, /* it may be waiting for another workgroup */
    EM_GROUP_UNWANTED
};

/* group.c. `counts` may be NULL. */
enum wf_status em_resident_create(const struct em_plan *plan,
                                  struct em_counts *counts,
                                  struct em_resident **ret,
                                  struct wf_error *err);
void em_resident_destroy(struct em_resident *r);
void em_resident_start(struct em_resident *r, uint64_t index);
enum em_group_result em_resident_run(struct em_resident *r);
uint64_t em_resident_instructions(const struct em_resident *r);

/* threads.c: runs all workgroups and fills the report. */
enum wf_status em_plan_run(struct em_plan *plan,
                           struct em_report *ret,
                           struct wf_error *err);

/* Bits that uninitialised memory and registers hold: NaN in every format of 16 bits and
 * more, and no address. */
#define EM_UNWRITTEN UINT32_C(0x7ff77ff7)
void em_fill(uint32_t *p, size_t dwords, uint32_t value);

#endif
