"""Every loop in C has a twin in arrays, and both compute the same.

`CASES` has a case for each loop of `loops.TWINS`; a loop without one fails here. The
files beside this one try the loops of a stage with more sizes and odd values.
"""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.loops import needs_loops

import patchfold
from patchfold.backends.native import (
    eigenvectors,
    field,
    graph,
    loops,
    neighbors,
    pulls,
)
from patchfold.backends.native.cells import group_samples, search_cells
from patchfold.backends.native.neighbors import nearest_first
from patchfold.dissimilarity.curvature import describe_directions
from patchfold.dissimilarity.kl import describe_kl
from patchfold.dissimilarity.table import compare_pairs, get_dissimilarity
from patchfold.neighbors.exact import search_all
from patchfold.patches.fitting import fit_patches
from patchfold.posterior.local import local_score
from patchfold.records import Patches

N = 60
GRID = field.Grid(-24.0, -21.0, 0.6, 80, 70, 75)
ALL = slice(0, N)


def normal(*shape):
    return np.random.default_rng(1).normal(size=shape)


def integers(top, *shape):
    return np.random.default_rng(2).integers(0, top, shape)


def matrix():
    """Return a symmetric sparse matrix of numbers >= 0."""
    table = np.triu(np.abs(normal(N, N)) * (integers(5, N, N) == 0), 1)
    found = sp.csr_array(table + table.T)
    places = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return sp.csr_array((found.data, *places), shape=(N, N))


def edges():
    return N, *np.nonzero(np.triu(matrix().toarray()))


def relation(n_neighbors):
    column = np.argsort(normal(N, N) + 9 * np.eye(N))[:, :n_neighbors]
    return N, np.repeat(np.arange(N), n_neighbors), column.ravel()


def parts_of(found):
    return found.data, found.indices, found.indptr


def patches(m, n_neighbors):
    return fit_patches(normal(N, m), normal(N, m), integers(N, N, n_neighbors))


def lengths(measure, found, most=None):
    row = get_dissimilarity(measure)
    described = row.describe(found)
    pairs = np.triu_indices(N, 1)
    found = compare_pairs(row, described, described, *pairs, most=most)
    return tuple(part for part in vars(found).values() if part is not None)


def directions():
    """Return projections on the directions, whose signs are free, and which count."""
    root = normal(N, 4, 4) * np.arange(1, 5)
    covariances = root @ root.transpose(0, 2, 1)
    rows, varied = describe_directions(Patches(np.zeros((N, 4)), dense=covariances))
    return rows[..., None] * rows[..., None, :], varied


def directions_of_factors():
    """Return the same of patches of fewer points than features."""
    rows, varied = describe_directions(
        Patches(np.zeros((N, 6)), factor=normal(N, 4, 6), noise=np.zeros(N))
    )
    return rows[..., None] * rows[..., None, :], varied


def cells():
    X, label = normal(N, 3), integers(4, N)
    groups = group_samples(X, label, normal(4, 3))
    near, squared, beyond = search_cells(groups, X, 2, 5)
    return np.sort(near, axis=1), np.sort(squared, axis=1), beyond


def group_paths():
    found = np.full((9, N), -1.0)
    graph.paths_of_groups(matrix(), np.arange(20, 27), np.arange(7)[::-1], found)
    return found


def nearest():
    found = search_all(2 * normal(N, 5), normal(400, 5), 9)
    return found.indices, found.distances


def listed():
    """Return the nearest of candidates, some of which are none and some the query."""
    X, columns = normal(N, 5), np.sort(integers(N, 9, 12), axis=1)
    columns[:, 1:][columns[:, 1:] == columns[:, :-1]] = -1
    found, squared = neighbors.nearest_listed(
        X[:9], X, np.sort(columns, axis=1), columns[:, 3], 12
    )
    return np.where(np.isinf(squared), -1, found), squared


def class_scores(m, n_neighbors):
    rule = {"shrinkage": 0.3, "ridge": 1e-3, "variance": 1.0}
    near = integers(N, 9, n_neighbors)
    return local_score(normal(9, m), 2 * normal(N, m), near, **rule)


def product():
    image = np.zeros((N, 8))
    checked = eigenvectors.check_matrix(matrix())
    eigenvectors.sparse_times(checked, normal(N, 8), image, ALL)
    return image


def recurrence():
    now, before, added = normal(3, N, 8).astype(np.float32)
    checked = eigenvectors.check_matrix(matrix().astype(np.float32))
    weights = normal(4, 8).astype(np.float32)
    eigenvectors.recur(checked, now, before, added, ALL, weights)
    return before


def basis():
    found = eigenvectors.orthogonalize(normal(N, 8))
    return found @ found.T


def rest():
    rows = np.ascontiguousarray(np.linalg.qr(normal(48, 3))[0].T)
    vector = normal(48)
    return *eigenvectors.take_out(vector, rows), vector


def points():
    return (6 * normal(N, 2)).clip(-15, 15).astype(np.float32)


def pushes():
    r = np.zeros((N, 2), np.float32)
    return field.push_by_pairs(points(), points()[:9].copy(), r, 0.8, ALL), r


def masses():
    mass = np.zeros((80, 75), np.float32)
    field.spread(GRID, points(), mass, ALL)
    return mass


def forces():
    r = np.zeros((N, 2), np.float32)
    return field.gather(GRID, points(), normal(80, 75).astype(np.float32), r, ALL), r


def turned_matrix():
    turned, order = matrix(), np.arange(N)[::-1]
    graph.reorder(turned, order, order)
    return parts_of(turned)


