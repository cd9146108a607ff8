"""The target of a table -> what methods are asked: classes, numbers, groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..tables import encode_classes
from ..tables.judging import MAX_CLASSES

if TYPE_CHECKING:
    import pandas as pd

SMALL_TABLE = 100
"""Below this many rows a comparison is hardly evidence."""


NO_GROUP = "no group"
"""The name of rows that are in no group."""

NEIGHBOR = 10
"""A row is far from others if this neighbour is: nine may be as far out as it is."""

FAR = 3.0
"""Rows are far if that neighbour is more than this many times as far as the median."""

NAMED = 8
"""Most far rows that are named."""


def read_classes(target: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return the class of every row, and the names of the classes."""
    codes, names = encode_classes(target)
    if len(names) > MAX_CLASSES:
        raise ValueError(
            f"the target {target.name!r} has {len(names)} different values in "
            f"{len(codes)} rows, and at most {MAX_CLASSES} classes can be compared. "
            "Name another target, or none."
        )
    if len(names) < 2:
        raise ValueError(
            f"the target {target.name!r} has {len(names)} class, and scores need two: "
            "name another target, or none."
        )
    if np.bincount(codes).max() < 2:
        raise ValueError(
            f"the target {target.name!r} has a different class in each of the "
            f"{len(codes)} rows, so none can be held out: name another target, or none."
        )
    return codes, names


def count_folds(
    labels: np.ndarray, names: Sequence[str], wanted: int, remarks: list[str]
) -> int:
    """Return how many stratified folds there can be, and name the rare classes."""
    counts = np.bincount(labels)
    pairs = zip(names, counts, strict=True)
    rare = [f"“{name}” ({count})" for name, count in pairs if count < wanted]
    if rare:
        shown = ", ".join(rare[:8]) + (f" and {len(rare) - 8} more" if rare[8:] else "")
        remarks.append(
            f"Rare classes: {shown} {'has' if len(rare) == 1 else 'have'} fewer rows "
            f"than there are folds ({wanted}). Some folds have none of them, and their "
            "recall rests on these few rows."
        )
    largest = counts.max() / counts.sum()
    if largest > 0.8:
        remarks.append(
            f"{largest:.0%} of the rows are of the class "
            f"“{names[int(counts.argmax())]}”: a high accuracy says little here. Read "
            "the balanced accuracy and the recall of each class."
        )
    return max(2, min(wanted, int(counts.max())))


def find_groups(
    X: np.ndarray, remarks: list[str]
) -> tuple[np.ndarray | None, list[str]]:
    """Find groups of rows by HDBSCAN, in the encoded columns.

    Parameters
    ----------
    X : array (n, m)
        The encoded columns.
    remarks : list of str
        If there are no groups, this is said here.

    Returns
    -------
    codes : array of int (n,) or None
        Group of every row, as a position in the names; None if there are no groups.
    names : list of str
        "group 1" is the largest; "no group" comes last, where there are such rows.
    """
    from sklearn.cluster import HDBSCAN

    least = max(5, len(X) // 100)
    found = HDBSCAN(min_cluster_size=least, copy=True).fit_predict(X)
    if found.max() < 0:
        remarks.append(
            "HDBSCAN found no groups in the columns: no part of the rows is clearly "
            "denser than the rest. Colour the pictures by a column instead."
        )
        return None, []
    sizes = np.bincount(found[found >= 0])
    order = np.argsort(-sizes, kind="stable")[: MAX_CLASSES - 1]
    codes = np.full(len(X), len(order))
    for place, group in enumerate(order):
        codes[found == group] = place
    names = [f"group {place + 1}" for place in range(len(order))]
    return codes, names + ([NO_GROUP] if (codes == len(order)).any() else [])


def find_far(X: np.ndarray, ids: Sequence[str], remarks: list[str]) -> np.ndarray:
    """Return the distance of each row to its tenth neighbour; name those far away.

    Parameters
    ----------
    X : array (n, m)
        The encoded columns.
    ids : sequence of str
        Names of the rows.
    remarks : list of str
        If there are far rows, this is said here.

    Returns
    -------
    array (n,)
        Distances; with fewer than eleven rows, to the farthest.
    """
    from sklearn.neighbors import NearestNeighbors

    rank = min(NEIGHBOR, len(X) - 1)
    near = NearestNeighbors(n_neighbors=rank).fit(X)
    distances: np.ndarray = near.kneighbors()[0][:, -1]
    far = find_far_rows(distances)
    if far.size:
        names = ", ".join(ids[i] for i in far[:NAMED])
        rest = f" and {far.size - NAMED:,} more" if far.size > NAMED else ""
        is_one = far.size == 1
        remarks.append(
            f"{far.size:,} {'row is' if is_one else 'rows are'} far from the others: "
            f"{names}{rest}. {'Its' if is_one else 'Their'} tenth neighbour is more "
            f"than {FAR:g} times as far as usual. Colour by this distance to see "
            f"{'it' if is_one else 'them'} in all pictures."
        )
    return distances


def find_far_rows(distances: np.ndarray) -> np.ndarray:
    """Return the rows that are far from the others, the farthest first.

    Parameters
    ----------
    distances : array (n,)
        Of each row to its tenth neighbour.

    Returns
    -------
    array of int
    """
    usual = float(np.median(distances))
    far = np.flatnonzero(distances > FAR * usual) if usual > 0 else np.empty(0, int)
    return far[np.argsort(-distances[far], kind="stable")]
