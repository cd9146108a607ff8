"""What can be timed: each task makes its data and returns the call to be timed.

A task takes the number of samples and of threads. Data, imports and, where a library
compiles at first use, a first small fit come before the clock starts.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...estimators import (
    CauchyEmbedding,
    CauchyMap,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchPosterior,
)
from ...estimators.recipes import elap, isomap_kl, klap
from ...estimators.sweep import fit_sweep
from ...neighbors.choice import find_neighbors
from ...neighbors.exact import search_all
from .kinds import KINDS, make_kind

Call = Callable[[], Any]
Task = Callable[[int, int], Call]

N_NEIGHBORS = 15
SWEEP = range(2, 41)
N_QUERIES = 5
"""A transform places one row for every `N_QUERIES` rows of the model."""

LEARNED = 100_000
"""Rows of a model that predicts: more would not make it predict more slowly."""


def noisy_roll(n: int, seed: int = 0, n_features: int = 20) -> np.ndarray:
    """Return a swiss roll with features of noise beside its three."""
    from sklearn.datasets import make_swiss_roll

    noise = np.random.default_rng(seed).normal(size=(n, n_features - 3))
    return np.hstack([make_swiss_roll(n, random_state=seed)[0], noise])


def gaussians(n: int, m: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return two normal classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, m)) + 2 * y[:, None], y


def classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ten classes of two clusters each, in 20 features."""
    from sklearn.datasets import make_classification

    return make_classification(
        n, 20, n_informative=8, n_classes=10, n_clusters_per_class=2, random_state=0
    )


def wide(n: int) -> np.ndarray:
    """Return a gene expression set of n samples, or low-rank data shaped like images.

    Where the papers' data are absent, normal data of the same shape stand in.
    """
    names = {72: ("amlall", 7129), 102: ("prostate", 5966)}
    rng = np.random.default_rng(0)
    if n not in names:
        return rng.normal(size=(n, 10)) @ rng.normal(size=(10, 784)) + rng.normal(
            size=(n, 784)
        )
    from ...datasets import DatasetUnavailableError, load

    name, m = names[n]
    try:
        return np.asarray(load(name).data, dtype=float)
    except (DatasetUnavailableError, OSError, ValueError):
        return rng.normal(size=(n, m))


def neighbor_recall(n: int, n_jobs: int | None = None, n_rows: int = 1000) -> float:
    """Return the share of true neighbours that a fit finds, of a sample of rows."""
    X = noisy_roll(n)
    found = find_neighbors(X, N_NEIGHBORS, n_jobs=n_jobs).indices
    rows = np.random.default_rng(1).permutation(n)[:n_rows]
    true = search_all(X[rows], X, N_NEIGHBORS, own=rows, n_jobs=n_jobs).indices
    same = found[rows][:, :, None] == true[:, None, :]
    return float(same.any(axis=2).mean())


def _ours(
    make: Callable[..., Any],
    data: Callable[[int], np.ndarray] = noisy_roll,
    n_neighbors: int = N_NEIGHBORS,
    **params: Any,
) -> Task:
    def task(n: int, n_jobs: int) -> Call:
        X = data(n)
        settings = {"n_neighbors": n_neighbors, "n_jobs": n_jobs, **params}
        return lambda: make(**settings).fit(X)  # none keeps what another needs

    return task


def _theirs(
    name: str, data: Callable[[int], np.ndarray] = noisy_roll, **params: Any
) -> Task:
    def task(n: int, n_jobs: int) -> Call:
        from sklearn import manifold

        X = data(n)
        model = getattr(manifold, name)(
            n_neighbors=N_NEIGHBORS, n_jobs=n_jobs, **params
        )
        return lambda: model.fit(X)

    return task


def _elap_small(n: int, n_jobs: int) -> Call:
    X, _ = gaussians(n)
    return lambda: elap(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs).fit(X)


def _elap_loop(n: int, n_jobs: int) -> Call:
    from .loops import elap_loop

    X, _ = gaussians(n)
    return lambda: elap_loop(X, N_NEIGHBORS)


def _klap(n: int, n_jobs: int) -> Call:
    X, y = gaussians(n)
    return lambda: klap(n_jobs=n_jobs).fit(X, y)


def _klap_loop(n: int, n_jobs: int) -> Call:
    from .loops import klap_loop

    X, y = gaussians(n)
    return lambda: klap_loop(X, y, int(0.75 * n))


def _umap(n: int, n_jobs: int) -> Call:
    from umap import UMAP

    X = noisy_roll(n)
    UMAP(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs).fit(X[:5000])  # compiles
    return lambda: UMAP(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs).fit(X)


