/* Shortest paths from groups of sources near each other; see loops.h and graph.py. */

#include "loops.h"

/* A vertex has a length for each of the sources of a group, side by side, and an edge is
   followed for all of them at once. Vertices wait in buckets by their smallest length
   that is new; where a length falls later, the vertex waits again. Sources near each
   other have about the same order of vertices, so most wait once or twice. A length ends
   as the smallest sum over all paths, added up from the source on: as rounding keeps the
   order of sums, that is to the last bit what Dijkstra's algorithm finds.

   Where lengths are of very different size, a bucket may hold many vertices, most of
   which wait again and again. A group that takes far more work than others is left to
   Dijkstra. */

#define GROUP 16
#define BUCKETS 1024
#define PATIENT 4096 /* vertices and edges between looks for a signal */
#define MUCH 32      /* times as many as there are: the work of one group, at most */
#define NOWHERE (-1)

typedef struct {
    int32_t *next, *last;  /* of a vertex in its bucket */
    int32_t *bucket;       /* of a vertex; NOWHERE: it does not wait */
    double *key;           /* smallest new length of a vertex that waits */
    int32_t first[BUCKETS], end[BUCKETS];
    int32_t at;            /* buckets before it are empty */
    Py_ssize_t n_waiting, n, work; /* handled since a look for a signal */
    double base, per_width; /* where bucket 0 begins; buckets for a unit of length */
} Queue;

INLINE void leave(Queue *queue, int32_t vertex)
{
    int32_t bucket = queue->bucket[vertex];
    int32_t before = queue->last[vertex], after = queue->next[vertex];
    *(before >= 0 ? queue->next + before : queue->first + bucket) = after;
    *(after >= 0 ? queue->last + after : queue->end + bucket) = before;
    queue->bucket[vertex] = NOWHERE;
    queue->n_waiting--;
}

INLINE void wait_in(Queue *queue, int32_t vertex, int32_t bucket)
{
    int32_t before = queue->end[bucket];
    queue->bucket[vertex] = bucket;
    queue->next[vertex] = -1;
    queue->last[vertex] = before;
    *(before >= 0 ? queue->next + before : queue->first + bucket) = vertex;
    queue->end[bucket] = vertex;
    queue->n_waiting++;
}

/* The last bucket has all that is farther away. */
INLINE int32_t bucket_of(const Queue *queue, double key)
{
    double place = (key - queue->base) * queue->per_width;
    int32_t bucket = place < BUCKETS - 1 ? (int32_t)place : BUCKETS - 1;
    return bucket > queue->at ? bucket : queue->at;
}

/* Let a vertex wait that has a new length, or wait less if it waits already. */
INLINE void enqueue(Queue *queue, int32_t vertex, double key)
{
    int32_t now = queue->bucket[vertex];
    if (now != NOWHERE && key >= queue->key[vertex])
        return;
    queue->key[vertex] = key;
    int32_t bucket = bucket_of(queue, key);
    if (bucket == now)
        return;
    if (now != NOWHERE)
        leave(queue, vertex);
    wait_in(queue, vertex, bucket);
}

/* Only the last bucket is left: begin again at its smallest length. Its vertices are taken
   out before the first is put back, as some come into the last bucket again. */
static void rebase(Queue *queue)
{
    int32_t vertex = queue->first[BUCKETS - 1], next;
    queue->base = INFINITY;
    for (int32_t v = vertex; v >= 0; v = queue->next[v])
        queue->base = queue->key[v] < queue->base ? queue->key[v] : queue->base;
    queue->first[BUCKETS - 1] = queue->end[BUCKETS - 1] = -1;
    queue->at = 0;
    queue->work += queue->n_waiting;
    queue->n_waiting = 0;
    for (; vertex >= 0; vertex = next) {
        next = queue->next[vertex];
        wait_in(queue, vertex, bucket_of(queue, queue->key[vertex]));
    }
}

static int32_t dequeue(Queue *queue)
{
    while (queue->first[queue->at] < 0 && queue->at < BUCKETS - 1)
        queue->at++;
    if (queue->at == BUCKETS - 1)
        rebase(queue);
    while (queue->first[queue->at] < 0)
        queue->at++;
    int32_t vertex = queue->first[queue->at];
    leave(queue, vertex);
    return vertex;
}

typedef struct {
    const int32_t *indptr, *indices;
    const double *lengths;
} Graph;

/* A loop over sources that is made vectors: unrolled before, it would not be. */
#define FOR_EACH(k, count) _Pragma("GCC unroll 1") for (int k = 0; k < (count); k++)

