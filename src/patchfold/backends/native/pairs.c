/* Loops over the pairs of a nearly complete graph; see loops.h and pairs.py. */

#include "loops.h"

#define AT_ONCE 32 /* patches, or rows of numbers, between looks for a signal */

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

/* Make scratch of so many points. */
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

/* The call returns whether all have been found. */
static Outcome find_directions(Call *call)
{
    Py_ssize_t n = SIZE('n'), m = SIZE('m');
    const double *matrices = call->at[0];
    double *variances = call->at[1], *directions = call->at[2];
    Doubles a[MOST_FEATURES * MOST_FEATURES], v[MOST_FEATURES * MOST_FEATURES];
    double scale[N_DOUBLES];
    if (m > MOST_FEATURES)
        return refuse(call, BAD_VALUE, "matrices have more than 16 rows");
    call->result = 1;
    for (Py_ssize_t first = 0; first < n; first += N_DOUBLES) {
        if (is_interrupted(call))
            return INTERRUPTED;
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
        call->result &= rotate_eight(a, v, m);
        for (int l = 0; l < N_DOUBLES && first + l < n; l++)
            write_directions(a, v, m, l, scale[l], variances + (first + l) * m,
                             directions + (first + l) * m * m);
    }
    return DONE;
}

const Loop principal_directions = {
    "principal_directions",
    "matrices:d(n,m,m) variances:D(n,m) directions:D(n,m,m)",
    find_directions,
};

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

/* Every turn of the inner loop passes a group of a run, so it ends. */
static Outcome turn_pairs(Call *call, const Turns *t, Py_ssize_t n_pairs)
{
    Run runs[RUNS];
    double mean[LANES], within[LANES], between[LANES];
    for (Py_ssize_t start = 0; start < n_pairs;) {
        int n_runs = find_runs(t, start, n_pairs, runs), left = n_runs;
        start = runs[n_runs - 1].end;
        if (is_interrupted(call))
            return INTERRUPTED;
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
    return DONE;
}

static Outcome find_turns(Call *call)
{
    void *const *at = call->at;
    Turns t = {at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7],
               at[8], at[9], at[10], SIZE('r'), SIZE('m'), call->real};
    if (t.m ? SIZE('s') % t.m || SIZE('s') / t.m != t.r : SIZE('s') > 0)
        return refuse(call, BAD_VALUE, "groups has another number of directions");
    if (SIZE('j') > 0 && (SIZE('j') - 1) / LANES >= SIZE('g'))
        return refuse(call, BAD_VALUE, "groups has fewer patches than right");
    return turn_pairs(call, &t, SIZE('e'));
}

const Loop turns_of_pairs = {
    "turns_of_pairs",
    "left:d(i,r,m) left_varied:d(i,r) right:d(j,r,m) right_varied:d(j,r) "
    "groups:d(g,s,32) groups_varied:d(g,r,32) row:l(e)<i column:l(e)<j mean:D(e) "
    "within:D(e) between:D(e) near:r",
    find_turns,
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
