// Streams, events, callbacks, occupancy, cooperative launches, properties, errors.
#include "check.h"

#include <cstring>

__global__ void step(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] = data[i] * 3 + 1;
    }
}

static int called;

static void count_call(hipStream_t stream, hipError_t status, void *data)
{
    called += stream != nullptr && status == hipSuccess && data == &called;
}

static void streams_and_events()
{
    const int n = 4096;
    hipStream_t stream[2];
    hipEvent_t start, stop, ready;
    CHECK(hipStreamCreate(&stream[0]));
    CHECK(hipStreamCreateWithFlags(&stream[1], hipStreamNonBlocking));
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    CHECK(hipEventCreateWithFlags(&ready, hipEventDisableTiming));
    std::vector<int> in(n, 1), out(n);
    int *data = nullptr;
    CHECK(hipMalloc(&data, n * sizeof(int)));
    CHECK(hipMemcpyAsync(data, in.data(), n * sizeof(int), hipMemcpyHostToDevice,
                         stream[0]));
    CHECK(hipEventRecord(start, stream[0]));
    for (int i = 0; i < 3; i++) {
        step<<<n / 256, 256, 0, stream[0]>>>(data, n);
    }
    CHECK(hipEventRecord(stop, stream[0]));
    CHECK(hipEventRecord(ready, stream[0]));
    CHECK(hipStreamWaitEvent(stream[1], ready, 0));
    step<<<n / 256, 256, 0, stream[1]>>>(data, n);
    CHECK(hipMemcpyAsync(out.data(), data, n * sizeof(int), hipMemcpyDeviceToHost,
                         stream[1]));
    CHECK(hipStreamAddCallback(stream[1], count_call, &called, 0));
    CHECK(hipStreamSynchronize(stream[1]));
    CHECK(hipStreamQuery(stream[0]));
    CHECK(hipEventSynchronize(stop));
    EXPECT(called == 1);
    EXPECT(out[0] == 121 && out[n - 1] == 121);

    float ms = 0, again = -1;
    CHECK(hipEventElapsedTime(&ms, start, stop));
    EXPECT(ms > 0 && ms < 1000);
    CHECK(hipEventRecord(start, stream[0]));
    for (int i = 0; i < 3; i++) {
        step<<<n / 256, 256, 0, stream[0]>>>(data, n);
    }
    CHECK(hipEventRecord(stop, stream[0]));
    CHECK(hipEventElapsedTime(&again, start, stop));
    EXPECT(ms > 0.999f * again && again > 0.999f * ms); // a model's: the same every time
    EXPECT(hipEventElapsedTime(&ms, ready, stop) == hipErrorInvalidHandle);
    unsigned flags = 0;
    CHECK(hipStreamGetFlags(stream[1], &flags));
    EXPECT(flags == hipStreamNonBlocking);
    CHECK(hipStreamDestroy(stream[0]));
    EXPECT(hipStreamSynchronize(stream[0]) != hipSuccess);
    CHECK(hipStreamDestroy(stream[1]));
    CHECK(hipEventDestroy(start));
    EXPECT(hipEventDestroy(start) != hipSuccess);
    CHECK(hipEventDestroy(stop));
    CHECK(hipEventDestroy(ready));
    CHECK(hipFree(data));
    (void)hipGetLastError();
}

static void occupancy()
{
    int blocks = 0, grid = 0, block = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, step, 256, 0));
    EXPECT(blocks >= 4 && blocks <= 8);
    int with_lds = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&with_lds, step, 256, 32 << 10));
    EXPECT(with_lds == 2);
    CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, step, 0, 0));
    EXPECT(block > 0 && block <= 1024 && grid >= 304);
    hipFuncAttributes a;
    CHECK(hipFuncGetAttributes(&a, (const void *)step));
    EXPECT(a.maxThreadsPerBlock == 1024 && a.numRegs > 0 && a.sharedSizeBytes == 0);
}

