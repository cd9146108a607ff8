/* The nearest samples in cells; see _loops.c and _native_search.py. */

#include "_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WITH_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,bmi")))
#endif

/* ---- The nearest so far ------------------------------------------------------------ */

/* The k nearest so far and those met since that may be nearer, in no order. Squared
   distances are kept as the integers that their bits are, which have the same order.
   A heap would hold k only, but by branches that cannot be foreseen. */
typedef struct {
    int32_t *squared, *place;
    int32_t k, count;
    float limit;  /* who is not below is not among the k nearest */
    float coarse; /* largest unit of whole numbers that they were measured in, or 0 */
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
    near->coarse = 0;
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

/* ---- Distances in whole numbers ----------------------------------------------------- */

/* Of 16 bits, two products are added in one step where the processor has VNNI: that takes
   half of the time. Every cell has a unit of its own, and its farthest sample is `FINEST`
   of them from the middle. Between whole numbers the squared distance is exact: all of
   |x|² - 2 x·q + |q|² fits in 32 bits if the query is not too far out. */
#define FINEST 8192
#define FARTHEST 16383 /* a feature of a query: twice of it has 16 bits */
#define MOST 38000.0   /* |q|: with `FINEST` it squares to 31 bits */
#define TOO_CLOSE 64   /* neighbours within so many units are not told apart well enough */
#define EXTREME 1e12   /* a unit beyond it, or below its inverse: squares leave floats */

typedef struct {
    int who;
    int32_t limit, size; /* |x|² - 2 x·q of who may be near is below; |q|² */
} Whole;

#ifdef WITH_VNNI
static int has_whole_numbers(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi");
}

static int32_t limit_of(const Near *near, double unit, int32_t size)
{
    double limit = ceil(near->limit / (unit * unit)) - size;
    return limit < INT32_MAX ? (int32_t)fmax(limit, INT32_MIN) : INT32_MAX;
}

/* Say whether a query is near enough for whole numbers; `twice` is -2 q then. */
EVERY_PROCESSOR
static int round_query(const double *query, const double *middle, double unit,
                       Py_ssize_t m, int16_t *twice, int32_t *size)
{
    float scale = (float)(1 / unit);
    int32_t largest = 0;
    int64_t sum = 0;
    for (Py_ssize_t f = 0; f < m; f++) {
        float value = rintf((float)(query[f] - middle[f]) * scale);
        value = value > FARTHEST ? FARTHEST + 1 : value;
        value = value < -FARTHEST ? -FARTHEST - 1 : value;
        int32_t whole = (int32_t)value, extent = whole < 0 ? -whole : whole;
        largest = extent > largest ? extent : largest;
        sum += whole * whole;
        twice[f] = (int16_t)(-2 * whole);
    }
    *size = (int32_t)sum;
    return largest <= FARTHEST && sum <= MOST * MOST;
}

/* Hold the flagged ones of a group. */
WITH_VNNI
static inline void hold_flagged(Near *near, __mmask16 flagged, __m512i sums, int32_t size,
                                float area, int32_t first)
{
    const __m512i lanes =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    if (!flagged)
        return;
    int count = __builtin_popcount(flagged);
    __mmask16 held = (__mmask16)((1u << count) - 1);
    __m512 squared = _mm512_cvtepi32_ps(_mm512_add_epi32(sums, _mm512_set1_epi32(size)));
    squared = _mm512_mul_ps(squared, _mm512_set1_ps(area));
    __m512i place = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
    _mm512_mask_storeu_epi32(
        near->squared + near->count, held,
        _mm512_maskz_compress_epi32(flagged, _mm512_castps_si512(squared)));
    _mm512_mask_storeu_epi32(near->place + near->count, held,
                             _mm512_maskz_compress_epi32(flagged, place));
    near->count += count;
}

/* As `scan`, of samples and queries in whole numbers, two features side by side. */
WITH_VNNI
static void scan_whole(Near *kept, Whole *queries, const int16_t *local, int n_queries,
                       const int16_t *groups, const int32_t *sizes, Py_ssize_t n_groups,
                       Py_ssize_t n_pairs, double unit, int32_t first)
{
    float area = (float)(unit * unit);
    for (Py_ssize_t g = 0; g < n_groups; g += N_GROUPS) {
        const int16_t *pairs = groups + g * n_pairs * 2 * N_FLOATS;
        const int32_t *theirs = sizes + g * N_FLOATS;
        Py_ssize_t left = n_groups - g, next = n_pairs * 2 * N_FLOATS;
        for (int q = 0; q < n_queries; q++) {
            Whole *query = queries + q;
            __m512i limit = _mm512_set1_epi32(query->limit);
            __m512i sum0 = _mm512_loadu_si512(theirs), sum1 = _mm512_loadu_si512(theirs + 16);
            __m512i sum2 = _mm512_loadu_si512(theirs + 32);
            __m512i sum3 = _mm512_loadu_si512(theirs + 48);
            for (Py_ssize_t p = 0; p < n_pairs; p++) {
                const int16_t *here = pairs + p * 2 * N_FLOATS;
                int32_t two;
                memcpy(&two, local + 2 * (q * n_pairs + p), sizeof two);
                __m512i both = _mm512_set1_epi32(two);
                sum0 = _mm512_dpwssd_epi32(sum0, both, _mm512_loadu_si512(here));
                sum1 = _mm512_dpwssd_epi32(sum1, both, _mm512_loadu_si512(here + next));
                sum2 = _mm512_dpwssd_epi32(sum2, both,
                                           _mm512_loadu_si512(here + 2 * next));
                sum3 = _mm512_dpwssd_epi32(sum3, both,
                                           _mm512_loadu_si512(here + 3 * next));
            }
            __mmask16 closer0 = _mm512_cmplt_epi32_mask(sum0, limit);
            __mmask16 closer1 = _mm512_cmplt_epi32_mask(sum1, limit);
            __mmask16 closer2 = _mm512_cmplt_epi32_mask(sum2, limit);
            __mmask16 closer3 = _mm512_cmplt_epi32_mask(sum3, limit);
            if (!(closer0 | closer1 | closer2 | closer3))
                continue;
            Near *near = kept + query->who;
            int32_t size = query->size, place = first + (int32_t)g * N_FLOATS;
            hold_flagged(near, closer0, sum0, size, area, place);
            if (left > 1)
                hold_flagged(near, closer1, sum1, size, area, place + 16);
            if (left > 2)
                hold_flagged(near, closer2, sum2, size, area, place + 32);
            if (left > 3)
                hold_flagged(near, closer3, sum3, size, area, place + 48);
            if (near->count > ENOUGH(near->k)) {
                thin(near);
                query->limit = limit_of(near, unit, query->size);
            }
        }
    }
}
#else
static int has_whole_numbers(void)
{
    return 0;
}
#endif

/* Write samples in whole numbers, and their squared lengths; what fills the last group of
   a cell has the largest. The unit of a cell without extent, or of extremes, is 0. */
static void round_cell(const float *points, Py_ssize_t n_groups, Py_ssize_t m,
                       double *unit, int16_t *whole, int32_t *sizes)
{
    Py_ssize_t n_pairs = (m + 1) / 2, n = n_groups * N_FLOATS;
    double largest = 0;
    for (Py_ssize_t j = 0; j < n; j++) {
        const float *point = points + j / N_FLOATS * m * N_FLOATS + j % N_FLOATS;
        double sum = 0;
        for (Py_ssize_t f = 0; f < m; f++)
            sum += (double)point[f * N_FLOATS] * point[f * N_FLOATS];
        if (isfinite(sum) && sum > largest)
            largest = sum;
    }
    *unit = sqrt(largest) / FINEST;
    if (*unit < 1 / EXTREME || *unit > EXTREME)
        *unit = 0;
    for (Py_ssize_t j = 0; j < n; j++) {
        Py_ssize_t group = j / N_FLOATS, lane = j % N_FLOATS;
        const float *point = points + group * m * N_FLOATS + lane;
        int16_t *to = whole + 2 * (group * n_pairs * N_FLOATS + lane);
        int64_t size = 0;
        for (Py_ssize_t f = 0; f < m && size < INT32_MAX; f++) {
            double value = *unit > 0 ? rint(point[f * N_FLOATS] / *unit) : INFINITY;
            int is_here = fabs(value) <= FINEST;
            to[2 * (f / 2 * N_FLOATS) + f % 2] = is_here ? (int16_t)value : 0;
            size = is_here ? size + (int64_t)(value * value) : INT32_MAX;
        }
        sizes[j] = (int32_t)size;
    }
}

PyObject *round_samples(PyObject *self, PyObject *args)
{
    Py_buffer points, starts, units, whole, sizes;
    Py_ssize_t m;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*n", &points, &starts, &units, &whole, &sizes,
                          &m))
        return NULL;
    int useful = has_whole_numbers();
    Py_ssize_t n_cells = units.len / (Py_ssize_t)sizeof(double);
    if (useful) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t c = 0; c < n_cells; c++) {
            const int64_t *start = (const int64_t *)starts.buf + c;
            Py_ssize_t first = start[0] * N_FLOATS;
            round_cell((const float *)points.buf + first * m, start[1] - start[0], m,
                       (double *)units.buf + c,
                       (int16_t *)whole.buf + first * 2 * ((m + 1) / 2),
                       (int32_t *)sizes.buf + first);
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&points);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&units);
    PyBuffer_Release(&whole);
    PyBuffer_Release(&sizes);
    return PyBool_FromLong(useful);
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
    const int16_t *whole;  /* samples in whole numbers; NULL: there are none */
    const int32_t *sizes;
    const double *units; /* of cells */
    const int32_t *homes, *near; /* cells of queries, and which cells are near to a cell */
    Py_ssize_t m, n_cells, n_near, n_probes, k; /* none are near: all are */
    Py_ssize_t listed_for;       /* the cell for which `listed` holds the near centers */
    float *listed;               /* scratch */
    float *local;                /* scratch: queries from the middle of a cell */
    int16_t *local_whole;        /* scratch: the same in whole numbers */
    uint64_t *first_of, *others; /* scratch: who looks into each cell, first or later,
                                    `WORDS` for each cell */
    Near probed, kept[TOGETHER];
} Search;

