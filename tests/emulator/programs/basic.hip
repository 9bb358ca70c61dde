// Vector add, tiled transpose, tree reduction, scan with DPP, histogram with atomics,
// softmax: what most programs are made of.
#include "check.h"

#include <cmath>
#include <dlfcn.h>

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

static void vector_add()
{
    const int n = 100003;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++) {
        a[i] = (float)i;
        b[i] = (float)(3 * i);
    }
    float *da = to_device(a), *db = to_device(b), *dc = to_device(a);
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    CHECK(hipGetLastError());
    std::vector<float> c = from_device(dc, n);
    for (int i = 0; i < n; i++) {
        EXPECT(c[i] == (float)(4 * i));
    }
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
}

__global__ void transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        if (x < columns && y + j < rows) {
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        if (x < rows && y + j < columns) {
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}

static void tiled_transpose()
{
    const int rows = 211, columns = 99;
    std::vector<float> in(rows * columns);
    for (size_t i = 0; i < in.size(); i++) {
        in[i] = (float)i;
    }
    float *from = to_device(in), *to = to_device(in);
    dim3 grid((columns + 31) / 32, (rows + 31) / 32), block(32, 8);
    transpose<<<grid, block>>>(from, to, rows, columns);
    std::vector<float> out = from_device(to, in.size());
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < columns; x++) {
            EXPECT(out[x * rows + y] == in[y * columns + x]);
        }
    }
    CHECK(hipFree(from));
    CHECK(hipFree(to));
}

__global__ void reduce(const int *in, int *sums, int n)
{
    __shared__ int part[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = part[0];
    }
}

static void tree_reduction()
{
    const int n = 30001, blocks = (n + 255) / 256;
    numbers r;
    std::vector<int> in(n), zero(blocks);
    long want = 0, got = 0;
    for (int &v : in) {
        v = r.below(1000) - 500;
        want += v;
    }
    int *from = to_device(in), *to = to_device(zero);
    reduce<<<blocks, 256>>>(from, to, n);
    for (int v : from_device(to, blocks)) {
        got += v;
    }
    EXPECT(got == want);
    CHECK(hipFree(from));
    CHECK(hipFree(to));
}

// An inclusive scan of a wave in registers: row shifts, then broadcasts of rows.
__device__ int scan_wave(int v)
{
    v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x114, 0xf, 0xe, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x118, 0xf, 0xc, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x142, 0xa, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x143, 0xc, 0xf, false);
    return v;
}

__global__ void scan(const int *in, int *out, int *by_shuffle)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[i], lane = threadIdx.x & 63;
    out[i] = scan_wave(v);
    for (int d = 1; d < 64; d *= 2) {
        int other = __shfl_up(v, d);
        v += lane >= d ? other : 0;
    }
    by_shuffle[i] = v;
}

static void scan_with_dpp()
{
    const int n = 1024;
    numbers r;
    std::vector<int> in(n);
    for (int &v : in) {
        v = r.below(100);
    }
    int *from = to_device(in), *a = to_device(in), *b = to_device(in);
    scan<<<n / 256, 256>>>(from, a, b);
    std::vector<int> got = from_device(a, n), shuffled = from_device(b, n);
    for (int i = 0, sum = 0; i < n; i++) {
        sum = i % 64 == 0 ? in[i] : sum + in[i];
        EXPECT(got[i] == sum);
        EXPECT(shuffled[i] == sum);
    }
    CHECK(hipFree(from));
    CHECK(hipFree(a));
    CHECK(hipFree(b));
}

__global__ void histogram(const unsigned char *in, int n, unsigned *bins, float *weight)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        atomicAdd(&local[in[i]], 1u);
    }
    __syncthreads();
    if (local[threadIdx.x] > 0) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
        atomicAdd(weight, (float)local[threadIdx.x]);
    }
}

