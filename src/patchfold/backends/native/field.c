/* Loops of CauchyMap: attraction, the field of repulsion, steps, new samples.

   `field.py` calls them, and says in NumPy what each computes. Coordinates are
   pairs of floats, (n, 2). Loops work on samples a to b, and check every index of a graph
   and every place on a grid when it is used. Sums are made of fixed slices of samples, so
   that results do not depend on the number of threads. */

#include "loops.h"

typedef float EightFloats __attribute__((vector_size(32), aligned(4)));
typedef int64_t FourLongs __attribute__((vector_size(32), aligned(8)));
#define EIGHT 8

/* Whether slice a to b is one of n samples. */
#define IS_SLICE(n) (SIZE('a') <= SIZE('b') && SIZE('b') <= (n))
#define NO_SLICE "start to stop is no slice of the samples"

/* ---- A key of each row that depends on its values only ------------------------------ */

static Outcome hash_all_rows(Call *call)
{
    const double *X = call->at[0];
    uint64_t *keys = call->at[1];
    Py_ssize_t m = SIZE('m');
    for (Py_ssize_t i = 0; i < SIZE('n'); i++) {
        uint64_t key = 0;
        for (Py_ssize_t k = 0; k < m; k++) {
            double value = X[i * m + k] + 0.0; /* -0 is 0 */
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            key = (key ^ bits) * 0x9E3779B97F4A7C15u;
            key ^= key >> 32;
        }
        keys[i] = key;
    }
    return DONE;
}

const Loop hash_rows = {"hash_rows", "X:d(n,m) keys:U(n)", hash_all_rows};

/* ---- Weights of neighbours with a given entropy -------------------------------------- */

/* Newton's method for log(beta) inside a bracket; the entropy falls with beta. */
static void calibrate_row(const double *squared, double *out, Py_ssize_t k, double target)
{
    double least = squared[0], mean = 0, low = 0, high = INFINITY;
    for (Py_ssize_t j = 1; j < k; j++)
        least = squared[j] < least ? squared[j] : least;
    for (Py_ssize_t j = 0; j < k; j++)
        mean += (squared[j] - least) / (double)k;
    double beta = mean > 0 ? 1 / mean : 0;
    for (int round = 0;; round++) {
        double sum = 0, first = 0, second = 0;
        for (Py_ssize_t j = 0; j < k; j++) {
            double scaled = (squared[j] - least) * beta, p = exp(-scaled);
            out[j] = p;
            sum += p;
            first += p * scaled;
            second += p * scaled * scaled;
        }
        for (Py_ssize_t j = 0; j < k; j++)
            out[j] /= sum;
        first /= sum;
        double error = log(sum) + first - target;
        double slope = second / sum - first * first;
        if (beta == 0 || fabs(error) < 1e-10 || round == 60)
            return;
        if (error > 0)
            low = beta;
        else
            high = beta;
        double next = slope > 0 ? beta * exp(error / slope) : INFINITY;
        if (!(next > low && next < high)) /* out of the bracket */
            next = isinf(high) ? 2 * beta : (low + high) / 2;
        if (isinf(next))
            return;
        beta = next;
    }
}

static Outcome calibrate_rows(Call *call)
{
    const double *squared = call->at[0];
    double *weights = call->at[1];
    Py_ssize_t k = SIZE('k');
    if (k < 1)
        return refuse(call, BAD_VALUE, "a row has no neighbours");
    for (Py_ssize_t i = 0; i < SIZE('n'); i++)
        calibrate_row(squared + i * k, weights + i * k, k, call->real);
    return DONE;
}

const Loop calibrate = {
    "calibrate", "squared:d(n,k) weights:D(n,k) entropy:r", calibrate_rows};

/* ---- Powers of numbers in (0, 1], sixteen at once ------------------------------------ */

