"""Scores of an embedding: what it keeps of its input, and what its classes gain."""

from .groups import describe_group
from .panels import evaluate
from .structure import (
    distance_rank_correlation,
    neighborhood_hits,
    triplet_accuracy,
)
from .topology import (
    continuity,
    local_topology_violations,
    sample_trustworthiness,
    trustworthiness,
)

__all__ = [
    "continuity",
    "describe_group",
    "distance_rank_correlation",
    "evaluate",
    "local_topology_violations",
    "neighborhood_hits",
    "sample_trustworthiness",
    "triplet_accuracy",
    "trustworthiness",
]
