/* Graphs: nodes of work with dependencies, instantiated as a list in an order that keeps them, and replayed. */
#include "lanewise.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Handle *handle; /* the node's */
    Work work;
    Handle **after; /* nodes that come first */
    size_t after_count;
} Node;

struct Graph {
    Handle *handle;
    Node *nodes;
    size_t count, capacity;
};

typedef struct {
    Graph *graph; /* a copy, its nodes in order */
    Handle **origins;
    unsigned long long flags;
} Instance;

static Graph *new_graph(void) {
    Graph *graph = calloc(1, sizeof *graph);
    if (graph) graph->handle = lw_new_handle(HANDLE_GRAPH);
    if (!graph || !graph->handle) {
        free(graph);
        return NULL;
    }
    graph->handle->data = graph;
    return graph;
}

cudaGraph_t lw_graph_handle(const Graph *graph) { return (cudaGraph_t)graph->handle; }

static Graph *graph_of(cudaGraph_t handle) {
    Handle *found = lw_handle(handle, HANDLE_GRAPH);
    return found ? found->data : NULL;
}

static Node *node_of(cudaGraphNode_t handle) {
    Handle *found = lw_handle(handle, HANDLE_NODE);
    Graph *graph = found ? found->data : NULL;
    for (size_t i = 0; graph && i < graph->count; i++)
        if (graph->nodes[i].handle == found) return &graph->nodes[i];
    return NULL;
}

Work *lw_node_work(cudaGraphNode_t handle) {
    Node *node = node_of(handle);
    return node ? &node->work : NULL;
}

static bool copy_work(Work *to, const Work *from) {
    *to = *from;
    if (from->type == cudaGraphNodeTypeGraph) return (to->graph = lw_clone_graph(from->graph)) != NULL;
    if (from->type == cudaGraphNodeTypeMemAlloc) ++*to->memory.owners;
    if (from->type != cudaGraphNodeTypeKernel) return true;
    Shape shape = from->kernel.shape;
    return lw_pack_kernel(to, from->kernel.function, &shape, from->kernel.args) == cudaSuccess;
}

static cudaError_t add(Graph *graph, const Work *work, const cudaGraphNode_t *after, size_t count,
                       cudaGraphNode_t *made) {
    Work taken = *work;
    for (size_t i = 0; i < count; i++)
        if (!node_of(after[i])) {
            lw_release_work(&taken);
            return cudaErrorInvalidValue;
        }
    if (graph->count == graph->capacity) {
        size_t capacity = graph->capacity * 2 + 8;
        Node *larger = realloc(graph->nodes, capacity * sizeof *larger);
        if (!larger) return cudaErrorMemoryAllocation;
        graph->nodes = larger;
        graph->capacity = capacity;
    }
    Node *node = &graph->nodes[graph->count];
    *node = (Node){.handle = lw_new_handle(HANDLE_NODE), .work = taken, .after_count = count};
    node->after = calloc(count + 1, sizeof *node->after);
    if (!node->handle || !node->after) return cudaErrorMemoryAllocation;
    if (count) memcpy(node->after, after, count * sizeof *after);
    node->handle->data = graph;
    graph->count++;
    if (made) *made = (cudaGraphNode_t)node->handle;
    return cudaSuccess;
}

cudaError_t lw_append(Graph *graph, const Work *work) {
    cudaGraphNode_t last = graph->count ? (cudaGraphNode_t)graph->nodes[graph->count - 1].handle : NULL;
    return add(graph, work, &last, graph->count ? 1 : 0, NULL);
}

void lw_delete_graph(Graph *graph) {
    if (!graph) return;
    for (size_t i = 0; i < graph->count; i++) {
        Node *node = &graph->nodes[i];
        lw_release_work(&node->work);
        free(node->after);
        lw_delete_handle(node->handle);
    }
    lw_delete_handle(graph->handle);
    free(graph->nodes);
    free(graph);
}

/* Copies the nodes in an order in which each comes after what it depends on; the first added first. `origins` gets the
 * nodes that they are copies of. */
