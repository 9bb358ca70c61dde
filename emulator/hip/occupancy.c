/* How many workgroups fit on a compute unit, as the counters' model has it; and what
 * functions are asked besides. */
#include "emulator/hip/runtime.h"

#include "emulator/count/model.h"

enum {
    MAX_THREADS = 1024,
    FLAGS = 1 /* hipOccupancyDisableCachingOverride */
};

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

int em_hip_blocks_per_cu(const struct em_kernel *k,
                         unsigned threads,
                         size_t shared_bytes)
{
    struct em_occupancy o;
    uint64_t lds = k->lds_bytes + (uint64_t)shared_bytes;
    if (threads == 0 || threads > MAX_THREADS || lds > EM_MAX_LDS_BYTES) {
        return 0;
    }
    em_occupancy(k, threads, (uint32_t)lds, &o);
    return (int)o.workgroups_of_cu;
}

/* A function by its handle or by the host's pointer. */
static hipError_t find(const void *function,
                       bool registered,
                       const struct em_kernel **ret)
{
    struct em_hip *hip;
    int device = em_hip_current();
    hipFunction_t handle = (hipFunction_t)(uintptr_t)function;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && registered) {
        code = em_hip_registered_function(hip, function, device, &handle);
    }
    const struct ihipModuleSymbol_t *f =
        code == hipSuccess ? em_hip_function(hip, handle) : NULL;
    if (code == hipSuccess && f == NULL) {
        code = em_hip_fail(hipErrorInvalidDeviceFunction);
    }
    if (code == hipSuccess) {
        *ret = f->kernel;
    }
    return code;
}

static hipError_t count_blocks(int *blocks,
                               const void *function,
                               bool registered,
                               int threads,
                               size_t shared_bytes)
{
    const struct em_kernel *k = NULL;
    hipError_t code = find(function, registered, &k);
    if (code == hipSuccess && (blocks == NULL || threads <= 0)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *blocks = em_hip_blocks_per_cu(k, (unsigned)threads, shared_bytes);
    }
    return code;
}

/* The block with the most work-items on a compute unit; of equals the largest. */
static hipError_t best_block(int *grid,
                             int *block,
                             const void *function,
                             bool registered,
                             size_t shared_bytes,
                             int limit)
{
    const struct em_kernel *k = NULL;
    hipError_t code = find(function, registered, &k);
    if (code == hipSuccess && (grid == NULL || block == NULL)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code != hipSuccess) {
        return code;
    }
    unsigned most = limit > 0 ? least((unsigned)limit, MAX_THREADS) : MAX_THREADS;
    most = k->max_workgroup > 0 ? least(most, k->max_workgroup) : most;
    unsigned best = 0, resident = 0;
    for (unsigned n = (most + EM_LANES - 1) / EM_LANES * EM_LANES; n > 0;
         n -= EM_LANES) {
        unsigned threads = least(n, most);
        unsigned fit =
            threads * (unsigned)em_hip_blocks_per_cu(k, threads, shared_bytes);
        if (fit > resident) {
            resident = fit;
            best = threads;
        }
    }
    *block = (int)best;
    *grid = best > 0 ? (int)(resident / best * EM_DEVICE_CUS) : 0;
    return best > 0 ? hipSuccess : em_hip_fail(hipErrorInvalidValue);
}

/* --- HIP's names for them --- */

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                              hipFunction_t function,
                                                              int block_threads,
                                                              size_t shared_bytes)
{
    return count_blocks(blocks, function, false, block_threads, shared_bytes);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks,
    hipFunction_t function,
    int block_threads,
    size_t shared_bytes,
    unsigned flags)
{
    return flags <= FLAGS
               ? count_blocks(blocks, function, false, block_threads, shared_bytes)
               : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                        const void *function,
                                                        int block_threads,
                                                        size_t shared_bytes)
{
    return count_blocks(blocks, function, true, block_threads, shared_bytes);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                 const void *function,
                                                                 int block_threads,
                                                                 size_t shared_bytes,
                                                                 unsigned flags)
{
    return flags <= FLAGS
               ? count_blocks(blocks, function, true, block_threads, shared_bytes)
               : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int *grid,
                                             int *block,
                                             const void *function,
                                             size_t shared_bytes,
                                             int limit)
{
    return best_block(grid, block, function, true, shared_bytes, limit);
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid,
                                                   int *block,
                                                   hipFunction_t function,
                                                   size_t shared_bytes,
                                                   int limit)
{
    return best_block(grid, block, function, false, shared_bytes, limit);
}

hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid,
                                                            int *block,
                                                            hipFunction_t function,
                                                            size_t shared_bytes,
                                                            int limit,
                                                            unsigned flags)
{
    return flags <= FLAGS
               ? best_block(grid, block, function, false, shared_bytes, limit)
               : em_hip_fail(hipErrorInvalidValue);
}

/* --- attributes of functions --- */

hipError_t hipFuncGetAttributes(struct hip_func_attributes *ret, const void *function)
{
    const struct em_kernel *k = NULL;
    hipError_t code = find(function, true, &k);
    if (code == hipSuccess && ret == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code != hipSuccess) {
        return code;
    }
    *ret = (struct hip_func_attributes){
        .binary_version = 942,
        .local_bytes = k->private_bytes,
        .max_dynamic_shared_bytes = (int)(EM_MAX_LDS_BYTES - k->lds_bytes),
        .max_threads_per_block = k->max_workgroup ? (int)k->max_workgroup : MAX_THREADS,
        .registers = (int)(k->vgprs + k->agprs),
        .ptx_version = 94,
        .shared_bytes = k->lds_bytes
    };
    return hipSuccess;
}

hipError_t hipFuncGetAttribute(int *value, int attribute, hipFunction_t function)
{
    const struct em_kernel *k = NULL;
    hipError_t code = find(function, false, &k);
    if (code != hipSuccess) {
        return code;
    }
    const int values[] = { /* hipFunction_attribute */
                           k->max_workgroup ? (int)k->max_workgroup : MAX_THREADS,
                           (int)k->lds_bytes,
                           0,
                           (int)k->private_bytes,
                           (int)(k->vgprs + k->agprs),
                           94,
                           942,
                           0,
                           (int)(EM_MAX_LDS_BYTES - k->lds_bytes),
                           0
    };
    if (value == NULL || attribute < 0 ||
        (size_t)attribute >= sizeof(values) / sizeof(values[0])) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    *value = values[attribute];
    return hipSuccess;
}

/* Dynamic LDS needs no leave; what is asked for is limited at the launch. */
hipError_t hipFuncSetAttribute(const void *function, int attribute, int value)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess && function == NULL) {
        code = em_hip_fail(hipErrorInvalidDeviceFunction);
    }
    if (code == hipSuccess && attribute == hipFuncAttributeMaxDynamicSharedMemorySize &&
        (value < 0 || value > EM_MAX_LDS_BYTES)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code;
}

static hipError_t accept_function(const void *function)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    return code == hipSuccess && function == NULL
               ? em_hip_fail(hipErrorInvalidDeviceFunction)
               : code;
}

hipError_t hipFuncSetCacheConfig(const void *function, int config)
{
    (void)config;
    return accept_function(function);
}

hipError_t hipFuncSetSharedMemConfig(const void *function, int config)
{
    (void)config;
    return accept_function(function);
}
