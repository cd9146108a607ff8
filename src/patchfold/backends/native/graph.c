/* Loops over the edges of a graph; see loops.h and graph.py. */

#include "loops.h"

/* ---- Edges of a table of neighbours, and edges as rows of a sparse matrix ----------- */

#define AT_ONCE 0xFFFFF /* edges between looks for a signal, less one */
#define TILE 64
#define DENSE 8   /* a table of all pairs has at most so many entries a relation */
#define SPARSE 64 /* samples for each relation at most: they take memory too */

/* Fill a table (n, n) with who is whose neighbour, either way, above the diagonal; by
   tiles, as columns are read too. */
static void fill_table(unsigned char *table, Py_ssize_t n, const int32_t *row,
                       const int32_t *column, Py_ssize_t n_relations)
{
    for (Py_ssize_t e = 0; e < n_relations; e++)
        table[(Py_ssize_t)row[e] * n + column[e]] = 1;
    for (Py_ssize_t first = 0; first < n; first += TILE)
        for (Py_ssize_t start = first; start < n; start += TILE) {
            Py_ssize_t last = first + TILE < n ? first + TILE : n;
            Py_ssize_t stop = start + TILE < n ? start + TILE : n;
            for (Py_ssize_t i = first; i < last; i++)
                for (Py_ssize_t j = start > i ? start : i + 1; j < stop; j++)
                    table[i * n + j] |= table[j * n + i];
        }
}

static Outcome unite_most(Call *call)
{
    int32_t *low = call->at[2], *high = call->at[3];
    Py_ssize_t n = SIZE('n'), count = 0;
    if (SIZE('f') <= SIZE('e'))
        return refuse(call, BAD_VALUE, "source has no room for one edge more");
    if (n > INT32_MAX || n * n / DENSE > SIZE('e'))
        return refuse(call, BAD_VALUE, "n is too large for so few relations");
    unsigned char *table = scratch(call, n, n, 1);
    if (table == NULL)
        return NO_MEMORY;
    fill_table(table, n, call->at[0], call->at[1], SIZE('e'));
    for (Py_ssize_t i = 0; i < n; i++)
        for (Py_ssize_t j = i + 1; j < n; j++) { /* no branch: it could not be foreseen */
            low[count] = (int32_t)i;
            high[count] = (int32_t)j;
            count += table[i * n + j];
        }
    call->result = count;
    return DONE;
}

/* Returns how many edges there are. There is room for one more than there are relations,
   as what is written behind the last is not an edge. */
const Loop unite_relations = {
    "unite_relations",
    "row:i(e)<n column:i(e)<n source:I(f) target:I(f) n:#n",
    unite_most,
};

#define AHEAD 32 /* edges whose rows are fetched early: they are far apart */
#define FEW 32   /* numbers that are sorted one by one */

typedef struct {
    const int32_t *row, *column; /* rows ascend */
    Py_ssize_t n, n_relations;
    int64_t *next;   /* scratch (n + 1): where the next larger neighbour is put */
    int64_t *own;    /* scratch (n): where those end that the sample asked for itself */
    int32_t *larger; /* scratch (n_relations): those of one sample after another */
} Relation;

/* Give every sample its larger neighbours, in the order of who asked: itself first.
   Returns whether no signal came. */
static int list_larger(Call *call, const Relation *g)
{
    memset(g->next, 0, sizeof(int64_t) * (size_t)(g->n + 1));
    for (Py_ssize_t e = 0; e < g->n_relations; e++) {
        int32_t i = g->row[e], j = g->column[e];
        g->next[(i < j ? i : j) + 1]++;
    }
    for (Py_ssize_t i = 0; i < g->n; i++)
        g->next[i + 1] += g->next[i];
    for (Py_ssize_t i = 0, e = 0; i < g->n; i++) {
        for (; e < g->n_relations && g->row[e] == i; e++) {
            if (e + AHEAD < g->n_relations)
                __builtin_prefetch(g->larger + g->next[g->column[e + AHEAD]], 1);
            int32_t j = g->column[e];
            g->larger[g->next[i < j ? i : j]++] = i < j ? j : (int32_t)i;
        }
        g->own[i] = g->next[i];
        if ((i & AT_ONCE) == 0 && is_interrupted(call))
            return 0;
    }
    return 1;
}

static int compare_places(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return (i > j) - (i < j);
}

static void sort_places(int32_t *place, int64_t count)
{
    if (count > FEW) {
        qsort(place, (size_t)count, sizeof(int32_t), compare_places);
        return;
    }
    for (int64_t k = 1; k < count; k++) {
        int32_t one = place[k];
        int64_t at = k;
        for (; at > 0 && place[at - 1] > one; at--)
            place[at] = place[at - 1];
        place[at] = one;
    }
}