INLINE void raise_to(Floats *u, float exponent)
{
    Ints bits = (Ints)*u;
    /* u = 2^e m, m from sqrt(1/2) to sqrt(2) */
    Ints e = (bits - 0x3F3504F3) >> 23;
    Floats m = (Floats)(bits - (e << 23));
    Floats t = (m - 1) / (m + 1), s = t * t;
    Floats log2m = t * (2.8853900818f +
                        s * (0.9617966939f +
                             s * (0.5770780164f + s * (0.4121985831f + s * 0.32059888f))));
    Floats z = exponent * (__builtin_convertvector(e, Floats) + log2m);
    Ints small = z < -120.0f; /* would be less than the least float */
    z = (Floats)(((Ints)z & ~small) | ((Ints)((Floats){0} - 120.0f) & small));
    Ints whole = __builtin_convertvector(z - 0.5f, Ints); /* z <= 0: rounds to nearest */
    Floats f = (z - __builtin_convertvector(whole, Floats)) * 0.6931471806f;
    Floats raised =
        1 + f * (1 + f * (0.5f + f * (0.1666666667f +
                                      f * (0.0416666667f +
                                           f * (0.0083333333f + f * 0.0013888889f)))));
    *u = (Floats)((Ints)raised + (whole << 23));
}

INLINE float total_of_floats(const Floats *v)
{
    float sum = 0;
    for (int l = 0; l < N_FLOATS; l++)
        sum += (*v)[l];
    return sum;
}

/* ---- Repulsion by all pairs ---------------------------------------------------------- */

/* Sums over sources j of u^alpha and of u^(alpha + 1) (y_i - y_j), where
   u = 1 / (1 + |y_i - y_j|^2 / alpha). Sources are padded far away. */
INLINE double push_rows(const float *y, const float *sx, const float *sy, Py_ssize_t padded,
                        float *r, float alpha, int kind, Py_ssize_t start, Py_ssize_t stop)
{
    double sum_of_phi = 0;
    float inverse_alpha = 1 / alpha;
    for (Py_ssize_t i = start; i < stop; i++) {
        Floats phi = {0}, rx = {0}, ry = {0};
        for (Py_ssize_t j = 0; j < padded; j += N_FLOATS) {
            Floats dx = y[2 * i] - *(const Floats *)(sx + j);
            Floats dy = y[2 * i + 1] - *(const Floats *)(sy + j);
            Floats u = 1 / (1 + (dx * dx + dy * dy) * inverse_alpha), p = u;
            if (kind == 1) {
                for (int l = 0; l < N_FLOATS; l++)
                    p[l] = sqrtf(u[l]);
            } else if (kind == 2) {
                raise_to(&p, alpha);
            }
            phi += p;
            rx += p * u * dx;
            ry += p * u * dy;
        }
        r[2 * i] += total_of_floats(&rx);
        r[2 * i + 1] += total_of_floats(&ry);
        sum_of_phi += total_of_floats(&phi);
    }
    return sum_of_phi;
}

EVERY_PROCESSOR
static double push_slice(const float *y, const float *sx, const float *sy,
                         Py_ssize_t padded, float *r, float alpha, Py_ssize_t start,
                         Py_ssize_t stop)
{
    if (alpha == 1.0f)
        return push_rows(y, sx, sy, padded, r, alpha, 0, start, stop);
    if (alpha == 0.5f)
        return push_rows(y, sx, sy, padded, r, alpha, 1, start, stop);
    return push_rows(y, sx, sy, padded, r, alpha, 2, start, stop);
}

static Outcome push_pairs(Call *call)
{
    const float *given = call->at[1];
    Py_ssize_t s = SIZE('s'), padded = (s + N_FLOATS - 1) / N_FLOATS * N_FLOATS;
    float alpha = (float)call->real, *sources = scratch(call, padded, 2, sizeof(float));
    if (sources == NULL)
        return NO_MEMORY;
    if (!IS_SLICE(SIZE('n')))
        return refuse(call, BAD_VALUE, NO_SLICE);
    if (!(alpha > 0 && alpha <= 1))
        return refuse(call, BAD_VALUE, "alpha must be above 0 and at most 1");
    for (Py_ssize_t j = 0; j < padded; j++) {
        sources[j] = j < s ? given[2 * j] : 1e18f;
        sources[padded + j] = j < s ? given[2 * j + 1] : 1e18f;
    }
    *(double *)call->at[6] = push_slice(call->at[0], sources, sources + padded, padded,
                                        call->at[2], alpha, SIZE('a'), SIZE('b'));
    return DONE;
}

