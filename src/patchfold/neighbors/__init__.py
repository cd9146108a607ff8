"""Samples -> neighbourhoods: the nearest of each, or all within a radius."""

from .choice import find_neighbors, find_query_neighbors

__all__ = ["find_neighbors", "find_query_neighbors"]
