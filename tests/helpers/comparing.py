"""How two embeddings are compared, and the edges of a neighbour graph."""

import numpy as np

from patchfold.graph.weights import pairs_from_directed


def assert_equal_up_to_sign(actual, expected, *, atol=1e-8):
    """Compare coordinates column by column, whatever their signs."""
    signs = np.sign((actual * expected).sum(axis=0))
    np.testing.assert_allclose(actual * signs, expected, atol=atol)


def edges_of(indices):
    """List the edges of a neighbour graph, each once."""
    n, k = indices.shape
    return pairs_from_directed(n, np.repeat(np.arange(n), k), indices.ravel())
