// What the loader's tests look at: variables, a pointer that is relocated, LDS, scratch,
// a function that is called, a variable that its relocation names.
#define GLOBAL __attribute__((global))
#define DEVICE __attribute__((device))
#define CONSTANT __attribute__((constant))
#define SHARED __attribute__((shared))

DEVICE int counter = 7;
CONSTANT float table[16] = { 1, 2, 3 };
DEVICE int *where = &counter;


DEVICE __attribute__((noinline)) int helper(int x, int *p)
{
    volatile int a[8];
    a[x & 7] = x;
    return a[(x + 1) & 7] + *p;
}

extern "C" GLOBAL void add(float *out, int n, double scale)
{
    SHARED float tile[64];
    int i = __builtin_amdgcn_workitem_id_x();
    tile[i] = table[i & 15];
    __builtin_amdgcn_s_barrier();
    if (i < n) {
        out[i] = (float)(tile[i ^ 1] * scale) + helper(i, where);
    }
}

extern "C" GLOBAL __attribute__((amdgpu_flat_work_group_size(64, 64))) void empty(char last)
{
}
