"""Whatever the loops in C are given, they refuse it or stay within their arrays.

The declaration of a loop's arguments is its docstring, so a new loop is tried too. What
is out of bounds may go unnoticed here; `make sanitize` runs this where it cannot.
"""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.loops import needs_loops

from patchfold.backends.native import graph as native_graph
from patchfold.backends.native import loops as native
from patchfold.backends.native.eigenvectors import check_matrix, sparse_times

pytestmark = needs_loops

KINDS = {"d": "f8", "f": "f4", "i": "i4", "l": "i8", "u": "u8"}

SIZES = {
    "invert_packed": {"m": 3, "p": 6},
    "kl_of_pairs": {"m": 3, "p": 6},
    "packed_products": {"m": 3, "p": 6},
    "moments_of_patches": {"c": 1, "f": 0, "r": 3, "m": 3},
    "turns_of_pairs": {"r": 2, "m": 3, "s": 6, "g": 2},
    "take_out": {"n": 16},
    "multiply": {"w": 8},
    "orthogonalize": {"w": 8},
    "sparse_times": {"w": 8, "s": 1, "t": 4},
    "recur": {"w": 8, "s": 1, "t": 4},
    "mirror_edges": {"e": 4, "f": 8},
    "add_mirrored": {"e": 4, "f": 8},
    "keys_of_rows": {"d": 20, "b": 20},
    "read_keys": {"b": 20, "k": 3},
    "unite_relations": {"f": 6},
    "unite_neighbors": {"f": 6},
    "nearest_members": {"g": 1},
    "search_cells": {"g": 6, "p": 96, "h": 1, "c": 5, "y": 5, "z": 5, "q": 5},
}
"""Sizes that fit together where five of everything would not."""


class Argument:
    def __init__(self, text):
        name = re.fullmatch(r"(\w+):(\w|#\w)(?:\((.*)\))?(?:<(\w))?", text)
        self.name, kind, shape, self.below = name.groups()
        self.is_number = shape is None
        self.is_written = kind.isupper()
        self.sizes = [kind[1]] if kind[0] == "#" else (shape or "").split(",")
        self.is_matrix = kind == "m"
        is_array = not (self.is_number or self.is_matrix)
        self.kind = np.dtype(KINDS[kind.lower()]) if is_array else None

    def value(self, sizes, rng):
        if self.is_number:
            return sizes.get(self.sizes[0], 5) if self.sizes[0] else 0.5
        shape = [
            int(size) if size.isdigit() else sizes.get(size[0], 5) + int(size[2:] or 0)
            for size in self.sizes
        ]
        if self.is_matrix:
            return places(*shape, rng)
        if self.kind.kind == "f":
            return rng.uniform(0, 1, shape).astype(self.kind)
        return np.zeros(shape, self.kind)


def places(n_rows, n_columns, n_entries, rng):
    """Return where a checked matrix has its entries: anywhere."""
    pointer = np.sort(rng.integers(0, n_entries + 1, n_rows + 1)).astype(np.int32)
    column = rng.integers(0, n_columns, n_entries).astype(np.int32)
    return native.loops().check_matrix(pointer, column, n_columns)


def declared(name):
    text = getattr(native.loops(), name).__doc__
    return [Argument(word) for word in text.split(" ")]


def values(name, seed=0, **sizes):
    rng = np.random.default_rng(seed)
    sizes = {**SIZES.get(name, {}), **sizes}
    return [argument.value(sizes, rng) for argument in declared(name)]


LOOPS = sorted(
    name
    for name in vars(native.loops() or object)
    if "(" in str(getattr(native.loops(), name).__doc__)
    and not name.startswith("_")
    and name not in ("LAYOUT", "INSTRUCTIONS")
)
ARRAYS = [
    (loop, place)
    for loop in LOOPS
    for place, argument in enumerate(declared(loop))
    if argument.kind is not None
]


