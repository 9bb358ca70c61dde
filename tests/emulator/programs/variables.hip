// __device__, __constant__ and __managed__ variables, on two devices; copies to and from
// symbols; copies of rows; pointers and their attributes; memory of the host.
#include "check.h"

#include <cstring>

__device__ int counter = 7;
__constant__ float table[16] = { 1, 2, 3, 4 };
__device__ float *where = nullptr;
__managed__ int managed[4] = { 10, 20, 30, 40 };

__global__ void use(float *out)
{
    int i = threadIdx.x;
    out[i] = table[i & 15] + (where ? where[i] : 0.0f);
    if (i < 4) {
        managed[i] += i;
    }
    atomicAdd(&counter, 1);
}

static void variables()
{
    float *out = to_device(std::vector<float>(64));
    use<<<1, 64>>>(out);
    CHECK(hipDeviceSynchronize());
    int got = 0;
    CHECK(hipMemcpyFromSymbol(&got, HIP_SYMBOL(counter), sizeof(got)));
    EXPECT(got == 7 + 64);
    for (int i = 0; i < 4; i++) {
        EXPECT(managed[i] == 10 * (i + 1) + i);
    }
    std::vector<float> first = from_device(out, 64);
    EXPECT(first[1] == 2 && first[3] == 4 && first[5] == 0 && first[17] == 2);

    float value = 0.5f, *address = nullptr;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), &value, sizeof(value), 4 * 5));
    std::vector<float> more(64, 100.0f);
    address = to_device(more);
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(where), &address, sizeof(address)));
    managed[0] = -1;
    use<<<1, 64>>>(out);
    first = from_device(out, 64);
    EXPECT(first[5] == 100.5f && first[0] == 101);
    EXPECT(managed[0] == -1 && managed[3] == 46);

    void *symbol = nullptr;
    size_t bytes = 0;
    CHECK(hipGetSymbolAddress(&symbol, HIP_SYMBOL(table)));
    CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(table)));
    EXPECT(bytes == 64 && from_device((float *)symbol, 16)[5] == 0.5f);
    EXPECT(hipMemcpyToSymbol(HIP_SYMBOL(table), &value, 4, 64) != hipSuccess);
    int unknown = 0;
    EXPECT(hipGetSymbolAddress(&symbol, &unknown) == hipErrorInvalidSymbol);
    EXPECT(hipGetLastError() == hipErrorInvalidSymbol);
    CHECK(hipFree(out));
    CHECK(hipFree(address));
}

// Each device has its own variables; managed ones are one for all.
static void second_device()
{
    int count = 0, got = 0;
    CHECK(hipGetDeviceCount(&count));
    if (count < 2) {
        return;
    }
    managed[1] = 5;
    CHECK(hipSetDevice(1));
    float *out = to_device(std::vector<float>(64));
    use<<<1, 64>>>(out);
    CHECK(hipMemcpyFromSymbol(&got, HIP_SYMBOL(counter), sizeof(got)));
    EXPECT(got == 7 + 64);
    EXPECT(managed[1] == 6);
    CHECK(hipFree(out));
    CHECK(hipSetDevice(0));
    CHECK(hipMemcpyFromSymbol(&got, HIP_SYMBOL(counter), sizeof(got)));
    EXPECT(got == 7 + 128);
}

