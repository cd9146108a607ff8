"""Toy manifolds of the Cauchy paper: curves in the plane with their true coordinate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STROKES = {
    "I": ((0.0, 1.0), (0.0, -1.0)),
    "M": ((-0.8, -1.0), (-0.8, 1.0), (0.0, -0.4), (0.8, 1.0), (0.8, -1.0)),
    "L": ((-0.6, 1.0), (-0.6, -1.0), (0.6, -1.0)),
}
_SWEEP = {"C": 290.0, "S": 270.0}


def make_shape(
    shape: str, n: int = 57, *, sweep: float | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points evenly spaced along a C or an S made of arcs of radius 1.

    Parameters
    ----------
    shape : {"C", "S"}
        C is one arc of the unit circle, open to the right: by default the angles from
        35 to 325 degrees, both included. S is two arcs that meet at the origin.
    n : int, default=57
        Number of points, at least 2.
    sweep : float, default=None
        Degrees turned by the arc of C (290 if None), or by each arc of S (270). The
        paper gives no formula for its shapes; a smaller S is less curled.

    Returns
    -------
    points : ndarray of shape (n, 2)
    coordinate : ndarray of shape (n,)
        Length along the curve from its first point: what a 1-D embedding should order.

    Examples
    --------
    >>> from scipy.spatial.distance import pdist
    >>> from patchfold.datasets import make_shape
    >>> points, coordinate = make_shape("C")
    >>> points.shape, round(float(pdist(points).mean()), 4)
    ((57, 2), 1.2514)
    """
    if shape not in _SWEEP:
        raise ValueError(
            f"the 'shape' parameter must be one of 'C', 'S'. Got {shape!r} instead."
        )
    _check_n(n)
    degrees = _SWEEP[shape] if sweep is None else float(sweep)
    if not 0 < degrees < 360:
        raise ValueError(
            "the 'sweep' parameter must be between 0 and 360 degrees, both excluded. "
            f"Got {sweep!r} instead."
        )
    if shape == "C":
        return _arc(degrees, n)
    turn = np.radians(np.linspace(-degrees, degrees, n))
    points = np.column_stack([np.sin(turn), np.sign(turn) * (np.cos(turn) - 1.0)])
    return points, turn - turn[0]


def make_letter(
    letter: str, n: int = 150
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points evenly spaced along the strokes of a letter of height 2.

    Parameters
    ----------
    letter : {"I", "C", "M", "L"}
        I, M and L are straight strokes; C is a circular arc of 270 degrees.
    n : int, default=150
        Number of points, at least 2. A corner is met only if a step ends there.

    Returns
    -------
    points : ndarray of shape (n, 2)
    coordinate : ndarray of shape (n,)
        Length along the strokes from the first point.

    Examples
    --------
    >>> from patchfold.datasets import make_letter
    >>> points, coordinate = make_letter("L", n=5)
    >>> points.round(1).tolist()
    [[-0.6, 1.0], [-0.6, 0.2], [-0.6, -0.6], [-0.2, -1.0], [0.6, -1.0]]
    """
    _check_n(n)
    if letter == "C":
        return _arc(270.0, n)
    if letter not in _STROKES:
        raise ValueError(
            "the 'letter' parameter must be one of 'I', 'C', 'M', 'L'. "
            f"Got {letter!r} instead."
        )
    corners = np.array(_STROKES[letter])
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    at_corner = np.concatenate([[0.0], np.cumsum(lengths)])
    coordinate = np.linspace(0.0, at_corner[-1], n)
    points = np.column_stack(
        [np.interp(coordinate, at_corner, axis) for axis in corners.T]
    )
    return points, coordinate


def _arc(degrees: float, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Arc of the unit circle centred on angle 180, from its upper end down."""
    half = degrees / 2.0
    angle = np.radians(np.linspace(180.0 - half, 180.0 + half, n))
    return np.column_stack([np.cos(angle), np.sin(angle)]), angle - angle[0]


def _check_n(n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ValueError(
            f"the 'n' parameter must be an integer of at least 2. Got {n!r} instead."
        )
