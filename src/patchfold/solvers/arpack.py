"""Operator -> its largest eigenpairs by ARPACK, or a sentence on what to change."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

RESTARTS = 100
"""How often Lanczos may restart, some 16 products each: with dozens of eigenvalues that
are zero to rounding it never ends."""

SEEDED = {"rng": 0} if "rng" in inspect.signature(eigsh).parameters else {}
"""Where ARPACK has nothing left to go on with, recent versions of SciPy draw a
direction: let it be the same each time."""


def arpack_eigenpairs(
    apply: Callable[[np.ndarray], np.ndarray], n_components: int, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenpairs of a symmetric operator, in ascending order.

    Parameters
    ----------
    apply : callable
        Multiplies the operator by an array (n,).
    n_components : int
        How many eigenpairs.
    start : array (n,)
        Where the iteration begins.

    Returns
    -------
    values : array (n_components,)
        To the last digit; still, of equal ones it may find one only.
    vectors : array (n, n_components)

    Raises
    ------
    RuntimeError
        If they are not found in `RESTARTS` restarts.
    """
    n = start.size
    operator = LinearOperator((n, n), matvec=lambda v: apply(v.ravel()), dtype=float)
    try:
        values, vectors = eigsh(
            operator, n_components, which="LA", v0=start, maxiter=RESTARTS, **SEEDED
        )
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"the eigensolver found {len(error.eigenvalues)} of {n_components} "
            "eigenvectors before it ran out of iterations; set eigen_solver='dense', "
            "or raise n_neighbors, radius or kernel_width to connect the graph better."
        ) from error
    order = np.argsort(values)
    return values[order], vectors[:, order]
