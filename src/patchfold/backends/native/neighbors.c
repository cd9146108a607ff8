/* Distances between samples, and the nearest of all; see loops.h and neighbors.py. */

#include "loops.h"

/* ---- Squared distances of listed pairs, without a copy of their rows --------------- */

#define GAPS_AHEAD 8  /* pairs: their rows lie all over memory */
#define AT_ONCE 16384 /* pairs between looks for a signal */

EVERY_PROCESSOR
static void square_gaps(const double *left, const double *right, const int64_t *row,
                        const int64_t *column, double *out, Py_ssize_t n_pairs,
                        Py_ssize_t m)
{
    for (Py_ssize_t e = 0; e < n_pairs; e++) {
        if (e + GAPS_AHEAD < n_pairs)
            fetch(right + column[e + GAPS_AHEAD] * m, m);
        out[e] = squared_gap(left + row[e] * m, right + column[e] * m, m);
    }
}

static Outcome square_listed_gaps(Call *call)
{
    const int64_t *row = call->at[2], *column = call->at[3];
    double *out = call->at[4];
    for (Py_ssize_t first = 0; first < SIZE('e'); first += AT_ONCE) {
        Py_ssize_t left = SIZE('e') - first;
        if (is_interrupted(call))
            return INTERRUPTED;
        square_gaps(call->at[0], call->at[1], row + first, column + first, out + first,
                    left < AT_ONCE ? left : AT_ONCE, SIZE('m'));
    }
    return DONE;
}

const Loop squared_gaps = {
    "squared_gaps",
    "left:d(p,m) right:d(q,m) row:l(e)<p column:l(e)<q out:D(e)",
    square_listed_gaps,
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
