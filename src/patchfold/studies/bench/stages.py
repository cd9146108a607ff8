"""Stages of a fit beside the machine's floor: flops and bytes over measured peaks.

One thread, processor seconds. A floor counts only what a stage cannot do without: the
multiplications of its formula, and every array that it reads or writes, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...backends.native.eigenvectors import check_matrix, sparse_times
from ...dissimilarity.table import compare_pairs, describe_patches, get_dissimilarity
from ...estimators import PatchEigenmaps
from ...graph.paths import geodesics
from ...graph.weights import laplacian, scale_both_sides
from ...neighbors.choice import find_neighbors
from ...patches.fitting import fit_patches, mean_variance
from ...solvers.spectral import smallest_eigenpairs
from .tasks import N_NEIGHBORS, noisy_roll

REPEATS = 5
SIDE = 1024
"""Rows of the matrices whose product shows the peak of computation."""

STREAM = 2**24
"""Numbers that are read to show the peak of memory: more than a cache holds."""


@dataclass(frozen=True)
class Stage:
    """One stage, ready to run, and what it cannot do without.

    Attributes
    ----------
    name : str
        As it is printed.
    work : callable
        Runs it.
    flops, bytes : float
        The least that it computes, reads and writes.
    single : bool
        Whether it computes in single precision.
    """

    name: str
    work: Callable[[], Any]
    flops: float
    bytes: float
    single: bool = False


class Peaks(NamedTuple):
    """What one core does in a second.

    Attributes
    ----------
    flops, single_flops : float
        Of a matrix product, in double and in single precision.
    bytes : float
        Read from memory.
    """

    flops: float
    single_flops: float
    bytes: float


def best_time(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the processor seconds of the fastest of several runs."""
    took = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return max(min(took), 1e-9)


def measure_peaks() -> Peaks:
    """Measure the peaks of one core."""
    stream = np.ones(STREAM)
    return Peaks(
        _peak_of_products(np.float64),
        _peak_of_products(np.float32),
        stream.nbytes / best_time(stream.max),
    )


def _peak_of_products(kind: Any) -> float:
    matrix = np.ones((SIDE, SIDE), dtype=kind)
    return 2 * SIDE**3 / best_time(lambda: matrix @ matrix)


def floor_of(stage: Stage, peaks: Peaks) -> float:
    """Return the seconds below which a stage cannot be.

    Examples
    --------
    >>> stage = Stage("sum", lambda: None, flops=10, bytes=80)
    >>> floor_of(stage, Peaks(5.0, 10.0, 20.0))
    4.0
    """
    flops = peaks.single_flops if stage.single else peaks.flops
    return max(stage.flops / flops, stage.bytes / peaks.bytes)


def make_stages(n: int, sources: int) -> list[Stage]:
    """Return the stages of a fit of a noisy roll; paths from some sources only."""
    X = noisy_roll(n)
    m, k = X.shape[1], N_NEIGHBORS
    near = find_neighbors(X, k).indices
    patches = fit_patches(X, X, near, variance=mean_variance(X))
    kl = get_dissimilarity("kl")
    described = describe_patches(kl, patches)
    model = PatchEigenmaps(n_neighbors=k).fit(X)
    edges = model.graph_.tocoo()
    above = edges.row < edges.col
    pairs = edges.row[above], edges.col[above]
    matrix, degrees = laplacian(model.affinity_)
    roots = np.sqrt(degrees)
    matrix = scale_both_sides(matrix, 1 / roots)
    packed, variance = m * (m + 1) / 2, mean_variance(X)
    return [
        Stage(
            "neighbours, exact",
            lambda: find_neighbors(X, k, n_jobs=1),
            2.0 * n * n * m,
            8 * n * (m + 2 * k),
            single=True,
        ),
        Stage(
            "patches",
            lambda: fit_patches(X, X, near, variance=variance),
            n * (k + 1) * m * (m + 1),
            8 * n * (k * m + m + (k + 1) * m),
        ),
        Stage(
            "inverses of the patches, packed",
            lambda: describe_patches(kl, patches),
            n * m**3,
            8 * n * ((k + 1) * m + 2 * packed),
        ),
        Stage(
            f"KL of {pairs[0].size:,} edges",
            lambda: compare_pairs(kl, described, described, *pairs),
            pairs[0].size * 4 * packed,
            8 * pairs[0].size * 2 * packed,
        ),
        *_eigenvector_stages(matrix, roots),
        Stage(
            f"shortest paths, {sources} sources",
            lambda: geodesics(model.graph_, np.arange(sources), n_jobs=1),
            sources * matrix.nnz,
            8 * n * sources,
        ),
    ]


def _eigenvector_stages(matrix: Any, roots: np.ndarray) -> list[Stage]:
    """Return the stages of eigenvectors of a scaled Laplacian."""
    n = roots.size
    checked, eight, image = check_matrix(matrix), np.ones((n, 8)), np.zeros((n, 8))
    product = 12 * matrix.nnz + 2 * 64 * n
    return [
        Stage(
            "eigenvectors: one product with eight",
            lambda: sparse_times(checked, eight, image, slice(0, n)),
            16 * matrix.nnz,
            product,
        ),
        Stage(
            "eigenvectors, filtered",
            lambda: smallest_eigenpairs(
                matrix, 2, roots, seed=np.random.RandomState(0)
            ),
            0,
            product,
        ),
    ]


def time_stages(n: int, sources: int, repeats: int = REPEATS) -> list[list[Any]]:
    """Return name, seconds and floor of every stage."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        peaks = measure_peaks()
        return [
            [stage.name, best_time(stage.work, repeats), floor_of(stage, peaks)]
            for stage in make_stages(n, sources)
        ]
