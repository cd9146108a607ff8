/* Calls of the loops: arguments are taken and checked as each loop declares them.

   The only way into the loops. What a declaration says is written in loops.h. */

#include <time.h>

#include "loops.h"

#define MOST_DIMENSIONS 3
#define PATIENCE 0.25 /* seconds without a look for signals */
#define NAME 32
#define PLACES "patchfold.places" /* the name of capsules that hold them */

typedef struct {
    char name[NAME];
    char kind;                         /* '#', 'r', 'm', or that of an array */
    int is_written, n_dimensions;
    char letters[MOST_DIMENSIONS];     /* 0: a plain number */
    Py_ssize_t added[MOST_DIMENSIONS]; /* to the letter's size, or the number */
    char below;                        /* the size that indices are below, or 0 */
} Argument;

/* ---- Declarations -------------------------------------------------------------------- */

/* Read a size: a letter, a letter + a number, or a number. */
static const char *read_size(const char *text, char *letter, Py_ssize_t *added)
{
    *letter = 0, *added = 0;
    if (*text >= 'a' && *text <= 'z')
        *letter = *text++;
    if (*text == '+')
        text++;
    for (; *text >= '0' && *text <= '9'; text++)
        *added = 10 * *added + (*text - '0');
    return text;
}

/* Read the next argument of a declaration; returns what follows, or NULL at the end. */
static const char *read_argument(const char *text, Argument *one)
{
    memset(one, 0, sizeof *one);
    if (*text == '\0')
        return NULL;
    for (int k = 0; *text != ':'; text++, k++)
        if (k < NAME - 1)
            one->name[k] = *text;
    text++;
    one->is_written = *text >= 'A' && *text <= 'Z';
    one->kind = one->is_written ? (char)(*text - 'A' + 'a') : *text;
    text++;
    if (one->kind == '#')
        text = read_size(text, &one->letters[0], &one->added[0]);
    while (*text == '(' || *text == ',') {
        int d = one->n_dimensions++;
        text = read_size(text + 1, &one->letters[d], &one->added[d]);
    }
    if (*text == ')')
        text++;
    if (*text == '<')
        one->below = text[1], text += 2;
    return *text == ' ' ? text + 1 : text;
}

/* ---- Arguments ----------------------------------------------------------------------- */

static int complain(const Call *call, const Argument *one, const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s: %s %s", call->loop->name, one->name, what);
    return 0;
}

/* Give a letter a size, or see whether it has this one. */
static int fits(Call *call, const Argument *one, int d, Py_ssize_t found)
{
    char letter = one->letters[d];
    Py_ssize_t size = found - one->added[d];
    if (letter && SIZE(letter) < 0 && size >= 0)
        SIZE(letter) = size;
    if (size >= 0 && size == (letter ? SIZE(letter) : 0))
        return 1;
    Py_ssize_t wanted = one->added[d] + (letter && SIZE(letter) > 0 ? SIZE(letter) : 0);
    PyErr_Format(PyExc_ValueError, "%s: %s has size %zd in dimension %d instead of %zd",
                 call->loop->name, one->name, found, d, wanted);
    return 0;
}

static int take_number(Call *call, const Argument *one, PyObject *object)
{
    if (one->kind == 'r') {
        call->real = PyFloat_AsDouble(object);
        return !PyErr_Occurred();
    }
    Py_ssize_t number = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return complain(call, one, "must be an integer");
    }
    if (number < 0)
        return complain(call, one, "must be an integer >= 0");
    return fits(call, one, 0, number);
}

static int is_of_kind(const Py_buffer *view, char kind)
{
    const char *format = view->format != NULL ? view->format : "B";
    const char *wanted = kind == 'i'   ? "il"
                         : kind == 'l' ? "lq"
                         : kind == 'u' ? "LQ"
                         : kind == 'd' ? "d"
                                       : "f";
    Py_ssize_t size = kind == 'i' || kind == 'f' ? 4 : 8;
    if (*format == '@' || *format == '=')
        format++;
    return format[0] && !format[1] && strchr(wanted, format[0]) && view->itemsize == size;
}

/* Whether no array before has memory in common with the last, if one is written to. */
static int is_apart(const Call *call, const Py_buffer *last)
{
    const char *start = last->buf, *stop = start + last->len;
    int is_written = call->is_written[call->n_views - 1];
    for (int k = 0; last->len > 0 && k < call->n_views - 1; k++) {
        const char *other = call->views[k].buf, *end = other + call->views[k].len;
        if ((is_written || call->is_written[k]) && other < end && start < end &&
            other < stop)
            return 0;
    }
    return 1;
}

