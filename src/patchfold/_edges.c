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

#define AHEAD 32 /* edges whose rows are fetched early: they are far apart */
#define FEW 32   /* numbers that are sorted one by one */

typedef struct {
    const int64_t *row, *column; /* rows ascend */
    Py_ssize_t n, n_relations;
    int64_t *next;   /* scratch (n + 1): where the next larger neighbour is put */
    int64_t *own;    /* scratch (n): where those end that the sample asked for itself */
    int64_t *larger; /* scratch (n_relations): those of one sample after another */
} Relation;

/* Give every sample its larger neighbours, in the order of who asked: itself first. */
static void list_larger(const Relation *g)
{
    memset(g->next, 0, sizeof(int64_t) * (size_t)(g->n + 1));
    for (Py_ssize_t e = 0; e < g->n_relations; e++) {
        int64_t i = g->row[e], j = g->column[e];
        g->next[(i < j ? i : j) + 1]++;
    }
    for (Py_ssize_t i = 0; i < g->n; i++)
        g->next[i + 1] += g->next[i];
    for (Py_ssize_t i = 0, e = 0; i < g->n; i++) {
        for (; e < g->n_relations && g->row[e] == i; e++) {
            if (e + AHEAD < g->n_relations)
                __builtin_prefetch(g->larger + g->next[g->column[e + AHEAD]], 1);
            int64_t j = g->column[e];
            g->larger[g->next[i < j ? i : j]++] = i < j ? j : i;
        }
        g->own[i] = g->next[i];
    }
}

static int compare_places(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    return (i > j) - (i < j);
}

static void sort_places(int64_t *place, int64_t count)
{
    if (count > FEW) {
        qsort(place, (size_t)count, sizeof(int64_t), compare_places);
        return;
    }
    for (int64_t k = 1; k < count; k++) {
        int64_t one = place[k], at = k;
        for (; at > 0 && place[at - 1] > one; at--)
            place[at] = place[at - 1];
        place[at] = one;
    }
}

/* Write the edges; returns how many there are. What others asked for came in order. */
static Py_ssize_t write_edges(const Relation *g, int64_t *source, int64_t *target)
{
    Py_ssize_t count = 0;
    int64_t start = 0;
    for (Py_ssize_t i = 0; i < g->n; start = g->next[i++]) {
        const int64_t *a = g->larger + start, *a_end = g->larger + g->own[i];
        const int64_t *b = a_end, *b_end = g->larger + g->next[i];
        int64_t last = -1;
        sort_places(g->larger + start, a_end - a);
        while (a < a_end || b < b_end) {
            int64_t j = b == b_end || (a < a_end && *a <= *b) ? *a++ : *b++;
            source[count] = i;
            target[count] = j;
            count += j != last;
            last = j;
        }
    }
    return count;
}

/* There is room for one edge more than there are relations. */
PyObject *unite_neighbors(PyObject *self, PyObject *args)
{
    Py_buffer row, column, source, target;
    Relation g;
    if (!PyArg_ParseTuple(args, "y*y*w*w*n", &row, &column, &source, &target, &g.n))
        return NULL;
    Py_ssize_t count = 0;
    g.row = row.buf, g.column = column.buf;
    g.n_relations = row.len / (Py_ssize_t)sizeof(int64_t);
    g.next = malloc(sizeof(int64_t) * (size_t)(2 * g.n + 1 + g.n_relations));
    g.own = g.next + g.n + 1, g.larger = g.own + g.n;
    if (g.next != NULL) {
        Py_BEGIN_ALLOW_THREADS
        list_larger(&g);
        count = write_edges(&g, source.buf, target.buf);
        Py_END_ALLOW_THREADS
    }
    int room = g.next != NULL;
    free(g.next);
    PyBuffer_Release(&row);
    PyBuffer_Release(&column);
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    return room ? PyLong_FromSsize_t(count) : PyErr_NoMemory();
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

/* ---- Matrices of a graph ------------------------------------------------------------ */

/* D - W of a sparse matrix, rows ascending: what is on the diagonal of W is taken off the
   degree. There is room for one entry more in every row; returns how many there are. */
PyObject *subtract_from_degrees(PyObject *self, PyObject *args)
{
    Py_buffer pointer, column, data, degrees, to_pointer, to_column, to_data;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*w*w*", &pointer, &column, &data, &degrees,
                          &to_pointer, &to_column, &to_data))
        return NULL;
    const int32_t *start = pointer.buf, *j = column.buf;
    const double *weight = data.buf, *degree = degrees.buf;
    int32_t *starts = to_pointer.buf, *place = to_column.buf, count = 0;
    double *value = to_data.buf;
    Py_ssize_t n = degrees.len / (Py_ssize_t)sizeof(double);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t e = start[i], end = start[i + 1];
        starts[i] = count;
        for (; e < end && j[e] < i; e++, count++)
            place[count] = j[e], value[count] = -weight[e];
        place[count] = (int32_t)i, value[count] = degree[i];
        for (; e < end && j[e] == i; e++)
            value[count] -= weight[e];
        for (count++; e < end; e++, count++)
            place[count] = j[e], value[count] = -weight[e];
    }
    starts[n] = count;
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&pointer);
    PyBuffer_Release(&column);
    PyBuffer_Release(&data);
    PyBuffer_Release(&degrees);
    PyBuffer_Release(&to_pointer);
    PyBuffer_Release(&to_column);
    PyBuffer_Release(&to_data);
    return PyLong_FromLong(count);
}

/* A sparse matrix with its rows in an order, and its columns where `place` says. */
PyObject *reorder_rows(PyObject *self, PyObject *args)
{
    Py_buffer pointer, column, data, order, place, to_pointer, to_column, to_data;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*w*", &pointer, &column, &data, &order,
                          &place, &to_pointer, &to_column, &to_data))
        return NULL;
    const int32_t *start = pointer.buf, *j = column.buf, *row = order.buf;
    const int32_t *to = place.buf;
    const double *value = data.buf;
    int32_t *starts = to_pointer.buf, *columns = to_column.buf;
    double *values = to_data.buf;
    Py_ssize_t n = order.len / (Py_ssize_t)sizeof(int32_t);
    starts[0] = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t at = starts[i], e = start[row[i]], end = start[row[i] + 1];
        for (; e < end; e++, at++)
            columns[at] = to[j[e]], values[at] = value[e];
        starts[i + 1] = at;
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&pointer);
    PyBuffer_Release(&column);
    PyBuffer_Release(&data);
    PyBuffer_Release(&order);
    PyBuffer_Release(&place);
    PyBuffer_Release(&to_pointer);
    PyBuffer_Release(&to_column);
    PyBuffer_Release(&to_data);
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
