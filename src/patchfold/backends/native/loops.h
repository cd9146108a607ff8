/* What the files of the loops share. */

#ifndef PATCHFOLD_LOOPS_H
#define PATCHFOLD_LOOPS_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED /* setup.py defines it: such a Python has no stable ABI */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One build for every x86: the loader picks what the processor can do. Not beside
   sanitizers: GCC 13 puts vectors on their stack where aligned loads of AVX-512 fault. */
#if !defined(__x86_64__) || !defined(__GLIBC__) || defined(__clang__) || \
    defined(__SANITIZE_ADDRESS__)
#define EVERY_PROCESSOR
#elif __GNUC__ >= 12
#define HAS_CLONES
#define EVERY_PROCESSOR \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HAS_CLONES
#define EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

/* Sixteen floats, or eight doubles, computed with at once. */
typedef float Floats __attribute__((vector_size(64), aligned(4)));
typedef double Doubles __attribute__((vector_size(64), aligned(8)));
typedef int32_t Ints __attribute__((vector_size(64), aligned(4)));
typedef uint32_t Bits __attribute__((vector_size(64), aligned(4)));
typedef uint32_t HalfBits __attribute__((vector_size(32), aligned(4)));
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

/* All bits that a lane has. */
INLINE uint32_t bits_in(Bits flagged)
{
    HalfBits left, right;
    memcpy(&left, &flagged, sizeof left);
    memcpy(&right, (const char *)&flagged + sizeof left, sizeof right);
    left |= right;
    uint64_t parts[4];
    memcpy(parts, &left, sizeof left);
    parts[0] |= parts[1] | parts[2] | parts[3];
    return (uint32_t)(parts[0] | parts[0] >> 32);
}

/* Which of two groups are flagged: a bit for each. */
INLINE uint32_t bits_of(Ints first, Ints second)
{
    const Bits bit = {1 << 0,  1 << 1,  1 << 2,  1 << 3,  1 << 4,  1 << 5,
                      1 << 6,  1 << 7,  1 << 8,  1 << 9,  1 << 10, 1 << 11,
                      1 << 12, 1 << 13, 1 << 14, 1 << 15};
    return bits_in(((Bits)first & bit) | ((Bits)second & bit << N_FLOATS));
}

/* The squared distance of two samples, from differences. */
INLINE double squared_gap(const double *a, const double *b, Py_ssize_t m)
{
    Doubles sums = {0};
    double total = 0;
    Py_ssize_t k = 0;
    for (; k + N_DOUBLES <= m; k += N_DOUBLES) {
        Doubles gap = *(const Doubles *)(a + k) - *(const Doubles *)(b + k);
        sums += gap * gap;
    }
    for (; k < m; k++)
        total += (a[k] - b[k]) * (a[k] - b[k]);
    for (int l = 0; l < N_DOUBLES; l++)
        total += sums[l];
    return total;
}

/* Ask for numbers that are read soon. */
INLINE void fetch(const double *values, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count; k += 64 / sizeof(double))
        __builtin_prefetch(values + k);
}

/* Whether `packed` is the size of a triangle of a matrix of m rows, with its diagonal. */
INLINE int is_packed(Py_ssize_t packed, Py_ssize_t m)
{
    return m <= packed && m < (Py_ssize_t)1 << 31 && packed == m * (m + 1) / 2;
}

/* ---- What a loop is, and how it is called ------------------------------------------- */

/* A loop declares its arguments in one string, for example

       "left:d(p,m) row:l(e)<p count:#k near:r out:D(e)"

   An array has a kind and a size in every dimension. Kinds are d and f (double and single
   precision), i and l (integers of 32 and 64 bits) and u (unsigned, 64 bits); arrays of a
   capital kind are written to. A size is a letter, which is the same number wherever it
   is used, a letter and a number (n+1), or a number. "<p" after an integer array: it
   holds indices, all of them 0 to p - 1. "#k" is an integer of at least 0 that becomes a
   size, and "r" is a real number. "m(n,c,e)" are the places of a sparse matrix of n rows,
   c columns and e entries, as `check_matrix` returns them.

   `call.c` refuses all else by a Python exception before the loop runs, and also an array
   that is written to and has memory in common with another argument. So a loop may rely
   on types, contiguity, sizes and declared indices, and checks only what depends on more
   than that. It runs without Python's lock: no other thread may write to its arrays
   meanwhile. */

