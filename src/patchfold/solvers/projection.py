"""Graph and samples -> a linear map: locality-preserving projections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, svd

from ..backends.backend import on_any_device
from ..graph.weights import laplacian
from ..patches.sparse_space import find_sparse_space
from .spectral import fix_signs

RANK_TOLERANCE = 1e-10
"""Directions whose spread is below this part of the largest carry no information."""


@dataclass(frozen=True)
class Projection:
    """A linear map to d coordinates, and the way back.

    Attributes
    ----------
    mean : array (m,)
        Mean of the samples, each weighted by its degree.
    matrix : array (m, d)
        Coordinates are (x - mean) @ matrix.
    inverse : array (d, m)
        The least-squares way back is y @ inverse + mean.
    eigenvalues : array (d,)
        Ascending.
    """

    mean: np.ndarray
    matrix: np.ndarray
    inverse: np.ndarray
    eigenvalues: np.ndarray


@on_any_device
def locality_projection(
    X: np.ndarray, weights: sp.csr_array, n_components: int, reg: float
) -> Projection:
    """Return the linear map whose coordinates vary least along the edges.

    The bottom eigenvectors of XᵀLX a = λ (XᵀDX + εI) a, with X centred by degrees so
    that the constant is no solution, and ε = `reg` times the mean eigenvalue of XᵀDX
    on the span of X. The singular vectors of D^(1/2) X turn it into an ordinary
    eigenproblem of at most min(n, m) rows: m × m matrices are never formed.

    Among all ways back, `inverse` is the one with least squared error over the samples,
    weighted by degrees. It is exact the other way: y -> x -> y.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    weights : sparse array (n, n)
        Edge weights W, with degrees D and L = D - W.
    n_components : int
        How many coordinates.
    reg : float
        Ridge.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = np.array([[0.0, 0.0], [1.0, 9.0], [2.0, -9.0]])
    >>> path = sp.csr_array(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> found = locality_projection(X, path, 1, 0.0)
    >>> np.round(found.eigenvalues, 6)
    array([1.])
    """
    if sp.issparse(X):
        return _sparse_projection(X, weights, n_components, reg)
    matrix, degrees = laplacian(weights)
    mean = degrees @ X / degrees.sum()
    centred = X - mean
    roots = np.sqrt(degrees)[:, None]
    _, spread, directions = svd(
        roots * centred, full_matrices=False, lapack_driver="gesdd"
    )
    rank = int((spread > RANK_TOLERANCE * spread[0]).sum()) if spread[0] > 0 else 0
    if n_components > rank:
        raise ValueError(
            f"n_components={n_components} exceeds the {rank} directions in which the "
            f"samples vary (n_features={X.shape[1]}); lower n_components."
        )
    variances = spread[:rank] ** 2
    scale = np.sqrt(variances + reg * variances.mean())
    whiten = directions[:rank].T / scale
    Z = centred @ whiten
    small = Z.T @ (matrix @ Z)
    values, vectors = eigh((small + small.T) / 2, subset_by_index=[0, n_components - 1])
    projection = fix_signs(whiten @ vectors)
    coordinates = centred @ projection
    weighted = (degrees[:, None] * coordinates).T
    inverse = np.linalg.solve(weighted @ coordinates, weighted @ centred)
    return Projection(mean, projection, inverse, np.maximum(values, 0.0))


def _sparse_projection(
    X: sp.csr_array, weights: sp.csr_array, n_components: int, reg: float
) -> Projection:
    """Find the map in the space that sparse samples span, and give it in features."""
    space = find_sparse_space(X)
    found = locality_projection(space.samples, weights, n_components, reg)
    projection = fix_signs(space.in_features(found.matrix))
    degrees = laplacian(weights)[1]
    mean = X.T @ degrees / degrees.sum()
    coordinates = X @ projection - mean @ projection
    weighted = (degrees[:, None] * coordinates).T
    pulled = (X.T @ weighted.T).T - np.outer(weighted.sum(axis=1), mean)
    inverse = np.linalg.solve(weighted @ coordinates, pulled)
    return Projection(mean, projection, inverse, found.eigenvalues)
