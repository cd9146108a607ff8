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
    int32_t *place; /* of a node in the heap; -1: not met yet, -2: settled */
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
    heap->place[top.node] = -2;
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
        for (int32_t e = indptr[nearest.node]; e < indptr[nearest.node + 1]; e++) {
            int32_t next = indices[e];
            double reached = nearest.key + lengths[e];
            int32_t at = heap->place[next];
            if (reached < found[next] && at != -2) {
                Entry entry = {reached, next};
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

/* ---- Sparse matrix times a few vectors, and a recurrence of three terms ---------- */

EVERY_PROCESSOR
static void recur_rows(const int32_t *indptr, const int32_t *indices,
                       const double *data, const double *now, double *before,
                       Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop, double a,
                       double b, double c)
{
    const Doubles *vectors = (const Doubles *)now;
    Doubles *out = (Doubles *)before;
    for (Py_ssize_t i = start; i < stop; i++)
        for (Py_ssize_t v = 0; v < width; v++) {
            Doubles sum = {0};
            for (int32_t e = indptr[i]; e < indptr[i + 1]; e++)
                sum += data[e] * vectors[indices[e] * width + v];
            Py_ssize_t k = i * width + v;
            out[k] = a * sum + b * vectors[k] + c * out[k];
        }
}

static PyObject *recur(PyObject *self, PyObject *args)
{
    Py_buffer indptr, indices, data, now, before;
    Py_ssize_t width, start, stop;
    double a, b, c;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*nnnddd", &indptr, &indices, &data, &now,
                          &before, &width, &start, &stop, &a, &b, &c))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    recur_rows(indptr.buf, indices.buf, data.buf, now.buf, before.buf,
               width / N_DOUBLES, start, stop, a, b, c);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&indptr);
    PyBuffer_Release(&indices);
    PyBuffer_Release(&data);
    PyBuffer_Release(&now);
    PyBuffer_Release(&before);
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

/* ---- KL of listed pairs of patches, without a copy of their matrices -------------- */

EVERY_PROCESSOR
static void kl_pairs(const double *mean_l, const double *cov_l, const double *inv_l,
                     const double *mean_r, const double *cov_r, const double *inv_r,
                     const int64_t *row, const int64_t *column, double *out,
                     Py_ssize_t n_pairs, Py_ssize_t m, Py_ssize_t packed,
                     double *outer)
{
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        const double *mi = mean_l + row[e] * m, *mj = mean_r + column[e] * m;
        const double *ci = cov_l + row[e] * packed, *cj = cov_r + column[e] * packed;
        const double *pi = inv_l + row[e] * packed, *pj = inv_r + column[e] * packed;
        double *gap = outer + packed, total = 0;
        Doubles sums = {0};
        Py_ssize_t k = 0;
        for (Py_ssize_t f = 0; f < m; f++)
            gap[f] = mi[f] - mj[f];
        if (packed == m)
            for (Py_ssize_t f = 0; f < m; f++)
                outer[f] = gap[f] * gap[f];
        else
            for (Py_ssize_t f = 0; f < m; f++)
                for (Py_ssize_t g = f; g < m; g++)
                    outer[k++] = gap[f] * gap[g];
        for (k = 0; k + N_DOUBLES <= packed; k += N_DOUBLES) {
            Doubles here = *(const Doubles *)(pi + k), there = *(const Doubles *)(pj + k);
            Doubles apart = *(const Doubles *)(ci + k) - *(const Doubles *)(cj + k);
            sums += apart * (there - here);
            sums += *(const Doubles *)(outer + k) * (here + there);
        }
        for (; k < packed; k++)
            total += (ci[k] - cj[k]) * (pj[k] - pi[k]) + outer[k] * (pi[k] + pj[k]);
        for (int l = 0; l < N_DOUBLES; l++)
            total += sums[l];
        out[e] = total > 0 || isnan(total) ? total / 4 : 0.0;
    }
}

static PyObject *kl_of_pairs(PyObject *self, PyObject *args)
{
    Py_buffer part[6], row, column, out;
    Py_ssize_t m, packed;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*w*nn", &part[0], &part[1], &part[2],
                          &part[3], &part[4], &part[5], &row, &column, &out, &m,
                          &packed))
        return NULL;
    double *outer = malloc(sizeof(double) * (size_t)(packed + m + 1));
    if (outer != NULL) {
        Py_BEGIN_ALLOW_THREADS
        kl_pairs(part[0].buf, part[1].buf, part[2].buf, part[3].buf, part[4].buf,
                 part[5].buf, row.buf, column.buf, out.buf,
                 row.len / (Py_ssize_t)sizeof(int64_t), m, packed, outer);
        Py_END_ALLOW_THREADS
    }
    int room = outer != NULL;
    free(outer);
    for (int k = 0; k < 6; k++)
        PyBuffer_Release(&part[k]);
    PyBuffer_Release(&row);
    PyBuffer_Release(&column);
    PyBuffer_Release(&out);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ---- Squared distances of listed pairs, without a copy of their rows --------------- */

