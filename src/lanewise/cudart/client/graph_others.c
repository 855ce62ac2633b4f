/* The other nodes of graphs (empty ones, events, child graphs, memory), and the calls that take nodes of every kind. */
#include "graph.h"

#include <string.h>

typedef const cudaGraphNode_t *Nodes;

API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count) {
    ENTER();
    Work work = {.type = cudaGraphNodeTypeEmpty};
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                            cudaEvent_t event) {
    ENTER();
    REQUIRE(lw_handle(event, HANDLE_EVENT), cudaErrorInvalidValue);
    Work work = {.type = cudaGraphNodeTypeEventRecord, .event = event};
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                          cudaEvent_t event) {
    ENTER();
    REQUIRE(lw_handle(event, HANDLE_EVENT), cudaErrorInvalidValue);
    Work work = {.type = cudaGraphNodeTypeWaitEvent, .event = event};
    return lw_add_node(graph, after, count, &work, node);
}

/* --- events of nodes, in a graph and in an instance */
static cudaError_t get_event(const Work *work, enum cudaGraphNodeType type, cudaEvent_t *event) {
    if (!work || work->type != type || !event) return cudaErrorInvalidValue;
    *event = work->event;
    return cudaSuccess;
}

static cudaError_t set_event(Work *work, enum cudaGraphNodeType type, cudaEvent_t event) {
    if (!work || work->type != type || !lw_handle(event, HANDLE_EVENT)) return cudaErrorInvalidValue;
    work->event = event;
    return cudaSuccess;
}

API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
    ENTER();
    return lw_return(get_event(lw_node_work(node), cudaGraphNodeTypeEventRecord, event));
}

API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
    ENTER();
    return lw_return(get_event(lw_node_work(node), cudaGraphNodeTypeWaitEvent, event));
}

API cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return lw_return(set_event(lw_node_work(node), cudaGraphNodeTypeEventRecord, event));
}

API cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return lw_return(set_event(lw_node_work(node), cudaGraphNodeTypeWaitEvent, event));
}

API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return lw_return(set_event(lw_instance_work(exec, node), cudaGraphNodeTypeEventRecord, event));
}

API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return lw_return(set_event(lw_instance_work(exec, node), cudaGraphNodeTypeWaitEvent, event));
}

/* --- child graphs */
API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                           cudaGraph_t child) {
    ENTER();
    Handle *handle = lw_handle(child, HANDLE_GRAPH);
    REQUIRE(handle, cudaErrorInvalidValue);
    Work work = {.type = cudaGraphNodeTypeGraph, .graph = lw_clone_graph(handle->data)};
    REQUIRE(work.graph, cudaErrorInvalidValue);
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(graph && work && work->type == cudaGraphNodeTypeGraph, cudaErrorInvalidValue);
    *graph = lw_graph_handle(work->graph);
    return cudaSuccess;
}

API cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
    ENTER();
    Work *work = lw_instance_work(exec, node);
    Graph *graph = lw_graph_of(child);
    REQUIRE(work && work->type == cudaGraphNodeTypeGraph && graph && graph->count == work->graph->count,
            cudaErrorInvalidValue);
    Graph *made = lw_ordered_copy(graph, NULL);
    REQUIRE(made, cudaErrorInvalidValue);
    lw_delete_graph(work->graph);
    work->graph = made;
    return cudaSuccess;
}

/* --- memory */
API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                         struct cudaMemAllocNodeParams *params) {
    ENTER();
    REQUIRE(params, cudaErrorInvalidValue);
    Work work;
    cudaError_t error = lw_allocate_work(&work, params->bytesize, "cudaGraphAddMemAllocNode", CALLER);
    if (error != cudaSuccess) return lw_return(error);
    params->dptr = work.memory.pointer;
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                        void *pointer) {
    ENTER();
    Work work = {.type = cudaGraphNodeTypeMemFree, .memory.pointer = pointer};
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(params && work && work->type == cudaGraphNodeTypeMemAlloc, cudaErrorInvalidValue);
    Allocation a = {0};
    lw_find_allocation((uint64_t)work->memory.pointer, &a);
    memset(params, 0, sizeof *params);
    params->bytesize = a.size;
    params->dptr = work->memory.pointer;
    return cudaSuccess;
}

API cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *pointer) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(pointer && work && work->type == cudaGraphNodeTypeMemFree, cudaErrorInvalidValue);
    *(void **)pointer = work->memory.pointer;
    return cudaSuccess;
}

/* Nothing is kept in reserve for graphs. */
API cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value) {
    ENTER();
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    REQUIRE(value && (unsigned)attribute <= cudaGraphMemAttrReservedMemHigh, cudaErrorInvalidValue);
    *(uint64_t *)value = 0;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value) {
    uint64_t old;
    REQUIRE(value, cudaErrorInvalidValue);
    return cudaDeviceGetGraphMemAttribute(device, attribute, &old);
}

