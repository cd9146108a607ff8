/* Principal directions of patches and the angles between them; see loops.h and
   patches.py. */

#include "loops.h"

/* ---- Principal directions of small matrices, eight side by side -------------------- */

#define MOST_FEATURES 24
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
        return refuse(call, BAD_VALUE, "matrices have more than 24 rows");
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

/* ---- Singular values and right vectors of small matrices, eight side by side ------- */

#define ORTHOGONAL 1e-30 /* square of the cosine of two rows that are left as they are */

/* The inner products of two rows. A macro, as a function would be compiled for the oldest
   processor first, then inlined. */
#define INNER(result, p, q)                       \
    do {                                          \
        Doubles even = {0}, odd = {0};            \
        for (Py_ssize_t k = 0; k + 1 < m; k += 2) { \
            even += (p)[k] * (q)[k];              \
            odd += (p)[k + 1] * (q)[k + 1];       \
        }                                         \
        if (m % 2)                                \
            even += (p)[m - 1] * (q)[m - 1];      \
        (result) = even + odd;                    \
    } while (0)

/* One-sided Jacobi: turn two rows after two until all are orthogonal. A pair that is, is
   left alone, so that what becomes of a matrix does not depend on its company. `squares`
   become those of the singular values. Returns whether all have converged. */
EVERY_PROCESSOR
static int turn_rows(Doubles *a, Doubles *squares, Py_ssize_t r, Py_ssize_t m)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        int turned = 0;
        for (Py_ssize_t p = 0; p < r; p++)
            INNER(squares[p], a + p * m, a + p * m);
        for (Py_ssize_t i = 0; i < r; i++)
            for (Py_ssize_t j = i + 1; j < r; j++) {
                Doubles *p = a + i * m, *q = a + j * m, both, t = {0}, c = {0};
                INNER(both, p, q);
                int turns = 0;
                for (int l = 0; l < N_DOUBLES; l++) {
                    double product = squares[i][l] * squares[j][l];
                    int far = both[l] * both[l] > ORTHOGONAL * product;
                    double apart = squares[j][l] - squares[i][l], twice = 2 * both[l];
                    double root = sqrt(apart * apart + twice * twice);
                    double below = apart < 0 ? apart - root : apart + root;
                    t[l] = far && root > 0 ? twice / below : 0;
                    c[l] = 1 / sqrt(1 + t[l] * t[l]);
                    turns |= far;
                }
                if (!turns)
                    continue;
                Doubles s = t * c;
                squares[i] -= t * both;
                squares[j] += t * both;
                for (Py_ssize_t k = 0; k < m; k++) {
                    Doubles one = p[k], other = q[k];
                    p[k] = c * one - s * other;
                    q[k] = s * one + c * other;
                }
                turned = 1;
            }
        if (!turned)
            return 1;
    }
    return 0;
}

