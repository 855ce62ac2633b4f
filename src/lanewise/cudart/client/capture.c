/* Stream capture: what is issued to the stream, and to streams that wait for its events, goes into a graph. */
#include "lanewise.h"

#include <stdlib.h>

API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                              const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
                                              size_t count, enum cudaStreamCaptureMode mode) {
    (void)dependencies, (void)edges, (void)count, (void)mode;
    ENTER_STREAM(stream);
    Handle *handle = lw_handle(stream, HANDLE_STREAM), *target = lw_handle(graph, HANDLE_GRAPH);
    REQUIRE(handle, cudaErrorStreamCaptureUnsupported); /* the default stream cannot be captured */
    REQUIRE(target, cudaErrorInvalidValue);
    REQUIRE(!handle->capture, cudaErrorIllegalState);
    handle->capture = target->data;
    handle->recorded = true; /* the stream that began it is the one to end it */
    return cudaSuccess;
}
SECOND_NAME(cudaStreamBeginCaptureToGraph, _ptsz)

API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    cudaGraph_t graph;
    cudaError_t error = cudaGraphCreate(&graph, 0);
    if (error != cudaSuccess) return error;
    error = cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, mode);
    if (error != cudaSuccess) cudaGraphDestroy(graph);
    return error;
}
SECOND_NAME(cudaStreamBeginCapture, _ptsz)

API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    ENTER();
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    REQUIRE(handle && graph, cudaErrorInvalidValue);
    REQUIRE(handle->capture, cudaErrorIllegalState);
    REQUIRE(handle->recorded, cudaErrorStreamCaptureUnmatched);
    handle->recorded = false;
    *graph = lw_graph_handle(handle->capture);
    lw_end_capture(handle->capture);
    return cudaSuccess;
}
SECOND_NAME(cudaStreamEndCapture, _ptsz)

API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    ENTER();
    REQUIRE(status, cudaErrorInvalidValue);
    cudaError_t error = lw_check_stream(stream);
    *status = lw_capturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return lw_return(error);
}
SECOND_NAME(cudaStreamIsCapturing, _ptsz)

API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                         unsigned long long *id, cudaGraph_t *graph,
                                         const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
                                         size_t *count) {
    cudaError_t error = cudaStreamIsCapturing(stream, status);
    if (error != cudaSuccess) return error;
    if (dependencies) *dependencies = NULL;
    if (edges) *edges = NULL;
    if (count) *count = 0;
    if (*status == cudaStreamCaptureStatusActive) {
        Graph *captured = lw_handle(stream, HANDLE_STREAM)->capture;
        if (id) *id = (uintptr_t)captured;
        if (graph) *graph = lw_graph_handle(captured);
    }
    return cudaSuccess;
}
SECOND_NAME(cudaStreamGetCaptureInfo, _ptsz)

API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    static _Thread_local enum cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    ENTER();
    REQUIRE(mode && (unsigned)*mode <= cudaStreamCaptureModeRelaxed, cudaErrorInvalidValue);
    enum cudaStreamCaptureMode before = current;
    current = *mode;
    *mode = before;
    return cudaSuccess;
}