const Loop push_by_pairs = {
    "push_by_pairs",
    "Y:f(n,2) sources:f(s,2) r:F(n,2) alpha:r start:#a stop:#b total:D(1)",
    push_pairs,
};

/* ---- Repulsion by a grid -------------------------------------------------------------- */

typedef struct {
    float x, y, inverse_h; /* place of node 0, and nodes in one unit */
    Py_ssize_t rows, columns, stride;
} Grid;

/* Cubic B-splines at nodes -1, 0, 1, 2 for the fraction u, and their slopes. */
INLINE void spline(float u, float *w)
{
    float v = 1 - u;
    w[0] = v * v * v / 6;
    w[1] = (4 - 6 * u * u + 3 * u * u * u) / 6;
    w[2] = (4 - 6 * v * v + 3 * v * v * v) / 6;
    w[3] = u * u * u / 6;
}

INLINE void slopes(float u, float *d)
{
    float v = 1 - u;
    d[0] = -v * v / 2;
    d[1] = (-4 * u + 3 * u * u) / 2;
    d[2] = (4 * v - 3 * v * v) / 2;
    d[3] = u * u / 2;
}

/* First node of the four by four around a point; -1 if they are not all on the grid. */
INLINE Py_ssize_t node_of(const Grid *grid, const float *y, float *u, float *v)
{
    float a = (y[0] - grid->x) * grid->inverse_h, b = (y[1] - grid->y) * grid->inverse_h;
    if (!(a >= 1 && a < (float)(grid->rows - 2) && b >= 1 && b < (float)(grid->columns - 2)))
        return -1;
    Py_ssize_t i = (Py_ssize_t)a, j = (Py_ssize_t)b;
    *u = a - (float)i;
    *v = b - (float)j;
    return (i - 1) * grid->stride + j - 1;
}

EVERY_PROCESSOR
static int spread_slice(const Grid *grid, const float *y, float *mass, Py_ssize_t start,
                        Py_ssize_t stop)
{
    for (Py_ssize_t i = start; i < stop; i++) {
        float u, v, wx[4], wy[4];
        Py_ssize_t node = node_of(grid, y + 2 * i, &u, &v);
        if (node < 0)
            return 0;
        spline(u, wx);
        spline(v, wy);
        for (int p = 0; p < 4; p++)
            for (int q = 0; q < 4; q++)
                mass[node + p * grid->stride + q] += wx[p] * wy[q];
    }
    return 1;
}

/* phi at a point, and -1/2 of its gradient. */
INLINE float field_at(const Grid *grid, const float *field, Py_ssize_t node, float u,
                      float v, float *r)
{
    float wx[4], wy[4], dx[4], dy[4], phi = 0, gx = 0, gy = 0;
    spline(u, wx);
    spline(v, wy);
    slopes(u, dx);
    slopes(v, dy);
    for (int p = 0; p < 4; p++) {
        const float *row = field + node + p * grid->stride;
        float s = 0, t = 0;
        for (int q = 0; q < 4; q++) {
            s += wy[q] * row[q];
            t += dy[q] * row[q];
        }
        phi += wx[p] * s;
        gx += dx[p] * s;
        gy += wx[p] * t;
    }
    r[0] = -0.5f * grid->inverse_h * gx;
    r[1] = -0.5f * grid->inverse_h * gy;
    return phi;
}

EVERY_PROCESSOR
static int gather_slice(const Grid *grid, const float *y, const float *field, float *r,
                        Py_ssize_t start, Py_ssize_t stop, double *sum_of_phi)
{
    double sum = 0;
    for (Py_ssize_t i = start; i < stop; i++) {
        float u, v;
        Py_ssize_t node = node_of(grid, y + 2 * i, &u, &v);
        if (node < 0)
            return 0;
        sum += field_at(grid, field, node, u, v, r + 2 * i);
    }
    *sum_of_phi = sum;
    return 1;
}

