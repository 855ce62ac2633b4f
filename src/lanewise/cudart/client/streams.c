/* Streams. Work is done when it is issued, so every order that streams and events ask for holds. */
#include "lanewise.h"

#include <string.h>

cudaError_t lw_check_stream(cudaStream_t stream) {
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return cudaSuccess;
    return lw_handle(stream, HANDLE_STREAM) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t lw_enter_stream(cudaStream_t stream) {
    ENTER();
    cudaError_t error = lw_check_stream(stream);
    if (error == cudaSuccess) lw_drain_callbacks();
    return lw_return(error);
}

/* 0 for the default stream, 1, 2, ... for created ones in their order. */
uint64_t lw_stream_number(cudaStream_t stream) {
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    return handle ? handle->number : 0;
}

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    ENTER();
    REQUIRE(stream && flags <= cudaStreamNonBlocking, cudaErrorInvalidValue);
    Handle *handle = lw_new_handle(HANDLE_STREAM);
    REQUIRE(handle, cudaErrorMemoryAllocation);
    handle->flags = flags;
    handle->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    *stream = (cudaStream_t)handle;
    return cudaSuccess;
}

API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

API cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    ENTER();
    lw_drain_callbacks();
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    REQUIRE(handle, cudaErrorInvalidResourceHandle);
    lw_delete_handle(handle);
    return cudaSuccess;
}

API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    ENTER_STREAM(stream);
    REQUIRE(!lw_capturing(stream), cudaErrorStreamCaptureUnsupported);
    lw_tell_order(ORDER_SYNC_STREAM, stream, 0);
    lw_flush_output();
    return cudaSuccess;
}
SECOND_NAME(cudaStreamSynchronize, _ptsz)

API cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
SECOND_NAME(cudaStreamQuery, _ptsz)

API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    ENTER_STREAM(stream);
    REQUIRE(flags <= 1, cudaErrorInvalidValue);
    Handle *waited = lw_handle(event, HANDLE_EVENT), *waiting = lw_handle(stream, HANDLE_STREAM);
    REQUIRE(waited, cudaErrorInvalidResourceHandle);
    if (flags == cudaEventWaitExternal && waiting && waiting->capture) {
        Work work = {.type = cudaGraphNodeTypeWaitEvent, .event = event};
        return lw_return(lw_issue(&work, stream));
    }
    if (!waited->capture) {
        REQUIRE(!waiting || !waiting->capture, cudaErrorStreamCaptureIsolation); /* what is outside cannot be waited for */
        if (!waited->recorded) return cudaSuccess;
        lw_wait_until(stream, waited->time);
        lw_tell_order(ORDER_WAIT, stream, waited->number);
        return cudaSuccess;
    }
    REQUIRE(waiting, cudaErrorStreamCaptureImplicit);
    REQUIRE(!waiting->capture || waiting->capture == waited->capture, cudaErrorStreamCaptureMerge);
    if (!waiting->capture) waiting->tails.count = 0;
    waiting->capture = waited->capture; /* it joins the capture */
    return lw_return(lw_copy_tails(&waiting->tails, &waited->tails) ? cudaSuccess : cudaErrorMemoryAllocation);
}
SECOND_NAME(cudaStreamWaitEvent, _ptsz)

API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) {
    ENTER_STREAM(stream);
    REQUIRE(flags, cudaErrorInvalidValue);
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    *flags = handle ? handle->flags : 0;
    return cudaSuccess;
}
SECOND_NAME(cudaStreamGetFlags, _ptsz)

API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    ENTER_STREAM(stream);
    REQUIRE(priority, cudaErrorInvalidValue);
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    *priority = handle ? handle->priority : 0;
    return cudaSuccess;
}
SECOND_NAME(cudaStreamGetPriority, _ptsz)

API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
    ENTER_STREAM(stream);
    REQUIRE(id, cudaErrorInvalidValue);
    *id = lw_stream_number(stream);
    return cudaSuccess;
}
SECOND_NAME(cudaStreamGetId, _ptsz)

API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
    ENTER_STREAM(stream);
    REQUIRE(device, cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}
SECOND_NAME(cudaStreamGetDevice, _ptsz)

/* Attributes of a stream are hints (access policy, priority, synchronisation policy): taken, and given back as zero. */
API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                       const cudaStreamAttrValue *value) {
    (void)attribute;
    ENTER_STREAM(stream);
    REQUIRE(value, cudaErrorInvalidValue);
    return cudaSuccess;
}
SECOND_NAME(cudaStreamSetAttribute, _ptsz)

API cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue *value) {
    (void)attribute;
    ENTER_STREAM(stream);
    REQUIRE(value, cudaErrorInvalidValue);
    memset(value, 0, sizeof *value);
    return cudaSuccess;
}
SECOND_NAME(cudaStreamGetAttribute, _ptsz)

API cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
    ENTER_STREAM(to);
    return lw_return(lw_check_stream(from));
}
SECOND_NAME(cudaStreamCopyAttributes, _ptsz)
