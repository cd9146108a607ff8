"""Scores of an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

TIE_TOLERANCE = 1e-12
"""Similarities, or distances, closer than this relative to their size are equal."""


def local_topology_violations(
    similarity: Any, embedding: Any, *, n_pairs: int = 25
) -> int:
    """Count how often the most similar pairs are embedded in the wrong order.

    Among the `n_pairs` most similar pairs of samples, every two pairs with
    w_ij > w_pq but ||r_i - r_j|| > ||r_p - r_q|| are a conflict with eq. 5 of the
    Cauchy graph embedding paper [1]_. Equal similarities conflict with nothing.

    Each conflict counts 4 times: the paper takes the 50 largest entries of a symmetric
    matrix and all their 2,500 combinations, which is 25 pairs, each in two orders.

    Parameters
    ----------
    similarity : array or sparse array (n, n)
        Symmetric similarities w; the diagonal is ignored.
    embedding : array-like (n, d)
        Embedded samples r.
    n_pairs : int, default=25
        How many of the most similar pairs are compared; ties go to the lower indices.

    Returns
    -------
    int
        Number of conflicts, a multiple of 4.

    References
    ----------
    .. [1] D. Luo, C. Ding, F. Nie, H. Huang, "Cauchy graph embedding", ICML, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.metrics import local_topology_violations
    >>> W = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    >>> local_topology_violations(W, [[0.0], [1.0], [3.0]])
    0
    >>> local_topology_violations(W, [[0.0], [3.0], [1.0]])
    12
    """
    upper = sp.coo_array(sp.triu(sp.coo_array(similarity), k=1))
    points = np.asarray(embedding, dtype=float)
    if points.ndim != 2 or points.shape[0] != upper.shape[0]:
        raise ValueError(
            f"embedding must have one row for each of the {upper.shape[0]} samples of "
            f"similarity. Got shape {points.shape} instead."
        )
    most = np.lexsort((upper.col, upper.row, -upper.data))[:n_pairs]
    w = upper.data[most]
    r = np.linalg.norm(points[upper.row[most]] - points[upper.col[most]], axis=1)
    more_similar = w[:, None] - w > TIE_TOLERANCE * np.abs(w).max(initial=0)
    farther = r[:, None] - r > TIE_TOLERANCE * r.max(initial=0)
    return 4 * int((more_similar & farther).sum())
