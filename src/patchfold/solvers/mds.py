"""Geodesic distances -> embedding: double centring, then the top eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from .._blocks import map_blocks
from ..exceptions import NegativeEigenvalueWarning, warn
from .spectral import fix_signs, is_dense, largest_eigenpairs

FEW_PER_COMPONENT = 50
"""With fewer samples than this for each component the solver is always dense."""


@dataclass(frozen=True)
class MDSFit:
    """A classical MDS solution and what places new samples in it.

    Attributes
    ----------
    embedding : array (n, d)
        Eigenvectors times the roots of their eigenvalues.
    eigenvalues : array (d,)
        Descending.
    column_means : array (n,)
        Mean squared distance to every sample.
    """

    embedding: np.ndarray
    eigenvalues: np.ndarray
    column_means: np.ndarray


def classical_mds(
    distances: np.ndarray,
    n_components: int,
    *,
    solver: str = "auto",
    n_jobs: int | None = None,
    seed: np.random.RandomState,
) -> MDSFit:
    """Embed a symmetric distance matrix: B = -½ H (E∘E) H, its top eigenvectors.

    A direction whose eigenvalue is not positive has no real coordinates: it is zero,
    with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([0.0, 1.0, 3.0])
    >>> fit = classical_mds(abs(points[:, None] - points), 1,
    ...                     seed=np.random.RandomState(0))
    >>> np.round(np.diff(fit.embedding[:, 0]), 6)
    array([1., 2.])
    """
    n = distances.shape[0]
    kernel = _Centred(distances, n_jobs)
    if is_dense(solver, n) or n < FEW_PER_COMPONENT * n_components:
        values, vectors = eigh(
            kernel.matrix(), subset_by_index=[n - n_components, n - 1]
        )
        values, vectors = values[::-1], fix_signs(vectors[:, ::-1])
    else:
        values, vectors = largest_eigenpairs(kernel.product, n, n_components, seed=seed)
    positive = values > np.finfo(float).eps * distances.shape[0] * abs(values).max()
    if not positive.all():
        warn(
            f"only {positive.sum()} of {n_components} components have a positive "
            "eigenvalue; the others are zero. Lower n_components.",
            NegativeEigenvalueWarning,
        )
    embedding = vectors * np.sqrt(np.where(positive, values, 0.0))
    return MDSFit(embedding, np.where(positive, values, 0.0), kernel.column_means)


class _Centred:
    """The matrix B of squared distances, centred, read in blocks of rows."""

    def __init__(self, distances: np.ndarray, n_jobs: int | None) -> None:
        self.distances = distances
        self.n_jobs = n_jobs
        ones = np.ones((distances.shape[0], 1))
        self.column_means = self._squared_times(ones)[:, 0] / distances.shape[0]

    def matrix(self) -> np.ndarray:
        squared = self.distances**2
        squared -= self.column_means
        squared -= self.column_means[:, None]
        squared += self.column_means.mean()
        return -0.5 * squared

    def product(self, vectors: np.ndarray) -> np.ndarray:
        """Return B times vectors; it is they that are centred, not the matrix."""
        product = self._squared_times(vectors - vectors.mean(axis=0))
        product -= product.mean(axis=0)
        return -0.5 * product

    def _squared_times(self, vectors: np.ndarray) -> np.ndarray:
        def times(block: slice) -> np.ndarray:
            return self.distances[block] ** 2 @ vectors

        # Few rows at a time: their squares stay in cache.
        n = self.distances.shape[0]
        return np.concatenate(map_blocks(times, n, 8 * 8 * n, self.n_jobs))


def triangulate(
    fit: MDSFit, distances: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Place samples by their distances to those of an MDS solution.

    At the solution's own samples this is its embedding: B v / √λ = √λ v.

    Parameters
    ----------
    fit : MDSFit
        The solution of k samples.
    distances : array (q, k)
        Distances of other samples to these.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array (q, d)
    """
    positive = fit.eigenvalues > 0
    scale = np.where(positive, 1 / np.where(positive, fit.eigenvalues, 1.0), 0.0)
    axes = -0.5 * fit.embedding * scale

    def place(block: slice) -> np.ndarray:
        # Centring by rows drops out: the embedding's columns have mean zero.
        return (distances[block] ** 2 - fit.column_means) @ axes

    size = 2 * 8 * distances.shape[1]
    return np.concatenate(map_blocks(place, distances.shape[0], size, n_jobs))


def place_by_geodesics(
    fit: MDSFit,
    distances: np.ndarray,
    neighbors: np.ndarray,
    lengths: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Place new samples: geodesics through their neighbours, then the centred kernel.

    Parameters
    ----------
    fit : MDSFit
        The solution of the training samples, or of k landmarks among them.
    distances : array (n, k)
        Geodesics from all training samples to those of the solution.
    neighbors, lengths : arrays (q, links)
        Links of the new samples.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array (q, d)
    """

    def place(block: slice) -> np.ndarray:
        through = np.full((block.stop - block.start, distances.shape[1]), np.inf)
        for k in range(neighbors.shape[1]):
            step = distances[neighbors[block, k]]
            step += lengths[block, k, None]
            np.minimum(through, step, out=through)
        return triangulate(fit, through)

    size = 3 * 8 * distances.shape[1]
    return np.concatenate(map_blocks(place, neighbors.shape[0], size, n_jobs))
