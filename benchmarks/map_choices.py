"""CauchyMap with other settings, on the ten sets that its settings were chosen on.

    PATCHFOLD_DATA=FOLDER python benchmarks/map_choices.py --out map_choices.md

Draws each set (of more than 1,500 samples as many, drawn at random) with one setting
changed at a time, and prints means over the sets: accuracy of the panel of four
classifiers and of 7-NN, each over four halves of the picture, hits, trustworthiness,
triplets and silhouette. UMAP, of the `eval` extra, stands beside them. The
tables of `docs/cauchy_map_design.md` were measured so, the rows with .75 alike before
.5 became the setting of a separation of 1.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

import patchfold as pf
from patchfold.datasets import load
from patchfold.estimators import cauchy_map
from patchfold.metrics import neighborhood_hits, triplet_accuracy, trustworthiness
from patchfold.metrics.panels import silhouette
from patchfold.solvers.field import attraction, descent
from patchfold.solvers.field.start import graph_scores, make_start
from patchfold.studies.reproduction.design import CAUCHY_MAP
from patchfold.studies.reproduction.methods import with_defaults
from patchfold.studies.reproduction.scoring import fill_and_scale, panel_scores

MOST, HALVES = 1500, 4
"""Samples of a set at most, and halves that classifiers are trained on."""

METRICS = ("panel", "7-NN", "hits", "trust.", "triplets", "silhouette")

Changes = list[AbstractContextManager[Any]]


def even(part: float) -> Changes:
    """Let neighbours share this part of the weight alike."""
    parts = {"EVEN": part, "LESS_EVEN": 0.0}
    return [patch.object(attraction, name, value) for name, value in parts.items()]


def middle(share: float) -> Changes:
    """Give mid-near pairs another share."""
    shares = {"NEAR": 1 - share, "MIDDLE": share or 1e-6}
    return [patch.object(descent, name, value) for name, value in shares.items()]


def early(share: float) -> Changes:
    """Weaken near pairs in early steps, so that mid-near ones count for more."""
    plain = descent.Recipe.near_share

    def near_share(recipe: Any, t: int) -> float:
        late = recipe._late(t)
        return share ** (1 - late) * plain(recipe, descent.SETTLED) ** late

    return [patch.object(descent.Recipe, "near_share", near_share)]


def spectral_start() -> Changes:
    """Start at eigenvectors of the graph."""
    kept: dict[str, Any] = {}
    plain = cauchy_map.near_pairs

    def near_pairs(*args: Any) -> Any:
        kept["pairs"] = plain(*args)
        return kept["pairs"]

    def begin(init: Any, X: Any, setting: Any, n_components: int) -> Any:
        return make_start(graph_scores(kept["pairs"]), n_components), 0

    ways = {"near_pairs": near_pairs, "begin": begin}
    return [patch.object(cauchy_map, name, way) for name, way in ways.items()]


def also_thinned(thinning: int, count: int = 5) -> Changes:
    """Link samples of large sets to their nearest in a part of the set, too."""
    kept: dict[str, Any] = {}
    plain, opened = cauchy_map.near_pairs, cauchy_map.open_samples

    def open_samples(*args: Any, **kwargs: Any) -> Any:
        source, setting = opened(*args, **kwargs)
        kept["X"] = source.samples
        return source, setting

    def near_pairs(*args: Any) -> Any:
        X, pairs = kept["X"], plain(*args)
        n, some = len(X), np.arange(0, len(X), thinning)
        if n < 1000:
            return pairs
        near = NearestNeighbors(n_neighbors=count).fit(X[some]).kneighbors(X)[1]
        row, column = np.repeat(np.arange(n), count), some[near].ravel()
        other = row != column
        ends = row[other], column[other]
        far = sp.csr_array((np.ones(other.sum()), ends), shape=(n, n))
        far = far + far.T
        return (0.85 * pairs + 0.15 * far / far.sum()).tocsr()

    ways = {"open_samples": open_samples, "near_pairs": near_pairs}
    return [patch.object(cauchy_map, name, way) for name, way in ways.items()]


CHOICES: dict[str, Callable[[], Changes]] = {
    "default": list,
    **{f"{part} alike": partial(even, part) for part in (0.0, 0.25, 0.5, 0.75, 1.0)},
    **{
        f"perplexity {p:g}": partial(
            lambda p: [patch.object(attraction, "PERPLEXITY", p)], p
        )
        for p in (5.0, 11.0)
    },
    **{f"mid-near {share}": partial(middle, share) for share in (0.0, 0.1, 0.3)},
    **{f"near {share} early": partial(early, share) for share in (0.4, 0.2)},
    "spectral start": spectral_start,
    **{f"also 5 of every {k}th": partial(also_thinned, k) for k in (8, 32)},
}
"""What is changed, by name."""

SIZES = (10, 20, 30)
"""Numbers of neighbours in place of 15."""


def read_sets(names: tuple[str, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Read the sets, filled and scaled."""
    for name in names:
        data = load(name)
        X = fill_and_scale().fit_transform(data.data)
        y = np.unique(data.target, return_inverse=True)[1]
        rows = np.random.default_rng(0).permutation(len(X))[:MOST]
        yield (X[rows], y[rows]) if len(X) > MOST else (X, y)


def score(picture: np.ndarray, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the `METRICS` of a picture."""
    accuracies = []
    for seed in range(HALVES):
        parts = train_test_split(picture, y, test_size=0.5, random_state=seed)
        train, test, y_train, y_test = parts
        found = panel_scores(train, y_train, test, y_test, {"mean_accuracy_4"})
        accuracies.append((found["mean_accuracy_4"], found["accuracy:KNN"]))
    k = min(15, (len(X) - 1) // 2)
    return [
        *np.mean(accuracies, axis=0),
        neighborhood_hits(X, picture, n_neighbors=k),
        trustworthiness(X, picture, n_neighbors=k),
        triplet_accuracy(X, picture),
        silhouette(picture, y),
    ]


def rows_of(separation: float, toy: bool) -> Iterator[tuple[str, Changes, Any]]:
    """List names, what is changed, and the map that is drawn."""
    for name, change in CHOICES.items():
        if not toy or name == "default":
            yield name, change(), pf.CauchyMap(separation=separation)
    if toy:
        return
    for size in SIZES:
        yield f"K = {size}", [], pf.CauchyMap(size, separation=separation)
    yield "UMAP", [], with_defaults("UMAP")


def main() -> None:
    """Run everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("map_choices.md"))
    parser.add_argument("--toy", action="store_true", help="one set, one setting")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = ("wine",) if options.toy else CAUCHY_MAP[:10]
    sets, lines = list(read_sets(names)), []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")

    tell(f"| | separation | {' | '.join(METRICS)} |")
    tell("| --- " * (len(METRICS) + 2) + "|")
    for separation in (1.0,) if options.toy else (1.0, 0.0):
        for name, changes, model in rows_of(separation, options.toy):
            with ExitStack() as stack:
                for change in changes:
                    stack.enter_context(change)
                found = [score(model.fit_transform(X), X, y) for X, y in sets]
            means = " | ".join(f"{value:.3f}" for value in np.mean(found, axis=0))
            tell(f"| {name} | {separation:g} | {means} |")


if __name__ == "__main__":
    main()
