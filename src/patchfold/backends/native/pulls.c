/* Loops of CauchyMap over edges: attraction, steps, the objective; see pulls.py.

   Coordinates are pairs of floats, (n, 2). The edges of a sample lie in groups of eight;
   the last is filled up by the sample itself, with weight 0, which adds nothing. Loops work
   on samples a to b, and check every index when it is used. Sums are made of fixed slices
   of samples, so that results do not depend on the number of threads. */

#include "loops.h"

#define EIGHT 8
typedef float EightFloats __attribute__((vector_size(32), aligned(4)));
typedef int32_t EightInts __attribute__((vector_size(32), aligned(4)));
typedef uint32_t EightUInts __attribute__((vector_size(32), aligned(4)));
typedef int64_t FourLongs __attribute__((vector_size(32), aligned(8)));

#define SLICE_AND_GRAPH                                                                  \
    if (SIZE('a') > SIZE('b') || SIZE('b') > SIZE('n'))                                  \
        return refuse(call, BAD_VALUE, "start to stop is no slice of the samples");      \
    if (SIZE('n') >= INT32_MAX || SIZE('g') >= INT32_MAX || !(edges.inverse_alpha > 0))  \
        return refuse(call, BAD_VALUE, "too many samples, or alpha is not above 0");
#define NO_INDEX "the graph has an index outside of the samples"

/* ---- Edges of two graphs in groups of eight ------------------------------------------ */

typedef struct {
    const int32_t *pointer, *column;
    const float *values;
} Rows;

/* Write the row of a graph from place `to`; returns the place behind it. */
static Py_ssize_t write_row(const Rows *graph, Py_ssize_t i, float sign, int32_t *ends,
                            float *weights, Py_ssize_t to)
{
    for (int32_t e = graph->pointer[i]; e < graph->pointer[i + 1]; e++, to++) {
        ends[to] = graph->column[e];
        weights[to] = sign * graph->values[e];
    }
    return to;
}

static Outcome fill_all_eights(Call *call)
{
    void *const *at = call->at;
    Rows near = {at[0], at[1], at[2]}, middle = {at[3], at[4], at[5]};
    const int32_t *starts = at[6];
    int32_t *ends = at[7];
    Py_ssize_t n = SIZE('n');
    Outcome checked = check_rows(call, near.pointer, near.column, 0, n, SIZE('e'), n);
    if (checked == DONE)
        checked = check_rows(call, middle.pointer, middle.column, 0, n, SIZE('f'), n);
    if (checked == DONE)
        checked = check_pointers(call, starts, 0, n, SIZE('g'));
    if (checked != DONE)
        return checked;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t room = (Py_ssize_t)EIGHT * (starts[i + 1] - starts[i]);
        Py_ssize_t to = (Py_ssize_t)EIGHT * starts[i], stop = to + room;
        if (near.pointer[i + 1] - near.pointer[i] + (Py_ssize_t)middle.pointer[i + 1] -
                middle.pointer[i] > room)
            return refuse(call, BAD_VALUE, "starts has no room for all edges of a row");
        to = write_row(&near, i, 1, ends, at[8], to);
        to = write_row(&middle, i, -1, ends, at[8], to);
        for (; to < stop; to++)
            ends[to] = (int32_t)i;
    }
    return DONE;
}

/* Weights of the second graph are written with a minus. What is written to signed was 0.
 */
const Loop fill_eights = {
    "fill_eights",
    "pointer:i(n+1) column:i(e) near:f(e) middle_pointer:i(n+1) middle_column:i(f) "
    "middle:f(f) starts:i(n+1) ends:I(g,8) signed:F(g,8)",
    fill_all_eights,
};

/* ---- Attraction ---------------------------------------------------------------------- */

typedef struct {
    const int32_t *starts, *ends; /* of rows, in groups; groups of eight */
    const float *weights;
    Py_ssize_t n, n_groups;
    float inverse_alpha;
} Edges;

INLINE int has_row(const Edges *edges, Py_ssize_t i)
{
    int32_t first = edges->starts[i], last = edges->starts[i + 1];
    return 0 <= first && first <= last && last <= edges->n_groups;
}

#define MUCH (1 << 17) /* samples: more than the nearer caches hold */
#define AHEAD 8        /* groups whose ends are prefetched, at most */
#define LINES_AHEAD 32 /* groups that are prefetched themselves */

/* Every other number of two vectors, from the first or from the second one. */
#if defined(__clang__) || __GNUC__ >= 12
#define EVENS(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODDS(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define EVENS(a, b) __builtin_shuffle(a, b, (EightInts){0, 2, 4, 6, 8, 10, 12, 14})
#define ODDS(a, b) __builtin_shuffle(a, b, (EightInts){1, 3, 5, 7, 9, 11, 13, 15})
#endif

