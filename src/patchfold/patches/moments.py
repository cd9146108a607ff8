"""Neighbourhoods of most samples -> means and covariances, as sums over all samples.

With K > n/2 the patches overlap so much that their sums are one matrix product: a table
of who is in which patch, times the samples and the products of their features. Sums
over the few samples that are missing would be fewer still, but then a distant outlier,
in the sum of all and not in the patch, would cancel the patch's own digits.
"""

from __future__ import annotations

import numpy as np

from ..backends.native.eigenvectors import WIDTH, multiply
from ..backends.threads import map_blocks

COLUMNS = 256
"""With more sums a patch than this BLAS is faster, though its threads spin after it."""


def moments_of_most(
    centers: np.ndarray,
    X: np.ndarray,
    indices: np.ndarray,
    *,
    include_center: bool,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the covariance of patches of more than half of the samples.

    Sums are taken from the median of each feature. It lies between the smallest and
    the largest value of every patch, so differences from it are of the patch's own
    size, and of identical points exactly nothing.

    Parameters
    ----------
    centers : array (q, m)
        The samples the patches belong to.
    X : array (n, m)
        Training samples.
    indices : int array (q, K)
        Neighbours of each centre, as rows of X; K > n / 2.
    include_center : bool
        Whether the centre is a point of its own patch.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    mean : array (q, m)
    covariance : array (q, m, m)
        With divisor "points - 1".

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> near = np.array([[1, 2], [0, 2], [1, 0]])
    >>> mean, covariance = moments_of_most(X, X, near, include_center=True)
    >>> mean.ravel().tolist(), covariance.ravel().tolist()
    ([2.0, 2.0, 2.0], [4.0, 4.0, 4.0])
    """
    (n_patches, n_neighbors), (n, m) = indices.shape, X.shape
    n_points = n_neighbors + int(include_center)
    origin = np.median(X, axis=0)
    row, column = np.triu_indices(m)
    place = np.empty((m, m), dtype=np.intp)  # of an entry among the packed ones
    place[row, column] = place[column, row] = np.arange(row.size)

    def with_products(gaps: np.ndarray) -> np.ndarray:
        filled = np.zeros((gaps.shape[0], -(-(m + row.size) // WIDTH) * WIDTH))
        filled[:, :m] = gaps
        np.multiply(gaps[:, row], gaps[:, column], out=filled[:, m : m + row.size])
        return filled

    # A centre that is a row of the table like all others: patches of the same samples
    # then have the same bits.
    among = centers is X
    terms = with_products(X - origin)
    times = multiply if terms.shape[1] <= COLUMNS else np.matmul
    mean = np.empty((n_patches, m), dtype=X.dtype)
    covariance = np.empty((n_patches, m, m), dtype=X.dtype)

    def add_up(block: slice) -> None:
        inside = np.zeros((block.stop - block.start, n))
        starts = n * np.arange(inside.shape[0])
        inside.reshape(-1)[indices[block] + starts[:, None]] = 1
        if include_center and among:
            inside.reshape(-1)[starts + np.arange(block.start, block.stop)] = 1
        sums = times(inside, terms)
        if include_center and not among:
            sums += with_products(centers[block] - origin)
        offset = sums[:, :m] / n_points
        mean[block] = origin + offset
        packed = sums[:, m : m + row.size] - sums[:, row] * offset[:, column]
        packed /= max(n_points - 1, 1)
        covariance[block] = packed[:, place]

    map_blocks(add_up, n_patches, 8 * (6 * n + 6 * terms.shape[1]), n_jobs)
    return mean, covariance