static int take_array(Call *call, const Argument *one, int place, PyObject *object)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (one->is_written ? PyBUF_WRITABLE : 0);
    Py_buffer *view = call->views + call->n_views;
    if (PyObject_GetBuffer(object, view, flags) < 0) {
        PyErr_Clear();
        return complain(call, one,
                        one->is_written ? "must be a contiguous array that can be written"
                                        : "must be a contiguous array of numbers");
    }
    call->is_written[call->n_views++] = (char)one->is_written;
    call->at[place] = view->buf;
    if (!is_of_kind(view, one->kind)) {
        PyErr_Format(PyExc_ValueError, "%s: %s has numbers of another type ('%s')",
                     call->loop->name, one->name, view->format ? view->format : "B");
        return 0;
    }
    if ((uintptr_t)view->buf % (uintptr_t)view->itemsize)
        return complain(call, one, "does not begin where a number may");
    if (view->ndim != one->n_dimensions)
        return complain(call, one, "has another number of dimensions");
    for (int d = 0; d < view->ndim; d++)
        if (!fits(call, one, d, view->shape[d]))
            return 0;
    if (!is_apart(call, view))
        return complain(call, one, "has memory in common with another argument, and one "
                                   "of them is written to");
    return 1;
}

static int take_places(Call *call, const Argument *one, int place, PyObject *object)
{
    if (!PyCapsule_IsValid(object, PLACES))
        return complain(call, one, "must be what check_matrix returns");
    const Places *places = call->at[place] = PyCapsule_GetPointer(object, PLACES);
    return fits(call, one, 0, places->n_rows) && fits(call, one, 1, places->n_columns) &&
           fits(call, one, 2, places->n_entries);
}

static int take_arguments(Call *call, PyObject *args)
{
    Argument one;
    const char *text = call->loop->declaration;
    int place = 0, n_given = (int)PyTuple_Size(args);
    for (int letter = 0; letter < 26; letter++)
        call->sizes[letter] = -1;
    for (; (text = read_argument(text, &one)) != NULL; place++) {
        if (place >= n_given)
            return complain(call, &one, "is missing");
        PyObject *object = PyTuple_GetItem(args, place);
        int is_number = one.kind == '#' || one.kind == 'r';
        if (!(is_number         ? take_number(call, &one, object)
              : one.kind == 'm' ? take_places(call, &one, place, object)
                                : take_array(call, &one, place, object)))
            return 0;
    }
    if (place != n_given) {
        PyErr_Format(PyExc_ValueError, "%s: %d arguments instead of %d",
                     call->loop->name, n_given, place);
        return 0;
    }
    return 1;
}

/* ---- Indices ------------------------------------------------------------------------- */

/* A number that is negative, or leaves less than 0 of `last`, shows in the first bit. */
EVERY_PROCESSOR
static int are_long_below(const int64_t *index, Py_ssize_t count, Py_ssize_t limit)
{
    uint64_t seen = 0, last = (uint64_t)limit - 1;
    for (Py_ssize_t k = 0; k < count; k++)
        seen |= (uint64_t)index[k] | (last - (uint64_t)index[k]);
    return count == 0 || (limit > 0 && !(seen >> 63));
}

EVERY_PROCESSOR
static int are_below(const int32_t *index, Py_ssize_t count, Py_ssize_t limit)
{
    uint32_t seen = 0, last = (uint32_t)(limit > INT32_MAX ? INT32_MAX : limit - 1);
    for (Py_ssize_t k = 0; k < count; k++)
        seen |= (uint32_t)index[k] | (last - (uint32_t)index[k]);
    return count == 0 || (limit > 0 && !(seen >> 31));
}

/* Returns the argument whose indices are out of range, or none: then its name is empty. */
static Argument find_bad_indices(const Call *call)
{
    Argument one;
    const char *text = call->loop->declaration;
    int view = 0;
    while ((text = read_argument(text, &one)) != NULL) {
        if (!one.n_dimensions || one.kind == 'm')
            continue;
        const Py_buffer *array = call->views + view++;
        if (!one.below)
            continue;
        Py_ssize_t count = array->len / array->itemsize, limit = SIZE(one.below);
        if (!(one.kind == 'i' ? are_below(array->buf, count, limit)
                              : are_long_below(array->buf, count, limit)))
            break;
    }
    return one;
}

