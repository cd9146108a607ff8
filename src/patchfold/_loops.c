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

/* ---- KL of listed pairs of patches, without a copy of their matrices -------------- */

#define AHEAD 1 /* pair */

static inline void fetch(const double *values, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count; k += 64 / sizeof(double))
        __builtin_prefetch(values + k);
}

EVERY_PROCESSOR
static void kl_pairs(const double *mean_l, const double *cov_l, const double *inv_l,
                     const double *mean_r, const double *cov_r, const double *inv_r,
                     const int64_t *row, const int64_t *column, double *out,
                     Py_ssize_t n_pairs, Py_ssize_t m, Py_ssize_t packed,
                     double *outer)
{
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        if (e + AHEAD < n_pairs) { /* asked for now, read from memory by then */
            fetch(cov_r + column[e + AHEAD] * packed, packed);
            fetch(inv_r + column[e + AHEAD] * packed, packed);
        }
        const double *mi = mean_l + row[e] * m, *mj = mean_r + column[e] * m;
        const double *ci = cov_l + row[e] * packed, *cj = cov_r + column[e] * packed;
        const double *pi = inv_l + row[e] * packed, *pj = inv_r + column[e] * packed;
        double *gap = outer + packed + N_DOUBLES, total = 0;
        Doubles sums = {0}, squares = {0};
        Py_ssize_t k = 0;
        for (Py_ssize_t f = 0; f < m; f++)
            gap[f] = mi[f] - mj[f];
        if (packed == m)
            for (Py_ssize_t f = 0; f < m; f++)
                outer[f] = gap[f] * gap[f];
        else /* by eights: what is beyond a row, the next one overwrites */
            for (Py_ssize_t f = 0; f < m; k += m - f++)
                for (Py_ssize_t g = f; g < m; g += N_DOUBLES)
                    *(Doubles *)(outer + k + g - f) = gap[f] * *(Doubles *)(gap + g);
        for (k = 0; k + N_DOUBLES <= packed; k += N_DOUBLES) {
            Doubles here = *(const Doubles *)(pi + k), there = *(const Doubles *)(pj + k);
            Doubles apart = *(const Doubles *)(ci + k) - *(const Doubles *)(cj + k);
            sums += apart * (there - here);
            squares += *(const Doubles *)(outer + k) * (here + there);
        }
        sums += squares;
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
    double *outer = calloc((size_t)(packed + m + 2 * N_DOUBLES), sizeof(double));
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

/* The k nearest so far and those met since that may be nearer, in no order. Squared
   distances are kept as the integers that their bits are, which have the same order.
   A heap would hold k only, but by branches that cannot be foreseen. */
typedef struct {
    int32_t *squared, *place;
    int32_t k, count;
    float limit; /* who is not below is not among the k nearest */
} Near;

typedef uint32_t Bits __attribute__((vector_size(64), aligned(4)));
typedef uint32_t HalfBits __attribute__((vector_size(32), aligned(4)));
#define N_GROUPS 4                      /* measured at once: one sum alone would wait */
#define AT_ONCE (N_GROUPS * N_FLOATS)   /* samples of theirs */
#define ROOM(k) (2 * (k) + 2 * AT_ONCE) /* before it is thinned out */

static int32_t count_up_to(const int32_t *values, int32_t count, int32_t value)
{
    int32_t found = 0;
    for (int32_t j = 0; j < count; j++)
        found += values[j] <= value;
    return found;
}

/* Keep the k nearest of all that are held, and of equals the first. */
EVERY_PROCESSOR
static void thin(Near *near)
{
    int32_t low = INT32_MAX, high = 0, held = near->count, below, kept = 0;
    if (held <= near->k)
        return;
    for (int32_t j = 0; j < held; j++) {
        low = near->squared[j] < low ? near->squared[j] : low;
        high = near->squared[j] > high ? near->squared[j] : high;
    }
    while (low < high) { /* halve: k of them are up to `high` */
        int32_t middle = low + (high - low) / 2;
        int32_t found = count_up_to(near->squared, held, middle);
        if (found < near->k)
            low = middle + 1;
        else
            high = middle;
        if (found == near->k)
            break;
    }
    below = count_up_to(near->squared, held, high);
    int32_t equals = below - near->k; /* too many of those at `high` */
    for (int32_t j = 0; j < held; j++) {
        int32_t squared = near->squared[j], place = near->place[j];
        near->squared[kept] = squared;
        near->place[kept] = place;
        kept += squared <= high;
    }
    for (int32_t j = kept - 1; equals > 0; j--)
        if (near->squared[j] == high) {
            kept--, equals--;
            memmove(near->squared + j, near->squared + j + 1,
                    sizeof(int32_t) * (size_t)(kept - j));
            memmove(near->place + j, near->place + j + 1,
                    sizeof(int32_t) * (size_t)(kept - j));
        }
    near->count = kept;
    memcpy(&near->limit, &high, sizeof high);
}

/* Which of two groups are flagged: a bit for each. */
INLINE uint32_t bits_of(Ints first, Ints second)
{
    const Bits bit = {1 << 0,  1 << 1,  1 << 2,  1 << 3,  1 << 4,  1 << 5,
                      1 << 6,  1 << 7,  1 << 8,  1 << 9,  1 << 10, 1 << 11,
                      1 << 12, 1 << 13, 1 << 14, 1 << 15};
    Bits flagged = ((Bits)first & bit) | ((Bits)second & bit << N_FLOATS);
    HalfBits left, right;
    memcpy(&left, &flagged, sizeof left);
    memcpy(&right, (const char *)&flagged + sizeof left, sizeof right);
    left |= right;
    uint64_t parts[4];
    memcpy(parts, &left, sizeof left);
    parts[0] |= parts[1] | parts[2] | parts[3];
    return (uint32_t)(parts[0] | parts[0] >> 32);
}

/* Hold those of `N_GROUPS` groups that are near enough, mostly none. */
INLINE void hold_nearest(Near *near, const Floats *squared, int32_t first)
{
    float limit = near->limit;
    uint64_t closer = bits_of(squared[2] < limit, squared[3] < limit);
    closer = closer << 32 | bits_of(squared[0] < limit, squared[1] < limit);
    if (!closer)
        return;
    for (; closer; closer &= closer - 1) {
        int which = __builtin_ctzll(closer);
        memcpy(near->squared + near->count, (const float *)squared + which, sizeof(float));
        near->place[near->count++] = first + which;
    }
    if (near->count > ROOM(near->k) - AT_ONCE)
        thin(near);
}

static void empty(Near *near)
{
    near->count = 0;
    near->limit = INFINITY;
}

/* Squared distances of one query to `N_GROUPS` groups of samples, feature by feature. */
INLINE void measure_four(const float *query, const Floats *groups, Py_ssize_t m,
                         Floats *squared)
{
    const Floats *other = groups + m, *third = other + m, *last = third + m;
    Floats sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
    for (Py_ssize_t f = 0; f < m; f++) {
        Floats gap0 = query[f] - groups[f], gap1 = query[f] - other[f];
        Floats gap2 = query[f] - third[f], gap3 = query[f] - last[f];
        sum0 += gap0 * gap0;
        sum1 += gap1 * gap1;
        sum2 += gap2 * gap2;
        sum3 += gap3 * gap3;
    }
    squared[0] = sum0;
    squared[1] = sum1;
    squared[2] = sum2;
    squared[3] = sum3;
}

/* Queries are searched for together: a group is read once for all that look into its
   cell, and stays in the nearest cache. One bit of some words tells of each. */
#define WORDS 4
#define TOGETHER (64 * WORDS)

typedef struct {
    const double *queries, *middles; /* middles of cells: each is measured from its own */
    const float *groups, *centers;
    const int64_t *starts; /* of cells, in groups */
    const int32_t *homes, *near; /* cells of queries, and which cells are near to a cell */
    Py_ssize_t m, n_cells, n_near, n_probes, k; /* none are near: all are */
    Py_ssize_t listed_for;       /* the cell for which `listed` holds the near centers */
    float *listed;               /* scratch */
    float *local;                /* scratch: queries from the middle of a cell */
    uint64_t *first_of, *others; /* scratch: who looks into each cell, first or later,
                                    `WORDS` for each cell */
    Near probed, kept[TOGETHER];
} Search;

/* Keep the nearest samples of `n_groups` groups, for each of the listed queries. What
   follows them is read too: there are `N_GROUPS - 1` more groups behind the last. */
EVERY_PROCESSOR
static void scan(Near *kept, const float *local, const int *who, int n_queries,
                 const float *groups, Py_ssize_t n_groups, Py_ssize_t m, int32_t first)
{
    const Floats *features = (const Floats *)groups;
    Floats squared[N_GROUPS];
    for (Py_ssize_t g = 0; g < n_groups; g += N_GROUPS) {
        for (int q = 0; q < n_queries; q++) {
            measure_four(local + q * m, features + g * m, m, squared);
            for (Py_ssize_t c = n_groups - g; c < N_GROUPS; c++)
                squared[c] = (Floats){0} + INFINITY;
            hold_nearest(kept + who[q], squared, first + (int32_t)g * N_FLOATS);
        }
    }
}

static void scan_cell(Search *s, const double *queries, Py_ssize_t cell,
                      const uint64_t *words)
{
    const double *middle = s->middles + cell * s->m;
    int who[TOGETHER], count = 0;
    for (int w = 0; w < WORDS; w++)
        for (uint64_t bits = words[w]; bits; bits &= bits - 1) {
            int q = 64 * w + __builtin_ctzll(bits);
            for (Py_ssize_t f = 0; f < s->m; f++)
                s->local[count * s->m + f] = (float)(queries[q * s->m + f] - middle[f]);
            who[count++] = q;
        }
    if (!count)
        return;
    Py_ssize_t first = s->starts[cell], n_groups = s->starts[cell + 1] - first;
    scan(s->kept, s->local, who, count, s->groups + first * s->m * N_FLOATS, n_groups,
         s->m, (int32_t)(first * N_FLOATS));
}

static Py_ssize_t groups_of(Py_ssize_t count)
{
    return (count + N_FLOATS - 1) / N_FLOATS;
}

/* Gather the centers near to a cell into groups; what fills the last is infinite. */
static void list_near(Search *s, Py_ssize_t cell)
{
    const int32_t *near = s->near + cell * s->n_near;
    s->listed_for = cell;
    for (Py_ssize_t j = 0; j < groups_of(s->n_near) * N_FLOATS; j++) {
        float *to = s->listed + j / N_FLOATS * s->m * N_FLOATS + j % N_FLOATS;
        Py_ssize_t from = j < s->n_near ? near[j] : 0;
        const float *center = s->centers + from / N_FLOATS * s->m * N_FLOATS;
        for (Py_ssize_t f = 0; f < s->m; f++)
            to[f * N_FLOATS] =
                j < s->n_near ? center[f * N_FLOATS + from % N_FLOATS] : INFINITY;
    }
}

/* Find the cells that a query looks into, and the nearest of them: what that holds
   bounds the search of the others. */
static void choose_cells(Search *s, Py_ssize_t query, int q)
{
    int only = 0, nearest = 0;
    const float *centers = s->centers;
    const int32_t *near = NULL;
    if (s->n_near) {
        if (s->homes[query] != s->listed_for)
            list_near(s, s->homes[query]);
        centers = s->listed;
        near = s->near + s->listed_for * s->n_near;
    }
    for (Py_ssize_t f = 0; f < s->m; f++)
        s->local[f] = (float)s->queries[query * s->m + f];
    empty(&s->probed);
    scan(&s->probed, s->local, &only, 1, centers,
         groups_of(near ? s->n_near : s->n_cells), s->m, 0);
    thin(&s->probed);
    uint64_t bit = (uint64_t)1 << q % 64;
    for (int32_t j = 0; j < s->probed.count; j++) {
        if (near)
            s->probed.place[j] = near[s->probed.place[j]];
        s->others[WORDS * s->probed.place[j] + q / 64] |= bit;
        if (s->probed.squared[j] < s->probed.squared[nearest])
            nearest = j;
    }
    if (s->probed.count) {
        s->others[WORDS * s->probed.place[nearest] + q / 64] ^= bit;
        s->first_of[WORDS * s->probed.place[nearest] + q / 64] |= bit;
    }
}

static void search_some(Search *s, Py_ssize_t first, int count)
{
    const double *queries = s->queries + first * s->m;
    size_t bytes = WORDS * sizeof(uint64_t) * (size_t)s->n_cells;
    int all = s->n_probes >= s->n_cells;
    memset(s->first_of, 0, bytes);
    memset(s->others, 0, bytes);
    for (int q = 0; q < count; q++) {
        empty(s->kept + q);
        if (!all)
            choose_cells(s, first + q, q);
    }
    for (Py_ssize_t c = 0; c < s->n_cells; c++)
        scan_cell(s, queries, c, s->first_of + WORDS * c);
    uint64_t everybody[WORDS] = {0};
    for (int q = 0; q < count; q++)
        everybody[q / 64] |= (uint64_t)1 << q % 64;
    for (Py_ssize_t c = 0; c < s->n_cells; c++)
        scan_cell(s, queries, c, all ? everybody : s->others + WORDS * c);
}

static int make_room(Near *near, Py_ssize_t k)
{
    near->k = (int32_t)k;
    near->squared = malloc(2 * sizeof(int32_t) * (size_t)ROOM(k));
    near->place = near->squared + ROOM(k);
    return near->squared != NULL;
}

/* Write out the k nearest; where there are fewer, -1 and infinity. */
static void write_out(Near *near, int32_t *place, float *squared)
{
    thin(near);
    memcpy(place, near->place, sizeof(int32_t) * (size_t)near->count);
    memcpy(squared, near->squared, sizeof(float) * (size_t)near->count);
    for (int32_t j = near->count; j < near->k; j++) {
        place[j] = -1;
        squared[j] = INFINITY;
    }
}

static PyObject *search_cells(PyObject *self, PyObject *args)
{
    Py_buffer queries, groups, middles, centers, starts, homes, near, places, distances;
    Search s;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*w*w*nnnnn", &queries, &groups, &middles,
                          &centers, &starts, &homes, &near, &places, &distances, &s.m,
                          &s.n_cells, &s.n_near, &s.n_probes, &s.k))
        return NULL;
    s.queries = queries.buf, s.middles = middles.buf;
    s.groups = groups.buf, s.centers = centers.buf, s.starts = starts.buf;
    s.homes = homes.buf, s.near = near.buf, s.listed_for = -1;
    Py_ssize_t n = queries.len / (Py_ssize_t)sizeof(double) / s.m;
    s.local = malloc(sizeof(float) * (size_t)s.m * TOGETHER);
    s.first_of = malloc(2 * WORDS * sizeof(uint64_t) * (size_t)(s.n_cells + 1));
    s.others = s.first_of + WORDS * s.n_cells;
    s.listed = calloc((size_t)(groups_of(s.n_near) + N_GROUPS) * N_FLOATS,
                      sizeof(float) * (size_t)s.m);
    int room = make_room(&s.probed, s.n_probes) && s.local && s.first_of && s.listed;
    for (int q = 0; q < TOGETHER; q++)
        room &= make_room(s.kept + q, s.k);
    if (room) {
        int32_t *place = places.buf;
        float *squared = distances.buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t first = 0; first < n; first += TOGETHER) {
            int count = n - first < TOGETHER ? (int)(n - first) : TOGETHER;
            search_some(&s, first, count);
            for (int q = 0; q < count; q++, place += s.k, squared += s.k)
                write_out(s.kept + q, place, squared);
        }
        Py_END_ALLOW_THREADS
    }
    free(s.local);
    free(s.listed);
    free(s.first_of);
    free(s.probed.squared);
    for (int q = 0; q < TOGETHER; q++)
        free(s.kept[q].squared);
    PyBuffer_Release(&queries);
    PyBuffer_Release(&groups);
    PyBuffer_Release(&middles);
    PyBuffer_Release(&centers);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&homes);
    PyBuffer_Release(&near);
    PyBuffer_Release(&places);
    PyBuffer_Release(&distances);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"shortest_paths", shortest_paths, METH_VARARGS, "Paths from some samples."},
    {"recur", recur, METH_VARARGS, "a S V + b V + c U into U, in some rows."},
    {"orthogonalize", orthogonalize, METH_VARARGS, "Orthogonal columns, in place."},
    {"take_out", take_out, METH_VARARGS, "What a vector has in common with rows."},
    {"multiply", multiply, METH_VARARGS, "The product of two matrices."},
    {"symmetric_times", symmetric_times, METH_VARARGS, "A matrix times a vector."},
    {"invert_packed", invert_packed, METH_VARARGS, "Inverses of packed matrices."},
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
    if (loops != NULL && PyModule_AddIntConstant(loops, "LAYOUT", 10) < 0)
        Py_CLEAR(loops);
    return loops;
}
