"""Scores of an embedding: what it keeps of its input, and what its classes gain."""

from .panels import evaluate
from .topology import continuity, local_topology_violations, trustworthiness

__all__ = ["continuity", "evaluate", "local_topology_violations", "trustworthiness"]
