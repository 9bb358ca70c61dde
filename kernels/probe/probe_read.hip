/* Reads X once, 16 bytes a lane and step, as fast as memory gives it: enough loads in
 * flight matter, arithmetic does not. One sum a workgroup. */
#include "kernels/device/wf_device.h"

#define THREADS 256
#define AHEAD   4 /* loads that a lane has in flight */

WF_DEVICE unsigned sum_of(wf_u4 v)
{
    return v.x + v.y + v.z + v.w;
}

WF_KERNEL(256, 4) wf_probe_read(const wf_u4 *x, unsigned *y, wf_i64 pieces, int parts)
{
    WF_SHARED unsigned sums[THREADS];
    const int thread = wf_thread();
    const wf_i64 step = (wf_i64)parts * THREADS;
    wf_i64 at = (wf_i64)wf_block_x() * THREADS + thread;
    unsigned sum = 0;
    WF_NO_UNROLL
    for (; at + (AHEAD - 1) * step < pieces; at += AHEAD * step) {
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
    for (; at < pieces; at += step) {
        sum += sum_of(wf_load16(x + at));
    }
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
