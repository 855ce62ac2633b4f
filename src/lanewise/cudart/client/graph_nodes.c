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

/* Attributes that a launch here knows; the others (priority, access policy, ...) are taken, and given back as zero. */
static cudaError_t get_attribute(const Work *work, cudaLaunchAttributeID id, cudaLaunchAttributeValue *value) {
    if (!work || work->type != cudaGraphNodeTypeKernel || !value) return cudaErrorInvalidValue;
    const Shape *shape = &work->kernel.shape;
    memset(value, 0, sizeof *value);
    if (id == cudaLaunchAttributeCooperative) value->cooperative = shape->cooperative;
    if (id == cudaLaunchAttributeClusterDimension) {
        value->clusterDim.x = shape->cluster.x;
        value->clusterDim.y = shape->cluster.y;
        value->clusterDim.z = shape->cluster.z;
    }
    return cudaSuccess;
}

API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                cudaLaunchAttributeValue *value) {
    ENTER();
    return lw_return(get_attribute(lw_node_work(node), id, value));
}

API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                const cudaLaunchAttributeValue *value) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(work && work->type == cudaGraphNodeTypeKernel && value, cudaErrorInvalidValue);
    if (id == cudaLaunchAttributeCooperative) work->kernel.shape.cooperative = value->cooperative != 0;
    if (id == cudaLaunchAttributeClusterDimension)
        work->kernel.shape.cluster = (dim3){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    return cudaSuccess;
}

API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
    ENTER();
    Work *a = lw_node_work(to), *b = lw_node_work(from);
    REQUIRE(a && b && a->type == cudaGraphNodeTypeKernel && b->type == cudaGraphNodeTypeKernel, cudaErrorInvalidValue);
    a->kernel.shape.cooperative = b->kernel.shape.cooperative;
    a->kernel.shape.cluster = b->kernel.shape.cluster;
    return cudaSuccess;
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

static cudaError_t symbol_part(const void *symbol, size_t offset, char **place) {
    void *address;
    cudaError_t error = cudaGetSymbolAddress(&address, symbol);
    *place = (char *)address + offset;
    return error;
}

API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                               const void *symbol, const void *from, size_t bytes, size_t offset,
                                               enum cudaMemcpyKind kind) {
    char *to;
    cudaError_t error = symbol_part(symbol, offset, &to);
    return error == cudaSuccess ? cudaGraphAddMemcpyNode1D(node, graph, after, count, to, from, bytes, kind) : error;
}

API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, Nodes after, size_t count,
                                                 void *to, const void *symbol, size_t bytes, size_t offset,
                                                 enum cudaMemcpyKind kind) {
    char *from;
    cudaError_t error = symbol_part(symbol, offset, &from);
    return error == cudaSuccess ? cudaGraphAddMemcpyNode1D(node, graph, after, count, to, from, bytes, kind) : error;
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

/* Positions are part of the pointers that are given back. */
API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(params && work && work->type == cudaGraphNodeTypeMemcpy, cudaErrorInvalidValue);
    lw_copy_params(work, params);
    return cudaSuccess;
}

API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *from,
                                                     size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    char *to;
    cudaError_t error = symbol_part(symbol, offset, &to);
    return error == cudaSuccess ? cudaGraphMemcpyNodeSetParams1D(node, to, from, bytes, kind) : error;
}

API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to, const void *symbol,
                                                       size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    char *from;
    cudaError_t error = symbol_part(symbol, offset, &from);
    return error == cudaSuccess ? cudaGraphMemcpyNodeSetParams1D(node, to, from, bytes, kind) : error;
}

API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                         const void *symbol, const void *from, size_t bytes,
                                                         size_t offset, enum cudaMemcpyKind kind) {
    char *to;
    cudaError_t error = symbol_part(symbol, offset, &to);
    return error == cudaSuccess ? cudaGraphExecMemcpyNodeSetParams1D(exec, node, to, from, bytes, kind) : error;
}

API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                           const void *symbol, size_t bytes, size_t offset,
                                                           enum cudaMemcpyKind kind) {
    char *from;
    cudaError_t error = symbol_part(symbol, offset, &from);
    return error == cudaSuccess ? cudaGraphExecMemcpyNodeSetParams1D(exec, node, to, from, bytes, kind) : error;
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

API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params) {
    ENTER();
    Work *work = lw_node_work(node);
    REQUIRE(params && work && work->type == cudaGraphNodeTypeHost, cudaErrorInvalidValue);
    *params = (struct cudaHostNodeParams){.fn = work->host.function, .userData = work->host.data};
    return cudaSuccess;
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
