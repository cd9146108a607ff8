"""Geodesic distances -> embedding: double centring, then the top eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._blocks import map_blocks
from ..exceptions import NegativeEigenvalueWarning, warn
from .spectral import largest_eigenpairs


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
    squared = distances**2
    column_means = squared.mean(axis=0)
    grand_mean = column_means.mean()
    squared -= column_means
    squared -= column_means[:, None]
    squared += grand_mean
    squared *= -0.5
    values, vectors = largest_eigenpairs(
        squared, n_components, solver=solver, seed=seed
    )
    positive = values > np.finfo(float).eps * distances.shape[0] * abs(values).max()
    if not positive.all():
        warn(
            f"only {positive.sum()} of {n_components} components have a positive "
            "eigenvalue; the others are zero. Lower n_components.",
            NegativeEigenvalueWarning,
        )
    embedding = vectors * np.sqrt(np.where(positive, values, 0.0))
    return MDSFit(embedding, np.where(positive, values, 0.0), column_means)


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
        The training solution.
    distances : array (n, n)
        Training geodesics.
    neighbors, lengths : arrays (q, k)
        Links of the new samples.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array (q, d)
    """
    positive = fit.eigenvalues > 0
    scale = np.where(positive, 1 / np.where(positive, fit.eigenvalues, 1.0), 0.0)

    def place(block: slice) -> np.ndarray:
        through = np.full((block.stop - block.start, distances.shape[0]), np.inf)
        for k in range(neighbors.shape[1]):
            step = distances[neighbors[block, k]]
            step += lengths[block, k, None]
            np.minimum(through, step, out=through)
        # Centring by rows drops out: the embedding's columns have mean zero.
        kernel = -0.5 * (through**2 - fit.column_means)
        return kernel @ (fit.embedding * scale)

    size = 3 * 8 * distances.shape[0]
    return np.concatenate(map_blocks(place, neighbors.shape[0], size, n_jobs))
