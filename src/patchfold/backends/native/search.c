/* The nearest samples in cells; see loops.h and neighbors.py. */

#include "loops.h"

/* ---- The nearest so far ------------------------------------------------------------ */

/* The k nearest so far and those met since that may be nearer, in no order. Squared
   distances are kept as the integers that their bits are, which have the same order.
   A heap would hold k only, but by branches that cannot be foreseen. */
typedef struct {
    int32_t *squared, *place;
    int32_t k, count;
    float limit; /* who is not below is not among the k nearest */
} Near;

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
    for (int32_t j = kept - 1; equals > 0 && j >= 0; j--)
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

#define SLICE 4096 /* groups between looks for a signal */

typedef struct {
    Call *call;
    const double *queries, *middles; /* middles of cells: each is measured from its own */
    const float *groups, *centers;
    const int64_t *starts; /* of cells, in groups */
    const int32_t *homes, *near; /* cells of queries, and which cells are near to a cell */
    Py_ssize_t m, n_cells, n_near, n_probes, k; /* none are near: all are */
    Py_ssize_t listed_for;       /* the cell for which `listed` holds the near centers */
    float *listed;               /* scratch */
    float *margins;              /* of queries: see `choose_cells` */
    float *local;                /* scratch: queries from the middle of a cell */
    uint64_t *first_of, *others; /* scratch: who looks into each cell, first or later,
                                    `WORDS` for each cell */
    Near probed, kept[TOGETHER];
} Search;

/* Have the listed queries look into a cell. */
static Outcome scan_cell(Search *s, const double *queries, Py_ssize_t cell,
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
    for (Py_ssize_t g = 0; count && g < n_groups; g += SLICE) {
        if (is_interrupted(s->call))
            return INTERRUPTED;
        scan(s->kept, s->local, who, count, s->groups + (first + g) * s->m * N_FLOATS,
             n_groups - g < SLICE ? n_groups - g : SLICE, s->m,
             (int32_t)((first + g) * N_FLOATS));
    }
    return DONE;
}

static Py_ssize_t groups_of(Py_ssize_t count)
{
    return (count + N_FLOATS - 1) / N_FLOATS;
}

/* Gather the centers near to a cell into groups; what fills the last is infinite. */
static Outcome list_near(Search *s, Py_ssize_t cell)
{
    const int32_t *near = s->near + cell * s->n_near;
    for (Py_ssize_t j = 0; j < s->n_near; j++)
        if (near[j] < 0 || near[j] >= s->n_cells)
            return refuse(s->call, BAD_INDEX, "near holds a cell that is not there");
    s->listed_for = cell;
    for (Py_ssize_t j = 0; j < groups_of(s->n_near) * N_FLOATS; j++) {
        float *to = s->listed + j / N_FLOATS * s->m * N_FLOATS + j % N_FLOATS;
        Py_ssize_t from = j < s->n_near ? near[j] : 0;
        const float *center = s->centers + from / N_FLOATS * s->m * N_FLOATS;
        for (Py_ssize_t f = 0; f < s->m; f++)
            to[f * N_FLOATS] =
                j < s->n_near ? center[f * N_FLOATS + from % N_FLOATS] : INFINITY;
    }
    return DONE;
}

/* Find the cells that a query looks into, and the nearest of them: what that holds
   bounds the search of the others. The margin of the query is how much farther the last
   of these cells is than the first, in squared distances. */
