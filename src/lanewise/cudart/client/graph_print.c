/* A graph in the language of Graphviz. */
#include "graph.h"

#include <stdio.h>

static const char *const names[] = {
    [cudaGraphNodeTypeKernel] = "KERNEL", [cudaGraphNodeTypeMemcpy] = "MEMCPY", [cudaGraphNodeTypeMemset] = "MEMSET",
    [cudaGraphNodeTypeHost] = "HOST", [cudaGraphNodeTypeGraph] = "GRAPH", [cudaGraphNodeTypeEmpty] = "EMPTY",
    [cudaGraphNodeTypeWaitEvent] = "WAIT_EVENT", [cudaGraphNodeTypeEventRecord] = "EVENT_RECORD",
    [cudaGraphNodeTypeMemAlloc] = "MEM_ALLOC", [cudaGraphNodeTypeMemFree] = "MEM_FREE",
};

static void print_node(FILE *file, const Node *node, unsigned number, size_t index, bool verbose) {
    const Work *work = &node->work;
    fprintf(file, "\"graph_%u_node_%zu\" [shape=\"box\" label=\"%zu\\n%s", number, index, index, names[work->type]);
    Kernel *kernel;
    if (work->type == cudaGraphNodeTypeKernel && lw_kernel(work->kernel.function, &kernel) == cudaSuccess) {
        const Shape *s = &work->kernel.shape;
        fprintf(file, "\\n%s\\n<<<(%u,%u,%u), (%u,%u,%u), %zu>>>", kernel->name, s->grid.x, s->grid.y, s->grid.z,
                s->block.x, s->block.y, s->block.z, s->shared);
    }
    if (verbose && work->type == cudaGraphNodeTypeMemcpy)
        fprintf(file, "\\n%zu x %zu x %zu bytes", work->copy.extent.width, work->copy.extent.height,
                work->copy.extent.depth);
    if (verbose && work->type == cudaGraphNodeTypeMemset)
        fprintf(file, "\\nvalue %u, %zu x %zu elements of %u bytes", work->set.params.value, work->set.params.width,
                work->set.params.height, work->set.params.elementSize);
    fprintf(file, "\"];\n");
}

/* Returns the number that the next graph gets. */
static unsigned print_graph(FILE *file, const Graph *graph, unsigned number, bool verbose) {
    unsigned next = number + 1;
    fprintf(file, "subgraph cluster_%u {\nlabel=\"graph_%u\"\n", number, number);
    for (size_t i = 0; i < graph->count; i++) print_node(file, &graph->nodes[i], number, i, verbose);
    for (size_t i = 0; i < graph->count; i++)
        for (size_t k = 0; k < graph->nodes[i].after_count; k++)
            for (size_t m = 0; m < graph->count; m++)
                if (graph->nodes[m].handle == graph->nodes[i].after[k])
                    fprintf(file, "\"graph_%u_node_%zu\" -> \"graph_%u_node_%zu\";\n", number, m, number, i);
    fprintf(file, "}\n");
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i].work.type == cudaGraphNodeTypeGraph)
            next = print_graph(file, graph->nodes[i].work.graph, next, verbose);
    return next;
}

API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags) {
    ENTER();
    REQUIRE(lw_graph_of(graph) && path, cudaErrorInvalidValue);
    FILE *file = fopen(path, "w");
    REQUIRE(file, cudaErrorOperatingSystem);
    fprintf(file, "digraph dot {\n");
    print_graph(file, lw_graph_of(graph), 1, flags != 0);
    bool good = fprintf(file, "}\n") > 0;
    good = fclose(file) == 0 && good;
    return lw_return(good ? cudaSuccess : cudaErrorOperatingSystem);
}