def mirrored_sum():
    table = np.abs(normal(N, N)) * (integers(5, N, N) == 0)
    found = sp.csr_array(table)
    found.indices, found.indptr = (
        part.astype(np.int32) for part in (found.indices, found.indptr)
    )
    for start, stop in pairwise(found.indptr):  # rows need not ascend
        for part in (found.data, found.indices):
            part[start:stop] = part[start:stop][::-1].copy()
    sums, means = graph.add_mirrored(found), graph.add_mirrored(found, mean=True)
    return *parts_of(sums), *parts_of(means)


def weighed():
    edges = pulls.in_eights(matrix(), matrix()[::-1])
    edges.weigh(0.8, 0.2)
    return edges


def step():
    Y = points()
    arrays = Y, Y / 9, Y / 7, np.full_like(Y, 0.5), np.zeros_like(Y)
    factors = pulls.Step(0.3, 0.2, 0.1, 0.5, False)
    return pulls.move_samples(weighed(), arrays, 0.8, factors, ALL), *arrays


def settled():
    placed, weights = np.zeros((9, 2), np.float32), np.full((9, 4), 0.25, np.float32)
    field.settle_samples(
        GRID,
        normal(80, 75).astype(np.float32),
        points(),
        integers(N, 9, 4),
        weights,
        box=np.array([-15, -15, 15, 15], np.float32),
        alpha=0.8,
        push=0.01,
        flat=False,
        placed=placed,
        rows=slice(0, 9),
    )
    return placed


CASES = {
    "squared_gaps": lambda: neighbors.squared_gaps(
        normal(N, 5), normal(9, 5), integers(N, 40), integers(9, 40)
    ),
    "all_squared_gaps": lambda: neighbors.all_squared_gaps(normal(9, 5), normal(N, 5)),
    "keys_of_rows": lambda: nearest_first(normal(9, N) ** 2, 7),
    "read_keys": lambda: nearest_first(normal(9, N) ** 2, 7),
    "search_cells": cells,
    "moments_of_patches": lambda: (patches(3, 9).mean, patches(3, 9).covariance),
    "nearest_members": nearest,
    "nearest_listed": listed,
    "score_patches": lambda: (class_scores(5, 9), class_scores(9, 5)),
    "packed_products": lambda: describe_kl(patches(9, 6)),
    "invert_packed": lambda: describe_kl(patches(3, 9)),
    "kl_of_pairs": lambda: lengths("kl", patches(3, 9)),
    "kl_of_factored_pairs": lambda: lengths("kl", patches(30, 4)),
    "principal_directions": directions,
    "singular_rows": directions_of_factors,
    "turns_of_pairs": lambda: lengths("curvature", patches(4, 9)),
    "turns_of_few_pairs": lambda: lengths("curvature", patches(4, 9), most=False),
    "unite_relations": lambda: graph.unite_relations(*relation(20)),
    "unite_neighbors": lambda: graph.unite_relations(*relation(4)),
    "mirror_edges": lambda: parts_of(
        graph.mirror_edges(*edges(), np.arange(1.0, 1 + edges()[1].size))
    ),
    "add_mirrored": mirrored_sum,
    "reorder_rows": turned_matrix,
    "shortest_paths": lambda: graph.shortest_paths(matrix(), np.array([3, 40])),
    "paths_of_groups": group_paths,
    "check_matrix": product,
    "sparse_times": product,
    "recur": recurrence,
    "orthogonalize": basis,
    "take_out": rest,
    "multiply": lambda: eigenvectors.multiply(normal(7, 5), normal(5, 16)),
    "symmetric_times": lambda: eigenvectors.symmetric_times(
        matrix().toarray(), normal(N)
    ),
    "hash_rows": lambda: field.hash_rows(normal(N, 4)),
    "calibrate": lambda: field.calibrate(normal(N, 9) ** 2, np.log(4)),
    "push_by_pairs": pushes,
    "spread": masses,
    "gather": forces,
    "settle_samples": settled,
    "fill_eights": lambda: tuple(vars(weighed()).values()),
    "move_samples": step,
    "stretch": lambda: pulls.stretch(weighed(), points(), 0.8, ALL),
}
"""What runs each loop, by the function that the stages call."""

SINGLE = 2e-4
"""How far results may be apart where a loop computes in single precision."""


class Watched:
    """The loops, and which of them were called."""

    def __init__(self, loops):
        self.loops, self.called = loops, set()

    def __getattr__(self, name):
        self.called.add(name)
        return getattr(self.loops, name)


@needs_loops
def test_every_loop_is_in_the_table():
    constants = {"LAYOUT", "INSTRUCTIONS"}
    declared = {
        name for name in vars(loops.loops()) if name not in constants and name[0] != "_"
    }
    assert declared == set(loops.TWINS) == set(CASES)


@pytest.mark.parametrize("loop", loops.TWINS)
def test_the_twin_is_there(loop):
    assert callable(reduce(getattr, loops.TWINS[loop].split("."), patchfold))


@needs_loops
@pytest.mark.parametrize("loop", loops.TWINS)
def test_a_loop_and_its_twin_agree(loop, in_arrays, monkeypatch):
    watched = Watched(loops.loops())
    room = SINGLE if ":f(" in getattr(watched.loops, loop).__doc__.lower() else 1e-9
    monkeypatch.setattr(loops, "_loops", watched)
    found = CASES[loop]()
    assert loop in watched.called
    in_arrays()
    expected = CASES[loop]()
    if not isinstance(found, tuple | list):
        found, expected = [found], [expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=room, atol=room)
