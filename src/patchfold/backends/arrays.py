"""Linear algebra of many small matrices at once, on any array library."""

from __future__ import annotations

from .backend import Array, array_namespace

FUSED = 32
"""Up to this many columns, CUDA solves a batch of matrices at once."""


def cholesky(matrices: Array) -> Array:
    """Return the lower factors of a batch of covariances, or say why there are none.

    Examples
    --------
    >>> import numpy as np
    >>> cholesky(np.array([[[4.0, 0.0], [0.0, 1.0]]])).tolist()
    [[[2.0, 0.0], [0.0, 1.0]]]
    """
    try:
        return array_namespace(matrices).linalg.cholesky(matrices)
    except Exception as error:  # every library has a class of its own
        if "LinAlgError" not in type(error).__name__:
            raise
        raise ValueError(
            "covariances of patches are not positive definite: their variances differ "
            "by more than double precision can hold. Scale the features, raise ridge, "
            "or leave outliers out."
        ) from error


def cumulative_sum(rows: Array) -> Array:
    """Return the sums along every row, up to each of its places.

    Examples
    --------
    >>> import numpy as np
    >>> cumulative_sum(np.array([[1.0, 2.0, 3.0]])).tolist()
    [[1.0, 3.0, 6.0]]
    """
    xp = array_namespace(rows)
    if hasattr(xp, "cumulative_sum"):
        return xp.cumulative_sum(rows, axis=1)
    return xp.cumsum(rows, axis=1)  # NumPy 2.0 has it by its old name alone


def eigh(matrices: Array) -> tuple[Array, Array]:
    """Return eigenvalues, ascending, and eigenvectors of a batch of matrices.

    Examples
    --------
    >>> import numpy as np
    >>> eigh(np.array([[[2.0, 0.0], [0.0, 1.0]]]))[0].tolist()
    [[1.0, 2.0]]
    """
    if _is_slow(matrices):
        from .tensors.jacobi import eigh as all_at_once

        return all_at_once(matrices)
    values, vectors = array_namespace(matrices).linalg.eigh(matrices)
    return values, vectors


def svd_of_rows(matrices: Array) -> tuple[Array, Array]:
    """Return singular values, descending, and right vectors of a batch of matrices.

    Each has no more rows than columns.

    Examples
    --------
    >>> import numpy as np
    >>> svd_of_rows(np.array([[[0.0, 2.0]]]))[0].tolist()
    [[2.0]]
    """
    if _is_slow(matrices):
        from .tensors.jacobi import svd_of_rows as all_at_once

        return all_at_once(matrices)
    xp = array_namespace(matrices)
    _, values, rows = xp.linalg.svd(matrices, full_matrices=False)
    return values, rows


def _is_slow(matrices: Array) -> bool:
    """Say whether torch would solve many matrices on a device one after another."""
    large = matrices.shape[-1] > FUSED and matrices.shape[0] > FUSED
    return bool(getattr(matrices, "is_cuda", False)) and large
