/* The nearest rows of a class, and the scores of patches of them; see class_patches.py. */

#include "loops.h"

#include <float.h>

/* ---- The nearest rows, by products in single precision ------------------------------ */

#define ABREAST 8  /* queries and */
#define N_GROUPS 2 /* groups of rows that are measured at once */
#define N_BINS 4   /* groups in turn: each lane of these is a bin of rows */
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

/* Return a squared distance that `wanted` rows do not exceed: so many bins have one.
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

/* List the rows up to a limit, and count them; too many are not listed. */
EVERY_PROCESSOR
static int list_candidates(const Members *s, const Floats *squared, float limit,
                           int32_t *place)
{
    int count = 0;
    for (Py_ssize_t g = 0; g < s->n_groups; g += 4, squared += 4) {
        uint64_t near = bits_of(squared[2] <= limit, squared[3] <= limit);
        near = near << 32 | bits_of(squared[0] <= limit, squared[1] <= limit);
        for (; near; near &= near - 1) {
            if (count == MOST)
                return MOST + 1;
            place[count] = (int32_t)(g * N_FLOATS + __builtin_ctzll(near));
            fetch(s->rows + place[count++] * s->m, s->m);
        }
    }
    return count;
}

/* Find the ranks of candidates by (squared distance, row), distances rounded as in
   distances.py, and put each into its place; returns the `last` distance. */
EVERY_PROCESSOR
static double sort_candidates(const Members *s, const double *query,
                              const int32_t *place, int count, int32_t *sorted)
{
    const uint64_t half = ((uint64_t)1 << (DROPPED - 1)) - 1;
    Longs keys[MOST / N_DOUBLES];
    double exact[MOST], last = 0;
    int n_keys = (count + N_DOUBLES - 1) / N_DOUBLES;
    keys[n_keys - 1] = (Longs){0} + INT64_MAX;
    for (int j = 0; j < count; j++) {
        uint64_t bits;
        exact[j] = squared_gap(query, s->rows + place[j] * s->m, s->m);
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
        if (rank == s->k - 1)
            last = exact[j];
    }
    return last;
}

/* Write out the k nearest rows of a query, or -1 where rounding leaves them open. */
static void settle(const Members *s, const double *query, int q, int64_t *found)
{
    const double rounding = (double)(s->m + 8) / (1 << 24);
    int32_t place[MOST], sorted[MOST];
    int is_all = s->n <= N_BINS * N_FLOATS;
    float limit = FLT_MAX;
    if (!is_all)
        limit = find_limit(s->bins + q * N_BINS, (int)s->k + SPARE);
    found[0] = -1;
    int count = 0;
    if (limit < INFINITY)
        count = list_candidates(s, s->squared + q * s->stride, limit, place);
    if (count < s->k || count > MOST)
        return; /* too far for single precision, or ties */
    double last = sort_candidates(s, query, place, count, sorted);
    double reach = sqrt((double)s->own[q]) + s->largest;
    double least = (double)limit - rounding * reach * reach; /* of all others */
    if (count < s->n && !(last * (1 + 4 * 0x1p-40) < least))
        return;
    for (Py_ssize_t j = 0; j < s->k; j++)
        found[j] = sorted[j];
}

static Outcome make_room(Call *call, Members *s, const float *norms)
{
    s->stride = (s->n_groups + 3) / 4 * 4; /* four are listed at once */
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
    if (s.k < 1 || s.k > s.n || s.k + SPARE > N_BINS * N_FLOATS)
        return refuse(call, BAD_VALUE, "there are not so many neighbours");
    if (s.n > INT32_MAX / 2 || s.n_groups != (s.n + N_FLOATS - 1) / N_FLOATS)
        return refuse(call, BAD_VALUE, "points does not have every row");
    Outcome outcome = make_room(call, &s, at[3]);
    for (Py_ssize_t first = 0; outcome == DONE && first < SIZE('q'); first += ABREAST) {
        if (first % 64 == 0 && is_interrupted(call))
            return INTERRUPTED;
        shift_queries(&s, first, SIZE('q'));
        measure_abreast(&s);
        for (int q = 0; q < ABREAST && first + q < SIZE('q'); q++, found += s.k)
            settle(&s, s.queries + (first + q) * s.m, q, found);
    }
    return outcome;
}