static Graph *ordered_copy(const Graph *graph, Handle **origins) {
    Graph *copy = new_graph();
    bool *done = calloc(graph->count + 1, 1);
    size_t left = graph->count;
    for (bool progress = true; copy && done && left && progress;) {
        progress = false;
        for (size_t i = 0; i < graph->count; i++) {
            bool ready = !done[i];
            for (size_t k = 0; ready && k < graph->nodes[i].after_count; k++)
                for (size_t m = 0; m < graph->count; m++)
                    if (graph->nodes[m].handle == graph->nodes[i].after[k] && !done[m]) ready = false;
            if (!ready) continue;
            Work work;
            if (!copy_work(&work, &graph->nodes[i].work) || add(copy, &work, NULL, 0, NULL) != cudaSuccess) break;
            if (origins) origins[copy->count - 1] = graph->nodes[i].handle;
            done[i] = progress = true;
            left--;
        }
    }
    free(done);
    if (copy && left) { /* a circle, or no memory */
        lw_delete_graph(copy);
        return NULL;
    }
    return copy;
}

Graph *lw_clone_graph(const Graph *graph) { return ordered_copy(graph, NULL); }

cudaError_t lw_do_graph(const Graph *graph, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < graph->count && error == cudaSuccess; i++) {
        lw_drain_callbacks();
        error = lw_do(&graph->nodes[i].work, stream);
    }
    return error;
}

API cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    ENTER();
    REQUIRE(graph && !flags, cudaErrorInvalidValue);
    Graph *made = new_graph();
    REQUIRE(made, cudaErrorMemoryAllocation);
    *graph = (cudaGraph_t)made->handle;
    return cudaSuccess;
}

API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    ENTER();
    REQUIRE(graph_of(graph), cudaErrorInvalidValue);
    lw_delete_graph(graph_of(graph));
    return cudaSuccess;
}

API cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
    ENTER();
    REQUIRE(clone && graph_of(graph), cudaErrorInvalidValue);
    Graph *made = lw_clone_graph(graph_of(graph));
    REQUIRE(made, cudaErrorMemoryAllocation);
    *clone = (cudaGraph_t)made->handle;
    return cudaSuccess;
}

cudaError_t lw_add_node(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const Work *work,
                        cudaGraphNode_t *made) {
    Graph *target = graph_of(graph);
    if (target && made && (after || !count)) return lw_return(add(target, work, after, count, made));
    Work unused = *work;
    lw_release_work(&unused);
    return lw_return(cudaErrorInvalidValue);
}

API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                         const cudaGraphEdgeData *edges, size_t count) {
    (void)edges;
    ENTER();
    REQUIRE(graph_of(graph), cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        Node *node = node_of(to[i]);
        REQUIRE(node && node_of(from[i]), cudaErrorInvalidValue);
        Handle **more = realloc(node->after, (node->after_count + 1) * sizeof *more);
        REQUIRE(more, cudaErrorMemoryAllocation);
        node->after = more;
        node->after[node->after_count++] = (Handle *)from[i];
    }
    return cudaSuccess;
}

API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
    ENTER();
    Node *node = node_of(handle);
    REQUIRE(node, cudaErrorInvalidValue);
    Graph *graph = node->handle->data;
    lw_release_work(&node->work);
    free(node->after);
    lw_delete_handle(node->handle);
    size_t index = (size_t)(node - graph->nodes);
    memmove(node, node + 1, (graph->count - index - 1) * sizeof *node);
    graph->count--;
    return cudaSuccess;
}

/* With `nodes` NULL only the number is given; more room than nodes is filled with NULL. */
static cudaError_t list(const Graph *graph, cudaGraphNode_t *nodes, size_t *count, bool roots) {
    if (!graph || !count) return cudaErrorInvalidValue;
    size_t found = 0;
    for (size_t i = 0; i < graph->count; i++) {
        if (roots && graph->nodes[i].after_count) continue;
        if (nodes && found < *count) nodes[found] = (cudaGraphNode_t)graph->nodes[i].handle;
        found++;
    }
    for (size_t i = found; nodes && i < *count; i++) nodes[i] = NULL;
    *count = found;
    return cudaSuccess;
}

