"""Groups of samples -> pairs among which the closest of every two groups are.

Along the line from the middle of one group to that of the other, two samples are no
farther apart than they are. So of each group only those can be in the closest pair
which that line does not put farther from the other group than some pair already is: of
clusters that are far apart, a few in a hundred.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..backends.distances import Products
from ..backends.threads import map_blocks

MOST_GROUPS = 64
"""More groups have too many pairs of groups to look at one by one, or to join all."""

NEAREST = 15
"""Groups to which each of more is joined: as many as samples have neighbours."""

N_STARTS = 8
"""Samples at the front of a group, from which a near pair is looked for."""

SMALL = 8
"""Samples of a group, on average, up to which all pairs of many groups are compared."""

NARROW = 16
"""Samples of a group that face another one, on average, at most; of every two groups
half as many pairs. They are held in memory."""

TRIED = 16
"""Groups that tell whether the others are narrow."""

WIDEST = 2**22
"""Samples of the largest group times groups, at most: their table is in memory."""

ROUNDING = 1e-9
"""Part of the largest coordinate by which a place on the line may be wrong."""


def facing_samples(
    X: np.ndarray, ends: np.ndarray, n_jobs: int | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, for every two groups, the samples that may be in their closest pair.

    Parameters
    ----------
    X : array (n, m)
        Samples in the order of their groups.
    ends : int array (g + 1,)
        Where each group begins, and n.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    list of two int arrays
        Rows of X, for the groups 0 and 1, 0 and 2, ..., 1 and 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> facing_samples(X, np.array([0, 2, 4]), None)
    [(array([1]), array([2]))]
    """
    first, second = np.triu_indices(ends.size - 1, 1)
    middles = np.add.reduceat(X, ends[:-1]) / np.diff(ends)[:, None]

    def look(pair: slice) -> tuple[np.ndarray, np.ndarray]:
        a, b = int(first[pair.start]), int(second[pair.start])
        left = X[ends[a] : ends[a + 1]] - middles[a]
        right = X[ends[b] : ends[b + 1]] - middles[a]
        line = middles[b] - middles[a]
        line = line / (np.linalg.norm(line) or 1.0)
        along_left, along_right = left @ line, right @ line
        near = _near_pair(left, right, along_left, along_right)
        scale = max(np.abs(left).max(), np.abs(right).max()) * X.shape[1]
        near += ROUNDING * scale
        # Written so that what is no number leaves nothing out.
        kept = ~(along_left < along_right.min() - near)
        facing = ~(along_right > along_left.max() + near)
        return np.flatnonzero(kept) + ends[a], np.flatnonzero(facing) + ends[b]

    return map_blocks(look, first.size, 0, n_jobs, step=1)


def _near_pair(
    left: np.ndarray,
    right: np.ndarray,
    along_left: np.ndarray,
    along_right: np.ndarray,
) -> float:
    """Return the distance of a pair that is nearly the closest.

    From the samples at the front of one group to the nearest of the other, and back.
    """
    count = min(N_STARTS, left.shape[0])
    here = left[np.argpartition(-along_left, count - 1)[:count]]
    for others in (right, left):
        squared = Products(here, others).squared(slice(0, here.shape[0]))
        nearest = others[squared.argmin(axis=1)]
        gaps = np.linalg.norm(here - nearest, axis=1)
        here = nearest
    return float(gaps.min())


