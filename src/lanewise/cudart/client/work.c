/* One operation of a stream: done at once, or kept in the graph that the stream captures. */
#include "lanewise.h"

#include <stdlib.h>

static cudaError_t do_in(const Work *work, cudaStream_t stream) {
    switch (work->type) {
        case cudaGraphNodeTypeKernel: return lw_do_kernel(work, stream);
        case cudaGraphNodeTypeMemcpy: return lw_do_copy(work);
        case cudaGraphNodeTypeMemset: return lw_do_set(work);
        case cudaGraphNodeTypeHost: return lw_do_host(work, stream);
        case cudaGraphNodeTypeGraph: return lw_do_graph(work->graph, stream);
        case cudaGraphNodeTypeEventRecord: lw_record(work->event, stream); return cudaSuccess;
        case cudaGraphNodeTypeWaitEvent: {
            Handle *event = lw_handle(work->event, HANDLE_EVENT);
            if (event && event->recorded) lw_tell_order(ORDER_WAIT, stream, event->number);
            return cudaSuccess;
        }
        default: return cudaSuccess; /* empty nodes, and memory that lives as long as its graph */
    }
}

cudaError_t lw_do(const Work *work, cudaStream_t stream) {
    cudaStream_t before = lw_work_in(stream);
    const void *caller = lw_came_from();
    if (work->caller) lw_come_from(work->caller);
    if (work->type == cudaGraphNodeTypeKernel || work->type == cudaGraphNodeTypeMemcpy ||
        work->type == cudaGraphNodeTypeMemset)
        lw_tell_order(ORDER_WORK, stream, 0);
    cudaError_t error = do_in(work, stream);
    lw_come_from(caller);
    lw_work_in(before);
    return error;
}

void lw_release_work(Work *work) {
    if (work->type == cudaGraphNodeTypeKernel) {
        free(work->kernel.params);
        free(work->kernel.args);
        work->kernel.params = NULL;
        work->kernel.args = NULL;
    } else if (work->type == cudaGraphNodeTypeMemAlloc && work->memory.owners && --*work->memory.owners == 0) {
        lw_free(work->memory.pointer, 1 << KIND_MALLOC | OF_A_GRAPH);
        free(work->memory.owners);
        work->memory.owners = NULL;
    } else if (work->type == cudaGraphNodeTypeGraph) {
        lw_delete_graph(work->graph);
        work->graph = NULL;
    }
}

/* The memory of a graph is there from the node's making until the last graph or instance that holds it is gone. */
cudaError_t lw_allocate_work(Work *work, size_t size, const char *made_by, const void *caller) {
    *work = (Work){.type = cudaGraphNodeTypeMemAlloc, .memory.owners = malloc(sizeof(unsigned))};
    if (!work->memory.owners) return cudaErrorMemoryAllocation;
    *work->memory.owners = 1;
    cudaError_t error = lw_allocate(&work->memory.pointer, size, KIND_MALLOC, made_by, OF_A_GRAPH, caller);
    if (error != cudaSuccess) lw_release_work(work);
    return error;
}

bool lw_capturing(cudaStream_t stream) {
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    return handle && handle->capture;
}

cudaError_t lw_issue(Work *work, cudaStream_t stream) {
    if (lw_capturing(stream)) return lw_append(lw_handle(stream, HANDLE_STREAM), work);
    cudaError_t error = lw_do(work, stream);
    lw_release_work(work);
    return error;
}
