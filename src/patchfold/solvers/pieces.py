"""Matrix of a graph in pieces -> bottom eigenpairs that are constant on each piece.

Where pieces hang together by weights below rounding, the null vector cut at their
borders has a residual below rounding too: what is left is a problem of as many numbers
as there are pieces. Other solvers would need a vector for each piece, or factors, which
fill up where the pieces are large and have many dimensions. Of very many pieces, those
that nothing at all holds together have eigenvalue 0 each, and any vectors will do.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

LOOSE = 1e-14
"""Entries below this part of the matrix hold nothing together."""

MANY = 10_000
"""Samples up to which factors are as fast, and tell tiny eigenvalues apart."""

MOST = 2000
"""Pieces at most that are held together at all: their matrix is dense."""


def piecewise_eigenpairs(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    size: float,
    *,
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenpairs, but for the null vector, of a graph in pieces.

    Parameters
    ----------
    matrix : sparse array (n, n)
        Symmetric and positive semi-definite.
    n_components : int
        How many eigenpairs, fewer than pieces.
    null : array (n,)
        The unit vector at eigenvalue 0 that is not wanted; nowhere 0.
    size : float
        Bound of the matrix's eigenvalues.
    seed : RandomState
        Turns vectors whose eigenvalues are all 0, of which any will do.

    Returns
    -------
    values : array (n_components,)
        Ascending.
    vectors : array (n, n_components)
        Unit columns: the null vector times a number for each piece.

    Raises
    ------
    RuntimeError
        If there are too few pieces, or too many that are held together.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> pair = sp.csr_array([[1.0, -1], [-1, 1]])
    >>> two = sp.block_diag([pair, pair], format="csr")
    >>> start = np.random.RandomState(0)
    >>> piecewise_eigenpairs(two, 1, np.full(4, 0.5), 2, seed=start)[0]
    array([0.])
    """
    entries = matrix.tocoo()
    row, column = entries.coords
    count, label = count_pieces(matrix, LOOSE * size)
    if count > MOST:
        count, label = count_pieces(matrix, 0.0)
        if count > max(MOST, n_components):
            return _any_of_pieces(label, n_components, null, seed)
    if not n_components < count <= MOST:
        raise RuntimeError(f"{count} pieces do not determine {n_components} vectors")
    parts = np.sqrt(np.bincount(label, null**2))
    scaled = null / parts[label]

    # Sums over borders only: those within pieces cancel, and would leave rounding.
    border = label[row] != label[column]
    between = np.zeros((count, count))
    a, b = row[border], column[border]
    np.add.at(
        between, (label[a], label[b]), scaled[a] * entries.data[border] * scaled[b]
    )
    between = (between + between.T) / 2
    between[np.diag_indices(count)] = -(between @ parts) / parts
    # Columns orthogonal to the null vector, turned at random.
    basis = np.linalg.qr(np.c_[parts, seed.uniform(-1, 1, (count, count - 1))])[0]
    values, turn = eigh(basis[:, 1:].T @ between @ basis[:, 1:])
    wanted = basis[:, 1:] @ turn[:, :n_components]
    return values[:n_components], scaled[:, None] * wanted[label]


def count_pieces(matrix: sp.csr_array, loose: float) -> tuple[int, np.ndarray]:
    """Return how many pieces larger entries make, and whose each sample is.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> count_pieces(sp.csr_array([[1, 1e-9, 0], [1e-9, 2, -1], [0, -1, 1]]), 1e-6)[0]
    2
    """
    row, column = matrix.tocoo().coords
    kept = np.abs(matrix.data) > loose
    held = sp.coo_array((kept[kept], (row[kept], column[kept])), matrix.shape)
    return connected_components(held, directed=False)


def _any_of_pieces(
    label: np.ndarray, n_components: int, null: np.ndarray, seed: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw vectors that are constant on pieces which nothing holds together."""
    parts = np.sqrt(np.bincount(label, null**2))
    drawn = seed.uniform(-1, 1, (parts.size, n_components))
    basis = np.linalg.qr(np.c_[parts, drawn])[0]
    return np.zeros(n_components), (null / parts[label])[:, None] * basis[label, 1:]