static Outcome choose_cells(Search *s, Py_ssize_t query, int q)
{
    int only = 0;
    const float *centers = s->centers;
    const int32_t *near = NULL;
    if (s->n_near) {
        if (s->homes[query] != s->listed_for && list_near(s, s->homes[query]) != DONE)
            return BAD_INDEX;
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
    int32_t nearest = -1, least = INT32_MAX, most = 0;
    for (int32_t j = 0; j < s->probed.count; j++) {
        int32_t place = s->probed.place[j];
        if (place >= (near ? s->n_near : s->n_cells))
            return refuse(s->call, BAD_VALUE, "centers has more than there are cells");
        int32_t cell = near ? near[place] : place;
        s->others[WORDS * cell + q / 64] |= bit;
        if (s->probed.squared[j] < least)
            nearest = cell, least = s->probed.squared[j];
        if (s->probed.squared[j] > most)
            most = s->probed.squared[j];
    }
    s->margins[query] = 0;
    if (nearest >= 0) {
        float ends[2];
        memcpy(ends, &least, sizeof least);
        memcpy(ends + 1, &most, sizeof most);
        s->margins[query] = ends[1] - ends[0];
        s->others[WORDS * nearest + q / 64] ^= bit;
        s->first_of[WORDS * nearest + q / 64] |= bit;
    }
    return DONE;
}

/* Have queries look into their cells, each into the nearest one first. */
static Outcome look_into_cells(Search *s, const double *queries)
{
    Outcome outcome = DONE;
    for (int later = 0; later < 2; later++) {
        const uint64_t *probed = later ? s->others : s->first_of;
        for (Py_ssize_t c = 0; c < s->n_cells && outcome == DONE; c++)
            outcome = scan_cell(s, queries, c, probed + WORDS * c);
    }
    return outcome;
}

static Outcome search_some(Search *s, Py_ssize_t first, int count)
{
    size_t bytes = WORDS * sizeof(uint64_t) * (size_t)s->n_cells;
    int all = s->n_probes >= s->n_cells;
    Outcome outcome = DONE;
    memset(s->first_of, 0, bytes);
    memset(s->others, 0, bytes);
    for (int q = 0; q < count && outcome == DONE; q++) {
        empty(s->kept + q);
        if (!all)
            outcome = choose_cells(s, first + q, q);
        else
            s->margins[first + q] = INFINITY;
        for (Py_ssize_t c = 0; all && c < s->n_cells; c++)
            s->others[WORDS * c + q / 64] |= (uint64_t)1 << q % 64;
    }
    return outcome == DONE ? look_into_cells(s, s->queries + first * s->m) : outcome;
}

/* ---- The call ----------------------------------------------------------------------- */

static Outcome check_cells(Call *call, const Search *s)
{
    Py_ssize_t n_groups = SIZE('g');
    int ascend = s->starts[0] >= 0 && s->starts[s->n_cells] <= n_groups;
    for (Py_ssize_t c = 0; c < s->n_cells; c++)
        ascend &= s->starts[c] <= s->starts[c + 1];
    if (!ascend)
        return refuse(call, BAD_VALUE, "starts does not ascend within the groups");
    if (n_groups > INT32_MAX / N_FLOATS || SIZE('p') != n_groups * N_FLOATS)
        return refuse(call, BAD_VALUE, "samples does not have 16 places in every group");
    if (SIZE('h') != groups_of(s->n_cells))
        return refuse(call, BAD_VALUE, "centers does not have every cell");
    if (s->n_near && (SIZE('y') != s->n_cells || SIZE('z') != SIZE('q')))
        return refuse(call, BAD_VALUE, "near or homes has another number of rows");
    return DONE;
}

/* Have room for k of `most` at the most; returns whether there is. */
static int make_room(Call *call, Near *near, Py_ssize_t n, Py_ssize_t k, Py_ssize_t most)
{
    k = k < most ? k : most;
    int32_t *room = scratch(call, n, 2 * ROOM(k), sizeof(int32_t));
    for (Py_ssize_t q = 0; room != NULL && q < n; q++, room += 2 * ROOM(k))
        near[q] = (Near){room, room + ROOM(k), (int32_t)k, 0, INFINITY};
    return near->squared != NULL;
}

/* Write out the k nearest; where there are fewer, -1 and infinity. */
static void write_out(Near *near, const int64_t *samples, int64_t *found, float *squared,
                      Py_ssize_t k)
{
    thin(near);
    for (int32_t j = 0; j < near->count; j++)
        found[j] = samples[near->place[j]];
    memcpy(squared, near->squared, sizeof(float) * (size_t)near->count);
    for (Py_ssize_t j = near->count; j < k; j++) {
        found[j] = -1;
        squared[j] = INFINITY;
    }
}

static Outcome search(Call *call)
{
    void *const *at = call->at;
    Search s = {.call = call, .queries = at[0], .groups = at[1], .middles = at[2],
                .centers = at[3], .starts = at[4], .homes = at[6], .near = at[7],
                .m = SIZE('m'), .n_cells = SIZE('c'), .n_near = SIZE('s'),
                .n_probes = SIZE('l'), .k = SIZE('k'), .margins = at[10],
                .listed_for = -1};
    Outcome outcome = check_cells(call, &s);
    if (outcome != DONE)
        return outcome;
    s.local = scratch(call, s.m, TOGETHER, sizeof(float));
    s.first_of = scratch(call, s.n_cells, WORDS, sizeof(uint64_t));
    s.others = scratch(call, s.n_cells, WORDS, sizeof(uint64_t));
    s.listed = scratch(call, groups_of(s.n_near) + N_GROUPS, s.m, sizeof(Floats));
    if (!make_room(call, s.kept, TOGETHER, s.k, SIZE('p')) ||
        !make_room(call, &s.probed, 1, s.n_probes, s.n_cells) || !s.local ||
        !s.first_of || !s.others || !s.listed)
        return NO_MEMORY;
    int64_t *found = at[8];
    float *squared = at[9];
    for (Py_ssize_t first = 0; first < SIZE('q') && outcome == DONE; first += TOGETHER) {
        int count = SIZE('q') - first < TOGETHER ? (int)(SIZE('q') - first) : TOGETHER;
        outcome = search_some(&s, first, count);
        for (int q = 0; q < count; q++, found += s.k, squared += s.k)
            write_out(s.kept + q, at[5], found, squared, s.k);
    }
    return outcome;
}

/* There are three groups more than samples, or cells, fill: they are read as well. */
const Loop search_cells = {
    "search_cells",
    "queries:d(q,m) points:f(g+3,m,16) middles:d(c,m) centers:f(h+3,m,16) starts:l(c+1) "
    "samples:l(p) homes:i(z)<c near:i(y,s) found:L(q,k) squared:F(q,k) "
    "margins:F(q) n_probes:#l",
    search,
};
