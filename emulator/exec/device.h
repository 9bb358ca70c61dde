/* The device that is emulated: an MI300X. */
#ifndef WF_EMULATOR_EXEC_DEVICE_H
#define WF_EMULATOR_EXEC_DEVICE_H

enum {
    EM_DEVICE_CUS = 304,
    EM_DEVICE_XCCS = 8,
    EM_CU_SIMDS = 4,
    EM_SIMD_WAVES = 8,
    EM_CLOCK_MHZ = 2100,
    EM_MAX_LDS_BYTES = 64 << 10 /* of a workgroup, and all that a compute unit has */
};

#endif
