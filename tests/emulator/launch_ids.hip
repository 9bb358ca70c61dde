// What launches give to compiled kernels: ids and sizes through hidden arguments, scratch,
// calls and recursion, generic pointers to LDS and scratch, dynamic LDS.
#define GLOBAL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device, noinline))

// Every work-item writes its place in the grid: x | y << 10 | z << 20.
GLOBAL ids(unsigned *out, unsigned count)
{
    unsigned x = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
                 __builtin_amdgcn_workitem_id_x();
    unsigned y = __builtin_amdgcn_workgroup_id_y() * __builtin_amdgcn_workgroup_size_y() +
                 __builtin_amdgcn_workitem_id_y();
    unsigned z = __builtin_amdgcn_workgroup_id_z() * __builtin_amdgcn_workgroup_size_z() +
                 __builtin_amdgcn_workitem_id_z();
    unsigned i = (z * __builtin_amdgcn_grid_size_y() + y) * __builtin_amdgcn_grid_size_x() +
                 x;
    if (i < count) {
        out[i] = x | y << 10 | z << 20;
    }
}

DEVICE unsigned sum_of(const unsigned *p, unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += p[i];
    }
    return sum;
}

DEVICE unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// out[i] = i + (i + 1) + ... + (i + 15) + fibonacci(i % 8), by an array in scratch.
GLOBAL scratch(unsigned *out, unsigned rotate)
{
    unsigned i = __builtin_amdgcn_workitem_id_x();
    unsigned array[16];
    for (unsigned k = 0; k < 16; k++) {
        array[(k + rotate) % 16] = i + k;
    }
    out[i] = sum_of(array, 16) + fibonacci(i % 8);
}

extern __attribute__((shared)) unsigned dynamic[];

// out[i] = the sum of four neighbours that other work-items put in dynamic LDS, read by a
// function that does not know what memory it reads.
GLOBAL shared_sum(unsigned *out, unsigned count)
{
    unsigned i = __builtin_amdgcn_workitem_id_x();
    dynamic[i] = i * i;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[i] = i + 4 <= count ? sum_of(dynamic + i, 4) : 0;
}
