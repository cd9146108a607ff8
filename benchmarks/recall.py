"""Recall of the approximate neighbour search, row by row, and the time of each set.

    OPENBLAS_NUM_THREADS=1 python benchmarks/recall.py

prints the tables of docs/reliability.md, "Neighbours": for each set the share of its K
true neighbours that a row finds, as the mean of all rows, the mean of the worst 1 % of
rows, and the worst row; for new samples as well, as they are, moved off the training
samples by 2 and 5 times the distance of the K-th neighbour, and far away. A neighbour
as near as the K-th true one is a hit, as ties are chosen by index. "Told" is the
`neighbors_recall_` of an estimator. The time, in processor seconds of one thread, is a
ratio to normal data of the same shape. The second table has the seconds of tables with
ties, by the exact and the approximate search.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from patchfold.neighbors.choice import (
    EXACT_LIMIT,
    choose_search,
    find_neighbors,
    find_query_neighbors,
)

N_NEIGHBORS = (3, 5, 15)
N_QUERIES = 2000
REPEATS = 3

Maker = Callable[[int, np.random.Generator], np.ndarray]


def normal(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return noise in 20 dimensions."""
    return rng.normal(size=(n, 20))


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return points of a cube."""
    return rng.random((n, 20))


def clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return 50 clusters that overlap."""
    return 4 * rng.normal(size=(50, 20))[rng.integers(0, 50, n)] + normal(n, rng)


