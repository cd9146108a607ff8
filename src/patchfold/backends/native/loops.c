/* Loops that arrays cannot say: one edge, one neighbour, one path at a time.

   `loops.py` calls them, and says in NumPy and SciPy what each computes. They hold no
   state, touch no Python object and run without Python's lock, so blocks of rows run in
   threads. `call.c` checks their arguments: see loops.h. */

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

/* ---- Inverses of many small symmetric matrices, eight side by side ---------------- */

/* Upper triangles, row after row, are overwritten by those of the inverses, with what
   is off the diagonal doubled. A = UᵀU, then V = U⁻¹, then VVᵀ. A matrix that is not
   positive definite ends in NaN. */
EVERY_PROCESSOR
static void invert_eight(Doubles *a, Py_ssize_t m)
{
#define AT(i, j) a[(i) * (2 * m - (i) - 1) / 2 + (j)]
    for (Py_ssize_t i = 0; i < m; i++) {
        Doubles pivot = AT(i, i);
        for (int l = 0; l < N_DOUBLES; l++)
            pivot[l] = pivot[l] > 0 ? 1 / sqrt(pivot[l]) : NAN;
        for (Py_ssize_t j = i; j < m; j++)
            AT(i, j) *= pivot;
        for (Py_ssize_t k = i + 1; k < m; k++) {
            Doubles factor = AT(i, k);
            for (Py_ssize_t j = k; j < m; j++)
                AT(k, j) -= factor * AT(i, j);
        }
        AT(i, i) = pivot; /* of V already */
    }
    for (Py_ssize_t j = 1; j < m; j++)
        for (Py_ssize_t i = 0; i < j; i++) {
            /* Row i is V up to here; column j is U from here down. */
            Doubles sum = {0};
            for (Py_ssize_t k = i; k < j; k++)
                sum += AT(i, k) * AT(k, j);
            AT(i, j) = -sum * AT(j, j);
        }
    for (Py_ssize_t i = 0; i < m; i++)
        for (Py_ssize_t j = i; j < m; j++) {
            Doubles sum = {0};
            for (Py_ssize_t k = j; k < m; k++)
                sum += AT(i, k) * AT(j, k);
            AT(i, j) = i == j ? sum : 2 * sum;
        }
#undef AT
}

static Outcome invert_all(Call *call)
{
    Py_ssize_t n = SIZE('n'), m = SIZE('m'), packed = SIZE('p');
    const double *in = call->at[0];
    double *out = call->at[1];
    Doubles *eight = scratch(call, packed, 1, sizeof(Doubles));
    if (!is_packed(packed, m))
        return refuse(call, BAD_VALUE, "matrices are not packed triangles of size m");
    if (eight == NULL)
        return NO_MEMORY;
    for (Py_ssize_t first = 0; first < n; first += N_DOUBLES) {
        if (is_interrupted(call))
            return INTERRUPTED;
        for (int l = 0; l < N_DOUBLES; l++) {
            Py_ssize_t one = first + l < n ? first + l : n - 1;
            for (Py_ssize_t k = 0; k < packed; k++)
                eight[k][l] = in[one * packed + k];
        }
        invert_eight(eight, m);
        for (int l = 0; l < N_DOUBLES && first + l < n; l++)
            for (Py_ssize_t k = 0; k < packed; k++)
                out[(first + l) * packed + k] = eight[k][l];
    }
    return DONE;
}

const Loop invert_packed = {
    "invert_packed",
    "matrices:d(n,p) inverses:D(n,p) m:#m",
    invert_all,
};

/* ---- Squared distances of listed pairs, without a copy of their rows --------------- */

#define GAPS_AHEAD 8  /* pairs: their rows lie all over memory */
#define AT_ONCE 16384 /* pairs between looks for a signal */

EVERY_PROCESSOR
static void square_gaps(const double *left, const double *right, const int64_t *row,
                        const int64_t *column, double *out, Py_ssize_t n_pairs,
                        Py_ssize_t m)
{
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        if (e + GAPS_AHEAD < n_pairs)
            fetch(right + column[e + GAPS_AHEAD] * m, m);
        const double *a = left + row[e] * m, *b = right + column[e] * m;
        Doubles sums = {0};
        double total = 0;
        Py_ssize_t k = 0;
        for (; k + N_DOUBLES <= m; k += N_DOUBLES) {
            Doubles gap = *(const Doubles *)(a + k) - *(const Doubles *)(b + k);
            sums += gap * gap;
        }
        for (; k < m; k++)
            total += (a[k] - b[k]) * (a[k] - b[k]);
        for (int l = 0; l < N_DOUBLES; l++)
            total += sums[l];
        out[e] = total;
    }
}

static Outcome square_listed_gaps(Call *call)
{
    const int64_t *row = call->at[2], *column = call->at[3];
    double *out = call->at[4];
    for (Py_ssize_t first = 0; first < SIZE('e'); first += AT_ONCE) {
        Py_ssize_t left = SIZE('e') - first;
        if (is_interrupted(call))
            return INTERRUPTED;
        square_gaps(call->at[0], call->at[1], row + first, column + first, out + first,
                    left < AT_ONCE ? left : AT_ONCE, SIZE('m'));
    }
    return DONE;
}

const Loop squared_gaps = {
    "squared_gaps",
    "left:d(p,m) right:d(q,m) row:l(e)<p column:l(e)<q out:D(e)",
    square_listed_gaps,
};

/* ---- The module --------------------------------------------------------------------- */

static const Loop *const LOOPS[] = {
    &shortest_paths,       &invert_packed,    &squared_gaps,
    &kl_of_pairs,          &kl_of_factored_pairs,
    &check_matrix,         &sparse_times,     &recur,
    &orthogonalize,
    &take_out,             &multiply,         &symmetric_times,
    &moments_of_patches,   &packed_products,  &principal_directions,
    &turns_of_pairs,       &all_squared_gaps, &keys_of_rows,
    &read_keys,            &unite_relations,  &unite_neighbors,
    &mirror_edges,         &subtract_from_degrees,
    &reorder_rows,         &label_pieces,     &search_cells,
    &hash_rows,            &calibrate,        &push_by_pairs,
    &spread,               &gather,           &move_samples,
    &stretch,              &settle_samples,
};
#define N_LOOPS (int)(sizeof LOOPS / sizeof LOOPS[0])

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_loops", "Inner loops; see loops.py.", 0, NULL,
};

/* Loops are functions of one kind, which differ by what they hold; the declaration of
   their arguments is their docstring. */
static int add_loop(PyObject *loops, const Loop *loop, PyMethodDef *method)
{
    *method = (PyMethodDef){loop->name, call_loop, METH_VARARGS, loop->declaration};
    PyObject *held = PyCapsule_New((void *)loop, NULL, NULL);
    PyObject *function = held != NULL ? PyCFunction_New(method, held) : NULL;
    int is_added =
        function != NULL && PyModule_AddObjectRef(loops, loop->name, function) == 0;
    Py_XDECREF(held);
    Py_XDECREF(function);
    return is_added;
}

PyMODINIT_FUNC PyInit__loops(void)
{
    static PyMethodDef added[N_LOOPS];
    PyObject *loops = PyModule_Create(&module);
    for (int k = 0; loops != NULL && k < N_LOOPS; k++)
        if (!add_loop(loops, LOOPS[k], added + k))
            Py_CLEAR(loops);
    if (loops != NULL && PyModule_AddIntConstant(loops, "LAYOUT", 18) < 0)
        Py_CLEAR(loops);
    return loops;
}
