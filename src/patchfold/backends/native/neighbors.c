/* Distances between samples, and the nearest of all; see loops.h and neighbors.py. */

#include "loops.h"

#include <float.h>

/* ---- Squared distances of listed pairs, without a copy of their rows --------------- */

#define GAPS_AHEAD 8      /* pairs: their rows lie all over memory */
#define AT_ONCE (1 << 22) /* numbers between looks for a signal */

EVERY_PROCESSOR
static void square_gaps(const double *left, const double *right, const int64_t *row,
                        const int64_t *column, double *out, Py_ssize_t n_pairs,
                        Py_ssize_t m)
{
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        if (e + GAPS_AHEAD < n_pairs)
            fetch(right + column[e + GAPS_AHEAD] * m, m);
        out[e] = squared_gap(left + row[e] * m, right + column[e] * m, m);
    }
}

static Outcome square_listed_gaps(Call *call)
{
    const int64_t *row = call->at[2], *column = call->at[3];
    double *out = call->at[4];
    Py_ssize_t step = 1 + AT_ONCE / (1 + SIZE('m'));
    for (Py_ssize_t first = 0; first < SIZE('e'); first += step) {
        Py_ssize_t left = SIZE('e') - first;
        if (is_interrupted(call))
            return INTERRUPTED;
        square_gaps(call->at[0], call->at[1], row + first, column + first, out + first,
                    left < step ? left : step, SIZE('m'));
    }
    return DONE;
}

const Loop squared_gaps = {
    "squared_gaps",
    "left:d(p,m) right:d(q,m) row:l(e)<p column:l(e)<q out:D(e)",
    square_listed_gaps,
};

/* ---- Nearest of all samples: distances, keys to sort, and what the keys say --------- */

#define STRIP 1024 /* samples whose sums stay in the nearest cache */

/* Squared distances of one query to all samples, from differences. */
EVERY_PROCESSOR
static void square_all_gaps(const double *query, const double *features, double *out,
                            Py_ssize_t n, Py_ssize_t m)
{
    for (Py_ssize_t start = 0; start < n; start += STRIP) {
        Py_ssize_t count = n - start < STRIP ? n - start : STRIP;
        double *restrict sums = out + start;
        for (Py_ssize_t j = 0; j < count; j++)
            sums[j] = 0;
        for (Py_ssize_t f = 0; f < m; f++) {
            const double *restrict feature = features + f * n + start;
            double ours = query[f];
            for (Py_ssize_t j = 0; j < count; j++)
                sums[j] += (ours - feature[j]) * (ours - feature[j]);
        }
    }
}

static Outcome square_gaps_to_all(Call *call)
{
    const double *queries = call->at[0];
    double *out = call->at[2];
    Py_ssize_t n = SIZE('n'), m = SIZE('m');
    for (Py_ssize_t q = 0; q < SIZE('q'); q++) {
        if (is_interrupted(call))
            return INTERRUPTED;
        square_all_gaps(queries + q * m, call->at[1], out + q * n, n, m);
    }
    return DONE;
}

const Loop all_squared_gaps = {
    "all_squared_gaps",
    "queries:d(q,m) features:d(m,n) out:D(q,n)",
    square_gaps_to_all,
};

/* The bits of a number >= 0 are in its order. The last `dropped` are rounded off, half
   to even, and the place in the row put below what is left. */
EVERY_PROCESSOR
static void make_keys(const uint64_t *restrict number, uint64_t *restrict key,
                      Py_ssize_t n, int dropped, int bits)
{
    uint64_t half = ((uint64_t)1 << (dropped - 1)) - 1;
    for (Py_ssize_t j = 0; j < n; j++) {
        uint64_t even = number[j] >> dropped & 1;
        key[j] = (number[j] + even + half) >> dropped << bits | (uint64_t)j;
    }
}

static Outcome make_all_keys(Call *call)
{
    const uint64_t *numbers = call->at[0];
    uint64_t *keys = call->at[1];
    Py_ssize_t n = SIZE('n');
    if (SIZE('d') < 1 || SIZE('d') > 63 || SIZE('b') > 63 || (n - 1) >> SIZE('b') > 0)
        return refuse(call, BAD_VALUE, "places do not fit in the bits they have");
    for (Py_ssize_t row = 0; row < SIZE('r'); row++)
        make_keys(numbers + row * n, keys + row * n, n, (int)SIZE('d'), (int)SIZE('b'));
    return DONE;
}

const Loop keys_of_rows = {
    "keys_of_rows",
    "numbers:d(r,n) keys:U(r,n) dropped:#d bits:#b",
    make_all_keys,
};

