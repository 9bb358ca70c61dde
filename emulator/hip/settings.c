/* What programs set and ask about a device besides its properties: peers, limits,
 * caches, flags, contexts. Much of it changes nothing here; what is accepted is what
 * MI300 does. */
#include "emulator/hip/runtime.h"

enum { /* hipLimit_t */
    LIMIT_STACK = 0,
    LIMIT_PRINTF = 1,
    LIMIT_HEAP = 2
};

static hipError_t for_device(int device)
{
    struct em_hip *hip;
    return em_hip_device_ready(device, &hip);
}

static hipError_t for_current(void)
{
    return for_device(em_hip_current());
}

static hipError_t give(int *ret, int value)
{
    hipError_t code = for_current();
    if (code == hipSuccess && ret == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *ret = value;
    }
    return code;
}

/* --- peers --- */

static hipError_t two_devices(int device, int peer)
{
    hipError_t code = for_device(device);
    return code == hipSuccess ? for_device(peer) : code;
}

hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    hipError_t code = two_devices(device, peer);
    return code == hipSuccess ? give(can, device != peer) : code;
}

hipError_t hipDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
    hipError_t code = two_devices(from, to);
    if (code == hipSuccess && (from == to || attribute < 0 || attribute > 3)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    return code == hipSuccess ? give(value, attribute == 3 ? 0 : 1) : code;
}

static hipError_t set_peer(int peer, bool enable, hipError_t already)
{
    struct em_hip *hip;
    int device = em_hip_current();
    hipError_t code = em_hip_device_ready(peer, &hip);
    if (code != hipSuccess) {
        return code;
    }
    if (peer == device) {
        return em_hip_fail(hipErrorInvalidDevice);
    }
    (void)pthread_mutex_lock(&hip->lock);
    code = hip->device[device].peer[peer] == enable ? already : hipSuccess;
    hip->device[device].peer[peer] = enable;
    (void)pthread_mutex_unlock(&hip->lock);
    return em_hip_fail(code);
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return flags == 0 ? set_peer(peer, true, hipErrorPeerAccessAlreadyEnabled)
                      : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipDeviceDisablePeerAccess(int peer)
{
    return set_peer(peer, false, hipErrorPeerAccessNotEnabled);
}

/* --- limits, caches, flags --- */

hipError_t hipDeviceGetLimit(size_t *value, int limit)
{
    static const size_t limits[] = { 1024, 0, (size_t)4 << 20 };
    hipError_t code = for_current();
    if (code != hipSuccess) {
        return code;
    }
    if (value == NULL || limit < LIMIT_STACK || limit > LIMIT_HEAP) {
        return em_hip_fail(value == NULL ? hipErrorInvalidValue
                                         : hipErrorUnsupportedLimit);
    }
    *value = limits[limit];
    return hipSuccess;
}

hipError_t hipDeviceSetLimit(int limit, size_t value)
{
    (void)value; /* stacks are as large as the kernel asks for */
    hipError_t code = for_current();
    if (code == hipSuccess && (limit < LIMIT_STACK || limit > LIMIT_HEAP)) {
        code = em_hip_fail(hipErrorUnsupportedLimit);
    }
    return code;
}

hipError_t hipDeviceSetCacheConfig(int config)
{
    (void)config;
    return for_current();
}

hipError_t hipDeviceGetCacheConfig(int *config)
{
    return give(config, 0);
}

hipError_t hipDeviceSetSharedMemConfig(int config)
{
    (void)config;
    return for_current();
}

hipError_t hipDeviceGetSharedMemConfig(int *config)
{
    return give(config, 1); /* banks of four bytes */
}

hipError_t hipGetDeviceFlags(unsigned *flags)
{
    int value = 0;
    hipError_t code = give(&value, 0);
    if (code == hipSuccess && flags == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *flags = (unsigned)value;
    }
    return code;
}

hipError_t hipSetDeviceFlags(unsigned flags)
{
    (void)flags; /* how a thread waits: everything is done when a call returns */
    return for_current();
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    hipError_t code = for_current();
    if (code == hipSuccess && least != NULL) {
        *least = 1;
    }
    if (code == hipSuccess && greatest != NULL) {
        *greatest = -1;
    }
    return code;
}

hipError_t hipProfilerStart(void)
{
    return for_current();
}

hipError_t hipProfilerStop(void)
{
    return for_current();
}

/* Forgets a fault and ends peer access; memory and modules stay valid, as code that
 * runs after main may still free them. */
hipError_t hipDeviceReset(void)
{
    struct em_hip *hip;
    int device = em_hip_current();
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code != hipSuccess) {
        return code;
    }
    (void)pthread_mutex_lock(&hip->lock);
    hip->device[device].pending = hipSuccess;
    for (int i = 0; i < EM_MAX_DEVICES; i++) {
        hip->device[device].peer[i] = false;
    }
    (void)pthread_mutex_unlock(&hip->lock);
    return hipSuccess;
}

