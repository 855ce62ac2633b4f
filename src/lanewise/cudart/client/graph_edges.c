/* What a graph consists of, asked for and changed: nodes, roots, dependencies. Lists are given in the way that all such
 * calls have: with the list NULL only its length is given; more room than there are entries is filled with NULL. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    cudaGraphNode_t *nodes;
    size_t room, found;
} List;

static void put(List *list, const Handle *node) {
    if (list->nodes && list->found < list->room) list->nodes[list->found] = (cudaGraphNode_t)node;
    list->found++;
}

static cudaError_t end(List *list, size_t *count) {
    for (size_t i = list->found; list->nodes && i < list->room; i++) list->nodes[i] = NULL;
    *count = list->found;
    return cudaSuccess;
}

/* Every edge here is an ordinary one. */
static void clear_edges(cudaGraphEdgeData *edges, size_t count) {
    if (edges) memset(edges, 0, count * sizeof *edges);
}

static cudaError_t list_nodes(const Graph *graph, cudaGraphNode_t *nodes, size_t *count, bool roots) {
    if (!graph || !count) return cudaErrorInvalidValue;
    List list = {nodes, *count, 0};
    for (size_t i = 0; i < graph->count; i++)
        if (!roots || !graph->nodes[i].after_count) put(&list, graph->nodes[i].handle);
    return end(&list, count);
}

API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    ENTER();
    return lw_return(list_nodes(lw_graph_of(graph), nodes, count, false));
}

API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    ENTER();
    return lw_return(list_nodes(lw_graph_of(graph), nodes, count, true));
}

API cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                  cudaGraphEdgeData *edges, size_t *count) {
    ENTER();
    Graph *graph = lw_graph_of(handle);
    REQUIRE(graph && count && !from == !to, cudaErrorInvalidValue);
    List starts = {from, *count, 0}, ends = {to, *count, 0};
    for (size_t i = 0; i < graph->count; i++)
        for (size_t k = 0; k < graph->nodes[i].after_count; k++) {
            put(&starts, graph->nodes[i].after[k]);
            put(&ends, graph->nodes[i].handle);
        }
    clear_edges(edges, *count);
    end(&starts, count);
    return end(&ends, count);
}

API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                                             size_t *count) {
    ENTER();
    Node *node = lw_node_of(handle);
    REQUIRE(node && count, cudaErrorInvalidValue);
    List list = {nodes, *count, 0};
    for (size_t i = 0; i < node->after_count; i++) put(&list, node->after[i]);
    clear_edges(edges, *count);
    return end(&list, count);
}

API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t *nodes,
                                               cudaGraphEdgeData *edges, size_t *count) {
    ENTER();
    Node *node = lw_node_of(handle);
    REQUIRE(node && count, cudaErrorInvalidValue);
    const Graph *graph = node->handle->data;
    List list = {nodes, *count, 0};
    for (size_t i = 0; i < graph->count; i++)
        for (size_t k = 0; k < graph->nodes[i].after_count; k++)
            if (graph->nodes[i].after[k] == node->handle) put(&list, graph->nodes[i].handle);
    clear_edges(edges, *count);
    return end(&list, count);
}

/* The place of an edge in the list of the node that it goes to, or -1. */
static ptrdiff_t edge_of(const Node *to, cudaGraphNode_t from) {
    for (size_t k = 0; k < to->after_count; k++)
        if (to->after[k] == (Handle *)from) return (ptrdiff_t)k;
    return -1;
}

static bool ordinary(const cudaGraphEdgeData *edges, size_t count) {
    for (size_t i = 0; edges && i < count; i++)
        if (edges[i].from_port || edges[i].to_port || edges[i].type) return false;
    return true;
}

