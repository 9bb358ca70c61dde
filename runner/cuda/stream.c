/* Streams and events: HIP's handles are the driver's. The flags that this project uses
 * (non-blocking; blocking-sync, no timing) have equal values on both sides. */
#include "runner/cuda/context.h"
#include "runner/cuda/hip_api.h"

static cu_stream stream_of(hipStream_t stream)
{
    return (cu_stream)(void *)stream;
}

static cu_event event_of(hipEvent_t event)
{
    return (cu_event)(void *)event;
}

static hipError_t null_handle(const char *function)
{
    return cuda_fail(hipErrorInvalidHandle, "%s: the handle is NULL", function);
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    if (stream == NULL || (flags & ~(unsigned)hipStreamNonBlocking) != 0) {
        return cuda_fail(
            hipErrorInvalidValue,
            "hipStreamCreateWithFlags: the result is NULL or flags 0x%x are "
            "not 0 or 1",
            flags);
    }
    cu_stream created = NULL;
    hipError_t error = cuda_bind();
    if (error == hipSuccess) {
        error =
            cuda_check(cuda_driver()->stream_create(&created, flags), "cuStreamCreate");
    }
    *stream = (hipStream_t)(void *)created;
    return error;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    if (stream == NULL) {
        return null_handle("hipStreamDestroy");
    }
    hipError_t error = cuda_bind();
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->stream_destroy(stream_of(stream)),
                            "cuStreamDestroy");
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    hipError_t error = cuda_bind();
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->stream_synchronize(stream_of(stream)),
                            "cuStreamSynchronize");
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    hipError_t error = cuda_bind();
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->stream_query(stream_of(stream)),
                            "cuStreamQuery");
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    const unsigned known = hipEventBlockingSync | hipEventDisableTiming;
    if (event == NULL || (flags & ~known) != 0) {
        return cuda_fail(
            hipErrorInvalidValue,
            "hipEventCreateWithFlags: the result is NULL or flags 0x%x are "
            "not among 0 to 3",
            flags);
    }
    cu_event created = NULL;
    hipError_t error = cuda_bind();
    if (error == hipSuccess) {
        error =
            cuda_check(cuda_driver()->event_create(&created, flags), "cuEventCreate");
    }
    *event = (hipEvent_t)(void *)created;
    return error;
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    if (event == NULL) {
        return null_handle("hipEventDestroy");
    }
    hipError_t error = cuda_bind();
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->event_destroy(event_of(event)),
                            "cuEventDestroy");
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    if (event == NULL) {
        return null_handle("hipEventRecord");
    }
    hipError_t error = cuda_bind();
    return error != hipSuccess ? error
                               : cuda_check(cuda_driver()->event_record(
                                                event_of(event), stream_of(stream)),
                                            "cuEventRecord");
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    if (event == NULL) {
        return null_handle("hipEventSynchronize");
    }
    hipError_t error = cuda_bind();
    return error != hipSuccess
               ? error
               : cuda_check(cuda_driver()->event_synchronize(event_of(event)),
                            "cuEventSynchronize");
}

hipError_t hipEventQuery(hipEvent_t event)
{
    if (event == NULL) {
        return null_handle("hipEventQuery");
    }
    hipError_t error = cuda_bind();
    return error != hipSuccess ? error
                               : cuda_check(cuda_driver()->event_query(event_of(event)),
                                            "cuEventQuery");
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    if (ms == NULL) {
        return cuda_fail(hipErrorInvalidValue,
                         "hipEventElapsedTime: the result is NULL");
    }
    if (start == NULL || stop == NULL) {
        return null_handle("hipEventElapsedTime");
    }
    hipError_t error = cuda_bind();
    return error != hipSuccess ? error
                               : cuda_check(cuda_driver()->event_elapsed(
                                                ms, event_of(start), event_of(stop)),
                                            "cuEventElapsedTime");
}
