/* Instances of graphs: a list in an order that keeps the dependencies, replayed by each launch. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static void delete_instance(Instance *instance) {
    lw_delete_graph(instance->graph);
    free(instance);
}

static Instance *new_instance(const Graph *graph, unsigned long long flags, Handle **cycle) {
    Instance *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->flags = flags;
    made->graph = lw_ordered_copy(graph, cycle);
    if (made->graph) return made;
    free(made);
    return NULL;
}

Instance *lw_instance_of(cudaGraphExec_t handle) {
    Handle *found = lw_handle(handle, HANDLE_GRAPH_EXEC);
    return found ? found->data : NULL;
}

/* The node of an instance that was made from a node of its graph. */
static Node *instance_node(cudaGraphExec_t exec, cudaGraphNode_t node) {
    Instance *instance = lw_instance_of(exec);
    for (size_t i = 0; instance && i < instance->graph->count; i++)
        if (instance->graph->nodes[i].origin == (Handle *)node) return &instance->graph->nodes[i];
    return NULL;
}

Work *lw_instance_work(cudaGraphExec_t exec, cudaGraphNode_t node) {
    Node *found = instance_node(exec, node);
    return found ? &found->work : NULL;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t handle, unsigned long long flags,
                               cudaGraphNode_t *wrong, const void *caller) {
    Graph *graph = lw_graph_of(handle);
    if (!exec || !graph) return cudaErrorInvalidValue;
    if (flags & cudaGraphInstantiateFlagDeviceLaunch)
        return lw_refuse(cudaErrorNotSupported, caller,
                         "graphs that kernels launch are not supported: cudaGraphInstantiateFlagDeviceLaunch");
    Handle *cycle;
    Instance *made = new_instance(graph, flags, &cycle);
    if (!made && cycle) {
        if (wrong) *wrong = (cudaGraphNode_t)cycle;
        return lw_refuse(cudaErrorInvalidValue, caller, "the graph has a cycle: some of its %zu nodes come after "
                         "themselves (CUDA Runtime API, Graph Management: cudaGraphInstantiate)", graph->count);
    }
    Handle *instance = made ? lw_new_handle(HANDLE_GRAPH_EXEC) : NULL;
    if (!instance) return cudaErrorMemoryAllocation;
    instance->data = made;
    *exec = (cudaGraphExec_t)instance;
    return cudaSuccess;
}

API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    ENTER();
    return lw_return(instantiate(exec, graph, flags, NULL, CALLER));
}

API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    ENTER();
    return lw_return(instantiate(exec, graph, flags, NULL, CALLER));
}

API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphInstantiateParams *params) {
    ENTER();
    REQUIRE(params, cudaErrorInvalidValue);
    params->errNode_out = NULL;
    cudaError_t error = instantiate(exec, graph, params->flags, &params->errNode_out, CALLER);
    params->result_out = error == cudaSuccess    ? cudaGraphInstantiateSuccess
                         : params->errNode_out ? cudaGraphInstantiateInvalidStructure : cudaGraphInstantiateError;
    return lw_return(error);
}
SECOND_NAME(cudaGraphInstantiateWithParams, _ptsz)

API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
    ENTER();
    REQUIRE(flags && lw_instance_of(exec), cudaErrorInvalidValue);
    *flags = lw_instance_of(exec)->flags;
    return cudaSuccess;
}

API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    ENTER();
    REQUIRE(lw_instance_of(exec), cudaErrorInvalidValue);
    delete_instance(lw_instance_of(exec));
    lw_delete_handle((Handle *)exec);
    return cudaSuccess;
}

API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER_STREAM(stream);
    return lw_return(lw_instance_of(exec) ? cudaSuccess : cudaErrorInvalidValue);
}
SECOND_NAME(cudaGraphUpload, _ptsz)

API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER_STREAM(stream);
    Instance *instance = lw_instance_of(exec);
    REQUIRE(instance, cudaErrorInvalidValue);
    if (!lw_capturing(stream)) return lw_return(lw_do_graph(instance->graph, stream));
    Work work = {.type = cudaGraphNodeTypeGraph, .graph = lw_clone_graph(instance->graph)};
    REQUIRE(work.graph, cudaErrorMemoryAllocation);
    return lw_return(lw_issue(&work, stream));
}
SECOND_NAME(cudaGraphLaunch, _ptsz)

API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t handle, unsigned enabled) {
    ENTER();
    Node *node = instance_node(exec, handle);
    REQUIRE(node && (node->work.type == cudaGraphNodeTypeKernel || node->work.type == cudaGraphNodeTypeMemcpy ||
                     node->work.type == cudaGraphNodeTypeMemset), cudaErrorInvalidValue);
    node->disabled = !enabled;
    return cudaSuccess;
}

API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t handle, unsigned *enabled) {
    ENTER();
    Node *node = instance_node(exec, handle);
    REQUIRE(node && enabled, cudaErrorInvalidValue);
    *enabled = !node->disabled;
    return cudaSuccess;
}

/* --- updates */
static size_t place_of(const Graph *graph, const Handle *node) {
    size_t i = 0;
    while (i < graph->count && graph->nodes[i].handle != node) i++;
    return i;
}

static bool same_edges(const Graph *a, const Node *x, const Graph *b, const Node *y) {
    bool same = x->after_count == y->after_count;
    for (size_t i = 0; same && i < x->after_count; i++) {
        bool found = false;
        for (size_t k = 0; k < y->after_count; k++)
            found |= place_of(a, x->after[i]) == place_of(b, y->after[k]);
        same = found;
    }
    return same;
}

static enum cudaGraphExecUpdateResult compare(const Graph *old, const Graph *new, Handle **wrong) {
    *wrong = NULL;
    if (old->count != new->count) return cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; i < new->count; i++) {
        const Node *a = &old->nodes[i], *b = &new->nodes[i];
        *wrong = b->origin;
        if (a->work.type != b->work.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
        if (!same_edges(old, a, new, b)) return cudaGraphExecUpdateErrorTopologyChanged;
    }
    *wrong = NULL;
    return cudaGraphExecUpdateSuccess;
}

API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    ENTER();
    Instance *old = lw_instance_of(exec);
    Graph *new = lw_graph_of(graph) ? lw_ordered_copy(lw_graph_of(graph), NULL) : NULL;
    REQUIRE(old && new, cudaErrorInvalidValue);
    Handle *wrong;
    enum cudaGraphExecUpdateResult result = compare(old->graph, new, &wrong);
    if (info) {
        memset(info, 0, sizeof *info);
        info->result = result;
        info->errorNode = (cudaGraphNode_t)wrong;
    }
    if (result != cudaGraphExecUpdateSuccess) {
        lw_delete_graph(new);
        return lw_return(cudaErrorGraphExecUpdateFailure);
    }
    /* The nodes keep the names that the first graph gave them. */
    for (size_t i = 0; i < new->count; i++) {
        new->nodes[i].origin = old->graph->nodes[i].origin;
        new->nodes[i].disabled = old->graph->nodes[i].disabled;
    }
    lw_delete_graph(old->graph);
    old->graph = new;
    return cudaSuccess;
}
