"""A graph in pieces -> one graph: count the pieces, join them, say so.

Pieces are counted on the graph, never by an eigenvalue tolerance. They are joined by
the closest pair of every two of them, as scikit-learn's Isomap does. Of many pieces,
each is joined to the nearest ones only: a thousand pieces have half a million pairs,
more than the graph has other edges, and a geodesic is then a straight line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..backends.backend import (
    NUMPY,
    Array,
    array_namespace,
    backend_for,
    on_any_device,
    require_memory,
)
from ..backends.distances import Entries, Products
from ..backends.threads import map_blocks
from ..exceptions import DisconnectedGraphWarning, warn
from ..neighbors.metric_search import MetricSearch
from ..records import Pairs
from .facing import (
    MOST_GROUPS,
    closest_of_facing,
    closest_of_many,
    facing_samples,
    is_first,
    is_near,
)
from .precomputed import keep_pieces
from .weights import Components, pairs_from_directed


@on_any_device
def closed_components(pairs: Pairs) -> Components:
    """Find the groups of samples that no neighbour relation leaves.

    Reconstruction weights are directed: where a group's neighbours are all its own,
    any constant on it is a solution, however many other samples point into it. So
    for LLE these groups, not the connected components, have to be one. Samples whose
    neighbours lead elsewhere belong to none and are labelled -1.
    """
    ones, n = np.ones(pairs.row.size), pairs.n_samples
    relation = sp.coo_array((ones, (pairs.row, pairs.column)), shape=(n, n)).tocsr()
    n_strong, strong = connected_components(relation, connection="strong")
    leaves = strong[pairs.row] != strong[pairs.column]
    closed = np.ones(n_strong, dtype=bool)
    closed[strong[pairs.row[leaves]]] = False
    names = np.full(n_strong, -1)
    names[closed] = np.arange(closed.sum())
    return Components(
        int(closed.sum()), names[strong], "groups whose neighbours are all their own"
    )


EXACT = 20_000
"""Pairs of up to this many samples are all compared to join groups; of more samples,
if no more pairs face each other (`facing.py`)."""

N_STARTS, N_TURNS = 8, 6
"""Starts of a search among more samples (as many near the other group as spread over
all), and its turns back and forth."""


def closest_pairs(
    X: Array,
    labels: np.ndarray,
    *,
    precomputed: bool = False,
    search: MetricSearch | None = None,
    n_jobs: int | None = None,
) -> tuple[Array, Array]:
    """Find the closest two samples of pairs of groups; nearly, of many samples.

    Up to `MOST_GROUPS` groups it is every pair. Of more, each has pairs with its
    `NEAREST` nearest ones; if that leaves groups apart, the pieces that they make are
    joined likewise.

    Beyond `EXACT` samples not all samples are compared. Groups that are apart still
    have their closest pairs (`facing.py`); for others see `_nearly_closest`.

    Parameters
    ----------
    X : array (n, m)
        Samples; with `precomputed`, their dissimilarities (n, n).
    labels : int array (n,)
        Group of each sample, 0, 1, ...; samples at -1 belong to none.
    precomputed : bool
        What X holds.
    search : MetricSearch or None
        What measures samples; None is the Euclidean distance.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    row, column : int arrays
        The closest pair of two groups each.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> row, column = closest_pairs(X, np.array([0, 0, 1, 1]))
    >>> row.tolist(), column.tolist()
    ([1], [2])
    """
    found = []
    while (n_groups := int(labels.max()) + 1) > 1:
        pairs, exact = _closest_of_groups(
            X, labels, n_groups, precomputed, search, n_jobs
        )
        groups = labels[pairs]
        if n_groups > MOST_GROUPS:
            near = is_near(groups, exact, n_groups)
            pairs, groups = pairs[:, near], groups[:, near]
        found.append(pairs)
        ones = np.ones(groups.shape[1])
        joined = sp.coo_array((ones, tuple(groups)), shape=(n_groups, n_groups))
        piece = connected_components(joined, directed=False)[1]
        labels = np.where(labels < 0, -1, piece[labels])
    row, column = np.concatenate(found, axis=1)
    return backend_for(X).bring((row, column))


def _closest_of_groups(
    X: Array,
    labels: np.ndarray,
    n_groups: int,
    precomputed: bool,
    search: MetricSearch | None,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return closest pairs (2, p) of two groups each, and how far apart they are.

    Of many groups, some that are far from each other may be left out.
    """
    grouped = np.argsort(labels, kind="stable")[(labels < 0).sum() :]
    if n_groups > MOST_GROUPS and not precomputed and search is None:
        grouped = grouped[is_first(NUMPY.bring(X)[grouped], labels[grouped])]
    group = labels[grouped]
    backend = backend_for(X)
    there = backend.bring(grouped), backend.bring(group)
    settings: dict[str, Any] = {} if search is None else {"search": search}
    found = measure_candidates(X, *there, n_groups, precomputed, n_jobs, **settings)
    row, column, exact = NUMPY.bring(found)
    two_groups, pair = np.unique(
        group[row] * np.int64(n_groups) + group[column], return_inverse=True
    )
    least = np.full(two_groups.size, np.inf)
    np.minimum.at(least, pair, exact)
    nearest = np.flatnonzero(~(exact > least[pair]))  # or no number
    pair, row, column = pair[nearest], grouped[row], grouped[column]
    if (pair[1:] <= pair[:-1]).any():
        order = np.lexsort((column[nearest], row[nearest], pair))
        _, first = np.unique(pair[order], return_index=True)
        nearest = nearest[order[first]]
    return np.stack([row[nearest], column[nearest]]), exact[nearest]


