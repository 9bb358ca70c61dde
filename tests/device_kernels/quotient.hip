/* wf_quotient_by of wf_device.h, for a reciprocal that is as wrong as devices may be.
 */
#include "kernels/device/wf_device.h"

extern "C" int quotient_by(int a, int b, float r)
{
    return wf_quotient_by(a, b, r);
}
