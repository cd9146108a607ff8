/* The scores of patches of rows of a class; see class_patches.py. */

#include "loops.h"

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
