"""How a method is scored on a set, by name: published, honest, pictures, permuted.

* `published`: as the papers did it. All samples are embedded, with all labels if the
  method reads labels; K is the one with the best score on the test half, out of the
  paper's range; one 50/50 split with random_state=42.
* `honest`: the embedding is fitted on the training half only; K and kernel width are
  chosen by cross-validation inside it; the test half is placed by `transform`.
* `permuted published` and `permuted honest`: the same with shuffled labels. What scores
  above the majority rate there has seen labels it should not have.
* `honest noise 1`, `honest outliers 0.1` and other steps: honest, with the training
  half made worse (see `corruption`); the test half stays as it is.
* `pictures`, `labelled` and `permuted labelled`: the study of pictures, see `pictures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ...estimators.methods.baselines import PAPER_NEIGHBORS
from ...metrics.panels import one_nn_accuracy
from ...metrics.topology import local_topology_violations
from .corruption import NOISE_LEVELS, OUTLIER_SHARES
from .honest import score_honestly
from .methods import cauchy_from, embeddings
from .papers import Paper, Table, kind_of
from .pictures import score_labelled, score_picture
from .scoring import fill_and_scale, score_split

PROTOCOLS = {
    "published": ("published",),
    "honest": ("honest",),
    "permuted": ("permuted published", "permuted honest"),
    "noise": tuple(f"honest noise {level:g}" for level in NOISE_LEVELS),
    "outliers": tuple(f"honest outliers {share:g}" for share in OUTLIER_SHARES),
    "pictures": ("pictures",),
    "labelled": ("labelled", "permuted labelled"),
}
"""What can be asked for, and the protocols it stands for."""

N_SPLITS = 10


def is_honest(protocol: str) -> bool:
    """Tell whether a protocol fits on the training half only."""
    return kind_of(protocol) in ("honest", "labelled")


@dataclass(frozen=True)
class Score:
    """One number of one table, and the neighbourhood size behind it."""

    table: str
    metric: str
    value: float
    n_neighbors: int | None


def score(
    paper: Paper,
    tables: tuple[Table, ...],
    method: str,
    protocol: str,
    variant: str,
    X: np.ndarray,
    y: np.ndarray,
    *,
    split: int = 0,
    sizes: tuple[int | float, ...] = (),
    kernel_width: float = 1.0,
) -> list[Score]:
    """Score one method on one set.

    Parameters
    ----------
    paper, tables : Paper, tuple of Table
        Which numbers are wanted.
    method, protocol, variant : str
        What is run, and how.
    X, y : arrays
        Raw samples, missing cells NaN, and class codes. A missing cell becomes the
        mean of its column: over all samples as published, over the training half in
        the honest protocol.
    split : int
        Which of the honest protocol's splits; also seeds a permutation.
    sizes : tuple
        Neighbourhood sizes to search in the published protocol.
    kernel_width : float
        t of KLAP.

    Returns
    -------
    list of Score
    """
    kind = protocol.removeprefix("permuted ")
    if kind != protocol:
        y = np.random.default_rng(split).permutation(y)
    metrics = {metric for t in tables for metric in (*t.metrics, t.select)}
    if kind_of(kind) != "published":
        values, size = _score_study(method, kind, metrics, X, y, split)
        return [
            Score(t.number, metric, values[metric], size)
            for t in tables
            for metric in t.metrics
        ]
    X = fill_and_scale().fit_transform(X)
    if paper.name == "cauchy":
        runs = [_cauchy_published(method, X, y)]
    else:
        runs = [
            (size, score_split(embedding, y, metrics))
            for size, embedding in embeddings(
                method,
                variant,
                X,
                y,
                n_neighbors=sizes,
                baseline_neighbors=PAPER_NEIGHBORS.get(paper.label),
                kernel_width=kernel_width,
            )
        ]
    return list(_best(tables, runs))


def _score_study(
    method: str,
    kind: str,
    metrics: set[str],
    X: np.ndarray,
    y: np.ndarray,
    split: int,
) -> tuple[dict[str, float], int | None]:
    """Score by a protocol of ours; only the honest one chooses K."""
    if kind == "pictures":
        return score_picture(method, X, y), None
    if kind == "labelled":
        return score_labelled(method, X, y, split), None
    corruption = kind.removeprefix("honest").strip()
    return score_honestly(method, metrics, X, y, split, corruption)


def _best(
    tables: tuple[Table, ...], runs: list[tuple[int | None, dict[str, float]]]
) -> Iterator[Score]:
    """Take, for each table, the size with its best score; of equals the smallest."""
    for table in tables:
        by = [values[table.select] for _, values in runs]
        size, values = runs[int(np.argmax(by))]
        for metric in table.metrics:
            yield Score(table.number, metric, values[metric], size)


def _cauchy_published(
    method: str, X: np.ndarray, y: np.ndarray
) -> tuple[int | None, dict[str, float]]:
    """Tune the Laplacian by 1-NN accuracy, then run the method from there.

    The paper tunes the dimension and the kernel width of the Laplacian embedding, and
    starts the others from its result.
    """
    distances = np.linalg.norm(X[:, None, :] - X[None, :, :], axis=2)
    mean_square = distances[np.triu_indices(len(X), 1)].mean() ** 2
    best: tuple[float, int, float] = (-1.0, 1, mean_square)
    for n_components, factor in product((1, 2, 3, 5, 8), (0.1, 0.3, 1.0, 3.0)):
        if n_components < len(X) - 1:
            start = cauchy_from("LAP", n_components, factor * mean_square)
            accuracy = one_nn_accuracy(start.set_params(max_iter=0).fit_transform(X), y)
            best = max(best, (accuracy, n_components, factor * mean_square))
    model = cauchy_from(method, *best[1:])
    R = model.fit_transform(X)
    return None, {
        "accuracy_1nn": one_nn_accuracy(R, y),
        "violations": float(local_topology_violations(model.affinity_, R)),
    }
