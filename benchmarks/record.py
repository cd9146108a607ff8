"""What every estimator gives, kept in a file and compared after a change of the code.

    python benchmarks/record.py before.npz                 # with the code before
    python benchmarks/record.py after.npz --with before.npz  # with the code after

fits every estimator with every dissimilarity and every option on small and middle-sized
sets: samples, tensors on the CPU, a radius, matrices of dissimilarities, wide data,
sweeps and a cluster. It keeps embeddings, graphs, placed samples and the names of the
warnings. `--with` prints what is not equal bit for bit; more than 1e-12 of the largest
number is exit status 1. `--only WORD` takes the cases whose name contains a word, and
`--fewer N` every Nth case.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import patchfold as pf

AGREEMENT = 1e-12
ESTIMATORS = (pf.PatchIsomap, pf.PatchEigenmaps, pf.PatchLLE, pf.PatchProjection)
DISSIMILARITIES = (
    "euclidean",
    "kl",
    "bhattacharyya",
    "hellinger",
    "cauchy_schwarz",
    "wasserstein",
    "fisher_rao",
    "kde",
    "curvature",
    "principal_angles",
)
PATCHES: tuple[dict[str, Any], ...] = (
    {"include_center": False},
    {"adaptive_patches": True},
    {"covariance": "robust"},
    {"covariance": "diagonal"},
    {"shrinkage": "oas"},
    {"shrinkage": "ledoit_wolf"},
    {"n_directions": 2},
    {"n_neighbors": None, "radius": 1.5},
    {"n_neighbors": 0.1},
    {"n_neighbors": "auto"},
    {"label_rule": "klap", "dissimilarity": "curvature"},
    {"label_rule": "entropic"},
    {"label_rule": "within"},
    {"eigen_solver": "dense"},
    {"eigen_solver": "arpack"},
    {"random_state": 7},
    {"n_jobs": 2},
)
OWN: tuple[tuple[Any, dict[str, Any]], ...] = (
    (pf.PatchIsomap, {"n_landmarks": 40}),
    (pf.PatchEigenmaps, {"laplacian": "unnormalized"}),
    (pf.PatchEigenmaps, {"diffusion_time": 2}),
    (pf.PatchEigenmaps, {"kernel_width": 1.0}),
    (pf.PatchLLE, {"reg": 0.1}),
    (pf.PatchProjection, {"reg": 0.1}),
    (pf.CauchyEmbedding, {}),
    (pf.CauchyEmbedding, {"n_neighbors": None}),
    (pf.CauchyEmbedding, {"decay": "gaussian"}),
    (pf.CauchyEmbedding, {"decay": "exponential"}),
    (pf.CauchyEmbedding, {"decay": "linear"}),
    (pf.CauchyEmbedding, {"decay": "laplacian"}),
    (pf.CauchyEmbedding, {"dissimilarity": "kl", "min_distance": 0.01}),
    (pf.PatchPosterior, {}),
    (pf.PatchPosterior, {"label_blend": 0.5}),
    (pf.PatchPosterior, {"views": ("whitened", "relevance"), "scores": ("patch",)}),
)
RECIPES = (pf.isomap_kl, pf.elap, pf.pelle, pf.klap, pf.cauchy)


def make_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Draw the sets: samples and labels."""
    rng = np.random.default_rng(0)

    def clusters(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        label = np.arange(n) % 3
        return rng.normal(size=(n, m)) + 1.5 * label[:, None], label

    grid = np.stack(np.meshgrid(*[np.arange(6.0)] * 3), axis=-1).reshape(-1, 3)
    return {
        "small": clusters(150, 4),
        "middle": clusters(900, 5),
        "wide": clusters(80, 300),
        "grid": (grid, (grid.sum(axis=1) % 3).astype(int)),
        "twins": (np.repeat(rng.normal(size=(60, 3)), 3, axis=0), np.arange(180) % 2),
        "many": clusters(4000, 8),
    }


def results(model: Any, queries: Any) -> dict[str, np.ndarray]:
    """Return what a fitted model shows, as arrays."""
    found = {
        "embedding": model.embedding_ if hasattr(model, "embedding_") else np.empty(0),
        "placed": model.transform(queries),
    }
    graph = getattr(model, "graph_", None)
    if graph is not None:
        graph = graph.to_sparse_csr() if hasattr(graph, "to_sparse_csr") else graph
        inside = graph.data if hasattr(graph, "indptr") else graph.values()
        found["graph"] = inside
    for name in ("eigenvalues_", "n_neighbors_", "n_connected_components_"):
        value = getattr(model, name, None)
        if value is not None:
            found[name] = value
    return {name: np.asarray(value) for name, value in found.items()}


def fit(make: Callable[..., Any], X: Any, y: Any, queries: Any, **options: Any) -> Any:
    """Fit one estimator and place new samples."""
    return results(make(**options).fit(X, y), queries)


def fit_matrix(make: Any, X: np.ndarray, queries: np.ndarray, sparse: bool) -> Any:
    """Fit a matrix of dissimilarities."""
    import scipy.sparse as sp
    from scipy.spatial.distance import cdist

    D, new = cdist(X, X), cdist(queries, X)
    if sparse:
        D = sp.csr_array(np.where(np.sort(D, axis=1)[:, [20]] >= D, D, 0))
        D = D.maximum(D.T)
    return results(make(dissimilarity="precomputed", n_neighbors=10).fit(D), new)


def fit_tensor(make: Any, X: np.ndarray, y: Any, queries: np.ndarray) -> Any:
    """Fit tensors on the CPU."""
    import torch

    return results(make().fit(torch.asarray(X), y), torch.asarray(queries))


def sweep(make: Any, X: np.ndarray, y: Any, queries: np.ndarray) -> Any:
    """Fit several neighbourhood sizes at once."""
    models = pf.fit_sweep(make(), X, y, n_neighbors=(5, 9, 14))
    return {
        f"{size} {name}": value
        for size, model in zip((5, 9, 14), models, strict=True)
        for name, value in results(model, queries).items()
    }


def fit_on_cluster(make: Any, X: np.ndarray, queries: np.ndarray) -> Any:
    """Fit by a cluster of two threads."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        return results(pf.cluster.fit(make(), X, client=client), queries)


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each case and what runs it."""
    sets = make_sets()
    for word, (X, y) in sets.items():
        fitted, new = (X[::2], y[::2]), X[1::2] + 0.01
        words = ("kl", "euclidean") if word == "many" else DISSIMILARITIES
        for make in ESTIMATORS:
            for measure in words:
                name = f"{word} {make.__name__} {measure}"
                yield name, partial(fit, make, *fitted, new, dissimilarity=measure)
        for recipe in RECIPES if word != "many" else RECIPES[1:3]:
            yield f"{word} {recipe.__name__}", partial(fit, recipe, *fitted, new)
    for word in ("small", "grid"):
        X, y = sets[word]
        fitted, new = (X[::2], y[::2]), X[1::2] + 0.01
        options = [
            (make, more)
            for make in ESTIMATORS
            for more in PATCHES
            if set(more) <= set(make().get_params())
        ]
        for make, more in (*options, *OWN):
            run = partial(fit, make, *fitted, new, **more)
            yield f"{word} {make.__name__} {more}", run
    X, y = sets["many"]
    for make in ESTIMATORS:
        more = {"neighbors_algorithm": "approximate"}
        run = partial(fit, make, X, y, X[:50] + 0.01, **more)
        yield f"approximate {make.__name__}", run
    X, y = sets["small"]
    new = X[1::2] + 0.01
    for make in (*ESTIMATORS[:3], pf.CauchyEmbedding):
        for sparse in (False, True):
            run = partial(fit_matrix, make, X[::2], new, sparse)
            yield f"precomputed {make.__name__} sparse={sparse}", run
        yield f"tensor {make.__name__}", partial(fit_tensor, make, X[::2], None, new)
        yield f"sweep {make.__name__}", partial(sweep, make, X[::2], None, new)
    X = sets["middle"][0]
    yield "cluster elap", partial(fit_on_cluster, pf.elap, X, X[:50] + 0.01)


def run(case: Callable[[], Any]) -> dict[str, np.ndarray]:
    """Run a case; an error is a result too, and so are the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = case()
        except ImportError as error:
            found = {"skipped": np.asarray(str(error))}
        except (ValueError, TypeError) as error:
            found = {"error": np.asarray(f"{type(error).__name__}: {error}")}
    names = sorted({warning.category.__name__ for warning in caught})
    return {**found, "warnings": np.asarray(names, dtype=str)}


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest relative difference; inf where shapes or kinds differ."""
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return np.inf
    if one.dtype.kind not in "fiu":
        return 0.0 if np.array_equal(one, other) else np.inf
    if np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
        return 0.0
    return float(np.abs(one - other).max() / np.abs(one).max())


def main() -> None:
    """Record, and compare with a record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", default=Path("record.npz"))
    parser.add_argument("--with", dest="before", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--fewer", type=int, default=1)
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    options = parser.parse_args()
    if options.toy:  # a few cases, compared with themselves
        options.only, options.fewer, options.before = "small ", 25, options.out
    kept: dict[str, np.ndarray] = {}
    chosen = [case for case in cases() if options.only in case[0]][:: options.fewer]
    for name, case in chosen:
        for part, value in run(case).items():
            kept[f"{name} | {part}"] = value
    np.savez_compressed(options.out, **kept)
    print(f"{len(chosen)} cases, {len(kept)} arrays in {options.out}")
    if options.before is None:
        return
    with np.load(options.before) as before:
        differences = {
            name: apart(before[name], value) if name in before else np.inf
            for name, value in kept.items()
        }
    for name, difference in differences.items():
        if difference:
            print(f"{difference:8.1e}  {name}")
    equal = sum(not difference for difference in differences.values())
    print(f"{equal} of {len(differences)} arrays are equal bit for bit")
    if max(differences.values()) > AGREEMENT:
        sys.exit(f"they differ by more than {AGREEMENT:g}.")


if __name__ == "__main__":
    main()