/* Write the edges; returns how many there are. What others asked for came in order. */
static Py_ssize_t write_edges(const Relation *g, int32_t *source, int32_t *target)
{
    Py_ssize_t count = 0;
    int64_t start = 0;
    for (Py_ssize_t i = 0; i < g->n; start = g->next[i++]) {
        const int32_t *a = g->larger + start, *a_end = g->larger + g->own[i];
        const int32_t *b = a_end, *b_end = g->larger + g->next[i];
        int32_t last = -1;
        sort_places(g->larger + start, a_end - a);
        while (a < a_end || b < b_end) {
            int32_t j = b == b_end || (a < a_end && *a <= *b) ? *a++ : *b++;
            source[count] = (int32_t)i;
            target[count] = j;
            count += j != last;
            last = j;
        }
    }
    return count;
}

static Outcome unite_few(Call *call)
{
    Relation g = {call->at[0], call->at[1], SIZE('n'), SIZE('e')};
    if (SIZE('f') <= g.n_relations)
        return refuse(call, BAD_VALUE, "source has no room for one edge more");
    if (g.n > INT32_MAX || g.n / SPARSE > g.n_relations)
        return refuse(call, BAD_VALUE, "n is too large for so few relations");
    for (Py_ssize_t e = 1; e < g.n_relations; e++)
        if (g.row[e] < g.row[e - 1])
            return refuse(call, BAD_VALUE, "rows do not ascend");
    g.next = scratch(call, g.n + 1, 1, sizeof(int64_t));
    g.own = scratch(call, g.n, 1, sizeof(int64_t));
    g.larger = scratch(call, g.n_relations, 1, sizeof(int32_t));
    if (g.next == NULL || g.own == NULL || g.larger == NULL)
        return NO_MEMORY;
    if (!list_larger(call, &g))
        return INTERRUPTED;
    call->result = write_edges(&g, call->at[2], call->at[3]);
    return DONE;
}

const Loop unite_neighbors = {
    "unite_neighbors",
    "row:i(e)<n column:i(e)<n source:I(f) target:I(f) n:#n",
    unite_few,
};

typedef struct {
    const int32_t *source, *target;
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
   `next` is the entry each row has reached. Returns whether no signal came. */
static int write_entries(Call *call, const Edges *g, int32_t *next)
{
    for (Py_ssize_t e = 0; e < g->n_edges; e++) {
        if ((e & AT_ONCE) == 0 && is_interrupted(call))
            return 0;
        if (e + AHEAD < g->n_edges) {
            int32_t soon = next[g->target[e + AHEAD]];
            __builtin_prefetch(g->column + soon, 1);
            __builtin_prefetch(g->data + soon, 1);
        }
        int32_t up = next[g->target[e]]++, down = next[g->source[e]]++;
        g->column[up] = g->source[e];
        g->data[up] = g->value[e];
        g->column[down] = g->target[e];
        g->data[down] = g->value[e];
    }
    return 1;
}

static Outcome mirror(Call *call)
{
    Edges g = {call->at[0], call->at[1], call->at[2], call->at[3], call->at[4],
               call->at[5], SIZE('n'),   SIZE('e')};
    int32_t *next = scratch(call, g.n, 1, sizeof(int32_t));
    if (SIZE('f') != 2 * g.n_edges || SIZE('f') > INT32_MAX || g.n > INT32_MAX)
        return refuse(call, BAD_VALUE, "column has no room for every edge twice");
    if (next == NULL)
        return NO_MEMORY;
    count_entries(&g);
    memcpy(next, g.pointer, sizeof(int32_t) * (size_t)g.n);
    return write_entries(call, &g, next) ? DONE : INTERRUPTED;
}

const Loop mirror_edges = {
    "mirror_edges",
    "source:i(e)<n target:i(e)<n value:d(e) pointer:I(n+1) column:I(f) data:D(f)",
    mirror,
};

/* ---- A matrix and its mirror image ---------------------------------------------------- */

typedef struct {
    const int32_t *pointer, *column;
    const double *value;
} Matrix;

/* Write the mirror image of a matrix of n rows: its rows ascend. */
static void turn(const Matrix *from, Py_ssize_t n, int32_t *pointer, int32_t *column,
                 double *value, int32_t *next)
{
    memset(pointer, 0, sizeof(int32_t) * (size_t)(n + 1));
    for (int32_t e = from->pointer[0]; e < from->pointer[n]; e++)
        pointer[from->column[e] + 1]++;
    for (Py_ssize_t i = 0; i < n; i++)
        pointer[i + 1] += pointer[i];
    memcpy(next, pointer, sizeof(int32_t) * (size_t)n);
    for (Py_ssize_t i = 0; i < n; i++)
        for (int32_t e = from->pointer[i]; e < from->pointer[i + 1]; e++) {
            int32_t at = next[from->column[e]]++;
            column[at] = (int32_t)i;
            value[at] = from->value[e];
        }
}

/* Merge the rows of two matrices into sums, or into means; returns how many entries there
   are. Those of the first may lie at the end of where entries are written. */
static Py_ssize_t merge_rows(const Matrix *a, const Matrix *b, Py_ssize_t n, int is_mean,
                             int32_t *pointer, int32_t *column, double *value)
{
    Py_ssize_t at = 0;
    pointer[0] = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t d = a->pointer[i], d_end = a->pointer[i + 1];
        int32_t e = b->pointer[i], e_end = b->pointer[i + 1];
        while (d < d_end || e < e_end) {
            int32_t left = d < d_end ? a->column[d] : INT32_MAX;
            int32_t right = e < e_end ? b->column[e] : INT32_MAX;
            int32_t next = left < right ? left : right, count = 0;
            double sum = 0;
            for (; d < d_end && a->column[d] == next; d++, count++)
                sum += a->value[d];
            for (; e < e_end && b->column[e] == next; e++, count++)
                sum += b->value[e];
            column[at] = next;
            value[at++] = is_mean ? sum / count : sum;
        }
        pointer[i + 1] = (int32_t)at;
    }
    return at;
}

