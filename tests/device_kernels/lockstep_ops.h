/* What a wave does together, over the lanes' operands as the kernels hand them over. */
#ifndef WF_TESTS_DEVICE_KERNELS_LOCKSTEP_OPS_H
#define WF_TESTS_DEVICE_KERNELS_LOCKSTEP_OPS_H

#include "tests/device_kernels/lockstep.h"

enum {
    LOCKSTEP_MAX_WAVE = 64,
    LOCKSTEP_MAX_BYTES = 128
};

void lockstep_compute(enum lockstep_op op,
                      int lanes,
                      unsigned char in[][LOCKSTEP_MAX_BYTES],
                      unsigned char out[][LOCKSTEP_MAX_BYTES]);

#endif
