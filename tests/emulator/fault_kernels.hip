/* Kernels that each do one thing wrong, on the line that says so, and some that do not.
 */
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
#define AGENT  __HIP_MEMORY_SCOPE_AGENT
#define GROUP  __HIP_MEMORY_SCOPE_WORKGROUP

static __attribute__((device)) unsigned item()
{
    return __builtin_amdgcn_workitem_id_x();
}
static __attribute__((device)) unsigned group()
{
    return __builtin_amdgcn_workgroup_id_x();
}
static __attribute__((device)) void barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

extern SHARED int dynamic[];

KERNEL fill(int *p, int n)
{
    int i = (int)(group() * 256 + item());
    if (i < n) {
        p[i] = i;
    }
}

KERNEL one_too_many(int *p, int n)
{
    int i = (int)(group() * 256 + item());
    if (i <= n) {
        p[i] = i; // FAULT one_too_many
    }
}

KERNEL read_before(const int *p, int *out)
{
    out[item()] = p[(int)item() - 1]; // FAULT read_before
}

KERNEL half_atomic(char *p)
{
    unsigned *at = (unsigned *)(p + item() * 4 + (item() == 77 ? 2 : 0));
    __hip_atomic_fetch_add(at, 1u, __ATOMIC_RELAXED, AGENT); // FAULT half_atomic
}

KERNEL lds_beyond(int *out, int n)
{
    dynamic[item()] = (int)item();
    barrier();
    out[item()] = dynamic[item() + n]; // FAULT lds_beyond
}

KERNEL lds_unwritten(int *out)
{
    if (item() < 70) {
        dynamic[item()] = (int)item();
    }
    barrier();
    int v = dynamic[item()];
    out[item()] = v; // FAULT lds_unwritten
}

KERNEL lds_race(int *out)
{
    dynamic[item()] = (int)item();
    int v = dynamic[item() ^ 64]; // FAULT lds_race
    out[item()] = v;
}

KERNEL lds_ordered(int *out)
{
    dynamic[item()] = (int)item();
    barrier();
    int v = dynamic[item() ^ 64];
    out[item()] = v;
}

/* All waves write the same value, bytes of a dword belong to different waves, and
 * counters are atomic: nothing of it is a race. */
KERNEL lds_benign(int *out)
{
    char *bytes = (char *)(dynamic + 64);
    dynamic[0] = 42;
    bytes[(item() & 63) * 4 + (item() >> 6)] = (char)item();
    if (item() < 16) {
        dynamic[16 + item()] = 0;
    }
    barrier();
    __hip_atomic_fetch_add(&dynamic[16 + (item() & 15)], 1, __ATOMIC_RELAXED, GROUP);
    int v = dynamic[0] + bytes[(item() & 63) * 4 + (item() >> 6)];
    barrier();
    out[group() * 256 + item()] = v + dynamic[16 + (item() & 15)];
}

KERNEL group_race(int *p, int *out)
{
    p[item()] = (int)item() + 1;
    out[item()] = p[item() ^ 64]; // FAULT group_race
}

KERNEL group_ordered(int *p, int *out)
{
    p[item()] = (int)item() + 1;
    barrier();
    out[item()] = p[item() ^ 64];
}

KERNEL grid_race(int *p)
{
    p[item()] = (int)(group() + item() + 1); // FAULT grid_race
}

/* Every workgroup writes the same values, and neighbouring halves of dwords. */
KERNEL grid_benign(int *same, short *halves)
{
    same[item()] = (int)item();
    halves[item() * 2 + group()] = (short)item();
}

/* The workgroup that comes last sums what the others wrote. */
KERNEL last_group_sums(int *parts, unsigned *counter, int *out, unsigned groups)
{
    if (item() == 0) {
        parts[group()] = (int)group();
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        unsigned before = __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, AGENT);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        if (before == groups - 1) {
            int sum = 0;
            for (unsigned i = 0; i < groups; i++) {
                sum += parts[i];
            }
            *out = sum;
        }
    }
}

KERNEL divergent(int *out)
{
    out[item()] = 0;
    barrier();
    if (item() < 64) {
        barrier(); // FAULT divergent
    }
    out[item()] = 1;
}

KERNEL endless(const volatile int *flag, int *out)
{
    while (*flag == 0) { // FAULT endless
    }
    *out = 1;
}

KERNEL trap(int *out)
{
    if (item() == 3) {
        __builtin_trap(); // FAULT trap
    }
    out[item()] = 1;
}
