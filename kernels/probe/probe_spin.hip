/* Waits until a clock of the device has advanced by a known amount: the kernel whose
 * time is known beforehand. wf_ticks is the clock of constant rate, wf_clocks counts
 * the core's own. */
#include "kernels/device/wf_device.h"

#define WORDS 4

WF_KERNEL(64, 1) wf_probe_spin(unsigned *y, wf_i64 ticks, unsigned value)
{
    if (wf_thread() != 0) {
        return;
    }
    const wf_u64 start = wf_ticks();
    while (wf_ticks() - start < (wf_u64)ticks) {
    }
    for (int i = 0; i < WORDS; i++) {
        y[i] = value;
    }
}

WF_KERNEL(64, 1) wf_probe_clocks(unsigned *y, wf_i64 clocks, unsigned value)
{
    if (wf_thread() != 0) {
        return;
    }
    const wf_u64 start = wf_clocks();
    while (wf_clocks() - start < (wf_u64)clocks) {
    }
    for (int i = 0; i < WORDS; i++) {
        y[i] = value;
    }
}
