/* The HIP runtime's ABI as far as the emulator offers it and runner/hip_abi.h does not
 * have it: types, structures of both generations, and the functions of functions.def.
 * tests/emulator compares the layouts with the headers of HIP. */
#ifndef WF_EMULATOR_HIP_API_H
#define WF_EMULATOR_HIP_API_H

#include "runner/hip_abi.h"

#include <stddef.h>
#include <stdint.h>

struct hip_dim3 {
    uint32_t x, y, z;
};

typedef struct ihipCtx_t *hipCtx_t;
typedef struct ihipMemPoolHandle_t *hipMemPool_t;
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void *data);
typedef void (*hipHostFn_t)(void *data);

enum {
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidPitchValue = 12,
    hipErrorInvalidSymbol = 13,
    hipErrorInvalidDevicePointer = 17,
    hipErrorInvalidMemcpyDirection = 21,
    hipErrorMissingConfiguration = 52,
    hipErrorInvalidDeviceFunction = 98,
    hipErrorInvalidContext = 201,
    hipErrorUnsupportedLimit = 215,
    hipErrorFileNotFound = 301,
    hipErrorPeerAccessAlreadyEnabled = 704,
    hipErrorPeerAccessNotEnabled = 705,
    hipErrorHostMemoryAlreadyRegistered = 712,
    hipErrorHostMemoryNotRegistered = 713,
    hipErrorCooperativeLaunchTooLarge = 720
};

/* Handles of streams that are none of hipStreamCreate's. */
#define HIP_STREAM_LEGACY     ((hipStream_t)0x01)
#define HIP_STREAM_PER_THREAD ((hipStream_t)0x02)

struct hip_func_attributes {
    int binary_version;
    int cache_mode_ca;
    size_t const_bytes;
    size_t local_bytes;
    int max_dynamic_shared_bytes;
    int max_threads_per_block;
    int registers;
    int preferred_carveout;
    int ptx_version;
    size_t shared_bytes;
};

/* Memory types: numbered anew in HIP 6. */
struct hip_pointer_attributes {
    int type;
    int device;
    void *device_pointer;
    void *host_pointer;
    int is_managed;
    unsigned flags;
};

struct hip_extent {
    size_t width, height, depth;
};
struct hip_pitched_ptr {
    void *ptr;
    size_t pitch, xsize, ysize;
};

/* hip_Memcpy2D: arrays are refused. */
struct hip_memcpy_2d {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    void *src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    void *dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width, height;
};

/* hipMemcpy3DParms: arrays are refused. */
struct hip_memcpy_3d {
    void *src_array;
    size_t src_pos[3];
    struct hip_pitched_ptr src;
    void *dst_array;
    size_t dst_pos[3];
    struct hip_pitched_ptr dst;
    struct hip_extent extent;
    int kind;
};

struct hip_launch_params { /* hipLaunchParams, of launches on several devices */
    void *function;
    struct hip_dim3 grid, block;
    void **args;
    size_t shared_bytes;
    hipStream_t stream;
};

struct hip_uuid {
    char bytes[16];
};

/* hipDeviceProp_t before HIP 6. */
struct hip_properties_old {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    int memoryClockRate;
    int memoryBusWidth;
    size_t totalConstMem;
    int major;
    int minor;
    int multiProcessorCount;
    int l2CacheSize;
    int maxThreadsPerMultiProcessor;
    int computeMode;
    int clockInstructionRate;
    uint32_t arch; /* bits */
    int concurrentKernels;
    int pciDomainID;
    int pciBusID;
    int pciDeviceID;
    size_t maxSharedMemoryPerMultiProcessor;
    int isMultiGpuBoard;
    int canMapHostMemory;
    int gcnArch;
    char gcnArchName[256];
    int integrated;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    int maxTexture1DLinear;
    int maxTexture1D;
    int maxTexture2D[2];
    int maxTexture3D[3];
    unsigned *hdpMemFlushCntl;
    unsigned *hdpRegFlushCntl;
    size_t memPitch;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int kernelExecTimeoutEnabled;
    int ECCEnabled;
    int tccDriver;
    int cooperativeMultiDeviceUnmatchedFunc;
    int cooperativeMultiDeviceUnmatchedGridDim;
    int cooperativeMultiDeviceUnmatchedBlockDim;
    int cooperativeMultiDeviceUnmatchedSharedMem;
    int isLargeBar;
    int asicRevision;
    int managedMemory;
    int directManagedMemAccessFromHost;
    int concurrentManagedAccess;
    int pageableMemoryAccess;
    int pageableMemoryAccessUsesHostPageTables;
};

/* hipDeviceProp_t from HIP 6 on (hipGetDevicePropertiesR0600). */
struct hip_properties_r0600 {
    char name[256];
    struct hip_uuid uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    int textures[40]; /* limits of textures and surfaces, all 0 */
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseHipArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingHipArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
    int hipReserved[32];
    char gcnArchName[256];
    size_t maxSharedMemoryPerMultiProcessor;
    int clockInstructionRate;
    uint32_t arch; /* bits */
    unsigned *hdpMemFlushCntl;
    unsigned *hdpRegFlushCntl;
    int cooperativeMultiDeviceUnmatchedFunc;
    int cooperativeMultiDeviceUnmatchedGridDim;
    int cooperativeMultiDeviceUnmatchedBlockDim;
    int cooperativeMultiDeviceUnmatchedSharedMem;
    int isLargeBar;
    int asicRevision;
};

#define FN(required, result, name, args) \
    __attribute__((visibility("default"))) result name args;
#include "runner/hip_functions.def"
#undef FN
#define FN(result, name, args) __attribute__((visibility("default"))) result name args;
#include "emulator/hip/functions.def"
#undef FN

#endif
