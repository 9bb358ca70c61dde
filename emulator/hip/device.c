/* Devices: what they are asked for, and their properties in both layouts. All devices
 * are the same MI300X. */
#include "emulator/hip/runtime.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VERSION_HIP5                                                \
    50221153 /* what programs of that generation were built against \
              */
#define VERSION_HIP6       60200000
#define HIP_LAST_ATTRIBUTE 99
#define HIP_FIRST_AMD      10000
#define HIP_LAST_AMD       10099

/* Bits of hipDeviceArch_t: atomics, doubles, ballot, sync with counts, 3-D grids. */
#define ARCH_BITS 0x0001f7ffu

hipError_t hipInit(unsigned flags)
{
    struct em_hip *hip;
    return flags == 0 ? em_hip_ready(&hip) : em_hip_fail(hipErrorInvalidValue);
}

static hipError_t version(int *ret)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess && ret == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *ret = hip->old_generation ? VERSION_HIP5 : VERSION_HIP6;
    }
    return code;
}

hipError_t hipDriverGetVersion(int *ret)
{
    return version(ret);
}

hipError_t hipRuntimeGetVersion(int *ret)
{
    return version(ret);
}

hipError_t hipGetDeviceCount(int *count)
{
    struct em_hip *hip;
    if (count == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    hipError_t code = em_hip_ready(&hip);
    *count = code == hipSuccess ? hip->devices : 0;
    return code;
}

hipError_t hipSetDevice(int device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess) {
        em_hip_set_current(device);
    }
    return code;
}

hipError_t hipGetDevice(int *device)
{
    struct em_hip *hip;
    if (device == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    *device = em_hip_current();
    return em_hip_ready(&hip);
}

hipError_t hipDeviceGet(hipDevice_t *device, int ordinal)
{
    struct em_hip *hip;
    if (device == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    hipError_t code = em_hip_device_ready(ordinal, &hip);
    *device = code == hipSuccess ? ordinal : 0;
    return code;
}

hipError_t hipDeviceGetAttribute(int *value, int attribute, int device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    bool known = (attribute >= 0 && attribute <= HIP_LAST_ATTRIBUTE) ||
                 (attribute >= HIP_FIRST_AMD && attribute <= HIP_LAST_AMD);
    if (code != hipSuccess) {
        return code;
    }
    if (value == NULL || !known) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    switch (attribute) {
#define ATTRIBUTE(number, name, what) \
    case number:                      \
        *value = (what);              \
        break;
#define ATTRIBUTE_LATER ATTRIBUTE
#include "emulator/hip/attribute.def"
#undef ATTRIBUTE
#undef ATTRIBUTE_LATER
    default:
        *value = 0;
    }
    return hipSuccess;
}

hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code != hipSuccess) {
        return code;
    }
    if (name == NULL || bytes <= 0) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    (void)snprintf(name, (size_t)bytes, "%s", EM_DEVICE_NAME);
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *id, int bytes, int device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code != hipSuccess) {
        return code;
    }
    if (id == NULL || bytes <= 0) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    (void)snprintf(id, (size_t)bytes, "%04x:%02x:00.0", EM_PCI_DOMAIN, 1 + device);
    return hipSuccess;
}

/* Compared as text with what each device says of itself, in any case, with or without
 * the function's number. */
static bool is_pci_id(int device, const char *id)
{
    char own[32];
    (void)snprintf(own, sizeof(own), "%04x:%02x:00.0", EM_PCI_DOMAIN, 1 + device);
    size_t short_bytes = strlen(own) - 2;
    return strcasecmp(id, own) == 0 ||
           (strlen(id) == short_bytes && strncasecmp(id, own, short_bytes) == 0);
}

hipError_t hipDeviceGetByPCIBusId(int *device, const char *id)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (device == NULL || id == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    for (int i = 0; i < hip->devices; i++) {
        if (is_pci_id(i, id)) {
            *device = i;
            return hipSuccess;
        }
    }
    return em_hip_fail(hipErrorInvalidDevice);
}

static struct hip_uuid uuid_of(int device)
{
    struct hip_uuid uuid = { "emulated gfx942" };
    uuid.bytes[sizeof(uuid.bytes) - 1] = (char)('A' + device % 64);
    return uuid;
}

hipError_t hipDeviceGetUuid(struct hip_uuid *uuid, hipDevice_t device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && uuid == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *uuid = uuid_of(device);
    }
    return code;
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && bytes == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *bytes = EM_MEMORY_BYTES;
    }
    return code;
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && (major == NULL || minor == NULL)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *major = 9;
        *minor = 4;
    }
    return code;
}

