/* What the files of the loops share. */

#ifndef PATCHFOLD_LOOPS_H
#define PATCHFOLD_LOOPS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One build for every x86: the loader picks what the processor can do. */
#if !defined(__x86_64__) || !defined(__GLIBC__) || defined(__clang__)
#define EVERY_PROCESSOR
#elif __GNUC__ >= 12
#define EVERY_PROCESSOR \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

/* Sixteen floats, or eight doubles, computed with at once. */
typedef float Floats __attribute__((vector_size(64), aligned(4)));
typedef double Doubles __attribute__((vector_size(64), aligned(8)));
typedef int32_t Ints __attribute__((vector_size(64), aligned(4)));
typedef int64_t Longs __attribute__((vector_size(64), aligned(8)));
#define N_FLOATS 16
#define N_DOUBLES 8

/* For what is compiled with its caller, as the processor of that has it. */
#define INLINE static inline __attribute__((always_inline))

/* Eights are passed in other registers where there is no AVX-512: inlined always. */
INLINE double total(Doubles v)
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* Ask for numbers that are read soon. */
INLINE void fetch(const double *values, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count; k += 64 / sizeof(double))
        __builtin_prefetch(values + k);
}

/* In _divergence.c. */
PyObject *kl_of_pairs(PyObject *self, PyObject *args);
PyObject *kl_of_factored_pairs(PyObject *self, PyObject *args);

/* In _search.c. */
PyObject *search_cells(PyObject *self, PyObject *args);

/* In _vectors.c. */
PyObject *sparse_times(PyObject *self, PyObject *args);
PyObject *recur(PyObject *self, PyObject *args);
PyObject *orthogonalize(PyObject *self, PyObject *args);
PyObject *take_out(PyObject *self, PyObject *args);
PyObject *multiply(PyObject *self, PyObject *args);
PyObject *symmetric_times(PyObject *self, PyObject *args);

/* In _pairs.c. */
PyObject *moments_of_patches(PyObject *self, PyObject *args);
PyObject *packed_products(PyObject *self, PyObject *args);
PyObject *principal_directions(PyObject *self, PyObject *args);
PyObject *turns_of_pairs(PyObject *self, PyObject *args);
PyObject *all_squared_gaps(PyObject *self, PyObject *args);
PyObject *keys_of_rows(PyObject *self, PyObject *args);
PyObject *read_keys(PyObject *self, PyObject *args);

/* In _edges.c. */
PyObject *unite_relations(PyObject *self, PyObject *args);
PyObject *unite_neighbors(PyObject *self, PyObject *args);
PyObject *mirror_edges(PyObject *self, PyObject *args);
PyObject *subtract_from_degrees(PyObject *self, PyObject *args);
PyObject *reorder_rows(PyObject *self, PyObject *args);
PyObject *label_pieces(PyObject *self, PyObject *args);

#endif
