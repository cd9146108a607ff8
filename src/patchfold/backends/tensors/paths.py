"""Edges on a device -> shortest paths from some samples, by sweeps over all edges.

A sweep takes d_i = min_j (l_ij + d_j) for every sample and many sources at once, until
nothing changes; that is true of the shortest paths only, so the result is exact and
does not hang on the order.
"""

from __future__ import annotations

from ..backend import Array
from .devices import block_bytes


def geodesics(
    graph: Array, sources: Array | None = None, *, n_jobs: int | None = None
) -> Array:
    """Return shortest-path lengths; on the processor SciPy is faster."""
    if graph.device.type == "cpu":
        return NotImplemented
    return path_lengths(graph, sources)


def path_lengths(graph: Array, sources: Array | None) -> Array:
    """Return shortest-path lengths (s, n) from the sources, or from all samples.

    Parameters
    ----------
    graph : CSR tensor (n, n)
        Symmetric; lengths of edges. Stored zeros are edges.
    sources : int tensor (s,) or None
        Where paths begin; None for everywhere.
    """
    import torch

    n, data = graph.shape[0], graph.values()
    if sources is None:
        sources = torch.arange(n, device=data.device)
    lengths = torch.empty((n, sources.shape[0]), dtype=data.dtype, device=data.device)
    pointer, column = graph.crow_indices().long(), graph.col_indices()
    # Work for every edge and source at once: gathered, added up, reduced.
    step = max(1, block_bytes(data.device) // (16 * data.shape[0]))
    for start in range(0, sources.shape[0], step):
        some = sources[start : start + step]
        found = torch.full_like(lengths[:, start : start + step], torch.inf)
        found[some, torch.arange(some.shape[0], device=some.device)] = 0.0
        while True:
            over = found[column]
            over += data[:, None]
            best = torch.segment_reduce(
                over, "min", offsets=pointer, unsafe=True, initial=torch.inf
            )
            best = torch.minimum(best, found)
            if torch.equal(best, found):
                break
            found = best
        lengths[:, start : start + step] = found
    return lengths.T
