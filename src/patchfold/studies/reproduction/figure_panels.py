"""Panels of the papers' figures: embed, measure, and keep what went wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import scale

from ...datasets import load, us_capitals
from ...estimators import CauchyEmbedding
from ...estimators.methods.baselines import BASELINES, PAPER_NEIGHBORS
from ...estimators.recipes import cauchy
from ...metrics.panels import evaluate, one_nn_accuracy, silhouette
from .figure_records import Panel
from .methods import embeddings
from .papers import PAPERS, Published

CONVERGED: dict[str, Any] = {"max_iter": 500, "tol": 0}
"""For an ascent that ends where no step is left, not at a tolerance."""


@dataclass(frozen=True)
class Shown:
    """A method in a figure of classes.

    Attributes
    ----------
    method, variant : str
        As in `methods.embeddings`; a baseline has no variant.
    n_neighbors : int, float or None
        K of one of the papers' own methods.
    permuted : bool
        Whether it gets shuffled labels, and is drawn and scored by them.
    """

    method: str
    variant: str = ""
    n_neighbors: int | float | None = None
    permuted: bool = False

    @property
    def settings(self) -> str:
        """What a reader must know beside the method and the variant."""
        k = self.n_neighbors
        size = "" if k is None else f"K={k:g}" + ("n" if isinstance(k, float) else "")
        parts = [size, "permuted labels" if self.permuted else ""]
        return ", ".join(part for part in parts if part)


def _run(blank: Panel, compute: Callable[[], dict[str, Any]]) -> Panel:
    """Fill in a panel, or say why it is empty; keep the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            panel = replace(blank, **compute())
        except Exception as error:
            first = str(error).splitlines()[0] if str(error) else ""
            status = f"failed: {type(error).__name__}: {first}"
            panel = replace(blank, status=status)
    notes = sorted({f"{w.category.__name__}: {w.message}"[:200] for w in caught})
    return replace(panel, note=" | ".join(notes[:3]).replace("\n", " "))


def show_classes(
    paper: str,
    number: str,
    metric: str,
    dataset: str,
    shown: tuple[Shown, ...],
    published: Published,
) -> Iterator[Panel]:
    """Embed a dataset by several methods and score the classes."""
    data = load(dataset, download=False)
    X, y = scale(data.filled()), data.target
    table = next(t for t in PAPERS[paper].tables if t.number == number)
    for row in shown:
        labels = np.random.default_rng(0).permutation(y) if row.permuted else y
        value = published.value(PAPERS[paper], table, dataset, row.method, metric)
        printed = {} if value is None or row.permuted else {metric: value}
        blank = Panel(
            row.method,
            row.variant,
            row.settings,
            labels=labels,
            names=list(data.target_names),
            printed=printed,
        )
        yield _run(blank, partial(_embed_classes, row, paper, metric, X, labels))


def _embed_classes(
    row: Shown, paper: str, metric: str, X: np.ndarray, y: np.ndarray
) -> dict[str, Any]:
    sizes = () if row.n_neighbors is None else (row.n_neighbors,)
    near = PAPER_NEIGHBORS[PAPERS[paper].label]
    found = embeddings(
        row.method, row.variant, X, y, n_neighbors=sizes, baseline_neighbors=near
    )
    _, embedding = next(found)
    facts = _overlap(embedding, y)
    if metric not in facts:
        facts[metric] = evaluate(embedding, y)[metric]
    tuned = row.method in BASELINES and BASELINES[row.method].tunes_neighbors
    settings = f"K={near}" if tuned else row.settings
    if embedding.shape[1] == 1:
        embedding = np.column_stack([embedding, np.zeros(len(embedding))])
    return {"points": embedding, "facts": facts, "settings": settings}


def _overlap(embedding: np.ndarray, y: np.ndarray) -> dict[str, float]:
    return {
        "silhouette": silhouette(embedding, y),
        "accuracy_1nn": one_nn_accuracy(embedding, y),
    }


def show_digits(classes: tuple[int, ...], published: Published) -> Iterator[Panel]:
    """Embed some of the digits with the Laplacian start and with Cauchy's decay."""
    data = load("digits", download=False)
    kept = np.isin(data.target, classes)
    X, y = data.data[kept], np.searchsorted(classes, data.target[kept])
    rows = [
        ("LAP", "", "all pairs", cauchy(max_iter=0)),
        ("CAUCHY", "equations", "all pairs", cauchy()),
        ("CAUCHY", "equations", "minimum distance .2", cauchy(min_distance=0.2)),
        ("CAUCHY", "equations", "10 neighbours", CauchyEmbedding()),
    ]
    for method, variant, settings, model in rows:
        names = [str(c) for c in classes]
        blank = Panel(method, variant, settings, labels=y, names=names)
        yield _run(blank, partial(_embed_digits, model, X, y))


def _embed_digits(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    embedding = model.fit_transform(X)
    return {"points": embedding, "facts": _overlap(embedding, y)}


def show_curves(curves: dict[str, np.ndarray], published: Published) -> Iterator[Panel]:
    """Order the points of each curve, given in their true order, by one coordinate.

    First all curves by the Laplacian start, then all by Cauchy's decay, and again.
    """
    rows = [
        ("LAP", "", "", {"max_iter": 0}),
        ("CAUCHY", "equations", "c=1", {}),
        ("CAUCHY", "equations", "c=2", {"decay_scale": 2.0, **CONVERGED}),
    ]
    for method, variant, settings, params in rows:
        for curve, X in curves.items():
            parts = [curve, settings] if settings else [curve]
            blank = Panel(method, variant, ", ".join(parts), points=X)
            yield _run(blank, partial(_order_curve, X, params))


def _order_curve(X: np.ndarray, params: dict[str, Any]) -> dict[str, Any]:
    order = np.argsort(cauchy(n_components=1, **params).fit_transform(X)[:, 0])
    return {"order": order, "facts": {"inversions": float(count_inversions(order))}}


def count_inversions(order: np.ndarray) -> int:
    """Count the pairs that an order has the wrong way round, read from either end.

    Parameters
    ----------
    order : array (n,)
        Positions 0 to n - 1, in some order.

    Returns
    -------
    int

    Examples
    --------
    >>> count_inversions(np.array([3, 2, 0, 1]))
    1
    """
    n = len(order)
    falls = int(np.triu(order[:, None] > order).sum())
    return min(falls, n * (n - 1) // 2 - falls)


def show_cities(published: Published) -> Iterator[Panel]:
    """Order the cities by one coordinate, and measure the way through all of them."""
    cities = us_capitals()
    flat = cities.longitude * np.cos(np.radians(cities.latitude.mean()))
    rows = [
        ("LAP", "", "", {"max_iter": 0}),
        ("CAUCHY", "equations", "c=1", CONVERGED),
    ]
    for method, variant, settings, params in rows:
        blank = Panel(
            method,
            variant,
            settings,
            points=np.column_stack([flat, cities.latitude]),
            labels=np.arange(len(flat)),
            names=list(cities.names),
        )
        yield _run(blank, partial(_order_cities, cities.distances, params))


def _order_cities(distances: np.ndarray, params: dict[str, Any]) -> dict[str, Any]:
    model = cauchy(n_components=1, dissimilarity="precomputed", **params)
    order = np.argsort(model.fit_transform(distances)[:, 0])
    way = float(distances[order[:-1], order[1:]].sum())
    return {"order": order, "facts": {"kilometres": way}}