// A barrier of the whole grid: works only when all workgroups are resident.
__global__ void meet(unsigned *arrived, int *out)
{
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) <
               gridDim.x) {
            __builtin_amdgcn_s_sleep(1);
        }
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = (int)*(volatile unsigned *)arrived;
}

static void cooperative()
{
    const int blocks = 24;
    unsigned *arrived = to_device(std::vector<unsigned>(1));
    int *out = to_device(std::vector<int>(blocks * 64));
    void *args[] = { &arrived, &out };
    CHECK(hipLaunchCooperativeKernel((const void *)meet, dim3(blocks), dim3(64), args, 0,
                                     0));
    for (int v : from_device(out, blocks * 64)) {
        EXPECT(v == blocks);
    }
    EXPECT(hipLaunchCooperativeKernel((const void *)meet, dim3(1000000), dim3(64), args,
                                      0, 0) == hipErrorCooperativeLaunchTooLarge);
    (void)hipGetLastError();
    CHECK(hipFree(arrived));
    CHECK(hipFree(out));
}

static void properties()
{
    int count = 0, value = 0;
    CHECK(hipGetDeviceCount(&count));
    EXPECT(count == 2);
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 1));
    EXPECT(std::strcmp(p.gcnArchName, "gfx942:sramecc+:xnack-") == 0);
    EXPECT(std::strstr(p.name, "MI300X") != nullptr);
    EXPECT(p.multiProcessorCount == 304 && p.warpSize == 64);
    EXPECT(p.totalGlobalMem == (size_t)192 << 30 && p.sharedMemPerBlock == 64 << 10);
    EXPECT(p.managedMemory == 1 && p.maxThreadsPerBlock == 1024);
    CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0));
    EXPECT(value == 304);
    CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
    EXPECT(value == 64);
    CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeCanUseStreamWaitValue, 0));
    EXPECT(value == 0);
    EXPECT(hipGetDeviceProperties(&p, 2) == hipErrorInvalidDevice);
    EXPECT(hipGetLastError() == hipErrorInvalidDevice);
    EXPECT(hipGetLastError() == hipSuccess);
    char id[32];
    CHECK(hipDeviceGetPCIBusId(id, sizeof(id), 1));
    CHECK(hipDeviceGetByPCIBusId(&value, id));
    EXPECT(value == 1);
    CHECK(hipDeviceCanAccessPeer(&value, 0, 1));
    EXPECT(value == 1);
    CHECK(hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipDeviceEnablePeerAccess(1, 0) == hipErrorPeerAccessAlreadyEnabled);
    (void)hipGetLastError();
    EXPECT(std::strcmp(hipGetErrorName(hipErrorOutOfMemory), "hipErrorOutOfMemory") == 0);
}

static void refusals()
{
    int *p = nullptr;
    hipStream_t stream;
    hipGraph_t graph;
    CHECK(hipMalloc(&p, 64));
    step<<<0, 64>>>(p, 1);
    EXPECT(hipGetLastError() == hipErrorInvalidConfiguration);
    step<<<1, 2048>>>(p, 1);
    EXPECT(hipGetLastError() != hipSuccess);
    CHECK(hipStreamCreate(&stream));
    EXPECT(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) ==
           hipErrorNotSupported);
    EXPECT(hipGraphCreate(&graph, 0) == hipErrorNotSupported);
    CHECK(hipStreamDestroy(stream));
    hipModule_t module;
    EXPECT(hipModuleLoadData(&module, "no code object at all") == hipErrorInvalidImage);
    EXPECT(hipModuleLoad(&module, "/nowhere/x.co") == hipErrorFileNotFound);
    (void)hipGetLastError();
    step<<<1, 1>>>(p, 0);
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(p));
}

int main()
{
    streams_and_events();
    occupancy();
    cooperative();
    properties();
    refusals();
    return finish("streams");
}
