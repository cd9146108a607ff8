"""Links of new samples -> their places among the eigenvectors of a Laplacian."""

from __future__ import annotations

from ..backends.backend import Array, array_namespace

SMALLEST_GAP = 0.1
"""Least |1 - λ| that a new sample's place is divided by."""

WEAKEST_LINK = 1e-6
"""The strongest link of a sample weighs at least this part of the largest edge."""


def nystrom(
    log_weights: Array,
    neighbors: Array,
    embedding: Array,
    eigenvalues: Array,
    *,
    normalized: bool,
    strongest_edge: float = 1.0,
) -> Array:
    """Place new samples among the eigenvectors of a Laplacian.

    At a training sample, L y = λ D y reads y = Σ w y_j / ((1 - λ) Σw), and L y = λ y
    reads y = Σ w y_j / (Σw - λ); both give a new sample its place from its links. Far
    from everything Σw tends to 0 and the second quotient has no meaning, so there λ
    counts for at most half of Σw: a far sample lies beyond its neighbours' mean, but at
    most twice as far out; `count_links` says why a λ that is 0 but for rounding does
    not move it. In the first, 1 - λ is kept `SMALLEST_GAP` away from 0: an eigenvector
    at λ = 1 is unrelated to its neighbours' mean.

    Parameters
    ----------
    log_weights : array (q, k)
        -d²/t along each link: the logarithm of the weight, so that none vanishes.
    neighbors : int array (q, k)
        Training samples at the other end.
    embedding : array (n, d)
        Eigenvectors at the training samples.
    eigenvalues : array (d,)
        λ, one per column.
    normalized : bool
        Whether the eigenproblem has D on its right-hand side.
    strongest_edge : float, default=1.0
        Largest weight among the training samples; read without D only.

    Returns
    -------
    array (q, d)
    """
    xp = array_namespace(log_weights)
    strongest = xp.max(log_weights, axis=1, keepdims=True)
    relative = xp.exp(log_weights - strongest)
    total = xp.sum(relative, axis=1, keepdims=True)
    there = xp.take(embedding, xp.reshape(neighbors, (-1,)), axis=0)
    there = xp.reshape(there, (*neighbors.shape, embedding.shape[1]))
    there = xp.astype(there, log_weights.dtype, copy=False)
    mean = xp.matmul((relative / total)[:, None, :], there)[:, 0, :]
    if normalized:
        return mean / keep_from_zero(1 - eigenvalues)
    weights = count_links(strongest, strongest_edge) * total
    return mean / (1 - capped_ratio(eigenvalues, weights))


def count_links(strongest: Array, strongest_edge: float) -> Array:
    """Return the weight of each strongest link, `WEAKEST_LINK` of an edge's at least.

    λ / Σw has no limit where both tend to 0, and λ is known only up to the rounding
    error of its matrix, some 1e-14 of the strongest edge. With this floor the quotient
    depends on λ continuously: such an error changes it by some 1e-8 at most, however
    far the sample is, and no training sample with an edge above the floor moves.
    """
    xp = array_namespace(strongest)
    return xp.clip(xp.exp(strongest), WEAKEST_LINK * strongest_edge, None)


def keep_from_zero(gap: Array) -> Array:
    """Return 1 - λ at least `SMALLEST_GAP` away from 0."""
    xp = array_namespace(gap)
    least = xp.copysign(xp.zeros_like(gap) + SMALLEST_GAP, gap)
    return xp.where(xp.abs(gap) < SMALLEST_GAP, least, gap)


def capped_ratio(numerator: Array, denominator: Array) -> Array:
    """Return numerator / denominator, both >= 0, up to one half; 0 / 0 is 0."""
    xp = array_namespace(denominator)
    small = numerator < 0.5 * denominator
    ratio = numerator / xp.where(small, denominator, xp.ones_like(denominator))
    ratio = xp.where(small, ratio, 0.5 * xp.ones_like(ratio))
    return xp.where(numerator > 0, ratio, xp.zeros_like(ratio))