/* There are three groups more than rows fill: one may be read. */
const Loop nearest_members = {
    "nearest_members",
    "queries:d(q,m) rows:d(n,m) points:f(g+3,m,16) norms:f(n) center:d(m) "
    "near:L(q,k)",
    find_members,
};

/* ---- Scores of patches, eight at a time --------------------------------------------- */

#define LARGEST 1e290 /* beyond it, and below its inverse, arrays are asked */

typedef struct {
    const double *queries, *rows;
    const int64_t *near;
    Py_ssize_t q, m, k, r; /* rows to score; features; points; the smaller of these */
    double share, trace, floor; /* of the scatter, its trace and the ridge in Σ */
    Doubles *points, *gap, *matrix; /* scratch */
} Patch;

/* Put the points of eight patches side by side, and center them. */
EVERY_PROCESSOR
static void gather_patches(const Patch *s, Py_ssize_t first)
{
    Py_ssize_t m = s->m, k = s->k;
    for (int lane = 0; lane < N_DOUBLES; lane++) {
        Py_ssize_t row = first + lane < s->q ? first + lane : s->q - 1;
        double *to = (double *)s->points + lane;
        for (Py_ssize_t p = 0; p < k; p++) {
            const double *point = s->rows + s->near[row * k + p] * m;
            for (Py_ssize_t f = 0; f < m; f++, to += N_DOUBLES)
                *to = point[f];
        }
        for (Py_ssize_t f = 0; f < m; f++)
            ((double *)(s->gap + f))[lane] = s->queries[row * m + f];
    }
    for (Py_ssize_t f = 0; f < m; f++) {
        Doubles start = s->points[f], sum = {0};
        for (Py_ssize_t p = 0; p < k; p++)
            sum += s->points[p * m + f] -= start;
        sum /= (double)k;
        for (Py_ssize_t p = 0; p < k; p++)
            s->points[p * m + f] -= sum;
        s->gap[f] -= start + sum;
    }
}