def misplaced(array):
    """Return the same numbers where none of them may begin."""
    room = np.empty(array.nbytes + 1, np.uint8)
    moved = room[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def spread(array):
    return np.repeat(array, 2, axis=-1)[..., ::2]


def locked(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def test_there_are_loops_to_try():
    assert len(LOOPS) > 20
    assert set(SIZES) <= set(LOOPS)


@pytest.mark.parametrize("loop", LOOPS)
def test_arguments_that_fit_are_taken(loop):
    assert is_result(getattr(native.loops(), loop)(*values(loop)))


def is_result(found):
    """Say whether a loop returned a count, or the places of a matrix."""
    return found >= 0 if isinstance(found, int) else "patchfold.places" in repr(found)


@pytest.mark.parametrize("loop", LOOPS)
def test_too_few_and_too_many_arguments_are_refused(loop):
    run, given = getattr(native.loops(), loop), values(loop)
    for wrong in (given[:-1], [*given, 1], []):
        with pytest.raises(ValueError, match=loop):
            run(*wrong)


@pytest.mark.parametrize(("loop", "place"), ARRAYS)
def test_arrays_of_another_kind_are_refused(loop, place):
    run, given = getattr(native.loops(), loop), values(loop)
    argument, array = declared(loop)[place], given[place]
    wrong = [
        None,
        3,
        array.tolist(),
        array.astype("f4" if array.dtype != "f4" else "f8"),
        array.astype("i8" if array.dtype != "i8" else "i4"),
        array.astype(array.dtype.newbyteorder()),
        array.astype(object),
        array[None],
        misplaced(array),
    ]
    if array.size > 1:  # one number has no gap behind it
        wrong.append(spread(array))
    if argument.is_written:
        wrong.append(locked(array))
    for other in wrong:
        given[place] = other
        with pytest.raises(ValueError, match=f"{loop}: {argument.name} "):
            run(*given)


@pytest.mark.parametrize(("loop", "place"), ARRAYS)
def test_arrays_of_another_size_are_refused_or_harmless(loop, place):
    run = getattr(native.loops(), loop)
    array = values(loop)[place]
    for axis in range(array.ndim):
        for change in (-1, 1, 16):
            shape = list(array.shape)
            shape[axis] = max(0, shape[axis] + change)
            given = values(loop)
            given[place] = np.zeros(shape, array.dtype)
            outcome(run, given)


def outcome(run, given):
    """Run a loop, which must end, and in one of these ways."""
    message = run.__name__
    try:
        assert is_result(run(*given))
    except MemoryError:
        pass
    except (IndexError, ValueError) as error:
        message = str(error)
    assert run.__name__ in message


@pytest.mark.parametrize(
    ("loop", "place"),
    [(loop, place) for loop, place in ARRAYS if declared(loop)[place].is_written],
)
def test_arrays_that_are_written_to_have_memory_of_their_own(loop, place):
    run, given = getattr(native.loops(), loop), values(loop)
    for other, array in enumerate(given):
        if other == place or not isinstance(array, np.ndarray):
            continue
        shared = list(given)
        ours, theirs = given[place].nbytes, array.nbytes
        offset = (ours - 1) // 8 * 8  # the last number is in both
        room = np.zeros(offset + max(8, theirs), np.uint8)
        room[offset : offset + theirs] = array.ravel().view(np.uint8)
        shared[place] = room[:ours].view(given[place].dtype)
        shared[place] = shared[place].reshape(given[place].shape)
        shared[other] = room[offset : offset + theirs].view(array.dtype)
        shared[other] = shared[other].reshape(array.shape)
        with pytest.raises(ValueError, match=f"{loop}: .* has memory in common"):
            run(*shared)


@pytest.mark.parametrize("loop", ["sparse_times", "recur"])
@pytest.mark.parametrize("wrong", [None, 3, np.zeros(6, np.int32)])
def test_matrices_that_were_not_checked_are_refused(loop, wrong):
    given = [wrong, *values(loop)[1:]]
    with pytest.raises(ValueError, match="must be what check_matrix returns"):
        getattr(native.loops(), loop)(*given)


def test_a_checked_matrix_is_not_changed_by_who_gave_it():
    graph, vectors = ring(), np.eye(6, 8)
    checked, image = check_matrix(graph), np.empty((6, 8))
    expected = graph @ vectors
    graph.indices[:], graph.indptr[:] = 10**9, -1
    sparse_times(checked, vectors, image, slice(0, 6))
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("loop", ["unite_relations", "unite_neighbors"])
@pytest.mark.parametrize("n", [2**20, 2**40, 2**62])
def test_far_more_samples_than_relations_are_refused_before_memory_is_taken(loop, n):
    run, given = getattr(native.loops(), loop), values(loop)
    with pytest.raises(ValueError, match=f"{loop}: n is too large"):
        run(*given[:-1], n)


@pytest.mark.parametrize("n", [2**20, 2**30])
def test_arrays_unite_few_relations_of_many_samples(n):
    row, column = np.array([1, 3, n - 2]), np.array([n - 1, 1, 3])
    source, target = native_graph.unite_relations(n, row, column)
    np.testing.assert_array_equal(source, [1, 1, 3])
    np.testing.assert_array_equal(target, [3, n - 1, n - 2])


@pytest.mark.parametrize(
    ("loop", "place"),
    [(loop, place) for loop, place in ARRAYS if declared(loop)[place].below],
)
@pytest.mark.parametrize("index", [-1, 2**31 - 1, -(2**31)])
def test_indices_out_of_range_are_refused(loop, place, index):
    run, given = getattr(native.loops(), loop), values(loop)
    given[place][..., -1] = index
    with pytest.raises(IndexError, match=f"{loop}: {declared(loop)[place].name} "):
        run(*given)


@pytest.mark.parametrize("loop", LOOPS)
def test_negative_counts_are_refused(loop):
    run = getattr(native.loops(), loop)
    for place, argument in enumerate(declared(loop)):
        if argument.is_number and argument.sizes[0]:
            for wrong in (-1, 2**70, 1.5, None):
                given = values(loop)
                given[place] = wrong
                with pytest.raises(ValueError, match=f"{loop}: {argument.name} "):
                    run(*given)


@pytest.mark.parametrize("loop", LOOPS)
def test_any_bits_end(loop):
    """Arrays of any bits, and counts of any size, end in a result or an error."""
    run, arguments = getattr(native.loops(), loop), declared(loop)
    rng = np.random.default_rng(3)
    for seed in range(150):
        sizes = {} if seed % 3 else {"n": 9, "e": int(rng.integers(0, 40)), "m": 7}
        given = values(loop, seed, **sizes)
        for place, argument in enumerate(arguments):
            if argument.is_number and argument.sizes[0] and rng.uniform() < 0.3:
                given[place] = int(rng.choice([0, 1, 7, 2**20, 2**40, 2**62]))
            elif argument.kind is not None and rng.uniform() < 0.6:
                given[place] = any_bits(rng, given[place], seed % 2)
        outcome(run, given)


def any_bits(rng, array, is_small):
    """Return an array of the same kind of any bits, or of small integers."""
    if is_small and array.dtype.kind != "f":
        return rng.integers(0, 5, array.shape).astype(array.dtype)
    odd = rng.bytes(array.nbytes)
    return np.frombuffer(odd, array.dtype).reshape(array.shape).copy()


def ring(n=6):
    row = np.arange(n)
    edges = np.ones(n), (row, (row + 1) % n)
    graph = sp.csr_array(edges, shape=(n, n))
    graph = sp.csr_array(graph + graph.T)
    places = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return sp.csr_array((graph.data, *places), shape=(n, n))


@pytest.mark.parametrize("length", [-1.0, np.nan, -np.inf])
def test_lengths_that_no_path_has_are_refused(length):
    graph = ring()
    graph.data[3] = length
    with pytest.raises(ValueError, match="length"):
        native_graph.shortest_paths(graph, np.arange(6))
    with pytest.raises(ValueError, match="length"):
        native_graph.paths_of_groups(graph, *2 * [np.arange(6)], np.empty((6, 6)))


@pytest.mark.parametrize(
    ("part", "at", "value"),
    [
        ("indptr", 2, -1),
        ("indptr", 2, 10**6),
        ("indptr", 6, 10**6),
        ("indptr", 3, 1),
        ("indices", 4, 6),
        ("indices", 4, -1),
    ],
)
def test_sparse_matrices_that_are_none_are_refused(part, at, value):
    graph = ring()
    getattr(graph, part)[at] = value
    order = np.arange(6, dtype=np.int32)
    for run in (
        lambda: native_graph.shortest_paths(graph, np.arange(6)),
        lambda: native_graph.paths_of_groups(graph, order, order, np.empty((6, 6))),
        lambda: native_graph.reorder(graph, order, order),
        lambda: check_matrix(graph),
    ):
        with pytest.raises((ValueError, IndexError)):
            run()


def test_an_order_that_names_rows_twice_is_refused():
    graph, order = ring(), np.arange(6, dtype=np.int32)
    graph = sp.csr_array(sp.vstack([graph[:5], sp.csr_array((1, 6))]))
    order[5] = 0
    with pytest.raises(ValueError, match="reorder_rows"):
        native_graph.reorder(graph, order, order)


def test_relations_out_of_order_are_refused():
    row = np.array([3, 1, 2])
    with pytest.raises(ValueError, match="ascend"):
        native_graph.unite_relations(50, row, row + 1)


@pytest.mark.parametrize("indices", [np.array([2**32]), np.array([0.5])])
def test_indices_do_not_change_with_their_type(indices):
    with pytest.raises(IndexError):
        native_graph.shortest_paths(ring(), indices)
