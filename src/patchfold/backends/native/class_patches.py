"""The nearest rows of a class, and scores of patches of them (`class_patches.c`).

See `loops.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .loops import as_kind, is_plain, loops
from .neighbors import in_groups

MOST_NEIGHBORS = 32
"""Neighbours that are found among 64 bins of rows."""

SIDE = 64
"""Largest matrices that are eliminated eight at a time; larger ones stay in LAPACK."""

POINTS = 2**14
"""Numbers of a patch, eight of which are to stay in cache."""


@dataclass(frozen=True)
class Members:
    """Rows of a class, laid out for `nearest_members`.

    Attributes
    ----------
    rows : array (n, m)
        The rows.
    points : float32 array (g + BEHIND, m, GROUP)
        The same from their center, in groups, feature by feature.
    norms : float32 array (n,)
        Their squared norms.
    center : array (m,)
        Mean of the rows.
    """

    rows: np.ndarray
    points: np.ndarray
    norms: np.ndarray
    center: np.ndarray


def lay_out(rows: np.ndarray) -> Members | None:
    """Lay rows out for `nearest_members`; None where single precision has no room."""
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    center = rows.mean(axis=0)
    points = rows - center
    squared = np.einsum("ij,ij->i", points, points)
    if not squared.max() < np.finfo(np.float32).max / 16:
        return None
    return Members(rows, in_groups(points), squared.astype(np.float32), center)


def nearest_members(
    members: Members, queries: Any, n_neighbors: int
) -> np.ndarray | None:
    """Return the nearest rows of a class, (q, K), nearest first; ties by index.

    A row that begins with -1 is left open by rounding, and must be searched as
    `neighbors.exact.search_all` does. None if all must: there are no loops, or the
    queries are not plain, or neighbours are many.
    """
    if loops() is None or not is_plain(queries) or n_neighbors > MOST_NEIGHBORS:
        return None
    near = np.empty((queries.shape[0], n_neighbors), dtype=np.int64)
    parts = members.rows, members.points, members.norms, members.center
    loops().nearest_members(queries, *parts, near)
    return near


def can_score(queries: Any, Z: Any, n_neighbors: int) -> bool:
    """Say whether `score_patches` scores rows by patches of so many neighbours."""
    if loops() is None or not (is_plain(queries) and is_plain(Z)):
        return False
    m = Z.shape[1]
    return min(n_neighbors, m) <= SIDE and n_neighbors * m <= POINTS


def score_patches(
    queries: Any, Z: Any, near: np.ndarray, rule: tuple[float, float, float]
) -> np.ndarray | None:
    """Return the Student scores of rows under patches of their neighbours, (q,).

    `rule` is what of the covariance S of K rows, of its trace and in any case is in
    Σ = a S + (b tr S + c) I. Not a number where arrays must find it, as
    `posterior.local.local_score` does; None if they must find all.
    """
    if not can_score(queries, Z, near.shape[1]):
        return None
    scores = np.empty(queries.shape[0])
    loops().score_patches(queries, Z, as_kind(near, np.int64), np.array(rule), scores)
    return scores