/* Take a grid of g rows of t numbers, c of them nodes, and place and spacing of nodes. */
static int take_grid(const Call *call, const double *place, Grid *grid)
{
    grid->x = (float)place[0];
    grid->y = (float)place[1];
    grid->inverse_h = (float)place[2];
    grid->rows = SIZE('g');
    grid->columns = SIZE('c');
    grid->stride = SIZE('t');
    return grid->rows >= 4 && grid->columns >= 4 && grid->stride >= grid->columns;
}

#define NO_GRID "the grid has too few nodes, or is larger than its array"
#define OUTSIDE "a sample is outside of the grid"

static Outcome spread_samples(Call *call)
{
    Grid grid;
    if (!IS_SLICE(SIZE('n')))
        return refuse(call, BAD_VALUE, NO_SLICE);
    if (!take_grid(call, call->at[2], &grid))
        return refuse(call, BAD_VALUE, NO_GRID);
    if (!spread_slice(&grid, call->at[0], call->at[1], SIZE('a'), SIZE('b')))
        return refuse(call, BAD_VALUE, OUTSIDE);
    return DONE;
}

const Loop spread = {
    "spread",
    "Y:f(n,2) mass:F(g,t) place:d(3) columns:#c start:#a stop:#b",
    spread_samples,
};

static Outcome gather_field(Call *call)
{
    Grid grid;
    if (!IS_SLICE(SIZE('n')))
        return refuse(call, BAD_VALUE, NO_SLICE);
    if (!take_grid(call, call->at[3], &grid))
        return refuse(call, BAD_VALUE, NO_GRID);
    if (!gather_slice(&grid, call->at[0], call->at[1], call->at[2], SIZE('a'), SIZE('b'),
                      call->at[7]))
        return refuse(call, BAD_VALUE, OUTSIDE);
    return DONE;
}

const Loop gather = {
    "gather",
    "Y:f(n,2) field:f(g,t) r:F(n,2) place:d(3) columns:#c start:#a stop:#b total:D(1)",
    gather_field,
};

/* ---- Attraction along edges, and a step ----------------------------------------------- */

typedef struct {
    const int32_t *indptr, *indices;
    const float *weights;
    Py_ssize_t n, edges;
    float inverse_alpha;
} Edges;

typedef struct {
    float scale, push, rate, momentum;
    int flat;
} Step;

/* Take the edges of a graph; 0 if there are too many samples. */
static int take_edges(const Call *call, int first, double alpha, Edges *edges)
{
    edges->indptr = call->at[first];
    edges->indices = call->at[first + 1];
    edges->weights = call->at[first + 2];
    edges->n = SIZE('n');
    edges->edges = SIZE('e');
    edges->inverse_alpha = (float)(1 / alpha);
    return SIZE('n') < INT32_MAX && alpha > 0;
}

#define NO_GRAPH "too many samples, or alpha is not above 0"
#define NO_INDEX "the graph has an index outside of the samples"

INLINE int has_row(const Edges *edges, Py_ssize_t i)
{
    int32_t first = edges->indptr[i], last = edges->indptr[i + 1];
    return 0 <= first && first <= last && last <= edges->edges;
}

#define MUCH (1 << 17) /* samples: more than the nearer caches hold */
#define AHEAD 64       /* edges whose ends are asked for, if there are so many */

/* Every other number of two vectors, from the first or from the second one. */
#if defined(__clang__) || __GNUC__ >= 12
#define EVENS(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODDS(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
typedef int32_t EightInts __attribute__((vector_size(32), aligned(4)));
#define EVENS(a, b) __builtin_shuffle(a, b, (EightInts){0, 2, 4, 6, 8, 10, 12, 14})
#define ODDS(a, b) __builtin_shuffle(a, b, (EightInts){1, 3, 5, 7, 9, 11, 13, 15})
#endif

INLINE int64_t pair_at(const float *y, uint32_t j)
{
    int64_t pair;
    memcpy(&pair, y + 2 * (size_t)j, sizeof pair);
    return pair;
}

/* Sum of w (y_i - y_j) / (1 + |y_i - y_j|^2 / alpha) over a row; 0 if it has a bad index.
   The last edges of a row are filled up by the sample itself, which adds nothing. */
