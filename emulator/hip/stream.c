/* Streams and events.
 *
 * Everything is done when a call returns, in the order of the calls: that is an order
 * which every stream's rules allow. A stream is then a device and its flags; an event
 * is the model's clock of its device when it was recorded. Live handles are in lists,
 * so that one that was destroyed is an error and nothing worse. */
#include "emulator/hip/runtime.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

struct ihipStream_t {
    int device;
    unsigned flags;
    int priority;
    struct ihipStream_t *next;
};

struct ihipEvent_t {
    unsigned flags;
    int device;
    bool recorded;
    double at_ms; /* of the model's clock */
    struct ihipEvent_t *next;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ihipStream_t *streams;
static struct ihipEvent_t *events;

/* --- streams --- */

/* The link that points at a live stream, or at the list's end. */
static struct ihipStream_t **find_stream(hipStream_t stream)
{
    struct ihipStream_t **link = &streams;
    while (*link != NULL && *link != stream) {
        link = &(*link)->next;
    }
    return link;
}

static bool is_default(hipStream_t stream)
{
    return stream == NULL || stream == HIP_STREAM_LEGACY ||
           stream == HIP_STREAM_PER_THREAD;
}

/* A copy of a live stream's members. */
static hipError_t look_up(hipStream_t stream, struct ihipStream_t *ret)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    *ret = (struct ihipStream_t){ .device = em_hip_current() };
    if (is_default(stream)) {
        return hipSuccess;
    }
    (void)pthread_mutex_lock(&list_lock);
    const struct ihipStream_t *found = *find_stream(stream);
    if (found != NULL) {
        *ret = *found;
    }
    (void)pthread_mutex_unlock(&list_lock);
    return found != NULL ? hipSuccess : em_hip_fail(hipErrorInvalidHandle);
}

hipError_t em_hip_stream(hipStream_t stream, int *ret_device)
{
    struct ihipStream_t s = { 0 };
    hipError_t code = look_up(stream, &s);
    *ret_device = s.device;
    return code;
}

hipError_t hipStreamCreateWithPriority(hipStream_t *stream,
                                       unsigned flags,
                                       int priority)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    if (stream == NULL || flags > hipStreamNonBlocking) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    struct ihipStream_t *s = wf_calloc(1, sizeof(*s));
    if (s == NULL) {
        return em_hip_fail(hipErrorOutOfMemory);
    }
    s->device = em_hip_current();
    s->flags = flags;
    s->priority = priority < -1 ? -1 : priority > 1 ? 1 : priority;
    (void)pthread_mutex_lock(&list_lock);
    s->next = streams;
    streams = s;
    (void)pthread_mutex_unlock(&list_lock);
    *stream = s;
    return hipSuccess;
}

hipError_t hipStreamCreate(hipStream_t *stream)
{
    return hipStreamCreateWithPriority(stream, hipStreamDefault, 0);
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    return hipStreamCreateWithPriority(stream, flags, 0);
}

hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream,
                                        uint32_t words,
                                        const uint32_t *mask)
{
    if (words == 0 || mask == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    return hipStreamCreateWithPriority(stream, hipStreamDefault, 0);
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    struct ihipStream_t s;
    hipError_t code =
        is_default(stream) ? em_hip_fail(hipErrorInvalidHandle) : look_up(stream, &s);
    if (code != hipSuccess) {
        return code;
    }
    (void)pthread_mutex_lock(&list_lock);
    struct ihipStream_t **link = find_stream(stream);
    struct ihipStream_t *found = *link;
    if (found != NULL) {
        *link = found->next;
    }
    (void)pthread_mutex_unlock(&list_lock);
    free(found);
    return hipSuccess;
}

static hipError_t finish_stream(hipStream_t stream)
{
    struct em_hip *hip;
    int device = 0;
    hipError_t code = em_hip_ready(&hip);
    if (code == hipSuccess) {
        code = em_hip_stream(stream, &device);
    }
    return code == hipSuccess ? em_hip_finish(hip, device) : code;
}

hipError_t hipDeviceSynchronize(void)
{
    return finish_stream(NULL);
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    return finish_stream(stream);
}

hipError_t hipStreamSynchronize_spt(hipStream_t stream)
{
    return finish_stream(stream);
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    return finish_stream(stream);
}

hipError_t hipStreamQuery_spt(hipStream_t stream)
{
    return finish_stream(stream);
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags)
{
    struct ihipStream_t s;
    hipError_t code = look_up(stream, &s);
    if (code == hipSuccess && flags == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *flags = s.flags;
    }
    return code;
}

hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    struct ihipStream_t s;
    hipError_t code = look_up(stream, &s);
    if (code == hipSuccess && priority == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *priority = s.priority;
    }
    return code;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device)
{
    struct ihipStream_t s;
    hipError_t code = look_up(stream, &s);
    if (code == hipSuccess && device == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *device = s.device;
    }
    return code;
}

int hipGetStreamDeviceId(hipStream_t stream)
{
    struct ihipStream_t s;
    return look_up(stream, &s) == hipSuccess ? s.device : -1;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, int *status)
{
    struct ihipStream_t s;
    hipError_t code = look_up(stream, &s);
    if (code == hipSuccess && status == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        *status = 0;
    }
    return code;
}