@on_any_device
def measure_candidates(
    X: np.ndarray,
    grouped: np.ndarray,
    group: np.ndarray,
    n_groups: int,
    precomputed: bool,
    n_jobs: int | None,
    search: MetricSearch | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs among which the closest of two groups are, and how far apart.

    Of every two groups; beyond `MOST_GROUPS`, of those at least that may be near.

    Parameters
    ----------
    X, precomputed, n_jobs
        As in `closest_pairs`.
    grouped, group : int arrays (s,)
        Samples in the order of their groups, and the group of each.
    n_groups : int
        How many there are.
    search : MetricSearch or None
        As in `join_components`.

    Returns
    -------
    row, column : int arrays
        Places of the two samples in `grouped`.
    exact : array
        Their squared distances, or dissimilarities.
    """
    table: Any
    if precomputed:
        table = Entries(X[np.ix_(grouped, grouped)])
    elif search is not None:
        samples = search.samples[grouped]
        table = search.metric.table(samples, samples)
    else:
        table = Products(X[grouped], X[grouped])
    turns = 2 * N_STARTS * N_TURNS * n_groups
    found = None
    measured = precomputed or search is not None
    if not measured:
        find = _closest_by_facing if n_groups <= MOST_GROUPS else closest_of_many
        ends = np.searchsorted(group, np.arange(n_groups + 1))
        found = find(X[grouped], ends, n_jobs)
    if found is None:
        require_memory(
            300.0 * n_groups**2,
            f"joining a graph in {n_groups} pieces",
            "Raise n_neighbors or radius, so that there are fewer.",
        )
    if found is None and (measured or group.size <= max(EXACT, turns)):
        found = _candidates(table, group, n_groups, n_jobs)
    elif found is None:
        found = _nearly_closest(X[grouped], group, n_groups, n_jobs)
    return *found, table.exact(*found)


def _closest_by_facing(
    X: np.ndarray, ends: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Compare the samples of two groups that face each other; None if too many do."""
    facing = facing_samples(X, ends, n_jobs)
    if sum(left.size * right.size for left, right in facing) > EXACT**2 / 2:
        return None
    return closest_of_facing(X, facing, n_jobs)


def _candidates(
    table: Any, group: np.ndarray, n_groups: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the pairs that may be the closest of their two groups, by rounding.

    Rows are compared with columns of their own group and of those after it.
    """
    n, starts = group.size, np.searchsorted(group, np.arange(n_groups))
    sizes = np.diff(starts, append=n)

    def compare(block: slice) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the first group of a block, its table, and minima by column group."""
        first = int(group[block.start])
        squared = table.squared(block, starts[first])
        by_group = np.minimum.reduceat(squared, starts[first:] - starts[first], axis=1)
        return first, squared, by_group

    def smallest(block: slice) -> tuple[int, np.ndarray, np.ndarray]:
        first, _, by_group = compare(block)
        present, begins = np.unique(group[block], return_index=True)
        return first, present, np.minimum.reduceat(by_group, begins, axis=0)

    nearest = np.full((n_groups, n_groups), np.inf)
    for first, present, minima in map_blocks(smallest, n, 3 * 8 * n, n_jobs):
        nearest[present, first:] = np.minimum(nearest[present, first:], minima)

    def candidates(block: slice) -> tuple[np.ndarray, np.ndarray]:
        first, squared, by_group = compare(block)
        limit = nearest[group[block], first:] + table.slack(block)[:, None]
        is_after = group[block, None] < np.arange(first, n_groups)
        row, other = np.nonzero((by_group <= limit) & is_after)
        # The samples of these groups, one after the other.
        counts = sizes[first + other]
        each = np.repeat(np.arange(row.size), counts)
        within = np.arange(each.size) - np.repeat(np.cumsum(counts) - counts, counts)
        row, other = row[each], other[each]
        column = starts[first + other] + within
        near = squared[row, column - starts[first]] <= limit[row, other]
        return row[near] + block.start, column[near]

    found = map_blocks(candidates, n, 4 * 8 * n, n_jobs)
    row = np.concatenate([part[0] for part in found])
    return row, np.concatenate([part[1] for part in found])


def _nearly_closest(
    X: np.ndarray, group: np.ndarray, n_groups: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Go back and forth between every two groups, each time to the nearest sample.

    From some samples nearest to the middle of the other group, and some from all over.
    That ends at two samples which are each other's nearest: of clusters mostly the
    closest pair, of groups that face each other over a wide front one that is a little
    farther apart. A turn compares every sample with a few of each group; all pairs of a
    million samples would take hours.
    """
    ends = np.searchsorted(group, np.arange(n_groups + 1))
    middles = np.add.reduceat(X, ends[:-1]) / np.diff(ends)[:, None]
    inner = X - middles[group]  # a group far away must not round off the others
    lengths = np.einsum("ij,ij->i", inner, inner)

    def nearest(a: int, points: np.ndarray, count: int) -> np.ndarray:
        """Return the `count` samples of group a nearest to each point."""
        inside = slice(ends[a], ends[a + 1])

        def search(block: slice) -> np.ndarray:
            gaps = lengths[inside] - 2 * (points[block] - middles[a]) @ inner[inside].T
            if count == 1:
                return gaps.argmin(axis=1)[:, None]
            return np.argpartition(gaps, count - 1, axis=1)[:, :count]

        per_point = 3 * 8 * (ends[a + 1] - ends[a])
        return ends[a] + np.concatenate(
            map_blocks(search, len(points), per_point, n_jobs)
        )

    # Of every two groups, samples of the second that may be near the first.
    side = np.empty((n_groups, n_groups, 2 * N_STARTS), dtype=np.intp)
    for b in range(n_groups):
        size = ends[b + 1] - ends[b]
        near = nearest(b, middles, min(N_STARTS, size))
        side[:, b, :N_STARTS] = near[:, np.arange(N_STARTS) % size]
        side[:, b, N_STARTS:] = np.linspace(ends[b], ends[b + 1] - 1, N_STARTS)
    for _ in range(N_TURNS):
        last = side.copy()
        for a in range(n_groups):
            facing = X[last[a].ravel()]
            side[:, a] = nearest(a, facing, 1).reshape(n_groups, -1)
    first, second = np.triu_indices(n_groups, 1)
    return side[second, first].ravel(), last[first, second].ravel()


def join_components(
    pairs: Pairs,
    components: Components,
    X: Any,
    *,
    n_neighbors: int | None,
    radius: float | None = None,
    label_rule: str | None = None,
    precomputed: bool = False,
    draws_pieces: bool = False,
    search: MetricSearch | None = None,
    n_jobs: int | None = None,
) -> Pairs:
    """Join the pieces of a graph by their closest pairs, with a warning.

    Parameters
    ----------
    pairs : Pairs
        The graph.
    components : Components
        Its pieces.
    X : array (n, m), or sparse array
        Samples; with `precomputed`, their dissimilarities (n, n). A sparse matrix does
        not say how far apart the pieces are: that is an error, or with `draws_pieces`
        a warning, and they stay apart.
    n_neighbors, radius : int or None, float or None
        What the warning says was used.
    label_rule : str or None
        The rule that has taken edges away, if one has.
    precomputed : bool
        What X holds.
    draws_pieces : bool
        Whether the embedding has coordinates for a graph in pieces too.
    search : MetricSearch or None
        What measures samples; None is the Euclidean distance.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Pairs
        The same graph, if it was one or stays in pieces, or the joined one.
    """
    if components.count == 1:
        return pairs
    if precomputed and sp.issparse(X):
        keep_pieces(components, draws_pieces)
        return pairs
    cause, remedy = f"n_neighbors={n_neighbors}", " Raise n_neighbors to avoid this."
    if radius is not None:
        cause, remedy = f"radius={radius:g}", " Raise radius to avoid this."
    if label_rule is not None:
        cause, remedy = f"label_rule={label_rule!r}, which removes edges", ""
    warn(
        f"The neighbour graph has {components.shown} with {cause}. "
        f"{components.isolated}They were joined by their closest pairs, and what lies "
        f"between them is not to be trusted.{remedy}",
        DisconnectedGraphWarning,
    )
    labels = NUMPY.bring(components.labels)
    row, column = closest_pairs(
        X, labels, precomputed=precomputed, search=search, n_jobs=n_jobs
    )
    xp = array_namespace(pairs.row)
    return pairs_from_directed(
        pairs.n_samples,
        xp.concat([pairs.row, row, column]),
        xp.concat([pairs.column, column, row]),
    )
