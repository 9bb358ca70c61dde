/* The naive GEMM with one thing put wrong behind it: in its own values (`wide`, a
 * faulty naive kernel or device) or in D (a kernel under test). */
#include "kernels/gemm/gemm_naive.hip"

WF_KERNEL(64, 1)
wf_plant(double *wide,
         float *d,
         wf_i64 n,
         wf_i64 row,
         wf_i64 col,
         wf_i64 count,
         double by)
{
    const wf_i64 i = (wf_i64)wf_block_x() * 64 + wf_thread();
    if (count > 0 && i < count) { /* everywhere, in proportion */
        wide[i] *= 1.0 + by;
    }
    if (count == 0 && i == 0) {
        if (d) {
            d[row * n + col] += (float)by;
        } else {
            wide[row * n + col] += by;
        }
    }
}
