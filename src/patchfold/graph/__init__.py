"""Edges and their lengths -> graphs: weights, labels, pieces, shortest paths."""