def _umap_transform(n: int, n_jobs: int) -> Call:
    from umap import UMAP

    queries = noisy_roll(n // N_QUERIES, seed=1)
    model = UMAP(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs).fit(noisy_roll(n))
    model.transform(queries[:100])  # compiles
    return lambda: model.transform(queries)


def _transform(make: Callable[..., Any], **params: Any) -> Task:
    def task(n: int, n_jobs: int) -> Call:
        queries = noisy_roll(n // N_QUERIES, seed=1)
        model = make(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs, **params)
        model.fit(noisy_roll(n))
        model.transform(queries[:100])  # as the peer's
        return lambda: model.transform(queries)

    return task


def _sweep(n: int, n_jobs: int) -> Call:
    X = noisy_roll(n)
    model = PatchEigenmaps(n_jobs=n_jobs)
    return lambda: list(fit_sweep(model, X, n_neighbors=SWEEP))


def _separate_fits(n: int, n_jobs: int) -> Call:
    X = noisy_roll(n)
    return lambda: [PatchEigenmaps(n_neighbors=k, n_jobs=n_jobs).fit(X) for k in SWEEP]


def _classifying(make: Callable[[int], Any]) -> Task:
    def task(n: int, n_jobs: int) -> Call:
        X, y = classes(n)
        model = make(n_jobs)
        return lambda: model.fit(X, y)

    return task


def _predict(n: int, n_jobs: int) -> Call:
    """Predict n rows by a model of as many, but of at most `LEARNED`."""
    X, y = classes(n + min(n, LEARNED))
    model = PatchPosterior(n_jobs=n_jobs).fit(X[n:], y[n:])
    return lambda: model.predict(X[:n])


def _nca(n_jobs: int) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return NeighborhoodComponentsAnalysis(n_components=2, random_state=0)


def _python(*arguments: str) -> Task:
    def task(n: int, n_jobs: int) -> Call:
        return lambda: subprocess.run(
            [sys.executable, *arguments], check=True, capture_output=True
        )

    return task


def _on_kind(name: str, *, well_behaved: bool) -> Task:
    def task(n: int, n_jobs: int) -> Call:
        X = make_kind(name, n, well_behaved=well_behaved)
        settings = {"n_neighbors": N_NEIGHBORS, "kernel_width": "auto"}
        return lambda: elap(n_jobs=n_jobs, **settings).fit(X)

    return task


TASKS: dict[str, Task] = {
    "elap": _ours(elap, kernel_width="auto"),
    "isomap_kl, landmarks": _ours(isomap_kl, n_landmarks=100),
    "CauchyEmbedding": _ours(CauchyEmbedding, n_neighbors=10),
    "PatchIsomap": _ours(PatchIsomap, n_landmarks=None),
    "PatchEigenmaps": _ours(PatchEigenmaps),
    "PatchLLE": _ours(PatchLLE),
    "PatchLLE, wide": _ours(PatchLLE, wide),
    "PatchPosterior": _classifying(lambda n_jobs: PatchPosterior(n_jobs=n_jobs)),
    "PatchPosterior, predict": _predict,
    "klap, K=30": _classifying(lambda n_jobs: klap(n_neighbors=30, n_jobs=n_jobs)),
    "NeighborhoodComponentsAnalysis": _classifying(_nca),
    "Isomap": _theirs("Isomap"),
    "SpectralEmbedding": _theirs("SpectralEmbedding", affinity="nearest_neighbors"),
    "LocallyLinearEmbedding": _theirs("LocallyLinearEmbedding"),
    "LocallyLinearEmbedding, wide": _theirs("LocallyLinearEmbedding", wide),
    "elap, small": _elap_small,
    "elap, a loop": _elap_loop,
    "klap": _klap,
    "klap, a loop": _klap_loop,
    "umap": _umap,
    "umap, transform": _umap_transform,
    "elap, transform": _transform(elap, kernel_width="auto"),
    "CauchyMap": _ours(CauchyMap),
    "CauchyMap, transform": _transform(CauchyMap),
    "sweep": _sweep,
    "separate fits": _separate_fits,
    "import patchfold": _python("-c", "import patchfold"),
    "import sklearn.manifold": _python("-c", "import sklearn.manifold"),
    "patchfold --help": _python("-m", "patchfold", "--help"),
    "nothing": _python("-c", ""),
    **{f"elap, {name}": _on_kind(name, well_behaved=False) for name in KINDS},
    **{f"normal data, {name}": _on_kind(name, well_behaved=True) for name in KINDS},
}
"""By name. The number of samples has no meaning for imports, help and nothing."""
