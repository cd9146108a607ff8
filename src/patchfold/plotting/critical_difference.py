"""Critical-difference diagrams: mean ranks on a line, equals joined by bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..metrics.rank_tests import critical_difference, mean_ranks
from ._style import check_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#222222"
LINE_STEP = 0.9
"""Distance between two labels, in units of the text."""

BAR_STEP = 0.45
"""Distance between two bars."""


def plot_critical_difference(
    scores: Any,
    *,
    alpha: float = 0.05,
    higher_is_better: bool = True,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the mean ranks of methods, and which of them Nemenyi's test tells apart.

    The best method is on the left. A bar joins methods whose mean ranks differ by less
    than the critical difference, which is drawn above the axis.

    Parameters
    ----------
    scores : DataFrame or mapping
        Score table, as in `patchfold.metrics.rank_tests`.
    alpha : float, default=0.05
        Level of significance.
    higher_is_better : bool, default=True
        False ranks the lowest score first.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure of a fitting size.
    title : str, default=None
        Title of the panel.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from patchfold.plotting import plot_critical_difference
    >>> scores = {name: {"PCA": 0.1, "LDA": 0.2, "UMAP": 0.3} for name in "abcde"}
    >>> ax = plot_critical_difference(scores, ax=Figure().subplots(), title="Toy")
    >>> ax.get_title(loc="left")
    'Toy'
    """
    found = mean_ranks(scores, higher_is_better=higher_is_better)
    ranks = dict(sorted(found.ranks.items(), key=lambda item: item[1]))
    cd = critical_difference(len(ranks), found.n_datasets, alpha=alpha)
    groups = indistinguishable(list(ranks.values()), cd)
    depth = BAR_STEP * (len(groups) + 1)
    n_lines = (len(ranks) + 1) // 2
    if ax is None:
        check_matplotlib()
        import matplotlib.pyplot as plt

        height = 0.32 * (depth + LINE_STEP * n_lines + 2.6)
        ax = plt.subplots(figsize=(6.4, height), layout="constrained")[1]
    caption = (
        f"critical difference {cd:.2f} (α = {alpha:g}, {found.n_datasets} datasets)"
    )
    _draw_axis(ax, len(ranks), cd, caption)
    positions = list(ranks.values())
    for level, (first, last) in enumerate(groups):
        y = -BAR_STEP * (level + 1)
        ends = [positions[first], positions[last]]
        ax.plot(ends, [y, y], color=INK, linewidth=4, solid_capstyle="projecting")
    _draw_labels(ax, ranks, depth)
    ax.set_xlim(1 - 0.42 * (len(ranks) - 1), len(ranks) + 0.42 * (len(ranks) - 1))
    ax.set_ylim(-depth - LINE_STEP * n_lines, 2.2)
    ax.axis("off")
    if title is not None:
        ax.set_title(title, loc="left")
    return ax


def indistinguishable(ranks: list[float], cd: float) -> list[tuple[int, int]]:
    """Return the largest groups of neighbours on the rank axis that differ by < cd.

    Parameters
    ----------
    ranks : list of float
        Mean ranks in ascending order.
    cd : float
        Critical difference.

    Returns
    -------
    list of (int, int)
        First and last position of each group of two or more that no other contains.

    Examples
    --------
    >>> indistinguishable([1.0, 1.5, 2.2, 4.0], cd=1.0)
    [(0, 1), (1, 2)]
    """
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + cd)) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _draw_axis(ax: Axes, n_methods: int, cd: float, caption: str) -> None:
    """Draw the line of ranks with its ticks, and the critical difference above."""
    ax.plot([1, n_methods], [0, 0], color=INK, linewidth=1)
    for rank in range(1, n_methods + 1):
        ax.plot([rank, rank], [0, 0.18], color=INK, linewidth=1)
        ax.text(rank, 0.3, str(rank), ha="center", va="bottom", size="medium")
    ends = [1, 1 + cd]
    ax.plot(ends, [1.5, 1.5], color=INK, linewidth=1)
    for end in ends:
        ax.plot([end, end], [1.38, 1.62], color=INK, linewidth=1)
    for text, x, y in (("mean rank", n_methods, 0), (caption, 1 + cd, 1.5)):
        ax.annotate(
            text,
            (x, y),
            (8, 0),
            textcoords="offset points",
            va="center",
            size="medium",
        )


def _draw_labels(ax: Axes, ranks: dict[str, float], depth: float) -> None:
    """Write the better half to the left and the others to the right, with leaders."""
    n_methods = len(ranks)
    half = (n_methods + 1) // 2
    margin = 0.06 * (n_methods - 1)
    for place, (method, rank) in enumerate(ranks.items()):
        left = place < half
        line = place if left else n_methods - 1 - place
        y = -depth - LINE_STEP * line
        edge = 1 - margin if left else n_methods + margin
        ax.plot([rank, rank, edge], [0, y, y], color=INK, linewidth=0.8)
        ax.plot(rank, 0, "o", color=INK, markersize=4)
        text = f"{method}  {rank:.2f}" if left else f"{rank:.2f}  {method}"
        ax.annotate(
            text,
            (edge, y),
            (-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
        )
