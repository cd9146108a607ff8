/* Inverses of packed matrices, and KL of listed pairs of patches without a copy of
   them; see loops.h and patches.py. */

#include "loops.h"

#define AHEAD 1    /* pair: asked for now, read from memory by then */
#define AT_ONCE 64 /* pairs between looks for a signal */

/* A divergence is never negative: what is below is rounding. */
INLINE double quarter(double value)
{
    return value > 0 || isnan(value) ? value / 4 : 0.0;
}

/* ---- Inverses of many small symmetric matrices, eight side by side ---------------- */

/* Upper triangles, row after row, are overwritten by those of the inverses, with what
   is off the diagonal doubled. A = UᵀU, then V = U⁻¹, then VVᵀ. A matrix that is not
   positive definite ends in NaN. */
EVERY_PROCESSOR
static void invert_eight(Doubles *a, Py_ssize_t m)
{
#define AT(i, j) a[(i) * (2 * m - (i) - 1) / 2 + (j)]
    for (Py_ssize_t i = 0; i < m; i++) {
        Doubles pivot = AT(i, i);
        for (int l = 0; l < N_DOUBLES; l++)
            pivot[l] = pivot[l] > 0 ? 1 / sqrt(pivot[l]) : NAN;
        for (Py_ssize_t j = i; j < m; j++)
            AT(i, j) *= pivot;
        for (Py_ssize_t k = i + 1; k < m; k++) {
            Doubles factor = AT(i, k);
            for (Py_ssize_t j = k; j < m; j++)
                AT(k, j) -= factor * AT(i, j);
        }
        AT(i, i) = pivot; /* of V already */
    }
    for (Py_ssize_t j = 1; j < m; j++)
        for (Py_ssize_t i = 0; i < j; i++) {
            /* Row i is V up to here; column j is U from here down. */
            Doubles sum = {0};
            for (Py_ssize_t k = i; k < j; k++)
                sum += AT(i, k) * AT(k, j);
            AT(i, j) = -sum * AT(j, j);
        }
    for (Py_ssize_t i = 0; i < m; i++)
        for (Py_ssize_t j = i; j < m; j++) {
            Doubles sum = {0};
            for (Py_ssize_t k = j; k < m; k++)
                sum += AT(i, k) * AT(j, k);
            AT(i, j) = i == j ? sum : 2 * sum;
        }
#undef AT
}

static Outcome invert_all(Call *call)
{
    Py_ssize_t n = SIZE('n'), m = SIZE('m'), packed = SIZE('p');
    const double *in = call->at[0];
    double *out = call->at[1];
    Doubles *eight = scratch(call, packed, 1, sizeof(Doubles));
    if (!is_packed(packed, m))
        return refuse(call, BAD_VALUE, "matrices are not packed triangles of size m");
    if (eight == NULL)
        return NO_MEMORY;
    for (Py_ssize_t first = 0; first < n; first += N_DOUBLES) {
        if (is_interrupted(call))
            return INTERRUPTED;
        for (int l = 0; l < N_DOUBLES; l++) {
            Py_ssize_t one = first + l < n ? first + l : n - 1;
            for (Py_ssize_t k = 0; k < packed; k++)
                eight[k][l] = in[one * packed + k];
        }
        invert_eight(eight, m);
        for (int l = 0; l < N_DOUBLES && first + l < n; l++)
            for (Py_ssize_t k = 0; k < packed; k++)
                out[(first + l) * packed + k] = eight[k][l];
    }
    return DONE;
}

const Loop invert_packed = {
    "invert_packed",
    "matrices:d(n,p) inverses:D(n,p) m:#m",
    invert_all,
};

/* ---- KL of packed matrices --------------------------------------------------------- */

