/* Loops of the eigensolvers over a few vectors; see _loops.c and _native_vectors.py. */

#include "_loops.h"

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

PyObject *sparse_times(PyObject *self, PyObject *args)
{
    Py_buffer indptr, indices, data, vectors, image;
    Py_ssize_t width, start, stop;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*nnn", &indptr, &indices, &data, &vectors,
                          &image, &width, &start, &stop))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    sparse_times_rows(indptr.buf, indices.buf, data.buf, vectors.buf, image.buf,
                      width / N_DOUBLES, start, stop);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&indptr);
    PyBuffer_Release(&indices);
    PyBuffer_Release(&data);
    PyBuffer_Release(&vectors);
    PyBuffer_Release(&image);
    Py_RETURN_NONE;
}

/* ---- The same in a recurrence, in single precision --------------------------------- */

/* Eight floats: half of a line of cache. Weights are four rows of as many columns. */
typedef float EightFloats __attribute__((vector_size(32), aligned(4)));
#define MUCH (1 << 20) /* floats of vectors: more than the nearer caches hold */
#define FETCHED 256    /* entries ahead, if there is so much */

INLINE void recur_ahead(const int32_t *indptr, const int32_t *indices, const float *data,
                        const EightFloats *now, EightFloats *before,
                        const EightFloats *added, const EightFloats *weights,
                        Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop, int32_t ahead)
{
    int32_t end = indptr[stop] - 1;
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
                       Py_ssize_t stop, int is_much)
{
    const EightFloats *vectors = (const EightFloats *)now;
    const EightFloats *others = (const EightFloats *)added;
    const EightFloats *columns = (const EightFloats *)weights;
    EightFloats *out = (EightFloats *)before;
    if (is_much)
        recur_ahead(indptr, indices, data, vectors, out, others, columns, width, start,
                    stop, FETCHED);
    else
        recur_ahead(indptr, indices, data, vectors, out, others, columns, width, start,
                    stop, 0);
}

PyObject *recur(PyObject *self, PyObject *args)
{
    Py_buffer indptr, indices, data, now, before, added, weights;
    Py_ssize_t width, start, stop;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*y*y*nnn", &indptr, &indices, &data, &now,
                          &before, &added, &weights, &width, &start, &stop))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    recur_rows(indptr.buf, indices.buf, data.buf, now.buf, before.buf, added.buf,
               weights.buf, width / N_DOUBLES, start, stop,
               now.len / (Py_ssize_t)sizeof(float) > MUCH);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&indptr);
    PyBuffer_Release(&indices);
    PyBuffer_Release(&data);
    PyBuffer_Release(&now);
    PyBuffer_Release(&before);
    PyBuffer_Release(&added);
    PyBuffer_Release(&weights);
    Py_RETURN_NONE;
}

/* ---- A few columns made orthogonal: Gram and Schmidt, each twice ------------------- */

/* Rows of V are `width` vectors of eight. Once leaves what rounding brings back of the
   columns before; twice does not. */
EVERY_PROCESSOR
static void orthogonalize_columns(Doubles *rows, Py_ssize_t n, Py_ssize_t width,
                                  Doubles *along)
{
    double *values = (double *)rows, *parts = (double *)along;
    Py_ssize_t n_columns = width * N_DOUBLES;
    for (Py_ssize_t j = 0; j < n_columns; j++) {
        double length = 0;
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
}

PyObject *orthogonalize(PyObject *self, PyObject *args)
{
    Py_buffer block;
    Py_ssize_t n_columns;
    if (!PyArg_ParseTuple(args, "w*n", &block, &n_columns))
        return NULL;
    Py_ssize_t n = block.len / (Py_ssize_t)sizeof(double) / n_columns;
    Doubles *along = malloc(sizeof(double) * (size_t)n_columns);
    if (along != NULL) {
        Py_BEGIN_ALLOW_THREADS
        orthogonalize_columns(block.buf, n, n_columns / N_DOUBLES, along);
        Py_END_ALLOW_THREADS
    }
    int room = along != NULL;
    free(along);
    PyBuffer_Release(&block);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

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

PyObject *take_out(PyObject *self, PyObject *args)
{
    Py_buffer vector, rows, parts;
    Py_ssize_t n_rows;
    if (!PyArg_ParseTuple(args, "w*y*w*n", &vector, &rows, &parts, &n_rows))
        return NULL;
    Py_ssize_t width = vector.len / (Py_ssize_t)sizeof(Doubles) / 2;
    double *now = malloc(sizeof(double) * (size_t)(n_rows + 1));
    if (now != NULL) {
        Py_BEGIN_ALLOW_THREADS
        take_out_of(vector.buf, rows.buf, n_rows, width, parts.buf, now);
        Py_END_ALLOW_THREADS
    }
    int room = now != NULL;
    free(now);
    PyBuffer_Release(&vector);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&parts);
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ---- The product of two matrices, without the threads of BLAS ---------------------- */

#define TALL 4
#define WIDE 3

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

PyObject *multiply(PyObject *self, PyObject *args)
{
    Py_buffer a, b, c;
    Py_ssize_t n_rows, n_inner, n_columns;
    if (!PyArg_ParseTuple(args, "y*y*w*nnn", &a, &b, &c, &n_rows, &n_inner, &n_columns))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    multiply_rows(a.buf, b.buf, c.buf, n_rows, n_inner, n_columns / N_DOUBLES);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&a);
    PyBuffer_Release(&b);
    PyBuffer_Release(&c);
    Py_RETURN_NONE;
}

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

PyObject *symmetric_times(PyObject *self, PyObject *args)
{
    Py_buffer matrix, vector, product;
    if (!PyArg_ParseTuple(args, "y*y*w*", &matrix, &vector, &product))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    times_vector(matrix.buf, vector.buf, product.buf,
                 vector.len / (Py_ssize_t)sizeof(double));
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&matrix);
    PyBuffer_Release(&vector);
    PyBuffer_Release(&product);
    Py_RETURN_NONE;
}
