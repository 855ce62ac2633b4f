/* Nodes of graphs by kind: adding them, asking for and changing what they do, in a graph and in an instance. */
#include "lanewise.h"

#include <string.h>

typedef const cudaGraphNode_t *Nodes;

static Work host_work(const struct cudaHostNodeParams *p) {
    return (Work){.type = cudaGraphNodeTypeHost, .host = {.function = p->fn, .data = p->userData}};
}

static Work set_work(const struct cudaMemsetParams *p) {
    return (Work){.type = cudaGraphNodeTypeMemset, .set = {*p, 0, 1}};
}

static cudaError_t kernel_work(Work *work, const struct cudaKernelNodeParams *p) {
    if (!p || p->extra) return p ? cudaErrorNotSupported : cudaErrorInvalidValue;
    Shape shape = {.grid = p->gridDim, .block = p->blockDim, .shared = p->sharedMemBytes};
    return lw_pack_kernel(work, p->func, &shape, p->kernelParams);
}

/* Puts `made` in the place of other work of its kind. */
static cudaError_t change(Work *work, Work made) {
    if (!work || work->type != made.type) {
        lw_release_work(&made);
        return lw_return(cudaErrorInvalidValue);
    }
    lw_release_work(work);
    *work = made;
    return cudaSuccess;
}

/* --- kernels */
API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                       const struct cudaKernelNodeParams *params) {
    Work work;
    ENTER();
    cudaError_t error = kernel_work(&work, params);
    return error == cudaSuccess ? lw_add_node(graph, after, count, &work, node) : lw_return(error);
}

API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(params && work && work->type == cudaGraphNodeTypeKernel, cudaErrorInvalidValue);
    *params = (struct cudaKernelNodeParams){
        .func = (void *)work->kernel.function, .gridDim = work->kernel.shape.grid, .blockDim = work->kernel.shape.block,
        .sharedMemBytes = (unsigned)work->kernel.shape.shared, .kernelParams = work->kernel.args};
    return cudaSuccess;
}

static cudaError_t change_kernel(Work *work, const struct cudaKernelNodeParams *params) {
    Work made;
    cudaError_t error = kernel_work(&made, params);
    return error == cudaSuccess ? change(work, made) : lw_return(error);
}

API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params) {
    ENTER();
    return change_kernel(lw_node_work(node), params);
}

API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaKernelNodeParams *params) {
    ENTER();
    return change_kernel(lw_instance_work(exec, node), params);
}

/* --- copies */
API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                       const struct cudaMemcpy3DParms *params) {
    ENTER();
    Work work;
    cudaError_t error = lw_copy_work(&work, params);
    return error == cudaSuccess ? lw_add_node(graph, after, count, &work, node) : lw_return(error);
}

API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count, void *to,
                                         const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    ENTER();
    Work work = lw_line_work(to, from, bytes, kind);
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                               const void *symbol, const void *from, size_t bytes, size_t offset,
                                               enum cudaMemcpyKind kind) {
    void *to;
    cudaError_t error = cudaGetSymbolAddress(&to, symbol);
    if (error != cudaSuccess) return error;
    return cudaGraphAddMemcpyNode1D(node, graph, after, count, (char *)to + offset, from, bytes, kind);
}

API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                                 void *to, const void *symbol, size_t bytes, size_t offset,
                                                 enum cudaMemcpyKind kind) {
    void *from;
    cudaError_t error = cudaGetSymbolAddress(&from, symbol);
    if (error != cudaSuccess) return error;
    return cudaGraphAddMemcpyNode1D(node, graph, after, count, to, (char *)from + offset, bytes, kind);
}

API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *params) {
    ENTER();
    Work made;
    cudaError_t error = lw_copy_work(&made, params);
    return error == cudaSuccess ? change(lw_node_work(node), made) : lw_return(error);
}

API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaMemcpy3DParms *params) {
    ENTER();
    Work made;
    cudaError_t error = lw_copy_work(&made, params);
    return error == cudaSuccess ? change(lw_instance_work(exec, node), made) : lw_return(error);
}

API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes,
                                               enum cudaMemcpyKind kind) {
    ENTER();
    return change(lw_node_work(node), lw_line_work(to, from, bytes, kind));
}

API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                   const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    ENTER();
    return change(lw_instance_work(exec, node), lw_line_work(to, from, bytes, kind));
}

/* --- sets */
static bool good_set(const struct cudaMemsetParams *p) {
    return p && (p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4);
}

API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                       const struct cudaMemsetParams *params) {
    ENTER();
    REQUIRE(good_set(params), cudaErrorInvalidValue);
    Work work = set_work(params);
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(params && work && work->type == cudaGraphNodeTypeMemset, cudaErrorInvalidValue);
    *params = work->set.params;
    return cudaSuccess;
}

API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *params) {
    ENTER();
    REQUIRE(good_set(params), cudaErrorInvalidValue);
    return change(lw_node_work(node), set_work(params));
}

API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaMemsetParams *params) {
    ENTER();
    REQUIRE(good_set(params), cudaErrorInvalidValue);
    return change(lw_instance_work(exec, node), set_work(params));
}

/* --- host functions */
API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                     const struct cudaHostNodeParams *params) {
    ENTER();
    REQUIRE(params && params->fn, cudaErrorInvalidValue);
    Work work = host_work(params);
    return lw_add_node(graph, after, count, &work, node);
}

API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *params) {
    ENTER();
    REQUIRE(params && params->fn, cudaErrorInvalidValue);
    return change(lw_node_work(node), host_work(params));
}

API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               const struct cudaHostNodeParams *params) {
    ENTER();
    REQUIRE(params && params->fn, cudaErrorInvalidValue);
    return change(lw_instance_work(exec, node), host_work(params));
}

/* --- the rest */
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

API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                           cudaGraph_t child) {
    ENTER();
    Handle *handle = lw_handle(child, HANDLE_GRAPH);
    REQUIRE(handle, cudaErrorInvalidValue);
    Work work = {.type = cudaGraphNodeTypeGraph, .graph = lw_clone_graph(handle->data)};
    REQUIRE(work.graph, cudaErrorInvalidValue);
    return lw_add_node(graph, after, count, &work, node);
}

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

API cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after,
                                 const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params) {
    (void)edges;
    ENTER();
    REQUIRE(params, cudaErrorInvalidValue);
    switch (params->type) {
        case cudaGraphNodeTypeKernel: {
            struct cudaKernelNodeParams p = {
                .func = params->kernel.func, .gridDim = params->kernel.gridDim, .blockDim = params->kernel.blockDim,
                .sharedMemBytes = params->kernel.sharedMemBytes, .kernelParams = params->kernel.kernelParams,
                .extra = params->kernel.extra};
            return cudaGraphAddKernelNode(node, graph, after, count, &p);
        }
        case cudaGraphNodeTypeMemcpy:
            return cudaGraphAddMemcpyNode(node, graph, after, count, &params->memcpy.copyParams);
        case cudaGraphNodeTypeMemset: {
            struct cudaMemsetParams p = {.dst = params->memset.dst, .pitch = params->memset.pitch,
                                         .value = params->memset.value, .elementSize = params->memset.elementSize,
                                         .width = params->memset.width, .height = params->memset.height};
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
        default: return lw_return(cudaErrorNotSupported); /* semaphores, conditional nodes */
    }
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
