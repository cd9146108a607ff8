/* Loops over the pairs of a nearly complete graph; see _loops.c and _native.py. */

#include "_loops.h"

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

/* Means of patches, and either their covariances or, if `factored`, the points
   themselves, from the means. */
PyObject *moments_of_patches(PyObject *self, PyObject *args)
{
    Py_buffer centers, X, indices, mean, out;
    int factored;
    Moments s;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*nnii", &centers, &X, &indices, &mean, &out,
                          &s.k, &s.m, &s.include_center, &factored))
        return NULL;
    s.centers = centers.buf, s.X = X.buf, s.indices = indices.buf;
    s.wide = (s.m + N_DOUBLES - 1) / N_DOUBLES;
    double *means = mean.buf, *shapes = out.buf;
    Py_ssize_t n = mean.len / (Py_ssize_t)sizeof(double) / s.m;
    Py_ssize_t n_points = s.k + s.include_center;
    s.gaps = calloc((size_t)((n_points + ROWS) * s.wide), sizeof(Doubles));
    s.sums = s.gaps + n_points * s.wide;
    if (s.gaps != NULL) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < n; i++) {
            const double *first = gather_points(&s, i);
            centre_points(&s, n_points);
            for (Py_ssize_t f = 0; f < s.m; f++)
                means[i * s.m + f] = first[f] + ((double *)s.sums)[f];
            if (factored)
                write_centred(&s, n_points, shapes + i * n_points * s.m);
            else
                write_covariance(&s, n_points, shapes + i * s.m * s.m);
        }
        Py_END_ALLOW_THREADS
    }
    int room = s.gaps != NULL;
    free(s.gaps);
    PyBuffer_Release(&centers);
    PyBuffer_Release(&X);
    PyBuffer_Release(&indices);
    PyBuffer_Release(&mean);
    PyBuffer_Release(&out);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* AᵀA + ε I of factors A, (r, m) each, packed: upper triangles row by row. */
PyObject *packed_products(PyObject *self, PyObject *args)
{
    Py_buffer factors, noise, out;
    Py_ssize_t n_points;
    Moments s = {0};
    if (!PyArg_ParseTuple(args, "y*y*w*nn", &factors, &noise, &out, &n_points, &s.m))
        return NULL;
    const double *factor = factors.buf, *ridge = noise.buf;
    double *packed = out.buf;
    Py_ssize_t n = noise.len / (Py_ssize_t)sizeof(double);
    s.wide = (s.m + N_DOUBLES - 1) / N_DOUBLES;
    s.gaps = calloc((size_t)((n_points + ROWS) * s.wide), sizeof(Doubles));
    s.sums = s.gaps + n_points * s.wide;
    if (s.gaps != NULL) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < n; i++) {
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
        Py_END_ALLOW_THREADS
    }
    int room = s.gaps != NULL;
    free(s.gaps);
    PyBuffer_Release(&factors);
    PyBuffer_Release(&noise);
    PyBuffer_Release(&out);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ---- Principal directions of small matrices, eight side by side -------------------- */

#define MOST_FEATURES 16
#define SWEEPS 40
#define CONVERGED 1e-32 /* squares off the diagonal, as a part of all */

/* Jacobi's method on `a`, symmetric and scaled; rows of `v` become the directions. A
   matrix that has converged is left alone, so that what becomes of it does not depend
   on its company. Returns whether all have. */