INLINE int64_t pair_at(const float *y, uint32_t j)
{
    int64_t pair;
    memcpy(&pair, y + 2 * (size_t)j, sizeof pair);
    return pair;
}

/* y_i - y_j of eight edges; 0 if one has a bad index. */
INLINE int gaps_of(const Edges *edges, const float *y, Py_ssize_t i, Py_ssize_t group,
                   EightFloats *dx, EightFloats *dy)
{
    const uint32_t *j = (const uint32_t *)edges->ends + EIGHT * group;
    FourLongs beyond = (FourLongs)(*(const EightUInts *)j >= (uint32_t)edges->n);
    if (beyond[0] | beyond[1] | beyond[2] | beyond[3])
        return 0;
    FourLongs low = {pair_at(y, j[0]), pair_at(y, j[1]), pair_at(y, j[2]),
                     pair_at(y, j[3])};
    FourLongs high = {pair_at(y, j[4]), pair_at(y, j[5]), pair_at(y, j[6]),
                      pair_at(y, j[7])};
    *dx = y[2 * i] - EVENS((EightFloats)low, (EightFloats)high);
    *dy = y[2 * i + 1] - ODDS((EightFloats)low, (EightFloats)high);
    return 1;
}

/* Ask for what is read soon: groups, and of many samples the ends of their edges. */
INLINE void ask_ahead(const Edges *edges, const float *y, Py_ssize_t group, int is_much)
{
    __builtin_prefetch(edges->ends + EIGHT * (group + LINES_AHEAD));
    __builtin_prefetch(edges->weights + EIGHT * (group + LINES_AHEAD));
    if (is_much && edges->n_groups - group > AHEAD)
        for (int l = 0; l < EIGHT; l++)
            __builtin_prefetch(
                y + 2 * (size_t)(uint32_t)edges->ends[EIGHT * (group + AHEAD) + l]);
}

INLINE float total_of_eight(const EightFloats *v)
{
    return (((*v)[0] + (*v)[1]) + ((*v)[2] + (*v)[3])) +
           (((*v)[4] + (*v)[5]) + ((*v)[6] + (*v)[7]));
}

/* Sum of w (y_i - y_j) / (1 + |y_i - y_j|^2 / alpha) over a row; 0 if it has a bad
   index. */
INLINE int pull_row(const Edges *edges, const float *y, Py_ssize_t i, float *pull,
                    int is_much)
{
    EightFloats ax = {0}, ay = {0}, dx, dy;
    for (Py_ssize_t group = edges->starts[i]; group < edges->starts[i + 1]; group++) {
        ask_ahead(edges, y, group, is_much);
        if (!gaps_of(edges, y, i, group, &dx, &dy))
            return 0;
        EightFloats w = *(const EightFloats *)(edges->weights + EIGHT * group);
        EightFloats q = w / (1 + (dx * dx + dy * dy) * edges->inverse_alpha);
        ax += q * dx;
        ay += q * dy;
    }
    pull[0] = total_of_eight(&ax);
    pull[1] = total_of_eight(&ay);
    return 1;
}

/* ---- A step --------------------------------------------------------------------------- */

typedef struct {
    float scale, push, rate, momentum;
    int flat;
} Step;

INLINE float step_of(float slope, float *velocity, float *gain, const Step *step)
{
    int ahead = (slope > 0) != (*velocity > 0);
    float less = 0.8f * *gain;
    *gain = ahead ? *gain + 0.2f : (less > 0.01f ? less : 0.01f);
    *velocity = step->momentum * *velocity - step->rate * *gain * slope;
    return *velocity * *velocity;
}

/* sums: of x, y, x^2 + y^2, then least and largest x and y. */
INLINE int move_rows(const Edges *edges, const float *y, const float *r, float *velocity,
                     float *gain, float *moved, const Step *step, Py_ssize_t start,
                     Py_ssize_t stop, double *sums, int is_much)
{
    double sx = 0, sy = 0, squares = 0;
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (Py_ssize_t i = start; i < stop; i++) {
        float pull[2], *v = velocity + 2 * i, *to = moved + 2 * i;
        if (!has_row(edges, i) || !pull_row(edges, y, i, pull, is_much))
            return 0;
        float length = step_of(step->scale * pull[0] - step->push * r[2 * i], v,
                               gain + 2 * i, step);
        if (step->flat)
            v[1] = 0;
        else
            length += step_of(step->scale * pull[1] - step->push * r[2 * i + 1], v + 1,
                              gain + 2 * i + 1, step);
        if (length > 1) {
            float shorter = 1 / sqrtf(length);
            v[0] *= shorter;
            v[1] *= shorter;
        }
        for (int c = 0; c < 2; c++) {
            to[c] = y[2 * i + c] + v[c];
            low[c] = to[c] < low[c] ? to[c] : low[c];
            high[c] = to[c] > high[c] ? to[c] : high[c];
        }
        sx += to[0];
        sy += to[1];
        squares += (double)to[0] * to[0] + (double)to[1] * to[1];
    }
    double all[7] = {sx, sy, squares, low[0], low[1], high[0], high[1]};
    memcpy(sums, all, sizeof all);
    return 1;
}

