/* Means, covariances and factors of patches; see loops.h and patches.py. */

#include "loops.h"

#define AT_ONCE 32 /* patches between looks for a signal */

/* ---- Means and covariances of patches ---------------------------------------------- */

typedef struct {
    const double *centers, *X;
    const int64_t *indices;
    Py_ssize_t k, m, wide; /* neighbours; features; the same in Doubles */
    int include_center;
    Doubles *gaps, *sums; /* scratch: points from their first; rows of sums */
} Moments;

/* Points are measured from their first, so that identical ones differ by nothing. */
static const double *gather_points(const Moments *s, Py_ssize_t i)
{
    const int64_t *near = s->indices + i * s->k;
    Py_ssize_t extra = s->include_center, m = s->m;
    const double *first = extra ? s->centers + i * m : s->X + near[0] * m;
    for (Py_ssize_t p = 0; p < s->k + extra; p++) {
        const double *point = extra && p == 0 ? first : s->X + near[p - extra] * m;
        double *gap = (double *)(s->gaps + p * s->wide);
        for (Py_ssize_t f = 0; f < m; f++)
            gap[f] = point[f] - first[f];
    }
    return first;
}

EVERY_PROCESSOR
static void centre_points(const Moments *s, Py_ssize_t n_points)
{
    for (Py_ssize_t w = 0; w < s->wide; w++) {
        Doubles sum = {0};
        for (Py_ssize_t p = 0; p < n_points; p++)
            sum += s->gaps[p * s->wide + w];
        s->sums[w] = sum / (double)n_points;
        for (Py_ssize_t p = 0; p < n_points; p++)
            s->gaps[p * s->wide + w] -= s->sums[w];
    }
}

#define ROWS 4 /* of a covariance, summed at once: one sum alone would wait for itself */

/* Sums of products of feature `f`, and of the three after it, with all from `f` on. */
EVERY_PROCESSOR
static void multiply_points(const Moments *s, Py_ssize_t n_points, Py_ssize_t f)
{
    Py_ssize_t wide = s->wide;
    for (Py_ssize_t w = f / N_DOUBLES; w < wide; w++) {
        Doubles sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
        const Doubles *point = s->gaps;
        for (Py_ssize_t p = 0; p < n_points; p++, point += wide) {
            const double *ours = (const double *)point + f;
            sum0 += ours[0] * point[w];
            sum1 += ours[1] * point[w];
            sum2 += ours[2] * point[w];
            sum3 += ours[3] * point[w];
        }
        s->sums[w] = sum0, s->sums[wide + w] = sum1;
        s->sums[2 * wide + w] = sum2, s->sums[3 * wide + w] = sum3;
    }
}

static void write_covariance(const Moments *s, Py_ssize_t n_points, double *covariance)
{
    double divisor = n_points > 1 ? (double)(n_points - 1) : 1;
    for (Py_ssize_t row = 0; row < s->m; row++) {
        if (row % ROWS == 0)
            multiply_points(s, n_points, row);
        const double *sums = (const double *)(s->sums + row % ROWS * s->wide);
        for (Py_ssize_t g = row; g < s->m; g++)
            covariance[row * s->m + g] = covariance[g * s->m + row] = sums[g] / divisor;
    }
}

static void write_centred(const Moments *s, Py_ssize_t n_points, double *centred)
{
    for (Py_ssize_t p = 0; p < n_points; p++)
        memcpy(centred + p * s->m, s->gaps + p * s->wide,
               sizeof(double) * (size_t)s->m);
}

/* Make scratch for n_points points. */
static int make_room(Call *call, Moments *s, Py_ssize_t n_points)
{
    s->wide = (s->m + N_DOUBLES - 1) / N_DOUBLES;
    s->gaps = scratch(call, n_points, s->wide, sizeof(Doubles));
    s->sums = scratch(call, ROWS, s->wide, sizeof(Doubles));
    return s->gaps != NULL && s->sums != NULL;
}

/* Means of patches, and either their covariances or, if `factored`, the points
   themselves, from the means. */
static Outcome find_moments(Call *call)
{
    Moments s = {call->at[0], call->at[1], call->at[2], SIZE('k'), SIZE('m')};
    double *means = call->at[3], *shapes = call->at[4];
    s.include_center = SIZE('c') > 0;
    Py_ssize_t n_points = s.k + s.include_center, m = s.m;
    if (n_points < 1)
        return refuse(call, BAD_VALUE, "a patch has no points");
    if (SIZE('r') != (SIZE('f') ? n_points : m))
        return refuse(call, BAD_VALUE, "shapes has another number of rows");
    if (!make_room(call, &s, n_points))
        return NO_MEMORY;
    for (Py_ssize_t i = 0; i < SIZE('q'); i++) {
        if (i % AT_ONCE == 0 && is_interrupted(call))
            return INTERRUPTED;
        const double *first = gather_points(&s, i);
        centre_points(&s, n_points);
        for (Py_ssize_t f = 0; f < m; f++)
            means[i * m + f] = first[f] + ((double *)s.sums)[f];
        if (SIZE('f'))
            write_centred(&s, n_points, shapes + i * n_points * m);
        else
            write_covariance(&s, n_points, shapes + i * m * m);
    }
    return DONE;
}

const Loop moments_of_patches = {
    "moments_of_patches",
    "centers:d(q,m) X:d(n,m) indices:l(q,k)<n mean:D(q,m) shapes:D(q,r,m) "
    "include_center:#c factored:#f",
    find_moments,
};

/* AᵀA + ε I of factors A, (r, m) each, packed: upper triangles row by row. */
static Outcome multiply_factors(Call *call)
{
    const double *factor = call->at[0], *ridge = call->at[1];
    double *packed = call->at[2];
    Py_ssize_t n_points = SIZE('r');
    Moments s = {.m = SIZE('m')};
    if (!is_packed(SIZE('p'), s.m))
        return refuse(call, BAD_VALUE, "out has no room for triangles of size m");
    if (!make_room(call, &s, n_points))
        return NO_MEMORY;
    for (Py_ssize_t i = 0; i < SIZE('n'); i++) {
        if (i % AT_ONCE == 0 && is_interrupted(call))
            return INTERRUPTED;
        for (Py_ssize_t p = 0; p < n_points; p++, factor += s.m)
            memcpy(s.gaps + p * s.wide, factor, sizeof(double) * (size_t)s.m);
        for (Py_ssize_t row = 0; row < s.m; row++) {
            if (row % ROWS == 0)
                multiply_points(&s, n_points, row);
            const double *sums = (const double *)(s.sums + row % ROWS * s.wide);
            *packed++ = sums[row] + ridge[i];
            for (Py_ssize_t g = row + 1; g < s.m; g++)
                *packed++ = sums[g];
        }
    }
    return DONE;
}

const Loop packed_products = {
    "packed_products",
    "factors:d(n,r,m) noise:d(n) out:D(n,p)",
    multiply_factors,
};