EVERY_PROCESSOR
static int rotate_eight(Doubles *a, Doubles *v, Py_ssize_t m)
{
    for (Py_ssize_t k = 0; k < m * m; k++)
        v[k] = (Doubles){0} + (k % (m + 1) == 0 ? 1.0 : 0.0);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        Doubles off = {0}, on = {0}, move;
        for (Py_ssize_t i = 0; i < m; i++) {
            on += a[i * m + i] * a[i * m + i];
            for (Py_ssize_t j = i + 1; j < m; j++)
                off += a[i * m + j] * a[i * m + j];
        }
        int moving = 0;
        for (int l = 0; l < N_DOUBLES; l++) {
            move[l] = off[l] > CONVERGED * (on[l] + off[l]) ? 1 : 0;
            moving |= move[l] > 0;
        }
        if (!moving)
            return 1;
        for (Py_ssize_t p = 0; p < m; p++)
            for (Py_ssize_t q = p + 1; q < m; q++) {
                Doubles apart = a[q * m + q] - a[p * m + p], twice = 2 * a[p * m + q];
                Doubles t, c, s;
                for (int l = 0; l < N_DOUBLES; l++) {
                    double root = sqrt(apart[l] * apart[l] + twice[l] * twice[l]);
                    double below = apart[l] < 0 ? apart[l] - root : apart[l] + root;
                    t[l] = root > 0 ? move[l] * twice[l] / below : 0;
                    c[l] = 1 / sqrt(1 + t[l] * t[l]);
                }
                s = t * c;
                a[p * m + p] -= t * a[p * m + q];
                a[q * m + q] += t * a[p * m + q];
                a[p * m + q] -= move * a[p * m + q];
#define ROTATE(x, y)                        \
    do {                                    \
        Doubles one = (x), other = (y);     \
        (x) = c * one - s * other;          \
        (y) = s * one + c * other;          \
    } while (0)
                for (Py_ssize_t k = 0; k < p; k++)
                    ROTATE(a[k * m + p], a[k * m + q]);
                for (Py_ssize_t k = p + 1; k < q; k++)
                    ROTATE(a[p * m + k], a[k * m + q]);
                for (Py_ssize_t k = q + 1; k < m; k++)
                    ROTATE(a[p * m + k], a[q * m + k]);
                for (Py_ssize_t k = 0; k < m; k++)
                    ROTATE(v[p * m + k], v[q * m + k]);
#undef ROTATE
            }
    }
    return 0;
}