hipError_t hipStreamAddCallback(hipStream_t stream,
                                hipStreamCallback_t callback,
                                void *data,
                                unsigned flags)
{
    struct ihipStream_t s;
    struct em_hip *hip;
    hipError_t code = look_up(stream, &s);
    if (code == hipSuccess && (callback == NULL || flags != 0)) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        code = em_hip_ready(&hip);
    }
    if (code == hipSuccess) {
        (void)pthread_mutex_lock(&hip->lock);
        hipError_t pending = hip->device[s.device].pending;
        (void)pthread_mutex_unlock(&hip->lock);
        callback(stream, pending, data);
    }
    return code;
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data)
{
    struct ihipStream_t s;
    hipError_t code = look_up(stream, &s);
    if (code == hipSuccess && function == NULL) {
        code = em_hip_fail(hipErrorInvalidValue);
    }
    if (code == hipSuccess) {
        function(data);
    }
    return code;
}

/* --- events --- */

static struct ihipEvent_t **find_event(hipEvent_t event)
{
    struct ihipEvent_t **link = &events;
    while (*link != NULL && *link != event) {
        link = &(*link)->next;
    }
    return link;
}

static hipError_t look_up_event(hipEvent_t event, struct ihipEvent_t *ret)
{
    (void)pthread_mutex_lock(&list_lock);
    const struct ihipEvent_t *found = event == NULL ? NULL : *find_event(event);
    if (found != NULL) {
        *ret = *found;
    }
    (void)pthread_mutex_unlock(&list_lock);
    return found != NULL ? hipSuccess : em_hip_fail(hipErrorInvalidHandle);
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    struct ihipEvent_t *e = event == NULL ? NULL : wf_calloc(1, sizeof(*e));
    if (e == NULL) {
        return em_hip_fail(event == NULL ? hipErrorInvalidValue : hipErrorOutOfMemory);
    }
    e->flags = flags;
    e->device = em_hip_current();
    (void)pthread_mutex_lock(&list_lock);
    e->next = events;
    events = e;
    (void)pthread_mutex_unlock(&list_lock);
    *event = e;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event)
{
    return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    (void)pthread_mutex_lock(&list_lock);
    struct ihipEvent_t **link = find_event(event);
    struct ihipEvent_t *found = event == NULL ? NULL : *link;
    if (found != NULL) {
        *link = found->next;
    }
    (void)pthread_mutex_unlock(&list_lock);
    free(found);
    return found != NULL ? hipSuccess : em_hip_fail(hipErrorInvalidHandle);
}

hipError_t em_hip_event_stamp(hipEvent_t event, int device)
{
    struct em_hip *hip;
    hipError_t code = em_hip_ready(&hip);
    if (code != hipSuccess) {
        return code;
    }
    (void)pthread_mutex_lock(&hip->lock);
    double now_ms = hip->device[device].clock_ms;
    (void)pthread_mutex_unlock(&hip->lock);
    (void)pthread_mutex_lock(&list_lock);
    struct ihipEvent_t *found = event == NULL ? NULL : *find_event(event);
    if (found != NULL) {
        found->recorded = true;
        found->device = device;
        found->at_ms = now_ms;
    }
    (void)pthread_mutex_unlock(&list_lock);
    return found != NULL ? hipSuccess : em_hip_fail(hipErrorInvalidHandle);
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    int device = 0;
    hipError_t code = em_hip_stream(stream, &device);
    return code == hipSuccess ? em_hip_event_stamp(event, device) : code;
}

hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream)
{
    return hipEventRecord(event, stream);
}

static hipError_t finish_event(hipEvent_t event)
{
    struct em_hip *hip;
    struct ihipEvent_t e;
    hipError_t code = look_up_event(event, &e);
    if (code == hipSuccess) {
        code = em_hip_ready(&hip);
    }
    return code == hipSuccess ? em_hip_finish(hip, e.device) : code;
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return finish_event(event);
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return finish_event(event);
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    struct ihipEvent_t a, b;
    hipError_t code = look_up_event(start, &a);
    if (code == hipSuccess) {
        code = look_up_event(stop, &b);
    }
    if (code != hipSuccess) {
        return code;
    }
    if (ms == NULL) {
        return em_hip_fail(hipErrorInvalidValue);
    }
    if (!a.recorded || !b.recorded || a.device != b.device ||
        ((a.flags | b.flags) & hipEventDisableTiming) != 0) {
        return em_hip_fail(hipErrorInvalidHandle);
    }
    *ms = (float)(b.at_ms - a.at_ms);
    return hipSuccess;
}

static hipError_t wait_event(hipStream_t stream, hipEvent_t event)
{
    int device = 0;
    struct ihipEvent_t e;
    hipError_t code = em_hip_stream(stream, &device);
    return code == hipSuccess ? look_up_event(event, &e) : code;
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    return flags == 0 ? wait_event(stream, event) : em_hip_fail(hipErrorInvalidValue);
}

hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    return hipStreamWaitEvent(stream, event, flags);
}
