"""Pairs of patches -> how much they differ."""

from .table import DISSIMILARITIES, Dissimilarity, compare_pairs

__all__ = ["DISSIMILARITIES", "Dissimilarity", "compare_pairs"]
