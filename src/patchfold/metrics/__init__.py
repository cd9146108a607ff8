"""Scores of an embedding: what it keeps of its input, and what its classes gain."""

from .panels import evaluate
from .structure import (
    distance_rank_correlation,
    neighborhood_hits,
    triplet_accuracy,
)
from .topology import continuity, local_topology_violations, trustworthiness

__all__ = [
    "continuity",
    "distance_rank_correlation",
    "evaluate",
    "local_topology_violations",
    "neighborhood_hits",
    "triplet_accuracy",
    "trustworthiness",
]
