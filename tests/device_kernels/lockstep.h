/* Runs a device kernel's source on the CPU, one workgroup at a time: every lane is a
 * fibre, and lanes meet where a wave or a workgroup acts together. A lane that never
 * arrives, a misaligned access, or a copy used before it was waited for fails the run
 * instead of passing by luck. C and C++. */
#ifndef WF_TESTS_DEVICE_KERNELS_LOCKSTEP_H
#define WF_TESTS_DEVICE_KERNELS_LOCKSTEP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lockstep_op {
    LOCKSTEP_SHUFFLE_XOR,
    LOCKSTEP_FROM_LANE,
    LOCKSTEP_BALLOT,
    LOCKSTEP_MFMA,
    LOCKSTEP_MFMA_16X16X16,
    LOCKSTEP_MMA_16X8X16,
    LOCKSTEP_MMA_16X8X16_BF16,
    LOCKSTEP_MMA_16X8X32_I8,
    LOCKSTEP_MATRIX_LOAD,
    LOCKSTEP_MATRIX_LOAD_TRANSPOSED
};

/* --- for kernels --- */
int lockstep_thread(void);
int lockstep_block(int axis);
void lockstep_barrier(void);
void *lockstep_dynamic_memory(void);
void lockstep_exchange(enum lockstep_op op,
                       const void *in,
                       size_t in_bytes,
                       void *out,
                       size_t out_bytes);
void lockstep_copy_async(void *dst, const void *src, int bytes);
void lockstep_copy_commit(void);
void lockstep_copy_wait(int newest);
void lockstep_require(int condition, const char *message);
void lockstep_require_aligned(const void *p, size_t bytes);

/* --- for tests --- */
struct lockstep_launch {
    unsigned grid[3];
    int threads;
    int wave; /* lanes */
    size_t dynamic_bytes;
};

/* Calls kernel(argument) in every lane of every workgroup. NULL, or what went wrong. */
const char *lockstep_run(const struct lockstep_launch *launch,
                         void (*kernel)(void *argument),
                         void *argument);

#ifdef __cplusplus
}
#endif

#endif
