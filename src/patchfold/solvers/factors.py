"""Sparse matrix -> its factors, or a sentence on the memory that they lack."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dgemm
from scipy.sparse.linalg import splu

from ..backends.backend import physical_memory
from ..backends.printed import without_lines
from ..backends.threads import wait_for
from ..exceptions import MemoryBudgetError

NO_ROOM = rb"Can't expand MemType \d+: jcol \d+"
"""What SuperLU prints before it says that memory has ended."""


def factorize(matrix: sp.csc_array, *, pivot: float) -> Any:
    """Factorise a square matrix whose entries lie as in a symmetric one.

    Parameters
    ----------
    matrix : sparse array (n, n)
        In columns.
    pivot : float
        Part of the largest entry below which a diagonal entry is no pivot.

    Returns
    -------
    SuperLU
        Solves with the matrix, or its transpose.

    Raises
    ------
    MemoryBudgetError
        If the factors do not fit: how much they fill in is known only when they are
        there.
    RuntimeError
        If the matrix is singular.
    """
    # Older versions of OpenBLAS wait forever for a buffer where memory has ended, so it
    # gets its own before the factors take the rest.
    dgemm(1.0, np.ones((128, 128)), np.ones((128, 128)))
    try:
        with without_lines(NO_ROOM):
            return wait_for(
                lambda: splu(
                    matrix,
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=pivot,
                    options={"SymmetricMode": True},
                )
            )
    except MemoryError as error:
        n, have = matrix.shape[0], physical_memory() / 2**30
        raise MemoryBudgetError(
            f"the graph of {n} samples and {matrix.nnz} entries has factors that do "
            f"not fit in memory, of which there are {have:.1f} GiB with what is in use "
            "already. Lower n_neighbors or radius, or fit fewer samples and place the "
            "others by transform."
        ) from error
