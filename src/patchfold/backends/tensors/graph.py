"""Edges on a device -> symmetric matrices, connected pieces, Laplacians.

Sums of a row run in the order of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..backend import Array
from . import kernels
from .transfer import csr_tensor, send

DENSE = 8
"""A matrix with more than 1 / `DENSE` of all entries is multiplied as dense."""


def unite_relations(n: int, row: Array, column: Array) -> tuple[Array, Array]:
    """List the pairs of which either is the other's neighbour, source < target, sorted.

    Rows ascend, and no sample is its own neighbour.
    """
    import torch

    if row.shape[0] > n * n // DENSE:
        table = torch.zeros((n, n), dtype=torch.bool, device=row.device)
        table[row, column] = True
        table |= table.T.clone()
        source, target = table.triu_(1).nonzero(as_tuple=True)
        return source, target
    key = torch.minimum(row, column) * n + torch.maximum(row, column)
    key = torch.unique_consecutive(key.sort().values)
    return key // n, key % n


def mirror_edges(n: int, source: Array, target: Array, values: Array) -> Array:
    """Return the symmetric matrix of a value per edge; zeros stay stored."""
    import torch

    key = torch.cat([source * n + target, target * n + source])
    key, order = key.sort()
    pointer = torch.zeros(n + 1, dtype=torch.int64, device=key.device)
    pointer[1:] = torch.bincount(key // n, minlength=n).cumsum(0)
    kind = torch.int32 if max(n, key.shape[0]) < 2**31 else torch.int64
    data = torch.cat([values, values])[order]
    return csr_tensor(pointer.to(kind), (key % n).to(kind), data, (n, n))


def edge_pattern(pairs: Any) -> Array:
    """Return the symmetric matrix of the numbers of the edges."""
    import torch

    numbers = torch.arange(pairs.source.shape[0], device=pairs.source.device)
    return mirror_edges(pairs.n_samples, pairs.source, pairs.target, numbers)


def pull_along(pairs: Any, pattern: Array, strength: Array) -> Laplacian:
    """Return the Laplacian of the graph whose edges have these weights."""
    parts = pattern.crow_indices(), pattern.col_indices(), strength[pattern.values()]
    return laplacian(csr_tensor(*parts, tuple(pattern.shape)))[0]


def median(values: Array) -> float:
    """Return the median, of an even number the mean of the two in the middle."""
    ascending, n = values.sort().values, values.shape[0]
    return float(ascending[(n - 1) // 2] + ascending[n // 2]) / 2


def find_pieces(n: int, source: Array, target: Array) -> tuple[int, Array]:
    """Count and label the connected components; labels in order of their first sample.

    Every sample takes the smallest label around it, and the label of that label, until
    nothing changes.
    """
    import torch

    degree = torch.bincount(torch.cat([source, target]), minlength=n)
    if 2 * int(degree.min()) >= n - 1:  # as in `weights.find_pieces`
        return 1, torch.zeros_like(degree)
    label = torch.arange(n, device=source.device)
    while True:
        before = label
        ends = label[source], label[target]
        low = torch.minimum(*ends)
        label = label.clone()
        for place in (*ends, source, target):
            label.scatter_reduce_(0, place, low, "amin")
        for _ in range(2):
            label = label[label]
        if torch.equal(label, before):
            break
    names, labels = label.unique(return_inverse=True)
    return names.shape[0], labels


@dataclass(frozen=True)
class Laplacian:
    """L = D - W, or F L F with a diagonal F, as products with vectors.

    Attributes
    ----------
    weights : sparse tensor (n, n)
        W.
    degrees : tensor (n,)
        Row sums of W.
    factors : tensor (n,) or None
        The diagonal of F.
    """

    weights: Array
    degrees: Array
    factors: Array | None = None

    @property
    def shape(self) -> Any:
        """Rows and columns."""
        return self.weights.shape

    @cached_property
    def size(self) -> float:
        """Return the largest sum of absolute values of a row."""
        if self.factors is None:
            return 2 * float(self.degrees.max())
        f = self.factors
        return float((f * (2 * self.degrees * f - self._product(f))).max())

    def product(self, vector: Array) -> Array:
        """Return the matrix times a vector (n,)."""
        f = self.factors
        return self._product(vector) if f is None else f * self._product(f * vector)

    def __matmul__(self, block: Array) -> Array:
        """Return the matrix times the columns of a block (n, d)."""
        import torch

        return torch.stack([self.product(column) for column in block.T], 1)

    def diagonal(self) -> Array:
        """Return the diagonal (n,)."""
        f = self.factors
        return self.degrees if f is None else f * self.degrees * f

    def to_numpy(self) -> Any:
        """Return the matrix as a SciPy sparse array."""
        import scipy.sparse as sp

        parts = self.weights, self.degrees, self.factors
        weights, degrees, factors = send(parts, None)
        matrix = sp.diags_array(degrees) - weights
        if factors is not None:
            matrix = sp.diags_array(factors) @ matrix @ sp.diags_array(factors)
        return matrix.tocsr()

    def _product(self, vector: Array) -> Array:
        """Return (D - W) times a vector."""
        if self._dense is None:
            return _times(self.weights, self.degrees, vector)
        return self.degrees * vector - self._dense @ vector

    @cached_property
    def _dense(self) -> Array | None:
        n = self.shape[0]
        if self.weights.values().shape[0] <= n * n // DENSE:
            return None
        return self.weights.to_dense()


def laplacian(weights: Array, *, fill: bool = False) -> tuple[Laplacian, Array]:
    """Return L = D - W and the degrees; nothing is written to W."""
    degrees = row_sums(weights)
    return Laplacian(weights, degrees), degrees


def scale_both_sides(
    matrix: Laplacian, factors: Array, *, overwrite: bool = False
) -> Laplacian:
    """Return F L F for a diagonal F; nothing is written to L."""
    return replace(matrix, factors=factors)


def row_sums(matrix: Array) -> Array:
    """Return the sums of the rows of a CSR tensor."""
    ones = matrix.values().new_ones(matrix.shape[1])
    return -_times(matrix, 0 * ones, ones)


def _times(matrix: Array, diagonal: Array, vector: Array) -> Array:
    """Return a diagonal less a CSR tensor, times a vector; sums in a fixed order."""
    import torch

    pointer, column = matrix.crow_indices(), matrix.col_indices()
    data = matrix.values()
    if kernels.can_run(data):
        return kernels.laplacian_product(pointer, column, data, diagonal, vector)
    terms = data * vector[column]
    sums = torch.segment_reduce(terms, "sum", offsets=pointer.long(), unsafe=True)
    return diagonal * vector - sums
