"""Batches of matrices on a device -> eigenvectors and singular vectors, all at once.

torch solves matrices of more than 32 rows one after another. Jacobi's rotations are the
same few array operations for a whole batch: every round turns disjoint pairs of rows,
every sweep all pairs, and a handful of sweeps leaves nothing off the diagonal. They are
exact to the last digits, of small values too.
"""

from __future__ import annotations

from typing import Any

Array = Any

MATRICES = 2**28
"""Numbers of the matrices that are turned together."""

SWEEPS = 16
"""Sweeps at most; about eight are needed."""

DONE = 1e-15
"""Where sweeps end: the largest cosine between two rows, or part off the diagonal."""


def eigh(matrices: Array) -> tuple[Array, Array]:
    """Return eigenvalues (n, m), ascending, and eigenvectors in columns (n, m, m).

    Parameters
    ----------
    matrices : tensor (n, m, m)
        Symmetric.
    """
    import torch

    parts = [_eigh(part) for part in matrices.split(_step(matrices))]
    values, vectors = (torch.cat(part) for part in zip(*parts, strict=True))
    values, order = values.sort(1)
    return values, vectors.gather(2, order[:, None, :].expand_as(vectors))


def svd_of_rows(matrices: Array) -> tuple[Array, Array]:
    """Return singular values (n, r), descending, and right vectors in rows (n, r, m).

    Parameters
    ----------
    matrices : tensor (n, r, m)
        Of no more rows than columns. A row that is turned to nothing has no direction,
        and stays zero.
    """
    import torch

    parts = [_orthogonalize(part) for part in matrices.split(_step(matrices))]
    rows: Any = torch.cat(parts)
    values = torch.linalg.vector_norm(rows, dim=2)
    values, order = values.sort(1, descending=True)
    rows = rows.gather(1, order[:, :, None].expand_as(rows))
    tiny = torch.finfo(rows.dtype).tiny
    return values, rows / values.clamp(min=tiny)[:, :, None]


def _step(matrices: Array) -> int:
    return max(1, MATRICES // (matrices.shape[1] * matrices.shape[2]))


def _rounds(m: int, device: Any) -> list[tuple[Array, Array]]:
    """Return disjoint pairs of rows, round by round: a tournament of all with all."""
    import torch

    players = list(range(m + m % 2))
    rounds = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = list(zip(players[:half], players[: half - 1 : -1], strict=True))
        pairs = [pair for pair in pairs if max(pair) < m]
        if pairs:
            left, right = zip(*pairs, strict=True)
            rounds.append(
                (torch.tensor(left, device=device), torch.tensor(right, device=device))
            )
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def _rotation(here: Array, there: Array, between: Array) -> tuple[Array, Array]:
    """Return cosine and sine that make the entry between two rows zero."""
    import torch

    half = (there - here) / 2
    length = half.abs() + torch.hypot(half, between)
    sign = torch.where(half < 0, -1.0, 1.0).to(half.dtype)
    tangent = torch.where(length > 0, sign * between / length, 0.0)
    cosine = (1 + tangent.square()).rsqrt()
    return cosine, tangent * cosine


def _eigh(matrices: Array) -> tuple[Array, Array]:
    import torch

    m = matrices.shape[-1]
    eye = torch.eye(m, dtype=matrices.dtype, device=matrices.device)
    A, vectors = matrices.clone(), eye.expand_as(matrices).clone()
    size = torch.linalg.matrix_norm(matrices)
    rounds = _rounds(m, matrices.device)
    for _ in range(SWEEPS):
        for p, q in rounds:
            cosine, sine = _rotation(A[:, p, p], A[:, q, q], A[:, p, q])
            turn = eye.expand_as(A).clone()
            turn[:, p, p], turn[:, q, q] = cosine, cosine
            turn[:, p, q], turn[:, q, p] = sine, -sine
            A = turn.mT @ (A @ turn)
            vectors = vectors @ turn
        off = torch.linalg.matrix_norm(A - torch.diag_embed(A.diagonal(0, 1, 2)))
        if bool((off <= DONE * m * size).all()):
            break
    return A.diagonal(0, 1, 2), vectors


def _orthogonalize(rows: Array) -> Array:
    """Turn the rows of each matrix until they are orthogonal."""
    import torch

    rows = rows.clone()
    floor = (DONE * rows.square().sum((1, 2)))[:, None]
    rounds = _rounds(rows.shape[1], rows.device)
    for _ in range(SWEEPS):
        worst = torch.zeros((), dtype=rows.dtype, device=rows.device)
        for p, q in rounds:
            left, right = rows[:, p], rows[:, q]
            here, there = left.square().sum(2), right.square().sum(2)
            between = (left * right).sum(2)
            cosine, sine = (x[:, :, None] for x in _rotation(here, there, between))
            rows[:, p] = cosine * left - sine * right
            rows[:, q] = sine * left + cosine * right
            scale = torch.maximum((here * there).sqrt(), floor).clamp(min=1e-300)
            worst = torch.maximum(worst, (between.abs() / scale).max())
        if float(worst) <= 8 * DONE * rows.shape[2]:
            break
    return rows
