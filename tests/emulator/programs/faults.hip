// Kernels that do wrong: each is told by the next call that waits, and what comes after
// runs as if nothing had been. Writes the launches' reports where its argument says.
#include "check.h"

#include <cassert>

__global__ void beyond(int *p, int at)
{
    p[at + threadIdx.x] = 1;
}

__global__ void trap(int *p)
{
    if (p[threadIdx.x] == 5) {
        __builtin_trap();
    }
}

__global__ void assert_small(int *p)
{
    assert(p[threadIdx.x] < 1000);
}

__global__ void endless(volatile int *p)
{
    while (*p == 0) {
    }
}

__global__ void divide(int *p, int by)
{
    p[threadIdx.x] /= by;
}

static void good(int *p)
{
    divide<<<1, 64>>>(p, 1);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
}

static void expect(hipError_t want)
{
    hipError_t got = hipDeviceSynchronize();
    if (got != want) {
        std::fprintf(stderr, "got %s, not %s\n", hipGetErrorName(got),
                     hipGetErrorName(want));
        failures++;
    }
    EXPECT(hipGetLastError() == want);
    EXPECT(hipGetLastError() == hipSuccess);
    CHECK(hipDeviceSynchronize());
}

int main()
{
    std::vector<int> in(64);
    for (int i = 0; i < 64; i++) {
        in[i] = i;
    }
    int *p = to_device(in), *zero = to_device(std::vector<int>(1));
    good(p);
    beyond<<<1, 64>>>(p, 1);
    expect(hipErrorIllegalAddress);
    good(p);
    beyond<<<1, 1>>>(nullptr, 0);
    expect(hipErrorIllegalAddress);
    CHECK(hipMemcpy(p, in.data(), 64 * sizeof(int), hipMemcpyHostToDevice));
    trap<<<1, 64>>>(p);
    expect(hipErrorLaunchFailure);
    good(p);
    assert_small<<<1, 64>>>(p); // holds
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemset(p, 0x11, 4));
    assert_small<<<1, 64>>>(p); // asks the host to print: there is nobody
    expect(hipErrorIllegalAddress);
    endless<<<1, 1>>>(zero);
    EXPECT(hipGetLastError() == hipErrorLaunchTimeOut);
    int back = 0;
    EXPECT(hipMemcpy(&back, p, 4, hipMemcpyDeviceToHost) == hipErrorLaunchTimeOut);
    EXPECT(hipGetLastError() == hipErrorLaunchTimeOut);
    int *freed = to_device(in);
    CHECK(hipFree(freed));
    beyond<<<1, 1>>>(freed, 0);
    expect(hipErrorIllegalAddress);
    good(p);
    CHECK(hipMemcpy(&back, p, 4, hipMemcpyDeviceToHost));
    return finish("faults");
}