static void histogram_with_atomics()
{
    const int n = 50000;
    numbers r;
    std::vector<unsigned char> in(n);
    std::vector<unsigned> want(256), zero(256);
    for (auto &v : in) {
        v = (unsigned char)(r.below(16) * r.below(16));
        want[v]++;
    }
    unsigned char *from = to_device(in);
    unsigned *bins = to_device(zero);
    float *weight = to_device(std::vector<float>(1, 0.0f));
    histogram<<<13, 256>>>(from, n, bins, weight);
    EXPECT(from_device(bins, 256) == want);
    EXPECT(from_device(weight, 1)[0] == (float)n);
    CHECK(hipFree(from));
    CHECK(hipFree(bins));
    CHECK(hipFree(weight));
}

__global__ void softmax(const float *in, float *out, int columns)
{
    __shared__ float part[4];
    const float *row = in + (size_t)blockIdx.x * columns;
    int wave = threadIdx.x / 64;
    float most = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 256) {
        most = fmaxf(most, row[i]);
    }
    for (int d = 32; d > 0; d /= 2) {
        most = fmaxf(most, __shfl_xor(most, d));
    }
    if (threadIdx.x % 64 == 0) {
        part[wave] = most;
    }
    __syncthreads();
    most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 256) {
        sum += expf(row[i] - most);
    }
    for (int d = 32; d > 0; d /= 2) {
        sum += __shfl_xor(sum, d);
    }
    if (threadIdx.x % 64 == 0) {
        part[wave] = sum;
    }
    __syncthreads();
    sum = part[0] + part[1] + part[2] + part[3];
    for (int i = threadIdx.x; i < columns; i += 256) {
        out[(size_t)blockIdx.x * columns + i] = expf(row[i] - most) / sum;
    }
}

static void row_softmax()
{
    const int rows = 17, columns = 1000;
    numbers r;
    std::vector<float> in(rows * columns);
    for (float &v : in) {
        v = (float)(r.below(2000) - 1000) / 100.0f;
    }
    float *from = to_device(in), *to = to_device(in);
    softmax<<<rows, 256>>>(from, to, columns);
    std::vector<float> out = from_device(to, in.size());
    for (int y = 0; y < rows; y++) {
        const float *x = &in[(size_t)y * columns];
        double most = -INFINITY, sum = 0;
        for (int i = 0; i < columns; i++) {
            most = std::fmax(most, x[i]);
        }
        for (int i = 0; i < columns; i++) {
            sum += std::exp(x[i] - most);
        }
        for (int i = 0; i < columns; i++) {
            double want = std::exp(x[i] - most) / sum;
            EXPECT(std::fabs(out[(size_t)y * columns + i] - want) <= 2e-6 * want + 1e-30);
        }
    }
    CHECK(hipFree(from));
    CHECK(hipFree(to));
}

__global__ void store_sum(int *out, int a, int b, long)
{
    out[threadIdx.x] = a + b;
}

// A buffer of arguments that ends before the last ones: the runtime does not mind.
static void short_buffer_of_arguments()
{
    using get_function = hipError_t (*)(hipFunction_t *, const void *);
    auto get = (get_function)dlsym(RTLD_DEFAULT, "hipGetFuncBySymbol");
    EXPECT(get != nullptr);
    hipFunction_t f = nullptr;
    CHECK(get(&f, (const void *)store_sum));
    int *out = to_device(std::vector<int>(64));
    struct {
        int *out;
        int a;
    } args = { out, 7 };
    size_t bytes = sizeof(int *) + sizeof(int);
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, &args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END };
    CHECK(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    for (int sum : from_device(out, 64)) {
        EXPECT(sum == 7);
    }
    CHECK(hipFree(out));
}

int main()
{
    vector_add();
    tiled_transpose();
    tree_reduction();
    scan_with_dpp();
    histogram_with_atomics();
    row_softmax();
    short_buffer_of_arguments();
    return finish("basic");
}
