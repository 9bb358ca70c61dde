/* Bound by memory: reads [0, pieces) of X as probe_read does, then [pieces, all), which
 * nobody else reads, for the slower form. The sum of those meets `keep`, which is 0 and
 * which no compiler knows. */
#include "kernels/device/wf_device.h"

#define THREADS 256
#define AHEAD   4 /* loads that a lane has in flight */

WF_DEVICE unsigned sum_of(wf_u4 v)
{
    return v.x + v.y + v.z + v.w;
}

WF_DEVICE unsigned sum_range(const wf_u4 *x, wf_i64 at, wf_i64 end, wf_i64 step)
{
    unsigned sum = 0;
    WF_NO_UNROLL
    for (; at + (AHEAD - 1) * step < end; at += AHEAD * step) {
        wf_u4 v[AHEAD];
        WF_UNROLL
        for (int i = 0; i < AHEAD; i++) {
            v[i] = wf_load16(x + at + i * step);
        }
        WF_UNROLL
        for (int i = 0; i < AHEAD; i++) {
            sum += sum_of(v[i]);
        }
    }
    WF_NO_UNROLL
    for (; at < end; at += step) {
        sum += sum_of(wf_load16(x + at));
    }
    return sum;
}

WF_KERNEL(256, 4)
wf_sentinel_hbm(const wf_u4 *x,
                unsigned *y,
                wf_i64 pieces,
                wf_i64 all,
                int parts,
                unsigned keep)
{
    WF_SHARED unsigned sums[THREADS];
    const int thread = wf_thread();
    const wf_i64 step = (wf_i64)parts * THREADS;
    const wf_i64 first = (wf_i64)wf_block_x() * THREADS + thread;
    unsigned sum = sum_range(x, first, pieces, step);
    sum += sum_range(x, pieces + first, all, step) & keep;
    sums[thread] = sum;
    WF_NO_UNROLL
    for (int half = THREADS / 2; half > 0; half /= 2) {
        wf_barrier();
        if (thread < half) {
            sums[thread] += sums[thread + half];
        }
    }
    if (thread == 0) {
        y[wf_block_x()] = sums[0];
    }
}
