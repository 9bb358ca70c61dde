/* Bound by integer multiply-adds: four chains a lane, four maps a step. The further
 * `extra` steps of the slower form end in an `and` with `keep`, which is 0 and which no
 * compiler knows. m and k are arguments so that none of them folds maps into one. */
#include "kernels/device/wf_device.h"

#define STRIDE 0x9e3779b9u

struct chains {
    unsigned a, b, c, d;
};

WF_DEVICE chains walk(chains v, unsigned m, unsigned k, int steps)
{
    WF_NO_UNROLL
    for (int s = 0; s < steps; s++) {
        WF_UNROLL
        for (int i = 0; i < 4; i++) {
            v.a = v.a * m + k;
            v.b = v.b * m + k;
            v.c = v.c * m + k;
            v.d = v.d * m + k;
        }
    }
    return v;
}

WF_KERNEL(256, 8)
wf_sentinel_alu(const unsigned *x,
                unsigned *y,
                unsigned m,
                unsigned k,
                int steps,
                int extra,
                unsigned keep)
{
    const int lane = wf_block_x() * 256 + wf_thread();
    const unsigned first = x[lane];
    chains v = { first, first + STRIDE, first + 2 * STRIDE, first + 3 * STRIDE };
    v = walk(v, m, k, steps);
    const chains more = walk(v, m, k, extra);
    y[lane] = v.a ^ v.b ^ v.c ^ v.d ^ ((more.a ^ more.b ^ more.c ^ more.d) & keep);
}
