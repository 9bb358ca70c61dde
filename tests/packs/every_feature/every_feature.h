/* What both code objects of the every_feature pack share. */
#ifndef WF_TESTS_PACKS_EVERY_FEATURE_H
#define WF_TESTS_PACKS_EVERY_FEATURE_H

#include "kernels/device/wf_device.h"

/* Passed by value; every gap is padding that the plan must leave 0. */
struct every_task {
    int m;
    short n;
    wf_i64 k;
    unsigned char several;
    float *partial;
    float alpha;
    unsigned *count;
    unsigned short split;
};

/* One more workgroup has written its share of a tile. */
WF_DEVICE void every_count(unsigned *count)
{
#if defined(WF_DEVICE_NVIDIA)
    asm volatile("red.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
#else
    (void)__atomic_fetch_add(count, 1u, __ATOMIC_RELAXED);
#endif
}

/* Index of a thread in a block of 64 x 4. */
WF_DEVICE int every_thread_of_64x4()
{
#if defined(WF_DEVICE_HOST)
    return wf_thread(); /* already of the whole block */
#elif defined(WF_DEVICE_AMD)
    return (int)__builtin_amdgcn_workitem_id_x() +
           64 * (int)__builtin_amdgcn_workitem_id_y();
#elif defined(__clang__)
    return __nvvm_read_ptx_sreg_tid_x() + 64 * __nvvm_read_ptx_sreg_tid_y();
#else
    return (int)(threadIdx.x + 64 * threadIdx.y);
#endif
}

#endif
