"""Geodesic distances -> embedding: double centring, then the top eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.linalg import eigh

from ..backends.backend import Array, array_namespace, backend_for, on_any_device
from ..backends.threads import map_blocks
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

    embedding: Array
    eigenvalues: Array
    column_means: Array


def classical_mds(
    distances: Array,
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
        values, vectors = _solve_dense(kernel.matrix(), n_components)
    else:
        values, vectors = largest_eigenpairs(
            kernel.product, n, n_components, seed=seed, backend=backend_for(distances)
        )
    xp = array_namespace(values)
    positive = values > float(np.finfo(float).eps) * n * xp.max(xp.abs(values))
    if not positive.all():
        warn(
            f"only {positive.sum()} of {n_components} components have a positive "
            "eigenvalue; the others are zero. Lower n_components.",
            NegativeEigenvalueWarning,
        )
    values = xp.where(positive, values, xp.zeros_like(values))
    return MDSFit(vectors * xp.sqrt(values), values, kernel.column_means)


@on_any_device
def reconstruction_error(distances: np.ndarray, eigenvalues: np.ndarray) -> float:
    """Return ‖B - B_d‖ / n, B_d the inner products of d coordinates, as scikit-learn.

    Parameters
    ----------
    distances : array (n, n)
        What was embedded.
    eigenvalues : array (d,)
        Of the coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([0.0, 1.0, 3.0])
    >>> distances = abs(points[:, None] - points)
    >>> fit = classical_mds(distances, 1, seed=np.random.RandomState(0))
    >>> round(reconstruction_error(distances, fit.eigenvalues), 6)
    0.0
    """
    matrix = _Centred(distances, None).matrix()
    left = np.einsum("ij,ij->", matrix, matrix) - np.sum(eigenvalues**2)
    return float(np.sqrt(max(left, 0.0))) / distances.shape[0]


@on_any_device
def _solve_dense(
    matrix: np.ndarray, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenpairs, largest first, signs fixed."""
    n = matrix.shape[0]
    values, vectors = eigh(matrix, subset_by_index=[n - n_components, n - 1])
    return values[::-1], fix_signs(vectors[:, ::-1])


class _Centred:
    """The matrix B of squared distances, centred, read in blocks of rows."""

    def __init__(self, distances: Array, n_jobs: int | None) -> None:
        self.distances = distances
        self.n_jobs = n_jobs
        ones = array_namespace(distances).ones_like(distances[:, :1])
        self.column_means = self._squared_times(ones)[:, 0] / distances.shape[0]

    def matrix(self) -> Array:
        squared = self.distances**2
        squared -= self.column_means
        squared -= self.column_means[:, None]
        squared += self.column_means.mean()
        return -0.5 * squared

    def product(self, vectors: Array) -> Array:
        """Return B times vectors; it is they that are centred, not the matrix."""
        product = self._squared_times(vectors - vectors.mean(axis=0))
        product -= product.mean(axis=0)
        return -0.5 * product

    def _squared_times(self, vectors: Array) -> Array:
        def times(block: slice) -> Array:
            return self.distances[block] ** 2 @ vectors

        # Few rows at a time: their squares stay in cache.
        n = self.distances.shape[0]
        parts = map_blocks(times, n, 8 * 8 * n, self.n_jobs)
        return array_namespace(vectors).concat(parts)


def triangulate(fit: MDSFit, distances: Array, *, n_jobs: int | None = None) -> Array:
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
    xp = array_namespace(distances)
    positive = fit.eigenvalues > 0
    ones = xp.ones_like(fit.eigenvalues)
    scale = xp.where(positive, 1 / xp.where(positive, fit.eigenvalues, ones), 0 * ones)
    axes = -0.5 * fit.embedding * scale

    def place(block: slice) -> Array:
        # Centring by rows drops out: the embedding's columns have mean zero.
        return (distances[block, :] ** 2 - fit.column_means) @ axes

    size = 2 * 8 * distances.shape[1]
    return xp.concat(map_blocks(place, distances.shape[0], size, n_jobs))


def place_by_geodesics(
    fit: MDSFit,
    distances: Array,
    neighbors: Array,
    lengths: Array,
    *,
    n_jobs: int | None = None,
) -> Array:
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
    xp = array_namespace(distances)

    def place(block: slice) -> Array:
        def over(k: int) -> Array:
            step = xp.take(distances, neighbors[block, k], axis=0)
            step += lengths[block, k, None]
            return step

        through = reduce(xp.minimum, map(over, range(neighbors.shape[1])))
        return triangulate(fit, through)

    size = 3 * 8 * distances.shape[1]
    return xp.concat(map_blocks(place, neighbors.shape[0], size, n_jobs))
