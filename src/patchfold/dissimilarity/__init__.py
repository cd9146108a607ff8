"""Pairs of patches -> how much they differ."""

from .lengths import compare_pairs
from .table import DISSIMILARITIES, Dissimilarity

__all__ = ["DISSIMILARITIES", "Dissimilarity", "compare_pairs"]