/* Of sorted keys, the places and the numbers of the first `k` in each row. */
static Outcome read_all_keys(Call *call)
{
    const uint64_t *key = call->at[0];
    const double *number = call->at[1];
    int64_t *place = call->at[2];
    double *value = call->at[3];
    Py_ssize_t n = SIZE('n'), k = SIZE('k');
    if (k > n || SIZE('b') > 63)
        return refuse(call, BAD_INDEX, "a row has fewer keys than are asked for");
    uint64_t mask = ((uint64_t)1 << SIZE('b')) - 1;
    for (Py_ssize_t row = 0; row < SIZE('r'); row++, key += n, number += n)
        for (Py_ssize_t j = 0; j < k; j++) {
            uint64_t at = key[j] & mask;
            if (at >= (uint64_t)n)
                return refuse(call, BAD_INDEX, "a key holds a place beyond its row");
            *place++ = (int64_t)at;
            *value++ = number[at];
        }
    return DONE;
}

const Loop read_keys = {
    "read_keys",
    "keys:u(r,n) numbers:d(r,n) places:L(r,k) values:D(r,k) bits:#b",
    read_all_keys,
};

/* ---- The nearest rows, by products in single precision ------------------------------ */

#define ABREAST 8  /* queries and */
#define N_GROUPS 2 /* groups of rows that are measured at once */
#define N_BINS 4   /* groups in turn: each lane of these is a bin of rows */
#define LISTED 32  /* groups that are looked through at once */
#define SPARE 4    /* bins beyond the k wanted, against rounding */
#define MOST 128   /* candidates; with more, ties leave a query open */
#define DROPPED 13 /* binary digits in which squared distances that tie may differ */

typedef struct {
    const double *queries, *rows, *center;
    const float *points; /* rows from their center */
    Py_ssize_t n, m, n_groups, k, stride;
    double largest;         /* norm of a row */
    float *local, *own;     /* scratch: -2 (query - center), and its squared norm */
    Floats *norms; /* scratch: squared, of the rows; infinite where there is none */
    Floats *squared, *bins; /* scratch: to all rows; the least of each bin */
} Members;

/* Squared distances of `ABREAST` queries to all rows, ‖x‖² + ‖q‖² - 2 x·q. */
EVERY_PROCESSOR
static void measure_abreast(const Members *s)
{
    Py_ssize_t m = s->m;
    for (int b = 0; b < ABREAST * N_BINS; b++)
        s->bins[b] = (Floats){0} + INFINITY;
    for (Py_ssize_t g = 0; g < s->n_groups; g += N_GROUPS) {
        const Floats *points = (const Floats *)s->points + g * m;
        Floats sums[ABREAST][N_GROUPS];
        for (int q = 0; q < ABREAST; q++)
            for (int l = 0; l < N_GROUPS; l++)
                sums[q][l] = s->norms[g + l] + s->own[q];
        for (Py_ssize_t f = 0; f < m; f++) {
            Floats first = points[f], second = points[m + f];
            for (int q = 0; q < ABREAST; q++) {
                sums[q][0] += s->local[f * ABREAST + q] * first;
                sums[q][1] += s->local[f * ABREAST + q] * second;
            }
        }
        for (int q = 0; q < ABREAST; q++)
            for (int l = 0; l < N_GROUPS; l++) {
                Floats *bin = s->bins + q * N_BINS + (g + l) % N_BINS, sum = sums[q][l];
                Ints negative = sum < 0; /* by rounding */
                sum = (Floats)((Ints)sum & ~negative);
                Ints less = sum < *bin;
                *bin = (Floats)(((Ints)sum & less) | ((Ints)*bin & ~less));
                s->squared[q * s->stride + g + l] = sum;
            }
    }
}

/* Measure some queries from the center of the rows; the last stands in for more. */
static void shift_queries(const Members *s, Py_ssize_t first, Py_ssize_t last)
{
    for (int q = 0; q < ABREAST; q++) {
        Py_ssize_t row = first + q < last ? first + q : last - 1;
        double norm = 0;
        for (Py_ssize_t f = 0; f < s->m; f++) {
            double gap = s->queries[row * s->m + f] - s->center[f];
            s->local[f * ABREAST + q] = -2 * (float)gap;
            norm += gap * gap;
        }
        s->own[q] = (float)norm;
    }
}

/* Return a squared distance that `wanted` rows do not exceed: `wanted` bins have such a row.
   The bits of numbers >= 0 have their order. */
EVERY_PROCESSOR
static float find_limit(const Floats *bins, int wanted)
{
    const int32_t *least = (const int32_t *)bins;
    int32_t low = 0, high = 0x7f800000; /* infinity */
    while (low < high) {
        int32_t middle = low + (high - low) / 2, found = 0;
        for (int j = 0; j < N_BINS * N_FLOATS; j++)
            found += least[j] <= middle;
        if (found < wanted)
            low = middle + 1;
        else
            high = middle;
        if (found == wanted)
            break;
    }
    float limit;
    memcpy(&limit, &high, sizeof high);
    return limit;
}