/* Write one of the eight, largest variance first. */
static void write_directions(const Doubles *a, const Doubles *v, Py_ssize_t m, int lane,
                             double scale, double *variances, double *directions)
{
    Py_ssize_t order[MOST_FEATURES];
    for (Py_ssize_t i = 0; i < m; i++) {
        Py_ssize_t at = i;
        for (; at > 0 && a[order[at - 1] * (m + 1)][lane] < a[i * (m + 1)][lane]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (Py_ssize_t i = 0; i < m; i++) {
        variances[i] = scale * a[order[i] * (m + 1)][lane];
        for (Py_ssize_t k = 0; k < m; k++)
            directions[i * m + k] = v[order[i] * m + k][lane];
    }
}

static int find_directions(const double *matrices, double *variances, double *directions,
                           Py_ssize_t n, Py_ssize_t m)
{
    Doubles a[MOST_FEATURES * MOST_FEATURES], v[MOST_FEATURES * MOST_FEATURES];
    double scale[N_DOUBLES];
    int converged = 1;
    for (Py_ssize_t first = 0; first < n; first += N_DOUBLES) {
        for (int l = 0; l < N_DOUBLES; l++) {
            const double *one = matrices + (first + l < n ? first + l : first) * m * m;
            scale[l] = 0;
            for (Py_ssize_t k = 0; k < m; k++)
                scale[l] += fabs(one[k * (m + 1)]);
            if (!(scale[l] > 0))
                scale[l] = 1;
            for (Py_ssize_t k = 0; k < m * m; k++)
                a[k][l] = one[k] / scale[l];
        }
        converged &= rotate_eight(a, v, m);
        for (int l = 0; l < N_DOUBLES && first + l < n; l++)
            write_directions(a, v, m, l, scale[l], variances + (first + l) * m,
                             directions + (first + l) * m * m);
    }
    return converged;
}

/* Returns whether all have been found. */
PyObject *principal_directions(PyObject *self, PyObject *args)
{
    Py_buffer matrices, variances, directions;
    Py_ssize_t n, m;
    int found = 0;
    if (!PyArg_ParseTuple(args, "y*w*w*nn", &matrices, &variances, &directions, &n, &m))
        return NULL;
    if (m <= MOST_FEATURES) {
        Py_BEGIN_ALLOW_THREADS
        found = find_directions(matrices.buf, variances.buf, directions.buf, n, m);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&matrices);
    PyBuffer_Release(&variances);
    PyBuffer_Release(&directions);
    return PyBool_FromLong(found);
}

/* ---- Principal curvatures of listed pairs, 32 right patches at a time ------------- */

#define LANES (4 * N_DOUBLES)
#define RUNS 16 /* left patches that meet the same right ones while these are in cache */

typedef struct {
    const double *left, *left_varied, *right, *right_varied; /* a patch after another */
    const double *groups, *groups_varied; /* the right ones, LANES side by side */
    const int64_t *row, *column;
    double *mean, *within, *between;
    Py_ssize_t r, m; /* directions and features */
    double near;     /* a larger cosine has lost the digits of its angle */
} Turns;

/* One left patch and LANES right ones; `within` is -1 where a cosine is too near to 1. */
EVERY_PROCESSOR
static void turn_group(const Turns *t, Py_ssize_t i, Py_ssize_t group, double *mean,
                       double *within, double *between)
{
    const double *u = t->left + i * t->r * t->m, *varied = t->left_varied + i * t->r;
    const Doubles *v = (const Doubles *)(t->groups + group * t->r * t->m * LANES);
    const double *also = t->groups_varied + group * t->r * LANES;
    double largest[LANES], smallest[LANES], sines[LANES], count[LANES], cosine[LANES];
    for (int k = 0; k < LANES; k++)
        largest[k] = sines[k] = count[k] = 0, smallest[k] = 1;
    for (Py_ssize_t l = 0; l < t->r; l++, also += LANES) {
        Doubles sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
        for (Py_ssize_t f = 0; f < t->m; f++, u++, v += 4) {
            sum0 += *u * v[0];
            sum1 += *u * v[1];
            sum2 += *u * v[2];
            sum3 += *u * v[3];
        }
        Doubles *sums = (Doubles *)cosine;
        sums[0] = sum0, sums[1] = sum1, sums[2] = sum2, sums[3] = sum3;
        for (int k = 0; k < LANES; k++) {
            double shared = varied[l] * also[k], c = fabs(cosine[k]);
            largest[k] = c > largest[k] ? c : largest[k];
            c += 1 - shared; /* a direction without variance turns by nothing */
            smallest[k] = c < smallest[k] ? c : smallest[k];
            sines[k] += sqrt(fabs(1 - c * c));
            count[k] += shared;
        }
    }
    for (int k = 0; k < LANES; k++) {
        double some = count[k] > 0 ? 1 : 0, c = some * smallest[k];
        double chord = 2 * fabs(1 - c), sine = sqrt(fabs(1 - largest[k] * largest[k]));
        mean[k] = sines[k] / (count[k] > 0 ? count[k] : 1);
        within[k] = largest[k] > t->near ? -1 : some * sine;
        between[k] = sqrt(chord) + sqrt(fabs(chord * (1 - chord / 4)));
    }
}

/* One pair, its sines from chords: √(1 - c²) loses half the digits of a small angle. */
static void turn_exactly(const Turns *t, Py_ssize_t e)
{
    const double *u = t->left + t->row[e] * t->r * t->m;
    const double *v = t->right + t->column[e] * t->r * t->m;
    const double *here = t->left_varied + t->row[e] * t->r;
    const double *there = t->right_varied + t->column[e] * t->r;
    double sines = 0, count = 0, least = 2, widest = 0;
    for (Py_ssize_t l = 0; l < t->r; l++, u += t->m, v += t->m) {
        double cosine = 0, chord = 0;
        if (here[l] * there[l] == 0)
            continue;
        for (Py_ssize_t f = 0; f < t->m; f++)
            cosine += u[f] * v[f];
        double sign = cosine < 0 ? -1 : 1;
        for (Py_ssize_t f = 0; f < t->m; f++)
            chord += (u[f] - sign * v[f]) * (u[f] - sign * v[f]);
        double sine = sqrt(fabs(chord * (1 - chord / 4)));
        sines += sine, count += 1;
        least = sine < least ? sine : least;
        widest = chord > widest ? chord : widest;
    }
    t->mean[e] = sines / count;
    t->within[e] = least;
    t->between[e] = sqrt(widest) + sqrt(fabs(widest * (1 - widest / 4)));
}

typedef struct {
    Py_ssize_t at, end;
} Run;

/* Find runs of pairs of one left patch with ascending right ones. */
static int find_runs(const Turns *t, Py_ssize_t start, Py_ssize_t n_pairs, Run *runs)
{
    int count = 0;
    for (Py_ssize_t e = start; e < n_pairs; e++) {
        if (e == start || t->row[e] != t->row[e - 1] || t->column[e] < t->column[e - 1]) {
            if (count == RUNS)
                break;
            runs[count++].at = e;
        }
        runs[count - 1].end = e + 1;
    }
    return count;
}

static void turn_pairs(const Turns *t, Py_ssize_t n_pairs)
{
    Run runs[RUNS];
    double mean[LANES], within[LANES], between[LANES];
    for (Py_ssize_t start = 0; start < n_pairs;) {
        int n_runs = find_runs(t, start, n_pairs, runs), left = n_runs;
        start = runs[n_runs - 1].end;
        while (left) {
            /* The first group that some run has not passed. */
            int64_t group = INT64_MAX;
            for (int k = 0; k < n_runs; k++)
                if (runs[k].at < runs[k].end && t->column[runs[k].at] / LANES < group)
                    group = t->column[runs[k].at] / LANES;
            for (int k = 0; k < n_runs; k++) {
                Py_ssize_t at = runs[k].at, end = runs[k].end;
                if (at == end || t->column[at] / LANES != group)
                    continue;
                turn_group(t, t->row[at], group, mean, within, between);
                for (; at < end && t->column[at] / LANES == group; at++) {
                    int lane = (int)(t->column[at] % LANES);
                    t->mean[at] = mean[lane];
                    t->within[at] = within[lane];
                    t->between[at] = between[lane];
                    if (within[lane] < 0)
                        turn_exactly(t, at);
                }
                runs[k].at = at;
                left -= at == end;
            }
        }
    }
}

PyObject *turns_of_pairs(PyObject *self, PyObject *args)
{
    Py_buffer part[6], row, column, out[3];
    Turns t;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*w*w*w*nnd", &part[0], &part[1], &part[2],
                          &part[3], &part[4], &part[5], &row, &column, &out[0], &out[1],
                          &out[2], &t.r, &t.m, &t.near))
        return NULL;
    t.left = part[0].buf, t.left_varied = part[1].buf;
    t.right = part[2].buf, t.right_varied = part[3].buf;
    t.groups = part[4].buf, t.groups_varied = part[5].buf;
    t.row = row.buf, t.column = column.buf;
    t.mean = out[0].buf, t.within = out[1].buf, t.between = out[2].buf;
    Py_BEGIN_ALLOW_THREADS
    turn_pairs(&t, row.len / (Py_ssize_t)sizeof(int64_t));
    Py_END_ALLOW_THREADS
    for (int k = 0; k < 6; k++)
        PyBuffer_Release(&part[k]);
    PyBuffer_Release(&row);
    PyBuffer_Release(&column);
    for (int k = 0; k < 3; k++)
        PyBuffer_Release(&out[k]);
    Py_RETURN_NONE;
}

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

