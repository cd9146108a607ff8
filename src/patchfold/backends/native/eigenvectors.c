/* Loops of the eigensolvers over a few vectors; see loops.h and eigenvectors.py. */

#include "loops.h"

#define ROWS 1024 /* of a sparse matrix, between looks for a signal */

/* ---- A sparse matrix that is checked once for all its products ---------------------- */

static int32_t *copy_of(const int32_t *numbers, Py_ssize_t count)
{
    int32_t *copy = malloc(sizeof(int32_t) * (size_t)(count ? count : 1));
    if (copy != NULL)
        memcpy(copy, numbers, sizeof(int32_t) * (size_t)count);
    return copy;
}

/* The copy is what is checked: nobody else can change it later. */
static Outcome make_places(Call *call)
{
    Py_ssize_t n = SIZE('n'), e = SIZE('e');
    Places *made = call->made = calloc(1, sizeof *made);
    if (made == NULL)
        return NO_MEMORY;
    *made = (Places){n, SIZE('c'), e, copy_of(call->at[0], n + 1), copy_of(call->at[1], e)};
    if (made->pointer == NULL || made->column == NULL)
        return NO_MEMORY;
    return check_rows(call, made->pointer, made->column, 0, n, e, made->n_columns);
}

const Loop check_matrix = {
    "check_matrix",
    "pointer:i(n+1) column:i(e) n_columns:#c",
    make_places,
};

/* Whether rows are some of the matrix, and vectors come in eights. */
static Outcome check_block(Call *call)
{
    if (SIZE('s') > SIZE('t') || SIZE('t') > SIZE('n'))
        return refuse(call, BAD_INDEX, "rows start to stop are not all in the matrix");
    if (SIZE('w') % N_DOUBLES)
        return refuse(call, BAD_VALUE, "the number of vectors is no multiple of 8");
    return DONE;
}

/* ---- Sparse matrix times a few vectors --------------------------------------------- */

EVERY_PROCESSOR
static void sparse_times_rows(const int32_t *indptr, const int32_t *indices,
                              const double *data, const double *block, double *image,
                              Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop)
{
    const Doubles *vectors = (const Doubles *)block;
    Doubles *out = (Doubles *)image;
    for (Py_ssize_t i = start; i < stop; i++)
        for (Py_ssize_t v = 0; v < width; v++) {
            Doubles sum = {0};
            for (int32_t e = indptr[i]; e < indptr[i + 1]; e++)
                sum += data[e] * vectors[indices[e] * width + v];
            out[i * width + v] = sum;
        }
}

static Outcome multiply_sparse(Call *call)
{
    const Places *places = call->at[0];
    Outcome outcome = check_block(call);
    for (Py_ssize_t first = SIZE('s'); outcome == DONE && first < SIZE('t');) {
        Py_ssize_t last = first + ROWS < SIZE('t') ? first + ROWS : SIZE('t');
        sparse_times_rows(places->pointer, places->column, call->at[1], call->at[2],
                          call->at[3], SIZE('w') / N_DOUBLES, first, last);
        first = last;
        if (is_interrupted(call))
            outcome = INTERRUPTED;
    }
    return outcome;
}

const Loop sparse_times = {
    "sparse_times",
    "matrix:m(n,c,e) data:d(e) vectors:d(c,w) image:D(n,w) start:#s stop:#t",
    multiply_sparse,
};

/* ---- The same in a recurrence, in single precision --------------------------------- */

/* Eight floats: half of a line of cache. Weights are four rows of as many columns. */
typedef float EightFloats __attribute__((vector_size(32), aligned(4)));
#define MUCH (1 << 20) /* floats of vectors: more than the nearer caches hold */
#define FETCHED 256    /* entries ahead, if there is so much */

INLINE void recur_ahead(const int32_t *indptr, const int32_t *indices, const float *data,
                        const EightFloats *now, EightFloats *before,
                        const EightFloats *added, const EightFloats *weights,
                        Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
                        int32_t end, int32_t ahead)
{
    for (Py_ssize_t i = start; i < stop; i++)
        for (Py_ssize_t v = 0; v < width; v++) {
            EightFloats sum = {0};
            for (int32_t e = indptr[i]; e < indptr[i + 1]; e++) {
                if (ahead) {
                    int32_t next = end - e > ahead ? e + ahead : end;
                    __builtin_prefetch(now + indices[next] * width + v, 0, 1);
                }
                sum += data[e] * now[indices[e] * width + v];
            }
            Py_ssize_t k = i * width + v;
            before[k] = weights[v] * sum + weights[width + v] * now[k] +
                        weights[2 * width + v] * before[k] +
                        weights[3 * width + v] * added[k];
        }
}

