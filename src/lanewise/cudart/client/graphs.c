/* Graphs: nodes of work with dependencies. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

Graph *lw_new_graph(void) {
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

Graph *lw_graph_of(cudaGraph_t handle) {
    Handle *found = lw_handle(handle, HANDLE_GRAPH);
    return found ? found->data : NULL;
}

Node *lw_node_of(cudaGraphNode_t handle) {
    Handle *found = lw_handle(handle, HANDLE_NODE);
    Graph *graph = found ? found->data : NULL;
    for (size_t i = 0; graph && i < graph->count; i++)
        if (graph->nodes[i].handle == found) return &graph->nodes[i];
    return NULL;
}

Work *lw_node_work(cudaGraphNode_t handle) {
    Node *node = lw_node_of(handle);
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

/* Whether the nodes are of the graph, each named once. */
static bool good_dependencies(const Graph *graph, const cudaGraphNode_t *after, size_t count) {
    for (size_t i = 0; i < count; i++) {
        Node *node = lw_node_of(after[i]);
        if (!node || node->handle->data != graph) return false;
        for (size_t k = 0; k < i; k++)
            if (after[k] == after[i]) return false;
    }
    return true;
}

static cudaError_t add(Graph *graph, const Work *work, const cudaGraphNode_t *after, size_t count,
                       cudaGraphNode_t *made) {
    Work taken = *work;
    if (!taken.caller) taken.caller = lw_came_from();
    if (!good_dependencies(graph, after, count)) {
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

/* What a stream captures comes after its tails: the nodes that its last work, and the events it waited for, became. */
cudaError_t lw_append(Handle *stream, const Work *work) {
    cudaGraphNode_t made;
    cudaError_t error = add(stream->capture, work, (cudaGraphNode_t *)stream->tails.nodes, stream->tails.count, &made);
    if (error != cudaSuccess) return error;
    stream->tails.count = 0;
    return lw_add_tail(&stream->tails, (Handle *)made) ? cudaSuccess : cudaErrorMemoryAllocation;
}

bool lw_add_tail(Tails *tails, Handle *node) {
    for (size_t i = 0; i < tails->count; i++)
        if (tails->nodes[i] == node) return true;
    Handle **more = realloc(tails->nodes, (tails->count + 1) * sizeof *more);
    if (!more) return false;
    tails->nodes = more;
    tails->nodes[tails->count++] = node;
    return true;
}

void lw_delete_graph(Graph *graph) {
    if (!graph) return;
    for (size_t i = 0; i < graph->count; i++) {
        Node *node = &graph->nodes[i];
        lw_release_work(&node->work);
        free(node->after);
        lw_delete_handle(node->handle);
    }
    lw_let_go_of_objects(graph);
    lw_delete_handle(graph->handle);
    free(graph->nodes);
    free(graph);
}

static Handle *copy_of(const Graph *copy, const Handle *origin) {
    for (size_t i = 0; i < copy->count; i++)
        if (copy->nodes[i].origin == origin) return copy->nodes[i].handle;
    return NULL;
}

/* Adds a copy of a node whose predecessors have been copied. False where one has not, or there is no memory. */
static bool copy_node(Graph *copy, const Node *node) {
    Handle **after = calloc(node->after_count + 1, sizeof *after);
    bool ready = after != NULL;
    for (size_t k = 0; ready && k < node->after_count; k++) ready = (after[k] = copy_of(copy, node->after[k])) != NULL;
    Work work;
    ready = ready && copy_work(&work, &node->work) &&
            add(copy, &work, (cudaGraphNode_t *)after, node->after_count, NULL) == cudaSuccess;
    free(after);
    if (ready) {
        copy->nodes[copy->count - 1].origin = node->handle;
        copy->nodes[copy->count - 1].disabled = node->disabled;
    }
    return ready;
}

Graph *lw_ordered_copy(const Graph *graph, Handle **cycle) {
    Graph *copy = lw_new_graph();
    if (cycle) *cycle = NULL;
    size_t before;
    do {
        before = copy ? copy->count : 0;
        for (size_t i = 0; copy && i < graph->count; i++)
            if (!copy_of(copy, graph->nodes[i].handle)) copy_node(copy, &graph->nodes[i]);
    } while (copy && copy->count != before);
    if (copy && copy->count == graph->count && lw_hold_objects(copy, graph)) return copy;
    for (size_t i = 0; copy && cycle && i < graph->count; i++)
        if (!copy_of(copy, graph->nodes[i].handle)) *cycle = graph->nodes[i].handle;
    lw_delete_graph(copy);
    return NULL;
}

Graph *lw_clone_graph(const Graph *graph) { return lw_ordered_copy(graph, NULL); }

/* Which nodes come before one, by their places in the graph. */
static void tell_node(const Graph *graph, const Node *node, cudaStream_t stream) {
    size_t *after = lw_follows_order() ? malloc((node->after_count + 1) * sizeof *after) : NULL;
    if (!after) return;
    for (size_t i = 0; i < node->after_count; i++)
        for (after[i] = 0; graph->nodes[after[i]].handle != node->after[i];) after[i]++;
    lw_tell_node(stream, after, node->after_count);
    free(after);
}

cudaError_t lw_do_graph(const Graph *graph, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    lw_tell_order(ORDER_GRAPH, stream, 0);
    for (size_t i = 0; i < graph->count && error == cudaSuccess; i++) {
        lw_drain_callbacks();
        tell_node(graph, &graph->nodes[i], stream);
        if (!graph->nodes[i].disabled) error = lw_do(&graph->nodes[i].work, stream);
    }
    lw_tell_order(ORDER_GRAPH_END, stream, 0);
    return error;
}

API cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    ENTER();
    REQUIRE(graph && !flags, cudaErrorInvalidValue);
    Graph *made = lw_new_graph();
    REQUIRE(made, cudaErrorMemoryAllocation);
    *graph = (cudaGraph_t)made->handle;
    return cudaSuccess;
}

API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    ENTER();
    REQUIRE(lw_graph_of(graph), cudaErrorInvalidValue);
    lw_delete_graph(lw_graph_of(graph));
    return cudaSuccess;
}

API cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
    ENTER();
    REQUIRE(clone && lw_graph_of(graph), cudaErrorInvalidValue);
    Graph *made = lw_clone_graph(lw_graph_of(graph));
    REQUIRE(made, cudaErrorInvalidValue);
    made->origin = lw_graph_of(graph);
    *clone = (cudaGraph_t)made->handle;
    return cudaSuccess;
}

API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *found, cudaGraphNode_t original, cudaGraph_t clone) {
    ENTER();
    Graph *graph = lw_graph_of(clone);
    REQUIRE(found && graph && lw_node_of(original), cudaErrorInvalidValue);
    *found = (cudaGraphNode_t)copy_of(graph, (Handle *)original);
    REQUIRE(*found, cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t lw_add_node(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const Work *work,
                        cudaGraphNode_t *made) {
    Graph *target = lw_graph_of(graph);
    if (target && made && (after || !count)) return lw_return(add(target, work, after, count, made));
    Work unused = *work;
    lw_release_work(&unused);
    return lw_return(cudaErrorInvalidValue);
}

/* Whatever came after the node comes after it no more. */
API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
    ENTER();
    Node *node = lw_node_of(handle);
    REQUIRE(node, cudaErrorInvalidValue);
    Graph *graph = node->handle->data;
    lw_release_work(&node->work);
    free(node->after);
    for (size_t i = 0; i < graph->count; i++) {
        Node *other = &graph->nodes[i];
        size_t kept = 0;
        for (size_t k = 0; other != node && k < other->after_count; k++)
            if (other->after[k] != node->handle) other->after[kept++] = other->after[k];
        if (other != node) other->after_count = kept;
    }
    lw_delete_handle(node->handle);
    size_t index = (size_t)(node - graph->nodes);
    memmove(node, node + 1, (graph->count - index - 1) * sizeof *node);
    graph->count--;
    return cudaSuccess;
}

API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    ENTER();
    REQUIRE(type && lw_node_of(node), cudaErrorInvalidValue);
    *type = lw_node_of(node)->work.type;
    return cudaSuccess;
}