EVERY_PROCESSOR
static void kl_pairs(const double *mean_l, const double *cov_l, const double *inv_l,
                     const double *mean_r, const double *cov_r, const double *inv_r,
                     const int64_t *row, const int64_t *column, double *out,
                     Py_ssize_t n_pairs, Py_ssize_t m, Py_ssize_t packed,
                     double *outer)
{
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        if (e + AHEAD < n_pairs) {
            fetch(cov_r + column[e + AHEAD] * packed, packed);
            fetch(inv_r + column[e + AHEAD] * packed, packed);
        }
        const double *mi = mean_l + row[e] * m, *mj = mean_r + column[e] * m;
        const double *ci = cov_l + row[e] * packed, *cj = cov_r + column[e] * packed;
        const double *pi = inv_l + row[e] * packed, *pj = inv_r + column[e] * packed;
        double *gap = outer + packed + N_DOUBLES, rest = 0;
        Doubles sums = {0}, squares = {0};
        Py_ssize_t k = 0;
        for (Py_ssize_t f = 0; f < m; f++)
            gap[f] = mi[f] - mj[f];
        if (packed == m)
            for (Py_ssize_t f = 0; f < m; f++)
                outer[f] = gap[f] * gap[f];
        else /* by eights: what is beyond a row, the next one overwrites */
            for (Py_ssize_t f = 0; f < m; k += m - f++)
                for (Py_ssize_t g = f; g < m; g += N_DOUBLES)
                    *(Doubles *)(outer + k + g - f) = gap[f] * *(Doubles *)(gap + g);
        for (k = 0; k + N_DOUBLES <= packed; k += N_DOUBLES) {
            Doubles here = *(const Doubles *)(pi + k), there = *(const Doubles *)(pj + k);
            Doubles apart = *(const Doubles *)(ci + k) - *(const Doubles *)(cj + k);
            sums += apart * (there - here);
            squares += *(const Doubles *)(outer + k) * (here + there);
        }
        sums += squares;
        for (; k < packed; k++)
            rest += (ci[k] - cj[k]) * (pj[k] - pi[k]) + outer[k] * (pi[k] + pj[k]);
        out[e] = quarter(rest + total(sums));
    }
}

static Outcome kl_packed(Call *call)
{
    const int64_t *row = call->at[6], *column = call->at[7];
    double *out = call->at[8];
    Py_ssize_t m = SIZE('m'), packed = SIZE('p');
    double *outer = scratch(call, packed + m + 2 * N_DOUBLES, 1, sizeof(double));
    if (packed != m && !is_packed(packed, m))
        return refuse(call, BAD_VALUE, "matrices are neither diagonal nor triangles");
    if (outer == NULL)
        return NO_MEMORY;
    for (Py_ssize_t first = 0; first < SIZE('e'); first += AT_ONCE) {
        Py_ssize_t left = SIZE('e') - first;
        if (is_interrupted(call))
            return INTERRUPTED;
        kl_pairs(call->at[0], call->at[1], call->at[2], call->at[3], call->at[4],
                 call->at[5], row + first, column + first, out + first,
                 left < AT_ONCE ? left : AT_ONCE, m, packed, outer);
    }
    return DONE;
}

const Loop kl_of_pairs = {
    "kl_of_pairs",
    "mean:d(i,m) covariance:d(i,p) inverse:d(i,p) right_mean:d(j,m) "
    "right_covariance:d(j,p) right_inverse:d(j,p) row:l(e)<i column:l(e)<j out:D(e)",
    kl_packed,
};

/* ---- KL of factors ------------------------------------------------------------------ */

/* Σ = FᵀF + εI of m features, where F has p rows, and L⁻¹ is p x p: LLᵀ = εI + FFᵀ. */
typedef struct {
    const double *mean, *factor, *inverse, *noise, *norm, *whitened, *count;
    Py_ssize_t p;
} Factored;

typedef struct {
    double *cross, *across, *gap;
} Room;

#define NEAR 2048 /* numbers of a factor: what the nearest cache has room for beside others */
#define TILE 4    /* rows of either factor whose products are summed at once */

