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
#define ABREAST 16 /* queries that are measured before any holds what is near */

INLINE int32_t count_up_to(const int32_t *values, int32_t count, int32_t value)
{
    int32_t found = 0;
    for (int32_t j = 0; j < count; j++)
        found += values[j] <= value;
    return found;
}

/* Find a limit up to which k values are, or at most `more` others. */
INLINE int32_t find_limit(const int32_t *values, int32_t count, int32_t k, int32_t more)
{
    int32_t low = INT32_MAX, high = 0;
    for (int32_t j = 0; j < count; j++) {
        low = values[j] < low ? values[j] : low;
        high = values[j] > high ? values[j] : high;
    }
    while (low < high) { /* halve: k of them are up to `high` */
        int32_t middle = low + (high - low) / 2;
        int32_t found = count_up_to(values, count, middle);
        if (found < k)
            low = middle + 1;
        else
            high = middle;
        if (found >= k && found <= k + more)
            break;
    }
    return high;
}

/* Keep the k nearest of all that are held, at most `more` others, and of equals the first. */
EVERY_PROCESSOR
static void thin(Near *near, int32_t more)
{
    int32_t *restrict squared = near->squared, *restrict place = near->place, kept = 0;
    if (near->count <= near->k)
        return;
    int32_t high = find_limit(squared, near->count, near->k, more);
    for (int32_t j = 0; j < near->count; j++) {
        int32_t ours = squared[j], at = place[j];
        squared[kept] = ours;
        place[kept] = at;
        kept += ours <= high;
    }
    int32_t equals = kept - near->k - more; /* too many of those at `high` */
    for (int32_t j = kept - 1; equals > 0 && j >= 0; j--)
        if (squared[j] == high) {
            kept--, equals--;
            memmove(squared + j, squared + j + 1, sizeof(int32_t) * (size_t)(kept - j));
            memmove(place + j, place + j + 1, sizeof(int32_t) * (size_t)(kept - j));
        }
    near->count = kept;
    memcpy(&near->limit, &high, sizeof high);
}

/* Hold those of `N_GROUPS` groups that are near enough. */
INLINE void hold_nearest(Near *near, const Floats *squared, int32_t first)
{
    float limit = near->limit;
    uint64_t closer = bits_of(squared[2] < limit, squared[3] < limit);
    closer = closer << 32 | bits_of(squared[0] < limit, squared[1] < limit);
    for (; closer; closer &= closer - 1) {
        int which = __builtin_ctzll(closer);
        memcpy(near->squared + near->count, (const float *)squared + which, sizeof(float));
        near->place[near->count++] = first + which;
    }
    if (near->count > ENOUGH(near->k))
        thin(near, near->k / 4); /* exactly k would take longer to find */
}

static void empty(Near *near)
{
    near->count = 0;
    near->limit = INFINITY;
}

/* ---- Distances in single precision -------------------------------------------------- */

/* Squared distances of one query to n groups of samples, feature by feature. */
INLINE void measure(const float *query, const Floats *groups, Py_ssize_t m, int n,
                    Floats *squared)
{
    Floats sums[N_GROUPS] = {{0}, {0}, {0}, {0}};
    for (Py_ssize_t f = 0; f < m; f++)
        for (int l = 0; l < n; l++) {
            Floats gap = query[f] - groups[l * m + f];
            sums[l] += gap * gap;
        }
    for (int l = 0; l < n; l++)
        squared[l] = sums[l];
}

/* Whether a squared distance to n groups is below a limit. GCC 12 would compare these
   vectors number by number; the sign of a difference of integers says the same. */
INLINE int is_any_below(const Floats *squared, float limit, int n)
{
    int32_t bits;
    memcpy(&bits, &limit, sizeof bits);
    Ints less = {0};
    for (int l = 0; l < n; l++)
        less |= (Ints)squared[l] - bits;
    return bits_in((Bits)less) >> 31;
}

/* Keep the nearest samples of n groups. Some queries are measured first, without a branch:
   one that was foreseen wrongly would have to wait for the distances. */
INLINE void scan_groups(Near *kept, const float *local, const int *who, int n_queries,
                        const Floats *groups, Py_ssize_t m, int n, int32_t first)
{
    Floats squared[ABREAST * N_GROUPS];
    for (int j = 0; j < ABREAST * N_GROUPS; j++)
        squared[j] = (Floats){0} + INFINITY;
    for (int start = 0; start < n_queries; start += ABREAST) {
        int count = n_queries - start < ABREAST ? n_queries - start : ABREAST;
        int closer[ABREAST], n_closer = 0;
        for (int q = 0; q < count; q++) {
            Floats *ours = squared + q * N_GROUPS;
            measure(local + (start + q) * m, groups, m, n, ours);
            closer[n_closer] = q;
            n_closer += is_any_below(ours, kept[who[start + q]].limit, n);
        }
        for (int j = 0; j < n_closer; j++)
            hold_nearest(kept + who[start + closer[j]], squared + closer[j] * N_GROUPS,
                         first);
    }
}