def closest_of_facing(
    X: np.ndarray,
    facing: list[tuple[np.ndarray, np.ndarray]],
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that may be the closest of their two groups, by rounding.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    facing : list of two int arrays
        As `facing_samples` returns them.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    row, column : int arrays
        Rows of X.
    """
    found = []
    for left, right in facing:
        table = Products(X[left], X[right])
        room = 3 * 8 * right.size

        def smallest(block: slice, table: Products = table) -> float:
            return float(table.squared(block).min())

        least = min(map_blocks(smallest, left.size, room, n_jobs))

        def near(
            block: slice, table: Products = table, least: float = least
        ) -> tuple[np.ndarray, np.ndarray]:
            limit = least + table.slack(block)[:, None]
            row, column = np.nonzero(table.squared(block) <= limit)
            return row + block.start, column

        for row, column in map_blocks(near, left.size, room, n_jobs):
            found.append((left[row], right[column]))
    row, column = (np.concatenate(part) for part in zip(*found, strict=True))
    return row, column


def is_near(groups: np.ndarray, distance: np.ndarray, n_groups: int) -> np.ndarray:
    """Say which pairs of groups are among the `NEAREST` nearest of one of the two.

    Parameters
    ----------
    groups : int array (2, p)
        Pairs, each once, with all of those among them.
    distance : array (p,)
        How far apart they are.
    n_groups : int
        How many groups there are.

    Returns
    -------
    bool array (p,)
        Of groups that are as far apart as the last of them, all are near.
    """
    each = groups.ravel()
    order = np.lexsort((np.tile(distance, 2), each))
    counts = np.bincount(each, minlength=n_groups)
    last = np.cumsum(counts) - counts + np.minimum(NEAREST, counts) - 1
    limit = distance[order[last] % distance.size]
    return ~(distance > np.maximum(*limit[groups]))  # or no number


def is_first(X: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Say which samples are the first of their group, of those that are the same.

    Equal pairs of samples go by their numbers, so the others are in no closest pair;
    a thousand groups of twenty equal samples have 200 million pairs that are as close.

    Examples
    --------
    >>> import numpy as np
    >>> is_first(np.array([[0.5], [0.5], [0.5], [2]]), np.array([0, 0, 1, 1])).tolist()
    [True, False, True, True]
    """
    key = np.einsum("ij,j->i", X, np.cos(np.arange(1.0, X.shape[1] + 1)))
    order = np.lexsort((key, group))
    one, other = order[:-1], order[1:]
    alike = (key[one] == key[other]) & (group[one] == group[other])
    alike[alike] = (X[one[alike]] == X[other[alike]]).all(axis=1)
    first = np.ones(group.size, dtype=bool)
    first[other[alike]] = False
    return first


def closest_of_many(
    X: np.ndarray, ends: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the pairs that may be the closest of near groups; None if too many.

    For many groups that are narrow beside the gaps between them. Two samples with
    places u and v from the middles of their groups, which a line l joins, are
    |l|² - 2 u·l + 2 v·l + |u - v|² apart, squared. The last term is at most the square
    of both radii: whose u·l is behind the largest of its group by half of that is in no
    closest pair. Every sample is compared with the middles only.

    Parameters
    ----------
    X, ends, n_jobs
        As in `facing_samples`.

    Returns
    -------
    row, column : int arrays
        Rows of X, in the order of their groups.
    """
    n_groups, sizes = ends.size - 1, np.diff(ends)
    if X.shape[0] < SMALL * n_groups or sizes.max() * n_groups > WIDEST:
        return None
    middles = np.add.reduceat(X, ends[:-1]) / sizes[:, None]
    inner = X - np.repeat(middles, sizes, axis=0)
    radius = np.sqrt(
        np.maximum.reduceat(np.einsum("ij,ij->i", inner, inner), ends[:-1])
    )
    rounding = 8 * (X.shape[1] + 8) * np.finfo(float).eps
    near = _near_groups(middles, radius, n_jobs)
    begins, others = near.indptr, near.indices

    def look(one: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return how many samples of a group face each near one, and which."""
        begin, end = ends[one.start], ends[one.stop]
        other = others[begins[one.start] : begins[one.stop]]
        lines = middles[other] - middles[one]
        along = lines @ inner[begin:end].T
        reach = radius[other] + radius[one]
        gap = np.linalg.norm(lines, axis=1) + reach
        behind = along.max(axis=1) - reach**2 / 2 - rounding * gap**2
        which, facing = np.nonzero(~(along < behind[:, None]))
        if facing.size > NARROW * other.size:
            facing = facing[:0]
        return np.bincount(which, minlength=other.size), begin + facing

    some = (slice(i, i + 1) for i in range(0, n_groups, n_groups // TRIED))
    if any(count.sum() > facing.size for count, facing in map(look, some)):
        return None
    found = map_blocks(look, n_groups, 0, n_jobs, step=1)
    counts = np.concatenate([count for count, _ in found])
    samples = np.concatenate([facing for _, facing in found])
    group = np.repeat(np.arange(n_groups), np.diff(begins))
    (there,) = np.nonzero(group < others)
    back = np.lexsort((group, others))[there]  # the same pairs from their other ends
    pairs = counts[there] * counts[back]
    if counts.sum() > samples.size or 2 * pairs.sum() > NARROW * there.size:
        return None
    starts = np.cumsum(counts) - counts
    each = np.repeat(np.arange(pairs.size), pairs)
    within = np.arange(each.size) - (np.cumsum(pairs) - pairs)[each]
    left, right = np.divmod(within, counts[back][each])
    return samples[starts[there][each] + left], samples[starts[back][each] + right]


def _near_groups(
    middles: np.ndarray, radius: np.ndarray, n_jobs: int | None
) -> sp.csr_array:
    """Return a symmetric matrix with the pairs of groups that `is_near` may keep.

    Two samples are as far apart as the middles of their groups, but for both radii.
    """
    table, n_groups = Products(middles, middles), radius.size

    def look(block: slice) -> tuple[np.ndarray, np.ndarray]:
        squared = table.squared(block)
        squared[np.arange(squared.shape[0]), np.arange(n_groups)[block]] = np.inf
        slack = table.slack(block)[:, None]
        reach = radius[block, None] + radius
        longest = np.sqrt(np.maximum(squared + slack, 0)) + reach
        limit = np.partition(longest, NEAREST - 1, axis=1)[:, NEAREST - 1 : NEAREST]
        shortest = np.sqrt(np.maximum(squared - slack, 0)) - reach
        row, column = np.nonzero(~(shortest > limit))
        apart = row + block.start != column
        return row[apart] + block.start, column[apart]

    found = map_blocks(look, n_groups, 5 * 8 * n_groups, n_jobs)
    row, column = (np.concatenate(part) for part in zip(*found, strict=True))
    near = sp.coo_array((np.ones(row.size, bool), (row, column)), (n_groups, n_groups))
    near = (near + near.T).tocsr()
    near.sort_indices()
    return near
