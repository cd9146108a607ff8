"""Pictures of an explanation: what every score, or every column, said for a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..plotting import COLORS, GREY, check_matplotlib
from .columns import ColumnEffects, name_rest
from .explanation import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HATCHES = ("", "///", "...", "xxx")
"""Patterns of bars, so that more scores than colours look different."""

SHOWN = 12
"""Most columns that are drawn one by one."""


def plot_explanation(explanation: Explanation, *, ax: Axes | None = None) -> Axes:
    """Draw which scores speak for and against every class, the likeliest on top.

    A bar to the right speaks for the class, one to the left against it; its length is
    what it adds to the log odds. The bars of a class sum to the dot.

    Parameters
    ----------
    explanation : Explanation
        From `PatchPosterior.explain`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> import patchfold as pf
    >>> from patchfold.posterior.plotting import plot_explanation
    >>> X, y = load_wine(return_X_y=True)
    >>> told = pf.PatchPosterior().fit(X[1:], y[1:]).explain(X[0])
    >>> ax = plot_explanation(told, ax=Figure().subplots())
    >>> ax.get_yticklabels()[-1].get_text()
    '0 (p = 1.00)'
    """
    if ax is None:
        check_matplotlib()
        import matplotlib.pyplot as plt

        height = max(4.0, 1.2 + 0.45 * explanation.classes.size)
        ax = plt.subplots(figsize=(9, height), layout="constrained")[1]
    order = np.argsort(explanation.posterior, kind="stable")  # the last row is on top
    place = np.arange(order.size)
    bars = np.vstack([explanation.contributions, explanation.offsets])[:, order]
    names = [*explanation.score_names, "size of the class"]
    start = np.zeros((2, order.size))  # where the next bar starts, against and for
    for k, (name, width) in enumerate(zip(names, bars, strict=True)):
        side = (width > 0).astype(int)
        last = k == len(names) - 1
        color = GREY if last else COLORS[k % len(COLORS)]
        ax.barh(
            place,
            width,
            left=start[side, place],
            color=color,
            hatch="" if last else HATCHES[k // len(COLORS) % len(HATCHES)],
            edgecolor="white",
            linewidth=0.5,
            label=name,
        )
        start[side, place] += width
    ax.plot(bars.sum(axis=0), place, "o", color="black", markersize=4)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(
        place,
        [
            f"{explanation.classes[c]} (p = {explanation.posterior[c]:.2f})"
            for c in order
        ],
    )
    for label in ax.get_yticklabels():
        label.set_parse_math(False)  # names of classes are words
    ax.set_xlabel("log odds, before comparing classes")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return ax


def plot_columns(effects: ColumnEffects, *, ax: Axes | None = None) -> Axes:
    """Draw what the columns added to the score of a class, the largest on top.

    Bars run from the score of a typical row (grey line) to that of the row or class
    that is explained (black line): blue ones raise it, orange ones lower it.

    Parameters
    ----------
    effects : ColumnEffects
        From `PatchPosterior.explain(x).columns` or `PatchPosterior.explain_class`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> import patchfold as pf
    >>> from patchfold.posterior.plotting import plot_columns
    >>> wine = load_wine(as_frame=True)
    >>> model = pf.PatchPosterior().fit(wine.data, wine.target)
    >>> ax = plot_columns(model.explain_class(0), ax=Figure().subplots())
    >>> ax.get_yticklabels()[-1].get_text().startswith("proline")
    True
    """
    order = effects.order()
    parts = [
        (
            f"{effects.columns[f]} = {effects.shown(f)}",
            effects.effects[f, effects.of],
        )
        for f in order[:SHOWN]
    ]
    if order.size > SHOWN:
        rest = effects.effects[order[SHOWN:], effects.of].sum()
        parts.append((name_rest(order.size - SHOWN), rest))
    if effects.left_out[effects.of]:
        parts.append(("left out of its own class", effects.left_out[effects.of]))
    if ax is None:
        check_matplotlib()
        import matplotlib.pyplot as plt

        size = (8.5, 1.4 + 0.38 * len(parts))
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    names, widths = zip(*parts, strict=True)
    starts = effects.baseline[effects.of] + np.cumsum([0.0, *widths[:-1]])
    place = np.arange(len(parts))[::-1]
    colors = [COLORS[0] if width > 0 else COLORS[1] for width in widths]
    ax.barh(place, widths, left=starts, color=colors, height=0.7)
    for y, start, width in zip(place, starts, widths, strict=True):
        right = width > 0
        ax.annotate(
            f"{width:+.2f}",
            (start + width, y),
            (4 if right else -4, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    ends = (effects.baseline[effects.of], effects.score[effects.of])
    for x, name, color in zip(
        ends, ("typical row", "explained"), (GREY, "black"), strict=True
    ):
        ax.axvline(x, color=color, linewidth=1)
        side = "left" if x == max(ends) else "right"
        ax.text(x, 1.01, name, ha=side, transform=ax.get_xaxis_transform())
    ax.set_yticks(place[::-1], names[::-1])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)  # names of columns are words
    ax.use_sticky_edges = False  # room for the numbers beside the bars
    ax.margins(x=0.2)
    ax.set_xlabel(f"score of class {effects.classes[effects.of]}", parse_math=False)
    return ax