EVERY_PROCESSOR
static void square_gaps(const double *left, const double *right, const int64_t *row,
                        const int64_t *column, double *out, Py_ssize_t n_pairs,
                        Py_ssize_t m)
{
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
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

/* ---- Nearest samples in cells ------------------------------------------------------ */

typedef struct {
    float squared;
    int32_t place;
} Near;

/* Keep the k nearest, the farthest of them first: a heap. */
static void sink(Near *kept, int32_t k, Near entry)
{
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= k)
            break;
        if (child + 1 < k && kept[child + 1].squared > kept[child].squared)
            child++;
        if (kept[child].squared <= entry.squared)
            break;
        kept[at] = kept[child];
        at = child;
    }
    kept[at] = entry;
}

/* Squared distances of one query to groups of samples, feature after feature. Four
   groups at a time: one sum alone would wait for itself. */
EVERY_PROCESSOR
static void measure_groups(const float *query, const float *groups, Py_ssize_t n_groups,
                           Py_ssize_t m, float *squared)
{
    const Floats *features = (const Floats *)groups;
    Floats *out = (Floats *)squared;
    Py_ssize_t g = 0;
    for (; g + 4 <= n_groups; g += 4, features += 4 * m) {
        Floats sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
        for (Py_ssize_t f = 0; f < m; f++) {
            Floats gap0 = query[f] - features[f], gap1 = query[f] - features[m + f];
            Floats gap2 = query[f] - features[2 * m + f];
            Floats gap3 = query[f] - features[3 * m + f];
            sum0 += gap0 * gap0;
            sum1 += gap1 * gap1;
            sum2 += gap2 * gap2;
            sum3 += gap3 * gap3;
        }
        out[g] = sum0;
        out[g + 1] = sum1;
        out[g + 2] = sum2;
        out[g + 3] = sum3;
    }
    for (; g < n_groups; g++, features += m) {
        Floats sum = {0};
        for (Py_ssize_t f = 0; f < m; f++) {
            Floats gap = query[f] - features[f];
            sum += gap * gap;
        }
        out[g] = sum;
    }
}

/* The value that `wanted` of the numbers do not exceed; they are reordered. */
static float smallest(float *numbers, Py_ssize_t count, Py_ssize_t wanted)
{
    Py_ssize_t low = 0, high = count - 1, at = wanted - 1;
    while (low < high) {
        float pivot = numbers[low + (high - low) / 2];
        Py_ssize_t i = low, j = high;
        while (i <= j) {
            while (numbers[i] < pivot)
                i++;
            while (numbers[j] > pivot)
                j--;
            if (i <= j) {
                float other = numbers[i];
                numbers[i++] = numbers[j];
                numbers[j--] = other;
            }
        }
        if (at <= j)
            high = j;
        else if (at >= i)
            low = i;
        else
            break;
    }
    return numbers[at];
}

typedef struct {
    const double *queries, *middles; /* middles of cells: each is measured from its own */
    const float *groups, *centers;
    const int64_t *starts; /* of cells, in groups */
    Py_ssize_t m, n_cells, n_probes, k;
    float *local, *squared, *order, *reached; /* scratch */
} Search;

EVERY_PROCESSOR
static void scan(const Search *s, const double *query, Py_ssize_t cell, Near *kept)
{
    Py_ssize_t first = s->starts[cell], n_groups = s->starts[cell + 1] - first;
    const double *middle = s->middles + cell * s->m;
    for (Py_ssize_t f = 0; f < s->m; f++)
        s->local[f] = (float)(query[f] - middle[f]);
    measure_groups(s->local, s->groups + first * s->m * N_FLOATS, n_groups, s->m,
                   s->squared);
    float limit = kept[0].squared;
    for (Py_ssize_t g = 0; g < n_groups; g++) {
        const float *some = s->squared + g * N_FLOATS;
        int any = 0;
        for (int l = 0; l < N_FLOATS; l++)
            any |= some[l] < limit;
        if (!any)
            continue;
        int closer[N_FLOATS], count = 0; /* without a branch that cannot be foreseen */
        for (int l = 0; l < N_FLOATS; l++) {
            closer[count] = l;
            count += some[l] < limit;
        }
        for (int c = 0; c < count; c++)
            if (some[closer[c]] < limit) {
                Near entry = {some[closer[c]],
                              (int32_t)((first + g) * N_FLOATS + closer[c])};
                sink(kept, (int32_t)s->k, entry);
                limit = kept[0].squared;
            }
    }
}

/* The nearest cells first: what they hold bounds the search of the others. */
static void search_near(const Search *s, const double *query, Near *kept)
{
    Py_ssize_t n_groups = (s->n_cells + N_FLOATS - 1) / N_FLOATS;
    for (Py_ssize_t f = 0; f < s->m; f++)
        s->local[f] = (float)query[f];
    measure_groups(s->local, s->centers, n_groups, s->m, s->reached);
    memcpy(s->order, s->reached, sizeof(float) * (size_t)s->n_cells);
    float far = smallest(s->order, s->n_cells, s->n_probes);
    float near = smallest(s->order, s->n_probes, (s->n_probes + 7) / 8);
    for (Py_ssize_t c = 0; c < s->n_cells; c++)
        if (s->reached[c] <= near)
            scan(s, query, c, kept);
    for (Py_ssize_t c = 0; c < s->n_cells; c++)
        if (s->reached[c] > near && s->reached[c] <= far)
            scan(s, query, c, kept);
}

