"""The papers' methods one edge at a time, as their released scripts run them.

Only to be timed: what they compute is tested elsewhere. Behaviour and cost per edge are
those of the scripts: covariances inverted for every edge, curvatures one direction at a
time.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from sklearn.neighbors import kneighbors_graph

RIDGE = 1e-3


def elap_loop(X: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Embed by ELAP: two inverses for every edge."""
    graph = kneighbors_graph(X, n_neighbors, mode="distance").toarray()
    n, m = X.shape
    means, covariances = np.zeros((n, m)), np.zeros((n, m, m))
    for i in range(n):
        points = X[graph[i] > 0]
        means[i] = points.mean(axis=0)
        covariances[i] = np.cov(points.T)
        if np.linalg.cond(covariances[i]) > 1 / np.finfo(float).eps:
            covariances[i] += RIDGE * np.eye(m)
    divergences = np.zeros((n, n))
    for i in range(n):
        for j in np.flatnonzero(graph[i]):
            here, there = np.linalg.inv(covariances[i]), np.linalg.inv(covariances[j])
            gap = means[i] - means[j]
            divergences[i, j] = 0.25 * (
                np.trace(here @ covariances[j])
                + np.trace(there @ covariances[i])
                + gap @ here @ gap
                + gap @ there @ gap
                - 2 * m
            )
    W = np.exp(-(divergences**2))
    return eigh(np.diag(W.sum(axis=1)) - W)[1][:, 1:3]


def klap_loop(X: np.ndarray, y: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Embed by KLAP: two curvatures of every direction of every edge."""
    graph = kneighbors_graph(X, n_neighbors, mode="distance").toarray()
    n, m = X.shape
    directions = np.zeros((n, m, m))
    for i in range(n):
        variances, columns = np.linalg.eig(np.cov(X[graph[i] > 0].T))
        directions[i] = columns.real[:, np.argsort(variances.real)[::-1]]
    curvatures = np.zeros((n, n))
    for i in range(n):
        for j in np.flatnonzero(graph[i]):
            naive, exact = np.zeros(m), np.zeros(m)
            for k in range(m):
                u, v = directions[i][:, k], directions[j][:, k]
                cosine = np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))
                naive[k] = np.linalg.norm(u - v)
                exact[k] = np.sqrt(max(0.0, 1 - cosine**2))
            same = y[i] == y[j]
            curvatures[i, j] = exact.min() if same else naive.max() + exact.max()
    W = np.exp(-(curvatures**2))
    degrees = W.sum(axis=1)
    return eigh((np.diag(degrees) - W) / degrees[:, None])[1][:, 1:3]
