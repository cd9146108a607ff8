"""A picture of an explanation: what every score said for every class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..plotting import COLORS, GREY, check_matplotlib
from .explanation import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_explanation(explanation: Explanation, *, ax: Axes | None = None) -> Axes:
    """Draw what spoke for and against every class, the likeliest on top.

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

        ax = plt.subplots(figsize=(7, 4), layout="constrained")[1]
    order = np.argsort(explanation.posterior, kind="stable")  # the last row is on top
    place = np.arange(order.size)
    bars = np.vstack([explanation.contributions, explanation.offsets])[:, order]
    names = [*explanation.score_names, "size of the class"]
    start = np.zeros((2, order.size))  # where the next bar starts, against and for
    for k, (name, width) in enumerate(zip(names, bars, strict=True)):
        side = (width > 0).astype(int)
        last = k == len(names) - 1
        color = GREY if last else COLORS[k % len(COLORS)]
        ax.barh(place, width, left=start[side, place], color=color, label=name)
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
    ax.legend(frameon=False, fontsize="small")
    return ax
