/* What a device kernel may use, for every device: the only header that knows vendor
 * differences (its parts: wf_device_amd.h and wf_device_nvidia.h; tests give another
 * one as WF_DEVICE_HOST, which runs the same kernel source on the CPU, lane by lane).
 *
 * No vendor header is needed: qualifiers, special registers and instructions are
 * declared here over compiler builtins and inline assembly. 16-bit floats travel as
 * unsigned short; wf_h2f and wf_f2h convert (to nearest even). */
#ifndef WF_KERNELS_DEVICE_WF_DEVICE_H
#define WF_KERNELS_DEVICE_WF_DEVICE_H

typedef unsigned short wf_half; /* bits of an f16 */
typedef long long wf_i64;
typedef unsigned long long wf_u64;

/* 16 bytes, moved by one instruction. */
struct alignas(16) wf_u4 {
    unsigned x, y, z, w;
};
struct alignas(8) wf_u2 {
    unsigned x, y;
};

#if defined(WF_DEVICE_HOST)
#include WF_DEVICE_HOST
#elif defined(WF_DEVICE_AMD)
#include "kernels/device/wf_device_amd.h"
#elif defined(WF_DEVICE_NVIDIA)
#include "kernels/device/wf_device_nvidia.h"
#else
#error "define WF_DEVICE_AMD, WF_DEVICE_NVIDIA or WF_DEVICE_HOST"
#endif

#define WF_UNROLL    _Pragma("unroll")
#define WF_NO_UNROLL _Pragma("unroll 1")

WF_DEVICE int wf_min(int a, int b)
{
    return a < b ? a : b;
}

WF_DEVICE int wf_max(int a, int b)
{
    return a > b ? a : b;
}

WF_DEVICE float wf_maxf(float a, float b)
{
    return __builtin_fmaxf(a, b);
}

WF_DEVICE int wf_ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* a / b of whole numbers, 0 <= a, 0 < b, both below 2^31; r is 1 / b with an error of
 * one digit in the last place. Devices have no such instruction, and what compilers
 * make of `/` is for 32 bits and signs: twice as long.
 *
 * z is 2^32 / b less an error of [0, 2). b as a float, r and their product are wrong by
 * 2^-24, 2^-23 and 2^-24 of themselves: 0x4f7ffffc, 2^32 - 2^10, is that much smaller
 * than 2^32, so that the estimate is never too large. It is too small by at most 2^-21
 * of itself, and by less than 1 where it is made whole; Newton's step leaves the square
 * of that, less than 1/2 + 2^-9, and less than 1 where it is made whole. a z / 2^32 is
 * less than 2 a / 2^32 < 1 below a / b: the quotient is at most 1 too small. */
WF_DEVICE unsigned wf_high_product(unsigned a, unsigned b)
{
    return (unsigned)((wf_u64)a * b >> 32);
}

WF_DEVICE int wf_quotient_by(int a, int b, float r)
{
    const unsigned n = (unsigned)a;
    const unsigned by = (unsigned)b;
    unsigned z = (unsigned)(r * wf_float_from_bits(0x4f7ffffcu));
    z += wf_high_product(z, (0u - by) * z);
    const unsigned q = wf_high_product(n, z);
    return (int)(n - q * by >= by ? q + 1 : q);
}

WF_DEVICE int wf_quotient(int a, int b)
{
    return wf_quotient_by(a, b, wf_rcp((float)(unsigned)b));
}

/* By a constant, which compilers do better; not negative, a + b below 2^32. */
WF_DEVICE int wf_quotient_up(int a, int b)
{
    return (int)(((unsigned)a + (unsigned)b - 1) / (unsigned)b);
}

/* -inf by its bits: no flag for fast mathematics may remove it. */
WF_DEVICE float wf_minus_infinity()
{
    return wf_float_from_bits(0xff800000u);
}

#endif