EVERY_PROCESSOR
static void recur_rows(const int32_t *indptr, const int32_t *indices, const float *data,
                       const float *now, float *before, const float *added,
                       const float *weights, Py_ssize_t width, Py_ssize_t start,
                       Py_ssize_t stop, int32_t end, int is_much)
{
    const EightFloats *vectors = (const EightFloats *)now;
    const EightFloats *others = (const EightFloats *)added;
    const EightFloats *columns = (const EightFloats *)weights;
    EightFloats *out = (EightFloats *)before;
    if (is_much)
        recur_ahead(indptr, indices, data, vectors, out, others, columns, width, start,
                    stop, end, FETCHED);
    else
        recur_ahead(indptr, indices, data, vectors, out, others, columns, width, start,
                    stop, end, 0);
}

static Outcome recur_all(Call *call)
{
    const Places *places = call->at[0];
    Py_ssize_t width = SIZE('w') / N_DOUBLES;
    Outcome outcome = check_block(call);
    for (Py_ssize_t first = SIZE('s'); outcome == DONE && first < SIZE('t');) {
        Py_ssize_t last = first + ROWS < SIZE('t') ? first + ROWS : SIZE('t');
        recur_rows(places->pointer, places->column, call->at[1], call->at[2], call->at[3],
                   call->at[4], call->at[5], width, first, last,
                   places->pointer[SIZE('t')] - 1, SIZE('n') * SIZE('w') > MUCH);
        first = last;
        if (is_interrupted(call))
            outcome = INTERRUPTED;
    }
    return outcome;
}

const Loop recur = {
    "recur",
    "matrix:m(n,n,e) data:f(e) now:f(n,w) before:F(n,w) added:f(n,w) "
    "weights:f(4,w) start:#s stop:#t",
    recur_all,
};

/* ---- A few columns made orthogonal: Gram and Schmidt, each twice ------------------- */

/* Rows of V are `width` vectors of eight. Once leaves what rounding brings back of the
   columns before; twice does not. */
EVERY_PROCESSOR
static void orthogonalize_column(Doubles *rows, Py_ssize_t n, Py_ssize_t width,
                                 Py_ssize_t j, Doubles *along)
{
    double *values = (double *)rows, *parts = (double *)along, length = 0;
    Py_ssize_t n_columns = width * N_DOUBLES;
    for (int again = 0; again < 2; again++) {
        memset(along, 0, sizeof(Doubles) * (size_t)width);
        for (Py_ssize_t i = 0; i < n; i++)
            for (Py_ssize_t v = 0; v < width; v++)
                along[v] += values[i * n_columns + j] * rows[i * width + v];
        for (Py_ssize_t k = j; k < n_columns; k++)
            parts[k] = 0;
        length = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            Doubles sum = {0};
            for (Py_ssize_t v = 0; v < width; v++)
                sum += along[v] * rows[i * width + v];
            double *value = values + i * n_columns + j;
            *value -= total(sum);
            length += *value * *value;
        }
    }
    length = 1 / sqrt(length);
    for (Py_ssize_t i = 0; i < n; i++)
        values[i * n_columns + j] *= length;
}

static Outcome orthogonalize_all(Call *call)
{
    Py_ssize_t width = SIZE('w') / N_DOUBLES;
    Doubles *along = scratch(call, width, 1, sizeof(Doubles));
    if (SIZE('w') % N_DOUBLES)
        return refuse(call, BAD_VALUE, "the number of columns is no multiple of 8");
    if (along == NULL)
        return NO_MEMORY;
    for (Py_ssize_t j = 0; j < SIZE('w'); j++) {
        if (is_interrupted(call))
            return INTERRUPTED;
        orthogonalize_column(call->at[0], SIZE('n'), width, j, along);
    }
    return DONE;
}

const Loop orthogonalize = {"orthogonalize", "block:D(n,w)", orthogonalize_all};

/* ---- A vector without what it has in common with orthonormal rows ------------------ */

/* Gram and Schmidt, twice as above: rows[r]·v is added to parts[r] and leaves v. Vectors
   are `width` pairs of eight. */
EVERY_PROCESSOR
static void take_out_of(Doubles *v, const Doubles *rows, Py_ssize_t n_rows,
                        Py_ssize_t width, double *parts, double *now)
{
    for (int again = 0; again < 2; again++) {
        for (Py_ssize_t r = 0; r < n_rows; r++) {
            const Doubles *row = rows + 2 * r * width;
            Doubles even = {0}, odd = {0};
            for (Py_ssize_t i = 0; i < 2 * width; i += 2) {
                even += row[i] * v[i];
                odd += row[i + 1] * v[i + 1];
            }
            now[r] = total(even + odd);
            parts[r] += now[r];
        }
        for (Py_ssize_t r = 0; r < n_rows; r++) {
            const Doubles *row = rows + 2 * r * width;
            for (Py_ssize_t i = 0; i < 2 * width; i++)
                v[i] -= now[r] * row[i];
        }
    }
}