API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                         const cudaGraphEdgeData *edges, size_t count) {
    ENTER();
    Graph *target = lw_graph_of(graph);
    REQUIRE(target && (!count || (from && to)), cudaErrorInvalidValue);
    REQUIRE(ordinary(edges, count), cudaErrorNotSupported); /* programmatic launches overlap, and nothing does here */
    for (size_t i = 0; i < count; i++) {
        Node *node = lw_node_of(to[i]), *first = lw_node_of(from[i]);
        REQUIRE(node && first && node->handle->data == target && first->handle->data == target, cudaErrorInvalidValue);
        if (node == first || edge_of(node, from[i]) >= 0)
            return lw_return(lw_refuse(cudaErrorInvalidValue, CALLER, "edge %zu %s (CUDA Runtime API, Graph Management: "
                                       "cudaGraphAddDependencies)", i, node == first ? "would make a node come after "
                                       "itself, a cycle" : "is in the graph already"));
        Handle **more = realloc(node->after, (node->after_count + 1) * sizeof *more);
        REQUIRE(more, cudaErrorMemoryAllocation);
        node->after = more;
        node->after[node->after_count++] = (Handle *)from[i];
    }
    return cudaSuccess;
}

API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                            const cudaGraphEdgeData *edges, size_t count) {
    ENTER();
    REQUIRE(lw_graph_of(graph) && (!count || (from && to)) && ordinary(edges, count), cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        Node *node = lw_node_of(to[i]);
        ptrdiff_t place = node ? edge_of(node, from[i]) : -1;
        REQUIRE(place >= 0, cudaErrorInvalidValue);
        node->after[place] = node->after[--node->after_count];
    }
    return cudaSuccess;
}

/* --- user objects: called back when the last reference to them is gone */
struct UserObject {
    cudaHostFn_t destroy;
    void *data;
    unsigned references;
};

static void let_go(UserObject *object, unsigned count) {
    if (object->references > count) {
        object->references -= count;
        return;
    }
    object->destroy(object->data);
    free(object);
}

API cudaError_t cudaUserObjectCreate(cudaUserObject_t *made, void *data, cudaHostFn_t destroy, unsigned count,
                                     unsigned flags) {
    ENTER();
    REQUIRE(made && destroy && count && flags == cudaUserObjectNoDestructorSync, cudaErrorInvalidValue);
    UserObject *object = malloc(sizeof *object);
    REQUIRE(object, cudaErrorMemoryAllocation);
    *object = (UserObject){destroy, data, count};
    *made = (cudaUserObject_t)object;
    return cudaSuccess;
}

API cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
    ENTER();
    REQUIRE(object && count, cudaErrorInvalidValue);
    ((UserObject *)object)->references += count;
    return cudaSuccess;
}

API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
    ENTER();
    REQUIRE(object && count, cudaErrorInvalidValue);
    let_go((UserObject *)object, count);
    return cudaSuccess;
}

static bool hold(Graph *graph, UserObject *object, unsigned count) {
    struct Holding *more = realloc(graph->objects, (graph->object_count + 1) * sizeof *more);
    if (!more) return false;
    graph->objects = more;
    graph->objects[graph->object_count++] = (struct Holding){object, count};
    return true;
}

API cudaError_t cudaGraphRetainUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned count, unsigned flags) {
    ENTER();
    Graph *graph = lw_graph_of(handle);
    REQUIRE(graph && object && count && flags <= cudaGraphUserObjectMove, cudaErrorInvalidValue);
    REQUIRE(hold(graph, (UserObject *)object, count), cudaErrorMemoryAllocation);
    if (flags != cudaGraphUserObjectMove) ((UserObject *)object)->references += count;
    return cudaSuccess;
}

API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned count) {
    ENTER();
    Graph *graph = lw_graph_of(handle);
    REQUIRE(graph && object && count, cudaErrorInvalidValue);
    for (size_t i = 0; i < graph->object_count; i++) {
        struct Holding *held = &graph->objects[i];
        if (held->object != (UserObject *)object || held->count < count) continue;
        held->count -= count;
        if (!held->count) *held = graph->objects[--graph->object_count];
        let_go((UserObject *)object, count);
        return cudaSuccess;
    }
    return lw_return(cudaErrorInvalidValue);
}

bool lw_hold_objects(Graph *to, const Graph *from) {
    for (size_t i = 0; i < from->object_count; i++) {
        if (!hold(to, from->objects[i].object, from->objects[i].count)) return false;
        from->objects[i].object->references += from->objects[i].count;
    }
    return true;
}

void lw_let_go_of_objects(Graph *graph) {
    for (size_t i = 0; i < graph->object_count; i++) let_go(graph->objects[i].object, graph->objects[i].count);
    free(graph->objects);
}
