// Copies dwords, a work-item each; and one far into a sparse allocation.
#define KERNEL __attribute__((global)) void
typedef __attribute__((address_space(1))) unsigned *pointer;

extern "C" KERNEL copy(pointer to, pointer from)
{
    unsigned long i =
        __builtin_amdgcn_workgroup_id_x() * 1024ul + __builtin_amdgcn_workitem_id_x();
    to[i] = from[i] + 1;
}

extern "C" KERNEL far(pointer to, unsigned long dwords)
{
    to[dwords * __builtin_amdgcn_workitem_id_x()] = __builtin_amdgcn_workitem_id_x() + 1;
}