/* Keep the nearest samples of `n_groups` groups, for each of the listed queries. */
EVERY_PROCESSOR
static void scan(Near *kept, const float *local, const int *who, int n_queries,
                 const float *groups, Py_ssize_t n_groups, Py_ssize_t m, int32_t first)
{
    for (Py_ssize_t g = 0; g < n_groups; g += N_GROUPS) {
        const Floats *some = (const Floats *)groups + g * m;
        int32_t at = first + (int32_t)g * N_FLOATS;
        if (n_groups - g >= 4)
            scan_groups(kept, local, who, n_queries, some, m, 4, at);
        else if (n_groups - g == 3)
            scan_groups(kept, local, who, n_queries, some, m, 3, at);
        else if (n_groups - g == 2)
            scan_groups(kept, local, who, n_queries, some, m, 2, at);
        else
            scan_groups(kept, local, who, n_queries, some, m, 1, at);
    }
}

/* Squared distances of one query to groups, of which three more are read. */
EVERY_PROCESSOR
static void measure_all(const float *query, const float *groups, Py_ssize_t n_groups,
                        Py_ssize_t m, Floats *squared)
{
    for (Py_ssize_t g = 0; g < n_groups; g += N_GROUPS)
        measure(query, (const Floats *)groups + g * m, m, N_GROUPS, squared + g);
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
    float *margins;              /* of queries: see `mark_cells` */
    Floats *gaps;                /* scratch: squared, of a query to centers */
    float *local;                /* scratch: queries from the middle of a cell */
    uint64_t *first_of, *others; /* scratch: who looks into each cell, first or later,
                                    `WORDS` for each cell */
    Near kept[TOGETHER];
} Search;

/* Have the listed queries look into a cell. */
EVERY_PROCESSOR
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
            float *restrict local = s->local + count * s->m;
            for (Py_ssize_t f = 0; f < s->m; f++)
                local[f] = (float)(query[f] - middle[f]);
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

/* Mark the nearest of n cells, of equals the first, and the very nearest apart: what that
   holds bounds the search of the others. The margin of the query is how much farther the
   last is than the first, in squared distances. */
EVERY_PROCESSOR
static void mark_cells(Search *s, Py_ssize_t query, int q, const int32_t *near, int32_t n)
{
    const int32_t *gaps = (const int32_t *)s->gaps, infinite = 0x7f800000;
    int32_t k = s->n_probes < n ? (int32_t)s->n_probes : n;
    int32_t most = find_limit(gaps, n, k, 0), least = infinite, last = 0, nearest = -1;
    most = most < infinite ? most : infinite - 1;
    int32_t equals = k - count_up_to(gaps, n, most - 1);
    uint64_t bit = (uint64_t)1 << q % 64;
    for (int32_t first = 0; first < n; first += 2 * N_FLOATS) {
        const Ints *some = (const Ints *)(gaps + first);
        uint32_t chosen = bits_of(some[0] <= most, some[1] <= most);
        for (; chosen; chosen &= chosen - 1) {
            int32_t j = first + __builtin_ctz(chosen), gap = gaps[j];
            if (j >= n)
                break;
            if (gap == most && equals-- <= 0)
                continue;
            int32_t cell = near ? near[j] : j;
            s->others[WORDS * cell + q / 64] |= bit;
            nearest = gap < least ? cell : nearest;
            least = gap < least ? gap : least;
            last = gap > last ? gap : last;
        }
    }
    s->margins[query] = 0;
    if (nearest >= 0) {
        float ends[2];
        memcpy(ends, &least, sizeof least);
        memcpy(ends + 1, &last, sizeof last);
        s->margins[query] = ends[1] - ends[0];
        s->others[WORDS * nearest + q / 64] ^= bit;
        s->first_of[WORDS * nearest + q / 64] |= bit;
    }
}

/* Find the cells that a query looks into. */
static Outcome choose_cells(Search *s, Py_ssize_t query, int q)
{
    const float *centers = s->centers;
    const int32_t *near = NULL;
    if (s->n_near) {
        if (s->homes[query] != s->listed_for && list_near(s, s->homes[query]) != DONE)
            return BAD_INDEX;
        centers = s->listed;
        near = s->near + s->listed_for * s->n_near;
    }
    Py_ssize_t n = near ? s->n_near : s->n_cells;
    for (Py_ssize_t f = 0; f < s->m; f++)
        s->local[f] = (float)s->queries[query * s->m + f];
    measure_all(s->local, centers, groups_of(n), s->m, s->gaps);
    mark_cells(s, query, q, near, (int32_t)n);
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
    thin(near, 0);
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
    Py_ssize_t most = s.n_near < s.n_cells ? s.n_cells : s.n_near;
    s.gaps = scratch(call, groups_of(most) + N_GROUPS, 1, sizeof(Floats));
    if (!make_room(call, s.kept, TOGETHER, s.k, SIZE('p')) || !s.local || !s.gaps ||
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
