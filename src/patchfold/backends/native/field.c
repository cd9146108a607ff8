/* Loops of CauchyMap: weights, the field of repulsion, new samples; steps: pulls.c.

   `field.py` calls them, and says in NumPy what each computes. Coordinates are
   pairs of floats, (n, 2). Loops work on samples a to b, and check every place on a grid
   when it is used. Sums are made of fixed slices of samples, so that results do not depend
   on the number of threads. */

#include "loops.h"

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

#define ROWS_AT_ONCE 16 /* rows between looks for a signal */

/* Newton's method for log(beta) inside a bracket; the entropy falls with beta. It starts
   where the perplexities of maps, 5 and 8 of 15 neighbours, take few rounds. */
static void calibrate_row(const double *squared, double *out, Py_ssize_t k, double target)
{
    double least = squared[0], mean = 0, low = 0, high = INFINITY;
    for (Py_ssize_t j = 1; j < k; j++)
        least = squared[j] < least ? squared[j] : least;
    for (Py_ssize_t j = 0; j < k; j++)
        mean += (squared[j] - least) / (double)k;
    double beta = mean > 0 ? 3 / mean : 0;
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
    for (Py_ssize_t i = 0; i < SIZE('n'); i++) {
        if (i % ROWS_AT_ONCE == 0 && is_interrupted(call))
            return INTERRUPTED;
        calibrate_row(squared + i * k, weights + i * k, k, call->real);
    }
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

typedef float FourFloats __attribute__((vector_size(16), aligned(4)));

/* Cubic B-splines at nodes -1, 0, 1, 2 for the fraction u, and their slopes. */
INLINE FourFloats spline(float u)
{
    const FourFloats cubed = {-1 / 6.0f, 0.5f, -0.5f, 1 / 6.0f};
    const FourFloats squared = {0.5f, -1, 0.5f, 0}, once = {-0.5f, 0, 0.5f, 0};
    const FourFloats fixed = {1 / 6.0f, 4 / 6.0f, 1 / 6.0f, 0};
    return ((cubed * u + squared) * u + once) * u + fixed;
}

INLINE FourFloats slopes(float u)
{
    const FourFloats squared = {-0.5f, 1.5f, -1.5f, 0.5f}, once = {1, -2, 1, 0};
    const FourFloats fixed = {-0.5f, 0, 0.5f, 0};
    return (squared * u + once) * u + fixed;
}

INLINE float total_of_four(FourFloats v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
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
        float u, v;
        Py_ssize_t node = node_of(grid, y + 2 * i, &u, &v);
        if (node < 0)
            return 0;
        FourFloats wx = spline(u), wy = spline(v);
        for (int p = 0; p < 4; p++)
            *(FourFloats *)(mass + node + p * grid->stride) += wx[p] * wy;
    }
    return 1;
}