/* Some queries together; where all cells are searched, one cell for all of them, so
   that it is read from memory once. */
static void search_some(const Search *s, Py_ssize_t first, Py_ssize_t count, Near *kept)
{
    const double *queries = s->queries + first * s->m;
    for (Py_ssize_t j = 0; j < count * s->k; j++) {
        kept[j].squared = INFINITY;
        kept[j].place = -1;
    }
    if (s->n_probes < s->n_cells)
        for (Py_ssize_t q = 0; q < count; q++)
            search_near(s, queries + q * s->m, kept + q * s->k);
    else
        for (Py_ssize_t c = 0; c < s->n_cells; c++)
            for (Py_ssize_t q = 0; q < count; q++)
                scan(s, queries + q * s->m, c, kept + q * s->k);
}

#define TOGETHER 32

static PyObject *search_cells(PyObject *self, PyObject *args)
{
    Py_buffer queries, groups, middles, centers, starts, places, distances;
    Search s;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*nnnn", &queries, &groups, &middles,
                          &centers, &starts, &places, &distances, &s.m, &s.n_cells,
                          &s.n_probes, &s.k))
        return NULL;
    s.queries = queries.buf, s.middles = middles.buf;
    s.groups = groups.buf, s.centers = centers.buf, s.starts = starts.buf;
    Py_ssize_t largest = 1, n = queries.len / (Py_ssize_t)sizeof(double) / s.m;
    for (Py_ssize_t c = 0; c < s.n_cells; c++)
        if (s.starts[c + 1] - s.starts[c] > largest)
            largest = s.starts[c + 1] - s.starts[c];
    s.local = malloc(sizeof(float) * (size_t)s.m);
    s.squared = malloc(sizeof(float) * (size_t)largest * N_FLOATS);
    s.order = malloc(sizeof(float) * (size_t)(s.n_cells + N_FLOATS));
    s.reached = malloc(sizeof(float) * (size_t)(s.n_cells + N_FLOATS));
    Near *kept = malloc(sizeof(Near) * (size_t)s.k * TOGETHER);
    int room = s.local && s.squared && s.order && s.reached && kept;
    if (room) {
        int32_t *place = places.buf;
        float *squared = distances.buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t q = 0; q < n; q += TOGETHER) {
            Py_ssize_t count = n - q < TOGETHER ? n - q : TOGETHER;
            search_some(&s, q, count, kept);
            for (Py_ssize_t j = 0; j < count * s.k; j++) {
                *place++ = kept[j].place;
                *squared++ = kept[j].squared;
            }
        }
        Py_END_ALLOW_THREADS
    }
    free(s.local);
    free(s.squared);
    free(s.order);
    free(s.reached);
    free(kept);
    PyBuffer_Release(&queries);
    PyBuffer_Release(&groups);
    PyBuffer_Release(&middles);
    PyBuffer_Release(&centers);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&places);
    PyBuffer_Release(&distances);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"shortest_paths", shortest_paths, METH_VARARGS, "Paths from some samples."},
    {"recur", recur, METH_VARARGS, "a S V + b V + c U into U, in some rows."},
    {"invert_packed", invert_packed, METH_VARARGS, "Inverses of packed matrices."},
    {"kl_of_pairs", kl_of_pairs, METH_VARARGS, "Symmetrised KL of listed pairs."},
    {"squared_gaps", squared_gaps, METH_VARARGS, "Squared distances of pairs."},
    {"search_cells", search_cells, METH_VARARGS, "Nearest samples in near cells."},
    {"moments_of_patches", moments_of_patches, METH_VARARGS, "Means, covariances."},
    {"principal_directions", principal_directions, METH_VARARGS, "Of small matrices."},
    {"turns_of_pairs", turns_of_pairs, METH_VARARGS, "Curvatures of listed pairs."},
    {"all_squared_gaps", all_squared_gaps, METH_VARARGS, "Squared distances to all."},
    {"keys_of_rows", keys_of_rows, METH_VARARGS, "Numbers and places as keys."},
    {"read_keys", read_keys, METH_VARARGS, "What the first of sorted keys say."},
    {"unite_relations", unite_relations, METH_VARARGS, "Edges of most pairs."},
    {"mirror_edges", mirror_edges, METH_VARARGS, "Edges as a symmetric matrix."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_loops", "Inner loops; see _native.py.", 0, methods,
};

PyMODINIT_FUNC PyInit__loops(void)
{
    PyObject *loops = PyModule_Create(&module);
    if (loops != NULL && PyModule_AddIntConstant(loops, "LAYOUT", 3) < 0)
        Py_CLEAR(loops);
    return loops;
}