static void copies()
{
    char *p = nullptr, back[5][20], rows[5][20];
    size_t pitch = 0;
    for (int y = 0; y < 5; y++) {
        for (int x = 0; x < 20; x++) {
            rows[y][x] = (char)(y * 20 + x);
        }
    }
    CHECK(hipMallocPitch((void **)&p, &pitch, 20, 5));
    EXPECT(pitch >= 20 && pitch % 64 == 0);
    CHECK(hipMemset(p, 0x7f, pitch * 5));
    CHECK(hipMemcpy2D(p, pitch, rows, 20, 20, 5, hipMemcpyHostToDevice));
    CHECK(hipMemset2D(p + 3, pitch, 1, 2, 5));
    CHECK(hipMemcpy2D(back, 20, p, pitch, 20, 5, hipMemcpyDeviceToHost));
    for (int y = 0; y < 5; y++) {
        for (int x = 0; x < 20; x++) {
            EXPECT(back[y][x] == (x == 3 || x == 4 ? 1 : rows[y][x]));
        }
    }
    EXPECT(from_device(p + 20, 1)[0] == 0x7f);
    CHECK(hipFree(p));

    int *words = to_device(std::vector<int>(1000, -1));
    CHECK(hipMemsetD32((hipDeviceptr_t)words, 0x01020304, 500));
    CHECK(hipMemsetD16((hipDeviceptr_t)(words + 500), 0x0506, 3));
    std::vector<int> got = from_device(words, 1000);
    EXPECT(got[0] == 0x01020304 && got[499] == 0x01020304 && got[500] == 0x05060506);
    EXPECT(got[501] == (int)0xffff0506 && got[502] == -1);
    EXPECT(hipMemcpy(words, got.data(), 4001, hipMemcpyHostToDevice) != hipSuccess);
    EXPECT(hipMemcpy(got.data(), words + 1000, 4, hipMemcpyDeviceToHost) != hipSuccess);
    EXPECT(hipMemset(words, 0, 4001) != hipSuccess);
    CHECK(hipFree(words));
    EXPECT(hipFree(words) != hipSuccess);
    EXPECT(hipMemcpy(got.data(), words, 4, hipMemcpyDeviceToHost) != hipSuccess);
    (void)hipGetLastError();
}

__global__ void increment(int *p)
{
    p[threadIdx.x]++;
}

static void host_memory()
{
    int *pinned = nullptr, *device = nullptr, *managed_memory = nullptr;
    CHECK(hipHostMalloc(&pinned, 64 * sizeof(int), hipHostMallocMapped));
    std::memset(pinned, 0, 64 * sizeof(int));
    CHECK(hipHostGetDevicePointer((void **)&device, pinned, 0));
    increment<<<1, 64>>>(device);
    CHECK(hipDeviceSynchronize());
    EXPECT(pinned[0] == 1 && pinned[63] == 1);
    CHECK(hipHostFree(pinned));

    CHECK(hipMallocManaged(&managed_memory, 64 * sizeof(int)));
    managed_memory[5] = 41;
    increment<<<1, 64>>>(managed_memory);
    CHECK(hipDeviceSynchronize());
    EXPECT(managed_memory[5] == 42);
    CHECK(hipFree(managed_memory));

    std::vector<int> own(64, 3);
    CHECK(hipHostRegister(own.data(), 64 * sizeof(int), hipHostRegisterDefault));
    CHECK(hipHostGetDevicePointer((void **)&device, own.data(), 0));
    increment<<<1, 64>>>(device);
    CHECK(hipDeviceSynchronize());
    EXPECT(own[0] == 4 && own[63] == 4);
    CHECK(hipHostUnregister(own.data()));
    EXPECT(hipHostUnregister(own.data()) == hipErrorHostMemoryNotRegistered);
    (void)hipGetLastError();

    hipPointerAttribute_t a;
    CHECK(hipMalloc(&device, 64));
    CHECK(hipPointerGetAttributes(&a, device));
    EXPECT(a.memoryType == hipMemoryTypeDevice && a.devicePointer == device &&
           a.device == 0);
    CHECK(hipFree(device));
}

// Offsets beyond 4 GiB, and nothing of the rest is touched.
__global__ void far(char *p, size_t at)
{
    p[at] = 42;
}

static void sparse_memory()
{
    const size_t bytes = (size_t)100 << 30, at = bytes - 12345;
    char *p = nullptr;
    CHECK(hipMalloc(&p, bytes));
    CHECK(hipMemset(p, 0, bytes));
    far<<<1, 1>>>(p, at);
    EXPECT(from_device(p + at, 1)[0] == 42);
    size_t free_bytes = 0, total = 0;
    CHECK(hipMemGetInfo(&free_bytes, &total));
    EXPECT(total == (size_t)192 << 30 && free_bytes <= total - bytes);
    char *second = nullptr;
    EXPECT(hipMalloc(&second, bytes) == hipErrorOutOfMemory);
    CHECK(hipMemset(p, 0, bytes));
    EXPECT(from_device(p + at, 1)[0] == 0);
    CHECK(hipFree(p));
    (void)hipGetLastError();
}

int main()
{
    variables();
    second_device();
    copies();
    host_memory();
    sparse_memory();
    return finish("variables");
}