INLINE int pull_row(const Edges *edges, const float *y, Py_ssize_t i, float *pull,
                    int is_much)
{
    EightFloats ax = {0}, ay = {0}, w;
    float x = y[2 * i], z = y[2 * i + 1];
    uint32_t n = (uint32_t)edges->n, rest[EIGHT];
    int32_t e = edges->indptr[i], last = edges->indptr[i + 1];
    for (; e < last; e += EIGHT) {
        const uint32_t *j = (const uint32_t *)edges->indices + e;
        if (is_much && edges->edges - e >= AHEAD + EIGHT)
            for (int l = AHEAD; l < AHEAD + EIGHT; l++)
                __builtin_prefetch(y + 2 * (size_t)j[l]);
        if (last - e >= EIGHT) {
            w = *(const EightFloats *)(edges->weights + e);
        } else {
            w = (EightFloats){0};
            for (int l = 0; l < EIGHT; l++) {
                rest[l] = e + l < last ? j[l] : (uint32_t)i;
                w[l] = e + l < last ? edges->weights[e + l] : 0;
            }
            j = rest;
        }
        if (j[0] >= n || j[1] >= n || j[2] >= n || j[3] >= n || j[4] >= n || j[5] >= n ||
            j[6] >= n || j[7] >= n)
            return 0;
        FourLongs low = {pair_at(y, j[0]), pair_at(y, j[1]), pair_at(y, j[2]),
                         pair_at(y, j[3])};
        FourLongs high = {pair_at(y, j[4]), pair_at(y, j[5]), pair_at(y, j[6]),
                          pair_at(y, j[7])};
        EightFloats dx = x - EVENS((EightFloats)low, (EightFloats)high);
        EightFloats dy = z - ODDS((EightFloats)low, (EightFloats)high);
        EightFloats q = w / (1 + (dx * dx + dy * dy) * edges->inverse_alpha);
        ax += q * dx;
        ay += q * dy;
    }
    pull[0] = ((ax[0] + ax[1]) + (ax[2] + ax[3])) + ((ax[4] + ax[5]) + (ax[6] + ax[7]));
    pull[1] = ((ay[0] + ay[1]) + (ay[2] + ay[3])) + ((ay[4] + ay[5]) + (ay[6] + ay[7]));
    return 1;
}

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
    Edges edges;
    const double *factors = call->at[8]; /* alpha, scale, push, rate, momentum */
    Step step = {(float)factors[1], (float)factors[2], (float)factors[3],
                 (float)factors[4], SIZE('z') != 0};
    if (!IS_SLICE(SIZE('n')))
        return refuse(call, BAD_VALUE, NO_SLICE);
    if (!take_edges(call, 1, factors[0], &edges))
        return refuse(call, BAD_VALUE, NO_GRAPH);
    if (!move_slice(&edges, call->at[0], call->at[4], call->at[5], call->at[6],
                    call->at[7], &step, SIZE('a'), SIZE('b'), call->at[9]))
        return refuse(call, BAD_INDEX, NO_INDEX);
    return DONE;
}

const Loop move_samples = {
    "move_samples",
    "Y:f(n,2) pointer:i(n+1) column:i(e) weights:f(e) r:f(n,2) velocity:F(n,2) "
    "gain:F(n,2) moved:F(n,2) factors:d(5) sums:D(7) flat:#z start:#a stop:#b",
    move_all,
};

/* Sum of w log(1 + |y_i - y_j|^2 / alpha) over the edges of a slice of rows. */
static Outcome stretch_edges(Call *call)
{
    Edges edges;
    const float *y = call->at[0];
    double sum = 0;
    if (!IS_SLICE(SIZE('n')))
        return refuse(call, BAD_VALUE, NO_SLICE);
    if (!take_edges(call, 1, call->real, &edges))
        return refuse(call, BAD_VALUE, NO_GRAPH);
    for (Py_ssize_t i = SIZE('a'); i < SIZE('b'); i++) {
        if (!has_row(&edges, i))
            return refuse(call, BAD_INDEX, NO_INDEX);
        for (int32_t e = edges.indptr[i]; e < edges.indptr[i + 1]; e++) {
            uint32_t j = (uint32_t)edges.indices[e];
            if (j >= (size_t)edges.n)
                return refuse(call, BAD_INDEX, NO_INDEX);
            float dx = y[2 * i] - y[2 * (size_t)j];
            float dy = y[2 * i + 1] - y[2 * (size_t)j + 1];
            sum += edges.weights[e] * logf(1 + (dx * dx + dy * dy) * edges.inverse_alpha);
        }
    }
    *(double *)call->at[7] = sum;
    return DONE;
}