static Outcome take_out_rows(Call *call)
{
    double *now = scratch(call, SIZE('r'), 1, sizeof(double));
    if (SIZE('n') % (2 * N_DOUBLES))
        return refuse(call, BAD_VALUE, "the length of the vector is no multiple of 16");
    if (now == NULL)
        return NO_MEMORY;
    take_out_of(call->at[0], call->at[1], SIZE('r'), SIZE('n') / (2 * N_DOUBLES),
                call->at[2], now);
    return DONE;
}

const Loop take_out = {"take_out", "vector:D(n) rows:d(r,n) parts:D(r)", take_out_rows};

/* ---- The product of two matrices, without the threads of BLAS ---------------------- */

#define TALL 4
#define WIDE 3
#define AT_ONCE 512 /* rows between looks for a signal */

/* C = A B for A (n_rows, n_inner) and B (n_inner, width vectors of eight). Four rows of A
   meet 24 columns of B at a time: their sums stay in registers. */
EVERY_PROCESSOR
static void multiply_rows(const double *a, const Doubles *b, Doubles *c,
                          Py_ssize_t n_rows, Py_ssize_t n_inner, Py_ssize_t width)
{
    for (Py_ssize_t v = 0; v < width; v += WIDE) {
        Py_ssize_t wide = width - v < WIDE ? width - v : WIDE;
        Py_ssize_t i = 0;
        for (; wide == WIDE && i + TALL <= n_rows; i += TALL) {
            Doubles sums[TALL][WIDE] = {{{0}}};
            for (Py_ssize_t k = 0; k < n_inner; k++)
                for (int t = 0; t < TALL; t++)
                    for (int w = 0; w < WIDE; w++)
                        sums[t][w] += a[(i + t) * n_inner + k] * b[k * width + v + w];
            for (int t = 0; t < TALL; t++)
                for (int w = 0; w < WIDE; w++)
                    c[(i + t) * width + v + w] = sums[t][w];
        }
        for (; i < n_rows; i++)
            for (Py_ssize_t w = v; w < v + wide; w++) {
                Doubles sum = {0};
                for (Py_ssize_t k = 0; k < n_inner; k++)
                    sum += a[i * n_inner + k] * b[k * width + w];
                c[i * width + w] = sum;
            }
    }
}

static Outcome multiply_all(Call *call)
{
    const double *a = call->at[0];
    double *c = call->at[2];
    Py_ssize_t n_inner = SIZE('k'), n_columns = SIZE('w');
    if (n_columns % N_DOUBLES)
        return refuse(call, BAD_VALUE, "the number of columns is no multiple of 8");
    for (Py_ssize_t i = 0; i < SIZE('n'); i += AT_ONCE) {
        Py_ssize_t left = SIZE('n') - i;
        if (is_interrupted(call))
            return INTERRUPTED;
        multiply_rows(a + i * n_inner, call->at[1], (Doubles *)(c + i * n_columns),
                      left < AT_ONCE ? left : AT_ONCE, n_inner, n_columns / N_DOUBLES);
    }
    return DONE;
}

const Loop multiply = {"multiply", "a:d(n,k) b:d(k,w) c:D(n,w)", multiply_all};

/* ---- A symmetric matrix times a vector --------------------------------------------- */

/* Of the matrix only what is right of the diagonal is read, and used for both sides; four
   rows at a time. */
EVERY_PROCESSOR
static void times_vector(const double *matrix, const double *v, double *out,
                         Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        out[i] = matrix[i * n + i] * v[i];
    for (Py_ssize_t top = 0; top < n; top += TALL) {
        Py_ssize_t tall = n - top < TALL ? n - top : TALL, j = top + tall;
        Doubles sums[TALL] = {{0}};
        for (Py_ssize_t i = top; i < top + tall; i++)
            for (Py_ssize_t k = i + 1; k < top + tall; k++) {
                out[i] += matrix[i * n + k] * v[k];
                out[k] += matrix[i * n + k] * v[i];
            }
        for (; tall == TALL && j + N_DOUBLES <= n; j += N_DOUBLES) {
            Doubles there = *(const Doubles *)(v + j), sum = *(Doubles *)(out + j);
            for (int t = 0; t < TALL; t++) {
                Doubles entries = *(const Doubles *)(matrix + (top + t) * n + j);
                sums[t] += entries * there;
                sum += entries * v[top + t];
            }
            *(Doubles *)(out + j) = sum;
        }
        for (Py_ssize_t t = 0; t < tall; t++) {
            double sum = total(sums[t]);
            for (Py_ssize_t k = j; k < n; k++) {
                double entry = matrix[(top + t) * n + k];
                sum += entry * v[k];
                out[k] += entry * v[top + t];
            }
            out[top + t] += sum;
        }
    }
}

static Outcome multiply_symmetric(Call *call)
{
    times_vector(call->at[0], call->at[1], call->at[2], SIZE('n'));
    return DONE;
}

const Loop symmetric_times = {
    "symmetric_times",
    "matrix:d(n,n) vector:d(n) product:D(n)",
    multiply_symmetric,
};
