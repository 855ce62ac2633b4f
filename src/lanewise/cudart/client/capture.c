/* Stream capture: what is issued to the stream, and to streams that wait for its events, goes into a graph. */
#include "graph.h"

#include <stdlib.h>

bool lw_copy_tails(Tails *to, const Tails *from) {
    for (size_t i = 0; i < from->count; i++)
        if (!lw_add_tail(to, from->nodes[i])) return false;
    return true;
}

API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                              const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
                                              size_t count, enum cudaStreamCaptureMode mode) {
    (void)edges, (void)mode;
    ENTER_STREAM(stream);
    Handle *handle = lw_handle(stream, HANDLE_STREAM), *target = lw_handle(graph, HANDLE_GRAPH);
    REQUIRE(handle, cudaErrorStreamCaptureUnsupported); /* the default stream cannot be captured */
    REQUIRE(target && (dependencies || !count), cudaErrorInvalidValue);
    REQUIRE(!handle->capture, cudaErrorIllegalState);
    handle->tails.count = 0;
    for (size_t i = 0; i < count; i++) {
        Node *node = lw_node_of(dependencies[i]);
        REQUIRE(node && node->handle->data == target->data, cudaErrorInvalidValue);
        REQUIRE(lw_add_tail(&handle->tails, node->handle), cudaErrorMemoryAllocation);
    }
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

/* Whether all work comes before the end of the stream that began: every node without a successor is one of its tails. */
static bool all_joined(const Graph *graph, const Tails *tails) {
    for (size_t i = 0; i < graph->count; i++) {
        bool followed = false;
        for (size_t m = 0; m < graph->count && !followed; m++)
            for (size_t k = 0; k < graph->nodes[m].after_count; k++)
                followed |= graph->nodes[m].after[k] == graph->nodes[i].handle;
        for (size_t k = 0; k < tails->count && !followed; k++) followed = tails->nodes[k] == graph->nodes[i].handle;
        if (!followed) return false;
    }
    return true;
}

API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    ENTER();
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    REQUIRE(handle && graph, cudaErrorInvalidValue);
    REQUIRE(handle->capture, cudaErrorIllegalState);
    REQUIRE(handle->recorded, cudaErrorStreamCaptureUnmatched);
    handle->recorded = false;
    Graph *captured = handle->capture;
    bool joined = all_joined(captured, &handle->tails);
    *graph = joined ? lw_graph_handle(captured) : NULL;
    lw_end_capture(captured);
    if (joined) return cudaSuccess;
    return lw_return(lw_refuse(cudaErrorStreamCaptureUnjoined, CALLER, "the capture ends with work of another stream that "
                               "the first one never waited for (CUDA C++ Programming Guide, Cross-stream Dependencies "
                               "and Events)"));
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
        const Handle *handle = lw_handle(stream, HANDLE_STREAM);
        Graph *captured = handle->capture;
        if (dependencies) *dependencies = (const cudaGraphNode_t *)handle->tails.nodes;
        if (count) *count = handle->tails.count;
        if (id) *id = (uintptr_t)captured;
        if (graph) *graph = lw_graph_handle(captured);
    }
    return cudaSuccess;
}
SECOND_NAME(cudaStreamGetCaptureInfo, _ptsz)

API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                    const cudaGraphEdgeData *edges, size_t count, unsigned flags) {
    (void)edges;
    ENTER_STREAM(stream);
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    REQUIRE(handle && handle->capture, cudaErrorIllegalState);
    REQUIRE(flags <= cudaStreamSetCaptureDependencies && (nodes || !count), cudaErrorInvalidValue);
    if (flags == cudaStreamSetCaptureDependencies) handle->tails.count = 0;
    for (size_t i = 0; i < count; i++) {
        Node *node = lw_node_of(nodes[i]);
        REQUIRE(node && node->handle->data == handle->capture, cudaErrorInvalidValue);
        REQUIRE(lw_add_tail(&handle->tails, node->handle), cudaErrorMemoryAllocation);
    }
    return cudaSuccess;
}
SECOND_NAME(cudaStreamUpdateCaptureDependencies, _ptsz)

API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    static _Thread_local enum cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    ENTER();
    REQUIRE(mode && (unsigned)*mode <= cudaStreamCaptureModeRelaxed, cudaErrorInvalidValue);
    enum cudaStreamCaptureMode before = current;
    current = *mode;
    *mode = before;
    return cudaSuccess;
}