PyObject *all_squared_gaps(PyObject *self, PyObject *args)
{
    Py_buffer queries, features, out;
    Py_ssize_t n, m;
    if (!PyArg_ParseTuple(args, "y*y*w*nn", &queries, &features, &out, &n, &m))
        return NULL;
    Py_ssize_t n_queries = out.len / (Py_ssize_t)sizeof(double) / n;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t q = 0; q < n_queries; q++)
        square_all_gaps((const double *)queries.buf + q * m, features.buf,
                        (double *)out.buf + q * n, n, m);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&queries);
    PyBuffer_Release(&features);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

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

PyObject *keys_of_rows(PyObject *self, PyObject *args)
{
    Py_buffer numbers, keys;
    Py_ssize_t n;
    int dropped, bits;
    if (!PyArg_ParseTuple(args, "y*w*nii", &numbers, &keys, &n, &dropped, &bits))
        return NULL;
    Py_ssize_t total = numbers.len / (Py_ssize_t)sizeof(uint64_t);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t at = 0; at < total; at += n)
        make_keys((const uint64_t *)numbers.buf + at, (uint64_t *)keys.buf + at, n,
                  dropped, bits);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&keys);
    Py_RETURN_NONE;
}

/* Of sorted keys, the places and the numbers of the first `k` in each row. */
PyObject *read_keys(PyObject *self, PyObject *args)
{
    Py_buffer keys, numbers, places, values;
    Py_ssize_t n, k;
    int bits;
    if (!PyArg_ParseTuple(args, "y*y*w*w*nni", &keys, &numbers, &places, &values, &n, &k,
                          &bits))
        return NULL;
    const uint64_t *key = keys.buf;
    const double *number = numbers.buf;
    int64_t *place = places.buf;
    double *value = values.buf;
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    Py_ssize_t n_rows = n ? keys.len / (Py_ssize_t)sizeof(uint64_t) / n : 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t row = 0; row < n_rows; row++, key += n, number += n)
        for (Py_ssize_t j = 0; j < k; j++) {
            *place = (int64_t)(key[j] & mask);
            *value++ = number[*place++];
        }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&keys);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&places);
    PyBuffer_Release(&values);
    Py_RETURN_NONE;
}