/* The last numbers of a row that eights leave over, after as many zeros as it takes. */
INLINE Doubles rest_of(const double *row, Py_ssize_t m)
{
    Doubles eight = {0};
    Py_ssize_t count = m % N_DOUBLES;
    if (m > N_DOUBLES) { /* read some again: that is one step, a copy is many */
        const Longs lane = {0, 1, 2, 3, 4, 5, 6, 7};
        eight = *(const Doubles *)(row + m - N_DOUBLES);
        return (Doubles)((Longs)eight & (lane >= N_DOUBLES - count));
    }
    memcpy((double *)&eight + N_DOUBLES - count, row + m - count,
           sizeof(double) * (size_t)count);
    return eight;
}

/* Products of the next rows of both; a row that is not there is the last again. The sums
   are in registers as long as no index of theirs is found out at run time. */
INLINE void multiply_tile(const double *left, const double *right, Py_ssize_t m,
                          Py_ssize_t n_left, Py_ssize_t n_right,
                          double products[TILE][TILE])
{
    const double *x[TILE], *y[TILE];
    Doubles sums[TILE][TILE] = {{{0}}};
    Py_ssize_t k = 0;
    for (int t = 0; t < TILE; t++) {
        x[t] = left + (t < n_left ? t : n_left - 1) * m;
        y[t] = right + (t < n_right ? t : n_right - 1) * m;
    }
    for (; k + N_DOUBLES <= m; k += N_DOUBLES)
        for (int s = 0; s < TILE; s++)
            for (int t = 0; t < TILE; t++)
                sums[s][t] += *(const Doubles *)(x[s] + k) * *(const Doubles *)(y[t] + k);
    if (k < m)
        for (int s = 0; s < TILE; s++)
            for (int t = 0; t < TILE; t++)
                sums[s][t] += rest_of(x[s], m) * rest_of(y[t], m);
    for (int s = 0; s < TILE; s++)
        for (int t = 0; t < TILE; t++)
            products[s][t] = total(sums[s][t]);
}

/* Write F_i F_jᵀ, and the same across, in rows of `wide` and `wide_across`. */
INLINE void cross_factors(const double *left, const double *right, Py_ssize_t m,
                          Py_ssize_t n_left, Py_ssize_t n_right, double *cross,
                          Py_ssize_t wide, double *across, Py_ssize_t wide_across)
{
    double products[TILE][TILE];
    for (Py_ssize_t a = 0; a < n_left; a += TILE)
        for (Py_ssize_t b = 0; b < n_right; b += TILE) {
            multiply_tile(left + a * m, right + b * m, m, n_left - a, n_right - b,
                          products);
            for (Py_ssize_t s = a; s < a + TILE && s < n_left; s++)
                for (Py_ssize_t t = b; t < b + TILE && t < n_right; t++)
                    cross[s * wide + t] = across[t * wide_across + s] =
                        products[s - a][t - b];
        }
}

/* |AB|², where A is p x p, and B has p rows of a multiple of eight. */
INLINE double square_of_product(const double *a, const double *b, Py_ssize_t p,
                                Py_ssize_t wide)
{
    Doubles squares = {0};
    for (Py_ssize_t c = 0; c < wide; c += N_DOUBLES)
        for (Py_ssize_t r = 0; r < p; r++) {
            Doubles sum = {0};
            for (Py_ssize_t s = 0; s < p; s++)
                sum += a[r * p + s] * *(const Doubles *)(b + s * wide + c);
            squares += sum * sum;
        }
    return total(squares);
}

/* Write F gap, into a column of rows that are `wide`. */
INLINE void along_factor(const double *factor, const double *gap, Py_ssize_t m,
                         Py_ssize_t p, double *column, Py_ssize_t wide)
{
    for (Py_ssize_t r = 0; r < p; r++) {
        const double *row = factor + r * m;
        Doubles sum = {0};
        Py_ssize_t k = 0;
        for (; k + N_DOUBLES <= m; k += N_DOUBLES)
            sum += *(const Doubles *)(row + k) * *(const Doubles *)(gap + k);
        if (k < m)
            sum += rest_of(row, m) * rest_of(gap, m);
        column[r * wide] = total(sum);
    }
}