/* Write one of the eight, largest singular value first; a row of zeros stays zeros. */
static void write_rows(const Doubles *a, const Doubles *squares, Py_ssize_t r,
                       Py_ssize_t m, int lane, double scale, double *values,
                       double *rows)
{
    Py_ssize_t order[MOST_FEATURES];
    for (Py_ssize_t i = 0; i < r; i++) {
        Py_ssize_t at = i;
        for (; at > 0 && squares[order[at - 1]][lane] < squares[i][lane]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (Py_ssize_t i = 0; i < r; i++) {
        const Doubles *row = a + order[i] * m;
        double length = sqrt(squares[order[i]][lane]);
        values[i] = scale * length;
        for (Py_ssize_t k = 0; k < m; k++)
            rows[i * m + k] = length > 0 ? row[k][lane] / length : 0;
    }
}

/* The call returns whether all have been found. */
static Outcome find_rows(Call *call)
{
    Py_ssize_t n = SIZE('n'), r = SIZE('r'), m = SIZE('m'), size = r * m;
    const double *matrices = call->at[0];
    double *values = call->at[1], *rows = call->at[2];
    if (r > MOST_FEATURES)
        return refuse(call, BAD_VALUE, "matrices have more than 24 rows");
    Doubles *a = scratch(call, r, m, sizeof(Doubles)), squares[MOST_FEATURES];
    double scale[N_DOUBLES];
    if (a == NULL)
        return NO_MEMORY;
    call->result = 1;
    for (Py_ssize_t first = 0; first < n; first += N_DOUBLES) {
        if (is_interrupted(call))
            return INTERRUPTED;
        for (int l = 0; l < N_DOUBLES; l++) {
            const double *one = matrices + (first + l < n ? first + l : first) * size;
            scale[l] = 0;
            for (Py_ssize_t k = 0; k < size; k++)
                scale[l] = fabs(one[k]) > scale[l] ? fabs(one[k]) : scale[l];
            if (!(scale[l] > 0))
                scale[l] = 1;
            for (Py_ssize_t k = 0; k < size; k++)
                a[k][l] = one[k] / scale[l];
        }
        call->result &= turn_rows(a, squares, r, m);
        for (int l = 0; l < N_DOUBLES && first + l < n; l++)
            write_rows(a, squares, r, m, l, scale[l], values + (first + l) * r,
                       rows + (first + l) * size);
    }
    return DONE;
}

const Loop singular_rows = {
    "singular_rows",
    "matrices:d(n,r,m) values:D(n,r) rows:D(n,r,m)",
    find_rows,
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

/* The smaller of |u - v|² and |u + v|²: a direction has no sign. */
INLINE double squared_chord(const double *u, const double *v, Py_ssize_t m)
{
    Doubles minus = {0}, plus = {0};
    Py_ssize_t f = 0;
    for (; f + N_DOUBLES <= m; f += N_DOUBLES) {
        Doubles one = *(const Doubles *)(u + f), other = *(const Doubles *)(v + f);
        minus += (one - other) * (one - other);
        plus += (one + other) * (one + other);
    }
    double apart = total(minus), facing = total(plus);
    for (; f < m; f++) {
        apart += (u[f] - v[f]) * (u[f] - v[f]);
        facing += (u[f] + v[f]) * (u[f] + v[f]);
    }
    return apart < facing ? apart : facing;
}

/* One pair, its sines from chords: √(1 - c²) loses half the digits of a small angle. */
EVERY_PROCESSOR
static void turn_exactly(const Turns *t, Py_ssize_t e)
{
    const double *u = t->left + t->row[e] * t->r * t->m;
    const double *v = t->right + t->column[e] * t->r * t->m;
    const double *here = t->left_varied + t->row[e] * t->r;
    const double *there = t->right_varied + t->column[e] * t->r;
    double sines = 0, count = 0, least = 2, widest = 0;
    for (Py_ssize_t l = 0; l < t->r; l++, u += t->m, v += t->m) {
        if (here[l] * there[l] == 0)
            continue;
        double chord = squared_chord(u, v, t->m);
        double sine = sqrt(fabs(chord * (1 - chord / 4)));
        sines += sine, count += 1;
        least = sine < least ? sine : least;
        widest = chord > widest ? chord : widest;
    }
    if (count == 0) /* no direction in common: see curvature.py */
        least = 0, widest = 2;
    t->mean[e] = sines / (count > 0 ? count : 1);
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

/* ---- The same, a pair at a time ---------------------------------------------------- */

#define AHEAD 2 /* pairs whose directions are asked for before their turn */

static Outcome find_few_turns(Call *call)
{
    void *const *at = call->at;
    Turns t = {at[0], at[1], at[2], at[3], NULL, NULL, at[4], at[5],
               at[6], at[7], at[8], SIZE('r'), SIZE('m'), 1};
    Py_ssize_t n_pairs = SIZE('e'), size = t.r * t.m;
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        if (e % 4096 == 0 && is_interrupted(call))
            return INTERRUPTED;
        if (e + AHEAD < n_pairs)
            fetch(t.right + t.column[e + AHEAD] * size, size);
        turn_exactly(&t, e);
    }
    return DONE;
}

const Loop turns_of_few_pairs = {
    "turns_of_few_pairs",
    "left:d(i,r,m) left_varied:d(i,r) right:d(j,r,m) right_varied:d(j,r) row:l(e)<i "
    "column:l(e)<j mean:D(e) within:D(e) between:D(e)",
    find_few_turns,
};