/* List the rows up to a limit, and count them; too many are not listed. Most groups have
   none: it is asked of many at once which have. */
EVERY_PROCESSOR
static int list_candidates(const Members *s, const Floats *squared, float limit,
                           int32_t *place)
{
    int count = 0;
    for (Py_ssize_t g = 0; g < s->stride; g += LISTED, squared += LISTED) {
        Bits flagged = {0};
        for (int l = 0; l < LISTED; l++)
            flagged |= (Bits)(squared[l] <= limit) & (uint32_t)1 << l;
        for (uint32_t some = bits_in(flagged); some; some &= some - 1) {
            int l = __builtin_ctz(some);
            uint32_t near = bits_of(squared[l] <= limit, (Ints){0});
            for (; near; near &= near - 1) {
                if (count == MOST)
                    return MOST + 1;
                place[count] = (int32_t)((g + l) * N_FLOATS + __builtin_ctz(near));
                fetch(s->rows + place[count++] * s->m, s->m);
            }
        }
    }
    return count;
}

/* Find the ranks of candidates by (squared distance, row), distances rounded as in
   neighbors.py, and put each, and its distance, into its place. */
EVERY_PROCESSOR
static void sort_candidates(const double *rows, Py_ssize_t m, const double *query,
                            const int32_t *place, int count, int32_t *sorted,
                            double *ranked)
{
    const uint64_t half = ((uint64_t)1 << (DROPPED - 1)) - 1;
    Longs keys[MOST / N_DOUBLES];
    double exact[MOST];
    int n_keys = (count + N_DOUBLES - 1) / N_DOUBLES;
    keys[n_keys - 1] = (Longs){0} + INT64_MAX;
    for (int j = 0; j < count; j++) {
        uint64_t bits;
        exact[j] = squared_gap(query, rows + place[j] * m, m);
        memcpy(&bits, exact + j, sizeof bits);
        bits = (bits + (bits >> DROPPED & 1) + half) >> DROPPED << DROPPED;
        bits |= (uint64_t)j; /* they are listed in the order of the rows */
        ((int64_t *)keys)[j] = (int64_t)bits;
    }
    for (int j = 0; j < count; j++) {
        int64_t key = ((int64_t *)keys)[j], rank = 0;
        Longs less = {0};
        for (int i = 0; i < n_keys; i++)
            less += keys[i] < key;
        for (int l = 0; l < N_DOUBLES; l++)
            rank -= less[l];
        sorted[rank] = place[j];
        ranked[rank] = exact[j];
    }
}

/* Write out the k nearest rows of a query and their squared distances; -1 and infinity
   where rounding leaves them open. */
static void settle(const Members *s, const double *query, int q, int64_t *found,
                   double *squared)
{
    const double rounding = (double)(s->m + 8) / (1 << 24);
    int32_t place[MOST], sorted[MOST];
    double ranked[MOST];
    int is_all = s->n <= N_BINS * N_FLOATS, count = 0;
    float limit = FLT_MAX;
    for (Py_ssize_t j = 0; j < s->k; j++) {
        found[j] = -1;
        squared[j] = INFINITY;
    }
    if (!(s->own[q] < FLT_MAX / 4)) /* so far that a sum of norms may be infinite */
        return;
    if (!is_all)
        limit = find_limit(s->bins + q * N_BINS, (int)s->k + SPARE);
    if (limit < INFINITY)
        count = list_candidates(s, s->squared + q * s->stride, limit, place);
    if (count < s->k || count > MOST)
        return; /* too far for single precision, or ties */
    sort_candidates(s->rows, s->m, query, place, count, sorted, ranked);
    double reach = sqrt((double)s->own[q]) + s->largest;
    double least = (double)limit - rounding * reach * reach; /* of all others */
    if (count < s->n && !(ranked[s->k - 1] * (1 + 4 * 0x1p-40) < least))
        return;
    for (Py_ssize_t j = 0; j < s->k; j++) {
        found[j] = sorted[j];
        squared[j] = ranked[j];
    }
}