static Py_ssize_t in_eights(Py_ssize_t count)
{
    return (count + N_DOUBLES - 1) / N_DOUBLES * N_DOUBLES;
}

/* F_i F_jᵀ has one more column, F_i (μ_i - μ_j): both are whitened by L_i⁻¹, squared, and
   taken away; likewise the other way. `room` is 0 where nothing is written. */
EVERY_PROCESSOR
static void kl_factored(const Factored *left, const Factored *right, const int64_t *row,
                        const int64_t *column, double *out, Py_ssize_t n_pairs,
                        Py_ssize_t m, const Room *room)
{
    Py_ssize_t p = left->p, q = right->p, wide = in_eights(q + 1);
    Py_ssize_t wide_across = in_eights(p + 1);
    double *cross = room->cross, *across = room->across, *gap = room->gap;
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        if (e + AHEAD < n_pairs && q * m <= NEAR)
            fetch(right->factor + column[e + AHEAD] * q * m, q * m);
        int64_t i = row[e], j = column[e];
        const double *ours = left->factor + i * p * m, *theirs = right->factor + j * q * m;
        double apart = 0, noise = left->noise[i], other = right->noise[j];
        for (Py_ssize_t f = 0; f < m; f++) {
            gap[f] = left->mean[i * m + f] - right->mean[j * m + f];
            apart += gap[f] * gap[f];
        }
        cross_factors(ours, theirs, m, p, q, cross, wide, across, wide_across);
        along_factor(ours, gap, m, p, cross + q, wide);
        along_factor(theirs, gap, m, q, across + p, wide_across);
        double there = right->norm[j] - other * left->whitened[i] + apart -
                       square_of_product(left->inverse + i * p * p, cross, p, wide);
        double back = left->norm[i] - noise * right->whitened[j] + apart -
                      square_of_product(right->inverse + j * q * q, across, q, wide_across);
        double step = noise - other;
        double isotropic = left->count[i] * ((step / noise) * (step / other));
        out[e] = quarter(there / noise + back / other + isotropic);
    }
}

static Factored factored(const Call *call, int first, Py_ssize_t p)
{
    void *const *at = call->at + first;
    return (Factored){at[0], at[1], at[2], at[3], at[4], at[5], at[6], p};
}

static Outcome kl_of_factors(Call *call)
{
    const int64_t *row = call->at[14], *column = call->at[15];
    double *out = call->at[16];
    Py_ssize_t m = SIZE('m'), p = SIZE('p'), q = SIZE('q');
    Factored left = factored(call, 0, p), right = factored(call, 7, q);
    Room room = {scratch(call, p, in_eights(q + 1), sizeof(double)),
                 scratch(call, q, in_eights(p + 1), sizeof(double)),
                 scratch(call, m, 1, sizeof(double))};
    if (room.cross == NULL || room.across == NULL || room.gap == NULL)
        return NO_MEMORY;
    for (Py_ssize_t first = 0; first < SIZE('e'); first += AT_ONCE) {
        Py_ssize_t pairs = SIZE('e') - first;
        if (is_interrupted(call))
            return INTERRUPTED;
        kl_factored(&left, &right, row + first, column + first, out + first,
                    pairs < AT_ONCE ? pairs : AT_ONCE, m, &room);
    }
    return DONE;
}

const Loop kl_of_factored_pairs = {
    "kl_of_factored_pairs",
    "mean:d(i,m) factor:d(i,p,m) inverse:d(i,p,p) noise:d(i) norm:d(i) whitened:d(i) "
    "count:d(i) right_mean:d(j,m) right_factor:d(j,q,m) right_inverse:d(j,q,q) "
    "right_noise:d(j) right_norm:d(j) right_whitened:d(j) right_count:d(j) "
    "row:l(e)<i column:l(e)<j out:D(e)",
    kl_of_factors,
};