/* Follow the edges of a vertex for all sources of the group. */
EVERY_PROCESSOR
static void follow(const Graph *graph, int32_t vertex, double *found, Queue *queue)
{
    const int32_t *indices = graph->indices;
    int32_t start = graph->indptr[vertex], stop = graph->indptr[vertex + 1];
    double here[GROUP], now[GROUP];
    queue->work += 1 + stop - start;
    FOR_EACH(k, GROUP)
        here[k] = found[(Py_ssize_t)vertex * GROUP + k];
    for (int32_t e = start; e < stop; e++)
        fetch(found + (Py_ssize_t)indices[e] * GROUP, GROUP);
    for (int32_t e = start; e < stop; e++) {
        double *there = found + (Py_ssize_t)indices[e] * GROUP;
        double length = graph->lengths[e];
        int64_t is_less = 0;
        FOR_EACH(k, GROUP)
            is_less |= here[k] + length < there[k] ? (int64_t)1 : (int64_t)0;
        if (!is_less)
            continue;
        FOR_EACH(k, GROUP) {
            double reached = here[k] + length;
            now[k] = reached < there[k] ? reached : INFINITY;
        }
        FOR_EACH(k, GROUP)
            there[k] = now[k] < there[k] ? now[k] : there[k];
        FOR_EACH(k, GROUP / 2)
            now[k] = now[k] < now[k + GROUP / 2] ? now[k] : now[k + GROUP / 2];
        FOR_EACH(k, GROUP / 4)
            now[k] = now[k] < now[k + GROUP / 4] ? now[k] : now[k + GROUP / 4];
        for (int k = 1; k < GROUP / 4; k++)
            now[0] = now[k] < now[0] ? now[k] : now[0];
        enqueue(queue, indices[e], now[0]);
    }
}

/* Search from one group; `is_left` says whether that was too much work. */
static Outcome paths_of_one(Call *call, const Graph *graph, const int32_t *sources,
                            Py_ssize_t n_sources, double *found, Queue *queue,
                            int *is_left)
{
    Py_ssize_t room = MUCH * (queue->n + graph->indptr[queue->n]);
    for (Py_ssize_t k = 0; k < queue->n * GROUP; k++)
        found[k] = INFINITY;
    queue->at = 0, queue->base = 0;
    for (Py_ssize_t k = 0; k < n_sources; k++) {
        found[(Py_ssize_t)sources[k] * GROUP + k] = 0;
        enqueue(queue, sources[k], 0);
    }
    while (queue->n_waiting > 0) {
        if (queue->work >= PATIENT) {
            room -= queue->work;
            queue->work = 0;
            if (is_interrupted(call))
                return INTERRUPTED;
            *is_left = room < 0;
            if (*is_left)
                return DONE;
        }
        follow(graph, dequeue(queue), found, queue);
    }
    return DONE;
}

#define TILE 64

/* A row for each source, from a row for each vertex. */
static void write_paths(const double *found, Py_ssize_t n, Py_ssize_t n_sources,
                        const int32_t *rows, double *lengths)
{
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t end = first + TILE < n ? first + TILE : n;
        for (Py_ssize_t k = 0; k < n_sources; k++)
            for (Py_ssize_t i = first; i < end; i++)
                lengths[rows[k] * n + i] = found[i * GROUP + k];
    }
}

static Outcome find_paths_of_groups(Call *call)
{
    Graph graph = {call->at[0], call->at[1], call->at[2]};
    const int32_t *sources = call->at[3], *rows = call->at[4];
    double *lengths = call->at[5], width = call->real;
    Py_ssize_t n = SIZE('n'), n_sources = SIZE('s');
    double *found = scratch(call, n + 1, GROUP, sizeof(double));
    Queue *queue = scratch(call, 1, 1, sizeof(Queue));
    int32_t *places = scratch(call, n, 3, sizeof(int32_t));
    double *keys = scratch(call, n, 1, sizeof(double));
    if (found == NULL || queue == NULL || places == NULL || keys == NULL)
        return NO_MEMORY;
    Outcome outcome = check_rows(call, graph.indptr, graph.indices, 0, n, SIZE('e'), n);
    for (Py_ssize_t e = 0; outcome == DONE && e < graph.indptr[n]; e++)
        if (!(graph.lengths[e] >= 0))
            outcome = refuse(call, BAD_VALUE, "a length is not a number >= 0");
    if (outcome == DONE && !(width > 0 && isfinite(width) && isfinite(1 / width)))
        outcome = refuse(call, BAD_VALUE, "width is not a number > 0");
    found += (64 - (uintptr_t)found % 64) % 64 / sizeof(double); /* a line of cache */
    queue->next = places, queue->last = places + n, queue->bucket = places + 2 * n;
    queue->key = keys, queue->n = n, queue->per_width = 1 / width;
    memset(queue->first, -1, sizeof queue->first);
    memset(queue->end, -1, sizeof queue->end);
    memset(queue->bucket, -1, n * sizeof(int32_t));
    int is_left = 0;
    for (Py_ssize_t s = 0; outcome == DONE && s < n_sources; s += GROUP) {
        Py_ssize_t count = n_sources - s < GROUP ? n_sources - s : GROUP;
        outcome = paths_of_one(call, &graph, sources + s, count, found, queue, &is_left);
        if (is_left)
            return outcome;
        if (outcome == DONE)
            write_paths(found, n, count, rows + s, lengths);
        call->result = s + count;
    }
    return outcome;
}

/* Returns of how many sources, from the first on, paths are written. */
const Loop paths_of_groups = {
    "paths_of_groups",
    "indptr:i(n+1) indices:i(e) lengths:d(e) sources:i(s)<n rows:i(s)<t found:D(t,n) "
    "width:r",
    find_paths_of_groups,
};