Outcome check_pointers(Call *call, const int32_t *pointer, Py_ssize_t first,
                       Py_ssize_t last, Py_ssize_t n_entries)
{
    int ascend = 1;
    for (Py_ssize_t i = first; i < last; i++)
        ascend &= pointer[i] <= pointer[i + 1];
    if (pointer[first] < 0 || !ascend || pointer[last] > n_entries)
        return refuse(call, BAD_VALUE,
                      "the pointers of the sparse matrix do not ascend within its "
                      "entries");
    return DONE;
}

Outcome check_rows(Call *call, const int32_t *pointer, const int32_t *column,
                   Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_entries,
                   Py_ssize_t n_columns)
{
    Outcome outcome = check_pointers(call, pointer, first, last, n_entries);
    if (outcome != DONE)
        return outcome;
    Py_ssize_t start = pointer[first];
    if (!are_below(column + start, pointer[last] - start, n_columns))
        return refuse(call, BAD_INDEX, "a column of the sparse matrix is out of range");
    return DONE;
}

/* ---- What loops ask for -------------------------------------------------------------- */

Outcome refuse(Call *call, Outcome how, const char *wrong)
{
    call->wrong = wrong;
    return how;
}

void *scratch(Call *call, Py_ssize_t a, Py_ssize_t b, size_t item)
{
    size_t count;
    if (call->n_scratch == MOST_SCRATCH || a < 0 || b < 0 ||
        __builtin_mul_overflow((size_t)a, (size_t)b, &count))
        return NULL;
    void *room = calloc(count ? count : 1, item);
    call->scratch[call->n_scratch++] = room;
    return room;
}

/* Where there is a clock that is read faster, it is exact enough. */
static double seconds(void)
{
    struct timespec now;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    timespec_get(&now, TIME_UTC);
#endif
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int is_interrupted(Call *call)
{
    if (fabs(seconds() - call->looked) < PATIENCE)
        return 0;
    PyEval_RestoreThread(call->thread);
    int is_raised = PyErr_CheckSignals() < 0; /* never in a thread that is not the main */
    call->thread = PyEval_SaveThread();
    call->looked = seconds();
    return is_raised;
}

/* ---- The call ------------------------------------------------------------------------ */

static Outcome run(Call *call)
{
    call->looked = seconds();
    call->thread = PyEval_SaveThread();
    Argument bad = find_bad_indices(call);
    Outcome outcome = bad.name[0] ? BAD_INDEX : call->loop->run(call);
    PyEval_RestoreThread(call->thread);
    if (bad.name[0])
        PyErr_Format(PyExc_IndexError, "%s: %s holds an index that is not 0 to %zd",
                     call->loop->name, bad.name, SIZE(bad.below) - 1);
    else if (outcome == NO_MEMORY)
        PyErr_NoMemory();
    else if (outcome == BAD_INDEX || outcome == BAD_VALUE)
        PyErr_Format(outcome == BAD_INDEX ? PyExc_IndexError : PyExc_ValueError, "%s: %s",
                     call->loop->name, call->wrong);
    return outcome;
}

void free_places(Places *places)
{
    if (places != NULL) {
        free(places->pointer);
        free(places->column);
    }
    free(places);
}

static void end_capsule(PyObject *capsule)
{
    free_places(PyCapsule_GetPointer(capsule, PLACES));
}

static PyObject *result_of(Call *call)
{
    if (call->made == NULL)
        return PyLong_FromSsize_t(call->result);
    PyObject *capsule = PyCapsule_New(call->made, PLACES, end_capsule);
    if (capsule != NULL)
        call->made = NULL; /* the capsule frees it */
    return capsule;
}

/* `self` holds the loop. */
PyObject *call_loop(PyObject *self, PyObject *args)
{
    Call call;
    memset(&call, 0, sizeof call);
    call.loop = PyCapsule_GetPointer(self, NULL);
    int is_done = call.loop != NULL && take_arguments(&call, args) && run(&call) == DONE;
    PyObject *result = is_done ? result_of(&call) : NULL;
    free_places(call.made);
    for (int k = 0; k < call.n_scratch; k++)
        free(call.scratch[k]);
    for (int k = 0; k < call.n_views; k++)
        PyBuffer_Release(&call.views[k]);
    return result;
}
