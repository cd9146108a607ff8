/* Loops over the edges of a graph; see _loops.c and _native.py. */

#include "_loops.h"

/* ---- Edges of a table of neighbours, and edges as rows of a sparse matrix ----------- */

#define TILE 64

/* Fill a table (n, n) with who is whose neighbour, either way, above the diagonal; by
   tiles, as columns are read too. */
static void fill_table(unsigned char *table, Py_ssize_t n, const int64_t *row,
                       const int64_t *column, Py_ssize_t n_relations)
{
    for (Py_ssize_t e = 0; e < n_relations; e++)
        table[row[e] * n + column[e]] = 1;
    for (Py_ssize_t first = 0; first < n; first += TILE)
        for (Py_ssize_t start = first; start < n; start += TILE) {
            Py_ssize_t last = first + TILE < n ? first + TILE : n;
            Py_ssize_t stop = start + TILE < n ? start + TILE : n;
            for (Py_ssize_t i = first; i < last; i++)
                for (Py_ssize_t j = start > i ? start : i + 1; j < stop; j++)
                    table[i * n + j] |= table[j * n + i];
        }
}

/* `table` is zeros; there is room for one edge more than there are relations. */
PyObject *unite_relations(PyObject *self, PyObject *args)
{
    Py_buffer table, row, column, source, target;
    Py_ssize_t n, count = 0;
    if (!PyArg_ParseTuple(args, "w*y*y*w*w*n", &table, &row, &column, &source, &target,
                          &n))
        return NULL;
    int64_t *low = source.buf, *high = target.buf;
    Py_BEGIN_ALLOW_THREADS
    fill_table(table.buf, n, row.buf, column.buf,
               row.len / (Py_ssize_t)sizeof(int64_t));
    for (Py_ssize_t i = 0; i < n; i++)
        for (Py_ssize_t j = i + 1; j < n; j++) { /* no branch: it could not be foreseen */
            low[count] = i;
            high[count] = j;
            count += ((unsigned char *)table.buf)[i * n + j];
        }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&table);
    PyBuffer_Release(&row);
    PyBuffer_Release(&column);
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    return PyLong_FromSsize_t(count);
}

typedef struct {
    const int64_t *source, *target;
    const double *value;
    int32_t *pointer, *column;
    double *data;
    Py_ssize_t n, n_edges;
} Edges;

/* Where each row begins. */
static void count_entries(const Edges *g)
{
    memset(g->pointer, 0, sizeof(int32_t) * (size_t)(g->n + 1));
    for (Py_ssize_t e = 0; e < g->n_edges; e++) {
        g->pointer[g->source[e] + 1]++;
        g->pointer[g->target[e] + 1]++;
    }
    for (Py_ssize_t i = 0; i < g->n; i++)
        g->pointer[i + 1] += g->pointer[i];
}

#define AHEAD 32 /* edges whose rows are fetched early: they are far apart */

/* Edges are sorted, so a row meets its smaller neighbours in order, then the larger.
   `next` is the entry each row has reached. */
static void write_entries(const Edges *g, int32_t *next)
{
    for (Py_ssize_t e = 0; e < g->n_edges; e++) {
        if (e + AHEAD < g->n_edges) {
            int32_t soon = next[g->target[e + AHEAD]];
            __builtin_prefetch(g->column + soon, 1);
            __builtin_prefetch(g->data + soon, 1);
        }
        int32_t up = next[g->target[e]]++, down = next[g->source[e]]++;
        g->column[up] = (int32_t)g->source[e];
        g->data[up] = g->value[e];
        g->column[down] = (int32_t)g->target[e];
        g->data[down] = g->value[e];
    }
}

PyObject *mirror_edges(PyObject *self, PyObject *args)
{
    Py_buffer source, target, value, pointer, column, data;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*w*", &source, &target, &value, &pointer,
                          &column, &data))
        return NULL;
    Edges g = {source.buf, target.buf, value.buf, pointer.buf, column.buf, data.buf,
               pointer.len / (Py_ssize_t)sizeof(int32_t) - 1,
               source.len / (Py_ssize_t)sizeof(int64_t)};
    int32_t *next = malloc(sizeof(int32_t) * (size_t)(g.n + 1));
    if (next != NULL) {
        Py_BEGIN_ALLOW_THREADS
        count_entries(&g);
        memcpy(next, g.pointer, sizeof(int32_t) * (size_t)g.n);
        write_entries(&g, next);
        Py_END_ALLOW_THREADS
    }
    int room = next != NULL;
    free(next);
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    PyBuffer_Release(&value);
    PyBuffer_Release(&pointer);
    PyBuffer_Release(&column);
    PyBuffer_Release(&data);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ---- Connected pieces --------------------------------------------------------------- */

/* The smallest known sample of a piece, from any: each points to one that is smaller, or
   is itself the smallest. What was passed points further down afterwards. */
INLINE int64_t first_of(int64_t *smaller, int64_t i)
{
    while (smaller[i] != i) {
        smaller[i] = smaller[smaller[i]];
        i = smaller[i];
    }
    return i;
}

/* Number the pieces by their smallest samples; returns how many there are. */
static int64_t number_pieces(const int64_t *smaller, int32_t *labels, Py_ssize_t n)
{
    int64_t count = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        labels[i] = smaller[i] == i ? (int32_t)count++ : labels[smaller[i]];
    return count;
}

PyObject *label_pieces(PyObject *self, PyObject *args)
{
    Py_buffer source, target, labels;
    if (!PyArg_ParseTuple(args, "y*y*w*", &source, &target, &labels))
        return NULL;
    const int64_t *low = source.buf, *high = target.buf;
    Py_ssize_t n = labels.len / (Py_ssize_t)sizeof(int32_t);
    Py_ssize_t n_edges = source.len / (Py_ssize_t)sizeof(int64_t);
    int64_t count = 0, *smaller = malloc(sizeof(int64_t) * (size_t)(n + 1));
    if (smaller != NULL) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < n; i++)
            smaller[i] = i;
        for (Py_ssize_t e = 0; e < n_edges; e++) {
            int64_t a = first_of(smaller, low[e]), b = first_of(smaller, high[e]);
            smaller[a > b ? a : b] = a > b ? b : a;
        }
        count = number_pieces(smaller, labels.buf, n);
        Py_END_ALLOW_THREADS
    }
    int room = smaller != NULL;
    free(smaller);
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    PyBuffer_Release(&labels);
    return room ? PyLong_FromLongLong(count) : PyErr_NoMemory();
}