def clumps(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return normal samples, and ten clumps of 60 that are 1e-9 wide."""
    X = rng.normal(size=(n, 5))
    X[:600] = np.repeat(X[:10], 60, axis=0) + 1e-9 * rng.normal(size=(600, 5))
    return rng.permutation(X)


def clumps_of_many_features(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return such clumps in 20 dimensions."""
    X = rng.normal(size=(n, 20))
    X[:600] = np.repeat(X[:10], 60, axis=0) + 1e-9 * rng.normal(size=(600, 20))
    return rng.permutation(X)


def fine_clumps(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return clumps of 20 samples only, 1e-7 wide: all samples are in one."""
    X = np.repeat(rng.normal(size=(-(-n // 20), 8)), 20, axis=0)[:n]
    return rng.permutation(X + 1e-7 * rng.normal(size=X.shape))


def duplicates(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return every sample three times."""
    return rng.permutation(normal(n // 3 + 1, rng)[np.arange(n) // 3])


def many_duplicates(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return five samples many times, and others once."""
    X = normal(n, rng)
    X[: n // 2] = X[:5][rng.integers(0, 5, n // 2)]
    return rng.permutation(X)


def scales(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return eight clusters, each ten times as wide as the last."""
    which = rng.integers(0, 8, n)
    middles = 3 * rng.normal(size=(8, 10))
    return middles[which] + 10.0 ** (which - 7)[:, None] * rng.normal(size=(n, 10))


def outlier(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return normal samples and one at 1e7."""
    X = normal(n, rng)
    X[n // 2] = 1e7
    return X


def outliers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return normal samples and 100 far ones, each at a distance of its own."""
    X = rng.normal(size=(n, 10))
    X[:100] *= 10.0 ** np.linspace(1, 9, 100)[:, None]
    return rng.permutation(X)


def cauchy(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return samples with heavy tails in every feature."""
    return rng.standard_cauchy((n, 10))


def heavy_radius(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return samples in all directions with heavy tails."""
    return rng.normal(size=(n, 10)) * rng.standard_cauchy((n, 1))


def integers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return points of a grid."""
    return rng.integers(0, 10, (n, 6)).astype(float)


def wide(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a plane of 12 dimensions in 200, with noise."""
    return rng.normal(size=(n, 12)) @ rng.normal(size=(12, 200)) + rng.normal(
        size=(n, 200)
    )


def wide_noise(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return noise in 200 dimensions."""
    return rng.normal(size=(n, 200))


def curve(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return points of a curve."""
    t = rng.random((n, 1)) * 20
    return np.sin(t * np.linspace(0.2, 3, 10) + np.arange(10))


def sorted_roll(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a roll, from the inner end to the outer."""
    t = np.sort(rng.random(n) * 12)
    return np.c_[t * np.cos(t), t * np.sin(t), rng.random(n)]


def plane(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a plane of 3 dimensions in 20, with little noise."""
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, 20)) + 0.1 * normal(n, rng)


def core_and_halo(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a dense core, noise around it and a sparse halo."""
    X = normal(n, rng)
    X[n // 2 :] *= 0.01
    X[: n // 50] *= 5
    return X


def bits(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a 0/1 table."""
    return rng.integers(0, 2, (n, 20)).astype(float)


def few_categories(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return codes of which most rows are repeated."""
    return rng.integers(0, 3, (n, 6)) / 3


def identity(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return an identity matrix: all distances are ties."""
    return np.eye(n)


def one_hot(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return ten columns of five categories, one-hot."""
    return np.eye(5)[rng.integers(0, 5, (n, 10))].reshape(n, 50)


SETS: list[Maker] = [
    normal,
    uniform,
    clusters,
    clumps,
    clumps_of_many_features,
    fine_clumps,
    duplicates,
    many_duplicates,
    scales,
    outlier,
    outliers,
    cauchy,
    heavy_radius,
    integers,
    bits,
    wide,
    wide_noise,
    curve,
    sorted_roll,
    core_and_halo,
    plane,
]

TIES: list[tuple[Maker, int, int]] = [
    (bits, 10_000, 15),
    (bits, 10_000, 50),
    (integers, 10_000, 15),
    (few_categories, 10_000, 15),
    (one_hot, 10_000, 15),
    (identity, 2_000, 15),
    (bits, 50_000, 15),
]
"""Tables with ties, their rows and K."""


def recalls(found: Any, true: Any) -> np.ndarray:
    """Return the share of true neighbours of each row; ties with the K-th are hits."""
    last = true.distances[:, -1:] * (1 + 1e-9)
    return (found.distances <= last).mean(axis=1)


def describe(shares: np.ndarray) -> str:
    """Return mean, worst 1 % and worst row as cells of a table."""
    worst = np.sort(shares)[: max(1, shares.size // 100)]
    return f"{shares.mean():.4f} | {worst.mean():.3f} | {shares.min():.3f}"


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the processor seconds of the fastest of several runs."""
    took = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def show(make: Maker, n: int, n_neighbors: int, repeats: int) -> None:
    """Print the rows of one set."""
    rng = np.random.default_rng(0)
    X = make(n + N_QUERIES, rng)
    new = rng.permutation(X.shape[0])[:N_QUERIES]  # sets may be in an order
    X, queries = np.delete(X, new, axis=0), X[new]
    plain = rng.normal(size=X.shape)

    def search(data: np.ndarray) -> Any:
        return find_neighbors(data, n_neighbors, algorithm="approximate", n_jobs=1)

    ratio = seconds(lambda: search(X), repeats) / seconds(
        lambda: search(plain), repeats
    )
    cells = choose_search("approximate", X, n_neighbors)
    true = find_neighbors(X, n_neighbors, algorithm="exact")
    found = find_neighbors(X, n_neighbors, algorithm=cells)
    shares, told = describe(recalls(found, true)), "exact"
    if cells is not None:
        told = f"{cells.recall:.4f}"
    print(f"| {title(make, X)}, K = {n_neighbors} | {shares} | {told} | {ratio:.2f} |")
    away = rng.normal(size=queries.shape)
    away *= np.median(true.distances[:, -1]) / np.linalg.norm(away, axis=1)[:, None]
    far = 30 * X.std(axis=0) * rng.normal(size=queries.shape)
    kinds = {"new": 0, "2 K-th distances off": 2 * away, "5 off": 5 * away, "far": far}
    for kind, moved in kinds.items():
        true = find_query_neighbors(queries + moved, X, n_neighbors)
        found = find_query_neighbors(queries + moved, X, n_neighbors, search=cells)
        print(f"| - {kind} | {describe(recalls(found, true))} | | |", flush=True)


def title(make: Maker, X: np.ndarray) -> str:
    """Return what a row of a table is called."""
    return f"{make.__name__.replace('_', ' ')}, {X.shape[0]:,} x {X.shape[1]}"


def show_ties(
    make: Maker, n: int, n_neighbors: int, algorithm: str, repeats: int
) -> None:
    """Print the time of a table with ties beside that of normal data."""
    rng = np.random.default_rng(0)
    X = make(n, rng)

    def took(data: np.ndarray) -> float:
        def search() -> Any:
            return find_neighbors(data, n_neighbors, algorithm=algorithm, n_jobs=1)

        return seconds(search, repeats)

    ours, theirs = took(X), took(rng.normal(size=X.shape))
    times = f"{ours:.2f} | {theirs:.2f} | {ours / theirs:.2f}"
    print(
        f"| {title(make, X)}, K = {n_neighbors} | {algorithm} | {times} |", flush=True
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_500, help="samples of a set")
    parser.add_argument("--neighbors", type=int, nargs="*", default=N_NEIGHBORS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    given = parser.parse_args()
    if given.toy:
        given.rows, given.repeats, given.sets = 1500, 1, ["normal"]
    chosen = [m for m in SETS if given.sets is None or m.__name__ in given.sets]
    print("| set | mean | worst 1 % | worst row | told | time ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for make in chosen:
        for n_neighbors in given.neighbors:
            show(make, given.rows, n_neighbors, given.repeats)
    print("\n| ties | search | seconds | normal data | ratio |")
    print("| --- | --- | ---: | ---: | ---: |")
    for make, n, n_neighbors in TIES[:2] if given.toy else TIES:
        for algorithm in ("exact", "approximate") if n > EXACT_LIMIT else ("exact",):
            show_ties(make, n, n_neighbors, algorithm, given.repeats)


if __name__ == "__main__":
    main()
