"""Stages that NumPy and SciPy do on a processor, in torch for tensors on a device.

Neighbours, the assembly of graphs, eigenvectors and shortest paths: what the array API
has no words for. Functions take and return plain tensors; torch is imported inside, so
that it is needed for tensors only. The same tensor gives the same bits: sums run in a
fixed order, never by atomic additions.
"""
