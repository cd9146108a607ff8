"""Scores of patches of rows of a class (`class_patches.c`).

See `loops.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .loops import as_kind, is_plain, loops

SIDE = 64
"""Largest matrices that are eliminated eight at a time; larger ones stay in LAPACK."""

POINTS = 2**14
"""Numbers of a patch, eight of which are to stay in cache."""


def can_score(queries: Any, Z: Any, n_neighbors: int) -> bool:
    """Say whether `score_patches` scores rows by patches of `n_neighbors`."""
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
