/* STEPS different instruction sequences in a row, each run once: code that fills an
 * instruction cache. Macros write them out, since compilers do not unroll so far. */
#include "kernels/device/wf_device.h"

#define STEP(i)                                             \
    v = (v ^ (0x9e3779b9u * (unsigned)(i) + 0x7f4a7c15u)) * \
        ((0x85ebca6bu * (unsigned)(i)) | 1u);               \
    v ^= v >> 15;
#define STEP4(i)    STEP(i) STEP((i) + 1) STEP((i) + 2) STEP((i) + 3)
#define STEP16(i)   STEP4(i) STEP4((i) + 4) STEP4((i) + 8) STEP4((i) + 12)
#define STEP64(i)   STEP16(i) STEP16((i) + 16) STEP16((i) + 32) STEP16((i) + 48)
#define STEP256(i)  STEP64(i) STEP64((i) + 64) STEP64((i) + 128) STEP64((i) + 192)
#define STEP1024(i) STEP256(i) STEP256((i) + 256) STEP256((i) + 512) STEP256((i) + 768)

WF_KERNEL(256, 1) wf_probe_code(const unsigned *x, unsigned *y)
{
    const int lane = wf_block_x() * 256 + wf_thread();
    unsigned v = x[lane];
#if STEPS == 256
    STEP256(0)
#elif STEPS == 1024
    STEP1024(0)
#else
#error "STEPS is 256 or 1024"
#endif
    y[lane] = v;
}