const Loop stretch = {
    "stretch",
    "Y:f(n,2) pointer:i(n+1) column:i(e) weights:f(e) alpha:r start:#a stop:#b total:D(1)",
    stretch_edges,
};

/* ---- New samples ----------------------------------------------------------------------- */

#define ROUNDS 30

INLINE float held(float value, float low, float high)
{
    return value < low ? low : (value > high ? high : value);
}

/* Balance a sample between its k neighbours and the field; 0 if it leaves the grid. */
INLINE int settle(const Grid *grid, const float *field, const float *y,
                  const int64_t *near, const float *w, Py_ssize_t k, float inverse_alpha,
                  float push, const float *box, int flat, float *out)
{
    float at[2] = {0, 0}, low[2], high[2];
    low[0] = low[1] = INFINITY;
    high[0] = high[1] = -INFINITY;
    for (Py_ssize_t j = 0; j < k; j++) {
        for (int c = 0; c < 2; c++) {
            float there = y[2 * near[j] + c];
            at[c] += w[j] * there;
            low[c] = there < low[c] ? there : low[c];
            high[c] = there > high[c] ? there : high[c];
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        float u, v, r[2], sum = 0, f[2] = {0, 0};
        float seen[2] = {held(at[0], box[0], box[2]), held(at[1], box[1], box[3])};
        Py_ssize_t node = node_of(grid, seen, &u, &v);
        if (node < 0)
            return 0;
        field_at(grid, field, node, u, v, r);
        for (Py_ssize_t j = 0; j < k; j++) {
            float dx = at[0] - y[2 * near[j]], dy = at[1] - y[2 * near[j] + 1];
            float a = w[j] / (1 + (dx * dx + dy * dy) * inverse_alpha);
            sum += a;
            f[0] += a * dx;
            f[1] += a * dy;
        }
        for (int c = 0; c < 2 - flat; c++)
            at[c] = held(at[c] - 0.5f * (f[c] - push * r[c]) / sum, low[c] - 1, high[c] + 1);
    }
    out[0] = at[0];
    out[1] = at[1];
    return 1;
}

EVERY_PROCESSOR
static int settle_slice(const Grid *grid, const float *field, const float *y,
                        const int64_t *near, const float *w, Py_ssize_t k,
                        float inverse_alpha, float push, const float *box, int flat,
                        float *out, Py_ssize_t start, Py_ssize_t stop)
{
    for (Py_ssize_t i = start; i < stop; i++)
        if (!settle(grid, field, y, near + i * k, w + i * k, k, inverse_alpha, push, box,
                    flat, out + 2 * i))
            return 0;
    return 1;
}

static Outcome settle_new(Call *call)
{
    Grid grid;
    const double *factors = call->at[6]; /* alpha, push */
    if (!IS_SLICE(SIZE('q')))
        return refuse(call, BAD_VALUE, NO_SLICE);
    if (!take_grid(call, call->at[4], &grid))
        return refuse(call, BAD_VALUE, NO_GRID);
    if (!settle_slice(&grid, call->at[3], call->at[0], call->at[1], call->at[2],
                      SIZE('k'), (float)(1 / factors[0]), (float)factors[1], call->at[5],
                      SIZE('z') != 0, call->at[7], SIZE('a'), SIZE('b')))
        return refuse(call, BAD_VALUE, OUTSIDE);
    return DONE;
}

const Loop settle_samples = {
    "settle_samples",
    "Y:f(n,2) near:l(q,k)<n weights:f(q,k) field:f(g,t) place:d(3) box:f(4) factors:d(2) "
    "placed:F(q,2) columns:#c flat:#z start:#a stop:#b",
    settle_new,
};