#define MOST_ARGUMENTS 24
#define MOST_SCRATCH 8

typedef enum {
    DONE,
    NO_MEMORY,
    BAD_INDEX,  /* an IndexError: `wrong` says what is wrong */
    BAD_VALUE,  /* likewise a ValueError */
    INTERRUPTED /* a signal's handler raised an exception */
} Outcome;

typedef struct Call Call;

/* Where the entries of a sparse matrix are: a copy of its own, and checked. */
typedef struct {
    Py_ssize_t n_rows, n_columns, n_entries;
    int32_t *pointer, *column;
} Places;

void free_places(Places *places);

typedef struct {
    const char *name, *declaration;
    Outcome (*run)(Call *call);
} Loop;

struct Call {
    const Loop *loop;
    void *at[MOST_ARGUMENTS]; /* where arrays begin, by the place of the argument */
    Py_ssize_t sizes[26];     /* by letter; -1: not known yet */
    double real;
    const char *wrong;
    Py_ssize_t result; /* what the call returns, */
    Places *made;      /* unless it made this */
    /* Of `call.c` alone: */
    Py_buffer views[MOST_ARGUMENTS];
    char is_written[MOST_ARGUMENTS]; /* by the place among `views` */
    int n_views;
    void *scratch[MOST_SCRATCH];
    int n_scratch;
    PyThreadState *thread;
    double looked; /* when signals were last looked for */
};

#define SIZE(letter) (call->sizes[(letter) - 'a'])

/* In call.c. */
PyObject *call_loop(PyObject *self, PyObject *args);

/* End a loop: `return refuse(call, BAD_VALUE, "...")`. */
Outcome refuse(Call *call, Outcome how, const char *wrong);

/* Memory (a x b items, zeros) that is freed after the loop; NULL if there is none. */
void *scratch(Call *call, Py_ssize_t a, Py_ssize_t b, size_t item);

/* Whether a signal asks to stop. Cheap, but not to be called for every number. */
int is_interrupted(Call *call);

/* Whether rows `first` to `last` of a sparse matrix lie one after another among
   `n_entries`, and their columns are all below `n_columns`. */
Outcome check_pointers(Call *call, const int32_t *pointer, Py_ssize_t first,
                       Py_ssize_t last, Py_ssize_t n_entries);
Outcome check_rows(Call *call, const int32_t *pointer, const int32_t *column,
                   Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_entries,
                   Py_ssize_t n_columns);

/* In neighbors.c and search.c; patches.c and class_patches.c; dissimilarity.c and
   directions.c; graph.c, paths.c and path_groups.c; eigenvectors.c; field.c; pulls.c. */
extern const Loop squared_gaps, all_squared_gaps, keys_of_rows, read_keys,
    nearest_members, nearest_listed, search_cells;
extern const Loop moments_of_patches, packed_products, score_patches;
extern const Loop invert_packed, kl_of_pairs, kl_of_factored_pairs, principal_directions,
    singular_rows, turns_of_pairs, turns_of_few_pairs;
extern const Loop unite_relations, unite_neighbors, mirror_edges, add_mirrored,
    reorder_rows, shortest_paths, paths_of_groups;
extern const Loop check_matrix, sparse_times, recur, orthogonalize, take_out, multiply,
    symmetric_times;
extern const Loop hash_rows, calibrate, push_by_pairs, spread, gather, settle_samples;
extern const Loop fill_eights, move_samples, stretch;

#endif