EVERY_PROCESSOR
static int move_slice(const Edges *edges, const float *y, const float *r, float *velocity,
                      float *gain, float *moved, const Step *step, Py_ssize_t start,
                      Py_ssize_t stop, double *sums)
{
    if (edges->n > MUCH)
        return move_rows(edges, y, r, velocity, gain, moved, step, start, stop, sums, 1);
    return move_rows(edges, y, r, velocity, gain, moved, step, start, stop, sums, 0);
}

static Outcome move_all(Call *call)
{
    void *const *at = call->at;
    const double *factors = at[8]; /* alpha, scale, push, rate, momentum */
    Edges edges = {at[1], at[2], at[3], SIZE('n'), SIZE('g'), (float)(1 / factors[0])};
    Step step = {(float)factors[1], (float)factors[2], (float)factors[3],
                 (float)factors[4], SIZE('z') != 0};
    SLICE_AND_GRAPH
    if (!move_slice(&edges, at[0], at[4], at[5], at[6], at[7], &step, SIZE('a'),
                    SIZE('b'), at[9]))
        return refuse(call, BAD_INDEX, NO_INDEX);
    return DONE;
}

const Loop move_samples = {
    "move_samples",
    "Y:f(n,2) starts:i(n+1) ends:i(g,8) weights:f(g,8) r:f(n,2) velocity:F(n,2) "
    "gain:F(n,2) moved:F(n,2) factors:d(5) sums:D(7) flat:#z start:#a stop:#b",
    move_all,
};

/* ---- The objective -------------------------------------------------------------------- */

/* Logarithms to base 2 of numbers from 1 up. */
INLINE void take_logarithms(EightFloats *u)
{
    EightInts bits = (EightInts)*u;
    /* u = 2^e m, m from sqrt(1/2) to sqrt(2) */
    EightInts e = (bits - 0x3F3504F3) >> 23;
    EightFloats m = (EightFloats)(bits - (e << 23));
    EightFloats t = (m - 1) / (m + 1), s = t * t;
    *u = __builtin_convertvector(e, EightFloats) +
         t * (2.8853900818f +
              s * (0.9617966939f +
                   s * (0.5770780164f + s * (0.4121985831f + s * 0.32059888f))));
}

/* Sum of w log(1 + |y_i - y_j|^2 / alpha) over the edges of a slice of rows; 0 if there is
   a bad index. */
EVERY_PROCESSOR
static int stretch_slice(const Edges *edges, const float *y, Py_ssize_t start,
                         Py_ssize_t stop, double *total)
{
    double sum = 0;
    for (Py_ssize_t i = start; i < stop; i++) {
        EightFloats of_row = {0}, dx, dy;
        if (!has_row(edges, i))
            return 0;
        for (Py_ssize_t group = edges->starts[i]; group < edges->starts[i + 1]; group++) {
            if (!gaps_of(edges, y, i, group, &dx, &dy))
                return 0;
            EightFloats inner = 1 + (dx * dx + dy * dy) * edges->inverse_alpha;
            take_logarithms(&inner);
            of_row += *(const EightFloats *)(edges->weights + EIGHT * group) * inner;
        }
        sum += total_of_eight(&of_row);
    }
    *total = 0.6931471805599453 * sum;
    return 1;
}

static Outcome stretch_edges(Call *call)
{
    void *const *at = call->at;
    Edges edges = {at[1], at[2], at[3], SIZE('n'), SIZE('g'), (float)(1 / call->real)};
    SLICE_AND_GRAPH
    if (!stretch_slice(&edges, at[0], SIZE('a'), SIZE('b'), at[7]))
        return refuse(call, BAD_INDEX, NO_INDEX);
    return DONE;
}

const Loop stretch = {
    "stretch",
    "Y:f(n,2) starts:i(n+1) ends:i(g,8) weights:f(g,8) alpha:r start:#a stop:#b total:D(1)",
    stretch_edges,
};