static Outcome add_mirror_image(Call *call)
{
    void *const *at = call->at;
    Matrix given = {at[0], at[1], at[2]};
    Py_ssize_t n = SIZE('n'), e = SIZE('e'), f = SIZE('f');
    Outcome outcome = check_rows(call, given.pointer, given.column, 0, n, e, n);
    if (outcome != DONE)
        return outcome;
    if (f < 2 * e || f > INT32_MAX || given.pointer[0] != 0)
        return refuse(call, BAD_VALUE, "to_column has no room for every entry twice");
    int32_t *pointers = scratch(call, n + 1, 3, sizeof(int32_t));
    int32_t *columns = scratch(call, e, 1, sizeof(int32_t));
    double *values = scratch(call, e, 1, sizeof(double));
    if (pointers == NULL || columns == NULL || values == NULL)
        return NO_MEMORY;
    /* The rows in order are put at the end of the result, where nothing is written
       before it was read. */
    int32_t *last_columns = (int32_t *)at[4] + (f - e);
    double *last_values = (double *)at[5] + (f - e);
    Matrix turned = {pointers, columns, values};
    Matrix sorted = {pointers + n + 1, last_columns, last_values};
    int32_t *next = pointers + 2 * (n + 1);
    turn(&given, n, pointers, columns, values, next);
    if (is_interrupted(call))
        return INTERRUPTED;
    turn(&turned, n, pointers + n + 1, last_columns, last_values, next);
    call->result =
        merge_rows(&sorted, &turned, n, SIZE('m') != 0, at[3], at[4], at[5]);
    return DONE;
}

/* Returns how many entries the sum has, or the mean of each entry's parts. */
const Loop add_mirrored = {
    "add_mirrored",
    "pointer:i(n+1) column:i(e) data:d(e) to_pointer:I(n+1) to_column:I(f) to_data:D(f) "
    "mean:#m",
    add_mirror_image,
};

/* ---- Other orders of the samples ---------------------------------------------------- */

/* A sparse matrix with its rows in an order, and its columns where `place` says. Columns,
   or data, are left out where there is no room for any. */
static Outcome reorder(Call *call)
{
    const int32_t *start = call->at[0], *j = call->at[1], *row = call->at[3];
    const int32_t *to = call->at[4];
    const double *value = call->at[2];
    int32_t *starts = call->at[5], *columns = call->at[6];
    double *values = call->at[7];
    int has_columns = SIZE('f') > 0, has_data = SIZE('g') > 0;
    Py_ssize_t room = has_columns ? SIZE('f') : SIZE('g');
    if (has_columns && has_data && SIZE('f') != SIZE('g'))
        return refuse(call, BAD_VALUE, "to_data has not the size of to_column");
    Outcome outcome = check_rows(call, start, j, 0, SIZE('n'), SIZE('e'), SIZE('c'));
    if (outcome != DONE)
        return outcome;
    starts[0] = 0;
    for (Py_ssize_t i = 0; i < SIZE('r'); i++) {
        int32_t at = starts[i], first = start[row[i]], count = start[row[i] + 1] - first;
        if (count > room - at || room > INT32_MAX)
            return refuse(call, BAD_VALUE, "rows of the order have more entries than fit");
        for (int32_t e = 0; has_columns && e < count; e++)
            columns[at + e] = to[j[first + e]];
        for (int32_t e = 0; has_data && e < count; e++)
            values[at + e] = value[first + e];
        starts[i + 1] = at + count;
    }
    return DONE;
}

const Loop reorder_rows = {
    "reorder_rows",
    "pointer:i(n+1) column:i(e) data:d(e) order:i(r)<n place:i(c)<c to_pointer:I(r+1) "
    "to_column:I(f) to_data:D(g)",
    reorder,
};