/* Have the listed queries look into a cell: those that are near enough in whole numbers,
   if there are any and they are wanted. */
static void scan_cell(Search *s, const double *queries, Py_ssize_t cell,
                      const uint64_t *words, int in_whole)
{
    const double *middle = s->middles + cell * s->m;
    Py_ssize_t first = s->starts[cell], n_groups = s->starts[cell + 1] - first;
    int who[TOGETHER], count = 0;
#ifdef WITH_VNNI
    Py_ssize_t n_pairs = (s->m + 1) / 2;
    double unit = in_whole ? s->units[cell] : 0;
    Whole rounded[TOGETHER];
    int n_rounded = 0;
#endif
    for (int w = 0; w < WORDS; w++)
        for (uint64_t bits = words[w]; bits; bits &= bits - 1) {
            int q = 64 * w + __builtin_ctzll(bits);
            const double *query = queries + q * s->m;
#ifdef WITH_VNNI
            Whole *next = rounded + n_rounded;
            if (unit > 0 && round_query(query, middle, unit, s->m,
                                        s->local_whole + 2 * n_rounded * n_pairs,
                                        &next->size)) {
                Near *near = s->kept + q;
                near->coarse = fmaxf(near->coarse, (float)unit);
                next->who = q;
                next->limit = limit_of(near, unit, next->size);
                n_rounded++;
                continue;
            }
#endif
            for (Py_ssize_t f = 0; f < s->m; f++)
                s->local[count * s->m + f] = (float)(query[f] - middle[f]);
            who[count++] = q;
        }
#ifdef WITH_VNNI
    if (n_rounded)
        scan_whole(s->kept, rounded, s->local_whole, n_rounded,
                   s->whole + first * 2 * n_pairs * N_FLOATS, s->sizes + first * N_FLOATS,
                   n_groups, n_pairs, unit, (int32_t)(first * N_FLOATS));
#endif
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
static void look_into_cells(Search *s, const double *queries, const uint64_t *whose,
                            int in_whole)
{
    for (int later = 0; later < 2; later++) {
        const uint64_t *probed = later ? s->others : s->first_of;
        for (Py_ssize_t c = 0; c < s->n_cells; c++) {
            uint64_t words[WORDS];
            for (int w = 0; w < WORDS; w++)
                words[w] = probed[WORDS * c + w] & whose[w];
            scan_cell(s, queries, c, words, in_whole);
        }
    }
}

static void search_some(Search *s, Py_ssize_t first, int count)
{
    const double *queries = s->queries + first * s->m;
    size_t bytes = WORDS * sizeof(uint64_t) * (size_t)s->n_cells;
    int all = s->n_probes >= s->n_cells, n_close = 0;
    uint64_t everybody[WORDS], close[WORDS] = {0};
    memset(everybody, 255, sizeof everybody);
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
    look_into_cells(s, queries, everybody, s->whole != NULL);
    for (int q = 0; q < count; q++) {
        Near *near = s->kept + q;
        thin(near);
        if (near->limit < TOO_CLOSE * near->coarse * (TOO_CLOSE * near->coarse)) {
            empty(near);
            close[q / 64] |= (uint64_t)1 << q % 64;
            n_close++;
        }
    }
    if (n_close)
        look_into_cells(s, queries, close, 0);
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
    Py_buffer queries, groups, middles, centers, starts, whole, sizes, units, homes, near,
        places, distances;
    Search s;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*y*y*w*w*nnnnn", &queries, &groups,
                          &middles, &centers, &starts, &whole, &sizes, &units, &homes,
                          &near, &places, &distances, &s.m, &s.n_cells, &s.n_near,
                          &s.n_probes, &s.k))
        return NULL;
    s.whole = whole.len && has_whole_numbers() ? whole.buf : NULL;
    s.sizes = sizes.buf, s.units = units.buf;
    s.queries = queries.buf, s.middles = middles.buf;
    s.groups = groups.buf, s.centers = centers.buf, s.starts = starts.buf;
    s.homes = homes.buf, s.near = near.buf, s.listed_for = -1;
    Py_ssize_t n = queries.len / (Py_ssize_t)sizeof(double) / s.m;
    s.local = malloc(sizeof(float) * (size_t)s.m * TOGETHER);
    s.local_whole = calloc((size_t)(s.m + 1) * TOGETHER, sizeof(int16_t));
    s.first_of = malloc(2 * WORDS * sizeof(uint64_t) * (size_t)(s.n_cells + 1));
    s.others = s.first_of + WORDS * s.n_cells;
    s.listed = calloc((size_t)(groups_of(s.n_near) + N_GROUPS) * N_FLOATS,
                      sizeof(float) * (size_t)s.m);
    int room = make_room(&s.probed, s.n_probes) && s.local && s.local_whole &&
               s.first_of && s.listed;
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
    free(s.local_whole);
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
    PyBuffer_Release(&whole);
    PyBuffer_Release(&sizes);
    PyBuffer_Release(&units);
    PyBuffer_Release(&homes);
    PyBuffer_Release(&near);
    PyBuffer_Release(&places);
    PyBuffer_Release(&distances);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

