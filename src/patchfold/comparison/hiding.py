"""Pictures that hide structure, or show more than there is: what they do, and why."""

from __future__ import annotations

import numpy as np

from .folds import N_VOTERS
from .placing import STEPS, place_samples

ONE_SPOT = 0.02
"""A class is on one spot if its spread is less than this share of that of classes."""

CROWDED = 0.9, 0.01
"""A picture is crowded if this share of the samples is on that share of its area."""

CELLS = 50
"""Cells along a side of the grid that the area is measured with."""

ENOUGH = 250
"""Fewer samples cannot crowd a picture."""

FLATTERS = 0.1
"""A picture flatters if it shows classes by more than this better than new rows are."""


def find_hidden(
    embedding: np.ndarray, classes: np.ndarray | None, why: str = ""
) -> str:
    """Say in words why a picture hides structure.

    Parameters
    ----------
    embedding : array (n, d)
        Coordinates; the first two count.
    classes : array of int (n,) or None
        Class of every sample.
    why : str, default=""
        Why the method would put many samples on few spots.

    Returns
    -------
    str
        Empty if nothing is hidden.

    Examples
    --------
    >>> import numpy as np
    >>> spots = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    >>> find_hidden(spots, np.repeat([0, 1], 30), "it has seen the labels")
    'puts each class on one spot: it has seen the labels'
    """
    points = embedding[:, :2]
    if not np.isfinite(points).all() or len(points) < 20:
        return ""
    total = float(np.sqrt(points.var(axis=0).sum()))
    if total == 0:
        return "puts all samples on one spot"
    if classes is not None:
        own = [points[classes == c] for c in np.unique(classes)]
        inner = np.array([_spread(rows) for rows in own])
        counts = np.array([len(rows) for rows in own])
        centers = np.array([np.median(rows, axis=0) for rows in own])
        limit = ONE_SPOT * np.sqrt(centers.var(axis=0).sum())
        tight = inner < limit
        if counts[tight].sum() > CROWDED[0] * len(points):
            what = "each class on one spot"
            if _has_near(centers[tight], limit):
                what = "classes on the same spot"
            return f"puts {what}" + (f": {why}" if why else "")
    if len(points) >= ENOUGH and _is_crowded(place_samples(points)[0]):
        if points.shape[1] == 1:  # such as LDA with two classes
            why = "it has one coordinate only"
        why = why or "a few others take the room"
        return (
            f"puts {CROWDED[0]:.0%} of the samples on {CROWDED[1]:.0%} of the picture: "
            f"{why}"
        )
    return ""


def find_flattery(embedding: np.ndarray, classes: np.ndarray, held_out: float) -> str:
    """Say in words that a picture of a supervised method draws classes too far apart.

    Parameters
    ----------
    embedding : array (n, d)
        Coordinates; the first two count.
    classes : array of int (n,)
        Class of every sample.
    held_out : float
        Accuracy on samples the fit has not seen.

    Returns
    -------
    str
        Empty if neighbours in the picture predict classes about as well.

    Examples
    --------
    >>> import numpy as np
    >>> spots = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    >>> said = find_flattery(spots, np.repeat([0, 1], 30), 0.65)
    >>> said.endswith("the class of 100% of the rows drawn, and of 65% of new rows")
    True
    """
    from sklearn.neighbors import KNeighborsClassifier

    points = embedding[:, :2]
    if not np.isfinite(points).all() or len(points) <= N_VOTERS:
        return ""
    voters = KNeighborsClassifier(N_VOTERS).fit(points, classes)
    drawn = float(np.mean(voters.predict(None) == classes))
    if not drawn - held_out > FLATTERS:
        return ""
    return (
        "draws classes further apart than they are: it has seen the labels, and its "
        f"picture says the class of {drawn:.0%} of the rows drawn, and of "
        f"{held_out:.0%} of new rows"
    )


def _has_near(points: np.ndarray, limit: float) -> bool:
    """Say whether two of the points are nearer than this."""
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    return bool(np.triu(gaps < limit, 1).any())


def _spread(points: np.ndarray) -> float:
    """Return the median distance from the median point."""
    gaps = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    return float(np.median(gaps))


def _is_crowded(points: np.ndarray) -> bool:
    place = np.minimum(points / STEPS * CELLS, CELLS - 1).astype(int)
    counts = np.sort(np.bincount(place[:, 0] * CELLS + place[:, 1]))[::-1]
    needed = int(np.searchsorted(np.cumsum(counts), CROWDED[0] * len(points))) + 1
    return needed <= CROWDED[1] * CELLS**2
