/* Bound by local memory: four 16-byte reads a step without bank conflicts, little
 * arithmetic. The sum of the slower form's `extra` steps meets `keep`, which is 0 and
 * which no compiler knows. */
#include "kernels/device/wf_device.h"

#define PIECES 256
#define STRIDE 0x9e3779b9u

WF_DEVICE unsigned sum_steps(const wf_u4 *table, int from, int to, int thread)
{
    unsigned sum = 0;
    WF_NO_UNROLL
    for (int s = from; s < to; s++) {
        WF_UNROLL
        for (int j = 0; j < 4; j++) {
            const wf_u4 v = table[(thread + 17 * s + 64 * j) & (PIECES - 1)];
            sum += v.x + v.y + v.z + v.w;
        }
    }
    return sum;
}

WF_KERNEL(256, 8)
wf_sentinel_lds(const wf_u4 *x, unsigned *y, int steps, int extra, unsigned keep)
{
    WF_SHARED wf_u4 table[PIECES];
    const int thread = wf_thread();
    const int lane = wf_block_x() * PIECES + thread;
    table[thread] = wf_load16(x + thread);
    wf_barrier();
    unsigned sum = sum_steps(table, 0, steps, thread);
    sum += sum_steps(table, steps, steps + extra, thread) & keep;
    y[lane] = (unsigned)lane * STRIDE + sum;
}