/* --- contexts: one a device, its primary one --- */

static char contexts[EM_MAX_DEVICES]; /* only their addresses are used */
static _Thread_local int pushed[16];
static _Thread_local unsigned pushed_count;

static hipCtx_t context_of(int device)
{
    return (hipCtx_t)(void *)&contexts[device];
}

static hipError_t device_of(hipCtx_t context, int *ret)
{
    struct em_hip *hip;
    uintptr_t first = (uintptr_t)&contexts[0], p = (uintptr_t)context;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (p < first || p >= first + (unsigned)hip->devices) {
        return em_hip_fail(hipErrorInvalidContext);
    }
    *ret = (int)(p - first);
    return hipSuccess;
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device)
{
    hipError_t code = for_device(device);
    if (code == hipSuccess && context == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *context = context_of(device);
    }
    return code;
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device)
{
    return for_device(device);
}

hipError_t hipDevicePrimaryCtxReset(hipDevice_t device)
{
    return for_device(device);
}

hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags)
{
    (void)flags;
    return for_device(device);
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags, int *active)
{
    hipError_t code = for_device(device);
    if (code == hipSuccess && flags != NULL) {
        *flags = 0;
    }
    if (code == hipSuccess && active != NULL) {
        *active = 1;
    }
    return code;
}

hipError_t hipCtxPushCurrent(hipCtx_t context)
{
    int device = 0;
    hipError_t code = device_of(context, &device);
    if (code == hipSuccess && pushed_count == sizeof(pushed) / sizeof(pushed[0])) {
        code = em_hip_fail(hipErrorInvalidContext);
    }
    if (code == hipSuccess) {
        pushed[pushed_count++] = em_hip_current();
        em_hip_set_current(device);
    }
    return code;
}

hipError_t hipCtxPopCurrent(hipCtx_t *context)
{
    hipError_t code = for_current();
    if (code == hipSuccess && pushed_count == 0) {
        code = em_hip_fail(hipErrorInvalidContext);
    }
    if (code == hipSuccess) {
        if (context != NULL) {
            *context = context_of(em_hip_current());
        }
        em_hip_set_current(pushed[--pushed_count]);
    }
    return code;
}

hipError_t hipCtxCreate(hipCtx_t *context, unsigned flags, hipDevice_t device)
{
    (void)flags;
    hipError_t code = hipDevicePrimaryCtxRetain(context, device);
    return code == hipSuccess ? hipCtxPushCurrent(*context) : code;
}

hipError_t hipCtxDestroy(hipCtx_t context)
{
    int device = 0;
    hipError_t code = device_of(context, &device);
    if (code == hipSuccess && device == em_hip_current() && pushed_count > 0) {
        code = hipCtxPopCurrent(NULL);
    }
    return code;
}

hipError_t hipCtxGetCurrent(hipCtx_t *context)
{
    return hipDevicePrimaryCtxRetain(context, em_hip_current());
}

hipError_t hipCtxSetCurrent(hipCtx_t context)
{
    int device = 0;
    hipError_t code = context == NULL ? for_current() : device_of(context, &device);
    if (code == hipSuccess && context != NULL) {
        em_hip_set_current(device);
    }
    return code;
}

hipError_t hipCtxGetDevice(hipDevice_t *device)
{
    return give(device, em_hip_current());
}

hipError_t hipCtxSynchronize(void)
{
    return hipDeviceSynchronize();
}
