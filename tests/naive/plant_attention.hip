/* The naive attention with one value of one row put wrong: in its own values or in O.
 */
#include "kernels/attention/attention_naive.hip"

WF_KERNEL(64, 1) wf_plant(double *wide, float *o, wf_i64 at, double by)
{
    if (wf_block_x() == 0 && wf_thread() == 0) {
        if (o) {
            o[at] += (float)by;
        } else {
            wide[at] += by;
        }
    }
}
