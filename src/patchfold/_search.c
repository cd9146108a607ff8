/* The nearest samples in cells; see _loops.c and _native_search.py. */

#include "_loops.h"

/* ---- The nearest so far ------------------------------------------------------------ */

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
#define ENOUGH(k) (2 * (k))             /* are held before they are thinned out */
#define ROOM(k) (ENOUGH(k) + AT_ONCE)

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
    if (near->count > ENOUGH(near->k))
        thin(near);
}

static void empty(Near *near)
{
    near->count = 0;
    near->limit = INFINITY;
}

/* ---- Distances in single precision -------------------------------------------------- */

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

/* ---- The search --------------------------------------------------------------------- */

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

/* Have the listed queries look into a cell. */
static void scan_cell(Search *s, const double *queries, Py_ssize_t cell,
                      const uint64_t *words)
{
    const double *middle = s->middles + cell * s->m;
    Py_ssize_t first = s->starts[cell], n_groups = s->starts[cell + 1] - first;
    int who[TOGETHER], count = 0;
    for (int w = 0; w < WORDS; w++)
        for (uint64_t bits = words[w]; bits; bits &= bits - 1) {
            int q = 64 * w + __builtin_ctzll(bits);
            const double *query = queries + q * s->m;
            for (Py_ssize_t f = 0; f < s->m; f++)
                s->local[count * s->m + f] = (float)(query[f] - middle[f]);
            who[count++] = q;
        }
    if (count)
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

/* Have queries look into their cells, each into the nearest one first. */
static void look_into_cells(Search *s, const double *queries)
{
    for (int later = 0; later < 2; later++) {
        const uint64_t *probed = later ? s->others : s->first_of;
        for (Py_ssize_t c = 0; c < s->n_cells; c++)
            scan_cell(s, queries, c, probed + WORDS * c);
    }
}

static void search_some(Search *s, Py_ssize_t first, int count)
{
    size_t bytes = WORDS * sizeof(uint64_t) * (size_t)s->n_cells;
    int all = s->n_probes >= s->n_cells;
    memset(s->first_of, 0, bytes);
    memset(s->others, 0, bytes);
    for (int q = 0; q < count; q++) {
        empty(s->kept + q);
        if (!all)
            choose_cells(s, first + q, q);
        else
            for (Py_ssize_t c = 0; c < s->n_cells; c++)
                s->others[WORDS * c + q / 64] |= (uint64_t)1 << q % 64;
    }
    look_into_cells(s, s->queries + first * s->m);
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

PyObject *search_cells(PyObject *self, PyObject *args)
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