static Outcome make_room(Call *call, Members *s, const float *norms)
{
    s->stride = (s->n_groups + LISTED - 1) / LISTED * LISTED;
    s->local = scratch(call, s->m, ABREAST, sizeof(float));
    s->own = scratch(call, ABREAST, 1, sizeof(float));
    s->bins = scratch(call, ABREAST, N_BINS, sizeof(Floats));
    s->norms = scratch(call, s->stride, 1, sizeof(Floats));
    s->squared = scratch(call, ABREAST, s->stride, sizeof(Floats));
    if (!s->local || !s->own || !s->bins || !s->norms || !s->squared)
        return NO_MEMORY;
    for (Py_ssize_t j = 0; j < s->stride; j++)
        s->norms[j] = (Floats){0} + INFINITY;
    for (Py_ssize_t j = 0; j < ABREAST * s->stride; j++)
        s->squared[j] = (Floats){0} + INFINITY;
    memcpy(s->norms, norms, sizeof(float) * (size_t)s->n);
    for (Py_ssize_t j = 0; j < s->n; j++)
        s->largest = fmax(s->largest, sqrt((double)norms[j]));
    return DONE;
}

static Outcome find_members(Call *call)
{
    void *const *at = call->at;
    Members s = {.queries = at[0], .rows = at[1], .points = at[2], .center = at[4],
                 .n = SIZE('n'), .m = SIZE('m'), .n_groups = SIZE('g'),
                 .k = SIZE('k')};
    int64_t *found = at[5];
    double *squared = at[6];
    if (s.k < 1 || s.k > s.n || s.k + SPARE > N_BINS * N_FLOATS)
        return refuse(call, BAD_VALUE, "there are not so many neighbours");
    if (s.n > INT32_MAX / 2 || s.n_groups != (s.n + N_FLOATS - 1) / N_FLOATS)
        return refuse(call, BAD_VALUE, "points does not have every row");
    Outcome outcome = make_room(call, &s, at[3]);
    for (Py_ssize_t first = 0; outcome == DONE && first < SIZE('q'); first += ABREAST) {
        if (is_interrupted(call))
            return INTERRUPTED;
        shift_queries(&s, first, SIZE('q'));
        measure_abreast(&s);
        for (int q = 0; q < ABREAST && first + q < SIZE('q'); q++) {
            settle(&s, s.queries + (first + q) * s.m, q, found, squared);
            found += s.k;
            squared += s.k;
        }
    }
    return outcome;
}

/* There are three groups more than rows fill: one may be read. */
const Loop nearest_members = {
    "nearest_members",
    "queries:d(q,m) rows:d(n,m) points:f(g+3,m,16) norms:f(n) center:d(m) "
    "near:L(q,k) squared:D(q,k)",
    find_members,
};

/* ---- The nearest of listed rows ----------------------------------------------------- */

/* Copy the rows that are listed for a query, -1 and its own left out, and count them. */
static int take_listed(Call *call, const int64_t *listed, int64_t own, int32_t *place)
{
    const double *rows = call->at[1];
    int count = 0;
    for (Py_ssize_t j = 0; j < SIZE('c'); j++) {
        if (listed[j] >= SIZE('n'))
            return -1;
        if (listed[j] < 0 || listed[j] == own)
            continue;
        place[count++] = (int32_t)listed[j];
        fetch(rows + listed[j] * SIZE('m'), SIZE('m'));
    }
    return count;
}

static Outcome find_listed(Call *call)
{
    void *const *at = call->at;
    const double *queries = at[0], *rows = at[1];
    const int64_t *listed = at[2], *own = at[3];
    int64_t *found = at[4];
    double *squared = at[5], ranked[MOST];
    int32_t place[2][MOST], sorted[MOST]; /* of a query and the next: its rows are fetched */
    int counts[2] = {0, 0};
    if (SIZE('c') > MOST || SIZE('n') > INT32_MAX)
        return refuse(call, BAD_VALUE, "there are not so many candidates");
    if (SIZE('o') != 0 && SIZE('o') != SIZE('q'))
        return refuse(call, BAD_VALUE, "own has another number of queries");
    for (Py_ssize_t q = -1; q < SIZE('q'); q++) {
        Py_ssize_t next = q + 1;
        if (next < SIZE('q')) {
            counts[next % 2] = take_listed(call, listed + next * SIZE('c'),
                                           SIZE('o') ? own[next] : -1, place[next % 2]);
            if (counts[next % 2] < 0)
                return refuse(call, BAD_INDEX, "a candidate is no row");
        }
        int count = q < 0 ? 0 : counts[q % 2];
        if (count)
            sort_candidates(rows, SIZE('m'), queries + q * SIZE('m'), place[q % 2], count,
                            sorted, ranked);
        for (Py_ssize_t j = 0; q >= 0 && j < SIZE('k'); j++) {
            *found++ = j < count ? sorted[j] : -1;
            *squared++ = j < count ? ranked[j] : INFINITY;
        }
    }
    return DONE;
}

const Loop nearest_listed = {
    "nearest_listed",
    "queries:d(q,m) rows:d(n,m) listed:l(q,c) own:l(o) found:L(q,k) squared:D(q,k)",
    find_listed,
};
