/* The table of the loops, and the module that holds them.

   Loops do what arrays cannot say: one edge, one neighbour, one path at a time. They hold
   no state, touch no Python object and run without Python's lock, so blocks of rows run
   in threads. `call.c` checks their arguments: see loops.h. */

#include "loops.h"

static const Loop *const LOOPS[] = {
    /* neighbors.c, search.c */
    &squared_gaps, &all_squared_gaps, &keys_of_rows, &read_keys, &nearest_members,
    &nearest_listed, &search_cells,
    /* patches.c, class_patches.c */
    &moments_of_patches, &packed_products, &score_patches,
    /* dissimilarity.c, directions.c */
    &invert_packed, &kl_of_pairs, &kl_of_factored_pairs, &principal_directions,
    &singular_rows,
    &turns_of_pairs,
    &turns_of_few_pairs,
    /* graph.c, paths.c */
    &unite_relations, &unite_neighbors, &mirror_edges, &add_mirrored,
    &reorder_rows, &shortest_paths,
    &paths_of_groups,
    /* eigenvectors.c */
    &check_matrix, &sparse_times, &recur, &orthogonalize, &take_out, &multiply,
    &symmetric_times,
    /* field.c */
    &hash_rows, &calibrate, &push_by_pairs, &spread, &gather, &settle_samples,
    /* pulls.c */
    &fill_eights, &move_samples, &stretch,
};
#define N_LOOPS (int)(sizeof LOOPS / sizeof LOOPS[0])

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_loops", "Inner loops; see loops.py.", 0, NULL,
};

/* Loops are functions of one kind, which differ by what they hold; the declaration of
   their arguments is their docstring. */
static int add_loop(PyObject *loops, const Loop *loop, PyMethodDef *method)
{
    *method = (PyMethodDef){loop->name, call_loop, METH_VARARGS, loop->declaration};
    PyObject *held = PyCapsule_New((void *)loop, NULL, NULL);
    PyObject *function = held != NULL ? PyCFunction_New(method, held) : NULL;
    int is_added =
        function != NULL && PyModule_AddObjectRef(loops, loop->name, function) == 0;
    Py_XDECREF(held);
    Py_XDECREF(function);
    return is_added;
}

/* The instructions that the loops use on this processor, as `EVERY_PROCESSOR` picks. */
static const char *instructions(void)
{
#if defined(HAS_CLONES)
    __builtin_cpu_init();
#if __GNUC__ >= 12
    if (__builtin_cpu_supports("x86-64-v4"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("x86-64-v3"))
        return "x86-64-v3";
#else
    if (__builtin_cpu_supports("avx512f"))
        return "avx512f";
    if (__builtin_cpu_supports("avx2"))
        return "avx2";
#endif
#endif
#if defined(__x86_64__) && defined(__AVX512F__)
    return "avx512f";
#elif defined(__x86_64__) && defined(__AVX2__)
    return "avx2";
#elif defined(__x86_64__)
    return "x86-64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "portable";
#endif
}

PyMODINIT_FUNC PyInit__loops(void)
{
    static PyMethodDef added[N_LOOPS];
    PyObject *loops = PyModule_Create(&module);
    for (int k = 0; loops != NULL && k < N_LOOPS; k++)
        if (!add_loop(loops, LOOPS[k], added + k))
            Py_CLEAR(loops);
    if (loops != NULL && PyModule_AddIntConstant(loops, "LAYOUT", 27) < 0)
        Py_CLEAR(loops);
    if (loops != NULL &&
        PyModule_AddStringConstant(loops, "INSTRUCTIONS", instructions()) < 0)
        Py_CLEAR(loops);
#ifdef Py_GIL_DISABLED
    if (loops != NULL)
        PyUnstable_Module_SetGIL(loops, Py_MOD_GIL_NOT_USED);
#endif
    return loops;
}
