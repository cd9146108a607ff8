"""Weights of neighbours on a device: those of PatchLLE, and products with them.

Rows of weights have different lengths. They are taken in blocks of rows, each as a
table that is as wide as its longest row; so sums run in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..backend import Array
from .devices import block_bytes
from .transfer import csr_tensor

Block = tuple[slice, Array, Array]
"""Rows, the places (b, K) of their entries, and whether there is such an entry."""


def _blocks(
    pointer: Array, bytes_per_entry: int, bytes_per_row: int
) -> Iterator[Block]:
    import torch

    counts = pointer.diff()
    n, widest = counts.shape[0], int(counts.max())
    room = max(1, widest * bytes_per_entry + bytes_per_row)
    step = max(1, block_bytes(pointer.device) // room)
    column = torch.arange(widest, device=pointer.device)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        real = column < counts[rows, None]
        yield rows, torch.where(real, pointer[:-1][rows, None] + column, 0), real


def _pointer(row: Array, n_rows: int) -> Array:
    """Return where each row begins, and the last one ends; rows ascend."""
    import torch

    return torch.searchsorted(row, torch.arange(n_rows + 1, device=row.device))


def entropic_weights(row: Array, length: Array, n_rows: int, reg: float) -> Array:
    """Return PELLE's weights, as in NumPy."""
    weights = length.new_empty(length.shape)
    for _, place, real in _blocks(_pointer(row, n_rows), 48, 0):
        d = length[place] * real
        count = real.sum(1, keepdim=True).clamp(min=1)
        gap = d
        for _ in range(2):
            gap = (gap - gap.sum(1, keepdim=True) / count) * real
        total = d.sum(1, keepdim=True) / (reg + (gap**2).sum(1, keepdim=True))
        weights[place[real]] = ((1 - gap * total) / count)[real]
    return weights


def barycentric_weights(
    queries: Array,
    X: Array,
    row: Array,
    column: Array,
    reg: float,
    *,
    n_jobs: int | None = None,
) -> Array:
    """Return LLE's weights, as in NumPy."""
    import torch

    weights = X.new_empty(row.shape)
    pointer = _pointer(row, queries.shape[0])
    widest = int(pointer.diff().max())
    for rows, place, real in _blocks(pointer, 16 * X.shape[1] + 24 * widest, 0):
        gaps = (X[column[place]] - queries[rows, None]) * real[:, :, None]
        gram = gaps @ gaps.mT
        trace = gram.diagonal(dim1=1, dim2=2).sum(1)
        ridge = torch.where(trace > 0, reg * trace, reg)
        gram.diagonal(dim1=1, dim2=2).add_(ridge[:, None])
        solved = torch.linalg.solve(gram, real.to(X.dtype)[:, :, None])[:, :, 0]
        solved /= solved.sum(1, keepdim=True)
        weights[place[real]] = solved[real]
    return weights


def relation_matrix(
    weights: Array, row: Array, column: Array, shape: tuple[int, int]
) -> Array:
    """Return the sparse matrix of weights whose rows ascend."""
    return csr_tensor(_pointer(row, shape[0]), column, weights, shape)


def weighted_means(
    weights: Array, row: Array, column: Array, n: int, embedding: Array
) -> Array:
    """Return the mean of the rows `column` of an embedding, for every row (n, d)."""
    shape = (n, embedding.shape[0])
    return weighted_sums(relation_matrix(weights, row, column, shape), embedding)


def weighted_sums(matrix: Array, rows: Array) -> Array:
    """Return the product of a sparse matrix and a narrow dense one."""
    values, column = matrix.values(), matrix.col_indices()
    sums = rows.new_empty((matrix.shape[0], rows.shape[1]))
    entry = 8 * (rows.shape[1] + 4)
    for some, place, real in _blocks(matrix.crow_indices(), entry, 0):
        parts = (values[place] * real)[:, :, None] * rows[column[place]]
        sums[some] = parts.sum(1)
    return sums


def products_of_columns(
    weights: Array, P: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """Return PᵀP and EᵀE for E = P - W P, from dense blocks of rows.

    All rows of P have equally many entries, in different columns.
    """
    n, width = P.shape
    near, amount = (part.view(n, -1) for part in (P.col_indices(), P.values()))
    column, strength = weights.col_indices(), weights.values()
    inner = amount.new_zeros((width, width))
    outer = amount.new_zeros((width, width))
    for rows, place, real in _blocks(weights.crow_indices(), 0, 24 * width):
        E = amount.new_zeros((place.shape[0], width))
        E.scatter_(1, near[rows], amount[rows])
        inner += E.T @ E
        for k in range(place.shape[1]):
            other = column[place[:, k]]
            part = (strength[place[:, k]] * real[:, k])[:, None] * amount[other]
            there = near[other]
            E.scatter_(1, there, E.gather(1, there) - part)
        outer += E.T @ E
    return inner, outer
