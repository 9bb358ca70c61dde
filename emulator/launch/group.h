/* A resident workgroup, as its waves and the checks see it. */
#ifndef WF_EMULATOR_LAUNCH_GROUP_H
#define WF_EMULATOR_LAUNCH_GROUP_H

#include "emulator/check/fault.h"
#include "emulator/exec/device.h"
#include "emulator/exec/wave.h"
#include "emulator/memory/space.h"

struct em_lds_shadow;
struct em_global_shadow;
struct em_launch;

enum {
    EM_MAX_WAVES = 16 /* 1024 work-items */
};

struct em_group {
    const struct em_launch *launch;
    uint32_t id[3];
    uint64_t index; /* x fastest */
    unsigned waves; /* in use */
    struct em_wave *wave[EM_MAX_WAVES];
    uint8_t *lds;                     /* 16-byte aligned, EM_MAX_LDS_BYTES readable */
    uint32_t lds_bytes;               /* static + dynamic: what is in bounds */
    uint32_t epoch;                   /* barriers passed */
    struct em_lds_shadow *lds_shadow; /* NULL: no checks */
    struct em_global_shadow *global_shadow; /* NULL: no checks */
    /* Something may have ordered what it does behind what other workgroups did
     * (check/race_global.c). */
    bool race_ordered;
    struct em_view view;   /* of the thread */
    struct em_fault fault; /* the first */
};

#endif
