/* Loops that arrays cannot say: one edge, one neighbour, one path at a time.

   `_native.py` calls them, and says in NumPy and SciPy what each computes. They hold no
   state, touch no Python object and run without Python's lock, so blocks of rows run in
   threads. Buffers come in whole; their types and sizes are `_native.py`'s promise. */

#include "_loops.h"

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

static void paths_from(int32_t source, int32_t n, const int32_t *indptr,
                       const int32_t *indices, const double *lengths, Heap *heap,
                       double *found)
{
    for (int32_t i = 0; i < n; i++) {
        found[i] = INFINITY;
        heap->place[i] = -1;
    }
    found[source] = 0.0;
    heap->size = 1;
    heap->entries[0].key = 0.0;
    heap->entries[0].node = source;
    heap->place[source] = 0;
    while (heap->size > 0) {
        Entry nearest = pop(heap);
        int32_t start = indptr[nearest.node], stop = indptr[nearest.node + 1];
        /* Asked for together, and not each when the branch before it is decided. */
        for (int32_t e = start; e < stop; e++)
            __builtin_prefetch(found + indices[e]);
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
}

static PyObject *shortest_paths(PyObject *self, PyObject *args)
{
    Py_buffer indptr, indices, lengths, sources, found;
    Heap heap;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", &indptr, &indices, &lengths, &sources,
                          &found))
        return NULL;
    int32_t n = (int32_t)(indptr.len / sizeof(int32_t)) - 1;
    Py_ssize_t n_sources = sources.len / sizeof(int32_t);
    heap.entries = malloc(sizeof(Entry) * ((size_t)n + 1));
    heap.place = malloc(sizeof(int32_t) * ((size_t)n + 1));
    int room = heap.entries != NULL && heap.place != NULL;
    if (room) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t s = 0; s < n_sources; s++)
            paths_from(((int32_t *)sources.buf)[s], n, indptr.buf, indices.buf,
                       lengths.buf, &heap, (double *)found.buf + s * n);
        Py_END_ALLOW_THREADS
    }
    free(heap.entries);
    free(heap.place);
    PyBuffer_Release(&indptr);
    PyBuffer_Release(&indices);
    PyBuffer_Release(&lengths);
    PyBuffer_Release(&sources);
    PyBuffer_Release(&found);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

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

static PyObject *invert_packed(PyObject *self, PyObject *args)
{
    Py_buffer matrices, inverses;
    Py_ssize_t m;
    if (!PyArg_ParseTuple(args, "y*w*n", &matrices, &inverses, &m))
        return NULL;
    Py_ssize_t packed = m * (m + 1) / 2;
    Py_ssize_t n = matrices.len / (Py_ssize_t)sizeof(double) / packed;
    const double *in = matrices.buf;
    double *out = inverses.buf;
    Doubles *eight = malloc(sizeof(Doubles) * (size_t)packed);
    if (eight != NULL) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t first = 0; first < n; first += N_DOUBLES) {
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
        Py_END_ALLOW_THREADS
    }
    int room = eight != NULL;
    free(eight);
    PyBuffer_Release(&matrices);
    PyBuffer_Release(&inverses);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ---- Squared distances of listed pairs, without a copy of their rows --------------- */

#define GAPS_AHEAD 8 /* pairs: their rows lie all over memory */

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

static PyObject *squared_gaps(PyObject *self, PyObject *args)
{
    Py_buffer left, right, row, column, out;
    Py_ssize_t m;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*n", &left, &right, &row, &column, &out, &m))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    square_gaps(left.buf, right.buf, row.buf, column.buf, out.buf,
                row.len / (Py_ssize_t)sizeof(int64_t), m);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&left);
    PyBuffer_Release(&right);
    PyBuffer_Release(&row);
    PyBuffer_Release(&column);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"shortest_paths", shortest_paths, METH_VARARGS, "Paths from some samples."},
    {"sparse_times", sparse_times, METH_VARARGS, "S V, in some rows."},
    {"recur", recur, METH_VARARGS, "S V a + V b + U c + R d into U, in some rows."},
    {"orthogonalize", orthogonalize, METH_VARARGS, "Orthogonal columns, in place."},
    {"take_out", take_out, METH_VARARGS, "What a vector has in common with rows."},
    {"multiply", multiply, METH_VARARGS, "The product of two matrices."},
    {"symmetric_times", symmetric_times, METH_VARARGS, "A matrix times a vector."},
    {"invert_packed", invert_packed, METH_VARARGS, "Inverses of packed matrices."},
    {"kl_of_factored_pairs", kl_of_factored_pairs, METH_VARARGS,
     "KL of listed pairs of patches that have factors."},
    {"kl_of_pairs", kl_of_pairs, METH_VARARGS, "Symmetrised KL of listed pairs."},
    {"squared_gaps", squared_gaps, METH_VARARGS, "Squared distances of pairs."},
    {"search_cells", search_cells, METH_VARARGS, "Nearest samples in near cells."},
    {"moments_of_patches", moments_of_patches, METH_VARARGS, "Means, covariances."},
    {"packed_products", packed_products, METH_VARARGS, "Covariances of factors."},
    {"principal_directions", principal_directions, METH_VARARGS, "Of small matrices."},
    {"turns_of_pairs", turns_of_pairs, METH_VARARGS, "Curvatures of listed pairs."},
    {"all_squared_gaps", all_squared_gaps, METH_VARARGS, "Squared distances to all."},
    {"keys_of_rows", keys_of_rows, METH_VARARGS, "Numbers and places as keys."},
    {"read_keys", read_keys, METH_VARARGS, "What the first of sorted keys say."},
    {"unite_relations", unite_relations, METH_VARARGS, "Edges of most pairs."},
    {"unite_neighbors", unite_neighbors, METH_VARARGS, "Edges of few pairs."},
    {"mirror_edges", mirror_edges, METH_VARARGS, "Edges as a symmetric matrix."},
    {"subtract_from_degrees", subtract_from_degrees, METH_VARARGS, "Laplacian."},
    {"reorder_rows", reorder_rows, METH_VARARGS, "Rows and columns in an order."},
    {"label_pieces", label_pieces, METH_VARARGS, "Connected pieces, numbered."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_loops", "Inner loops; see _native.py.", 0, methods,
};

PyMODINIT_FUNC PyInit__loops(void)
{
    PyObject *loops = PyModule_Create(&module);
    if (loops != NULL && PyModule_AddIntConstant(loops, "LAYOUT", 15) < 0)
        Py_CLEAR(loops);
    return loops;
}