API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    ENTER();
    return lw_return(list(graph_of(graph), nodes, count, false));
}

API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    ENTER();
    return lw_return(list(graph_of(graph), nodes, count, true));
}

API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    ENTER();
    REQUIRE(type && node_of(node), cudaErrorInvalidValue);
    *type = node_of(node)->work.type;
    return cudaSuccess;
}

/* --- instances */
static void delete_instance(Instance *instance) {
    lw_delete_graph(instance->graph);
    free(instance->origins);
    free(instance);
}

static Instance *new_instance(const Graph *graph, unsigned long long flags) {
    Instance *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->flags = flags;
    made->origins = calloc(graph->count + 1, sizeof *made->origins);
    if (made->origins) made->graph = ordered_copy(graph, made->origins);
    if (!made->graph) {
        delete_instance(made);
        return NULL;
    }
    return made;
}

static Instance *instance_of(cudaGraphExec_t handle) {
    Handle *found = lw_handle(handle, HANDLE_GRAPH_EXEC);
    return found ? found->data : NULL;
}

Work *lw_instance_work(cudaGraphExec_t exec, cudaGraphNode_t node) {
    Instance *instance = instance_of(exec);
    for (size_t i = 0; instance && i < instance->graph->count; i++)
        if (instance->origins[i] == (Handle *)node) return &instance->graph->nodes[i].work;
    return NULL;
}

API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    ENTER();
    REQUIRE(exec && graph_of(graph), cudaErrorInvalidValue);
    Instance *made = new_instance(graph_of(graph), flags);
    Handle *handle = made ? lw_new_handle(HANDLE_GRAPH_EXEC) : NULL;
    REQUIRE(handle, cudaErrorInvalidValue);
    handle->data = made;
    *exec = (cudaGraphExec_t)handle;
    return cudaSuccess;
}

API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphInstantiateParams *params) {
    REQUIRE(params, cudaErrorInvalidValue);
    cudaError_t error = cudaGraphInstantiateWithFlags(exec, graph, params->flags);
    params->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
    params->errNode_out = NULL;
    return error;
}
SECOND_NAME(cudaGraphInstantiateWithParams, _ptsz)

API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
    ENTER();
    REQUIRE(flags && instance_of(exec), cudaErrorInvalidValue);
    *flags = instance_of(exec)->flags;
    return cudaSuccess;
}

API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    ENTER();
    REQUIRE(instance_of(exec), cudaErrorInvalidValue);
    delete_instance(instance_of(exec));
    lw_delete_handle((Handle *)exec);
    return cudaSuccess;
}

API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER_STREAM(stream);
    return lw_return(instance_of(exec) ? cudaSuccess : cudaErrorInvalidValue);
}
SECOND_NAME(cudaGraphUpload, _ptsz)

API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER_STREAM(stream);
    Instance *instance = instance_of(exec);
    REQUIRE(instance, cudaErrorInvalidValue);
    if (!lw_capturing(stream)) return lw_return(lw_do_graph(instance->graph, stream));
    Work work = {.type = cudaGraphNodeTypeGraph, .graph = lw_clone_graph(instance->graph)};
    REQUIRE(work.graph, cudaErrorMemoryAllocation);
    return lw_return(lw_issue(&work, stream));
}
SECOND_NAME(cudaGraphLaunch, _ptsz)

API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    ENTER();
    Instance *old = instance_of(exec), *new = graph_of(graph) ? new_instance(graph_of(graph), 0) : NULL;
    REQUIRE(old && new, cudaErrorInvalidValue);
    bool same = old->graph->count == new->graph->count;
    for (size_t i = 0; same && i < new->graph->count; i++)
        same = old->graph->nodes[i].work.type == new->graph->nodes[i].work.type;
    if (info) {
        memset(info, 0, sizeof *info);
        info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    }
    if (!same) {
        delete_instance(new);
        return lw_return(cudaErrorGraphExecUpdateFailure);
    }
    /* The nodes keep the names that the first graph gave them. */
    Graph *swapped = old->graph;
    old->graph = new->graph;
    new->graph = swapped;
    delete_instance(new);
    return cudaSuccess;
}
