"""A span of samples in a map -> the nodes of the grid that their field is computed on.

NumPy and devices share this rule.
"""

from __future__ import annotations

import math

SPACINGS = (0.075, 0.15, 0.3, 0.6)
"""Distances of nodes. The finest is taken with which samples span at most `FINE_NODES`
nodes, else the coarsest; at .6 the repulsion of a map is good to a few per cent."""

FINE_NODES = 64

MOST_NODES = 2040
"""Nodes along an axis at most; beyond, their distance grows."""

MARGIN = 4
"""Nodes beyond the samples on each side."""

OUTSIDE = 64
"""Far samples at most that are summed pair by pair: the grid stays fine for others."""

LEAST_Z = 1e-6
"""Least Z: rounding may leave nothing of it where all samples are far apart."""


def choose_spacing(span: float, spacings: tuple[float, ...] = SPACINGS) -> float:
    """Return the distance of nodes for samples of a span.

    Examples
    --------
    >>> choose_spacing(3.0), choose_spacing(100.0), choose_spacing(4080.0)
    (0.075, 0.6, 2.0)
    """
    coarsest = max(spacings[-1], span / MOST_NODES)
    fine = (s for s in spacings if span <= FINE_NODES * s)
    return next(fine, coarsest)


def node_count(steps: float) -> int:
    """Return nodes for a span in steps: few different numbers, as each has a kernel.

    Examples
    --------
    >>> node_count(10.0), node_count(1000.0)
    (32, 1024)
    """
    needed = math.ceil(steps) + 1 + 2 * MARGIN
    unit = max(16, 2 ** int(math.log2(needed)) // 8)
    return max(32, -(-needed // unit) * unit)
