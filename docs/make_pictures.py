"""Draw the pictures of the method pages, from data that scikit-learn brings along.

    python docs/make_pictures.py

writes docs/images/methods/*.png, and docs/images/first.png by running the first
Python block of docs/start.md. They are in the repository, so that pages show them
wherever they are read.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_digits, load_wine, make_s_curve
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

import patchfold as pf
from patchfold.backends.files import write_bytes
from patchfold.plotting import plot_embedding, plot_graph, plot_order, plot_patches

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "methods"

WINE = load_wine()
X, Y = scale(WINE.data), WINE.target
S = make_s_curve(250, noise=0.12, random_state=0)[0][:, [0, 2]]

Panel = Callable[[Any], object]


def draw_row(panels: list[Panel], *, width: float = 3.9, height: float = 3.6) -> Figure:
    """Return a figure with the panels side by side."""
    size = width * len(panels), height
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    for ax, panel in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        panel(ax)
    return figure


def letter(graph: Any, title: str, label: str) -> Panel:
    """Return a panel with the edges of a noisy S."""
    return lambda ax: plot_graph(graph, S, ax=ax, title=title, label=label)


def wine(embedding: np.ndarray, title: str, labels: np.ndarray = Y) -> Panel:
    """Return a panel with wine, turned so that the first class lies left and low."""
    turned = embedding * wine_signs(embedding, labels)
    return lambda ax: plot_embedding(turned, labels, ax=ax, title=title, zoom=True)


def wine_signs(embedding: np.ndarray, labels: np.ndarray = Y) -> np.ndarray:
    """Return the signs of axes that put the first class left and low."""
    means = np.array([embedding[labels == c].mean(axis=0) for c in (0, 1, 2)])
    wrong = [means[0, 0] > means[2, 0], means[0, 1] > means[1:, 1].mean()]
    return np.where(wrong, -1, 1)


def pipeline() -> Figure:
    """Return the way every method goes: patches, edges, coordinates."""
    near = {"n_neighbors": 12}
    model = pf.PatchIsomap(**near).fit(S)
    plain = pf.PatchIsomap(**near, dissimilarity="euclidean").fit(S)
    return draw_row(
        [
            lambda ax: plot_patches(
                S, ax=ax, title="Patches", samples=40, n_neighbors=12
            ),
            letter(plain.graph_, "Edges compare points", "distance"),
            letter(model.graph_, "Edges compare patches", "KL divergence"),
        ]
    )


def isomap_kl() -> Figure:
    """Return ISOMAP-KL: lengths, and wine beside Isomap."""
    euclidean = pf.PatchIsomap(n_neighbors=20, dissimilarity="euclidean")
    return draw_row(
        [
            letter(pf.isomap_kl(n_neighbors=12).fit(S).graph_, "Edge lengths", "KL, d"),
            wine(euclidean.fit_transform(X), "Wine, Isomap"),
            wine(pf.isomap_kl(n_neighbors=20).fit_transform(X), "Wine, ISOMAP-KL"),
        ]
    )


def elap() -> Figure:
    """Return ELAP: weights, and wine beside Laplacian eigenmaps."""
    settings = {"n_neighbors": 40, "kernel_width": "auto"}
    euclidean = pf.elap(**settings, dissimilarity="euclidean")
    weights = pf.elap(n_neighbors=12, kernel_width="auto").fit(S).affinity_
    return draw_row(
        [
            letter(weights, "Edge weights", "exp(-d²/t)"),
            wine(euclidean.fit_transform(X), "Wine, Laplacian eigenmaps"),
            wine(pf.elap(**settings).fit_transform(X), "Wine, ELAP, t = median d²"),
        ]
    )


def pelle() -> Figure:
    """Return PELLE: weights, and wine beside LLE."""
    euclidean = pf.PatchLLE(n_neighbors=20, dissimilarity="euclidean")
    weights = pf.pelle(n_neighbors=12).fit(S).weights_
    return draw_row(
        [
            letter((weights + weights.T) / 2, "Weights", "mean of both ends"),
            wine(euclidean.fit_transform(X), "Wine, LLE"),
            wine(pf.pelle(n_neighbors=20).fit_transform(X), "Wine, PELLE"),
        ]
    )


def klap() -> Figure:
    """Return KLAP: wine with its labels, with permuted ones, and held-out samples."""
    shuffled = np.random.default_rng(0).permutation(Y)
    fitted = pf.klap().fit(X[::2], Y[::2])
    return draw_row(
        [
            wine(pf.klap().fit_transform(X, Y), "Wine, all labels given"),
            wine(
                pf.klap().fit_transform(X, shuffled),
                "Permuted labels given",
                labels=shuffled,
            ),
            wine(fitted.transform(X[1::2]), "Held-out half", labels=Y[1::2]),
        ]
    )


def cauchy() -> Figure:
    """Return Cauchy: decays of distance, and a C ordered by one coordinate."""
    points, _ = pf.datasets.make_shape("C")

    def decays(ax: Any) -> None:
        d = np.linspace(0, 3, 200)
        ax.plot(d, 1 / (1 + d**2), label="Cauchy", color="#0072B2", linewidth=2)
        ax.plot(d, np.exp(-(d**2)), label="Gaussian", color="#D55E00", linestyle="--")
        ax.plot(d, 1 - d**2 / 4, label="Laplacian", color="#4D4D4D", linestyle=":")
        ax.set(xlabel="distance / σ", ylim=(-0.1, 1.05), xlim=(0, 3))
        ax.set_title("What a distance is worth, Γ", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)

    def ordered(name: str, **settings: Any) -> Panel:
        model = pf.cauchy(n_components=1, **settings)
        order = model.fit_transform(points)[:, 0].argsort()
        later = np.triu(order[:, None] > order[None, :], k=1).sum()
        wrong = min(later, len(order) * (len(order) - 1) // 2 - later)
        title = f"A C in order, {name}: {wrong} inversions"
        return lambda ax: plot_order(points, order, ax=ax, title=title)

    return draw_row(
        [decays, ordered("Laplacian", decay="laplacian"), ordered("Cauchy")]
    )


def posterior() -> Figure:
    """Return PatchPosterior: training picture, held-out samples, permuted labels."""
    raw = WINE.data
    shuffled = np.random.default_rng(0).permutation(Y)
    fitted = pf.PatchPosterior().fit(raw[::2], Y[::2])
    control = pf.PatchPosterior().fit(raw, shuffled)
    return draw_row(
        [
            wine(fitted.embedding_, "Wine, training half", labels=Y[::2]),
            wine(fitted.transform(raw[1::2]), "Held-out half", labels=Y[1::2]),
            wine(control.embedding_, "Permuted labels, training", labels=shuffled),
        ]
    )


def cauchy_map() -> Figure:
    """Return CauchyMap: digits, the same more separated, and held-out digits."""
    digits = load_digits()
    X, Y = digits.data[:1000:2], digits.target[:1000:2]
    plain, apart = (pf.CauchyMap(separation=s).fit(X) for s in (0.0, 1.0))
    placed = plain.transform(digits.data[1:1000:2])

    def panel(
        embedding: np.ndarray, title: str, labels: np.ndarray, *, legend: bool = False
    ) -> Panel:
        names = [str(label) for label in labels]
        return lambda ax: plot_embedding(
            embedding, names, ax=ax, title=title, legend=legend
        )

    return draw_row(
        [
            panel(plain.embedding_, "Digits", Y, legend=True),
            panel(apart.embedding_, "Digits, separation=1", Y),
            panel(placed, "Held-out digits", digits.target[1:1000:2]),
        ]
    )


def cauchy_map_labels() -> Figure:
    """Return CauchyMap of wine: without labels, with labels, with shuffled labels."""
    shuffled = np.random.default_rng(0).permutation(Y)
    return draw_row(
        [
            wine(pf.CauchyMap().fit_transform(X), "Wine, no labels"),
            wine(pf.CauchyMap().fit_transform(X, Y), "With labels"),
            wine(
                pf.CauchyMap().fit_transform(X, shuffled),
                "Shuffled labels, training",
                labels=shuffled,
            ),
        ]
    )


def shuffled_labels() -> Figure:
    """Return wine with true and shuffled labels, by CauchyMap and supervised UMAP."""
    shuffled = np.random.default_rng(0).permutation(Y)

    def panel(make: Callable[[], Any], labels: np.ndarray, title: str) -> Panel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of UMAP: it is imported, it is seeded
            drawn = make().fit_transform(X, labels)
        accuracy = KNeighborsClassifier(7).fit(drawn, labels).score(None, labels)
        return wine(drawn, f"{title}: 7-NN {accuracy:.2f}", labels)

    def umap() -> Any:
        from umap import UMAP

        return UMAP(random_state=0)

    return draw_row(
        [
            panel(pf.CauchyMap, Y, "CauchyMap"),
            panel(pf.CauchyMap, shuffled, "CauchyMap, shuffled"),
            panel(umap, Y, "UMAP"),
            panel(umap, shuffled, "UMAP, shuffled"),
        ],
        width=3.4,
    )


def projection() -> Figure:
    """Return PatchProjection: wine beside PCA, and what the columns say."""
    model = pf.PatchProjection(n_neighbors=20).fit(X)

    def loadings(ax: Any) -> None:
        order = np.argsort(-np.abs(model.projection_[:, 0]))[:8][::-1]
        names = [WINE.feature_names[k].split("/")[0].replace("_", " ") for k in order]
        values = model.projection_[order, 0] * wine_signs(model.embedding_)[0]
        ax.barh(names, values / np.abs(values).max(), color="#0072B2")
        ax.set(xticks=[])
        ax.axvline(0, color="#333333", linewidth=0.8)
        ax.set_title("First coordinate, loadings", loc="left")
        ax.spines[["top", "right", "bottom"]].set_visible(False)

    return draw_row(
        [
            wine(PCA(2).fit_transform(X), "Wine, PCA"),
            wine(model.embedding_, "Wine, PatchProjection"),
            loadings,
        ]
    )


PICTURES: dict[str, Callable[[], Figure]] = {
    "pipeline": pipeline,
    "isomap_kl": isomap_kl,
    "elap": elap,
    "pelle": pelle,
    "klap": klap,
    "cauchy": cauchy,
    "posterior": posterior,
    "projection": projection,
    "cauchy_map": cauchy_map,
    "cauchy_map_labels": cauchy_map_labels,
    "shuffled_labels": shuffled_labels,
}


def first_picture() -> bytes:
    """Run the first Python block of the first page and return what it drew."""
    text = (DOCS / "start.md").read_text("utf-8")
    (block, *_) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(compile(block, "start.md", "exec"), {"__name__": "block"})
        return compress(io.BytesIO(Path("first.png").read_bytes()))


def compress(picture: io.BytesIO) -> bytes:
    """Return a PNG with 128 colours, a third of the size."""
    small = io.BytesIO()
    Image.open(picture).convert("RGB").quantize(128).save(small, "png", optimize=True)
    return small.getvalue()


def main() -> None:
    """Draw every picture, or those that are named."""
    os.environ.setdefault("MPLBACKEND", "agg")
    warnings.simplefilter("error")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        drawn = io.BytesIO()
        PICTURES[name]().savefig(drawn, format="png")
        picture = compress(drawn)
        write_bytes(IMAGES / f"{name}.png", picture)
        print(f"{name}: {len(picture):,} bytes")
    if not sys.argv[1:]:
        write_bytes(IMAGES.parent / "first.png", first_picture())


if __name__ == "__main__":
    main()