/* Return the squared norm of so many numbers. */
INLINE Doubles squared_norm(const Doubles *values, Py_ssize_t count)
{
    Doubles sums[4] = {{0}, {0}, {0}, {0}};
    Py_ssize_t j = 0;
    for (; j + 4 <= count; j += 4)
        for (int l = 0; l < 4; l++)
            sums[l] += values[j + l] * values[j + l];
    for (; j < count; j++)
        sums[0] += values[j] * values[j];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

#define BLOCK 4 /* products with a row that are summed at once */

/* The products of the r rows, or columns, of the points with each other, and below them
   those with the gap: a lower triangle of r + 1 rows. */
EVERY_PROCESSOR
static void multiply_points(const Patch *s)
{
    int wide = s->k <= s->m;
    Py_ssize_t length = wide ? s->m : s->k, step = wide ? s->m : 1, next = wide ? 1 : s->m;
    Doubles *to = s->matrix;
    for (Py_ssize_t i = 0; i <= s->r; i++) {
        Py_ssize_t count = i < s->r ? i + 1 : i, j = 0;
        if (i == s->r && !wide) { /* the gap itself */
            memcpy(to, s->gap, sizeof(Doubles) * (size_t)s->m);
            return;
        }
        const Doubles *a = i < s->r ? s->points + i * step : s->gap;
        for (; j < count; j += BLOCK) {
            const Doubles *b[BLOCK];
            Doubles sums[BLOCK] = {{0}, {0}, {0}, {0}};
            for (int l = 0; l < BLOCK; l++)
                b[l] = s->points + (j + l < count ? j + l : j) * step;
            for (Py_ssize_t t = 0; t < length * next; t += next)
                for (int l = 0; l < BLOCK; l++)
                    sums[l] += a[t] * b[l][t];
            for (int l = 0; l < BLOCK && j + l < count; l++)
                *to++ = sums[l];
        }
    }
}

/* Eliminate: what is left of the diagonal has the determinant as its product, and the
   last row the squared length of the gap, in units of what was eliminated. Returns the
   latter; the former as mantissa and exponent, the mantissa no number if one of the
   diagonal was out of range. */
EVERY_PROCESSOR
static void eliminate(const Patch *s, Doubles *length, Doubles *mantissa, Longs *exponent)
{
    Doubles *row, *matrix = s->matrix;
    Longs usable = (Longs){0} - 1;
    *length = (Doubles){0};
    *mantissa = (Doubles){0} + 1.0;
    *exponent = (Longs){0};
    for (Py_ssize_t j = 0; j < s->r; j++) {
        Doubles pivot = matrix[j * (j + 1) / 2 + j];
        usable &= (pivot < LARGEST) & (pivot > 1 / LARGEST);
        Doubles inverse = 1.0 / pivot;
        *mantissa *= pivot;
        Longs bits = (Longs)*mantissa;
        *exponent += (bits >> 52) - 1023;
        bits = (bits & (((int64_t)1 << 52) - 1)) | ((int64_t)1023 << 52);
        *mantissa = (Doubles)(bits | ~usable); /* else no number */
        for (Py_ssize_t i = j + 1; i <= s->r; i++) {
            row = matrix + i * (i + 1) / 2;
            Doubles factor = row[j] * inverse;
            if (i == s->r)
                *length += row[j] * factor;
            Py_ssize_t last = i < s->r ? i : i - 1;
            for (Py_ssize_t l = j + 1; l <= last; l++)
                row[l] -= factor * matrix[l * (l + 1) / 2 + j];
        }
    }
}

/* Score eight rows, as far as there are. */
EVERY_PROCESSOR
static void score_eight(const Patch *s, Py_ssize_t first, double *out)
{
    int wide = s->k <= s->m;
    Doubles length, mantissa;
    Longs exponent;
    gather_patches(s, first);
    Doubles total = squared_norm(s->points, s->k * s->m);
    total /= s->k > 1 ? (double)(s->k - 1) : 1.0;
    Doubles noise = s->trace * total + s->floor;
    Doubles gap = squared_norm(s->gap, s->m);
    multiply_points(s);
    Doubles *matrix = s->matrix;
    for (Py_ssize_t i = 0; i < s->r; i++, matrix += i)
        for (Py_ssize_t j = 0; j <= i; j++)
            matrix[j] = matrix[j] * s->share + (i == j ? noise : (Doubles){0});
    eliminate(s, &length, &mantissa, &exponent);
    Doubles squared = wide ? (gap - s->share * length) / noise : length;
    double m = (double)s->m, k = (double)s->k;
    for (int lane = 0; lane < N_DOUBLES && first + lane < s->q; lane++) {
        double det = log(mantissa[lane]) + (double)exponent[lane] * 0x1.62e42fefa39efp-1;
        if (wide && s->m > s->k)
            det += (m - k) * log(noise[lane]);
        out[first + lane] = -0.5 * det - 0.5 * (k + m) * log(1 + squared[lane] / k);
    }
}

static Outcome score_all(Call *call)
{
    const double *rule = call->at[3];
    Patch s = {.queries = call->at[0], .rows = call->at[1], .near = call->at[2],
               .q = SIZE('q'), .m = SIZE('m'), .k = SIZE('k'), .share = rule[0],
               .trace = rule[1], .floor = rule[2]};
    if (s.k < 1 || s.m < 1)
        return refuse(call, BAD_VALUE, "a patch has no points");
    s.r = s.k < s.m ? s.k : s.m;
    s.share /= s.k > 1 ? (double)(s.k - 1) : 1.0;
    s.points = scratch(call, s.k, s.m, sizeof(Doubles));
    s.gap = scratch(call, s.m, 1, sizeof(Doubles));
    s.matrix = scratch(call, s.r + 1, s.r + 2, sizeof(Doubles));
    if (s.points == NULL || s.gap == NULL || s.matrix == NULL)
        return NO_MEMORY;
    for (Py_ssize_t first = 0; first < s.q; first += N_DOUBLES) {
        if (first % 64 == 0 && is_interrupted(call))
            return INTERRUPTED;
        score_eight(&s, first, call->at[4]);
    }
    return DONE;
}

const Loop score_patches = {
    "score_patches",
    "queries:d(q,m) rows:d(n,m) near:l(q,k)<n rule:d(3) out:D(q)",
    score_all,
};