/* phi at a point, and -1/2 of its gradient. */
INLINE float field_at(const Grid *grid, const float *field, Py_ssize_t node, float u,
                      float v, float *r)
{
    FourFloats wx = spline(u), dx = slopes(u), wy = spline(v), along = {0}, across = {0};
    for (int p = 0; p < 4; p++) {
        FourFloats row = *(const FourFloats *)(field + node + p * grid->stride);
        along += wx[p] * row;
        across += dx[p] * row;
    }
    r[0] = -0.5f * grid->inverse_h * total_of_four(across * wy);
    r[1] = -0.5f * grid->inverse_h * total_of_four(along * slopes(v));
    return total_of_four(along * wy);
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

/* ---- New samples ----------------------------------------------------------------------- */

#define ROUNDS 30
#define STILL 1e-4f /* a sample that a round moves by less stays there */

INLINE float held(float value, float low, float high)
{
    return value < low ? low : (value > high ? high : value);
}

typedef float EightFloats __attribute__((vector_size(32), aligned(4)));

/* The same sum as by pairs, from the outside in: few steps wait for each other. */
INLINE float folded(Floats v)
{
    EightFloats half[2];
    FourFloats quarter[2];
    memcpy(half, &v, sizeof v);
    half[0] += half[1];
    memcpy(quarter, half, sizeof half[0]);
    return total_of_four(quarter[0] + quarter[1]);
}

/* What balances a sample: its neighbours, filled up with weights of 0, and their box. */
typedef struct {
    float *x, *y, *w; /* scratch, `padded` of each */
    Py_ssize_t padded;
    float low[2], high[2];
} Around;

/* Take the k neighbours of a sample, and write their weighted mean to `at`. */
INLINE void look_around(Around *around, const float *y, const int64_t *near,
                        const float *w, Py_ssize_t k, float *at)
{
    at[0] = at[1] = 0;
    around->low[0] = around->low[1] = INFINITY;
    around->high[0] = around->high[1] = -INFINITY;
    for (Py_ssize_t j = 0; j < k; j++) {
        const float *there = y + 2 * near[j];
        around->x[j] = there[0];
        around->y[j] = there[1];
        around->w[j] = w[j];
        for (int c = 0; c < 2; c++) {
            at[c] += w[j] * there[c];
            around->low[c] = there[c] < around->low[c] ? there[c] : around->low[c];
            around->high[c] = there[c] > around->high[c] ? there[c] : around->high[c];
        }
    }
}

/* Balance a sample between its neighbours and the field; 0 if it leaves the grid. */
INLINE int settle(const Grid *grid, const float *field, const Around *around,
                  float inverse_alpha, float push, const float *box, int flat, float *at)
{
    for (int round = 0; round < ROUNDS; round++) {
        float u, v, r[2], moved = 0;
        float seen[2] = {held(at[0], box[0], box[2]), held(at[1], box[1], box[3])};
        Py_ssize_t node = node_of(grid, seen, &u, &v);
        if (node < 0)
            return 0;
        field_at(grid, field, node, u, v, r);
        Floats sums = {0}, fx = {0}, fy = {0};
        for (Py_ssize_t j = 0; j < around->padded; j += N_FLOATS) {
            Floats dx = at[0] - *(const Floats *)(around->x + j);
            Floats dy = at[1] - *(const Floats *)(around->y + j);
            Floats a = *(const Floats *)(around->w + j) /
                       (1 + (dx * dx + dy * dy) * inverse_alpha);
            sums += a;
            fx += a * dx;
            fy += a * dy;
        }
        float f[2] = {folded(fx), folded(fy)}, half = 0.5f / folded(sums);
        for (int c = 0; c < 2 - flat; c++) {
            float to = held(at[c] - half * (f[c] - push * r[c]), around->low[c] - 1,
                            around->high[c] + 1);
            moved += fabsf(to - at[c]);
            at[c] = to;
        }
        if (moved < STILL)
            break;
    }
    return 1;
}

EVERY_PROCESSOR
static int settle_slice(const Grid *grid, const float *field, const float *y,
                        const int64_t *near, const float *w, Py_ssize_t k,
                        Around *around, float inverse_alpha, float push,
                        const float *box, int flat, float *out, Py_ssize_t start,
                        Py_ssize_t stop)
{
    for (Py_ssize_t i = start; i < stop; i++) {
        look_around(around, y, near + i * k, w + i * k, k, out + 2 * i);
        if (!settle(grid, field, around, inverse_alpha, push, box, flat, out + 2 * i))
            return 0;
    }
    return 1;
}

static Outcome settle_new(Call *call)
{
    Grid grid;
    const double *factors = call->at[6]; /* alpha, push */
    Py_ssize_t k = SIZE('k'), padded = (k + N_FLOATS - 1) / N_FLOATS * N_FLOATS;
    float *room = scratch(call, padded, 3, sizeof(float));
    if (room == NULL)
        return NO_MEMORY;
    if (!IS_SLICE(SIZE('q')))
        return refuse(call, BAD_VALUE, NO_SLICE);
    if (!take_grid(call, call->at[4], &grid))
        return refuse(call, BAD_VALUE, NO_GRID);
    memset(room, 0, sizeof(float) * (size_t)(3 * padded));
    Around around = {room, room + padded, room + 2 * padded, padded, {0}, {0}};
    if (!settle_slice(&grid, call->at[3], call->at[0], call->at[1], call->at[2], k, &around,
                      (float)(1 / factors[0]), (float)factors[1], call->at[5],
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