/* What both layouts have under the same name. */
#define FILL_COMMON(p, device)                                                     \
    do {                                                                           \
        (void)snprintf((p)->name, sizeof((p)->name), "%s", EM_DEVICE_NAME);        \
        (void)snprintf((p)->gcnArchName, sizeof((p)->gcnArchName), "%s", EM_ARCH); \
        (p)->totalGlobalMem = EM_MEMORY_BYTES;                                     \
        (p)->sharedMemPerBlock = EM_MAX_LDS_BYTES;                                 \
        (p)->maxSharedMemoryPerMultiProcessor = EM_MAX_LDS_BYTES;                  \
        (p)->regsPerBlock = 65536;                                                 \
        (p)->warpSize = EM_LANES;                                                  \
        (p)->maxThreadsPerBlock = 1024;                                            \
        (p)->maxThreadsDim[0] = 1024;                                              \
        (p)->maxThreadsDim[1] = 1024;                                              \
        (p)->maxThreadsDim[2] = 1024;                                              \
        (p)->maxGridSize[0] = INT_MAX;                                             \
        (p)->maxGridSize[1] = 65536;                                               \
        (p)->maxGridSize[2] = 65536;                                               \
        (p)->clockRate = EM_CLOCK_KHZ;                                             \
        (p)->memoryClockRate = EM_MEMORY_CLOCK_KHZ;                                \
        (p)->memoryBusWidth = 8192;                                                \
        (p)->totalConstMem = INT_MAX;                                              \
        (p)->major = 9;                                                            \
        (p)->minor = 4;                                                            \
        (p)->multiProcessorCount = EM_DEVICE_CUS;                                  \
        (p)->l2CacheSize = EM_L2_BYTES;                                            \
        (p)->maxThreadsPerMultiProcessor = 2048;                                   \
        (p)->clockInstructionRate = 100000;                                        \
        (p)->arch = ARCH_BITS;                                                     \
        (p)->concurrentKernels = 1;                                                \
        (p)->pciDomainID = EM_PCI_DOMAIN;                                          \
        (p)->pciBusID = 1 + (device);                                              \
        (p)->canMapHostMemory = 1;                                                 \
        (p)->cooperativeLaunch = 1;                                                \
        (p)->memPitch = INT_MAX;                                                   \
        (p)->textureAlignment = 256;                                               \
        (p)->texturePitchAlignment = 256;                                          \
        (p)->ECCEnabled = 1;                                                       \
        (p)->isLargeBar = 1;                                                       \
        (p)->asicRevision = 1;                                                     \
        (p)->managedMemory = 1;                                                    \
        (p)->directManagedMemAccessFromHost = 1;                                   \
        (p)->concurrentManagedAccess = 1;                                          \
    } while (0)

static hipError_t old_properties(struct hip_properties_old *p, int device)
{
    memset(p, 0, sizeof(*p));
    FILL_COMMON(p, device);
    p->gcnArch = 942;
    return hipSuccess;
}

static hipError_t new_properties(struct hip_properties_r0600 *p, int device)
{
    memset(p, 0, sizeof(*p));
    FILL_COMMON(p, device);
    p->uuid = uuid_of(device);
    p->surfaceAlignment = 256;
    p->asyncEngineCount = 8;
    p->unifiedAddressing = 1;
    p->streamPrioritiesSupported = 1;
    p->sharedMemPerMultiprocessor = EM_MAX_LDS_BYTES;
    p->sharedMemPerBlockOptin = EM_MAX_LDS_BYTES;
    p->regsPerMultiprocessor = 131072;
    p->hostNativeAtomicSupported = 1;
    p->singleToDoublePrecisionPerfRatio = 1;
    p->canUseHostPointerForRegisteredMem = 1;
    p->maxBlocksPerMultiProcessor = 2;
    p->hostRegisterSupported = 1;
    p->memoryPoolsSupported = 1;
    return hipSuccess;
}

hipError_t hipGetDeviceProperties(void *properties, int device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && properties == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code == hipSuccess ? old_properties(properties, device) : code;
}

hipError_t hipGetDevicePropertiesR0600(void *properties, int device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code == hipSuccess && properties == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code == hipSuccess ? new_properties(properties, device) : code;
}

/* All devices are alike, so the first one fits best. */
static hipError_t choose(int *device, const void *properties)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess && (device == NULL || properties == NULL)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *device = 0;
    }
    return code;
}

hipError_t hipChooseDevice(int *device, const void *properties)
{
    return choose(device, properties);
}

hipError_t hipChooseDeviceR0600(int *device, const void *properties)
{
    return choose(device, properties);
}
