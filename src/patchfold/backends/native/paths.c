/* Shortest paths in a graph; see loops.h and graph.py. */

#include "loops.h"

/* ---- Shortest paths: Dijkstra's algorithm with a heap of four children a node ---- */

typedef struct {
    double key;
    int32_t node;
} Entry;

typedef struct {
    Entry *entries;
    int32_t *place; /* of a node in the heap, while it is there; -1: not met yet */
    int32_t size;
} Heap;

static void rise(Heap *heap, int32_t at, Entry entry)
{
    while (at > 0) {
        int32_t parent = (at - 1) / 4;
        if (heap->entries[parent].key <= entry.key)
            break;
        heap->entries[at] = heap->entries[parent];
        heap->place[heap->entries[at].node] = at;
        at = parent;
    }
    heap->entries[at] = entry;
    heap->place[entry.node] = at;
}

static Entry pop(Heap *heap)
{
    Entry top = heap->entries[0];
    Entry last = heap->entries[--heap->size];
    int32_t at = 0;
    if (heap->size == 0)
        return top;
    for (;;) {
        int32_t child = 4 * at + 1, end = child + 4, least;
        if (child >= heap->size)
            break;
        if (end > heap->size)
            end = heap->size;
        least = child;
        for (int32_t c = child + 1; c < end; c++)
            if (heap->entries[c].key < heap->entries[least].key)
                least = c;
        if (heap->entries[least].key >= last.key)
            break;
        heap->entries[at] = heap->entries[least];
        heap->place[heap->entries[at].node] = at;
        at = least;
    }
    heap->entries[at] = last;
    heap->place[last.node] = at;
    return top;
}

typedef struct {
    const int32_t *indptr, *indices;
    const double *lengths;
    Py_ssize_t n;
} Graph;

#define POPPED 65536 /* nodes between looks for a signal */

static Outcome paths_from(Call *call, const Graph *graph, int32_t source, Heap *heap,
                          double *found)
{
    const int32_t *indptr = graph->indptr, *indices = graph->indices;
    const double *lengths = graph->lengths;
    for (Py_ssize_t i = 0; i < graph->n; i++) {
        found[i] = INFINITY;
        heap->place[i] = -1;
    }
    found[source] = 0.0;
    heap->size = 1;
    heap->entries[0].key = 0.0;
    heap->entries[0].node = source;
    heap->place[source] = 0;
    for (Py_ssize_t popped = 1; heap->size > 0; popped++) {
        Entry nearest = pop(heap);
        int32_t start = indptr[nearest.node], stop = indptr[nearest.node + 1];
        /* Asked for together, and not each when the branch before it is decided. */
        for (int32_t e = start; e < stop; e++)
            __builtin_prefetch(found + indices[e]);
        if (popped % POPPED == 0 && is_interrupted(call))
            return INTERRUPTED;
        if (heap->size > 0) { /* the edges of who is likely to be next */
            int32_t next = heap->entries[0].node;
            for (int32_t e = indptr[next]; e < indptr[next + 1]; e += 8) {
                __builtin_prefetch(indices + e);
                __builtin_prefetch(lengths + e);
            }
        }
        for (int32_t e = start; e < stop; e++) {
            int32_t next = indices[e];
            double reached = nearest.key + lengths[e];
            if (reached < found[next]) { /* so it is not settled: no length is < 0 */
                Entry entry = {reached, next};
                int32_t at = heap->place[next];
                found[next] = reached;
                rise(heap, at >= 0 ? at : heap->size++, entry);
            }
        }
    }
    return DONE;
}

/* Whether no length is negative or NaN: such paths would have no end. */
EVERY_PROCESSOR
static int are_lengths(const double *lengths, Py_ssize_t count)
{
    int are_all = 1;
    for (Py_ssize_t e = 0; e < count; e++)
        are_all &= lengths[e] >= 0;
    return are_all;
}

static Outcome find_paths(Call *call)
{
    Graph graph = {call->at[0], call->at[1], call->at[2], SIZE('n')};
    const int32_t *sources = call->at[3];
    double *found = call->at[4];
    Heap heap = {scratch(call, graph.n, 1, sizeof(Entry)),
                 scratch(call, graph.n, 1, sizeof(int32_t)), 0};
    if (heap.entries == NULL || heap.place == NULL)
        return NO_MEMORY;
    Outcome outcome = check_rows(call, graph.indptr, graph.indices, 0, graph.n,
                                 SIZE('e'), graph.n);
    if (outcome == DONE && !are_lengths(graph.lengths, graph.indptr[graph.n]))
        outcome = refuse(call, BAD_VALUE, "a length is not a number >= 0");
    for (Py_ssize_t s = 0; outcome == DONE && s < SIZE('s'); s++)
        outcome = is_interrupted(call) ? INTERRUPTED
                                       : paths_from(call, &graph, sources[s], &heap,
                                                    found + s * graph.n);
    return outcome;
}

const Loop shortest_paths = {
    "shortest_paths",
    "indptr:i(n+1) indices:i(e) lengths:d(e) sources:i(s)<n found:D(s,n)",
    find_paths,
};
