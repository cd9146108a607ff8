"""Draw the small pictures on the cards of docs/index.md.

    python docs/make_cards.py

writes docs/images/cards/*.png, from data that scikit-learn brings along. The two
cards with bars show figures of docs/gpu.md and README.md.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_digits, load_wine, make_blobs, make_s_curve
from sklearn.preprocessing import scale

import patchfold as pf
from patchfold.backends.files import write_bytes

CARDS = Path(__file__).parent / "images" / "cards"
DIGITS, DIGIT = load_digits(return_X_y=True)
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"]
COLOURS += ["#56B4E9", "#F0C419", "#4D4D4D", "#8C564B", "#7A5CB8"]


def dots(ax: Axes, points: np.ndarray, labels: np.ndarray, size: float = 5) -> None:
    """Draw points in the colours of their classes, without axes."""
    colours = np.array(COLOURS)[labels]
    ax.scatter(*points.T[:2], c=colours, s=size, linewidths=0)
    ax.set_axis_off()
    ax.margins(0.04)


def bars(ax: Axes, values: dict[str, float], unit: str) -> None:
    """Draw horizontal bars with their numbers, the first in colour."""
    names = list(values)[::-1]
    colours = ["#B0B7BF"] * (len(names) - 1) + ["#0072B2"]
    drawn = ax.barh(names, [values[name] for name in names], color=colours)
    ax.bar_label(drawn, fmt="{:g}" + unit, padding=3, fontsize=9)
    ax.set_xlim(0, 1.3 * max(values.values()))
    ax.set_xticks([])
    ax.tick_params(left=False, labelsize=9)
    ax.spines[:].set_visible(False)


def first(figure: Figure) -> None:
    """Draw handwritten digits by CauchyMap."""
    dots(figure.subplots(), pf.CauchyMap().fit_transform(DIGITS), DIGIT, 4)


def table(figure: Figure) -> None:
    """Draw a table of words and numbers with a gap."""
    rows = [
        ["price", "colour", "sold"],
        ["€ 9,50", "red", "31.01."],
        ["€ 12,00", "blue", "01.02."],
        ["n/a", "green", "05.02."],
        ["€ 30,25", "red", "24.12."],
    ]
    ax = figure.subplots()
    ax.set_axis_off()
    drawn = ax.table(rows, cellLoc="center", bbox=(0.04, 0.06, 0.92, 0.88))
    drawn.set_fontsize(11)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_edgecolor("#C8CDD3")
        cell.set_facecolor("#DCEAF5" if row == 0 else "white")


def labels(figure: Figure) -> None:
    """Draw digits by PatchPosterior, each training row without itself."""
    dots(
        figure.subplots(), pf.PatchPosterior().fit(DIGITS, DIGIT).embedding_, DIGIT, 14
    )


def production(figure: Figure) -> None:
    """Draw new digits in colour on a map of others, in grey."""
    model = pf.CauchyMap().fit(DIGITS[:1400])
    ax = figure.subplots()
    ax.scatter(*model.embedding_.T, c="#D5D9DE", s=4, linewidths=0)
    dots(ax, model.transform(DIGITS[1400:]), DIGIT[1400:], 7)


def large(figure: Figure) -> None:
    """Draw 20,000 samples by their density."""
    X = make_blobs(20_000, 10, centers=25, cluster_std=1.6, random_state=3)[0]
    ax = figure.subplots()
    drawn = pf.CauchyMap().fit_transform(X)
    ax.hexbin(*drawn.T, gridsize=(110, 60), bins="log", cmap="viridis_r", mincnt=1)
    ax.set_axis_off()


def gpu(figure: Figure) -> None:
    """Draw the seconds of ELAP, 1,000,000 x 20, on a GPU and on two cores."""
    ax = figure.subplots()
    bars(ax, {"H200": 1.8, "two cores": 39}, " s")
    ax.set_title("ELAP, a million samples", fontsize=10)


def methods(figure: Figure) -> None:
    """Draw patches on a noisy S."""
    S = make_s_curve(250, noise=0.12, random_state=0)[0][:, [2, 0]]
    ax = figure.subplots()
    pf.plotting.plot_patches(S, ax=ax, n_neighbors=12, samples=40)
    ax.set_axis_off()
    ax.set_aspect("auto")


def gallery(figure: Figure) -> None:
    """Draw wine in six ways."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    models = (
        pf.CauchyMap(),
        pf.isomap_kl(n_neighbors=40),
        pf.PatchPosterior(),
        pf.elap(n_neighbors=40, kernel_width="auto"),
        pf.PatchProjection(n_neighbors=20),
        pf.PatchIsomap(dissimilarity="euclidean"),
    )
    for ax, model in zip(figure.subplots(2, 3).flat, models, strict=True):
        dots(ax, model.fit(X, y if model is models[2] else None).embedding_, y, 4)


def coming_from(figure: Figure) -> None:
    """Draw a bent sheet in space, and flat by PatchIsomap."""
    X, t = make_s_curve(700, random_state=0)
    left = figure.add_subplot(1, 2, 1, projection="3d")
    left.scatter(*X.T, c=t, s=4, cmap="viridis", linewidths=0)
    left.view_init(10, -70)
    right = figure.add_subplot(1, 2, 2)
    flat = pf.PatchIsomap(dissimilarity="euclidean").fit_transform(X)
    right.scatter(*flat.T, c=t, s=4, cmap="viridis", linewidths=0)
    for ax in (left, right):
        ax.set_axis_off()


def honest(figure: Figure) -> None:
    """Draw the neighbours that four methods keep, means over 75 sets."""
    ax = figure.subplots()
    kept = {"CauchyMap": 0.726, "t-SNE": 0.703, "UMAP": 0.657, "PaCMAP": 0.631}
    bars(ax, kept, "")
    ax.set_title("Neighbours kept, 75 sets", fontsize=10)


PICTURES: dict[str, Callable[[Figure], None]] = {
    "first": first,
    "table": table,
    "labels": labels,
    "production": production,
    "large": large,
    "gpu": gpu,
    "methods": methods,
    "gallery": gallery,
    "coming_from": coming_from,
    "honest": honest,
}


def main() -> None:
    """Draw every card."""
    CARDS.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        figure = Figure(figsize=(4, 2.5), dpi=110, layout="constrained")
        draw(figure)
        drawn, small = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png")
        picture = Image.open(drawn).convert("RGB").quantize(128)
        picture.save(small, "png", optimize=True)
        write_bytes(CARDS / f"{name}.png", small.getvalue())
        print(f"{name}: {len(small.getvalue()):,} bytes")


if __name__ == "__main__":
    main()
