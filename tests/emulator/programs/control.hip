// Dynamic LDS, divergent control flow, function calls, recursion and scratch, kernels
// through pointers and templates, doubles and 64-bit integers.
#include "check.h"

__global__ void reverse(int *data, int n)
{
    extern __shared__ int shared[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        shared[i] = data[blockIdx.x * n + i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        data[blockIdx.x * n + i] = shared[n - 1 - i];
    }
}

static void dynamic_lds()
{
    for (int n : { 1, 100, 4096, 16384 }) { // up to all 64 KiB
        std::vector<int> in(3 * n);
        for (int i = 0; i < 3 * n; i++) {
            in[i] = i;
        }
        int *data = to_device(in);
        reverse<<<3, 256, n * sizeof(int)>>>(data, n);
        CHECK(hipGetLastError());
        std::vector<int> out = from_device(data, 3 * n);
        for (int i = 0; i < 3 * n; i++) {
            EXPECT(out[i] == i / n * n + n - 1 - i % n);
        }
        CHECK(hipFree(data));
    }
    int *data = to_device(std::vector<int>(16));
    reverse<<<1, 64, (64 << 10) + 4>>>(data, 16);
    EXPECT(hipGetLastError() != hipSuccess);
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(data));
}

__host__ __device__ int collatz(int n)
{
    int steps = 0;
    while (n != 1) {
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        steps++;
        if (steps > 10000) {
            break;
        }
    }
    return steps;
}

__host__ __device__ int paths(int i)
{
    switch (i % 7) {
    case 0:
        return i * 3;
    case 1:
    case 2: {
        int sum = 0;
        for (int j = 0; j < i % 13; j++) {
            if (j == 5) {
                continue;
            }
            sum += j * i;
        }
        return sum;
    }
    case 3:
        if (i & 8) {
            return -i;
        }
        // falls through
    case 4:
        return i ^ 0x55;
    default:
        return collatz(i + 1);
    }
}

__global__ void diverge(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = paths(i);
}

static void divergence()
{
    const int n = 1000;
    int *data = to_device(std::vector<int>(n));
    diverge<<<4, 250>>>(data);
    std::vector<int> out = from_device(data, n);
    for (int i = 0; i < n; i++) {
        EXPECT(out[i] == paths(i));
    }
    CHECK(hipFree(data));
}

__host__ __device__ __attribute__((noinline)) int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__host__ __device__ __attribute__((noinline)) int sort_and_pick(int seed, int pick)
{
    int a[24]; // indexed by values: in scratch
    for (int i = 0; i < 24; i++) {
        seed = seed * 1103515245 + 12345;
        a[i] = (seed >> 16) & 0x7fff;
    }
    for (int i = 1; i < 24; i++) {
        int v = a[i], j = i;
        for (; j > 0 && a[j - 1] > v; j--) {
            a[j] = a[j - 1];
        }
        a[j] = v;
    }
    return a[pick % 24];
}

__global__ void calls(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = fibonacci(i % 12) + sort_and_pick(i, i * 7);
    }
}

static void calls_and_scratch()
{
    const int n = 300;
    int *data = to_device(std::vector<int>(n));
    calls<<<3, 128>>>(data, n);
    std::vector<int> out = from_device(data, n);
    for (int i = 0; i < n; i++) {
        EXPECT(out[i] == fibonacci(i % 12) + sort_and_pick(i, i * 7));
    }
    CHECK(hipFree(data));
}

template <typename T> __global__ void axpy(T a, const T *x, T *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i] + y[i];
}

template <typename T> static void one_type(T a)
{
    const int n = 192;
    std::vector<T> x(n), y(n);
    for (int i = 0; i < n; i++) {
        x[i] = (T)(i * 3 - 100);
        y[i] = (T)(1000 - i);
    }
    T *dx = to_device(x), *dy = to_device(y);
    axpy<T><<<3, 64>>>(a, dx, dy);
    std::vector<T> out = from_device(dy, n);
    for (int i = 0; i < n; i++) {
        EXPECT(out[i] == (T)(a * x[i] + y[i]));
    }
    CHECK(hipFree(dx));
    CHECK(hipFree(dy));
}

__global__ void places(uint32_t *out)
{
    uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    uint32_t thread =
        (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = block << 16 | thread;
}

static void grids()
{
    const uint32_t blocks = 3 * 2 * 4, threads = 7 * 5 * 3;
    uint32_t *data = to_device(std::vector<uint32_t>(blocks * threads));
    places<<<dim3(3, 2, 4), dim3(7, 5, 3)>>>(data);
    std::vector<uint32_t> out = from_device(data, blocks * threads);
    for (uint32_t i = 0; i < out.size(); i++) {
        EXPECT(out[i] == (i / threads << 16 | i % threads));
    }
    CHECK(hipFree(data));
}

int main()
{
    dynamic_lds();
    divergence();
    calls_and_scratch();
    one_type<float>(2.5f);
    one_type<double>(1.25);
    one_type<long>(1000000007L);
    one_type<short>(3);
    grids();
    return finish("control");
}
