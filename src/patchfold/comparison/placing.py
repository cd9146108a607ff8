"""Coordinates of a method -> places in the square of its picture."""

from __future__ import annotations

import numpy as np

STEPS = 9999
"""A coordinate is a whole number from 0 to this: finer than any screen."""

FAR = 3.0
"""Farther than this many times the distance that holds 95 % of the samples is far."""


def place_samples(embedding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put samples into a square, both axes on one scale; far ones at its edge.

    Parameters
    ----------
    embedding : array (n, d)
        Coordinates; the first two are taken, and zeros for a second that is not there.

    Returns
    -------
    placed : array of int16 (n, 2)
        Whole numbers from 0 to `STEPS`.
    far : array of bool (n,)
        Which samples are outside the square.
    """
    points = np.column_stack([embedding, np.zeros(len(embedding))])[:, :2]
    middle = np.median(points, axis=0)
    distance = np.linalg.norm(points - middle, axis=1)
    near = distance <= FAR * np.quantile(distance, 0.95)
    low, high = points[near].min(axis=0), points[near].max(axis=0)
    side = float((high - low).max()) or float(distance.max()) or 1.0
    scaled = 0.5 + (points - (low + high) / 2) / side
    far = ((scaled < -1e-9) | (scaled > 1 + 1e-9)).any(axis=1)
    return np.rint(np.clip(scaled, 0, 1) * STEPS).astype(np.int16), far