API cudaError_t cudaDeviceGraphMemTrim(int device) {
    ENTER();
    return lw_return(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

/* --- nodes of every kind */
static struct cudaKernelNodeParams kernel_params(const struct cudaGraphNodeParams *p) {
    return (struct cudaKernelNodeParams){
        .func = p->kernel.func, .gridDim = p->kernel.gridDim, .blockDim = p->kernel.blockDim,
        .sharedMemBytes = p->kernel.sharedMemBytes, .kernelParams = p->kernel.kernelParams, .extra = p->kernel.extra};
}

static struct cudaMemsetParams set_params(const struct cudaGraphNodeParams *p) {
    return (struct cudaMemsetParams){.dst = p->memset.dst, .pitch = p->memset.pitch, .value = p->memset.value,
                                     .elementSize = p->memset.elementSize, .width = p->memset.width,
                                     .height = p->memset.height};
}

API cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after,
                                 const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params) {
    (void)edges;
    ENTER();
    REQUIRE(params, cudaErrorInvalidValue);
    switch (params->type) {
        case cudaGraphNodeTypeKernel: {
            struct cudaKernelNodeParams p = kernel_params(params);
            return cudaGraphAddKernelNode(node, graph, after, count, &p);
        }
        case cudaGraphNodeTypeMemcpy:
            return cudaGraphAddMemcpyNode(node, graph, after, count, &params->memcpy.copyParams);
        case cudaGraphNodeTypeMemset: {
            struct cudaMemsetParams p = set_params(params);
            return cudaGraphAddMemsetNode(node, graph, after, count, &p);
        }
        case cudaGraphNodeTypeHost: {
            struct cudaHostNodeParams p = {.fn = params->host.fn, .userData = params->host.userData};
            return cudaGraphAddHostNode(node, graph, after, count, &p);
        }
        case cudaGraphNodeTypeGraph:
            return cudaGraphAddChildGraphNode(node, graph, after, count, params->graph.graph);
        case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(node, graph, after, count);
        case cudaGraphNodeTypeEventRecord:
            return cudaGraphAddEventRecordNode(node, graph, after, count, params->eventRecord.event);
        case cudaGraphNodeTypeWaitEvent:
            return cudaGraphAddEventWaitNode(node, graph, after, count, params->eventWait.event);
        case cudaGraphNodeTypeMemAlloc: {
            struct cudaMemAllocNodeParams p = {.poolProps = params->alloc.poolProps, .bytesize = params->alloc.bytesize};
            cudaError_t error = cudaGraphAddMemAllocNode(node, graph, after, count, &p);
            params->alloc.dptr = p.dptr;
            return error;
        }
        case cudaGraphNodeTypeMemFree: return cudaGraphAddMemFreeNode(node, graph, after, count, params->free.dptr);
        default:
            return lw_return(lw_refuse(cudaErrorNotSupported, CALLER, "nodes of external semaphores and conditional "
                                       "nodes are not supported: cudaGraphAddNode"));
    }
}

API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    ENTER();
    REQUIRE(params, cudaErrorInvalidValue);
    switch (params->type) {
        case cudaGraphNodeTypeKernel: {
            struct cudaKernelNodeParams p = kernel_params(params);
            return cudaGraphKernelNodeSetParams(node, &p);
        }
        case cudaGraphNodeTypeMemcpy: return cudaGraphMemcpyNodeSetParams(node, &params->memcpy.copyParams);
        case cudaGraphNodeTypeMemset: {
            struct cudaMemsetParams p = set_params(params);
            return cudaGraphMemsetNodeSetParams(node, &p);
        }
        case cudaGraphNodeTypeHost: {
            struct cudaHostNodeParams p = {.fn = params->host.fn, .userData = params->host.userData};
            return cudaGraphHostNodeSetParams(node, &p);
        }
        case cudaGraphNodeTypeEventRecord: return cudaGraphEventRecordNodeSetEvent(node, params->eventRecord.event);
        case cudaGraphNodeTypeWaitEvent: return cudaGraphEventWaitNodeSetEvent(node, params->eventWait.event);
        default: return lw_return(cudaErrorInvalidValue);
    }
}

API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           struct cudaGraphNodeParams *params) {
    ENTER();
    REQUIRE(params, cudaErrorInvalidValue);
    switch (params->type) {
        case cudaGraphNodeTypeKernel: {
            struct cudaKernelNodeParams p = kernel_params(params);
            return cudaGraphExecKernelNodeSetParams(exec, node, &p);
        }
        case cudaGraphNodeTypeMemcpy: return cudaGraphExecMemcpyNodeSetParams(exec, node, &params->memcpy.copyParams);
        case cudaGraphNodeTypeMemset: {
            struct cudaMemsetParams p = set_params(params);
            return cudaGraphExecMemsetNodeSetParams(exec, node, &p);
        }
        case cudaGraphNodeTypeHost: {
            struct cudaHostNodeParams p = {.fn = params->host.fn, .userData = params->host.userData};
            return cudaGraphExecHostNodeSetParams(exec, node, &p);
        }
        case cudaGraphNodeTypeGraph: return cudaGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
        case cudaGraphNodeTypeEventRecord:
            return cudaGraphExecEventRecordNodeSetEvent(exec, node, params->eventRecord.event);
        case cudaGraphNodeTypeWaitEvent: return cudaGraphExecEventWaitNodeSetEvent(exec, node, params->eventWait.event);
        default: return lw_return(cudaErrorInvalidValue);
    }
}
