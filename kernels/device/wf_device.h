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

/* -inf by its bits: no flag for fast mathematics may remove it. */
WF_DEVICE float wf_minus_infinity()
{
    return wf_float_from_bits(0xff800000u);
}

#endif
