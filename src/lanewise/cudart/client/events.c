/* Events: points of the device's clock. */
#include "lanewise.h"

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    ENTER();
    REQUIRE(event && flags <= 7, cudaErrorInvalidValue);
    Handle *handle = lw_new_handle(HANDLE_EVENT);
    REQUIRE(handle, cudaErrorMemoryAllocation);
    handle->flags = flags;
    *event = (cudaEvent_t)handle;
    return cudaSuccess;
}

API cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

API cudaError_t cudaEventDestroy(cudaEvent_t event) {
    ENTER();
    Handle *handle = lw_handle(event, HANDLE_EVENT);
    REQUIRE(handle, cudaErrorInvalidResourceHandle);
    lw_delete_handle(handle);
    return cudaSuccess;
}

void lw_record(cudaEvent_t event, cudaStream_t stream) {
    Handle *handle = lw_handle(event, HANDLE_EVENT);
    if (!handle) return;
    handle->time = lw_time_of_event(stream);
    handle->recorded = true;
    handle->capture = NULL;
    lw_tell_order(ORDER_RECORD, stream, handle->number);
}

API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    ENTER_STREAM(stream);
    Handle *handle = lw_handle(event, HANDLE_EVENT);
    REQUIRE(handle && flags <= 1, cudaErrorInvalidResourceHandle);
    if (lw_capturing(stream) && flags != cudaEventRecordExternal) { /* it marks a point of the capture */
        const Handle *source = lw_handle(stream, HANDLE_STREAM);
        handle->capture = source->capture;
        handle->tails.count = 0;
        return lw_return(lw_copy_tails(&handle->tails, &source->tails) ? cudaSuccess : cudaErrorMemoryAllocation);
    }
    Work work = {.type = cudaGraphNodeTypeEventRecord, .event = event};
    return lw_return(lw_issue(&work, stream));
}
SECOND_NAME(cudaEventRecordWithFlags, _ptsz)

API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}
SECOND_NAME(cudaEventRecord, _ptsz)

API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    ENTER();
    REQUIRE(lw_handle(event, HANDLE_EVENT), cudaErrorInvalidResourceHandle);
    lw_drain_callbacks();
    lw_tell_order(ORDER_SYNC_EVENT, NULL, lw_handle(event, HANDLE_EVENT)->number);
    lw_flush_output();
    return cudaSuccess;
}

API cudaError_t cudaEventQuery(cudaEvent_t event) {
    ENTER();
    REQUIRE(lw_handle(event, HANDLE_EVENT), cudaErrorInvalidResourceHandle);
    lw_tell_order(ORDER_SYNC_EVENT, NULL, lw_handle(event, HANDLE_EVENT)->number);
    lw_flush_output();
    return cudaSuccess;
}

API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    ENTER();
    Handle *a = lw_handle(start, HANDLE_EVENT), *b = lw_handle(end, HANDLE_EVENT);
    REQUIRE(milliseconds, cudaErrorInvalidValue);
    REQUIRE(a && b && a->recorded && b->recorded && !((a->flags | b->flags) & cudaEventDisableTiming),
            cudaErrorInvalidResourceHandle);
    *milliseconds = (float)((double)(int64_t)(b->time - a->time) * 1e-6);
    return cudaSuccess;
}
