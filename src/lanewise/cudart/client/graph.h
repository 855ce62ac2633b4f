/* The inside of graphs, for the files that work on it (graphs.c, graph_edges.c, graph_instances.c, graph_print.c). */
#ifndef LANEWISE_GRAPH_H
#define LANEWISE_GRAPH_H

#include "lanewise.h"

typedef struct {
    Handle *handle;    /* the node's */
    Handle *origin;    /* of a copy: the node that it is a copy of; a number only, it may be gone */
    Work work;
    Handle **after;    /* nodes that come first */
    size_t after_count;
    bool disabled;     /* of an instance: left out when launched */
} Node;

typedef struct UserObject UserObject;

struct Graph {
    Handle *handle;
    Graph *origin; /* of a clone */
    Node *nodes;
    size_t count, capacity;
    struct Holding { UserObject *object; unsigned count; } *objects; /* references that the graph owns */
    size_t object_count;
};

typedef struct {
    Graph *graph; /* a copy, its nodes in order */
    unsigned long long flags;
} Instance;

Graph *lw_graph_of(cudaGraph_t handle);
Node *lw_node_of(cudaGraphNode_t handle);
Instance *lw_instance_of(cudaGraphExec_t handle);
Graph *lw_new_graph(void);
/* Copies the nodes in an order in which each comes after what it depends on, the first added first. NULL where there is
 * no such order (*cycle: a node of the cycle), or no memory (*cycle NULL). */
Graph *lw_ordered_copy(const Graph *graph, Handle **cycle);
bool lw_hold_objects(Graph *to, const Graph *from); /* a copy has the references of its origin */
void lw_let_go_of_objects(Graph *graph);

#endif
