"""Many samples as pixels: hue is what they are, strength how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS = 400
"""Pixels along the longer side."""

FAINTEST = 0.25
"""Strength of a pixel with a single sample."""


def draw_density(
    ax: Axes,
    points: np.ndarray,
    groups: list[Any],
    values: np.ndarray | None,
    shown: np.ndarray,
    ends: tuple[float, float],
) -> Any:
    """Draw samples as an image, and return what a colour bar needs.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    points : array (n, 2)
        Places.
    groups : list
        Rows, name, colour and marker of every class; empty with `values`.
    values : array (n,) or None
        Numbers that colour the samples.
    shown : array of bool (n,)
        Which samples are drawn.
    ends : (float, float)
        Quantiles of the values between which colours run.

    Returns
    -------
    matplotlib.cm.ScalarMappable or None
    """
    low, high = points[shown].min(axis=0), points[shown].max(axis=0)
    side = float((high - low).max()) or 1.0
    shape = np.maximum(1, np.ceil(PIXELS * (high - low) / side)).astype(int)
    place = ((points - low) / side * PIXELS).astype(int)
    cell = np.minimum(place, shape - 1) @ np.array([1, shape[0]])
    n_cells = int(shape.prod())
    scale = None
    if values is None:
        colors, count = _mix_classes(cell, groups, shown, n_cells)
    else:
        colors, count, scale = _mix_numbers(cell, values, shown, n_cells, ends)
    strength = np.where(count > 0, _strength(count), 0.0)
    image = np.column_stack([colors, strength]).reshape(shape[1], shape[0], 4)
    edges = low + side / PIXELS * shape
    ax.imshow(
        image,
        extent=(low[0], edges[0], low[1], edges[1]),
        origin="lower",
        interpolation="nearest",
        aspect="auto",
    )
    for _, name, color, marker in groups:  # for the legend
        ax.scatter([], [], color=color, marker=marker, label=name)
    return scale


def _strength(count: np.ndarray) -> np.ndarray:
    """Return the strength of pixels by their counts, on a logarithmic scale."""
    most = max(float(np.quantile(count[count > 0], 0.99)), 2.0)
    share = np.log(np.maximum(count, 1)) / np.log(most)
    return np.clip(FAINTEST + (1 - FAINTEST) * share, 0, 1)


def _mix_classes(
    cell: np.ndarray, groups: list[Any], shown: np.ndarray, n_cells: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean colour of each pixel's samples, and their count."""
    from matplotlib.colors import to_rgb

    total, count = np.zeros((n_cells, 3)), np.zeros(n_cells)
    for rows, _, color, _ in groups:
        mine = np.bincount(cell[rows[shown[rows]]], minlength=n_cells)
        total += mine[:, None] * np.array(to_rgb(color))
        count += mine
    return total / np.maximum(count, 1)[:, None], count


def _mix_numbers(
    cell: np.ndarray,
    values: np.ndarray,
    shown: np.ndarray,
    n_cells: int,
    ends: tuple[float, float],
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return the colour of each pixel's mean number, the count, and the scale."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    used = shown & np.isfinite(values)
    count = np.bincount(cell[used], minlength=n_cells)
    total = np.bincount(cell[used], values[used], minlength=n_cells)
    low, high = np.quantile(values[used], ends)
    scale = ScalarMappable(Normalize(low, high), "viridis")
    return scale.to_rgba(total / np.maximum(count, 1))[:, :3], count, scale
